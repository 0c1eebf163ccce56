//! Opening a database: what is looked at before SQLite may touch the file.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::{Result, Store, StoreError, StoreFile, busy, create, error};

/// `PRAGMA application_id` of our files: "runj".
pub(super) const APPLICATION_ID: u32 = 0x7275_6e6a;

/// `PRAGMA user_version` that this program writes and reads.
pub(super) const VERSION: u32 = 1;

/// What is left of a log that has grown beyond it, in bytes: twice what it has when SQLite puts it away by itself (1 000
/// pages). A log that is written over keeps its length, so that a sync need not record a new one: it takes half the time.
const LOG: u64 = 8 << 20;

/// The length of the header of an SQLite file.
const HEADER: usize = 100;

impl Store {
    /// Opens the database, and creates it first where there is none.
    pub fn open_or_create(file: StoreFile) -> Result<Self> {
        match Self::open(file.clone()) {
            Err(StoreError::Missing(_)) => create::create(&file).and_then(|()| Self::open(file)),
            opened => opened,
        }
    }

    /// Opens a database that must exist.
    pub fn open(file: StoreFile) -> Result<Self> {
        if is_missing(&file)? {
            return Err(StoreError::Missing(file.path().to_owned()));
        }
        refuse_network(file.path(), file.path())?;
        check_header(&file)?;
        let identity = identity(file.path()).map_err(|error| {
            StoreError::Io(format!("look at the database {}", file.path().display()), error)
        })?;
        let (connection, alone) = match connect(&file, false) {
            // Not even the index of a log has room. Alone, SQLite keeps it in memory: enough to look.
            Err(StoreError::Sqlite(_) | StoreError::Full) if is_disk_full(file.path()) => {
                (connect(&file, true), true)
            }
            connected => (connected, false),
        };
        let connection = connection.map_err(|error| explain(error, &file))?;
        let store = Self { connection, file, identity, only_to_look: alone, log_is_named: false };
        // Whatever was opened, it is the file that was looked at.
        store.check_place()?;
        Ok(store)
    }
}

/// Device and inode of a file.
pub(super) fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Says more of an error than SQLite did: which file is damaged, or that there was no room for what lies beside it.
fn explain(error: StoreError, file: &StoreFile) -> StoreError {
    match explain_denial(error, file) {
        StoreError::Damaged(_, what) => StoreError::Damaged(file.path().to_owned(), what),
        StoreError::Sqlite(_) if is_disk_full(file.path()) => StoreError::Full,
        other => other,
    }
}

/// Says of an error, where that is why, that this user may not write to the file.
pub(super) fn explain_denial(error: StoreError, file: &StoreFile) -> StoreError {
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

/// The file that this user may not write to, if there is one: the database, its log, or the index of that, which get the
/// database's mode when they are made. Where no file can be made beside it, the database itself.
fn denied(file: &StoreFile) -> Option<PathBuf> {
    let path = file.path();
    let parent = path.parent().unwrap_or(Path::new("/"));
    let all = [path.to_owned(), file.beside("-wal"), file.beside("-shm")];
    let refuses = |path: &PathBuf| access(path, Access::WRITE_OK).is_err_and(|why| why != Errno::NOENT);
    let has_room = access(parent, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    all.into_iter().find(refuses).or_else(|| (!has_room).then(|| path.to_owned()))
}

fn is_disk_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| found.f_bavail == 0)
}

/// Opens a connection; `alone`, so that nobody else can use the file meanwhile.
fn connect(file: &StoreFile, alone: bool) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file.path(), flags)?;
    // Until it is known that the file can be used, nothing of a log beside it may get into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    busy::install(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    if alone {
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    }
    // Otherwise the planner looks at bound values, and plans a statement afresh each time they are bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // FULL: a commit is on disk before it returns. Recursive triggers: REPLACE must not get round the delete triggers.
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA recursive_triggers = ON; PRAGMA journal_size_limit = {LOG};",
    ))?;
    check_version(&connection, file.path())?;
    Ok(connection)
}

