//! Refuses folders in which a database could not do its work: those of network file systems, and those of file systems that lack
//! what workers or SQLite need. There are too many of the latter to know them by name, so it is tried.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rusqlite::Connection;
use rustix::io::Errno;

use super::error::{Result, StoreError, is_io_error, is_mapping_error};
use crate::paths;
use crate::wake;

/// The errors of a socket that tell of this process or of the room that is left, and not of what the file system can do.
const NOT_OF_THE_KIND: [Errno; 8] = [
    Errno::ACCESS,
    Errno::ROFS,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::NOENT,
];

/// The files that a trial makes in its folder. rclone leaves a file for a socket that it has refused.
const MADE: [&str; 5] = ["probe.sock", "probe.db", "probe.db-wal", "probe.db-shm", "probe.db-journal"];

/// Refuses file systems whose locks do not exclude other machines, or do not work at all. `on` is the database, or its
/// directory if there is no database yet.
pub fn refuse_network(database: &Path, on: &Path) -> Result<()> {
    // The numbers are from statfs(2).
    let kind = match paths::file_system_number(on) {
        Some(0x6969) => "NFS",
        Some(0x517b | 0xff53_4d42 | 0xfe53_4d42) => "SMB",
        Some(0x0102_1997) => "9p",
        _ => return Ok(()),
    };
    Err(StoreError::Network(database.to_owned(), kind))
}

/// The kind of file system, if a reboot empties it.
pub fn in_memory(on: &Path) -> Option<&'static str> {
    // The numbers are from statfs(2).
    match paths::file_system_number(on) {
        Some(0x0102_1994) => Some("tmpfs"),
        Some(0x8584_58f6) => Some("ramfs"),
        _ => None,
    }
}

/// Refuses the folder of a database that is to be made, if workers or SQLite could not do their work there.
pub fn try_new(database: &Path, folder: &Path) -> Result<()> {
    match in_probe(folder, |probe| try_socket(probe).or_else(|| try_sqlite(probe))).flatten() {
        Some(why) => Err(unfit(database, why)),
        None => Ok(()),
    }
}

/// The same for a database that is there. Other file systems than FUSE do not change, and were tried when it was made.
pub fn try_old(database: &Path, folder: &Path) -> Result<()> {
    if paths::file_system_number(folder) == Some(paths::FUSE) { try_new(database, folder) } else { Ok(()) }
}

/// Refuses the place of a database that nobody has made yet, as far as that can be told without a trial of each file system.
pub fn look_ahead(database: &Path) -> Result<()> {
    let Some(folder) = database.ancestors().skip(1).find(|folder| folder.is_dir()) else { return Ok(()) };
    refuse_network(database, folder)?;
    try_old(database, folder)
}

/// Names the file system in an error of SQLite that says that it could not map the index of the log.
pub fn explain_mapping(error: StoreError, database: &Path) -> StoreError {
    match error {
        StoreError::Sqlite(error) if is_mapping_error(&error) => unfit(database, why_not_mapped(&error)),
        other => other,
    }
}

/// Tries something in a new folder within this one, which is removed afterwards. None if no folder can be made, which others tell
/// better.
fn in_probe<T>(folder: &Path, body: impl FnOnce(&Path) -> T) -> Option<T> {
    // The name says whose it is, because a kill leaves it behind.
    let probe = folder.join(format!("runner-probe-{:016x}", rand::random::<u64>()));
    DirBuilder::new().mode(0o700).create(&probe).ok()?;
    // The umask may have taken bits away.
    let opened = fs::set_permissions(&probe, Permissions::from_mode(0o700));
    let tried = opened.ok().map(|()| body(&probe));
    // By name, because davfs2 does not list it. What stays holds nothing.
    for name in MADE {
        let _ = fs::remove_file(probe.join(name));
    }
    let _ = fs::remove_dir(&probe);
    tried
}

/// Makes a socket such as a worker has, and says why the file system refuses it, as sshfs, rclone and davfs2 do.
fn try_socket(probe: &Path) -> Option<String> {
    // A process that may have no sockets can enqueue all the same.
    UnixDatagram::unbound().ok()?;
    let error = wake::bind(probe, "probe").err()?;
    if Errno::from_io_error(&error).is_some_and(|known| NOT_OF_THE_KIND.contains(&known)) {
        return None;
    }
    Some(format!("no socket can be made, and workers need one: {error}"))
}

/// Makes a database with a log, and says why SQLite cannot use it. A full disk or a limit is told later.
fn try_sqlite(probe: &Path) -> Option<String> {
    let made = Connection::open(probe.join("probe.db")).and_then(|connection| {
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
    });
    match made.map_err(StoreError::from) {
        Err(StoreError::Sqlite(error)) if is_mapping_error(&error) => Some(why_not_mapped(&error)),
        Err(StoreError::Sqlite(error)) if is_io_error(&error) => {
            Some(format!("SQLite can make no database: {error}"))
        }
        _ => None,
    }
}

fn why_not_mapped(error: &rusqlite::Error) -> String {
    format!("SQLite cannot map the index of its log into memory: {error}")
}

fn unfit(database: &Path, why: String) -> StoreError {
    let file_system = database.parent().and_then(paths::file_system_type);
    StoreError::Unfit {
        path: database.to_owned(),
        file_system: file_system.unwrap_or_else(|| "a file system".to_owned()),
        why,
    }
}
