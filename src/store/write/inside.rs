//! Calls from inside a job, which must not wait for what waits for them.
//!
//! A call is part of the job whose command has made it. That job cannot end before the call does. Nor can what is after the job,
//! nor a job whose command waits for one of these; and nothing starts in their places before that. So a call that waits
//! for one of them would wait for ever.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use serde_json::json;

use super::claim::priorities;
use super::conditions::{is_blocked, is_unblocked};
use super::kept_by_run::NOT_OF_A_RUN;
use super::limits::QueueCapacity;
use super::workers::WorkerStatus;
use crate::store::file::caller::{Caller, ProcessRow};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{each, one, run, value};

/// The jobs that cannot end before a call does, because the call is part of one of them. Empty for a call from outside.
#[derive(Debug, Default)]
pub struct Inside {
    pub jobs: HashSet<i64>,
    /// Those of them that run.
    pub running: Vec<RunningJob>,
    /// The queues that are at their limit by these jobs alone.
    pub full: Vec<String>,
    /// The queues that have workers, and all slots of these run such jobs.
    pub busy: Vec<String>,
}

/// A running job, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningJob {
    pub id: i64,
    pub queue: String,
    /// The row id of its worker.
    pub worker: i64,
}

impl Inside {
    /// Whether all places of this queue are taken by these jobs.
    pub fn holds_limit_of(&self, queue: &str) -> bool {
        self.full.iter().any(|name| name == queue)
    }

    /// Whether all slots for this queue are taken by these jobs.
    pub fn holds_slots_of(&self, queue: &str) -> bool {
        self.busy.iter().any(|name| name == queue)
    }

    /// The ids as a JSON array, for a statement.
    pub fn ids(&self) -> String {
        json!(self.jobs).to_string()
    }
}

impl Store {
    /// Says that the command of this attempt has made this call, unless it is not running: then its environment is out of date.
    pub fn called_from(&mut self, caller: Caller) -> Result<()> {
        if self.read(|tx| is_running(tx, &caller))? {
            self.caller = Some(caller);
        }
        Ok(())
    }

    /// The job whose command has made this call.
    pub fn calling_job(&self) -> Option<i64> {
        self.caller.as_ref().map(|caller| caller.job)
    }

    /// The jobs that wait for this call, and itself, whatever places they hold.
    pub fn part_of(&self) -> Result<HashSet<i64>> {
        let Some(caller) = &self.caller else { return Ok(HashSet::new()) };
        self.read(|tx| {
            if !is_running(tx, caller)? {
                return Ok(HashSet::new());
            }
            let mut inside = Inside::default();
            grow(tx, caller.job, &living_waits(tx, caller)?, false, &mut inside)?;
            Ok(inside.jobs)
        })
    }

    /// The jobs that cannot end before this call does, where these workers may start them.
    pub fn inside(&self, workers: &[WorkerStatus]) -> Result<Inside> {
        self.read(|tx| inside(tx, self.caller.as_ref(), &QueueCapacity::read(tx)?, Some(workers)))
    }

    /// Records that this call waits for these jobs, if it comes from inside a job. What dead calls have left is removed.
    pub fn record_waits(&mut self, jobs: &[i64]) -> Result<()> {
        let Some(caller) = self.caller.clone() else { return Ok(()) };
        self.write(|tx| {
            let sql = "DELETE FROM waits WHERE id NOT IN (SELECT value FROM json_each(?1))";
            run(tx, sql, [&living_waits(tx, &caller)?])?;
            let sql = "INSERT INTO waits (called_from, job_id, pid, boot_id, start_ticks) VALUES (?1, ?2, ?3, ?4, ?5)";
            let ProcessRow { pid, boot_id, start_ticks } = &caller.process;
            for job in jobs {
                run(tx, sql, params![caller.job, job, pid, boot_id, start_ticks])?;
            }
            Ok(())
        })
    }

    /// Records that this call waits for nothing any more.
    pub fn forget_waits(&mut self) -> Result<()> {
        let Some(caller) = self.caller.clone() else { return Ok(()) };
        let sql = "DELETE FROM waits WHERE pid = ?1 AND boot_id = ?2 AND start_ticks = ?3";
        let ProcessRow { pid, boot_id, start_ticks } = &caller.process;
        self.write(|tx| run(tx, sql, params![pid, boot_id, start_ticks])).map(|_| ())
    }
}

