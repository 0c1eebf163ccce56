//! A turn of a worker: one transaction, and so one sync, for all that the worker has to write and to learn.

use rusqlite::{Connection, params};

use super::backlog::{self, Backlog, PendingWork};
use super::claim::{Claim, Claiming, UnreadableJob, earlier, open_priorities};
use super::definition::{DefinitionCache, PENDING_JOB, pending_job};
use super::dependencies;
use super::expire;
use super::finish::{self, EndedAttempt};
use super::fire;
use super::inside::inside;
use super::limits::{self, QueueCapacity};
use super::runs;
use super::schedules;
use super::workers;
use crate::model::Event;
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, maybe, value};

/// Expired jobs recorded in one turn; the rest waits for the next.
const MAX_EXPIRED: usize = 1_000;

/// The jobs that a worker may start.
#[derive(Clone, Copy, Debug)]
pub enum Takes<'a> {
    /// Those of these queues (none: of all), but for the jobs of a living `run`.
    Queues(Option<&'a [String]>),
    /// The jobs that this `run` was called for. A `run` fires no schedule.
    OwnJobs,
}

/// The request of a worker for one turn.
#[derive(Debug)]
pub struct TurnRequest<'a> {
    /// The row id of the worker.
    pub worker: i64,
    pub takes: Takes<'a>,
    pub ended: &'a [EndedAttempt],
    /// Jobs that this worker has claimed and will not start: they become pending again.
    pub release: &'a [i64],
    /// The number of jobs that the worker can start now.
    pub idle_slots: usize,
    /// It claims nothing more, and so fires no schedule: a job that it fired might wait for hours, and `missed` would not apply,
    /// because the time was not missed.
    pub claims_no_more: bool,
    /// The number of jobs that it will still claim before it ends; none: without end.
    pub claims_left: Option<u64>,
    /// Jobs that it cannot read.
    pub left_alone: &'a [i64],
    /// It records ends and nothing else, because the database holds something that makes no sense.
    pub only_ends: bool,
    /// It is a `run` that ends at once with its last job: the turn that records the end of that closes its row.
    pub ends_with_its_jobs: bool,
}

impl TurnRequest<'_> {
    /// The request of a worker that takes jobs of all queues, and has no idle slot and nothing to record.
    pub const fn of(worker: i64) -> Self {
        Self {
            worker,
            takes: Takes::Queues(None),
            ended: &[],
            release: &[],
            idle_slots: 0,
            claims_no_more: false,
            claims_left: None,
            left_alone: &[],
            only_ends: false,
            ends_with_its_jobs: false,
        }
    }
}

/// The result of a turn, on disk.
#[derive(Debug, Default)]
pub struct Turn {
    /// The changes, in the order of the steps.
    pub events: Vec<Event>,
    /// Jobs to start, in this order.
    pub claims: Vec<Claim>,
    /// Due and expired jobs that cannot be read, each with the reason. Another turn is needed, which leaves them alone.
    pub unreadable: Vec<UnreadableJob>,
    /// Running jobs of this worker that are to be ended.
    pub cancels: Vec<i64>,
    /// The work left in the selected queues.
    pub backlog: Backlog,
}

