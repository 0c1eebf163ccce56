//! Errors in words: what was tried, what was found, what to do next, and the exit status.

use std::fmt;
use std::io;
use std::process::{ExitCode, Termination};

use crate::jobfile::JobFileError;
use crate::store::StoreError;

/// The exit status of a verb. The numbers above 63 come from `sysexits.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExitStatus(pub u8);

impl ExitStatus {
    pub const SUCCESS: Self = Self(0);
    /// The answer is no, or a job failed.
    pub const NO: Self = Self(1);
    pub const USAGE: Self = Self(2);
    /// The job file or other input is invalid.
    pub const DATA: Self = Self(65);
    /// No such job, id or file.
    pub const NOT_FOUND: Self = Self(66);
    /// A defect of runner.
    pub const INTERNAL: Self = Self(70);
    /// A file would be overwritten.
    pub const EXISTS: Self = Self(73);
    /// I/O error, disk full, or a file that cannot be used.
    pub const IO: Self = Self(74);
    pub const LATER: Self = Self(75);
    /// The database is from a newer runner.
    pub const NEWER: Self = Self(76);
    pub const PERMISSION: Self = Self(77);
}

impl Termination for ExitStatus {
    fn report(self) -> ExitCode {
        ExitCode::from(self.0)
    }
}

/// An error of the command line itself. Every other error becomes a `CliError` before it is printed.
#[derive(Debug, PartialEq, Eq)]
pub struct CliError {
    pub status: ExitStatus,
    /// Says what was tried and what was found.
    pub message: String,
    /// Says what to do next.
    pub hint: Option<String>,
}

impl CliError {
    pub fn new(status: ExitStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None }
    }

    /// A command line that makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::USAGE, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

/// The message, the hint and the exit status of an error, from all its contexts and its cause.
pub fn describe(error: &anyhow::Error) -> CliError {
    let known = error.chain().find_map(status_and_hint);
    let (status, hint) = known.unwrap_or((ExitStatus::INTERNAL, None));
    CliError { status, message: format!("{error:#}"), hint }
}

fn status_and_hint(error: &(dyn std::error::Error + 'static)) -> Option<(ExitStatus, Option<String>)> {
    if let Some(CliError { status, hint, .. }) = error.downcast_ref() {
        return Some((*status, hint.clone()));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(of_store(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(of_job_file(error));
    }
    error.downcast_ref().map(|error| (of_io(error), None))
}

fn of_job_file(error: &JobFileError) -> (ExitStatus, Option<String>) {
    let (status, hint) = match error {
        JobFileError::NotFound { .. } => {
            (ExitStatus::NOT_FOUND, "check the path, or write a job file with `runner init`")
        }
        JobFileError::Nowhere { .. } => (
            ExitStatus::NOT_FOUND,
            "`runner init` writes one here; `--file PATH` or $RUNNER_FILE names another",
        ),
        JobFileError::Unreadable { error, .. } => {
            (of_io(error), "make it a file that you may read, or name another with `--file PATH`")
        }
        JobFileError::Mistakes(_) => return (ExitStatus::DATA, None),
    };
    (status, Some(hint.to_owned()))
}

fn of_store(error: &StoreError) -> (ExitStatus, Option<String>) {
    let (status, hint) = match error {
        StoreError::KeyHeld { holder, .. } => {
            let hint = format!("runner inspect {holder} shows it; --on-conflict skip takes it as it is");
            return (ExitStatus::LATER, Some(hint));
        }
        StoreError::Missing(_) => {
            (ExitStatus::NOT_FOUND, "runner enqueue creates it; --db or $RUNNER_DB names another one")
        }
        StoreError::Foreign(..) => (ExitStatus::IO, "name another file with --db or $RUNNER_DB"),
        StoreError::Damaged(..) | StoreError::InvalidData(_) => (
            ExitStatus::IO,
            "runner restore FILE puts a backup in the database's place and keeps the damaged one; --db names another",
        ),
        StoreError::Newer(..) => (ExitStatus::NEWER, "use the runner that wrote it, or a newer one"),
        StoreError::Network(..) => (ExitStatus::IO, "name a file on a local disk with --db or $RUNNER_DB"),
        StoreError::HardLinked(..) => (ExitStatus::IO, "remove the other names of the file"),
        StoreError::Moved(_) => (ExitStatus::IO, "stop what uses a database before you move it"),
        StoreError::InUse(_) => (
            ExitStatus::LATER,
            "end what waits for its jobs, follows them or has it open in sqlite3, and try again; fuser shows the processes",
        ),
        StoreError::NotWritable(_) => (
            ExitStatus::PERMISSION,
            "copy it, with what lies beside it, to a directory of your own, and name the copy with --db",
        ),
        StoreError::Io(_, error) => (of_io(error), "see --db and $RUNNER_DB for another place"),
        StoreError::Busy => (ExitStatus::LATER, "try again; runner inspect workers shows who works on it"),
        StoreError::Full => (ExitStatus::IO, "make room on its disk and try again"),
        StoreError::CommitUnknown(_) => (ExitStatus::IO, "look with runner inspect before you do it again"),
        StoreError::NoDependency(_) => {
            (ExitStatus::NOT_FOUND, "runner inspect jobs lists the jobs that there are")
        }
        StoreError::AppliedElsewhere { .. } => {
            (ExitStatus::DATA, "rename the job, or take it out of the other file and apply that one first")
        }
        StoreError::Sqlite(error) => (of_sqlite(error), "see --db and $RUNNER_DB for another place"),
    };
    (status, Some(hint.to_owned()))
}

fn of_sqlite(error: &rusqlite::Error) -> ExitStatus {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::PermissionDenied | Code::ReadOnly | Code::CannotOpen) => ExitStatus::PERMISSION,
        Some(_) => ExitStatus::IO,
        None => ExitStatus::INTERNAL,
    }
}

fn of_io(error: &io::Error) -> ExitStatus {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ExitStatus::PERMISSION,
        _ => ExitStatus::IO,
    }
}