/// The jobs that cannot end before the call from this attempt does, where these workers may start them.
///
/// Where `caller` is none the call comes from outside, and there are no such jobs. Where the workers are none, a worker asks that
/// ends once nothing is left: it starts itself what it waits for. Others like it wait for everything, and two of them must not wait
/// for each other. A call that waits for certain jobs goes on, as these workers leave it out.
pub fn inside(
    tx: &Connection,
    caller: Option<&Caller>,
    capacity: &QueueCapacity,
    workers: Option<&[WorkerStatus]>,
) -> Result<Inside> {
    let mut inside = Inside::default();
    let Some(caller) = caller else { return Ok(inside) };
    if !is_running(tx, caller)? {
        return Ok(inside);
    }
    let waits = living_waits(tx, caller)?;
    // What waits for the places of these jobs cannot end either, and may hold other places. So this is repeated until no queue
    // is added.
    loop {
        grow(tx, caller.job, &waits, workers.is_none(), &mut inside)?;
        let running_in = |queue: &str| inside.running.iter().filter(|job| job.queue == queue).count() as u64;
        let mut full = capacity.full();
        full.retain(|queue| capacity.running(queue) == running_in(queue));
        let busy = workers.map_or(Ok(Vec::new()), |workers| busy(tx, &inside, workers))?;
        if (full.len(), busy.len()) == (inside.full.len(), inside.busy.len()) {
            return Ok(inside);
        }
        (inside.full, inside.busy) = (full, busy);
    }
}

/// Whether the attempt runs.
fn is_running(tx: &Connection, caller: &Caller) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'running' AND coalesce(attempts + 1 = ?2, 1))";
    one(tx, sql, params![caller.job, caller.attempt], value)
}

/// The ids of the rows of `waits` whose process lives, as a JSON array.
fn living_waits(tx: &Connection, caller: &Caller) -> Result<String> {
    let mut living: Vec<i64> = Vec::new();
    each(tx, "SELECT id, pid, boot_id, start_ticks FROM waits", [], |row| {
        if (caller.is_alive)(&ProcessRow::read(row)?) {
            living.push(row.get("id")?);
        }
        Ok(())
    })?;
    Ok(json!(living).to_string())
}

/// Finds the jobs that cannot end before this one, and before what waits in the queues that are held. A worker that was called
/// from a job keeps that waiting for what it runs, and, if `with_queues`, for all in its queues.
fn grow(tx: &Connection, job: i64, living_waits: &str, with_queues: bool, inside: &mut Inside) -> Result<()> {
    // Blocked jobs have an index of their own.
    let pending_in = |queues, condition| {
        [is_unblocked("jobs"), is_blocked("jobs")]
            .map(|which| {
                format!(
                    "UNION SELECT id FROM jobs WHERE {which}
                       AND queue IN (SELECT value FROM json_each({queues})) AND {condition}"
                )
            })
            .join(" ")
    };
    let sql = format!(
        "WITH RECURSIVE part (id) AS
             (VALUES (?1)
              {} {}
              UNION SELECT j.id FROM part JOIN dependencies AS d ON d.dependency_id = part.id AND NOT d.met
                    JOIN jobs AS j ON j.id = d.job_id AND j.state = 'pending'
              UNION SELECT j.id FROM part JOIN waits AS w ON w.job_id = part.id AND w.id IN (SELECT value FROM json_each(?2))
                    JOIN jobs AS j ON j.id = w.called_from AND j.state = 'running'
              UNION SELECT j.id FROM part JOIN jobs AS p ON p.id = part.id
                    JOIN workers AS w ON w.ended_at IS NULL AND w.leftover_since IS NULL AND
                         (w.id = p.worker_id OR w.id = p.run_worker_id OR w.run_job_id = p.id
                          OR ?5 AND (w.queues IS NULL OR p.queue IN (SELECT value FROM json_each(w.queues))))
                    JOIN jobs AS j ON j.id = w.called_from AND j.state = 'running')
         SELECT j.id, j.queue, j.worker_id FROM part JOIN jobs AS j ON j.id = part.id",
        pending_in("?3", "1"),
        pending_in("?4", NOT_OF_A_RUN)
    );
    let held = [&inside.full, &inside.busy].map(|queues| json!(queues).to_string());
    let (mut jobs, mut running) = (HashSet::new(), Vec::new());
    each(tx, &sql, params![job, living_waits, held[0], held[1], with_queues], |row| {
        let id = row.get("id")?;
        jobs.insert(id);
        if let Some(worker) = row.get("worker_id")? {
            running.push(RunningJob { id, queue: row.get("queue")?, worker });
        }
        Ok(())
    })?;
    (inside.jobs, inside.running) = (jobs, running);
    Ok(())
}

/// The queues with pending jobs that have workers, whose slots all run such jobs.
fn busy(tx: &Connection, inside: &Inside, workers: &[WorkerStatus]) -> Result<Vec<String>> {
    let mut queues: Vec<String> = priorities(tx)?.into_iter().map(|(queue, _)| queue).collect();
    queues.dedup();
    let held =
        |worker: &WorkerStatus| inside.running.iter().filter(|job| job.worker == worker.row.id).count();
    queues.retain(|queue| {
        let mut takers =
            workers.iter().filter(|worker| worker.serves(queue) && !worker.row.is_stopping).peekable();
        takers.peek().is_some() && takers.all(|worker| held(worker) >= worker.row.slots)
    });
    Ok(queues)
}
