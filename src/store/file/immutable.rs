//! Reading a database that can be neither written nor locked, such as one on a read-only file system.
//!
//! SQLite reads a database with a write-ahead log only if it has the index of that log, `-shm`, or can create it. If both
//! lie there it reads them, whoever writes; nothing here is needed for that. If there is no log, all data is in the main
//! file, and SQLite reads that alone with `immutable=1`, without a lock. That is right only while nobody writes. So the
//! store looks after each read whether the file is as it was before, and whether there is a log now: another mount of the
//! same file system may be writable.

use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode as FileMode, OFlags, StatVfsMountFlags, access};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::{NoRoom, Result, StoreError};
use super::store_file::StoreFile;
use super::version::Version;

/// The kinds of access that a connection can have.
#[derive(Debug)]
pub enum Mode {
    ReadWrite,
    /// Nothing can be written for want of room. The connection locks all others out, and it only reads; or, if there is no room for
    /// a log, it reads a file that must stay as it was then.
    DiskFull(NoRoom, Option<Stamp>),
    /// Nothing can be written or locked here. The connection reads a file that must stay as it was then.
    Immutable(Stamp),
    /// The same for a file of this older version, of which the connection reads a copy in memory that was brought up.
    Copied(Stamp, Version),
}

/// The facts about the file that change with every write to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Inode, length, and the times of the last changes of data and of inode, in seconds and nanoseconds.
    file: [i64; 6],
    /// A log or journal that holds anything.
    log: Option<PathBuf>,
}

impl Stamp {
    pub fn of(file: &StoreFile) -> Result<Self> {
        let look = |path: &Path| -> Result<Option<Metadata>> {
            match fs::metadata(path) {
                Ok(found) => Ok(Some(found)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(StoreError::Io(format!("look at {}", path.display()), error)),
            }
        };
        let times = |found: Metadata| {
            let (inode, bytes) = (found.ino().cast_signed(), found.len().cast_signed());
            [inode, bytes, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()]
        };
        let mut log = None;
        for beside in ["-wal", "-journal"].map(|suffix| file.beside(suffix)) {
            if look(&beside)?.is_some_and(|found| found.len() > 0) {
                log = Some(beside);
            }
        }
        Ok(Self { file: look(file.path())?.map(times).unwrap_or_default(), log })
    }

    /// The same for a file beside which nothing is that has to be read, too.
    pub fn of_unused(file: &StoreFile) -> Result<Self> {
        match Self::of(file)? {
            Self { log: Some(log), .. } => Err(StoreError::UnreadableLog(file.path().to_owned(), log)),
            stamp => Ok(stamp),
        }
    }
}

/// The name by which SQLite opens the file as one that never changes.
pub fn immutable_uri(path: &Path) -> PathBuf {
    let mut uri = b"file://".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(*byte),
            byte if byte.is_ascii_alphanumeric() => uri.push(*byte),
            byte => uri.extend(format!("%{byte:02X}").bytes()),
        }
    }
    uri.extend(b"?immutable=1");
    PathBuf::from(std::ffi::OsString::from_vec(uri))
}

/// Turns an error into [`StoreError::NotWritable`] if this user may not write to the file.
pub fn explain_denial(error: StoreError, file: &StoreFile) -> StoreError {
    match error {
        StoreError::Sqlite(error) if is_denial(&error) => {
            denied(file).map_or_else(|| StoreError::Sqlite(error), StoreError::NotWritable)
        }
        other => other,
    }
}

pub fn is_denial(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// The file that this user may not write to, if there is one: the database, its log, or the index of the log; or the
/// database, if this user may not create files beside it.
pub fn denied(file: &StoreFile) -> Option<PathBuf> {
    let all = [file.path().to_owned(), file.beside("-wal"), file.beside("-shm")];
    let refuses = |path: &PathBuf| access(path, Access::WRITE_OK).is_err_and(|why| why != Errno::NOENT);
    let may_create =
        access(file.parent(), Access::WRITE_OK | Access::EXEC_OK).is_ok() && !refuses_files(file.parent());
    all.into_iter().find(refuses).or_else(|| (!may_create).then(|| file.path().to_owned()))
}

pub fn is_on_read_only_file_system(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Whether the file system of this folder takes no file. A read-only FUSE, such as squashfuse, says so only when one is made:
/// `access` and the flags of the mount do not.
pub fn refuses_files(folder: &Path) -> bool {
    let probe = folder.join(format!("runner-probe-{:016x}", rand::random::<u64>()));
    match File::options().create_new(true).write(true).mode(0o600).open(&probe) {
        Ok(_) => {
            // It is empty, and its name says whose it is.
            let _ = fs::remove_file(&probe);
            false
        }
        Err(error) => error.kind() == ErrorKind::ReadOnlyFilesystem,
    }
}

/// Why no page can be added beside the file: for want of space, of inodes or of quota. Tries it with a file that has no name.
pub fn lack_of_room(file: &StoreFile) -> Option<NoRoom> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let probe = rustix::fs::open(file.parent(), flags, FileMode::RUSR | FileMode::WUSR);
    let space = || rustix::fs::statvfs(file.path()).ok();
    if matches!(probe, Err(Errno::NOSPC))
        && space().is_some_and(|space| space.f_files > 0 && space.f_ffree == 0)
    {
        return Some(NoRoom::Inodes);
    }
    match probe.and_then(|probe| rustix::io::write(probe, &[0; 4096])) {
        Ok(_) => None,
        Err(Errno::NOSPC) => Some(NoRoom::Disk),
        Err(Errno::DQUOT) => Some(NoRoom::Quota),
        // This file system has no such files, or the caller may not write here.
        Err(_) => {
            let space = space()?;
            let free = if geteuid().is_root() { space.f_bfree } else { space.f_bavail };
            (space.f_blocks > 0 && free == 0).then_some(NoRoom::Disk)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped() {
        let uri = immutable_uri(Path::new("/a b/c?d#e%f.db"));
        assert_eq!(uri, Path::new("file:///a%20b/c%3Fd%23e%25f.db?immutable=1"));
    }

    #[test]
    fn a_stamp_changes_with_the_file_and_with_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let file = StoreFile::new(&dir.path().join("runner.db")).unwrap();
        fs::write(file.path(), "a").unwrap();
        let first = Stamp::of_unused(&file).unwrap();
        assert_eq!(first, Stamp::of(&file).unwrap());
        fs::write(file.beside("-wal"), "").unwrap();
        assert_eq!(first, Stamp::of_unused(&file).unwrap(), "an empty log holds nothing");
        fs::write(file.beside("-wal"), "a").unwrap();
        assert_ne!(first, Stamp::of(&file).unwrap());
        assert!(matches!(Stamp::of_unused(&file), Err(StoreError::UnreadableLog(..))));
        fs::remove_file(file.beside("-wal")).unwrap();
        fs::write(file.path(), "ab").unwrap();
        assert_ne!(first, Stamp::of(&file).unwrap());
    }
}
