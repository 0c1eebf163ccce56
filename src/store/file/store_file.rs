//! The path of the database, the directories around it, and the draft that becomes a new database.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::{Result, StoreError};
use super::file_system::{in_memory, look_ahead, refuse_network, try_new, try_old};
use crate::paths::{self, ResolveError};

/// The longest path of a database: the 512 bytes that SQLite takes (`MAX_PATHNAME`), less the longest suffix.
const MAX_PATH_BYTES: usize = 512 - "-journal".len() - ".run/new.db".len() - 1;

/// The ending of a write-ahead log.
const WAL: &str = "-wal";

/// The endings of the files that SQLite puts beside a database.
pub const BESIDE: [&str; 3] = ["-journal", WAL, "-shm"];

/// The path of a database. It is canonical, so that all processes that mean the same file use the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFile {
    path: PathBuf,
}

impl StoreFile {
    /// Follows links, even if the file itself does not exist yet.
    pub fn new(path: &Path) -> Result<Self> {
        let failed = |error| StoreError::Io(format!("find the database {}", path.display()), error);
        if path.as_os_str().as_bytes().ends_with(b"/") {
            let why = "its path ends with a slash, as a folder's does";
            return Err(failed(io::Error::new(ErrorKind::IsADirectory, why)));
        }
        let path = paths::resolve(path).map_err(|error| match error {
            ResolveError::Foreign(link) => StoreError::ForeignLink { path: path.to_owned(), link },
            ResolveError::Io(error) => failed(error),
        })?;
        if path.as_os_str().len() > MAX_PATH_BYTES {
            let why = format!("its path is longer than {MAX_PATH_BYTES} bytes, and SQLite takes no more");
            return Err(failed(io::Error::other(why)));
        }
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::store) fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// `FILE.run/`, the directory for the locks, sockets and reports of this database's workers.
    pub fn run_dir(&self) -> PathBuf {
        self.beside(".run")
    }

    /// The path with this suffix.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.path, suffix)
    }

    /// Where `restore` puts the old database: the number tells several apart.
    pub(in crate::store) fn aside(&self, number: u64) -> PathBuf {
        self.beside(&format!("{ASIDE}{number}"))
    }

    /// Whether `restore` has put this file aside, by its name.
    pub fn is_put_aside(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit_once(ASIDE).is_some_and(|(_, number)| number.parse::<u64>().is_ok())
    }

    /// Whether there is no database: no file, or an empty one. It is an error if a log is left of one.
    pub(in crate::store) fn is_missing(&self) -> Result<bool> {
        if !self.is_absent()? {
            return Ok(false);
        }
        if !self.log_holds_data() {
            return Ok(true);
        }
        // Another process may have created the file between the looks: it does so before it writes to the log.
        if !self.is_absent()? {
            return Ok(false);
        }
        let what = if self.path.exists() { "it is empty" } else { "it is gone" };
        let log = self.beside(WAL);
        Err(StoreError::damaged(&self.path, format!("{what}, but {} holds data of it", log.display())))
    }

    /// Whether a write-ahead log with at least one whole frame lies beside the path. The numbers are from the SQLite file format,
    /// section 4.1.
    pub(in crate::store) fn log_holds_data(&self) -> bool {
        const HEADER_BYTES: usize = 32;
        const FRAME_HEADER_BYTES: usize = 24;
        let mut start = [0; HEADER_BYTES + FRAME_HEADER_BYTES];
        let read = open_regular(&self.beside(WAL), File::options().read(true)).and_then(|mut log| {
            log.read_exact(&mut start)?;
            Ok(log.metadata()?.len())
        });
        let Ok(length) = read else { return false };
        let number = |at: usize| start[at..at + 4].iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let is_log = matches!(number(0), 0x377f_0682 | 0x377f_0683);
        // A frame of an earlier log, which this one has not yet written over, has other salts.
        let is_of_this_log = start[16..24] == start[HEADER_BYTES + 8..HEADER_BYTES + 16];
        is_log && is_of_this_log && length >= start.len() as u64 + number(8)
    }

    /// Whether there is no file, or an empty one.
    pub(in crate::store) fn is_absent(&self) -> Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(found.is_file() && found.len() == 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(StoreError::Io(format!("look at the database {}", self.path.display()), error)),
        }
    }

    /// The kind of file system on which the database lies, if a reboot empties it.
    pub fn in_memory(&self) -> Option<&'static str> {
        in_memory(&self.path)
    }

    /// Refuses the place of a database that is missing, as far as it can be told that none could be used there.
    pub fn look_ahead(&self) -> Result<()> {
        look_ahead(&self.path)
    }

    /// Refuses a file that is a mount of its own: SQLite looks for the log beside it, and whoever opens the file by its other
    /// name finds another log there. Only the side that sees the mount can tell.
    pub(in crate::store) fn refuse_mount(&self) -> Result<()> {
        if paths::is_mount(&self.path) { Err(StoreError::Mounted(self.path.clone())) } else { Ok(()) }
    }

    /// Refuses a `FILE.run` that is something else than a directory of the caller. A missing one is fine.
    pub(in crate::store) fn check_run_dir(&self) -> Result<()> {
        let dir = self.run_dir();
        let why = match fs::symlink_metadata(&dir) {
            Ok(found) if !found.is_dir() => "it is no directory, or a link to one",
            Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => "it belongs to another user",
            _ => return Ok(()),
        };
        let error = io::Error::new(ErrorKind::PermissionDenied, why.to_owned());
        Err(StoreError::Io(format!("use the run directory {}", dir.display()), error))
    }

    /// Creates `FILE.run/` if it is missing, and makes sure that no other user can put files into it.
    pub fn make_run_dir(&self) -> Result<PathBuf> {
        let dir = self.run_dir();
        self.check_run_dir()?;
        let failed = |error| StoreError::Io(format!("use the run directory {}", dir.display()), error);
        make_dirs(&dir).map_err(failed)?;
        let found = fs::symlink_metadata(&dir).map_err(failed)?;
        if found.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(&dir, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(dir)
    }
}

