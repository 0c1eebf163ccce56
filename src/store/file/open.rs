//! Opening and creating a database, and its transactions.
//!
//! Opening refuses whatever is not a sound database of this version, and leaves the file as it is.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::backup::Backup;
use rusqlite::{Connection, MAIN_DB, Transaction, TransactionBehavior};

use super::caller::Caller;
use super::connection::{
    Sharing, checkpoint_on_close, connect, distrust_schema, is_in_wal_mode, set_wal_mode,
};
use super::error::{NoRoom, Result, StoreError};
use super::file_system::{explain_mapping, refuse_network, try_old};
use super::header::check_header;
use super::immutable::{
    Mode, Stamp, denied, explain_denial, is_denial, is_on_read_only_file_system, lack_of_room, refuses_files,
};
use super::row::{one, value};
use super::schema::{self, version_of};
use super::store_file::{Draft, StoreFile};
use super::two_views::refuse_other_view;
use super::version::Version;
use crate::clock::Clock;
use crate::text::Timestamp;
use crate::wake;

/// An open database.
#[derive(Debug)]
pub struct Store {
    /// Use this through `write`, `read` and `autocommit` only.
    pub(in crate::store) connection: Connection,
    file: StoreFile,
    /// Device and inode of the file that was opened; none for a database in memory.
    identity: Option<(u64, u64)>,
    mode: Mode,
    /// Whether the file was in WAL mode when this was last looked at, or cannot be written here anyway.
    has_wal: bool,
    clock: Clock,
    /// The name of the worker that has registered through this store: it need not be woken by its own changes.
    worker: Option<String>,
    /// The running job whose command has made this call, where that is known.
    pub(in crate::store) caller: Option<Caller>,
    is_new: bool,
}

/// A transaction, and its time: one for all that it reads and writes.
pub struct Tx<'c> {
    connection: &'c Connection,
    /// When the transaction began; a write had the write lock by then, so that times and ids agree on the order.
    pub now: Timestamp,
}

impl Deref for Tx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Store {
    /// Opens the database, and creates it if there is none.
    pub fn open_or_create(file: StoreFile) -> Result<Self> {
        match Self::open(file.clone()) {
            Err(StoreError::Missing(_)) => {
                let is_new = create(&file)?;
                Ok(Self { is_new, ..Self::open(file)? })
            }
            opened => opened,
        }
    }

    /// Opens a database that must exist. One of an older minor version is brought up to that of this program; on a read-only
    /// file system a copy of it in memory is, which can only be read.
    pub fn open(file: StoreFile) -> Result<Self> {
        check(&file)?;
        try_old(file.path(), file.parent())?;
        let mut store = Self::connect(file)?;
        store.upgrade()?;
        if matches!(store.mode, Mode::ReadWrite) {
            store.autocommit(|connection| refuse_other_view(connection, &store.file))?;
        }
        Ok(store)
    }

    /// Opens a database that must exist, and leaves it at its version: for a copy that is to be read, and kept.
    pub fn open_as_it_is(file: StoreFile) -> Result<Self> {
        check(&file)?;
        Self::connect(file)
    }

    /// Opens a second connection of this process to the same file, for another thread. It never looks into the header, as opening does:
    /// closing the file after that would drop the locks of the first connection, and other programs would take the log away from both.
    pub fn connect_again(&self) -> Result<Self> {
        let connection = connect(&self.file, Sharing::Shared).map_err(|error| explain(error, &self.file))?;
        let again = Self::of(connection, self.file.clone(), self.identity, Mode::ReadWrite);
        again.check_path()?;
        Ok(again)
    }

    fn of(connection: Connection, file: StoreFile, identity: Option<(u64, u64)>, mode: Mode) -> Self {
        Self {
            connection,
            file,
            identity,
            mode,
            has_wal: true,
            clock: Clock::Wall,
            worker: None,
            caller: None,
            is_new: false,
        }
    }

