//! The errors of the store, and their words. What to do about each, and its exit status, stands in `cli/error.rs`.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode as Sqlite, ffi};
use rustix::io::Errno;
use thiserror::Error;

use super::version::Version;
use crate::paths::ForeignLink;

pub type Result<T> = std::result::Result<T, StoreError>;

/// Why the store could not do something. None of these is about a job that failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no database, and this verb does not create one.
    #[error("there is no database yet at {}", .0.display())]
    Missing(PathBuf),
    /// The file is something else.
    #[error("{path} is not a runner database: {1}; it was not touched", path = .0.display())]
    Foreign(PathBuf, &'static str),
    /// The file holds our tables, and the two numbers that say so are gone.
    #[error("the database {} has lost its mark, as a copy does that was made with .dump or .clone of sqlite3; it was not touched", path.display())]
    LostMark {
        path: PathBuf,
        /// The `application_id` that it should have.
        application: u32,
        /// The version that its tables have.
        version: Version,
    },
    /// The file is ours and damaged. The path is there if the damage was found while opening.
    #[error("the database{path} is damaged: {1}{untouched}",
            path = .0.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default(),
            untouched = if .0.is_some() { "; it was not touched" } else { "" })]
    Damaged(Option<PathBuf>, String),
    /// The file has a trigger of this name that is not of runner.
    #[error("the database {} is damaged: somebody has added or changed the trigger {:?}, which would run with our statements; it was not touched", .0.display(), .1)]
    ForeignTrigger(PathBuf, String),
    /// The file is of another major version.
    #[error("the database {} is of version {found}, and this runner knows version {known}; it was not touched", path.display())]
    OtherMajor { path: PathBuf, found: Version, known: Version },
    /// The file is of an older minor version, and this user may not write to it.
    #[error("the database {} is of version {found}, and cannot be brought up to version {known}: this user may not write to it", path.display())]
    NotUpgraded { path: PathBuf, found: Version, known: Version },
    /// A newer runner has written a definition that this one cannot read.
    #[error(
        "a job definition uses what version {needs} of the database brought, and this runner knows version {known}"
    )]
    NeedsNewer { needs: Version, known: Version },
    /// The file lies on a file system whose locks cannot be trusted.
    #[error("the database {path} would lie on {1}, where file locks cannot be trusted", path = .0.display())]
    Network(PathBuf, &'static str),
    /// The file lies on a file system that lacks what is needed.
    #[error("the database {} would lie on {file_system}, where {why}", path.display())]
    Unfit {
        path: PathBuf,
        /// Its type, as the list of mounts has it.
        file_system: String,
        /// A clause that says what cannot be done there.
        why: String,
    },
    /// The file is mounted by itself, without its folder.
    #[error("the database {} is mounted as a single file; jobs would be lost, because its newest data lies in a log beside it that only one side of the mount would find", .0.display())]
    Mounted(PathBuf),
    /// The path leads through a link of somebody else's.
    #[error("the database {} is not used: {link}", path.display())]
    ForeignLink { path: PathBuf, link: ForeignLink },
    /// The file has this many names; under another one SQLite would not find its log.
    #[error("the database {path} has {1} names (hard links); under a second name its newest data would not be found", path = .0.display())]
    HardLinked(PathBuf, u64),
    /// The file was moved or removed, or another one was put in its place.
    #[error("the database {} was moved or removed while it was in use; what was written since lies in the file that was there", .0.display())]
    Moved(PathBuf),
    /// Another process has the file open.
    #[error("the database {} could not be replaced: for 10 s another process had it open", .0.display())]
    InUse(PathBuf),
    /// Processes of the jobs of a database that is to be replaced are left, and cannot be ended.
    #[error("nothing was restored: what ran on {} is not over: {}", .0.display(), .1)]
    Leftovers(PathBuf, String),
    /// This user may not write to the file, or not beside it.
    #[error("{} cannot be changed: it or its directory may not be written here", .0.display())]
    NotWritable(PathBuf),
    /// Beside a file that cannot be written lies this log, which cannot be read without an index of it.
    #[error("{} cannot be read: {} holds changes, and SQLite can write no index of them here", .0.display(), .1.display())]
    UnreadableLog(PathBuf, PathBuf),
    /// The file changed, though nothing could be written or locked where it was read.
    #[error("{} changed while it was read from a place where it cannot be locked", .0.display())]
    ChangedWhileRead(PathBuf),
    /// Other users may have written the file.
    #[error("the database {} is not used: {}", .0.path.display(), .0.why)]
    Untrusted(Box<Untrusted>),
    /// The operating system refused this.
    #[error("could not {0}: {1}")]
    Io(String, io::Error),
    /// Another process held the write lock for longer than the busy timeout.
    #[error("the database was busy for 10 s: other processes kept writing to it")]
    Busy,
    /// The same for a file that is not in WAL mode, where whoever reads it keeps writers out.
    #[error("the database {} was busy for 10 s: another process kept it locked, and one that only reads it can, because it is not in WAL mode", .0.display())]
    BusyWithoutWal(PathBuf),
    /// No room on the disk, or another reason for which a file may not be written now.
    #[error("{0}: nothing was written")]
    Full(NoRoom),
    /// A commit failed in a way that leaves open whether it is on disk.
    #[error("the database could not say whether the last change is on disk ({0})")]
    CommitUnknown(rusqlite::Error),
    /// The file holds a value that runner never writes.
    #[error("the database holds something that makes no sense: {0}")]
    InvalidData(String),
    /// An unfinished job holds the unique key of a job to be enqueued, and the conflict is not to be skipped.
    #[error("the unique key {key:?} is held by job {holder}{}", if *.started { ", which has started and cannot be replaced" } else { "" })]
    KeyHeld {
        key: String,
        /// The job that holds the key.
        holder: i64,
        /// The holder was to be replaced, but has started.
        started: bool,
        /// Which of the jobs to be enqueued, from 0.
        index: usize,
    },
    /// A job of the same name from another job file holds the unique key of a job to be enqueued.
    #[error(
        "the unique key {key:?} is held by job {holder}, which has the same name and is of another job file, {file}"
    )]
    KeyOfNamesake {
        key: String,
        /// The job that holds the key.
        holder: i64,
        /// The file of that job.
        file: String,
        /// Which of the jobs to be enqueued, from 0.
        index: usize,
    },
    /// The idempotency key of a job to be enqueued belongs to a job that does other work.
    #[error("the idempotency key {key:?} belongs to job {first}, which does other work ({difference})")]
    KeyOfOtherWork {
        key: String,
        /// The job that got the key.
        first: i64,
        /// What differs, in a few words.
        difference: &'static str,
        /// Which of the jobs to be enqueued, from 0.
        index: usize,
    },
    /// A job to be enqueued depends on this one, which does not exist.
    #[error("there is no job {id} to wait for")]
    NoDependency {
        id: i64,
        /// Which of the jobs to be enqueued depends on it, from 0.
        index: usize,
    },
    /// Another job file has applied a schedule of this name.
    #[error("nothing was applied: {file} has applied a schedule of the name {name:?}")]
    AppliedElsewhere { name: String, file: String },
    /// Any other error of SQLite.
    #[error("the database said: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// An error of a COMMIT, which may have reached the disk all the same, unless SQLite is known to have undone it.
    ///
    /// That is known where a write failed: the page that makes a transaction valid is the last one that a commit writes to
    /// the log, and whoever reads the log skips a page that is not whole. What comes after that page, the sync and the index
    /// of the log, may fail for want of room, too, and leaves open what a recovery of the log will find.
    pub(in crate::store) fn at_commit(error: rusqlite::Error) -> Self {
        let is_open = is_io_error(&error) && extended_code(&error) != Some(ffi::SQLITE_IOERR_WRITE);
        if is_open {
            return Self::CommitUnknown(error);
        }
        match Self::from(error) {
            Self::Sqlite(error) => Self::CommitUnknown(error),
            known => known,
        }
    }

    /// Damage of the file at this path, which was found while opening it.
    pub(in crate::store) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged(Some(path.to_owned()), what.into())
    }

    /// Damage that was found while the database is in use: an index and its table contradict each other.
    pub(in crate::store) fn contradiction(what: impl Into<String>) -> Self {
        Self::Damaged(None, what.into())
    }

    /// Whether another try is worthwhile, because nothing is broken and something is in the way.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::BusyWithoutWal(_) | Self::Full(_))
    }

    /// Whether the file may be damaged.
    pub(in crate::store) const fn may_be_damage(&self) -> bool {
        !matches!(
            self,
            Self::Busy
                | Self::BusyWithoutWal(_)
                | Self::Full(_)
                | Self::KeyHeld { .. }
                | Self::KeyOfNamesake { .. }
                | Self::KeyOfOtherWork { .. }
                | Self::NoDependency { .. }
                | Self::AppliedElsewhere { .. }
                | Self::NeedsNewer { .. }
        )
    }
}

