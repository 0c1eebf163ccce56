//! The rows of workers. Whether a worker is alive is not in its row: its lock file shows that (see `worker/registration.rs`).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rusqlite::{Connection, Row, params};

use crate::model::check_name;
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, from_row, json, run};
use crate::store::file::schema::version_of;
use crate::store::file::version::Version;
use crate::text::Timestamp;

/// A worker that has started, and has neither stopped nor been recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    pub id: i64,
    /// The random name: the `worker_id` that people see.
    pub name: String,
    /// The secret by which the processes of its attempts are found: they carry a mark that is made from it. Those of version 1.0
    /// carry it itself.
    pub mark: String,
    /// The canonical path of the database that the worker registered in. This one may be a copy.
    pub db: PathBuf,
    /// Device and inode of that database, because one file may have several paths. Version 1.0 does not record them.
    pub db_file: Option<(i64, i64)>,
    /// The process id, in the boot with `boot_id`.
    pub pid: i32,
    /// The boot that the worker ran in.
    pub boot_id: String,
    /// The start of the process, in clock ticks since that boot.
    pub start_ticks: u64,
    pub started_at: Timestamp,
    /// The number of attempts that the worker runs at once.
    pub slots: usize,
    /// The version of the schema that its program knows.
    pub version: Version,
    /// The selected queues; none: all. A `run` selects none of them: its list is empty.
    pub queues: Option<Vec<String>>,
    /// The job that a `run` was called for.
    pub run_job_id: Option<i64>,
    /// It is dead, and since then processes of its attempts are left that could not be ended.
    pub leftover_since: Option<Timestamp>,
    /// It starts nothing more, because a signal has told it to stop, or it has claimed as many jobs as it was to.
    pub is_stopping: bool,
    /// The number of jobs that it holds.
    pub running: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// Alive but stopped by a signal: jobs go on, timeouts and cancels wait.
    Suspended,
    /// Dead, and not recovered yet.
    Dead,
    /// It belongs to a database of which this one is a copy. Here it is dead, whatever it does there.
    OfOriginal,
}

/// A worker that runs, or that died and was not recovered yet. Whoever looks finds out which, from its lock.
#[derive(Clone, Debug)]
pub struct WorkerStatus {
    pub row: Worker,
    pub liveness: Liveness,
    /// It is alive, and its program has been replaced since it started, as by an upgrade.
    pub is_outdated: bool,
}

impl Worker {
    /// Whether this is a `run`, which takes only the jobs that it was called for.
    pub fn is_foreground(&self) -> bool {
        self.queues.as_ref().is_some_and(Vec::is_empty)
    }
}

impl WorkerStatus {
    /// Whether the worker belongs to a database that is still there, and of which this one is a copy.
    pub fn is_of_original(&self) -> bool {
        self.liveness == Liveness::OfOriginal
    }

    /// Whether the worker holds its lock. A suspended worker does.
    pub fn is_alive(&self) -> bool {
        matches!(self.liveness, Liveness::Alive | Liveness::Suspended)
    }

    /// Whether this is a worker that is alive, and no `run`: that takes only the jobs that it was called for.
    pub fn is_living_worker(&self) -> bool {
        self.is_alive() && !self.row.is_foreground()
    }

    /// Whether the worker starts jobs now.
    pub fn takes_jobs(&self) -> bool {
        self.liveness == Liveness::Alive && !self.row.is_stopping && !self.row.is_foreground()
    }

    /// Whether the worker starts jobs of this queue now.
    pub fn takes_from(&self, queue: &str) -> bool {
        self.takes_jobs() && self.serves(queue)
    }

    /// Whether the worker starts jobs of this queue now that need this version.
    pub fn would_start(&self, queue: &str, needs: Version) -> bool {
        self.takes_from(queue) && self.row.version >= needs
    }

    /// Whether the worker is alive and selects this queue.
    pub fn serves(&self, queue: &str) -> bool {
        let selects = self.row.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue));
        self.is_alive() && selects
    }
}

/// Why no worker starts the jobs of a queue or fires schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorker {
    NoneRuns,
    /// The worker with this pid was stopped by a signal.
    Suspended(i32),
    /// A `run` keeps the jobs, and its process, which has this pid, was stopped by a signal.
    SuspendedRun(i32),
    Stopping,
}

/// None if a worker starts the jobs of this queue; without a queue, if one fires schedules.
pub fn no_worker(queue: Option<&str>, workers: &[WorkerStatus]) -> Option<NoWorker> {
    let serves =
        |worker: &&WorkerStatus| queue.map_or(worker.is_living_worker(), |queue| worker.serves(queue));
    let mut serving = workers.iter().filter(serves);
    if serving.clone().any(WorkerStatus::takes_jobs) {
        return None;
    }
    let suspended = serving.clone().find(|worker| worker.liveness == Liveness::Suspended);
    Some(match suspended {
        Some(worker) => NoWorker::Suspended(worker.row.pid),
        None if serving.next().is_some() => NoWorker::Stopping,
        None => NoWorker::NoneRuns,
    })
}

