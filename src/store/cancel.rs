//! Calling jobs off.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Result, Store, expire};
use crate::model::JobState;
use crate::text::Timestamp;

/// What came of asking to cancel a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It was waiting, and is cancelled.
    Cancelled,
    /// It is running: the wish is on record, its worker ends it.
    Requested,
    /// It was finished before, and stays as it is.
    Finished(JobState),
    /// There is no such job.
    Unknown,
}

/// The answer for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The id that was asked for.
    pub id: i64,
    /// What came of it.
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

fn cancel_one(connection: &Connection, id: i64, now: Timestamp) -> Result<CancelOutcome> {
    let found: Option<(String, bool)> = connection
        .prepare_cached("SELECT state, coalesce(expires_at <= ?2, 0) FROM jobs WHERE id = ?1")?
        .query_row(params![id, now.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((state, expired)) = found else {
        return Ok(CancelOutcome::Unknown);
    };
    Ok(match JobState::parse(&state) {
        Some(JobState::Pending) if expired => {
            expire::expire_one(connection, id)?;
            CancelOutcome::Finished(JobState::Dead)
        }
        Some(JobState::Pending) | None => {
            cancel_waiting(connection, id, now)?;
            CancelOutcome::Cancelled
        }
        Some(JobState::Running) => {
            connection
                .prepare_cached(
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
pub(super) fn cancel_waiting(connection: &Connection, id: i64, now: Timestamp) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE jobs SET state = 'cancelled', changed_at = ?2 WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![id, now.0])?;
    Ok(())
}