impl Store {
    /// Runs one turn.
    pub fn turn(&mut self, definitions: &mut DefinitionCache, request: &TurnRequest) -> Result<Turn> {
        let TurnRequest { worker, takes, ended, release, idle_slots, claims_no_more, left_alone, .. } =
            *request;
        let caller = self.caller.clone();
        let turn = self.write(|tx| {
            let mut events = Vec::new();
            // A worker that records ends and nothing else needs no capacity, and that may be what cannot be read.
            let mut capacity = QueueCapacity::none(tx);
            if !request.only_ends {
                capacity = QueueCapacity::read(tx)?;
                if capacity.is_pause_over {
                    limits::end_pauses(tx)?;
                    capacity = QueueCapacity::read(tx)?;
                }
            }
            let full = if ended.is_empty() { Vec::new() } else { capacity.full() };
            // 1. Record the attempts that ended.
            for ended in ended {
                events.push(match finish::finish(tx, definitions, worker, ended)? {
                    Some(recorded) => Event::AttemptEnded(recorded.into()),
                    None => Event::late(ended.job_id, ended.number),
                });
            }
            // 2. Release the claims that never started.
            for job_id in release {
                events.extend(release_claim(tx, worker, *job_id)?);
            }
            if request.only_ends {
                return Ok(Turn { events, cancels: cancels(tx, worker)?, ..Turn::default() });
            }
            // 3. Fire the schedules that are due: before the next step, since a job whose time was missed may have expired
            // already.
            let mut next_firing = None;
            if matches!(takes, Takes::Queues(_)) {
                next_firing = schedules::next_due(tx)?;
                if !claims_no_more && next_firing.is_some_and(|at| at <= tx.now) {
                    events.extend(fire::fire_due(tx)?);
                    next_firing = schedules::next_due(tx)?;
                }
            }
            // 4. Expire the jobs that were not started in time.
            let (expired, mut unreadable) = expire::expire_due(tx, tx.now, MAX_EXPIRED, left_alone)?;
            let expired_all = expired.len() + unreadable.len() < MAX_EXPIRED;
            events.extend(expired);
            // 5. Claim due jobs for the idle slots.
            capacity.count_running(tx)?;
            let priorities = match takes {
                Takes::Queues(queues) => open_priorities(tx, queues, &capacity)?,
                Takes::OwnJobs => Vec::new(),
            };
            let claims = match takes {
                Takes::Queues(_) => {
                    let mut claiming = Claiming { tx, definitions, worker, left_alone };
                    claiming.claim(&priorities, idle_slots, &mut capacity, &mut unreadable)?
                }
                Takes::OwnJobs => runs::claim(tx, definitions, worker, idle_slots, &mut capacity)?,
            };
            if let Some(left) = request.claims_left
                && (claims.len() as u64 >= left || !release.is_empty())
            {
                let has_none_left = claims.len() as u64 >= left;
                workers::set_stopping(tx, worker, has_none_left.then_some(tx.now))?;
            }
            // 6. Measure what is left.
            let mut backlog = match takes {
                Takes::Queues(queues) => {
                    let inside = inside(tx, caller.as_ref(), &capacity, None)?;
                    backlog::backlog(tx, queues, &priorities, &capacity, &full, left_alone, &inside)?
                }
                Takes::OwnJobs => runs::backlog(tx, worker, &capacity, &full, left_alone)?,
            };
            backlog.next_due = earlier(backlog.next_due, next_firing);
            let has_claimed_all = expired_all && unreadable.is_empty();
            if backlog.pending == PendingWork::Startable && has_claimed_all && claims.len() < idle_slots {
                // The index of pending jobs contradicts their rows. The worker would look for this job again and again.
                return Err(StoreError::contradiction("a pending job is due and cannot be claimed"));
            }
            if !expired_all {
                backlog.pending = backlog.pending.max(PendingWork::AtLimit);
                // Another turn looks for more at once. Without it a worker would never learn that these were the last.
                backlog.next_due = Some(tx.now);
            }
            if request.ends_with_its_jobs && !ended.is_empty() && !runs::has_unfinished(tx, worker)? {
                workers::close(tx, worker)?;
            }
            Ok(Turn { events, claims, unreadable, cancels: cancels(tx, worker)?, backlog })
        });
        if turn.is_err() {
            // The definitions that this turn stored are undone, and their ids will be given to others.
            *definitions = DefinitionCache::default();
        }
        turn
    }
}

/// Undoes a claim that was never started: the job is pending again, and due even if the clock was set back since.
///
/// If somebody has cancelled the job since its claim, it is cancelled instead, and this returns the event of that.
pub fn release_claim(tx: &Tx, worker: i64, job_id: i64) -> Result<Option<Event>> {
    let sql = format!(
        "UPDATE jobs SET state = iif(cancel_requested_at IS NULL, 'pending', 'cancelled'), worker_id = NULL,
                               run_at = min(run_at, ?3),
                               changed_at = iif(cancel_requested_at IS NULL, min(run_at, ?3), ?3)
               WHERE id = ?1 AND state = 'running' AND worker_id = ?2
               RETURNING state = 'cancelled' AS is_cancelled, {PENDING_JOB}"
    );
    let released = maybe(tx, &sql, params![job_id, worker, tx.now], |row| {
        let event = Event::cancelled(pending_job(row)?);
        Ok(row.get::<_, bool>("is_cancelled")?.then_some(event))
    })?;
    if released.as_ref().is_some_and(Option::is_some) {
        dependencies::failed(tx, job_id)?;
    }
    Ok(released.flatten())
}

/// The running jobs of this worker that somebody has cancelled.
fn cancels(tx: &Connection, worker: i64) -> Result<Vec<i64>> {
    let sql =
        "SELECT id FROM jobs WHERE state = 'running' AND worker_id = ?1 AND cancel_requested_at IS NOT NULL";
    all(tx, sql, [worker], value)
}
