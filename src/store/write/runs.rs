//! The jobs of a `run`, which enqueues a job and is the worker for it alone.
//!
//! A job knows the `run` that it is for. While that lives nobody else starts the job; after its death, and once the claims of
//! the dead worker are recovered, any worker does. So does a later `run` of the same work, which takes the job on.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, Row, params};

use super::backlog::{Backlog, Blocked, PendingWork, next_expiry};
use super::claim::{Claim, earlier, start};
use super::conditions::{is_known, is_pending, is_ready, is_unblocked};
use super::definition::{self, DefinitionCache};
use super::enqueue::{Enqueued, insert_all};
use super::expire::{expire_and_get_key_owner, expire_and_get_state};
use super::insert::{NewJob, OnConflict};
use super::kept_by_run::{IS_KEPT, is_full, keeper};
use super::limits::QueueCapacity;
use super::same_work::{EarlierJob, earlier_jobs};
use super::stuck;
use crate::model::{JobDefinition, JobState};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, each, maybe, one, run, value};
use crate::store::file::version::Version;
use crate::text::Timestamp;

/// What a `run` has found or put on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStart {
    /// This new job is to be run.
    Enqueued(i64),
    /// This earlier job of the same work is to be run, because nobody living would start it.
    TakenOn(i64),
    /// This earlier job does other work, and holds the key. It is to be run first, because nobody living would start it; then
    /// [`Store::start_run`] is called again.
    First(i64),
    /// This earlier job has the key. It is left to whoever runs it, or it has ended.
    Held(i64),
}

/// The newest jobs of the name of an alert that are looked at.
const MAX_ALERTS: usize = 1_000;

impl Store {
    /// Enqueues the one job that was named, with its dependencies, for the `run` with this row id, or takes on an unfinished
    /// job of the same work. If the call says more of its job than which work it is (`says_more`), it takes on only what is due: that
    /// is finished first, and then this is called again.
    pub fn start_run(
        &mut self,
        worker: i64,
        jobs: &[NewJob],
        says_more: bool,
        others: Others<'_>,
    ) -> Result<RunStart> {
        self.write(|tx| {
            let start = Run { tx, worker, others, says_more }.start(jobs)?;
            if let RunStart::Enqueued(id) | RunStart::TakenOn(id) | RunStart::First(id) = start {
                run(tx, "UPDATE workers SET run_job_id = ?2 WHERE id = ?1", [worker, id])?;
            }
            Ok(start)
        })
    }

    /// The job that this `run` was called for, or the one that somebody has put in its place.
    pub fn job_of_run(&self, worker: i64) -> Result<Option<i64>> {
        let sql = "SELECT run_job_id FROM workers WHERE id = ?1";
        self.read(|tx| Ok(maybe(tx, sql, [worker], value::<Option<i64>>)?.flatten()))
    }

    /// Unfinished jobs of others that jobs of this `run` wait for, at any distance.
    pub fn others_before_run(&self, worker: i64) -> Result<Vec<i64>> {
        let sql = "WITH RECURSIVE before (id) AS
                       (SELECT d.dependency_id FROM jobs AS j JOIN dependencies AS d ON d.job_id = j.id AND NOT d.met
                        WHERE j.run_worker_id = ?1 AND j.state = 'pending' AND j.unmet_dependencies > 0
                        UNION
                        SELECT d.dependency_id FROM before JOIN dependencies AS d ON d.job_id = before.id AND NOT d.met)
                   SELECT j.id FROM before JOIN jobs AS j ON j.id = before.id
                   WHERE j.run_worker_id IS NOT ?1 AND (j.state = 'pending' OR j.state = 'running')";
        self.read(|tx| all(tx, sql, [worker], value))
    }

    /// Makes jobs of others jobs of this `run`, if they stand for one of its call, and nobody living would start them any more.
    /// True if there is one.
    pub fn take_on_left(
        &mut self,
        worker: i64,
        call: &[NewJob],
        jobs: &[i64],
        others: Others<'_>,
    ) -> Result<bool> {
        self.write(|tx| {
            let run = Run { tx, worker, others, says_more: false };
            let mut any = false;
            for id in jobs {
                for wanted in call {
                    if run.may_take_on(*id, wanted)? {
                        run.take_on(*id)?;
                        any = true;
                        break;
                    }
                }
            }
            Ok(any)
        })
    }

    /// Of the jobs of this `run`: whether one may still go on, and how many only a person can get going.
    pub fn blocked_of_run(&self, worker: i64) -> Result<Blocked> {
        self.read(|tx| {
            let sql = "SELECT id FROM jobs WHERE run_worker_id = ?1 AND state = 'pending'";
            let mut blocked = Blocked::default();
            for id in all(tx, sql, [worker], value::<i64>)? {
                if stuck::is_stuck(tx, id)? {
                    blocked.stuck += 1;
                } else {
                    blocked.may_unblock = true;
                }
            }
            Ok(blocked)
        })
    }