/// Creates the missing parts of a directory, which only its owner may read, and makes their names durable.
pub fn make_dirs(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent)?;
    }
    match make_private_dir(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => dir.parent().map_or(Ok(()), sync_dir),
    }
}

/// Creates a directory that only its owner may read. Its name is not durable: a power cut may take it.
pub fn make_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(dir)?;
    // The umask of the caller took bits away, perhaps the owner's.
    fs::set_permissions(dir, Permissions::from_mode(0o700))
}

/// Opens a regular file. What else may have been put in its place is not opened: a pipe could make the caller wait for ever,
/// and a device may act.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let refused = || io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(refused());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

/// Opens a file to lock it, and creates it if it is missing, so that its owner may open it again under any umask.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let file = open_regular(path, File::options().create(true).truncate(false).write(true).mode(0o600))?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// The lock of a worker in `FILE.run/`, which it holds for as long as it lives.
pub fn lock_path(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.lock"))
}

/// Whether a process holds this lock. Tries a shared lock, so that its owner is not disturbed.
pub fn is_lock_held(lock: &Path) -> bool {
    open_regular(lock, File::options().read(true))
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// A path with a suffix appended to its last part.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Stands between the name of a database that `restore` has put aside and its number.
const ASIDE: &str = ".replaced-";

/// The names in `FILE.run/` of a draft, of what is read of an old database meanwhile, and of the lock of both.
const DRAFT: &str = "new.db";
const OLD: &str = "old.db";
const LOCK: &str = "create.lock";

/// A new database under another name in `FILE.run/`, until it is complete.
///
/// A lock lets one process at a time make a draft; the others find the finished database afterwards. A draft that a killed
/// process left is replaced, and one that is dropped is removed.
pub struct Draft<'a> {
    pub file: &'a StoreFile,
    pub path: PathBuf,
    _lock: File,
}

