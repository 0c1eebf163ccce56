//! Failures in words: what was tried, what was found, what to do next, and the exit status.

use std::fmt;
use std::io;

use crate::jobfile::JobFileError;
use crate::store::{EnqueueError, StoreError};
use crate::worker::WorkError;

/// Exit statuses of the contract, section 7; the numbers above 63 are those of `sysexits.h`.
pub mod status {
    /// The answer is no.
    pub const NO: u8 = 1;
    /// The command line makes no sense.
    pub const USAGE: u8 = 2;
    /// The job file or other input is invalid.
    pub const DATA: u8 = 65;
    /// No such job, id or file.
    pub const NOT_FOUND: u8 = 66;
    /// A defect of runner.
    pub const INTERNAL: u8 = 70;
    /// A file would be overwritten.
    pub const EXISTS: u8 = 73;
    /// I/O error, disk full, or a file that cannot be used.
    pub const IO: u8 = 74;
    /// Try again later.
    pub const LATER: u8 = 75;
    /// The database is from a newer runner.
    pub const NEWER: u8 = 76;
    /// Not permitted.
    pub const PERMISSION: u8 = 77;
}

/// Why a verb could not do what it was asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    /// What was tried and what was found.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(status: u8, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A command line that makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(status::USAGE, message)
    }

    /// The operating system's trouble.
    pub fn io(what: &str, error: &io::Error) -> Self {
        Self::new(io_status(error), format!("could not {what}: {error}"))
    }
}

fn io_status(error: &io::Error) -> u8 {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => status::PERMISSION,
        _ => status::IO,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runner: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let (status, hint) = match &error {
            StoreError::Missing(_) => (
                status::NOT_FOUND,
                "runner enqueue creates it; --db or $RUNNER_DB names another one".to_owned(),
            ),
            StoreError::Foreign(..) => (status::IO, "name another file with --db or $RUNNER_DB".to_owned()),
            StoreError::Damaged(..) | StoreError::Nonsense(_) => (
                status::IO,
                "keep a copy of the file and of what lies beside it; then put a backup in its place, with no -wal and no -shm file left beside it, or name another file with --db"
                    .to_owned(),
            ),
            StoreError::Newer(..) => (status::NEWER, "use the runner that wrote it, or a newer one".to_owned()),
            StoreError::Network(..) => {
                (status::IO, "name a file on a local disk with --db or $RUNNER_DB".to_owned())
            }
            StoreError::HardLinked(..) => (status::IO, "remove the other names of the file".to_owned()),
            StoreError::Moved(_) => (status::IO, "stop what uses the database before you move it".to_owned()),
            StoreError::NotWritable(_) => (
                status::PERMISSION,
                "copy it, with what lies beside it, to a directory of your own, and name the copy with --db".to_owned(),
            ),
            StoreError::Io(_, error) => (io_status(error), "see --db and $RUNNER_DB for another place".to_owned()),
            StoreError::Busy => (status::LATER, "try again; runner inspect workers shows who works on it".to_owned()),
            StoreError::Full => (status::IO, "make room on its disk and try again".to_owned()),
            StoreError::CommitUnknown(_) => {
                (status::IO, "look with runner inspect before you do it again".to_owned())
            }
            StoreError::Sqlite(error) => (sqlite_status(error), "see --db and $RUNNER_DB for another place".to_owned()),
        };
        Self { status, message, hint: Some(hint) }
    }
}

fn sqlite_status(error: &rusqlite::Error) -> u8 {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::PermissionDenied | Code::ReadOnly | Code::CannotOpen) => status::PERMISSION,
        Some(_) => status::IO,
        None => status::INTERNAL,
    }
}

impl From<EnqueueError> for Failure {
    fn from(error: EnqueueError) -> Self {
        let message = error.to_string();
        match error {
            EnqueueError::Store(error) => error.into(),
            EnqueueError::Conflict { holder, .. } => {
                Self::new(status::LATER, format!("nothing was enqueued: {message}"))
                    .hint(format!("runner inspect {holder} shows it; --on-conflict skip takes it as it is"))
            }
        }
    }
}

impl From<WorkError> for Failure {
    fn from(error: WorkError) -> Self {
        let message = error.to_string();
        match error {
            WorkError::Store(error) => error.into(),
            WorkError::Io(_, error) => Self::new(io_status(&error), message),
            WorkError::Broken => Self::new(status::INTERNAL, message),
        }
    }
}

impl From<JobFileError> for Failure {
    fn from(error: JobFileError) -> Self {
        let status = match &error {
            JobFileError::NotFound { .. } | JobFileError::Nowhere { .. } => status::NOT_FOUND,
            JobFileError::Unreadable { error, .. } => io_status(error),
            JobFileError::Mistakes(_) => status::DATA,
        };
        let message = match &error {
            JobFileError::Mistakes(mistakes) => format!("the job file cannot be used\n\n{mistakes}"),
            other => other.to_string(),
        };
        Self::new(status, message)
    }
}