    /// Whether both jobs are for the same living `run`.
    pub fn is_of_same_run(&self, job: i64, other: i64) -> Result<bool> {
        self.read(|tx| {
            Ok(keeper(tx, job)?.is_some_and(|run| keeper(tx, other).is_ok_and(|of| of == Some(run))))
        })
    }

    /// The pending jobs of the living `run` that this job is for.
    pub fn pending_of_same_run(&self, job: i64) -> Result<Vec<i64>> {
        let sql = "SELECT id FROM jobs WHERE run_worker_id = ?1 AND state = 'pending' ORDER BY id";
        self.read(|tx| match keeper(tx, job)? {
            Some(run) => all(tx, sql, [run], value),
            None => Ok(Vec::new()),
        })
    }

    /// The dependencies of this job of a `run`, direct or not, that it has run and that succeeded with a warning.
    pub fn warned_before(&self, worker: i64, job: i64) -> Result<Vec<i64>> {
        let sql = "WITH RECURSIVE before (id) AS
                       (SELECT dependency_id FROM dependencies WHERE job_id = ?2 UNION
                        SELECT d.dependency_id FROM before JOIN dependencies AS d ON d.job_id = before.id)
                   SELECT j.id FROM before JOIN jobs AS j ON j.id = before.id
                   WHERE j.run_worker_id = ?1 AND j.warning IS NOT NULL ORDER BY j.id";
        self.read(|tx| all(tx, sql, [worker, job], value))
    }

    /// This job of a `run`, and those unfinished ones of the same `run` that it depends on.
    pub fn with_dependencies_of_run(&self, worker: i64, job: i64) -> Result<Vec<i64>> {
        let sql = "WITH RECURSIVE before (id) AS
                       (VALUES (?2) UNION
                        SELECT d.dependency_id FROM before JOIN dependencies AS d ON d.job_id = before.id AND NOT d.met)
                   SELECT j.id FROM before JOIN jobs AS j ON j.id = before.id
                   WHERE j.run_worker_id = ?1 AND (j.state = 'pending' OR j.state = 'running') ORDER BY j.id";
        self.read(|tx| all(tx, sql, [worker, job], value))
    }
}

/// The other workers, as far as a `run` has to know them.
#[derive(Clone, Copy)]
pub struct Others<'a> {
    /// Whether a living worker takes jobs of this queue that need this version.
    pub would_start: &'a dyn Fn(&str, Version) -> bool,
    /// Whether the worker with this row id is dead: nobody may have been able to recover it yet.
    pub is_dead: &'a dyn Fn(i64) -> bool,
}

/// A `run` that decides what to do, within one transaction.
struct Run<'a> {
    tx: &'a Tx<'a>,
    /// Its row id.
    worker: i64,
    others: Others<'a>,
    says_more: bool,
}