impl From<rusqlite::Error> for StoreError {
    /// Call this before anything else can fail, because of some errors the system's own number is looked at.
    fn from(error: rusqlite::Error) -> Self {
        if let Some(why) = no_room(&error) {
            return Self::Full(why);
        }
        match error.sqlite_error_code() {
            Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => Self::Busy,
            Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => Self::Damaged(None, error.to_string()),
            // The statements ask for the types that the schema has, and for rows that must be there.
            None if is_about_a_value(&error) => Self::InvalidData(error.to_string()),
            _ => match error {
                // The statements fit our schema, so the one in the file is another.
                rusqlite::Error::SqlInputError { msg, .. } => {
                    Self::Damaged(None, format!("its schema is not ours: {msg}"))
                }
                error => Self::Sqlite(error),
            },
        }
    }
}

/// Whether this is about a value that was read, and not about the statement.
fn is_about_a_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
            | E::QueryReturnedNoRows
    )
}

/// Why a file may not be written now. Each of them passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoRoom {
    /// ENOSPC.
    #[error("the disk is full")]
    Disk,
    /// EDQUOT.
    #[error("the disk quota is used up")]
    Quota,
    /// EFBIG.
    #[error("the file may not grow beyond the limit on the size of files")]
    FileSize,
    /// EROFS: the file system was mounted read-only while the file was open.
    #[error("the file system has become read-only")]
    ReadOnly,
}

