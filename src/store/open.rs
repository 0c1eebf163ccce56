//! Opening a database, and its transactions.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::error::{Result, StoreError};
use super::file::StoreFile;
use super::{busy, create};

/// `PRAGMA application_id` of our files: "runj".
const APPLICATION_ID: u32 = 0x7275_6e6a;

/// `PRAGMA user_version` that this program writes and reads.
const VERSION: u32 = 1;

/// A log that has grown beyond this length is cut to it: twice the length at which SQLite checkpoints (1 000 pages).
/// A log that is written over keeps its length, and a sync that need not record a new length takes half the time.
const MAX_LOG_BYTES: u64 = 8 << 20;

/// The length of the header of an SQLite file.
const HEADER_BYTES: usize = 100;

/// An open database.
#[derive(Debug)]
pub struct Store {
    /// Use it through `write`, `read` and `autocommit`.
    pub(super) connection: Connection,
    file: StoreFile,
    /// Device and inode of the file that was opened.
    identity: (u64, u64),
    /// The disk is full: this connection locks all others out, and only reads.
    read_only: bool,
}

impl Store {
    /// Opens the database, and creates it first if there is none.
    pub fn open_or_create(file: StoreFile) -> Result<Self> {
        match Self::open(file.clone()) {
            Err(StoreError::Missing(_)) => create::create(&file).and_then(|()| Self::open(file)),
            opened => opened,
        }
    }

    /// Opens a database that must exist.
    pub fn open(file: StoreFile) -> Result<Self> {
        if file.is_missing()? {
            return Err(StoreError::Missing(file.path().to_owned()));
        }
        file.refuse_network(file.path())?;
        check_header(&file)?;
        let identity = identity(&file).map_err(|error| {
            StoreError::Io(format!("look at the database {}", file.path().display()), error)
        })?;
        let (connection, read_only) = match connect(&file, false) {
            // No room even for the index of the log. A connection that locks all others out keeps the index in memory.
            Err(StoreError::Sqlite(_) | StoreError::Full) if is_disk_full(file.path()) => {
                (connect(&file, true), true)
            }
            connected => (connected, false),
        };
        let connection = connection.map_err(|error| explain(error, &file))?;
        let store = Self { connection, file, identity, read_only };
        // The file that was opened is the file whose header was checked, unless it was replaced meanwhile.
        if store.check_path().is_err() {
            drop(store.connection);
            return Self::open(store.file);
        }
        Ok(store)
    }

    /// The path of the database.
    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// Fails if the path no longer leads to the file that was opened: nobody else would ever see what is written.
    pub fn check_path(&self) -> Result<()> {
        match identity(&self.file) {
            Ok(found) if found == self.identity => Ok(()),
            _ => Err(StoreError::Moved(self.file.path().to_owned())),
        }
    }

    /// Runs the body as one write transaction and undoes all its changes: nothing is written.
    pub fn rehearse<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> Result<T> {
        if self.read_only {
            return Err(StoreError::Full);
        }
        self.autocommit(|connection| Ok(connection.execute_batch("BEGIN IMMEDIATE")?))?;
        let value = body(self);
        // An error may have ended the transaction before.
        if !self.connection.is_autocommit() {
            self.autocommit(|connection| Ok(connection.execute_batch("ROLLBACK")?))?;
        }
        Ok(value)
    }

    /// Runs one write transaction. When this returns `Ok`, its changes are on disk; an `Err` of the body undoes them. Within
    /// [`Store::rehearse`] it is part of that.
    pub(super) fn write<T>(&mut self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if self.read_only {
            return Err(StoreError::Full);
        }
        let written = self.autocommit(|connection| {
            if !connection.is_autocommit() {
                return body(connection);
            }
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let value = body(&transaction)?;
            transaction.commit().map_err(StoreError::at_commit)?;
            Ok(value)
        });
        written.map_err(|error| explain_denial(error, &self.file))
    }

    /// Runs one read transaction: all its statements see the same moment. A nested one is part of the outer one.
    pub(super) fn read<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.autocommit(|connection| {
            if !connection.is_autocommit() {
                return body(connection);
            }
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            body(&transaction)
        })
    }

    /// Runs statements that each see their own moment: for long reads, since a transaction would hold up checkpoints.
    pub(super) fn autocommit<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let done = body(&self.connection);
        if done.as_ref().is_err_and(StoreError::may_be_damage) {
            checkpoint_on_close(&self.connection, false)?;
        }
        done
    }

    /// Changes whenever another connection has written: a cheap way to see that something may be new.
    pub fn data_version(&self) -> Result<i64> {
        self.autocommit(|tx| Ok(tx.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?))
    }
}

/// Whether the connection copies the log into the file if it is the last to close. A damaged file must keep its bytes.
fn checkpoint_on_close(connection: &Connection, wanted: bool) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted)?;
    Ok(())
}

