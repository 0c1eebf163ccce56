//! Recording that pending jobs have expired, and the alerts (`on_dead`) of jobs that died.
//!
//! The two are one file because each leads to the other: an expiry is a death, and before an alert is enqueued, the expiry
//! of a job that holds its unique key is recorded.

use std::sync::Arc;

use rusqlite::{Params, Row, params};

use super::definition;
use super::error::{Result, StoreError};
use super::insert::{self, NewJob};
use super::open::{Store, Tx};
use super::row::{all, from_row, maybe, one, value};
use super::version;
use crate::model::{Bytes, Event, JobDefinition, JobState};
use crate::text::Timestamp;

/// Marks a pending job as dead of its expiry. It died at its expiry, even if nobody noticed until now.
const EXPIRE: &str = "UPDATE jobs SET state = 'dead', dead_reason = 'expired', error_code = 'EXPIRED',
                                      changed_at = max(expires_at, changed_at)
                      WHERE state = 'pending'";

impl Store {
    /// Records the expiry of this job if it has expired and nobody has recorded that yet.
    pub fn record_expiry(&mut self, id: i64) -> Result<()> {
        let due =
            "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'pending' AND expires_at <= ?2)";
        // Usually a worker has recorded it already, and then there is nothing to write.
        if self.read(|tx| one(tx, due, params![id, tx.now], value))? {
            self.write_work(|tx| state_at(tx, id))?;
        }
        Ok(())
    }
}

/// The state of this job, after its expiry is recorded if it has passed.
pub(super) fn state_at(tx: &Tx, id: i64) -> Result<Option<JobState>> {
    let sql = "SELECT state, state = 'pending' AND coalesce(expires_at <= ?2, 0) AND needs_version <= ?3 AS has_expired
               FROM jobs WHERE id = ?1";
    let read = |row: &Row<'_>| Ok((row.get("state")?, row.get("has_expired")?));
    match maybe(tx, sql, params![id, tx.now, version::known().version()], read)? {
        Some((_, true)) => {
            expire_one(tx, id)?;
            Ok(Some(JobState::Dead))
        }
        other => Ok(other.map(|(state, _)| state)),
    }
}

/// Records the expiry of this job, which is pending and has expired.
fn expire_one(tx: &Tx, id: i64) -> Result<()> {
    if record(tx, "id = ?1", [id])?.is_empty() {
        // The search for the owner of a key looks again after an expiry, and in a damaged file would do so for ever.
        return Err(StoreError::contradiction(format!("an index calls job {id} pending, its row does not")));
    }
    Ok(())
}

/// Records up to `limit` pending jobs that had expired by this time.
pub(super) fn expire_due(tx: &Tx, until: Timestamp, limit: usize) -> Result<Vec<Event>> {
    // Usually there is none, and to find that out costs less than a statement that changes rows.
    let any = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
                                      AND needs_version <= ?2)";
    let known = version::known().version();
    if !one(tx, any, params![until, known], value::<bool>)? {
        return Ok(Vec::new());
    }
    let due = "id IN (SELECT id FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
                      AND expires_at <= ?1 AND needs_version <= ?3 ORDER BY expires_at LIMIT ?2)";
    record(tx, due, params![until, limit, known])
}

/// Records the expiry of the pending jobs that this condition selects.
fn record(tx: &Tx, condition: &str, values: impl Params) -> Result<Vec<Event>> {
    let sql = format!("{EXPIRE} AND {condition} RETURNING id, name, queue, attempts");
    let mut expired = all(tx, &sql, values, |row| {
        let id = row.get("id")?;
        Ok((id, Event::expired(id, row.get("name")?, row.get("queue")?, row.get("attempts")?)))
    })?;
    expired.sort_unstable_by_key(|(id, _)| *id);
    for (id, _) in &expired {
        enqueue_alert(tx, *id)?;
    }
    Ok(expired.into_iter().map(|(_, event)| event).collect())
}

/// The longest message that an alert is told: the kernel takes no variable above 128 KiB.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// Enqueues the alert (`on_dead`) of this job, which has just died. Does nothing if the job has no alert, or if an unfinished job
/// holds the unique key of the alert.
pub(super) fn enqueue_alert(tx: &Tx, dead: i64) -> Result<()> {
    let sql = "SELECT d.definition, j.needs_version, j.error_code, j.dead_reason, a.message
               FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
               LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts WHERE j.id = ?1";
    let (definition, code, reason, message): (JobDefinition, String, String, Option<String>) =
        one(tx, sql, [dead], |row| {
            Ok((
                definition::read(row, "definition")?,
                row.get("error_code")?,
                row.get("dead_reason")?,
                row.get("message")?,
            ))
        })?;
    let Some(alert) = definition.on_dead else { return Ok(()) };
    let mut alert = *alert;
    if let Some(key) = &alert.unique_key
        && key_owner(tx, key)?.is_some()
    {
        return Ok(());
    }
    // An environment variable cannot hold a NUL, and what replaces it is longer.
    let mut message = message.unwrap_or_default().replace('\0', "\u{fffd}");
    message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
    for (variable, value) in [
        ("RUNNER_DEAD_JOB_ID", dead.to_string()),
        ("RUNNER_DEAD_JOB_NAME", definition.name),
        ("RUNNER_DEAD_ERROR_CODE", code),
        ("RUNNER_DEAD_REASON", reason),
        ("RUNNER_DEAD_MESSAGE", message),
    ] {
        alert.env.insert(Bytes::from(variable), Bytes::from(value.as_str()));
    }
    let definition = definition::intern(tx, &alert)?;
    insert::insert(tx, &NewJob::new(Arc::new(alert)), definition, &[])?;
    Ok(())
}

/// The unfinished job that holds a unique key.
pub(super) struct KeyOwner {
    pub id: i64,
    pub never_started: bool,
}

/// Finds the unfinished job that holds this key. If that job has expired, this records its expiry, and then only the alert
/// of that job can hold the key.
pub(super) fn key_owner(tx: &Tx, key: &str) -> Result<Option<KeyOwner>> {
    let sql = "SELECT id, state = 'pending' AND attempts = 0 AS never_started,
                      state = 'pending' AND coalesce(expires_at <= ?2, 0) AND needs_version <= ?3 AS has_expired
               FROM jobs WHERE unique_key = ?1 AND state IN ('pending', 'running')";
    let found = maybe(tx, sql, params![key, tx.now, version::known().version()], |row| {
        Ok((from_row!(row, KeyOwner { id, never_started }), row.get("has_expired")?))
    })?;
    match found {
        Some((holder, true)) => {
            expire_one(tx, holder.id)?;
            key_owner(tx, key)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}
