//! Restore, which puts a checked copy in the place of a database.
//!
//! The copy is complete and on disk before one rename exchanges the two files. It goes on with the ids of the database that
//! it replaces, as far as those can be read: other programs may hold ids that were given out since the copy was made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use crate::model::JobState;
use crate::store::file::connection::{Sharing, checkpoint_on_close, connect, distrust_schema};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::header::check_header;
use crate::store::file::immutable::immutable_uri;
use crate::store::file::objects::is_our_table;
use crate::store::file::open::{Store, Tx};
use crate::store::file::rename::{put_in_place, rename_new};
use crate::store::file::row::{all, from_row, maybe, one, run, value};
use crate::store::file::store_file::{BESIDE, Draft, StoreFile, open_regular, sync_dir, with_suffix};
use crate::store::file::version::Version;
use crate::store::write::conditions::is_pending;
use crate::store::write::ended_before::{EndedBefore, LAST_ATTEMPTS};
use crate::store::write::recover::{OrphanedClaim, held_by};
use crate::store::write::workers::{self, Worker};
use crate::text::Timestamp;

/// The highest id that is believed of a replaced database, 2^53: nobody enqueues that many jobs, and many programs read the
/// numbers of JSON exactly only up to it.
const MAX_ID: i64 = 1 << 53;

/// The result of a restore, with what could be read of the database that was there.
#[derive(Debug, Default)]
pub struct Restored {
    /// The path at which the old database is kept, if there was one.
    pub kept: Option<PathBuf>,
    /// The path of the log of an old database that was itself gone, or empty.
    pub kept_log: Option<PathBuf>,
    /// The jobs that will run though they have started or ended since the copy was made, in the order of their ids.
    pub run_again: Vec<RunAgain>,
    /// The last id of a job that counts as given out, if the old database could not say which was.
    pub uncertain_id: Option<i64>,
    /// The number of unfinished jobs of the copy of which the old database could not say what has become.
    pub uncertain_jobs: u64,
    /// The schedules that have fired for times which the copy still has before it.
    pub fire_again: Vec<String>,
    /// The queues and schedules, and `everything`, that were paused and are not in the copy, or not for as long.
    pub lost_pauses: Vec<String>,
    /// The queues and schedules, and `everything`, that only the copy has paused.
    pub paused_again: Vec<String>,
}

/// A job that is unfinished in the copy, and was not in the database that was replaced.
#[derive(Debug)]
pub struct RunAgain {
    pub id: i64,
    pub name: String,
    /// Its state in the old database: ended, or running where the copy has it pending.
    pub state: JobState,
    /// Whether it was running when the copy was made.
    pub was_running: bool,
}

impl Store {
    /// Puts a copy of this database in the place of `target`. `on_progress` is told how many pages are copied, and how many
    /// there are.
    ///
    /// The copy is checked and on disk before one rename exchanges the two files. It is an error if another process has the
    /// target open. This process must not have opened it either.
    ///
    /// `end` ends what still runs of the old database's attempts, because no worker of the new one would know of it. Its error,
    /// which names what is left, is one of the restore.
    pub fn restore_to(
        &self,
        target: &StoreFile,
        on_progress: &mut dyn FnMut(u64, u64),
        end: &dyn Fn(OldAttempts) -> std::result::Result<(), String>,
    ) -> Result<Restored> {
        let draft = Draft::new(target)?;
        let damaged = |what| StoreError::Damaged(Some(self.file().path().to_owned()), what);
        self.copy_to(&draft.path, on_progress).map_err(|error| match error {
            StoreError::Damaged(None, what) => damaged(what),
            other => other,
        })?;
        let mut new = Self::open(StoreFile::new(&draft.path)?)?;
        if let Some(finding) = new.audit_as(self.file().path())?.into_iter().next() {
            return Err(damaged(finding.what));
        }
        let failed = |error| {
            StoreError::Io(format!("put the copy in the place of {}", target.path().display()), error)
        };
        let sync_draft = || File::open(&draft.path).and_then(|file| file.sync_all()).map_err(failed);
        if target.is_absent()? {
            let mut restored = Restored::default();
            if target.log_holds_data() {
                new.put_log_into_file()?;
                let log = open_log_alone(target, &draft);
                restored = new.follow(None, log.as_ref())?;
                drop(log);
                let kept = free_name(target);
                set_log_aside(target, &kept)?;
                restored.kept_log = Some(with_suffix(&kept, "-wal"));
            }
            new.put_log_into_file()?;
            drop(new);
            sync_draft()?;
            draft.become_database()?;
            return Ok(restored);
        }
        let alone = lock_out(target)?;
        let damaged = if alone.is_none() { open_damaged(target) } else { None };
        let old = alone.as_ref().or(damaged.as_ref());
        let of_old = old
            .map_or_else(|| Ok(OldAttempts::default()), |old| new.read(|tx| old_attempts(tx, old, target)))?;
        end(of_old).map_err(|left| StoreError::Leftovers(target.path().to_owned(), left))?;
        let mut restored = new.follow(old, None)?;
        drop(damaged);
        new.put_log_into_file()?;
        drop(new);
        sync_draft()?;
        let kept = free_name(target);
        if alone.is_none() {
            set_log_aside(target, &kept)?;
        }
        if let Some(old) = &alone {
            // The log, which is empty, has the name of that of the new database from now on.
            checkpoint_on_close(old, false)?;
        }
        put_in_place(&draft.path, target.path(), &kept).map_err(failed)?;
        drop(alone);
        sync_dir(target.parent()).map_err(failed)?;
        restored.kept = Some(kept);
        Ok(restored)
    }

