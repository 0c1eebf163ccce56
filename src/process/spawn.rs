//! Starts a command, or explains why the command cannot be started.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::clock;
use crate::model::{self, Bytes, INHERITED_ALWAYS, JobDefinition, SpawnFailure};
use crate::text::Timestamp;

use super::control::Control;
use super::inherit::leave_terminal;
use super::job_files::read_env_file;
use super::pass_on::PassOn;
use super::procfs::Leader;
use super::start_errors::{StartError, is_shortage};
use super::surroundings::{MAKE_VARIABLES, pwd, without_jobserver};
use super::tag::{AttemptTag, WORKER_MARK};

/// How long a start waits for another process that is writing the program …
const WRITER_WAIT: Duration = Duration::from_secs(10);
/// … how long before people are told of it …
const WRITER_PATIENCE: Duration = Duration::from_secs(1);
/// … and how often it tries.
const WRITER_INTERVAL: Duration = Duration::from_millis(50);

/// A command that is about to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The command, its directory, its variables and its limits.
    pub definition: &'a JobDefinition,
    /// Appended to the words of a command; in a shell line `$1`, `$2` …
    pub args: &'a [Bytes],
    /// The input of the job; none: that of the definition, else `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// The `RUNNER_*` variables. They override `definition.env`, which overrides `definition.env_file`, which overrides what
    /// the definition lets the command inherit of the worker's environment. `PWD` is the command's folder, unless one of the two gives it.
    pub vars: Vec<(OsString, OsString)>,
    /// The variables of the tag override `vars`.
    pub tag: AttemptTag,
    /// The path in `$RUNNER_REPORT`.
    pub report: &'a Path,
    /// Where the output goes as it comes, besides what is kept of it.
    pub pass_on: Option<&'a PassOn>,
}

/// A process that was just started: our child, and the leader of a group of its own.
#[derive(Debug)]
pub(super) struct Child {
    pub pid: Pid,
    pub leader: Leader,
    /// Readable when the process has ended.
    pub pidfd: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// The time just before the process could do anything, by both clocks.
    pub started_at: Timestamp,
    pub started: Instant,
}

#[derive(Debug)]
pub(super) enum SpawnError {
    /// The machine is short of descriptors, processes, memory or space, so that a later try may succeed.
    Shortage(io::Error),
    /// The command cannot be started, as this message says; no reason: that may pass.
    Failed(Option<SpawnFailure>, String),
    /// The timeout ran out while another process was writing the program.
    TimedOut(String),
    /// The attempt was asked to end while another process was writing the program.
    Stopped,
}

/// Starts the command in a process group of its own, with its output in pipes.
///
/// Nothing here may force `Command` off `posix_spawn` and onto a fork, which is half as fast: there is no closure before
/// exec, and variables are added to the environment, which is not replaced. Only two things force the fork, and must: a
/// `PATH` of the job's own, because only after a fork is the program looked for in the new `PATH`, and a terminal that
/// the worker could not give up itself.
///
/// While another process is writing the program, this waits, and says so once to `on_notice`.
pub(super) fn spawn(
    launch: &mut Launch<'_>,
    control: &Control,
    on_notice: &mut dyn FnMut(String),
) -> Result<Child, SpawnError> {
    let definition = launch.definition;
    let mut command = command(launch)?;
    let environment = environment(definition)?;
    let own_input = launch.stdin.take();
    let stdin = own_input.as_deref().or(definition.stdin.as_deref().map(str::as_bytes));
    let stdin = stdin.map(input_file).transpose()?;
    if !definition.inherit_env {
        keep_from(&mut command, std::env::vars_os().map(|(name, _)| name));
    }
    command
        .current_dir(definition.cwd.as_os_str())
        // It is given below; the worker's own would be wrong.
        .env_remove("PWD")
        .envs(environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
        .envs(launch.vars.iter().map(|(name, value)| (name, value)))
        // A worker of version 1.0 may have started this one as a job.
        .env_remove(WORKER_MARK)
        .envs(launch.tag.variables())
        .env("RUNNER_REPORT", launch.report)
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    leave_terminal(&mut command);
    let mut wait = WaitForWriter { since: Instant::now(), is_told: false };
    let (mut child, started_at, started) = loop {
        let (started_at, started) = (clock::now(), Instant::now());
        match command.spawn() {
            Ok(child) => break (child, started_at, started),
            Err(error) if StartError::of(&error) == StartError::Busy => {
                wait.step(&error, launch, control, on_notice)?;
            }
            Err(error) => return Err(explain(error, launch, &environment)),
        }
    };
    let pid = Pid::from_child(&child);
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        unreachable!("both are pipes")
    };
    // The child is not reaped, so the pid is its own.
    let pidfd = wait_for_pidfd(pid);
    Ok(Child {
        pid,
        leader: Leader::of_child(pid),
        pidfd,
        stdout: stdout.into(),
        stderr: stderr.into(),
        started_at,
        started,
    })
}

