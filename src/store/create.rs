//! Creating a database: whole, or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::{Result, StoreError};
use super::file::{BESIDE, StoreFile, make_dirs, sync_dir, with_suffix};

pub(super) const SCHEMA: &str = include_str!("../../schema.sql");

/// Builds the database under another name in `FILE.run/` and renames it when it is complete and on disk.
pub(super) fn create(file: &StoreFile) -> Result<()> {
    let draft = Draft::new(file)?;
    if file.is_missing()? {
        fill(&draft.path)?;
        draft.become_database()?;
    }
    Ok(())
}

/// A new database under another name in `FILE.run/`, and the lock that lets one process at a time make one. The others
/// find the finished file there afterwards. A draft that a killed process left is replaced, and one that is given up
/// removed.
pub(super) struct Draft<'a> {
    pub file: &'a StoreFile,
    pub path: PathBuf,
    _lock: File,
}

impl<'a> Draft<'a> {
    /// An empty file that only its owner may read.
    pub(super) fn new(file: &'a StoreFile) -> Result<Self> {
        let failed = |error| failed(file, error);
        make_dirs(file.parent()).map_err(failed)?;
        file.refuse_network(file.parent())?;
        let run_dir = file.make_run_dir()?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(run_dir.join("create.lock"))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let draft = Self { file, path: run_dir.join("new.db"), _lock: lock };
        draft.remove().map_err(failed)?;
        File::options().create_new(true).write(true).mode(0o600).open(&draft.path).map_err(failed)?;
        Ok(draft)
    }

    /// Takes the place of a missing or empty database.
    pub(super) fn become_database(self) -> Result<()> {
        let failed = |error| failed(self.file, error);
        // SQLite would take the WAL of an earlier file of this name for ours.
        for suffix in BESIDE {
            remove(&self.file.beside(suffix)).map_err(failed)?;
        }
        fs::rename(&self.path, self.file.path()).map_err(failed)?;
        sync_dir(self.file.parent()).map_err(failed)
    }

    fn remove(&self) -> io::Result<()> {
        remove(&self.path)?;
        BESIDE.iter().try_for_each(|suffix| remove(&with_suffix(&self.path, suffix)))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

fn failed(file: &StoreFile, error: io::Error) -> StoreError {
    StoreError::Io(format!("create the database {}", file.path().display()), error)
}

fn fill(draft: &Path) -> Result<()> {
    let connection = Connection::open(draft)?;
    // A rollback journal until the schema is in, so that the header of the main file names its owner at once.
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE;")?;
    connection.execute_batch(SCHEMA)?;
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