impl Run<'_> {
    fn start(&self, jobs: &[NewJob]) -> Result<RunStart> {
        let start = self.find_or_enqueue(jobs)?;
        if !matches!(start, RunStart::Held(_)) {
            for job in jobs {
                self.take_on_alerts(job)?;
            }
        }
        Ok(start)
    }

    fn find_or_enqueue(&self, jobs: &[NewJob]) -> Result<RunStart> {
        let Some((index, named)) = jobs.iter().enumerate().find(|(_, job)| !job.is_dependency) else {
            return Err(StoreError::contradiction("a run without a job"));
        };
        if let Some(id) = self.left_by_a_dead_run(named)? {
            self.take_on(id)?;
            return Ok(RunStart::TakenOn(id));
        }
        if let Some((id, is_same_work)) = self.abandoned_holder(named)? {
            self.take_on(id)?;
            return Ok(if is_same_work { RunStart::TakenOn(id) } else { RunStart::First(id) });
        }
        let enqueued = insert_all(self.tx, jobs, &mut |_| {})?;
        let mut start = None;
        for Enqueued { index: of, id, created, .. } in enqueued {
            match (of == index, created) {
                (true, true) => start = Some(RunStart::Enqueued(id)),
                (true, false) if self.may_take_on(id, &jobs[of])? => {
                    self.take_on(id)?;
                    start = Some(RunStart::TakenOn(id));
                }
                (true, false) => start = Some(RunStart::Held(id)),
                (false, false) if self.may_take_on(id, &jobs[of])? => self.take_on(id)?,
                (false, _) => {}
            }
        }
        start.ok_or_else(|| StoreError::contradiction("a run enqueued nothing"))
    }

    /// Takes on the alerts of jobs of a `run` that did this work and died, if nobody living would start them: else nobody hears of
    /// those deaths and warnings.
    fn take_on_alerts(&self, wanted: &NewJob) -> Result<()> {
        let names: BTreeSet<&str> =
            wanted.definition.alerts().map(|(_, alert)| alert.name.as_str()).collect();
        names.into_iter().try_for_each(|name| self.take_on_alerts_of_name(wanted, name))
    }

    fn take_on_alerts_of_name(&self, wanted: &NewJob, name: &str) -> Result<()> {
        let sql = format!(
            "SELECT j.id, j.needs_version, d.definition
             FROM (SELECT * FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 ORDER BY id DESC LIMIT {MAX_ALERTS}) AS j
             JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.state = 'pending' AND {}",
            is_known("j")
        );
        let alerts: Vec<(i64, Option<i64>)> = all(self.tx, &sql, [name], |row| {
            let definition: JobDefinition = definition::read(row, "definition")?;
            Ok((row.get("id")?, definition.dead_job()))
        })?;
        let sql = format!("{} WHERE j.id = ?1 AND j.run_worker_id IS NOT NULL", earlier_jobs(""));
        for (alert, dead) in alerts {
            let does_the_work = |row: &Row<'_>| Ok(EarlierJob::read(row)?.does_the_work_of(wanted));
            if maybe(self.tx, &sql, [dead], does_the_work)? == Some(true) && self.is_left_to_nobody(alert)? {
                self.take_on(alert)?;
            }
        }
        Ok(())
    }

    /// The oldest unfinished job of the same work that a dead `run` has left.
    fn left_by_a_dead_run(&self, wanted: &NewJob) -> Result<Option<i64>> {
        let sql = format!(
            "{} WHERE j.run_worker_id IS NOT NULL AND (j.state = 'pending' OR j.state = 'running')
                AND j.name = ?1 AND {} ORDER BY j.id",
            earlier_jobs("INDEXED BY jobs_of_runs"),
            is_known("j")
        );
        let same_work = all(self.tx, &sql, [&wanted.definition.name], |row| {
            let is_same = EarlierJob::read(row)?.does_the_work_of(wanted);
            Ok(is_same.then_some(row.get::<_, i64>("id")?))
        })?;
        for id in same_work.into_iter().flatten() {
            if self.is_left_to_nobody(id)?
                && self.may_come_first(id, wanted)?
                && !stuck::is_stuck(self.tx, id)?
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The holder of the unique key, due or not, and whether it does the work of the new job, if nobody living would start it, and the
    /// new job is not to replace it. A namesake of another file is not among them: the call is refused.
    fn abandoned_holder(&self, wanted: &NewJob) -> Result<Option<(i64, bool)>> {
        let Some(key) = &wanted.definition.unique_key else { return Ok(None) };
        let Some(holder) = expire_and_get_key_owner(self.tx, key)? else { return Ok(None) };
        let is_replaced = wanted.on_conflict == OnConflict::Replace && holder.never_started;
        let earlier = self.earlier_job(holder.id)?;
        if is_replaced || earlier.is_namesake_of(wanted) || !self.is_left_to_nobody(holder.id)? {
            return Ok(None);
        }
        Ok(Some((holder.id, earlier.does_the_work_of(wanted))))
    }

    /// Whether this job stands for the new one, by its work or by its key, and nobody living would start it.
    fn may_take_on(&self, id: i64, wanted: &NewJob) -> Result<bool> {
        let earlier = self.earlier_job(id)?;
        Ok((earlier.does_the_work_of(wanted) || earlier.has_the_key_of(wanted))
            && self.is_left_to_nobody(id)?
            && self.may_come_first(id, wanted)?)
    }

    fn earlier_job(&self, id: i64) -> Result<EarlierJob> {
        one(self.tx, &format!("{} WHERE j.id = ?1", earlier_jobs("")), [id], EarlierJob::read)
    }

    /// Whether this call may go on with an earlier job: if it says more, that job is to be due, unless the key of the call says that
    /// it was called for that job.
    fn may_come_first(&self, id: i64, wanted: &NewJob) -> Result<bool> {
        let sql =
            "SELECT j.run_at <= ?2 OR coalesce(j.idempotency_key = ?3, 0) FROM jobs AS j WHERE j.id = ?1";
        Ok(!self.says_more
            || wanted.is_dependency
            || one(self.tx, sql, params![id, self.tx.now, wanted.idempotency_key], value)?)
    }

    /// Whether this job is unfinished, and nobody living runs it or would start it.
    fn is_left_to_nobody(&self, id: i64) -> Result<bool> {
        if expire_and_get_state(self.tx, id)?.is_none_or(JobState::is_final) {
            return Ok(false);
        }
        let sql = format!(
            "SELECT j.queue, j.needs_version, j.worker_id, j.run_worker_id, j.state = 'pending' OR EXISTS
                        (SELECT 1 FROM workers AS w WHERE w.id = j.worker_id AND w.leftover_since IS NOT NULL) AS waits,
                    {IS_KEPT} AS is_kept
             FROM jobs AS j WHERE j.id = ?1 AND {}",
            is_known("j")
        );
        let found = maybe(self.tx, &sql, [id], |row| {
            let queue: String = row.get("queue")?;
            let is_of_dead = |column| {
                Ok::<_, StoreError>(row.get::<_, Option<i64>>(column)?.is_some_and(self.others.is_dead))
            };
            let waits = row.get("waits")? || is_of_dead("worker_id")?;
            let is_kept = row.get("is_kept")? && !is_of_dead("run_worker_id")?;
            let needs = Version(row.get("needs_version")?);
            Ok(waits && !is_kept && !(self.others.would_start)(&queue, needs))
        })?;
        Ok(found.unwrap_or(false))
    }

    /// Makes this job, and those before it that nobody living would start, jobs of this `run`.
    fn take_on(&self, job: i64) -> Result<()> {
        let (mut left, mut seen) = (vec![job], HashSet::from([job]));
        while let Some(id) = left.pop() {
            run(self.tx, "UPDATE jobs SET run_worker_id = ?2 WHERE id = ?1", [id, self.worker])?;
            let sql = "SELECT dependency_id FROM dependencies WHERE job_id = ?1 AND NOT met";
            for before in all(self.tx, sql, [id], value::<i64>)? {
                if seen.insert(before) && self.is_left_to_nobody(before)? {
                    left.push(before);
                }
            }
        }
        Ok(())
    }
}

/// Whether this `run` has a job left that may still start, or runs.
pub fn has_unfinished(tx: &Connection, worker: i64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_of_runs
                              WHERE run_worker_id = ?1 AND (state = 'pending' OR state = 'running'))";
    one(tx, sql, [worker], value)
}