/// The wait for another process that is writing the program, as a deploy does.
struct WaitForWriter {
    since: Instant,
    is_told: bool,
}

impl WaitForWriter {
    /// Waits until the next try. An error ends the wait.
    fn step(
        &mut self,
        error: &io::Error,
        launch: &Launch<'_>,
        control: &Control,
        on_notice: &mut dyn FnMut(String),
    ) -> Result<(), SpawnError> {
        let what = format!("cannot start {}: {error}", program(launch).to_string_lossy());
        let waited = self.since.elapsed();
        if launch.definition.timeout.is_some_and(|timeout| Duration::from(timeout) <= waited) {
            return Err(SpawnError::TimedOut(format!("{what}: another process was writing it")));
        }
        if waited >= WRITER_WAIT {
            let seconds = WRITER_WAIT.as_secs();
            let message =
                format!("{what}: another process has been writing it for {seconds} s, which may pass");
            return Err(SpawnError::Failed(None, message));
        }
        if waited >= WRITER_PATIENCE && !self.is_told {
            self.is_told = true;
            on_notice(format!("{what}: waits for the process that is writing it"));
        }
        if control.begin_again(WRITER_INTERVAL) { Ok(()) } else { Err(SpawnError::Stopped) }
    }
}

/// Keeps variables of the worker from the command, one by one, because an environment that is cleared forces the fork.
fn keep_from(command: &mut Command, variables: impl Iterator<Item = OsString>) {
    let is_kept_from = |name: &OsString| !INHERITED_ALWAYS.iter().any(|inherited| name == inherited);
    variables.filter(is_kept_from).for_each(|name| {
        command.env_remove(name);
    });
}