/// The version once more: the newest header may lie in the log.
fn check_version(connection: &Connection, path: &Path) -> Result<()> {
    let number =
        |pragma: &str| connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, u32>(0));
    if number("application_id")? != APPLICATION_ID {
        return Err(StoreError::Foreign(path.to_owned(), "the log beside it belongs to another database"));
    }
    match number("user_version")? {
        VERSION => Ok(()),
        newer if newer > VERSION => Err(StoreError::Newer(path.to_owned(), newer)),
        other => Err(StoreError::Damaged(path.to_owned(), format!("its version is {other}"))),
    }
}

impl Drop for Store {
    /// The last to close a database puts the log away. One that was found to be damaged keeps its bytes.
    fn drop(&mut self) {
        if !error::trouble_was_seen() {
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}

/// No file, or an empty one.
pub(super) fn is_missing(file: &StoreFile) -> Result<bool> {
    match fs::metadata(file.path()) {
        Ok(found) => Ok(found.is_file() && found.len() == 0),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::Io(format!("look at the database {}", file.path().display()), error)),
    }
}

/// Reads the header by hand: once SQLite has opened a file it may write to it, if only to recover a journal.
///
/// This happens before the process has a connection to the file. Later it would drop SQLite's POSIX locks.
fn check_header(file: &StoreFile) -> Result<()> {
    let path = file.path();
    let failed = |error| StoreError::Io(format!("read the database {}", path.display()), error);
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(StoreError::Foreign(path.to_owned(), "it is not a regular file"));
    }
    if found.nlink() > 1 {
        return Err(StoreError::HardLinked(path.to_owned(), found.nlink()));
    }
    let mut header = Vec::with_capacity(HEADER);
    let limit = HEADER as u64;
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut header)).map_err(failed)?;
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::Foreign(path.to_owned(), "it is not an SQLite file"));
    }
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes
            .map(u32::from_be_bytes)
            .ok_or_else(|| StoreError::Damaged(path.to_owned(), "it ends within its header".to_owned()))
    };
    // Offsets: the SQLite file format, section 1.3.
    let (pages, version, application) = (number(28)?, number(60)?, number(68)?);
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign(path.to_owned(), "it belongs to another program"));
    }
    if version > VERSION {
        return Err(StoreError::Newer(path.to_owned(), version));
    }
    if version != VERSION {
        return Err(StoreError::Damaged(path.to_owned(), format!("its version is {version}")));
    }
    // Write and read version: SQLite itself would take a file of a later format, but only to read it.
    if let Some(format) = header[18..20].iter().find(|format| !matches!(format, 1 | 2)) {
        return Err(StoreError::Damaged(path.to_owned(), format!("its file format is {format}")));
    }
    // While a WAL is in use the pages it holds may be missing from the file itself.
    let page_size = match number(16)? & 0xffff_0000 {
        0x0001_0000 => 65_536,
        high => u64::from(high >> 16),
    };
    let expected = u64::from(pages) * page_size;
    // The length comes last: a checkpoint by another process writes the header first and removes the WAL last.
    let has_wal = fs::metadata(file.beside("-wal")).is_ok_and(|wal| wal.len() > 0);
    let length = fs::metadata(path).map_err(failed)?.len();
    if !has_wal && length < expected {
        let what = format!("it has {length} bytes where its header says {expected}");
        return Err(StoreError::Damaged(path.to_owned(), what));
    }
    Ok(())
}

/// Refuses file systems on which locks do not exclude other machines, or do not work at all.
pub(super) fn refuse_network(path: &Path, on: &Path) -> Result<()> {
    let kind = match file_system_magic(on) {
        Some(0x6969) => "NFS",
        Some(0x517b | 0xff53_4d42 | 0xfe53_4d42) => "SMB",
        Some(0x0102_1997) => "9p",
        _ => return Ok(()),
    };
    Err(StoreError::Network(path.to_owned(), kind))
}

/// The magic number that `statfs(2)` gives.
#[cfg(target_os = "linux")]
fn file_system_magic(path: &Path) -> Option<u32> {
    let found = rustix::fs::statfs(path).ok()?;
    u32::try_from(found.f_type & 0xffff_ffff).ok()
}

#[cfg(not(target_os = "linux"))]
fn file_system_magic(_: &Path) -> Option<u32> {
    None
}
