//! Recording that waiting jobs were not started in time, and the alerts of jobs that died.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::definition;
use super::error::{Result, StoreError};
use super::insert::{self, NewJob};
use super::open::Store;
use crate::model::{Bytes, JobState};
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
        expire_one(tx, id, now)?;
        return Ok(Some(JobState::Dead));
    }
    let state = JobState::parse(&word);
    state.map(Some).ok_or_else(|| StoreError::InvalidData(format!("job {id} has the state {word:?}")))
}

/// Records the expiry of this job, which is waiting and known to have expired.
fn expire_one(tx: &Connection, id: i64, now: Timestamp) -> Result<()> {
    if record(tx, "id = ?1", [id], now)?.is_empty() {
        // Otherwise the next look would find the job again.
        return Err(StoreError::contradiction(format!("an index calls job {id} waiting, its row does not")));
    }
    Ok(())
}

/// Records up to `limit` waiting jobs that had expired by the time `until`.
pub(super) fn expire_due(
    tx: &Connection,
    until: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<DroppedJob>> {
    // Most often there is none, and to find that out costs less than a statement that would change some.
    let any = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1)";
    if !tx.prepare_cached(any)?.query_row([until.0], |row| row.get::<_, bool>(0))? {
        return Ok(Vec::new());
    }
    let due = "id IN (SELECT id FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
                      AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    record(tx, due, params![until.0, limit], now)
}

/// Records the expiry of the waiting jobs that this condition selects.
fn record(tx: &Connection, condition: &str, values: impl Params, now: Timestamp) -> Result<Vec<DroppedJob>> {
    let sql = format!("{EXPIRE} AND {condition} RETURNING id, name, attempts, queue");
    let mut statement = tx.prepare_cached(&sql)?;
    let mut expired = statement.query_map(values, DroppedJob::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    expired.sort_unstable_by_key(|job| job.id);
    for job in &expired {
        call_alert(tx, job.id, now)?;
    }
    Ok(expired)
}

/// Enqueues the alert of this job, which has just died. If the alert's unique key is held, its holder stands.
pub(super) fn call_alert(tx: &Connection, dead: i64, now: Timestamp) -> Result<()> {
    let sql = "SELECT d.spec, j.error_code, j.dead_reason, a.message
               FROM jobs AS j JOIN definitions AS d ON d.id = j.definition_id
               LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts WHERE j.id = ?1";
    let (spec, code, reason, message): (String, String, String, Option<String>) = tx
        .prepare_cached(sql)?
        .query_row([dead], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let spec = definition::parse(&spec)?;
    let Some(alert) = spec.on_dead else { return Ok(()) };
    let mut alert = alert.thaw();
    if let Some(key) = &alert.unique_key
        && key_holder(tx, key, now)?.is_some()
    {
        return Ok(());
    }
    // No variable can hold a NUL.
    let message = message.unwrap_or_default().replace('\0', "\u{fffd}");
    for (variable, value) in [
        ("RUNNER_DEAD_JOB_ID", dead.to_string()),
        ("RUNNER_DEAD_JOB_NAME", spec.name),
        ("RUNNER_DEAD_ERROR_CODE", code),
        ("RUNNER_DEAD_REASON", reason),
        ("RUNNER_DEAD_MESSAGE", message),
    ] {
        alert.env.insert(Bytes::from(variable), Bytes::from(value.as_str()));
    }
    let definition = definition::intern(tx, &alert)?;
    let mut statement = tx.prepare_cached(insert::INSERT)?;
    insert::insert(&mut statement, tx, &NewJob::new(Arc::new(alert)), definition, &[], now)?;
    Ok(())
}

/// The unfinished job that holds a unique key.
pub(super) struct Holder {
    pub id: i64,
    pub never_started: bool,
}

/// Finds the unfinished job that holds this key. If that job has expired, its expiry is recorded, and nobody but its alert
/// may hold the key.
pub(super) fn key_holder(tx: &Connection, key: &str, now: Timestamp) -> Result<Option<Holder>> {
    let sql =
        "SELECT id, state = 'pending' AND attempts = 0, state = 'pending' AND coalesce(expires_at <= ?2, 0)
               FROM jobs WHERE unique_key = ?1 AND state IN ('pending', 'running')";
    let found = tx
        .prepare_cached(sql)?
        .query_row(params![key, now.0], |row| {
            Ok((Holder { id: row.get(0)?, never_started: row.get(1)? }, row.get(2)?))
        })
        .optional()?;
    match found {
        Some((holder, true)) => {
            expire_one(tx, holder.id, now)?;
            key_holder(tx, key, now)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}