    /// Copies the whole log into the file. It would stay behind under the name of the draft.
    fn put_log_into_file(&self) -> Result<()> {
        self.autocommit(|tx| Ok(tx.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?))
    }

    /// Makes this copy the successor of the old database: it gives out no id again, and finds the jobs that will run again.
    /// `old` is none if nothing of the old database can be read. `log` is a log whose database is missing; only its counters are
    /// read.
    fn follow(&mut self, old: Option<&Connection>, log: Option<&Connection>) -> Result<Restored> {
        self.write(|tx| {
            let mut restored = Restored::default();
            let counted =
                "SELECT name AS counted FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'";
            let counted = all(tx, counted, [], value::<String>)?;
            for table in counted.into_iter().filter(|table| is_our_table(table)) {
                let (last, is_certain) = last_id(old, &table);
                let last = last.max(log.and_then(|log| counter(log, &table)).unwrap_or_default());
                let next = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
                if run(tx, next, params![table, last])? == 0 {
                    run(tx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", params![table, last])?;
                }
                if table == "jobs" && !is_certain {
                    let last = "SELECT seq FROM sqlite_sequence WHERE name = 'jobs'";
                    restored.uncertain_id = Some(one(tx, last, [], value)?);
                }
            }
            run_again(tx, old, &mut restored)?;
            if let Some(old) = old {
                restored.fire_again = fire_again(tx, old)?;
                compare_pauses(tx, old, &mut restored);
            }
            Ok(restored)
        })
    }
}

/// The attempts of a database that is about to be replaced, of which processes may be left.
#[derive(Debug, Default)]
pub struct OldAttempts {
    /// The dead workers with the jobs that they held.
    pub held: Vec<(Worker, Vec<OrphanedClaim>)>,
    /// Attempts that have ended, and may have left something in the background. The copy will run their jobs again, and does
    /// not know of them.
    pub ended: Vec<EndedBefore>,
}

/// Of a damaged database what can be read has to do. What the old database has of the attempts of another one, of which it is a
/// copy, does not count.
fn old_attempts(copy: &Tx, old: &Connection, target: &StoreFile) -> Result<OldAttempts> {
    let with_claims = |worker: Worker| Some((held_by(old, worker.id, Version(u32::MAX)).ok()?, worker));
    let held = workers::open(old).unwrap_or_default().into_iter().filter_map(with_claims);
    let held = held.map(|(held, worker)| (worker, held)).collect();
    let unfinished = "SELECT id, attempts FROM jobs WHERE state = 'running' OR state = 'pending' ORDER BY id";
    let jobs: Vec<(i64, u32)> = all(copy, unfinished, [], |row| Ok((row.get("id")?, row.get("attempts")?)))?;
    let path = target.path().as_os_str().as_bytes();
    let last = format!("{LAST_ATTEMPTS} WHERE j.id = ?1 AND j.attempts > ?2 AND w.db_path = ?3");
    let ended = jobs.into_iter().filter_map(|(job_id, known)| {
        maybe(old, &last, params![job_id, known, path], EndedBefore::read).ok().flatten()
    });
    Ok(OldAttempts { held, ended: ended.collect() })
}

/// The last id that a table of the old database gave out, as far as it can be read, and whether that is certain.
fn last_id(old: Option<&Connection>, table: &str) -> (i64, bool) {
    let counter = old.and_then(|old| counter(old, table));
    let row = old.and_then(|old| read_id(old, &format!("SELECT max(rowid) FROM {table}")));
    (counter.max(row).unwrap_or_default(), counter.is_some())
}

/// The last id that was given out for this table, by the counter of the database.
fn counter(old: &Connection, table: &str) -> Option<i64> {
    read_id(old, &format!("SELECT max(seq) FROM sqlite_sequence WHERE name = '{table}'"))
}

fn read_id(old: &Connection, sql: &str) -> Option<i64> {
    let found = one(old, sql, [], value::<Option<i64>>).ok()?.unwrap_or_default();
    (0..=MAX_ID).contains(&found).then_some(found)
}

/// Finds the unfinished jobs of the copy that have started or ended in the old database.
fn run_again(tx: &Tx, old: Option<&Connection>, restored: &mut Restored) -> Result<()> {
    let sql = format!(
        "SELECT id, name, state = 'running' AS was_running FROM jobs
         WHERE (state = 'running' AND cancel_requested_at IS NULL) OR {} ORDER BY id",
        is_pending("jobs", "?1")
    );
    let jobs = all(tx, &sql, [tx.now], |row| {
        Ok(from_row!(row, RunAgain { id, name, state: JobState::Pending, was_running }))
    })?;
    for job in jobs {
        let state = |old| maybe(old, "SELECT state FROM jobs WHERE id = ?1", [job.id], value::<JobState>);
        match old.map(state) {
            None | Some(Err(_)) => restored.uncertain_jobs += 1,
            Some(Ok(Some(state))) if state.is_final() || state == JobState::Running && !job.was_running => {
                restored.run_again.push(RunAgain { state, ..job });
            }
            Some(Ok(_)) => {}
        }
    }
    Ok(())
}

/// The schedules that fired in the old database after the copy was made. A boot is known by its id. One that was renamed or removed
/// since is known by its jobs.
fn fire_again(tx: &Tx, old: &Connection) -> Result<Vec<String>> {
    let schedules = all(tx, "SELECT name, next_at, boot_id FROM schedules ORDER BY name", [], |row| {
        Ok((row.get::<_, String>("name")?, row.get("next_at")?, row.get("boot_id")?))
    })?;
    let has_fired = |(name, next_at, boot_id): &(String, Option<Timestamp>, Option<String>)| {
        let sql = "SELECT coalesce(last_fired_at >= ?2, 0) OR coalesce(boot_id <> ?3, 0) FROM schedules WHERE name = ?1";
        let jobs = "SELECT 1 FROM jobs WHERE name = ?1 AND scheduled_for >= ?2 LIMIT 1";
        let is_found = |found: Result<Option<bool>>| found.is_ok_and(|found| found == Some(true));
        is_found(maybe(old, sql, params![name, next_at, boot_id], value))
            || is_found(maybe(old, jobs, params![name, next_at], value))
    };
    Ok(schedules.into_iter().filter(has_fired).map(|(name, ..)| name).collect())
}

/// Compares the pauses of both databases that have not ended, as far as those of the old one can be read.
fn compare_pauses(tx: &Tx, old: &Connection, restored: &mut Restored) {
    let (kept, old) = (pauses(tx, tx.now), pauses(old, tx.now));
    let is_shorter = |name: &String, than: &Timestamp| kept.get(name).is_none_or(|until| until < than);
    restored.lost_pauses =
        old.iter().filter(|(name, until)| is_shorter(name, until)).map(|(name, _)| name.clone()).collect();
    restored.paused_again = kept.into_keys().filter(|name| !old.contains_key(name)).collect();
}

/// The pauses that have not ended, each with its end: of `everything`, or by kind and name. One that a person ends has the last time.
fn pauses(connection: &Connection, now: Timestamp) -> BTreeMap<String, Timestamp> {
    const LAST: Timestamp = Timestamp(i64::MAX);
    let read = |sql: &str| {
        all(connection, sql, [], |row| {
            let until: Option<Timestamp> = row.get("paused_until")?;
            Ok((row.get::<_, String>("what")?, until.unwrap_or(LAST)))
        })
    };
    let pauses = [
        "SELECT 'everything' AS what, paused_until FROM pause_of_all",
        "SELECT 'queue ' || name AS what, paused_until FROM queues WHERE paused",
        "SELECT 'schedule ' || name AS what, paused_until FROM schedules WHERE paused",
    ]
    .into_iter()
    // In a file of 1.0 no pause has an end, and there is none of everything.
    .flat_map(|sql| read(sql).or_else(|_| read(&sql.replace("paused_until", "NULL AS paused_until"))))
    .flatten();
    pauses.filter(|(_, until)| *until > now).collect()
}

/// The path at which the old database is kept: `FILE.replaced-1`, or the next number that is free. A link is not followed.
fn free_name(target: &StoreFile) -> PathBuf {
    let names = (1_u64..).map(|number| target.aside(number));
    let is_free = |path: PathBuf| path.symlink_metadata().is_err();
    names
        .clone()
        .find(|kept| is_free(kept.clone()) && BESIDE.iter().all(|suffix| is_free(with_suffix(kept, suffix))))
        .unwrap_or_default()
}

/// Locks all other processes out of the old database, and copies its whole log into the file, because SQLite would take a
/// log that stays for that of the new database. None if the database is damaged: then it cannot be locked, but nobody can
/// use it either.
fn lock_out(target: &StoreFile) -> Result<Option<Connection>> {
    let opened = check_header(target).and_then(|()| {
        connect(target, Sharing::Alone).map_err(|error| match error {
            StoreError::Foreign(path, what) => StoreError::Damaged(Some(path), what.to_owned()),
            other => other,
        })
    });
    match opened {
        Ok(connection) => {
            // Where the file is not in WAL mode, only a writer locks all others out.
            connection.execute_batch("BEGIN EXCLUSIVE; COMMIT").map_err(|error| match error.into() {
                StoreError::Busy => StoreError::InUse(target.path().to_owned()),
                other => other,
            })?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(Some(connection))
        }
        Err(StoreError::Busy) => Err(StoreError::InUse(target.path().to_owned())),
        Err(StoreError::Damaged(..) | StoreError::ForeignTrigger(..)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Opens a damaged database to read what is left of it, with its log if SQLite can read that. It keeps its bytes.
fn open_damaged(target: &StoreFile) -> Option<Connection> {
    let open = |path: &Path, flags| -> rusqlite::Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let is_file_or_missing = |path: PathBuf| path.symlink_metadata().map_or(true, |found| found.is_file());
    let with_log = if BESIDE.iter().all(|suffix| is_file_or_missing(target.beside(suffix))) {
        open(target.path(), OpenFlags::empty()).ok()
    } else {
        None
    };
    with_log.or_else(|| open(&immutable_uri(target.path()), OpenFlags::SQLITE_OPEN_URI).ok())
}

/// Reads a log whose database is gone as if it were that of the copy. Mostly the copy was made of that database, and has its pages at the
/// same numbers; a counter that is in the log is the last one.
fn open_log_alone(target: &StoreFile, draft: &Draft) -> Option<Connection> {
    let old = draft.old();
    fs::copy(&draft.path, &old).ok()?;
    let log = open_regular(&target.beside("-wal"), File::options().read(true));
    io::copy(&mut log.ok()?, &mut File::create_new(with_suffix(&old, "-wal")).ok()?).ok()?;
    let connection = Connection::open_with_flags(
        &old,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .ok()?;
    distrust_schema(&connection).ok()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok()?;
    Some(connection)
}

/// Moves the log of a damaged database beside the name under which that is kept.
fn set_log_aside(target: &StoreFile, kept: &Path) -> Result<()> {
    for suffix in BESIDE {
        let (from, to) = (target.beside(suffix), with_suffix(kept, suffix));
        match rename_new(&from, &to) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(set_aside_failed(target, error)),
            _ => {}
        }
    }
    Ok(())
}

fn set_aside_failed(target: &StoreFile, error: io::Error) -> StoreError {
    StoreError::Io(format!("set aside what lies beside {}", target.path().display()), error)
}
