//! Why a command could not be started, in words.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::Launch;

/// Why nothing runs.
#[derive(Debug)]
pub(super) enum NotSpawned {
    /// The machine lacked something; later it may do.
    Shortage(io::Error),
    /// The command cannot be started, as these words say.
    Failed(String),
}

/// What a machine may lack, and have again later.
const SHORTAGES: [Errno; 5] = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC];

impl NotSpawned {
    /// Looks at what was to be started for the reason: the system says no more than "not found".
    pub fn explain(error: io::Error, launch: &Launch<'_>) -> Self {
        if is_shortage(&error) {
            return Self::Shortage(error);
        }
        let errno = Errno::from_io_error(&error);
        let cwd = Path::new(launch.spec.cwd.as_os_str());
        let program = launch.program().to_string_lossy();
        if program.is_empty() {
            return Self::Failed("no such program: the command is empty".to_owned());
        }
        Self::Failed(match errno {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {
                about_directory(cwd).unwrap_or_else(|| about_program(launch, cwd, &error))
            }
            Some(Errno::NOEXEC) => {
                format!(
                    "not executable: {program}: neither a binary of this machine nor a script with a #! line"
                )
            }
            Some(Errno::TOOBIG) => {
                format!("too long: the arguments and variables of {program} together")
            }
            _ => format!("cannot start {program}: {error}"),
        })
    }
}

/// Is it something that the machine lacks now, and may have again later?
pub(super) fn is_shortage(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| SHORTAGES.contains(&errno))
}

/// The exit status that a shell gives where a command cannot be started, from the words that say why: 127 where
/// something is missing, 126 where it is there and of no use.
pub fn exit_status(words: &str) -> u8 {
    if words.starts_with("no such ") { 127 } else { 126 }
}

/// What is wrong with the directory, if that is what is wrong.
fn about_directory(cwd: &Path) -> Option<String> {
    let shown = cwd.display();
    match cwd.metadata() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(format!("no permission to enter the directory: {shown}"))
        }
        Err(_) => Some(format!("no such directory: {shown}")),
        Ok(found) if !found.is_dir() => Some(format!("not a directory: {shown}")),
        Ok(_) if access(cwd, Access::EXEC_OK).is_err() => {
            Some(format!("no permission to enter the directory: {shown}"))
        }
        Ok(_) => None,
    }
}

fn about_program(launch: &Launch<'_>, cwd: &Path, error: &io::Error) -> String {
    let shown = launch.program().to_string_lossy();
    // Of several files in the PATH the first is meant; one that may be executed comes before one that may not.
    let found: Vec<PathBuf> = candidates(launch, cwd).filter(|path| path.exists()).collect();
    let executable = found.iter().find(|path| is_executable(path));
    match (executable, found.first()) {
        (Some(_), _) if error.kind() == io::ErrorKind::NotFound => {
            format!("not executable: {shown}: the interpreter that its first line names does not exist")
        }
        (Some(_), _) => format!("cannot start {shown}: {error}"),
        (None, Some(path)) if path.is_dir() => format!("not executable: {shown}: a directory"),
        (None, Some(_)) => format!("not executable: {shown}"),
        (None, None) => format!("no such program: {shown}"),
    }
}

/// Where the program may be.
fn candidates<'a>(launch: &'a Launch<'_>, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + use<'a> {
    let program = launch.program();
    let directories: Vec<PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![PathBuf::new()]
    } else {
        let path = launch.path().unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path).collect()
    };
    // What is relative, also in the PATH, is so to the job's directory.
    directories.into_iter().map(move |directory| cwd.join(directory).join(program))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
