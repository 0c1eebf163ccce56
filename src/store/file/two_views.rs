//! A database that is opened through two file systems at once, of which one shows the folder of the other: bindfs, mergerfs, or an
//! overlay and its upper folder. Locks and memory maps do not pass from one to the other, so that two workers would run the same
//! jobs, and SQLite would damage the file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::process::geteuid;

use super::error::{Result, StoreError};
use super::row::all;
use super::store_file::{StoreFile, is_lock_held, lock_path, with_suffix};

/// Refuses the file if a worker, or a `run`, that lives has opened it by another path whose locks do not hold here.
pub fn refuse_other_view(connection: &Connection, file: &StoreFile) -> Result<()> {
    let elsewhere = "SELECT name, db_path FROM workers WHERE ended_at IS NULL AND db_path <> ?1";
    let ours = file.path().as_os_str().as_bytes();
    let workers = all(connection, elsewhere, [ours], |row| {
        let path: Vec<u8> = row.get("db_path")?;
        Ok((row.get::<_, String>("name")?, PathBuf::from(OsStr::from_bytes(&path))))
    })?;
    let run_dir = file.run_dir();
    let is_view = |(name, path): &(String, PathBuf)| {
        let theirs = with_suffix(path, ".run");
        let is_held = |run_dir| is_lock_held(&lock_path(run_dir, name));
        is_held(&theirs) && !is_held(&run_dir) && show_the_same(&run_dir, &theirs)
    };
    match workers.into_iter().find(is_view) {
        Some((_, other)) => Err(StoreError::OtherView { path: file.path().to_owned(), other }),
        None => Ok(()),
    }
}

/// Whether a new file in one of these folders is to be seen in the other. mergerfs may make it on another disk, which only the one
/// of them shows. A copy of a database has locks of the same names, and shows no new file.
fn show_the_same(one: &Path, other: &Path) -> bool {
    shows(one, other) || shows(other, one)
}

fn shows(made_in: &Path, seen_in: &Path) -> bool {
    // Root makes nothing in the folder of another user.
    let own = fs::symlink_metadata(made_in).is_ok_and(|dir| dir.is_dir() && dir.uid() == geteuid().as_raw());
    let name = format!("view-{:016x}", rand::random::<u64>());
    let new = made_in.join(&name);
    if !own || File::options().create_new(true).write(true).mode(0o600).open(&new).is_err() {
        return false;
    }
    let is_seen = seen_in.join(&name).symlink_metadata().is_ok();
    // One that stays holds nothing.
    let _ = fs::remove_file(new);
    is_seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_from_its_copy() {
        let dir = tempfile::tempdir().unwrap();
        let [one, copy] = ["one", "copy"].map(|name| dir.path().join(name));
        for folder in [&one, &copy] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("w.lock"), "").unwrap();
        }
        assert!(show_the_same(&one, &dir.path().join("copy/../one")));
        assert!(!show_the_same(&one, &copy));
        assert!(!show_the_same(&one, &dir.path().join("nowhere")));
        assert_eq!(fs::read_dir(&one).unwrap().count(), 1, "nothing is left");
    }
}