impl<'a> Draft<'a> {
    /// Creates the draft: an empty file that only its owner may read.
    pub(in crate::store) fn new(file: &'a StoreFile) -> Result<Self> {
        let failed = |error| failed(file, error);
        file.check_place()?;
        make_dirs(file.parent()).map_err(failed)?;
        file.check_trust()?;
        refuse_network(file.path(), file.parent())?;
        file.refuse_mount()?;
        let lacks = if file.is_absent()? { try_new } else { try_old };
        lacks(file.path(), file.parent())?;
        let run_dir = file.make_run_dir()?;
        // The draft may be that of a backup.
        let failed = |error| StoreError::Io(format!("create a file in {}", run_dir.display()), error);
        let lock = open_lock(&run_dir.join(LOCK)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let draft = Self { file, path: run_dir.join(DRAFT), _lock: lock };
        draft.remove().map_err(failed)?;
        let empty = File::options().create_new(true).write(true).mode(0o600).open(&draft.path);
        // The umask may have taken bits away.
        empty.and_then(|empty| empty.set_permissions(Permissions::from_mode(0o600))).map_err(failed)?;
        Ok(draft)
    }

    /// Removes the draft that a killed process left, if there is one: it holds whatever the database held then.
    pub(in crate::store) fn remove_abandoned(file: &'a StoreFile) -> Result<()> {
        let run_dir = file.run_dir();
        let failed = |error| StoreError::Io(format!("clear {}", run_dir.display()), error);
        let lock = match open_regular(&run_dir.join(LOCK), File::options().write(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        match lock.try_lock() {
            Ok(()) => Self { file, path: run_dir.join(DRAFT), _lock: lock }.remove().map_err(failed),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Gives the draft the name of the database, which is missing or empty.
    pub(in crate::store) fn become_database(self) -> Result<()> {
        let failed = |error| failed(self.file, error);
        // SQLite would take the log of an earlier file of this name for that of the new database.
        for suffix in BESIDE {
            remove(&self.file.beside(suffix)).map_err(failed)?;
        }
        fs::rename(&self.path, self.file.path()).map_err(failed)?;
        sync_dir(self.file.parent()).map_err(failed)
    }

    /// Where a file may be put together of what is left of an old database. It is removed with the draft.
    pub(in crate::store) fn old(&self) -> PathBuf {
        self.path.with_file_name(OLD)
    }

    /// Removes the draft and what SQLite put beside it.
    pub(in crate::store) fn remove(&self) -> io::Result<()> {
        [&self.path, &self.old()].into_iter().try_for_each(|file| {
            remove(file)?;
            BESIDE.iter().try_for_each(|suffix| remove(&with_suffix(file, suffix)))
        })
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // The next one to look for abandoned drafts removes what is left.
        let _ = self.remove();
    }
}

fn failed(file: &StoreFile, error: io::Error) -> StoreError {
    StoreError::Io(format!("create the database {}", file.path().display()), error)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Finds the database to use: `--db`, else `$RUNNER_DB`, else `runner/runner.db` in `$XDG_STATE_HOME` or `~/.local/state`.
/// None if not even the home is known. An empty variable counts as unset.
pub fn locate(explicit: Option<&Path>, env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let var = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The base directory specification says to ignore a relative path in these variables.
    let absolute = |name| var(name).filter(|path| path.is_absolute());
    explicit.map(Path::to_owned).or_else(|| var("RUNNER_DB")).or_else(|| {
        absolute("XDG_STATE_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".local/state")))
            .map(|state| state.join("runner/runner.db"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_setting_wins() {
        let found = |explicit: Option<&str>, vars: &[(&str, &str)]| {
            let env = |name: &str| {
                vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            };
            locate(explicit.map(Path::new), &env).map(|path| path.display().to_string())
        };
        let all = [("RUNNER_DB", "e.db"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(found(Some("o.db"), &all).unwrap(), "o.db");
        assert_eq!(found(None, &all).unwrap(), "e.db");
        assert_eq!(found(None, &all[1..]).unwrap(), "/x/runner/runner.db");
        assert_eq!(found(None, &all[2..]).unwrap(), "/h/.local/state/runner/runner.db");
        let relative = [("RUNNER_DB", ""), ("XDG_STATE_HOME", "x"), ("HOME", "/h")];
        assert_eq!(found(None, &relative).unwrap(), "/h/.local/state/runner/runner.db");
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn a_database_that_comes_between_two_looks_is_not_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = [0; 56];
        log[..4].copy_from_slice(&0x377f_0682_u32.to_be_bytes());
        let files = |round: u32| StoreFile::new(&dir.path().join(format!("{round}.db"))).unwrap();
        let rounds: Vec<_> = (0..1_000).map(files).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for file in &rounds {
                    fs::write(file.path(), "a database").unwrap();
                    fs::write(file.beside(WAL), log).unwrap();
                }
            });
            for file in &rounds {
                while file.is_missing().unwrap() {}
            }
        });
        assert!(rounds[0].log_holds_data());
    }

    #[test]
    fn a_dangling_link_names_the_file_that_it_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        std::os::unix::fs::symlink("target.db", real.join("link.db")).unwrap();
        let file = StoreFile::new(&real.join("link.db")).unwrap();
        assert_eq!(file.path(), real.join("target.db"));
        assert_eq!(file.run_dir(), real.join("target.db.run"));
    }
}