/// The variables that the command gets besides those that it inherits as they are: those of the definition's files, its own over
/// them, and what is true of the command where the worker's would be wrong.
fn environment(definition: &JobDefinition) -> Result<BTreeMap<Bytes, Bytes>, SpawnError> {
    let mut variables = BTreeMap::new();
    for file in &definition.env_file {
        variables.extend(read_env_file(file).map_err(|unusable| match unusable.error {
            Some(error) if is_shortage(&error) => SpawnError::Shortage(error),
            Some(error) if StartError::of(&error) == StartError::Passing => {
                SpawnError::Failed(None, format!("{}, which may pass", unusable.message))
            }
            _ => SpawnError::Failed(Some(SpawnFailure::NotExecutable), unusable.message),
        })?);
    }
    variables.extend(definition.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    if let Some(pwd) = pwd(Path::new(definition.cwd.as_os_str())) {
        variables.entry(Bytes::from("PWD")).or_insert_with(|| Bytes::from(pwd.as_os_str()));
    }
    for name in MAKE_VARIABLES {
        let inherited = || std::env::var_os(name).filter(|_| definition.inherit_env);
        let given = variables.get(&Bytes::from(name)).map(|value| value.as_os_str().to_owned());
        let flags = given.or_else(inherited);
        if let Some(left) = flags.and_then(|flags| without_jobserver(flags.as_bytes())) {
            variables.insert(Bytes::from(name), Bytes(left));
        }
    }
    Ok(variables)
}

/// Makes a file in memory that holds these bytes, open at its start. It has no name, so it is gone with its last reader.
fn input_file(bytes: &[u8]) -> Result<File, SpawnError> {
    let create = |flags| memfd_create("runner-stdin", flags);
    let file = create(MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL).or_else(|error| match error {
        // Kernels before 6.3 do not know the seal, and some later ones are set up to insist on it.
        Errno::INVAL => create(MemfdFlags::CLOEXEC),
        other => Err(other),
    });
    let file = file.map(File::from).map_err(|errno| {
        let error = io::Error::from(errno);
        if is_shortage(&error) {
            return SpawnError::Shortage(error);
        }
        let message = format!("cannot keep its input in memory: {error}");
        SpawnError::Failed(Some(SpawnFailure::NotExecutable), message)
    })?;
    // Memory has no faults of its own: whatever goes wrong here, the machine is at fault and not the job.
    file.write_all_at(bytes, 0).map_err(SpawnError::Shortage)?;
    Ok(file)
}

/// Waits for a free descriptor. The spawn has just released some, and other slots release theirs.
fn wait_for_pidfd(pid: Pid) -> OwnedFd {
    loop {
        if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) {
            return pidfd;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn command(launch: &Launch<'_>) -> Result<Command, SpawnError> {
    let mut words: Vec<&OsStr> = launch.definition.launcher.iter().map(Bytes::as_os_str).collect();
    match &launch.definition.command {
        model::Command::Shell(line) => {
            words.extend(["/bin/sh", "-c"].map(OsStr::new));
            // A shell takes a line that begins with - or + for an option, even behind `-c`.
            if matches!(line.0.first(), Some(b'-' | b'+')) {
                words.push(OsStr::new("--"));
            }
            // The words after the line are $0, $1 and so on.
            words.extend([line.as_os_str(), OsStr::new("sh")]);
        }
        model::Command::Argv(argv) => words.extend(argv.iter().map(Bytes::as_os_str)),
    }
    words.extend(launch.args.iter().map(Bytes::as_os_str));
    match words.split_first() {
        Some((program, arguments)) if !program.is_empty() => {
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
        _ => {
            let message = "no such program: the command is empty".to_owned();
            Err(SpawnError::Failed(Some(SpawnFailure::NotFound), message))
        }
    }
}

/// Looks for the reason, because the system only says "not found".
fn explain(error: io::Error, launch: &Launch<'_>, environment: &BTreeMap<Bytes, Bytes>) -> SpawnError {
    if is_shortage(&error) {
        return SpawnError::Shortage(error);
    }
    let cwd = Path::new(launch.definition.cwd.as_os_str());
    let about_program = || {
        let own_path = environment.get(&Bytes::from("PATH"));
        about_program(launch, cwd, own_path, &error)
    };
    let (failure, message) = directory_fault(cwd).unwrap_or_else(about_program);
    SpawnError::Failed(failure, message)
}

/// Why a command could not be started, and a message; no reason if that may pass.
pub(super) type Fault = (Option<SpawnFailure>, String);

fn not_found(message: String) -> Fault {
    (Some(SpawnFailure::NotFound), message)
}

fn not_executable(message: String) -> Fault {
    (Some(SpawnFailure::NotExecutable), message)
}

/// The fault that this error is, with these words for what it keeps us from.
fn fault(what: &str, error: &io::Error) -> Fault {
    match StartError::of(error) {
        StartError::Lasting => not_executable(format!("{what}: {error}")),
        StartError::Shortage | StartError::Busy | StartError::Passing => {
            (None, format!("{what}: {error}, which may pass"))
        }
    }
}

/// The fault of the directory; none if this process can start a command there.
pub(super) fn directory_fault(cwd: &Path) -> Option<Fault> {
    let shown = cwd.display();
    Some(match cwd.metadata() {
        Err(error) => match error.kind() {
            ErrorKind::PermissionDenied => {
                not_executable(format!("no permission to enter the directory: {shown}"))
            }
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                not_found(format!("no such directory: {shown}"))
            }
            _ => fault(&format!("cannot enter the directory {shown}"), &error),
        },
        Ok(found) if !found.is_dir() => not_executable(format!("not a directory: {shown}")),
        Ok(_) if access(cwd, Access::EXEC_OK).is_err() => {
            not_executable(format!("no permission to enter the directory: {shown}"))
        }
        Ok(_) => return None,
    })
}

/// Why the program of the command was not started. `own_path` is the `PATH` that the definition gives.
fn about_program(launch: &Launch<'_>, cwd: &Path, own_path: Option<&Bytes>, error: &io::Error) -> Fault {
    let program = program(launch);
    let shown = program.to_string_lossy();
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => program_fault(program, cwd, own_path)
            .unwrap_or_else(|| {
                not_executable(if error.kind() == ErrorKind::NotFound {
                    format!(
                        "not executable: {shown}: the interpreter that its first line names does not exist"
                    )
                } else {
                    format!("cannot start {shown}: {error}")
                })
            }),
        Some(Errno::NOEXEC) => not_executable(format!(
            "not executable: {shown}: neither a binary of this machine nor a script with a #! line"
        )),
        Some(Errno::TOOBIG) => {
            not_executable(format!("too long: the arguments and variables of {shown} together"))
        }
        _ => fault(&format!("cannot start {shown}"), error),
    }
}

/// The fault of this program; none if there is a file that this process may execute. What it may not look for is not there.
pub(super) fn program_fault(program: &OsStr, cwd: &Path, own_path: Option<&Bytes>) -> Option<Fault> {
    let shown = program.to_string_lossy();
    // The first file in the PATH counts; an executable one before others.
    let (mut found, mut away, mut is_shut) = (Vec::new(), None, false);
    for path in candidates(program, cwd, own_path) {
        match path.metadata() {
            Ok(_) => found.push(path),
            Err(error) if StartError::of(&error) == StartError::Passing => {
                away = away.or(Some((path, error)));
            }
            Err(error) => is_shut |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    if found.iter().any(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok()) {
        return None;
    }
    Some(match (found.first(), away) {
        // The path that cannot be looked at may be the program.
        (_, Some((path, error))) => fault(&format!("cannot look for {}", path.display()), &error),
        (Some(path), None) if path.is_dir() => {
            not_executable(format!("not executable: {shown}: a directory"))
        }
        (Some(_), None) => not_executable(format!("not executable: {shown}")),
        (None, None) if is_shut && program.as_bytes().contains(&b'/') => {
            not_found(format!("no such program: {shown}: no permission to look there"))
        }
        (None, None) => not_found(format!("no such program: {shown}")),
    })
}

/// The files that the program may be, in the order of the search.
fn candidates<'a>(
    program: &'a OsStr,
    cwd: &'a Path,
    own_path: Option<&Bytes>,
) -> impl Iterator<Item = PathBuf> + use<'a> {
    let directories: Vec<PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![PathBuf::new()]
    } else {
        let own = own_path.map(|path| path.as_os_str().to_owned());
        let path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path).collect()
    };
    // A relative path, also in the PATH, is relative to the job's directory.
    directories.into_iter().map(move |directory| cwd.join(directory).join(program))
}

/// The program as the definition writes it, for messages.
fn program<'a>(launch: &Launch<'a>) -> &'a OsStr {
    match (launch.definition.launcher.first(), &launch.definition.command) {
        (Some(launcher), _) => launcher.as_os_str(),
        (None, model::Command::Shell(_)) => OsStr::new("/bin/sh"),
        (None, model::Command::Argv(argv)) => argv.first().map_or(OsStr::new(""), Bytes::as_os_str),
    }
}

#[cfg(test)]
#[path = "spawn_tests.rs"]
mod tests;