impl Store {
    /// Adds a worker and gives its row id. The id in `worker` is ignored.
    pub fn register_worker(&mut self, worker: &Worker) -> Result<i64> {
        self.belongs_to(&worker.name);
        let queues = worker.queues.as_ref().map(|names| serde_json::json!(names).to_string());
        let called_from = self.calling_job();
        self.write(|tx| {
            let sql =
                "INSERT INTO workers (name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots, queues,
                                      db_device, db_inode, called_from)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
            let Worker { name, mark, version, db, pid, boot_id, start_ticks, started_at, slots, .. } = worker;
            let db = db.as_os_str().as_bytes();
            let (device, inode) = worker.db_file.unzip();
            let row = params![
                name, mark, version, db, pid, boot_id, start_ticks, started_at, slots, queues, device, inode,
                called_from
            ];
            run(tx, sql, row)?;
            Ok(tx.last_insert_rowid())
        })
    }

    /// Records that a worker is stopping: it starts nothing more.
    pub fn worker_stopping(&mut self, id: i64) -> Result<()> {
        self.write(|tx| set_stopping(tx, id, Some(tx.now)))
    }

    /// Records that processes of a dead worker's attempts are left that cannot be ended, unless that is on record.
    pub fn leftover_found(&mut self, id: i64) -> Result<()> {
        let sql = "UPDATE workers SET leftover_since = ?2 WHERE id = ?1 AND leftover_since IS NULL";
        self.write(|tx| run(tx, sql, params![id, tx.now])).map(|_| ())
    }

    /// Closes the row of a worker that stopped, unless the worker still holds jobs and must be recovered.
    pub fn worker_ended(&mut self, id: i64) -> Result<()> {
        self.write(|tx| close(tx, id)).map(|_| ())
    }

    /// Workers whose row is open, oldest first: alive, or dead and not dealt with.
    pub fn open_workers(&self) -> Result<Vec<Worker>> {
        self.read(|tx| open(tx))
    }
}

/// The workers of [`Store::open_workers`] in a file of any minor version.
pub fn open(tx: &Connection) -> Result<Vec<Worker>> {
    let columns = columns(tx)?;
    all(tx, &format!("SELECT {columns} FROM workers WHERE ended_at IS NULL ORDER BY id"), [], read)
}

/// The columns of `workers` that [`read`] takes.
fn columns(tx: &Connection) -> Result<String> {
    let file = if version_of(tx)? >= Version(1_001) {
        "db_device, db_inode, leftover_since, run_job_id"
    } else {
        "NULL AS db_device, NULL AS db_inode, NULL AS leftover_since, NULL AS run_job_id"
    };
    Ok(format!(
        "id, name AS worker_name, mark, db_path, {file}, pid, boot_id, start_ticks, started_at, slots, version, queues,
         stopping_at, (SELECT count(*) FROM jobs WHERE state = 'running' AND worker_id = workers.id) AS running"
    ))
}

/// Damaged rows of workers, also of those that have ended.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let columns = columns(tx)?;
    row::damaged(tx, &format!("SELECT 'worker ' || id AS which, {columns} FROM workers"), [], limit, read)
}

/// Records since when a worker starts nothing more; none if it does.
pub fn set_stopping(tx: &Tx, id: i64, since: Option<Timestamp>) -> Result<()> {
    // A row that says so already is not written again.
    let sql = "UPDATE workers SET stopping_at = ?2 WHERE id = ?1 AND (stopping_at IS NULL) <> (?2 IS NULL)";
    run(tx, sql, params![id, since])?;
    Ok(())
}

/// Closes the row of a worker that holds nothing. True if the row was open.
pub fn close(tx: &Tx, id: i64) -> Result<bool> {
    let sql = "UPDATE workers SET ended_at = ?2, leftover_since = NULL WHERE id = ?1 AND ended_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND worker_id = ?1)";
    Ok(run(tx, sql, params![id, tx.now])? > 0)
}

fn read(row: &Row<'_>) -> Result<Worker> {
    let queues: Option<Vec<String>> = json(row, "queues")?;
    queues.iter().flatten().try_for_each(|name| check_name(name)).map_err(StoreError::InvalidData)?;
    Ok(from_row!(
        row,
        Worker {
            id,
            name: row.get("worker_name")?,
            mark,
            db: OsString::from_vec(row.get("db_path")?).into(),
            db_file: Option::zip(row.get("db_device")?, row.get("db_inode")?),
            pid,
            boot_id,
            start_ticks,
            started_at,
            slots,
            version: Version(row.get("version")?),
            leftover_since,
            queues: queues,
            run_job_id,
            is_stopping: row.get::<_, Option<Timestamp>>("stopping_at")?.is_some(),
            running,
        }
    ))
}
