//! A temporary folder with a job file and a database in it, and the database as the `sqlite3` shell sees it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Once};

use rusqlite::{Connection, Row};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use tempfile::TempDir;

use super::{Background, Call, Finished, eventually, wait_until};

/// A user without any rights.
pub const NOBODY: u32 = 65_534;

/// Whether the tests run as root, who can act as other users.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder, and the program that works in it.
pub struct Sandbox {
    _folder: TempDir,
    dir: PathBuf,
}

impl Sandbox {
    /// A sandbox with this `jobs.toml`.
    pub fn new(jobs: &str) -> Self {
        let sandbox = Self::empty();
        sandbox.write("jobs.toml", jobs);
        sandbox
    }

    /// A sandbox without a job file, in memory unless `TMPDIR` names another place.
    pub fn empty() -> Self {
        let in_memory = Path::new("/dev/shm");
        let folder = if std::env::var_os("TMPDIR").is_none() && in_memory.is_dir() {
            tempfile::tempdir_in(in_memory)
        } else {
            tempfile::tempdir()
        };
        let folder = folder.expect("a temporary folder");
        stop_ignoring_signals();
        let dir = fs::canonicalize(folder.path()).expect("it exists");
        Self { _folder: folder, dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn db(&self) -> PathBuf {
        self.path("runner.db")
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }

    /// Writes a file that only its owner may read and write.
    pub fn write_private(&self, name: &str, text: impl AsRef<[u8]>) {
        self.write(name, text);
        fs::set_permissions(self.path(name), Permissions::from_mode(0o600)).expect("it is ours");
    }

    /// Gives a file or folder to this user and the group of the same number.
    pub fn own(&self, name: &str, uid: u32, mode: u32) {
        let path = self.path(name);
        chown(&path, Some(uid), Some(uid)).expect("root may do that");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("root may do that");
    }

    /// The text of a file; empty where there is none yet.
    pub fn read(&self, name: &str) -> String {
        fs::read(self.path(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The lines that jobs have appended to the file `log`.
    pub fn log(&self) -> Vec<String> {
        self.read("log").lines().map(str::to_owned).collect()
    }

    /// Waits until a job has written a whole line to a file, and gives its first.
    #[track_caller]
    pub fn line_of(&self, name: &str) -> String {
        eventually(&format!("a line in {name}"), || {
            let text = self.read(name);
            text.split_once('\n').map(|(line, _)| line.to_owned())
        })
    }

    /// Waits until a job has written its process id to a file.
    #[track_caller]
    pub fn pid_of(&self, name: &str) -> i32 {
        self.line_of(name).trim().parse().expect("a process id")
    }

    /// A program in this folder with nothing but the least in its environment.
    pub fn program(&self, program: &str) -> Call {
        let mut command = Command::new(program);
        command
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.dir)
            .env("RUNNER_DB", self.db())
            // Root is told to name itself in some commands. With this the texts are the same whoever runs the tests.
            .env("SUDO_USER", "tester")
            .env("TZ", "UTC");
        Call::new(command)
    }

    /// A call of the program, its arguments split at blanks.
    pub fn call(&self, line: &str) -> Call {
        line.split_whitespace().fold(self.program(env!("CARGO_BIN_EXE_runner")), Call::arg)
    }

    /// Runs what is added under a seccomp filter with these steps, in which `CALL` stands for the number of a call: on `x86_64`, on
    /// `aarch64`.
    pub fn filtered(&self, [x86_64, aarch64]: [u32; 2], steps: &str) -> Call {
        let call = self.program("python3").arg("-c").arg(include_str!("filter.py"));
        call.arg(x86_64.to_string()).arg(aarch64.to_string()).arg(steps)
    }

    /// A copy of the program for users who may not come near this package.
    ///
    /// `cp` makes it: if this process wrote the file, a child that another test starts meanwhile would hold it open for
    /// writing, and the kernel would not execute it.
    pub fn program_for_all(&self) -> String {
        let copy = self.path("runner");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_runner")).arg(&copy).status();
        assert!(copied.expect("cp").success(), "no copy of the program");
        copy.into_os_string().into_string().expect("a plain path")
    }

    /// Runs the program.
    pub fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    /// Enqueues one job: everything that stands after `runner enqueue`.
    #[track_caller]
    pub fn add(&self, line: &str) -> u64 {
        self.run(&format!("enqueue {line}")).exits(0).id()
    }

    /// Enqueues a line for the shell, with these options.
    #[track_caller]
    pub fn add_line(&self, options: &str, line: &str) -> u64 {
        self.call(&format!("enqueue {options} -c")).arg(line).run().exits(0).id()
    }

    /// Enqueues one job, works until nothing is left, and returns the job with its history.
    #[track_caller]
    pub fn finish(&self, line: &str) -> Value {
        let id = self.add(line);
        self.drain();
        self.job(id)
    }

    /// As [`Sandbox::finish`], with a line for the shell.
    #[track_caller]
    pub fn finish_line(&self, options: &str, line: &str) -> Value {
        let id = self.add_line(options, line);
        self.drain();
        self.job(id)
    }

    /// A worker in the background, once it has said that it is there.
    #[track_caller]
    pub fn worker(&self, options: &str) -> Background {
        Background::worker(self, self.call(&format!("work {options}")))
    }

    /// Works until nothing is left; whether something died does not matter.
    #[track_caller]
    pub fn drain(&self) -> Finished {
        let ran = self.run("work -j1 --drain");
        assert!(ran.stderr.contains("worker stopped"), "{ran}");
        ran
    }

    /// A job with its history.
    #[track_caller]
    pub fn job(&self, id: u64) -> Value {
        self.run(&format!("inspect {id} --json")).ok().json()
    }

    /// The attempts of a job.
    #[track_caller]
    pub fn attempts(&self, id: u64) -> Vec<Value> {
        self.job(id)["history"].as_array().expect("a history").clone()
    }

    /// An attempt with its output.
    #[track_caller]
    pub fn attempt(&self, id: u64, number: u64) -> Value {
        self.run(&format!("inspect {id}.{number} --json")).ok().json()
    }

    /// Waits until a job is in this state, and gives it.
    #[track_caller]
    pub fn until_state(&self, id: u64, state: &str) -> Value {
        eventually(&format!("job {id} is {state}"), || {
            let job = self.job(id);
            (job["state"] == state).then_some(job)
        })
    }

    /// Waits until a job has left this many lines in the file `log`.
    #[track_caller]
    pub fn until_logged(&self, lines: usize) {
        wait_until(&format!("{lines} lines in the log"), || self.log().len() >= lines);
    }

    /// The name of each job with its state, oldest first.
    #[track_caller]
    pub fn states(&self) -> Vec<String> {
        let jobs = self.run("inspect jobs --json").ok().json_lines();
        let text = |job: &Value, key: &str| job[key].as_str().expect("text").to_owned();
        jobs.iter().rev().map(|job| format!("{} {}", text(job, "name"), text(job, "state"))).collect()
    }

    /// Lets the next time of every schedule have come this many milliseconds ago.
    #[track_caller]
    pub fn make_due(&self, ms: i64) {
        let now = "CAST(1000 * unixepoch('subsec') AS INTEGER)";
        self.sql().run(&format!("UPDATE schedules SET next_at = {now} - {ms}"));
    }

    /// How many jobs there are.
    #[track_caller]
    pub fn count_jobs(&self) -> usize {
        self.run("inspect jobs --json").ok().json_lines().len()
    }

    /// The file as somebody with the `sqlite3` shell sees it.
    pub fn sql(&self) -> Sql {
        Sql::open(&self.db())
    }
}

/// Lets the programs that tests start have the default signal dispositions, also where the tests themselves were started
/// in the background or under nohup: a signal that is caught, and not ignored, is the default again after exec.
fn stop_ignoring_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).expect("a line SigIgn");
        let ignored = u64::from_str_radix(ignored, 16).expect("a mask of signals");
        for signal in
            [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 1)
        {
            signal_hook::flag::register(signal, Arc::default()).expect("a signal that can be caught");
        }
    });
}