    fn connect(file: StoreFile) -> Result<Self> {
        let identity = identity(&file).map_err(|error| {
            StoreError::Io(format!("look at the database {}", file.path().display()), error)
        })?;
        let (connection, mode) = match connect(&file, Sharing::Shared) {
            Err(StoreError::Sqlite(error)) if is_denial(&error) && denied(&file).is_some() => {
                let stamp = Stamp::of_unused(&file)?;
                (connect(&file, Sharing::Immutable), Mode::Immutable(stamp))
            }
            Err(StoreError::Full(why)) => without_room(&file, why),
            Err(StoreError::Sqlite(error)) => match lack_of_room(&file) {
                Some(why) => without_room(&file, why),
                None => (Err(StoreError::Sqlite(error)), Mode::ReadWrite),
            },
            // What would change something is refused at once.
            Ok(connection)
                if connection.is_readonly(MAIN_DB)? && is_on_read_only_file_system(file.path()) =>
            {
                match Stamp::of_unused(&file) {
                    Ok(stamp) => (connect(&file, Sharing::Immutable), Mode::Immutable(stamp)),
                    Err(_) => (Ok(connection), Mode::ReadWrite),
                }
            }
            connected => (connected, Mode::ReadWrite),
        };
        let connection = connection.map_err(|error| explain(error, &file))?;
        let identity = Some(identity);
        let has_wal = !matches!(mode, Mode::ReadWrite) || is_in_wal_mode(&connection)?;
        let store = Self { has_wal, ..Self::of(connection, file, identity, mode) };
        // Somebody may have replaced the file since its header was checked.
        if store.check_path().is_err() {
            drop(store.connection);
            return Self::open_as_it_is(store.file);
        }
        Ok(store)
    }

    fn upgrade(&mut self) -> Result<()> {
        let known = schema::known();
        let found = self.version()?;
        if found >= known.version() {
            return Ok(());
        }
        self.put_back_wal();
        let upgraded =
            self.check_writable().and_then(|()| self.autocommit(|connection| known.upgrade(connection)));
        match upgraded.map_err(|error| explain_denial(error, &self.file)) {
            Err(StoreError::NotWritable(_))
                if is_on_read_only_file_system(self.file.path()) || refuses_files(self.file.parent()) =>
            {
                let stamp = Stamp::of(&self.file)?;
                let copy = self.autocommit(copy_to_memory)?;
                known.upgrade(&copy)?;
                self.connection = copy;
                self.mode = Mode::Copied(stamp, found);
                Ok(())
            }
            Err(StoreError::NotWritable(path)) => {
                Err(StoreError::NotUpgraded { path, found, known: known.version() })
            }
            upgraded => upgraded,
        }
    }

    /// The version of the file: that of this program or a newer minor one, and an older one on a read-only file system.
    pub fn version(&self) -> Result<Version> {
        match self.mode {
            Mode::Copied(_, version) => Ok(version),
            _ => self.autocommit(version_of),
        }
    }

    /// Opens the database for a dry run: where there is none, an empty one in memory stands in for it, so that nothing is
    /// created.
    pub fn open_to_rehearse(file: StoreFile) -> Result<Self> {
        match Self::open(file.clone()) {
            Err(StoreError::Missing(_)) => {
                let connection = Connection::open_in_memory()?;
                connection.execute_batch(schema::known().sql)?;
                Ok(Self::of(connection, file, None, Mode::ReadWrite))
            }
            opened => opened,
        }
    }

    /// The time by the clock of this store.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The same store at this time.
    #[cfg(test)]
    pub(in crate::store) fn at(&mut self, now: Timestamp) -> &mut Self {
        self.clock = Clock::Fixed(now);
        self
    }

    /// Whether this call of the program has created the database.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// Fails if the path no longer leads to the file that was opened, because nobody else would see what is written to it.
    pub fn check_path(&self) -> Result<()> {
        match self.identity.map(|opened| identity(&self.file).is_ok_and(|found| found == opened)) {
            None | Some(true) => Ok(()),
            Some(false) => Err(StoreError::Moved(self.file.path().to_owned())),
        }
    }

    /// Runs the body and undoes all its changes: nothing is written, and nobody is woken. Transactions of the body are
    /// part of one that is rolled back.
    pub fn rehearse<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> Result<T> {
        self.begin()?;
        let value = body(self);
        self.roll_back()?;
        Ok(value)
    }

