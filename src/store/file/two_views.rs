//! A database that is opened through two file systems at once, of which one shows the folder of the other: bindfs, mergerfs, or an
//! overlay and its upper folder. Locks and memory maps do not pass from one to the other, so that two workers would run the same
//! jobs, and SQLite would damage the file.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::process::geteuid;

use super::error::{Result, StoreError};
use super::row::all;
use super::store_file::{StoreFile, open_regular, with_suffix};

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
        let lock = format!("{name}.lock");
        is_held(&theirs.join(&lock)) && !is_held(&run_dir.join(&lock)) && show_the_same(&run_dir, &theirs)
    };
    match workers.into_iter().find(is_view) {
        Some((_, other)) => Err(StoreError::OtherView { path: file.path().to_owned(), other }),
        None => Ok(()),
    }
}

fn is_held(lock: &Path) -> bool {
    open_regular(lock, File::options().read(true))
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether a new file in one of these folders is to be seen in the other. mergerfs may make it on another disk, which only the one
/// of them shows. A copy of a database has locks of the same names, and shows no new file.
fn show_the_same(one: &Path, other: &Path) -> bool {
    let shows = |made_in: &Path, seen_in: &Path| {
        let is_own = |dir: &Path| {
            fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
        };
        let name = format!("view-{:016x}", rand::random::<u64>());
        let new = made_in.join(&name);
        let made =
            is_own(made_in) && File::options().create_new(true).write(true).mode(0o600).open(&new).is_ok();
        let is_seen = made && seen_in.join(&name).symlink_metadata().is_ok();
        if made {
            // One that stays holds nothing.
            let _ = fs::remove_file(new);
        }
        is_seen
    };
    shows(one, other) || shows(other, one)
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
