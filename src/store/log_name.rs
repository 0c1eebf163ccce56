//! The name of the log: is it on disk?
//!
//! A commit lies in the log beside the database (`FILE-wal`). It survives a power cut if the log is synced, and the folder
//! with the log's name in it too. SQLite knows nothing of who made the log, so every process that commits would sync the
//! folder as well: a second wait for the disk, in each `enqueue`. It is therefore built without that
//! (`SQLITE_DISABLE_DIRSYNC` in .cargo/config.toml; where it is built otherwise, nothing is lost). Here the folder is
//! synced by whoever first commits to a log, and a note of it is left on the log itself.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::StoreFile;
use super::definition::fnv1a;

/// The extended attribute that holds the note.
const ATTRIBUTE: &str = "user.runner.named";

/// Makes sure that the log's name is on disk. To be called while a connection keeps the log from being removed, and
/// before anybody is told that something was committed.
pub(super) fn secure(file: &StoreFile) -> io::Result<()> {
    let log = file.beside("-wal");
    let note = note(&log);
    if note.as_ref().is_some_and(|note| is_there(&log, note)) {
        return Ok(());
    }
    match File::open(file.path().parent().unwrap_or(Path::new("/"))) {
        // Not `sync_data`, which need not write what a folder holds.
        Ok(folder) => folder.sync_all()?,
        // Who may not list a folder cannot sync it either, and may use it all the same.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    }
    if let Some(note) = note {
        // Where there is no room for it, the next process syncs the folder again.
        let _ = setxattr(&log, ATTRIBUTE, note.as_bytes(), XattrFlags::empty());
    }
    Ok(())
}

fn is_there(log: &Path, note: &str) -> bool {
    let mut found = [0; 128];
    getxattr(log, ATTRIBUTE, &mut found).is_ok_and(|length| found.get(..length) == Some(note.as_bytes()))
}

/// What the note says: which file it is about, and where. A note that was copied or moved along with a log is not taken:
/// the new name may not be on disk. None where the file system does not tell a file from a later one of its number.
fn note(log: &Path) -> Option<String> {
    let found = fs::metadata(log).ok()?;
    let born = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {:x}", found.ino(), born.as_nanos(), fnv1a(log.as_os_str().as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_about_one_file_in_one_place() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        let [first, second] = ["a.db", "b.db"].map(|name| StoreFile::new(&real.join(name)).unwrap());
        let logs = [&first, &second].map(|file| file.beside("-wal"));
        fs::write(&logs[0], "").unwrap();
        let said = note(&logs[0]).expect("files have a time of birth here");
        assert!(!is_there(&logs[0], &said));
        secure(&first).unwrap();
        assert!(is_there(&logs[0], &said), "this file system keeps no notes");
        // Another file under the name, even if it gets the number of the one before, and the note with it.
        fs::remove_file(&logs[0]).unwrap();
        fs::write(&logs[0], "").unwrap();
        assert_ne!(note(&logs[0]), Some(said.clone()));
        setxattr(&logs[0], ATTRIBUTE, said.as_bytes(), XattrFlags::empty()).unwrap();
        assert!(!is_there(&logs[0], &note(&logs[0]).unwrap()));
        // The same file under another name.
        secure(&first).unwrap();
        fs::rename(&logs[0], &logs[1]).unwrap();
        assert!(!is_there(&logs[1], &note(&logs[1]).unwrap()));
        // No log, no note; the folder is synced all the same.
        secure(&first).unwrap();
    }
}
