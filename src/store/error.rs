//! What can go wrong with the store, as data; the words are in one place below.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode as Sqlite;

/// Why the store could not do something. None of these is about a job that failed.
#[derive(Debug)]
pub enum StoreError {
    /// There is no database, and this verb does not create one.
    Missing(PathBuf),
    /// The file is something else.
    Foreign(PathBuf, &'static str),
    /// The file was ours and is damaged.
    Damaged(PathBuf, String),
    /// The file is from a newer runner, with this `user_version`.
    Newer(PathBuf, u32),
    /// The file lies on a file system whose locks cannot be trusted.
    Network(PathBuf, &'static str),
    /// The file has a second name, under which its WAL would not be found.
    HardLinked(PathBuf, u64),
    /// The file was moved or removed, or another one was put in its place.
    Moved(PathBuf),
    /// This user may not write to the file, or not beside it.
    NotWritable(PathBuf),
    /// The operating system said no to this.
    Io(String, io::Error),
    /// Another process held the write lock for longer than the busy timeout.
    Busy,
    /// No room on the disk.
    Full,
    /// A commit failed in a way that leaves open whether it is on disk.
    CommitUnknown(rusqlite::Error),
    /// What the file holds makes no sense.
    Nonsense(String),
    /// Anything else that SQLite says.
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// An error of a COMMIT: unless it is known to have been undone, nobody knows.
    pub(super) fn at_commit(error: rusqlite::Error) -> Self {
        match Self::from(error) {
            Self::Sqlite(error) => Self::CommitUnknown(error),
            known => known,
        }
    }

    /// An index and its table, or the entries of an index, contradict each other.
    pub(super) fn contradiction(what: impl Into<String>) -> Self {
        TROUBLE_SEEN.set(true);
        Self::Damaged(PathBuf::new(), what.into())
    }

    /// A value that makes no sense.
    pub(super) fn nonsense(what: impl Into<String>) -> Self {
        TROUBLE_SEEN.set(true);
        Self::Nonsense(what.into())
    }

    /// Worth another try by itself: nothing is broken, something is in the way.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Full)
    }
}

thread_local! {
    /// A store keeps to the thread that opened it; how it is doing, its errors tell.
    static TROUBLE_SEEN: Cell<bool> = const { Cell::new(false) };
}

/// Has this thread been told of anything worse than that it has to wait? Then the file may be damaged.
pub(super) fn trouble_was_seen() -> bool {
    TROUBLE_SEEN.get()
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let known = of_sqlite(error);
        TROUBLE_SEEN.set(TROUBLE_SEEN.get() || !known.is_passing());
        known
    }
}

fn of_sqlite(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => StoreError::Busy,
        Some(Sqlite::DiskFull) => StoreError::Full,
        Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => {
            StoreError::Damaged(PathBuf::new(), error.to_string())
        }
        // Nothing is asked for in a type that the schema does not have, nor what need not be there.
        None if is_of_the_contents(&error) => StoreError::Nonsense(error.to_string()),
        _ => StoreError::Sqlite(error),
    }
}

/// Is this about a value that was read, and not about what was asked?
fn is_of_the_contents(error: &rusqlite::Error) -> bool {
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "there is no database yet at {}", path.display()),
            Self::Foreign(path, what) => {
                write!(f, "{} is not a runner database: {what}; it was not touched", path.display())
            }
            Self::Damaged(path, what) if path.as_os_str().is_empty() => {
                write!(f, "the database is damaged: {what}")
            }
            Self::Damaged(path, what) => {
                write!(f, "the database {} is damaged: {what}; it was not touched", path.display())
            }
            Self::Newer(path, version) => write!(
                f,
                "the database {} is of version {version}, from a newer runner than this one; it was not touched",
                path.display()
            ),
            Self::Network(path, kind) => write!(
                f,
                "the database {} would lie on {kind}, where file locks cannot be trusted",
                path.display()
            ),
            Self::HardLinked(path, links) => write!(
                f,
                "the database {} has {links} names (hard links); under a second name its newest data would not be found",
                path.display()
            ),
            Self::Moved(path) => write!(
                f,
                "the database {} was moved or removed while it was in use; what was written since lies in the file that was there",
                path.display()
            ),
            Self::NotWritable(path) => write!(
                f,
                "{} cannot be used: this user may not write to it and to its directory, which SQLite needs even to read",
                path.display()
            ),
            Self::Io(what, error) => write!(f, "could not {what}: {error}"),
            Self::Busy => f.write_str("the database was busy for 10 s: other processes kept writing to it"),
            Self::Full => f.write_str("the disk is full: nothing was written"),
            Self::CommitUnknown(error) => {
                write!(f, "the database could not say whether the last change is on disk ({error})")
            }
            Self::Nonsense(what) => write!(f, "the database holds something that makes no sense: {what}"),
            Self::Sqlite(error) => write!(f, "the database said: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}
