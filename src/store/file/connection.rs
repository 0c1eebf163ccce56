//! Opens a connection to the file, sets it up, and waits for the write lock.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, MAIN_DB, OpenFlags};

use super::error::Result;
use super::header::check_version;
use super::immutable::immutable_uri;
use super::objects::check_triggers;
use super::row::{one, value};
use super::store_file::StoreFile;

/// Makes sure that a commit is on disk before it returns.
const SYNC_COMMITS: &str = "PRAGMA synchronous = FULL";

/// Fills what is deleted with zeros, so that no secret of a job outlives the job in the file. Every connection needs this,
/// because an update moves the row of a job and leaves the old one behind.
const OVERWRITE_DELETED: &str = "PRAGMA secure_delete = ON";

/// A log that has grown beyond this length is cut to it. It is twice the length at which SQLite checkpoints (1 000 pages),
/// because a log that is written over keeps its length, and a sync that need not record a new length takes half the time.
const MAX_LOG_BYTES: u64 = 8 << 20;

/// How a connection shares the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Shared,
    /// It locks all others out.
    Alone,
    /// It locks nothing, reads no log, and writes nothing.
    Immutable,
}

/// Opens a connection.
pub fn connect(file: &StoreFile, sharing: Sharing) -> Result<Connection> {
    let mut connection = if sharing == Sharing::Immutable {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_uri(file.path()), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(file.path(), flags)?
    };
    distrust_schema(&connection)?;
    checkpoint_on_close(&connection, false)?;
    wait_fairly(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    if sharing == Sharing::Alone {
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    }
    // Otherwise the planner would look at bound values, and plan a statement again each time they are bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(SYNC_COMMITS)?;
    connection.execute_batch(&format!("PRAGMA journal_size_limit = {MAX_LOG_BYTES}"))?;
    keep_log(&connection)?;
    connection.execute_batch(OVERWRITE_DELETED)?;
    check_version(&connection, file.path())?;
    check_triggers(&connection, file.path())?;
    checkpoint_on_close(&connection, true)?;
    Ok(connection)
}

/// Lets statements that a file brings with it do no more than the schema needs.
pub fn distrust_schema(connection: &Connection) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // The foreign keys of another program's tables would refuse what we delete; our tables have none.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    Ok(())
}

/// Sets whether the connection copies the log into the file when it is the last to close. A damaged file must keep its
/// bytes.
pub fn checkpoint_on_close(connection: &Connection, wanted: bool) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted)?;
    Ok(())
}

/// Lets the last connection empty the log, once the file is whole, instead of deleting it: the name of a new log would have to
/// get to the disk.
fn keep_log(connection: &Connection) -> Result<()> {
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut 1))?;
    Ok(())
}

/// Whether readers and writers of the file do not stop each other.
pub(super) fn is_in_wal_mode(connection: &Connection) -> Result<bool> {
    Ok(one(connection, "PRAGMA journal_mode", [], value::<String>)? == "wal")
}

/// Puts the file into WAL mode if no other process holds it now, and says whether it is in it.
pub(super) fn set_wal_mode(connection: &mut Connection) -> Result<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let set = one(connection, "PRAGMA journal_mode = WAL", [], value::<String>);
    wait_fairly(connection)?;
    Ok(set? == "wal")
}

/// How long a writer waits for the write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A writer that has waited for longer than this tries less often.
const LONG_WAIT: Duration = Duration::from_millis(500);

thread_local! {
    /// When the current wait began. SQLite only tells a busy handler how often it was called.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes a writer wait for the lock by pauses that are drawn afresh each time: 0.5 to 2 ms, and 10 to 40 ms once it has
/// waited long.
///
/// SQLite's own `busy_timeout` backs off to sleeps of 100 ms: with eight writers the unlucky ones starve, and some give up.
/// With short uniform pauses every writer got through within half a second. Who waits longer is one of a crowd, such as two
/// hundred workers that are started at once. There the tries themselves take all CPUs from the one that holds the lock, and
/// most gave up after 10 s, though the work of all took less.
pub fn wait_fairly(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

fn wait(earlier_tries: i32) -> bool {
    if earlier_tries == 0 {
        SINCE.set(Some(Instant::now()));
    }
    let waited = SINCE.get().map_or(Duration::ZERO, |since| since.elapsed());
    if waited >= BUSY_TIMEOUT {
        return false;
    }
    let pause = if waited < LONG_WAIT {
        rand::random_range(500..=2_000)
    } else {
        rand::random_range(10_000..=40_000)
    };
    thread::sleep(Duration::from_micros(pause));
    true
}
