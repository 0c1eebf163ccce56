//! Creating a database: whole, or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::error::{Result, StoreError};
use super::file::{StoreFile, make_dirs, sync_dir};

pub(super) const SCHEMA: &str = include_str!("../../schema.sql");

/// Builds the database under another name in `FILE.run/` and renames it when it is complete and on disk.
///
/// A lock lets one process at a time do so; the others find the file there afterwards. A draft that a killed process
/// left is replaced.
pub(super) fn create(file: &StoreFile) -> Result<()> {
    let failed = |error| StoreError::Io(format!("create the database {}", file.path().display()), error);
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
    if !file.is_missing()? {
        return Ok(());
    }
    let draft = run_dir.join("new.db");
    for leftover in ["", "-journal", "-wal", "-shm"] {
        remove(&run_dir.join(format!("new.db{leftover}"))).map_err(failed)?;
    }
    // SQLite would take the WAL of an earlier file of this name for ours.
    for leftover in ["-journal", "-wal", "-shm"] {
        remove(&file.beside(leftover)).map_err(failed)?;
    }
    File::options().create_new(true).write(true).mode(0o600).open(&draft).map_err(failed)?;
    fill(&draft)?;
    fs::rename(&draft, file.path()).map_err(failed)?;
    sync_dir(file.parent()).map_err(failed)
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
