//! The rows of workers. The locks show which workers are alive.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rusqlite::{Connection, Row, params};

use super::error::Result;
use super::open::Store;
use crate::text::Timestamp;

/// A worker that has started, and has neither stopped nor been recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    pub id: i64,
    /// The random name: the `worker_id` that people see.
    pub name: String,
    /// The canonical path of the database that the worker registered in. This one may be a copy.
    pub db: PathBuf,
    /// The process id, in the boot with `boot_id`.
    pub pid: i32,
    /// The boot that the worker ran in.
    pub boot_id: String,
    /// The start of the process, in clock ticks since that boot.
    pub start_ticks: u64,
    pub started_at: Timestamp,
    /// The number of attempts that the worker runs at once.
    pub slots: usize,
    /// The selected queues; none: all.
    pub queues: Option<Vec<String>>,
    /// A signal has told the worker to stop: it starts nothing more.
    pub is_stopping: bool,
}

/// A worker, and the number of jobs that it holds.
#[derive(Clone, Debug)]
pub struct OpenWorker {
    pub row: WorkerRow,
    pub running: u64,
}

impl Store {
    /// Adds a worker and gives its row id. The id in `worker` is ignored.
    pub fn register_worker(&mut self, worker: &WorkerRow) -> Result<i64> {
        let queues = worker.queues.as_ref().map(|names| serde_json::json!(names).to_string());
        self.write(|tx| {
            tx.execute(
                "INSERT INTO workers (name, db, pid, boot_id, start_ticks, started_at, slots, queues)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    worker.name,
                    worker.db.as_os_str().as_bytes(),
                    worker.pid,
                    worker.boot_id,
                    worker.start_ticks,
                    worker.started_at.0,
                    worker.slots,
                    queues
                ],
            )?;
            Ok(tx.last_insert_rowid())
        })
    }

    /// Notes that a worker starts nothing more.
    pub fn worker_stopping(&mut self, id: i64, at: Timestamp) -> Result<()> {
        self.write(|tx| {
            tx.execute("UPDATE workers SET stopping_at = ?2 WHERE id = ?1", params![id, at.0])?;
            Ok(())
        })
    }

    /// Closes the row of a worker that stopped, unless the worker still holds jobs and must be recovered.
    pub fn worker_ended(&mut self, id: i64, at: Timestamp) -> Result<()> {
        self.write(|tx| close(tx, id, at)).map(|_| ())
    }

    /// Workers whose row is open, oldest first: alive, or dead and not dealt with.
    pub fn open_workers(&self) -> Result<Vec<WorkerRow>> {
        self.read(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT id, name, db, pid, boot_id, start_ticks, started_at, slots, queues, stopping_at
                 FROM workers WHERE ended_at IS NULL ORDER BY id",
            )?;
            let rows = statement.query_map([], from_row)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// [`Store::open_workers`], with the number of jobs that each worker holds.
    pub fn workers(&self) -> Result<Vec<OpenWorker>> {
        let workers = self.open_workers()?.into_iter();
        workers.map(|row| Ok(OpenWorker { running: self.held_by(row.id)?.len() as u64, row })).collect()
    }
}

/// Closes the row of a worker that holds nothing. True if the row was open.
pub(super) fn close(tx: &Connection, id: i64, at: Timestamp) -> Result<bool> {
    let sql = "UPDATE workers SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND worker_id = ?1)";
    Ok(tx.prepare_cached(sql)?.execute(params![id, at.0])? > 0)
}

fn from_row(row: &Row) -> rusqlite::Result<WorkerRow> {
    let queues: Option<String> = row.get("queues")?;
    Ok(WorkerRow {
        id: row.get("id")?,
        name: row.get("name")?,
        db: OsString::from_vec(row.get("db")?).into(),
        pid: row.get("pid")?,
        boot_id: row.get("boot_id")?,
        start_ticks: row.get("start_ticks")?,
        started_at: Timestamp(row.get("started_at")?),
        slots: row.get("slots")?,
        queues: queues.and_then(|json| serde_json::from_str(&json).ok()),
        is_stopping: row.get::<_, Option<i64>>("stopping_at")?.is_some(),
    })
}
