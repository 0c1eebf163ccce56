//! Refuses files that are no sound database of this program's major version.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::error::{Result, StoreError};
use super::immutable::immutable_uri;
use super::objects::version_of_tables;
use super::row::{one, value};
use super::schema::{self, version_of};
use super::store_file::{BESIDE, StoreFile};
use super::version::Version;

/// `PRAGMA application_id` of our files: "runj".
const APPLICATION_ID: u32 = 0x7275_6e6a;

/// The length of the header of an SQLite file.
const HEADER_BYTES: usize = 100;

/// Checks owner and version once more, because the newest header may be in the log.
pub(super) fn check_version(connection: &Connection, path: &Path) -> Result<()> {
    if one(connection, "PRAGMA application_id", [], value::<u32>)? != APPLICATION_ID {
        let foreign = StoreError::Foreign(path.to_owned(), "the log beside it belongs to another database");
        return Err(lost_mark(connection, path).unwrap_or(foreign));
    }
    check_user_version(version_of(connection)?, path)
        .map_err(|error| lost_mark(connection, path).unwrap_or(error))
}

/// Says that the file has lost its mark, where it has none and holds our tables: `.dump` of the `sqlite3` shell leaves both numbers out.
fn lost_mark(connection: &Connection, path: &Path) -> Option<StoreError> {
    let application = one(connection, "PRAGMA application_id", [], value::<u32>).ok()?;
    let has_lost =
        application == 0 || application == APPLICATION_ID && version_of(connection).ok()? == Version(0);
    let version = version_of_tables(connection).ok()?.filter(|_| has_lost)?;
    Some(StoreError::LostMark { path: path.to_owned(), application: APPLICATION_ID, version })
}

/// The same without a log, and without a lock.
fn lost_mark_in_file(path: &Path) -> Option<StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(immutable_uri(path), flags).ok()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).ok()?;
    lost_mark(&connection, path)
}

/// Refuses every other major version.
fn check_user_version(found: Version, path: &Path) -> Result<()> {
    let known = schema::known().version();
    if found == Version(0) {
        return Err(StoreError::damaged(path, "it has no version"));
    }
    if found.major() == known.major() {
        return Ok(());
    }
    Err(StoreError::OtherMajor { path: path.to_owned(), found, known })
}

/// Checks the header without SQLite, which may write to any file that it opens, if only to recover a journal.
///
/// Call this before the process has a connection to the file, because closing a second handle drops SQLite's POSIX locks.
pub fn check_header(file: &StoreFile) -> Result<()> {
    let path = file.path();
    let failed = |error| StoreError::Io(format!("read the database {}", path.display()), error);
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(StoreError::Foreign(path.to_owned(), "it is not a regular file"));
    }
    let names = names(path, &found).map_err(failed)?;
    if names > 1 {
        return Err(StoreError::HardLinked(path.to_owned(), names));
    }
    for beside in BESIDE.map(|suffix| file.beside(suffix)) {
        if fs::symlink_metadata(&beside).is_ok_and(|found| !found.is_file()) {
            return Err(StoreError::damaged(path, format!("{} is not a regular file", beside.display())));
        }
    }
    let mut header = Vec::with_capacity(HEADER_BYTES);
    let limit = HEADER_BYTES as u64;
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut header)).map_err(failed)?;
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::Foreign(path.to_owned(), "it is not an SQLite file"));
    }
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map(u32::from_be_bytes).ok_or_else(|| StoreError::damaged(path, "it ends within its header"))
    };
    // The offsets are from the SQLite file format, section 1.3.
    let (pages, version, application) = (number(28)?, number(60)?, number(68)?);
    if application != APPLICATION_ID {
        let foreign = StoreError::Foreign(path.to_owned(), "it belongs to another program");
        return Err(lost_mark_in_file(path).unwrap_or(foreign));
    }
    check_user_version(Version(version), path).map_err(|error| lost_mark_in_file(path).unwrap_or(error))?;
    // These are the write and the read version. SQLite would open a file of a later format read-only.
    if let Some(format) = header[18..20].iter().find(|format| !matches!(format, 1 | 2)) {
        return Err(StoreError::damaged(path, format!("its file format is {format}")));
    }
    let page_size = match number(16)? & 0xffff_0000 {
        0x0001_0000 => 65_536,
        high => u64::from(high >> 16),
    };
    let expected = u64::from(pages) * page_size;
    // Pages that are in the log, or that a journal takes back, may be missing from the file. The length is read last, because a checkpoint by another
    // process writes the header first and removes the log last.
    let holds_any = |suffix| fs::metadata(file.beside(suffix)).is_ok_and(|found| found.len() > 0);
    let has_log = holds_any("-wal") || holds_any("-journal");
    let length = fs::metadata(path).map_err(failed)?.len();
    if !has_log && length < expected {
        return Err(StoreError::damaged(
            path,
            format!("it has {length} bytes where its header says {expected}"),
        ));
    }
    Ok(())
}

/// The number of names of a file. FUSE keeps an old one for a second after a link or an unlink, so more than one is looked at again.
fn names(path: &Path, found: &Metadata) -> io::Result<u64> {
    if found.nlink() == 1 {
        return Ok(1);
    }
    Ok(statx(CWD, path, AtFlags::STATX_FORCE_SYNC, StatxFlags::NLINK)?.stx_nlink.into())
}