/// Claims up to `limit` due jobs of this `run`, as `capacity` allows.
pub fn claim(
    tx: &Connection,
    definitions: &mut DefinitionCache,
    worker: i64,
    limit: usize,
    capacity: &mut QueueCapacity,
) -> Result<Vec<Claim>> {
    let sql = format!(
        "SELECT id, queue FROM jobs
         WHERE run_worker_id = ?1 AND {} AND {} ORDER BY priority DESC, run_at, id",
        is_ready("jobs", "?2"),
        is_known("jobs")
    );
    let due = all(tx, &sql, params![worker, capacity.now], |row| {
        Ok((row.get::<_, i64>("id")?, row.get::<_, String>("queue")?))
    })?;
    let mut claims = Vec::new();
    for (id, queue) in due {
        if claims.len() < limit && capacity.available(&queue) > 0 {
            claims.extend(start(tx, definitions, worker, id, capacity)?);
        }
    }
    Ok(claims)
}

/// Finds the work that is left of this `run`. Jobs in paused queues are part of it, because it waits for them.
pub fn backlog(
    tx: &Connection,
    worker: i64,
    capacity: &QueueCapacity,
    full: &[String],
    left_alone: &[i64],
) -> Result<Backlog> {
    let running = "SELECT EXISTS (SELECT 1 FROM jobs WHERE run_worker_id = ?1 AND state = 'running')";
    let mut backlog = Backlog {
        running: one(tx, running, [worker], value)?,
        next_due: earlier(next_expiry(tx, left_alone)?, capacity.next_pause_end()),
        // Whoever waits for a place in one of these queues is another worker.
        place_freed: full.iter().any(|queue| !is_full(capacity, queue)),
        ..Backlog::default()
    };
    let sql = format!(
        "SELECT queue, run_at FROM jobs
         WHERE run_worker_id = ?1 AND {} AND {} AND {}",
        is_pending("jobs", "?2"),
        is_unblocked("jobs"),
        is_known("jobs")
    );
    each(tx, &sql, params![worker, capacity.now], |row| {
        let (queue, run_at): (String, Timestamp) = (row.get("queue")?, row.get("run_at")?);
        let pending = match capacity.queue_hold(&queue) {
            _ if run_at > capacity.now => {
                backlog.next_due = earlier(backlog.next_due, Some(run_at));
                PendingWork::Later
            }
            None => PendingWork::Startable,
            Some(hold) => {
                backlog.next_due = earlier(backlog.next_due, hold.next_start());
                PendingWork::AtLimit
            }
        };
        backlog.pending = backlog.pending.max(pending);
        Ok(())
    })?;
    Ok(backlog)
}