    /// Runs the body as one write transaction, and wakes the workers after it: what its calls change is on disk together, or an `Err`
    /// of the body undoes all of it. Within another one it is part of that. An error that the body has kept to itself may have ended the
    /// transaction, and undone all of it; then there is nothing to commit.
    pub fn together<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if !self.connection.is_autocommit() {
            return self.as_part(body);
        }
        self.put_back_wal();
        self.begin()?;
        let commit = |store: &mut Self| {
            if !store.is_in_transaction() {
                return Ok(());
            }
            store.autocommit(|connection| connection.execute_batch("COMMIT").map_err(StoreError::at_commit))
        };
        let done = body(self).and_then(|value| commit(self).map(|()| value));
        match done {
            Ok(_) => self.wake_workers(),
            Err(_) => self.roll_back()?,
        }
        done
    }

    pub fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Runs the body as a part of the transaction: an `Err` undoes the part.
    fn as_part<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let run = |store: &Self, sql| store.autocommit(|connection| Ok(connection.execute_batch(sql)?));
        run(self, "SAVEPOINT part")?;
        let done = body(self);
        // An error may have ended the transaction before.
        if !self.connection.is_autocommit() {
            run(self, if done.is_ok() { "RELEASE part" } else { "ROLLBACK TO part; RELEASE part" })?;
        }
        done
    }

    fn begin(&self) -> Result<()> {
        self.check_writable()?;
        self.autocommit(|connection| Ok(connection.execute_batch("BEGIN IMMEDIATE")?))
            .map_err(|error| explain_denial(error, &self.file))
    }

    fn roll_back(&self) -> Result<()> {
        // An error may have ended the transaction before.
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.autocommit(|connection| Ok(connection.execute_batch("ROLLBACK")?))
    }

    /// Runs one write transaction. When this returns `Ok`, its changes are on disk; an `Err` of the body undoes them. Within
    /// [`Store::rehearse`] it is part of that.
    pub(in crate::store) fn write<T>(&mut self, body: impl FnOnce(&Tx) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        self.put_back_wal();
        let written = self.autocommit(|connection| {
            let begun = if connection.is_autocommit() {
                Some(Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?)
            } else {
                None
            };
            let value = body(&Tx { connection, now: self.clock.now() })?;
            if let Some(transaction) = begun {
                transaction.commit().map_err(StoreError::at_commit)?;
            }
            Ok(value)
        });
        written.map_err(|error| explain_denial(error, &self.file))
    }

    pub(in crate::store) fn check_writable(&self) -> Result<()> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::DiskFull(why, _) => Err(StoreError::Full(why)),
            Mode::Immutable(_) | Mode::Copied(..) => {
                Err(StoreError::NotWritable(self.file.path().to_owned()))
            }
        }
    }

    /// Whether readers and writers stop each other, because somebody has taken the file out of WAL mode.
    pub const fn is_without_wal(&self) -> bool {
        !self.has_wal
    }

    /// Puts a file that somebody has taken out of WAL mode back into it. Where another process holds the file, that is left to a later
    /// write, and this one does without.
    pub(in crate::store) fn put_back_wal(&mut self) {
        if self.is_without_wal() && self.connection.is_autocommit() {
            self.has_wal = set_wal_mode(&mut self.connection).unwrap_or(false);
        }
    }

    /// [`Store::write`] for a change that may create work: wakes the workers once it is on disk.
    pub(in crate::store) fn write_work<T>(&mut self, body: impl FnOnce(&Tx) -> Result<T>) -> Result<T> {
        let value = self.write(body)?;
        self.wake_workers();
        Ok(value)
    }

    /// Wakes the workers of this database, but not the one that has registered through this store, and none in a rehearsal.
    pub fn wake_workers(&self) {
        if self.connection.is_autocommit() {
            wake::wake_workers(&self.file.run_dir(), self.worker.as_deref());
        }
    }

    /// Changes of this store wake the other workers, and not this one.
    pub(in crate::store) fn belongs_to(&mut self, worker: &str) {
        self.worker = Some(worker.to_owned());
    }

    /// Runs one read transaction, whose statements all see the same moment. A nested one is part of the outer one.
    pub(in crate::store) fn read<T>(&self, body: impl FnOnce(&Tx) -> Result<T>) -> Result<T> {
        self.autocommit(|connection| {
            let _begun = if connection.is_autocommit() {
                Some(Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)
            } else {
                None
            };
            body(&Tx { connection, now: self.clock.now() })
        })
    }

    /// Runs statements that each see their own moment. Long reads need this, because a transaction holds up checkpoints.
    pub(in crate::store) fn autocommit<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let done = body(&self.connection);
        // Parts of it may have been read before the change and parts after, so it may look damaged.
        if let Mode::Immutable(stamp) | Mode::Copied(stamp, _) | Mode::DiskFull(_, Some(stamp)) = &self.mode
            && *stamp != Stamp::of(&self.file)?
        {
            return Err(StoreError::ChangedWhileRead(self.file.path().to_owned()));
        }
        if done.as_ref().is_err_and(StoreError::may_be_damage) {
            checkpoint_on_close(&self.connection, false)?;
        }
        match done {
            Err(StoreError::Busy) if self.is_without_wal() => {
                Err(StoreError::BusyWithoutWal(self.file.path().to_owned()))
            }
            done => done.map_err(|error| explain_mapping(error, self.file.path())),
        }
    }

    /// A number that changes whenever another connection has written: a cheap way to see that something may be new.
    pub fn data_version(&self) -> Result<i64> {
        self.autocommit(|tx| one(tx, "PRAGMA data_version", [], value))
    }
}

