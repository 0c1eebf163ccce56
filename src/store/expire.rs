//! Recording that waiting jobs were not started in time.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::error::{Result, StoreError};
use super::open::Store;
use crate::model::JobState;
use crate::text::Timestamp;

/// The change to a waiting job that expires. The job died at its expiry, however late somebody notices.
const EXPIRE: &str = "UPDATE jobs SET state = 'dead', dead_reason = 'expired', error_code = 'EXPIRED',
                                      changed_at = max(expires_at, changed_at)
                      WHERE state = 'pending'";

/// A job that ended without a further attempt: the job expired, or was cancelled before its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedJob {
    pub id: i64,
    pub name: String,
    /// The number of attempts that the job had.
    pub attempts: u32,
    pub queue: String,
}

impl DroppedJob {
    /// Reads id, name, attempts and queue.
    pub(super) fn read(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, name: row.get(1)?, attempts: row.get(2)?, queue: row.get(3)? })
    }
}

impl Store {
    /// Records the expiry of this job, if the job has expired and nobody has recorded that.
    pub fn record_expiry(&mut self, id: i64, clock: &dyn Fn() -> Timestamp) -> Result<()> {
        let due =
            "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'pending' AND expires_at <= ?2)";
        // Most often a worker was there first; then there is nothing to write.
        let is_due = self.read(|tx| {
            let mut statement = tx.prepare_cached(due)?;
            Ok(statement.query_row(params![id, clock().0], |row| row.get(0))?)
        })?;
        if is_due {
            self.write(|tx| state_at(tx, id, clock()))?;
        }
        Ok(())
    }
}

/// The state of this job. An expiry that has passed is recorded first.
pub(super) fn state_at(tx: &Connection, id: i64, now: Timestamp) -> Result<Option<JobState>> {
    let sql = "SELECT state, state = 'pending' AND coalesce(expires_at <= ?2, 0) FROM jobs WHERE id = ?1";
    let found = tx
        .prepare_cached(sql)?
        .query_row(params![id, now.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)));
    let Some((word, expired)) = found.optional()? else { return Ok(None) };
    if expired {
        expire_one(tx, id)?;
        return Ok(Some(JobState::Dead));
    }
    let state = JobState::parse(&word);
    state.map(Some).ok_or_else(|| StoreError::InvalidData(format!("job {id} has the state {word:?}")))
}

/// Records the expiry of this job, which is waiting and known to have expired.
pub(super) fn expire_one(tx: &Connection, id: i64) -> Result<()> {
    record(tx, "id = ?1", [id])?;
    Ok(())
}

/// Records up to `limit` waiting jobs that have expired by `now`.
pub(super) fn expire_due(tx: &Connection, now: Timestamp, limit: usize) -> Result<Vec<DroppedJob>> {
    // Most often there is none, and to find that out costs less than a statement that would change some.
    let any = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1)";
    if !tx.prepare_cached(any)?.query_row([now.0], |row| row.get::<_, bool>(0))? {
        return Ok(Vec::new());
    }
    let due = "id IN (SELECT id FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
                      AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    record(tx, due, params![now.0, limit])
}

/// Records the expiry of the waiting jobs that this condition selects.
fn record(tx: &Connection, condition: &str, values: impl Params) -> Result<Vec<DroppedJob>> {
    let sql = format!("{EXPIRE} AND {condition} RETURNING id, name, attempts, queue");
    let mut statement = tx.prepare_cached(&sql)?;
    let expired = statement.query_map(values, DroppedJob::read)?;
    Ok(expired.collect::<rusqlite::Result<_>>()?)
}