/// Device and inode.
fn identity(file: &StoreFile) -> io::Result<(u64, u64)> {
    fs::metadata(file.path()).map(|found| (found.dev(), found.ino()))
}

/// Opens a connection; `alone`: one that locks all others out.
pub(super) fn connect(file: &StoreFile, alone: bool) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file.path(), flags)?;
    checkpoint_on_close(&connection, false)?;
    busy::install(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    if alone {
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    }
    // Otherwise the planner looks at bound values, and plans a statement afresh each time they are bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // FULL: a commit is on disk before it returns.
    let pragmas = format!("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = {MAX_LOG_BYTES}");
    connection.execute_batch(&pragmas)?;
    check_version(&connection, file.path())?;
    checkpoint_on_close(&connection, true)?;
    Ok(connection)
}

/// Checks the version once more: the newest header may lie in the log.
fn check_version(connection: &Connection, path: &Path) -> Result<()> {
    let number =
        |pragma: &str| connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, u32>(0));
    if number("application_id")? != APPLICATION_ID {
        return Err(StoreError::Foreign(path.to_owned(), "the log beside it belongs to another database"));
    }
    check_user_version(number("user_version")?, path)
}

fn check_user_version(version: u32, path: &Path) -> Result<()> {
    match version {
        VERSION => Ok(()),
        newer if newer > VERSION => Err(StoreError::Newer(path.to_owned(), newer)),
        other => Err(damaged(path, format!("its version is {other}"))),
    }
}

fn damaged(path: &Path, what: String) -> StoreError {
    StoreError::Damaged(Some(path.to_owned()), what)
}

/// Reads the header without SQLite, which may write to any file that it opens, if only to recover a journal.
///
/// Call this before the process has a connection to the file: closing a second handle would drop SQLite's POSIX locks.
pub(super) fn check_header(file: &StoreFile) -> Result<()> {
    let path = file.path();
    let failed = |error| StoreError::Io(format!("read the database {}", path.display()), error);
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(StoreError::Foreign(path.to_owned(), "it is not a regular file"));
    }
    if found.nlink() > 1 {
        return Err(StoreError::HardLinked(path.to_owned(), found.nlink()));
    }
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let limit = HEADER_BYTES as u64;
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut header)).map_err(failed)?;
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::Foreign(path.to_owned(), "it is not an SQLite file"));
    }
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map(u32::from_be_bytes).ok_or_else(|| damaged(path, "it ends within its header".to_owned()))
    };
    // Offsets: the SQLite file format, section 1.3.
    let (pages, version, application) = (number(28)?, number(60)?, number(68)?);
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign(path.to_owned(), "it belongs to another program"));
    }
    check_user_version(version, path)?;
    // Write and read version: SQLite would open a file of a later format read-only.
    if let Some(format) = header[18..20].iter().find(|format| !matches!(format, 1 | 2)) {
        return Err(damaged(path, format!("its file format is {format}")));
    }
    let page_size = match number(16)? & 0xffff_0000 {
        0x0001_0000 => 65_536,
        high => u64::from(high >> 16),
    };
    let expected = u64::from(pages) * page_size;
    // The pages that a WAL holds may be missing from the file itself. The length is read last: a checkpoint by another
    // process writes the header first and removes the WAL last.
    let has_wal = fs::metadata(file.beside("-wal")).is_ok_and(|wal| wal.len() > 0);
    let length = fs::metadata(path).map_err(failed)?.len();
    if !has_wal && length < expected {
        return Err(damaged(path, format!("it has {length} bytes where its header says {expected}")));
    }
    Ok(())
}

/// Adds to an error of opening which file is damaged, that this user may not write to it, or that the disk is full.
fn explain(error: StoreError, file: &StoreFile) -> StoreError {
    match explain_denial(error, file) {
        StoreError::Damaged(_, what) => damaged(file.path(), what),
        StoreError::Sqlite(_) if is_disk_full(file.path()) => StoreError::Full,
        other => other,
    }
}

/// Says of an error that this user may not write to the file, if that is its cause.
fn explain_denial(error: StoreError, file: &StoreFile) -> StoreError {
    match error {
        StoreError::Sqlite(error) if is_denial(&error) => {
            denied(file).map_or_else(|| StoreError::Sqlite(error), StoreError::NotWritable)
        }
        other => other,
    }
}

fn is_denial(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// The file that this user may not write to, if there is one: the database, its log, or the index of the log. If no file
/// can be created beside the database, the database itself.
fn denied(file: &StoreFile) -> Option<PathBuf> {
    let all = [file.path().to_owned(), file.beside("-wal"), file.beside("-shm")];
    let refuses = |path: &PathBuf| access(path, Access::WRITE_OK).is_err_and(|why| why != Errno::NOENT);
    let may_create = access(file.parent(), Access::WRITE_OK | Access::EXEC_OK).is_ok();
    all.into_iter().find(refuses).or_else(|| (!may_create).then(|| file.path().to_owned()))
}

fn is_disk_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| found.f_bavail == 0)
}
