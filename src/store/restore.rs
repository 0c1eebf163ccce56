//! Putting a copy in the place of the database.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::backup;
use super::create::Draft;
use super::error::{Result, StoreError};
use super::file::{BESIDE, StoreFile, sync_dir, with_suffix};
use super::open::{Store, check_header, connect};

impl Store {
    /// Puts a copy of this database in the place of `target`, and gives the path at which the old database is kept, if
    /// there was one. `on_progress` is told how many pages are copied, and how many there are.
    ///
    /// The copy is checked and on disk before one rename exchanges the two files. No other process may have the target
    /// open. Call this before this process has opened the target.
    pub fn restore_to(
        &self,
        target: &StoreFile,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<PathBuf>> {
        let draft = Draft::new(target)?;
        let damaged = |what| StoreError::Damaged(Some(self.file().path().to_owned()), what);
        self.autocommit(|from| backup::copy(from, &draft.path, on_progress)).map_err(
            |error| match error {
                StoreError::Damaged(None, what) => damaged(what),
                other => other,
            },
        )?;
        if let Some(finding) = Self::open(StoreFile::new(&draft.path)?)?.audit()?.into_iter().next() {
            return Err(damaged(finding.what));
        }
        let failed = |error| {
            StoreError::Io(format!("put the copy in the place of {}", target.path().display()), error)
        };
        File::open(&draft.path).and_then(|file| file.sync_all()).map_err(failed)?;
        if target.is_missing()? {
            draft.become_database()?;
            return Ok(None);
        }
        let kept = free_name(target)?;
        let alone = lock_out(target, &kept)?;
        // Under its final name first, so that the exchange is the last step, and the only one that counts.
        renameat_with(CWD, &draft.path, CWD, kept.path(), RenameFlags::NOREPLACE)
            .map_err(|error| failed(error.into()))?;
        if let Err(error) = renameat_with(CWD, kept.path(), CWD, target.path(), RenameFlags::EXCHANGE) {
            let _ = fs::remove_file(kept.path());
            return Err(failed(error.into()));
        }
        drop(alone);
        sync_dir(target.parent()).map_err(failed)?;
        Ok(Some(kept.path().to_owned()))
    }
}

/// The path for the old database: `FILE.replaced-1`, or the next number that is free.
fn free_name(target: &StoreFile) -> Result<StoreFile> {
    let mut number = 1;
    loop {
        let kept = StoreFile::new(&target.beside(&format!(".replaced-{number}")))?;
        if kept.path().symlink_metadata().is_err() {
            return Ok(kept);
        }
        number += 1;
    }
}

/// Locks all other processes out of the old database, and copies its whole log into the file: SQLite would take a log that
/// stays for that of the new database.
///
/// A damaged database cannot be locked, and nobody can use it: its log goes with it as it is.
fn lock_out(target: &StoreFile, kept: &StoreFile) -> Result<Option<Connection>> {
    let opened = check_header(target).and_then(|()| {
        connect(target, true).map_err(|error| match error {
            StoreError::Foreign(path, what) => StoreError::Damaged(Some(path), what.to_owned()),
            other => other,
        })
    });
    match opened {
        Ok(connection) => {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(Some(connection))
        }
        Err(StoreError::Busy) => Err(StoreError::InUse(target.path().to_owned())),
        Err(StoreError::Damaged(..)) => {
            for suffix in BESIDE {
                match fs::rename(target.beside(suffix), with_suffix(kept.path(), suffix)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(set_aside_failed(target, error));
                    }
                    _ => {}
                }
            }
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn set_aside_failed(target: &StoreFile, error: io::Error) -> StoreError {
    StoreError::Io(format!("set aside what lies beside {}", target.path().display()), error)
}
