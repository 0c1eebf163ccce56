//! Cancelling jobs.

use rusqlite::{Connection, params};

use super::error::Result;
use super::expire;
use super::open::Store;
use crate::model::JobState;
use crate::text::Timestamp;

/// The result of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The job was waiting, and is cancelled.
    Cancelled,
    /// The job is running: the request is on record, and the worker ends the job.
    Requested,
    /// The job was finished before, and stays as it is.
    Finished(JobState),
    /// There is no such job.
    Unknown,
}

/// The answer for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    pub id: i64,
    pub outcome: CancelOutcome,
}

impl Store {
    /// Cancels waiting jobs and asks running ones to end, in one transaction.
    pub fn cancel(&mut self, ids: &[i64], clock: &dyn Fn() -> Timestamp) -> Result<Vec<Cancelled>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| Ok(Cancelled { id: *id, outcome: cancel_one(tx, *id, now)? })).collect()
        })
    }
}

fn cancel_one(tx: &Connection, id: i64, now: Timestamp) -> Result<CancelOutcome> {
    Ok(match expire::state_at(tx, id, now)? {
        None => CancelOutcome::Unknown,
        Some(JobState::Pending) => {
            cancel_waiting(tx, id, now)?;
            CancelOutcome::Cancelled
        }
        Some(JobState::Running) => {
            tx.prepare_cached(
                "UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, ?2)
                 WHERE id = ?1 AND state = 'running'",
            )?
            .execute(params![id, now.0])?;
            CancelOutcome::Requested
        }
        Some(done) => CancelOutcome::Finished(done),
    })
}

/// Cancels this job, which is waiting.
pub(super) fn cancel_waiting(tx: &Connection, id: i64, now: Timestamp) -> Result<()> {
    tx.prepare_cached(
        "UPDATE jobs SET state = 'cancelled', changed_at = ?2 WHERE id = ?1 AND state = 'pending'",
    )?
    .execute(params![id, now.0])?;
    Ok(())
}