/// The database as somebody with the `sqlite3` shell sees it: foreign keys off, recursive triggers off.
pub struct Sql(Connection);

impl Sql {
    pub fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("an SQLite file");
        connection.pragma_update(None, "foreign_keys", "OFF").expect("a pragma");
        connection.pragma_update(None, "recursive_triggers", "OFF").expect("a pragma");
        connection.busy_timeout(std::time::Duration::from_secs(20)).expect("a timeout");
        Self(connection)
    }

    /// Runs statements that may be refused.
    pub fn try_run(&self, sql: &str) -> rusqlite::Result<()> {
        self.0.execute_batch(sql)
    }

    /// Runs statements that must succeed.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs statements past all triggers and checks, which are as before afterwards.
    pub fn try_force(&self, sql: &str) -> rusqlite::Result<()> {
        let triggers = self.all("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'", |row| {
            Ok((format!("DROP TRIGGER {}", row.get::<_, String>(0)?), row.get::<_, String>(1)?))
        });
        let (drop, create): (Vec<_>, Vec<_>) = triggers.into_iter().unzip();
        self.run(&format!("PRAGMA ignore_check_constraints = ON; {}", drop.join(";")));
        let done = self.try_run(sql);
        self.run(&format!("PRAGMA ignore_check_constraints = OFF; {}", create.join(";")));
        done
    }

    /// The same for statements that must succeed.
    #[track_caller]
    pub fn force(&self, sql: &str) {
        self.try_force(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs a statement that must be refused, and returns the error message.
    #[track_caller]
    pub fn refused(&self, sql: &str) -> String {
        match self.try_run(sql) {
            Ok(()) => panic!("this was not refused: {sql}"),
            Err(error) => error.to_string(),
        }
    }

    /// The number that a query gives.
    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        self.one(sql, |row| row.get(0))
    }

    /// The text that a query gives.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        self.one(sql, |row| row.get(0))
    }

    /// The rows of a query.
    #[track_caller]
    pub fn all<T>(&self, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Vec<T> {
        let mut statement = self.0.prepare_cached(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = statement.query_map((), read).and_then(Iterator::collect);
        rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[track_caller]
    fn one<T>(&self, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> T {
        self.all(sql, read).into_iter().next().unwrap_or_else(|| panic!("{sql}: no row"))
    }
}

/// A job file of a chain: each job is after the one before it, and all append their names and arguments to the file `log`.
/// The first fails as long as there is a file `broken`.
pub fn chain(names: &[&str]) -> String {
    let job = |(number, name): (usize, &&str)| {
        let before = &names[number.saturating_sub(1)..number];
        let check = if before.is_empty() { "; test ! -e broken" } else { "" };
        format!("[jobs.{name}]\ncommand = 'echo {name} $* >> log{check}'\nafter = {before:?}\n")
    };
    "[defaults]\nmax_attempts = 1\n".to_owned() + &names.iter().enumerate().map(job).collect::<String>()
}

/// A job file with jobs of many kinds.
pub const MANY_KINDS: &str = r#"
[jobs.push]
description = "Pushes"
command = "echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22"
queue = "net"
backoff = ["20ms"]
timeout = "30s"
exit_codes = { 22 = "HTTP_ERROR" }
[jobs.fine]
command = "echo result=42 >> $RUNNER_REPORT"
unique_key = "fine"
[jobs.later]
command = ["touch", "a file"]
priority = 3
queue = "files"
expires_in = "2h"
[jobs.once]
command = "kill -KILL $$"
retryable = false
"#;

/// A database with jobs 1 push dead, 2 fine succeeded, 3 later scheduled, 4 once dead, 5 fine cancelled.
pub fn many_kinds() -> Sandbox {
    let sandbox = Sandbox::new(MANY_KINDS);
    sandbox.run("enqueue push fine").ok();
    sandbox.add("later --in 1h");
    sandbox.add("once");
    sandbox.run("work -j1 --drain --queue default --queue net").exits(1);
    sandbox.add("fine");
    sandbox.run("cancel 5").ok();
    sandbox
}
