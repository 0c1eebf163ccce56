//! The errors of the store, each a row: its words, its exit status, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode as Sqlite, ffi};
use rustix::io::Errno;
use thiserror::Error;

use super::version::Version;
use crate::model::{ExitStatus, ToType, errors};
use crate::paths::{ForeignLink, is_gone, may_ignore_chmod};
use crate::text::shell_word;

pub type Result<T> = std::result::Result<T, StoreError>;

errors! {
    /// Why the store could not do something. None of these is about a job that failed.
    StoreError, to_type:

    /// There is no database, and this verb does not create one.
    Missing(path: PathBuf)
        = ("there is no database yet at {}", path.display())
        => ExitStatus::NOT_FOUND, format!("{} creates it; --db or $RUNNER_DB names another one", to_type("enqueue", &""));

    /// The file is something else.
    Foreign(path: PathBuf, what: &'static str)
        = ("{} is not a runner database: {what}; it was not touched", path.display())
        => ExitStatus::IO, "name another file with --db or $RUNNER_DB";

    /// The file holds our tables, and the two numbers that say so are gone: the `application_id` that it should have, and the
    /// version that its tables have.
    LostMark { path: PathBuf, application: u32, version: Version }
        = ("the database {} has lost its mark, as a copy does that was made with .dump or .clone of sqlite3; it was not touched",
            path.display())
        => ExitStatus::IO, format!(
            "`sqlite3 {} 'PRAGMA application_id = {application:#x}; PRAGMA user_version = {}'` gives it back; {} makes a copy \
             that keeps it",
            shell_word(&path.to_string_lossy()), version.0, to_type("backup", &"FILE"));

    /// The file is ours and damaged. The path is there if the damage was found while opening.
    Damaged(path: Option<PathBuf>, what: String)
        = ("the database{} is damaged: {what}{}",
            path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default(),
            if path.is_some() { "; it was not touched" } else { "" })
        => ExitStatus::IO, to_restore(to_type);

    /// The file has a trigger of this name that is not of runner.
    ForeignTrigger(path: PathBuf, name: String)
        = ("the database {} is damaged: somebody has added or changed the trigger {:?}, which would run with our statements; it was not touched",
            path.display(), name)
        => ExitStatus::IO, format!("`{}` removes it", drop_command(path, "trigger", name));

    /// The file is of another major version.
    OtherMajor { path: PathBuf, found: Version, known: Version }
        = ("the database {} is of version {found}, and this runner knows version {known}; it was not touched", path.display())
        => ExitStatus::OTHER_VERSION, match found.major() {
            newer if newer > known.major() => format!("use a runner that knows version {newer}"),
            0 => "it was made before the first release; name another file with --db".to_owned(),
            older => format!("the last runner that knows version {older} brings it up to version {}", older + 1),
        };

    /// The file is of an older minor version, and this user may not write to it.
    NotUpgraded { path: PathBuf, found: Version, known: Version }
        = ("the database {} is of version {found}, and cannot be brought up to version {known}: this user may not write to it",
            path.display())
        => ExitStatus::IO, format!(
            "run `{}` once where the file can be written, or read it with the runner that wrote it", to_type("doctor", &""));

    /// A newer runner has written a definition that this one cannot read.
    NeedsNewer { needs: Version, known: Version }
        = ("a job definition uses what version {needs} of the database brought, and this runner knows version {known}")
        => ExitStatus::OTHER_VERSION, "use the runner that enqueued it";

    /// The file lies on a file system whose locks cannot be trusted.
    Network(path: PathBuf, file_system: &'static str)
        = ("the database {} would lie on {file_system}, where file locks cannot be trusted", path.display())
        => ExitStatus::IO, ON_LOCAL_DISK;

    /// The file lies on a file system that lacks what is needed: its type, as the list of mounts has it, and a clause that says
    /// what cannot be done there.
    Unfit { path: PathBuf, file_system: String, why: String }
        = ("the database {} would lie on {file_system}, where {why}", path.display())
        => ExitStatus::IO, ON_LOCAL_DISK;

    /// The file is mounted by itself, without its folder.
    Mounted(path: PathBuf)
        = ("the database {} is mounted as a single file; jobs would be lost, because its newest data lies in a log beside it that only one side of the mount would find",
            path.display())
        => ExitStatus::IO, format!(
            "mount the folder of the database instead, for example: docker run -v /srv/runner:{}",
            path.parent().unwrap_or(path).display());

    /// A living worker has opened the file by this other path, through another file system, and its locks do not hold here.
    OtherView { path: PathBuf, other: PathBuf }
        = ("the database {} is also {}, by which a worker has opened it: their locks do not meet, so that jobs would run twice and the file be damaged",
            path.display(), other.display())
        => ExitStatus::IO, format!("use it by one path: --db {}", shell_word(&other.to_string_lossy()));

    /// The path leads through a link of somebody else's.
    ForeignLink { path: PathBuf, link: ForeignLink }
        = ("the database {} is not used: {link}", path.display())
        => ExitStatus::PERMISSION, link.way_around();

    /// The file has this many names; under another one SQLite would not find its log.
    HardLinked(path: PathBuf, names: u64)
        = ("the database {} has {names} names (hard links); under a second name its newest data would not be found",
            path.display())
        => ExitStatus::IO, "remove the other names of the file";

    /// The file was moved or removed, or another one was put in its place.
    Moved(path: PathBuf)
        = ("the database {} was moved or removed while it was in use; what was written since lies in the file that was there",
            path.display())
        => ExitStatus::IO, "stop what uses a database before you move it";

    /// Another process has the file open.
    InUse(path: PathBuf)
        = ("the database {} could not be replaced: for 10 s another process had it open", path.display())
        => ExitStatus::LATER,
            "end what waits for its jobs, follows them or has it open in sqlite3, and try again; fuser shows the processes";

    /// Processes of the jobs of a database that is to be replaced are left, and cannot be ended.
    Leftovers(path: PathBuf, processes: String)
        = ("nothing was restored: what ran on {} is not over: {processes}", path.display())
        => ExitStatus::LATER, "end it with kill -KILL and its number, as root if it is another user's, and try again";

    /// This user may not write to the file, or not beside it.
    NotWritable(path: PathBuf)
        = ("{} cannot be changed: it or its directory may not be written here", path.display())
        => ExitStatus::PERMISSION, "copy it, with what lies beside it, to a directory of your own, and name the copy with --db";

    /// Beside a file that cannot be written lies this log, which cannot be read without an index of it.
    UnreadableLog(path: PathBuf, log: PathBuf)
        = ("{} cannot be read: {} holds changes, and SQLite can write no index of them here", path.display(), log.display())
        => ExitStatus::IO, "copy both files to a directory of your own, and name the copy of the first with --db";

    /// The file changed, though nothing could be written or locked where it was read.
    ChangedWhileRead(path: PathBuf)
        = ("{} changed while it was read from a place where it cannot be locked", path.display())
        => ExitStatus::LATER, "try again";

    /// Other users may have written the file.
    Untrusted(untrusted: Box<Untrusted>)
        = ("the database {} is not used: {}", untrusted.path.display(), untrusted.why)
        => ExitStatus::PERMISSION, untrusted.own_folder();

    /// The operating system refused this.
    Io(what: String, error: io::Error)
        = ("could not {what}: {}",
            if is_read_only(error) { "its file system is read-only".to_owned() } else { error.to_string() })
        => ExitStatus::of_io(error), if is_read_only(error) {
            "mount it for writing, or name a database on another one with --db or $RUNNER_DB"
        } else {
            raise_limit(error).unwrap_or(ANOTHER_PLACE)
        };

    /// Another process held the write lock for longer than the busy timeout.
    Busy
        = ("the database was busy for 10 s: other processes kept writing to it")
        => ExitStatus::LATER, format!("try again; {} shows who works on it", to_type("inspect", &"workers"));

    /// The same for a file that is not in WAL mode, where whoever reads it keeps writers out.
    BusyWithoutWal(path: PathBuf)
        = ("the database {} was busy for 10 s: another process kept it locked, and one that only reads it can, because it is not in WAL mode",
            path.display())
        => ExitStatus::LATER, format!(
            "`fuser {}` shows who has it open; once that has ended, the next command that writes puts it back into WAL mode",
            shell_word(&path.to_string_lossy()));

    /// No room on the disk, or another reason for which a file may not be written now.
    Full(why: NoRoom)
        = ("{why}: nothing was written")
        => ExitStatus::IO, format!("{}, and try again", why.way_to_room(to_type));

    /// A commit failed in a way that leaves open whether it is on disk.
    CommitUnknown(error: rusqlite::Error)
        = ("the database could not say whether the last change is on disk ({error})")
        => ExitStatus::IO, format!("look with {} before you do it again", to_type("inspect", &""));

    /// The file holds a value that runner never writes.
    InvalidData(what: String)
        = ("the database holds something that makes no sense: {what}")
        => ExitStatus::IO, to_restore(to_type);

    /// An unfinished job, the holder, has the unique key of a job to be enqueued, and the conflict is not to be skipped. It may have
    /// started, and then it cannot be replaced. The index says which of the jobs to be enqueued, from 0.
    KeyHeld { key: String, holder: i64, started: bool, index: usize }
        = ("the unique key {key:?} is held by job {holder}{}",
            if *started { ", which has started and cannot be replaced" } else { "" })
        => ExitStatus::LATER, format!("{} shows it; --on-conflict skip takes it as it is", to_type("inspect", holder));

    /// A job of the same name from another job file holds the unique key of the job of this index.
    KeyOfNamesake { key: String, holder: i64, file: String, index: usize }
        = ("the unique key {key:?} is held by job {holder}, which has the same name and is of another job file, {file}")
        => ExitStatus::LATER, if is_gone(Path::new(file)) {
            let take = to_type("change", &format_args!("{holder} --redefine --file FILE"));
            format!("that file is gone; if FILE is what has become of it, {take} takes the job along")
        } else {
            format!("{} shows it; give one of the two another unique_key", to_type("inspect", holder))
        };

    /// The idempotency key of the job of this index belongs to a job that does other work; the difference is a few words.
    KeyOfOtherWork { key: String, first: i64, difference: &'static str, index: usize }
        = ("the idempotency key {key:?} belongs to job {first}, which does other work ({difference})")
        => ExitStatus::DATA, format!("{} shows it; give other work a key of its own", to_type("inspect", first));

    /// The job of this index depends on one that does not exist.
    NoDependency { id: i64, index: usize }
        = ("there is no job {id} to wait for")
        => ExitStatus::NOT_FOUND, format!("{} lists the jobs that there are", to_type("inspect", &"jobs"));

    /// Another job file has applied a schedule of this name.
    AppliedElsewhere { name: String, file: String }
        = ("nothing was applied: {file} has applied a schedule of the name {name:?}")
        => ExitStatus::DATA, "rename the job";

    /// Any other error of SQLite.
    Sqlite(error: rusqlite::Error)
        = ("the database said: {error}")
        => status_of(error), ANOTHER_PLACE;
}

const ANOTHER_PLACE: &str = "see --db and $RUNNER_DB for another place";
const ON_LOCAL_DISK: &str = "name a file on a local disk with --db or $RUNNER_DB";

/// The hint for an error that says that this process may open no more files; none for any other.
pub fn raise_limit(error: &io::Error) -> Option<&'static str> {
    let is_short = Errno::from_io_error(error) == Some(Errno::MFILE);
    is_short.then_some("raise the limit of open files (`ulimit -n`, LimitNOFILE= of a service)")
}

fn is_read_only(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ReadOnlyFilesystem
}

fn to_restore(to_type: ToType<'_>) -> String {
    let restore = to_type("restore", &"FILE");
    format!("{restore} puts a backup in the database's place and keeps the damaged one; --db names another")
}

/// The command that removes an object of a database.
pub fn drop_command(path: &Path, kind: &str, name: &str) -> String {
    let statement = format!("DROP {} \"{}\"", kind.to_ascii_uppercase(), name.replace('"', "\"\""));
    format!("sqlite3 {} {}", shell_word(&path.to_string_lossy()), shell_word(&statement))
}

fn status_of(error: &rusqlite::Error) -> ExitStatus {
    match error.sqlite_error_code() {
        Some(Sqlite::PermissionDenied | Sqlite::ReadOnly | Sqlite::CannotOpen) => ExitStatus::PERMISSION,
        Some(_) => ExitStatus::IO,
        None => ExitStatus::INTERNAL,
    }
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
        if error.sqlite_error_code() == Some(Sqlite::CannotOpen) {
            let system = io::Error::last_os_error();
            if raise_limit(&system).is_some() {
                return Self::Io("open a file of the database".to_owned(), system);
            }
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
    /// ENOSPC, though there is room.
    #[error("the disk is full, as no inodes are left")]
    Inodes,
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

impl NoRoom {
    fn way_to_room(self, to_type: ToType<'_>) -> String {
        let way = match self {
            Self::Disk => {
                return format!(
                    "make room on the disk of the database, which {} names",
                    to_type("doctor", &"")
                );
            }
            Self::Inodes => "remove files on the disk of the database (`df -i` counts them)",
            Self::Quota => "remove files of yours on the disk of the database, or ask for a larger quota",
            Self::FileSize => "raise the limit (`ulimit -f`, LimitFSIZE= of a service)",
            Self::ReadOnly => {
                "look in the kernel's log (dmesg) for the reason, mount the file system for writing"
            }
        };
        way.to_owned()
    }
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

impl Untrusted {
    fn own_folder(&self) -> String {
        // A folder in which everybody may create files is where the caller wanted the database to lie.
        let is_meant = |folder: &&Path| self.is_folder_shared && !may_ignore_chmod(folder);
        let folder = self.path.parent().filter(is_meant);
        let folder = folder.map_or_else(|| "~".to_owned(), |path| shell_word(&path.to_string_lossy()));
        format!("use one in a folder that is made for you alone: --db {folder}/runner/runner.db")
    }
}
