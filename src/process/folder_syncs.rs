//! Spares a sync of the folder where it has nothing to add.
//!
//! SQLite syncs the folder of a log at its first write in each process, because it cannot know whether the name of the log is on
//! disk: with a worker alive that is every second wait of an `enqueue` for the disk. So a log gets a mark once its folder was
//! synced, and where the mark is right, SQLite is told that the folder cannot be opened, which it takes as leave to go on.

// SQLite takes the function by a C interface.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi;
use rustix::fs::{XattrFlags, getxattr, setxattr};

/// The attribute of a log that holds its mark.
const ATTRIBUTE: &str = "user.runner.synced";

type OpenDirectory = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;

/// SQLite's own function.
static ORIGINAL: OnceLock<Option<OpenDirectory>> = OnceLock::new();

/// Call this before the first connection is opened. Where it fails, each process syncs the folder.
pub fn spare_syncs_of_folders() {
    const NAME: &CStr = c"openDirectory";
    // SAFETY: the default VFS lives as long as the process, and its functions take it and a name. What stands under this name has the
    // type `OpenDirectory`, in os_unix.c, and so has what is put in its place.
    ORIGINAL.get_or_init(|| unsafe {
        let vfs = ffi::sqlite3_vfs_find(ptr::null());
        let calls = vfs.as_ref().and_then(|found| found.xGetSystemCall.zip(found.xSetSystemCall));
        let original = calls.and_then(|(get, _)| get(vfs, NAME.as_ptr()))?;
        let (_, set) = calls?;
        let ours = mem::transmute::<OpenDirectory, unsafe extern "C" fn()>(open_directory);
        set(vfs, NAME.as_ptr(), Some(ours));
        Some(mem::transmute::<unsafe extern "C" fn(), OpenDirectory>(original))
    });
}

/// Opens the folder of a file to sync it, unless that is needless.
unsafe extern "C" fn open_directory(path: *const c_char, fd: *mut c_int) -> c_int {
    // SAFETY: SQLite hands over a path that is closed by a NUL.
    let file = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    if is_in_synced_folder(file) {
        return ffi::SQLITE_CANTOPEN;
    }
    match ORIGINAL.get() {
        // SAFETY: these are the arguments of this function, which stands in for that one.
        Some(Some(original)) => unsafe { original(path, fd) },
        _ => ffi::SQLITE_CANTOPEN,
    }
}

/// Whether the file is a log whose name is on disk, for which its folder is synced if need be.
fn is_in_synced_folder(file: &Path) -> bool {
    let Ok(mark) = mark(file) else { return false };
    let mut found = vec![0; mark.len() + 1];
    if getxattr(file, ATTRIBUTE, &mut found[..]).is_ok_and(|length| found[..length] == mark) {
        return true;
    }
    let synced = file.parent().is_some_and(|dir| File::open(dir).and_then(|dir| dir.sync_all()).is_ok());
    if synced {
        // Where a file system takes no attributes, the next process syncs the folder again.
        let _ = setxattr(file, ATTRIBUTE, &mark, XattrFlags::empty());
    }
    synced
}

/// The mark of a log: it stands for this file and this database under this name, so that a copy, a move, or another database that
/// was put in the place of this one needs a sync of its own. An error if this is no log.
fn mark(log: &Path) -> io::Result<Vec<u8>> {
    let database = log.as_os_str().as_bytes().strip_suffix(b"-wal");
    let database = database.ok_or(io::ErrorKind::InvalidInput)?;
    let inode = |path: &Path| fs::metadata(path).map(|found| found.ino());
    let inodes = (inode(log)?, inode(Path::new(OsStr::from_bytes(database)))?);
    let mut mark = format!("{} {} ", inodes.0, inodes.1).into_bytes();
    mark.extend(log.as_os_str().as_bytes());
    Ok(mark)
}
