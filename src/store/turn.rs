//! One turn of a worker: record what ended, drop what expired, fire the schedules, claim what is due. One transaction, one sync.

use rusqlite::{Connection, OptionalExtension, params};

use super::claim::{self, Claim};
use super::definition::Definitions;
use super::error::{Result, StoreError};
use super::expire::{self, DroppedJob};
use super::finish::{self, Ended, Recorded};
use super::open::Store;
use super::queues::{self, Backlog, Gate, Waiting};
use super::schedules::{self, Fired};
use crate::text::Timestamp;

/// Expired jobs recorded in one turn; the rest waits for the next.
const MAX_EXPIRED: usize = 1_000;

/// The request of a worker for one turn.
#[derive(Debug)]
pub struct TurnRequest<'a> {
    /// The row id of the worker.
    pub worker: i64,
    /// The selected queues; none: all.
    pub queues: Option<&'a [String]>,
    pub ended: &'a [Ended],
    /// Jobs whose claims will never start: the jobs go back as if they had never been claimed.
    pub give_back: &'a [i64],
    /// The number of jobs that the worker can start now.
    pub idle_slots: usize,
}

/// The result of a turn, on disk.
#[derive(Debug, Default)]
pub struct Turn {
    /// In the order of [`TurnRequest::ended`].
    pub recorded: Vec<Recorded>,
    /// Jobs that died waiting.
    pub expired: Vec<DroppedJob>,
    /// Jobs of [`TurnRequest::give_back`] that had been cancelled, and so did not go back to their queue.
    pub cancelled: Vec<DroppedJob>,
    /// The times of schedules that came.
    pub fired: Vec<Fired>,
    /// Jobs to start, in this order.
    pub claims: Vec<Claim>,
    /// Work left in the selected queues.
    pub backlog: Backlog,
    /// Running jobs of this worker that are to be ended.
    pub cancels: Vec<i64>,
}

impl Store {
    /// Runs one turn. The clock is read when it is this worker's turn to write.
    pub fn turn(
        &mut self,
        definitions: &mut Definitions,
        request: &TurnRequest,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Turn> {
        self.write(|tx| {
            let mut turn = Turn::default();
            let full = if request.ended.is_empty() { Vec::new() } else { Gate::read(tx, clock())?.full() };
            for ended in request.ended {
                turn.recorded.push(finish::finish(tx, definitions, request.worker, ended)?);
            }
            let now = clock();
            for job_id in request.give_back {
                turn.cancelled.extend(give_back(tx, request.worker, *job_id, now)?);
            }
            // A job whose time was missed may have expired already.
            turn.fired = schedules::fire_due(tx, now)?;
            turn.expired = expire::expire_due(tx, now, MAX_EXPIRED, now)?;
            let mut gate = Gate::read(tx, now)?;
            turn.claims =
                claim::claim(tx, definitions, request.worker, request.queues, request.idle_slots, &mut gate)?;
            turn.backlog = queues::backlog(tx, request.queues, &gate, &full)?;
            let expired_all = turn.expired.len() < MAX_EXPIRED;
            if turn.backlog.waiting == Waiting::Startable
                && expired_all
                && turn.claims.len() < request.idle_slots
            {
                // A wait until nothing is due would never end.
                return Err(StoreError::contradiction(
                    "a waiting job is due and cannot be found by its index",
                ));
            }
            if !expired_all {
                turn.backlog.waiting = turn.backlog.waiting.max(Waiting::HeldBack);
            }
            turn.cancels = cancels(tx, request.worker)?;
            Ok(turn)
        })
    }
}

/// Undoes a claim that was never started. A cancel that came meanwhile takes effect, and then the job is given.
///
/// The job was due and stays due, whatever has become of the clock, and has waited since then.
pub(super) fn give_back(
    tx: &Connection,
    worker: i64,
    job_id: i64,
    now: Timestamp,
) -> Result<Option<DroppedJob>> {
    let mut statement = tx.prepare_cached(
        "UPDATE jobs SET state = iif(cancel_requested_at IS NULL, 'pending', 'cancelled'), worker_id = NULL,
                         run_at = min(run_at, ?3),
                         changed_at = iif(cancel_requested_at IS NULL, min(run_at, ?3), ?3)
         WHERE id = ?1 AND state = 'running' AND worker_id = ?2
         RETURNING id, name, attempts, queue, state = 'cancelled'",
    )?;
    let given_back = statement.query_row(params![job_id, worker, now.0], |row| {
        Ok((DroppedJob::read(row)?, row.get::<_, bool>(4)?))
    });
    Ok(given_back.optional()?.filter(|(_, cancelled)| *cancelled).map(|(job, _)| job))
}

fn cancels(tx: &Connection, worker: i64) -> Result<Vec<i64>> {
    let mut statement = tx.prepare_cached(
        "SELECT id FROM jobs WHERE state = 'running' AND worker_id = ?1 AND cancel_requested_at IS NOT NULL",
    )?;
    let rows = statement.query_map([worker], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