/// Refuses what is no sound database of this version, without SQLite.
fn check(file: &StoreFile) -> Result<()> {
    file.check_trust()?;
    file.refuse_mount()?;
    if file.is_missing()? {
        return Err(StoreError::Missing(file.path().to_owned()));
    }
    refuse_network(file.path(), file.path())?;
    file.check_run_dir()?;
    check_header(file)
}

/// Creates the database: whole, or not at all. False if another process has created it meanwhile.
pub fn create(file: &StoreFile) -> Result<bool> {
    let draft = Draft::new(file)?;
    let is_missing = file.is_missing()?;
    if is_missing {
        fill(&draft.path)?;
        draft.become_database()?;
    }
    Ok(is_missing)
}

fn fill(draft: &Path) -> Result<()> {
    let connection = Connection::open(draft)?;
    // Nobody sees the draft before it is whole, so one sync at its end does for all of it.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")?;
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {}", schema::known().sql))?;
    // WAL comes last, so that the header of the file itself, and not only the log, says that the file is ours.
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")?;
    connection.close().map_err(|(_, error)| error)?;
    let synced = File::options().write(true).open(draft).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::Io(format!("write {}", draft.display()), error))
}

fn copy_to_memory(from: &Connection) -> Result<Connection> {
    let mut copy = Connection::open_in_memory()?;
    distrust_schema(&copy)?;
    Backup::new(from, &mut copy)?.step(-1)?;
    Ok(copy)
}

/// Device and inode.
fn identity(file: &StoreFile) -> io::Result<(u64, u64)> {
    fs::metadata(file.path()).map(|found| (found.dev(), found.ino()))
}

/// Connects to a file of which nothing can be written now, to read it.
fn without_room(file: &StoreFile, why: NoRoom) -> (Result<Connection>, Mode) {
    // There may be no room even for the index of the log. A connection that locks all others out keeps it in memory.
    let alone = connect(file, Sharing::Alone);
    if let Err(StoreError::Sqlite(_) | StoreError::Full(_)) = alone
        && let Ok(stamp) = Stamp::of_unused(file)
    {
        // Nor is there room for an empty log, but the file is whole without one.
        return (connect(file, Sharing::Immutable), Mode::DiskFull(why, Some(stamp)));
    }
    (alone, Mode::DiskFull(why, None))
}

/// Adds to an error of opening what its cause is: which file is damaged, that this user may not write to it, or that the
/// disk is full.
fn explain(error: StoreError, file: &StoreFile) -> StoreError {
    match explain_denial(error, file) {
        StoreError::Damaged(_, what) => StoreError::damaged(file.path(), what),
        StoreError::Sqlite(error) => match lack_of_room(file) {
            Some(why) => StoreError::Full(why),
            None => explain_mapping(StoreError::Sqlite(error), file.path()),
        },
        other => other,
    }
}
