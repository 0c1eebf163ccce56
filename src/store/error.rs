//! The errors of the store, as data, and the words for them.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode as Sqlite;

/// The answer of the store's functions.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why the store could not do something. None of these is about a job that failed.
#[derive(Debug)]
pub enum StoreError {
    /// There is no database, and this verb does not create one.
    Missing(PathBuf),
    /// The file is something else.
    Foreign(PathBuf, &'static str),
    /// The file is ours and damaged. The path is there if the damage was found while opening.
    Damaged(Option<PathBuf>, String),
    /// The file is from a newer runner, with this `user_version`.
    Newer(PathBuf, u32),
    /// The file lies on a file system whose locks cannot be trusted.
    Network(PathBuf, &'static str),
    /// The file has this many names; under another one its WAL would not be found.
    HardLinked(PathBuf, u64),
    /// The file was moved or removed, or another one was put in its place.
    Moved(PathBuf),
    /// Another process has the file open.
    InUse(PathBuf),
    /// This user may not write to the file, or not beside it.
    NotWritable(PathBuf),
    /// The operating system refused this.
    Io(String, io::Error),
    /// Another process held the write lock for longer than the busy timeout.
    Busy,
    /// No room on the disk.
    Full,
    /// A commit failed in a way that leaves open whether it is on disk.
    CommitUnknown(rusqlite::Error),
    /// The file holds a value that runner never writes.
    InvalidData(String),
    /// An unfinished job holds the unique key of a job to be enqueued, and the conflict is not to be skipped.
    KeyHeld {
        key: String,
        /// The job that holds the key.
        holder: i64,
        /// The holder was to be replaced, but has started.
        started: bool,
        /// Which of the jobs to be enqueued, from 0.
        index: usize,
    },
    /// A job to be enqueued is after this one, which does not exist.
    NoDependency(i64),
    /// Another job file has applied a schedule of this name.
    AppliedElsewhere { name: String, file: String },
    /// Any other error of SQLite.
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// An error of a COMMIT, which may have reached the disk all the same, unless SQLite is known to have undone it.
    pub(super) fn at_commit(error: rusqlite::Error) -> Self {
        match Self::from(error) {
            Self::Sqlite(error) => Self::CommitUnknown(error),
            known => known,
        }
    }

    /// Damage that was found while the database is in use: an index and its table contradict each other.
    pub(super) fn contradiction(what: impl Into<String>) -> Self {
        Self::Damaged(None, what.into())
    }

    /// Is another try worthwhile? Nothing is broken, something is in the way.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Full)
    }

    /// May the file be damaged?
    pub(super) const fn may_be_damage(&self) -> bool {
        !matches!(
            self,
            Self::Busy
                | Self::Full
                | Self::KeyHeld { .. }
                | Self::NoDependency(_)
                | Self::AppliedElsewhere { .. }
        )
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => Self::Busy,
            Some(Sqlite::DiskFull) => Self::Full,
            Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => Self::Damaged(None, error.to_string()),
            // The statements ask for the types that the schema has, and for rows that must be there.
            None if is_about_a_value(&error) => Self::InvalidData(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}

/// Is this about a value that was read, and not about the question?
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

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "there is no database yet at {}", path.display()),
            Self::Foreign(path, what) => {
                write!(f, "{} is not a runner database: {what}; it was not touched", path.display())
            }
            Self::Damaged(None, what) => write!(f, "the database is damaged: {what}"),
            Self::Damaged(Some(path), what) => {
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
            Self::InUse(path) => write!(
                f,
                "the database {} could not be replaced: for 10 s another process had it open",
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
            Self::InvalidData(what) => {
                write!(f, "the database holds something that makes no sense: {what}")
            }
            Self::KeyHeld { key, holder, started, .. } => {
                write!(f, "the unique key {key:?} is held by job {holder}")?;
                if *started { f.write_str(", which has started and cannot be replaced") } else { Ok(()) }
            }
            Self::NoDependency(id) => write!(f, "nothing was enqueued: there is no job {id} to wait for"),
            Self::AppliedElsewhere { name, file } => {
                write!(f, "nothing was applied: {file} has applied a schedule of the name {name:?}")
            }
            Self::Sqlite(error) => write!(f, "the database said: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}