/// The calls of SQLite that fail for want of room, and leave their reason in `errno`.
const WRITING: [i32; 4] =
    [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_TRUNCATE, ffi::SQLITE_IOERR_SHMSIZE];

/// The calls with which SQLite maps the index of the log.
const MAPPING: [i32; 4] = [
    ffi::SQLITE_IOERR_SHMOPEN,
    ffi::SQLITE_IOERR_SHMSIZE,
    ffi::SQLITE_IOERR_SHMMAP,
    ffi::SQLITE_IOERR_SHMLOCK,
];

/// SQLite tells only a full disk from other failed calls. The number of such a call is still in `errno`: nothing that SQLite
/// does after it fails, and what succeeds leaves `errno` alone.
fn no_room(error: &rusqlite::Error) -> Option<NoRoom> {
    if error.sqlite_error_code() == Some(Sqlite::DiskFull) {
        return Some(NoRoom::Disk);
    }
    let errno =
        extended_code(error).filter(|code| WRITING.contains(code)).map(|_| io::Error::last_os_error());
    match errno.and_then(|error| Errno::from_io_error(&error)) {
        Some(Errno::NOSPC) => Some(NoRoom::Disk),
        Some(Errno::DQUOT) => Some(NoRoom::Quota),
        Some(Errno::FBIG) => Some(NoRoom::FileSize),
        Some(Errno::ROFS) => Some(NoRoom::ReadOnly),
        _ => None,
    }
}

pub(super) fn is_io_error(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(Sqlite::SystemIoFailure)
}

/// Whether the index of the log, `-shm`, could not be mapped into memory.
pub(super) fn is_mapping_error(error: &rusqlite::Error) -> bool {
    extended_code(error).is_some_and(|code| MAPPING.contains(&code))
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// A database that is not used, because other users may have written it.
#[derive(Debug)]
pub struct Untrusted {
    pub path: PathBuf,
    /// A sentence with owner and mode of what cannot be trusted.
    pub why: String,
    /// User and group that the database or its folder belongs to, if that is not the caller.
    pub owner: Option<(u32, u32)>,
    /// Others may create files in the folder.
    pub is_folder_shared: bool,
}
