//! Recording that pending jobs have expired, and the alerts (`on_dead`) of jobs that died.
//!
//! The two are one file because each leads to the other: an expiry is a death, and before an alert is enqueued, the expiry
//! of a job that holds its unique key is recorded.

use std::sync::Arc;

use rusqlite::{Params, Row, params};

use super::definition::{PENDING_JOB, pending_job};
use super::insert::{self, NewJob};
use super::{definition, dependencies, kept_by_run, outputs};
use crate::model::{Bytes, Event, JobDefinition, JobState, last_bytes};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, from_row, maybe, one, value};
use crate::store::file::schema;
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
            self.write_work(|tx| expire_and_get_state(tx, id))?;
        }
        Ok(())
    }
}

/// The state of this job, after its expiry is recorded if it has passed.
pub fn expire_and_get_state(tx: &Tx, id: i64) -> Result<Option<JobState>> {
    let sql = "SELECT state, state = 'pending' AND coalesce(expires_at <= ?2, 0) AND needs_version <= ?3 AS has_expired
               FROM jobs WHERE id = ?1";
    let read = |row: &Row<'_>| Ok((row.get("state")?, row.get("has_expired")?));
    match maybe(tx, sql, params![id, tx.now, schema::known().version()], read)? {
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
pub fn expire_due(tx: &Tx, until: Timestamp, limit: usize) -> Result<Vec<Event>> {
    // Usually there is none, and to find that out costs less than a statement that changes rows.
    let any = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
                                      AND needs_version <= ?2)";
    let known = schema::known().version();
    if !one(tx, any, params![until, known], value::<bool>)? {
        return Ok(Vec::new());
    }
    let due = "id IN (SELECT id FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
                      AND expires_at <= ?1 AND needs_version <= ?3 ORDER BY expires_at LIMIT ?2)";
    record(tx, due, params![until, limit, known])
}

/// Records the expiry of the pending jobs that this condition selects.
fn record(tx: &Tx, condition: &str, values: impl Params) -> Result<Vec<Event>> {
    let sql = format!("{EXPIRE} AND {condition} RETURNING {PENDING_JOB}");
    let mut expired = all(tx, &sql, values, pending_job)?;
    expired.sort_unstable_by_key(|job| job.id);
    for job in &expired {
        dependencies::failed(tx, job.id)?;
        enqueue_alert(tx, job.id)?;
    }
    Ok(expired.into_iter().map(Event::expired).collect())
}

/// The longest message, and the most output, that an alert is told. With both, the variables stay far below the 128 KiB that
/// Linux takes for arguments and variables together even where the limit of the stack is low.
const MAX_TOLD_BYTES: usize = 16 << 10;

/// Definition, error code, reason, attempts, message and job file of a job that died.
type Death = (JobDefinition, String, String, u32, Option<String>, Option<i64>);

/// Enqueues the alert (`on_dead`) of this job, which has just died. Does nothing if the job has no alert, or if an unfinished job
/// holds the unique key of the alert.
pub fn enqueue_alert(tx: &Tx, dead: i64) -> Result<()> {
    let sql =
        "SELECT d.definition, j.needs_version, j.error_code, j.dead_reason, j.attempts, a.message, j.job_file
               FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
               LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts WHERE j.id = ?1";
    let (definition, code, reason, attempts, message, job_file): Death = one(tx, sql, [dead], |row| {
        Ok((
            definition::read(row, "definition")?,
            row.get("error_code")?,
            row.get("dead_reason")?,
            row.get("attempts")?,
            row.get("message")?,
            row.get("job_file")?,
        ))
    })?;
    let Some(alert) = definition.on_dead else { return Ok(()) };
    let mut alert = *alert;
    if let Some(key) = &alert.unique_key
        && expire_and_get_key_owner(tx, key)?.is_some()
    {
        return Ok(());
    }
    let output = outputs::of(tx, dead, attempts)?;
    let message = message.or_else(|| output.last_line()).unwrap_or_default();
    // The sign in place of a NUL is longer than a NUL, so texts are cut afterwards.
    let mut message = message.replace('\0', NUL_SIGN);
    message.truncate(message.floor_char_boundary(MAX_TOLD_BYTES));
    let output = if output.stderr.is_empty() { output.stdout } else { output.stderr };
    let output = without_nul(output.tail(MAX_TOLD_BYTES));
    let output = last_bytes(&output, MAX_TOLD_BYTES);
    for (variable, value) in [
        ("RUNNER_DEAD_JOB_ID", dead.to_string().as_bytes()),
        ("RUNNER_DEAD_JOB_NAME", definition.name.as_bytes()),
        ("RUNNER_DEAD_ERROR_CODE", code.as_bytes()),
        ("RUNNER_DEAD_REASON", reason.as_bytes()),
        ("RUNNER_DEAD_MESSAGE", message.as_bytes()),
        ("RUNNER_DEAD_OUTPUT", output),
    ] {
        alert.env.insert(Bytes::from(variable), Bytes(value.to_vec()));
    }
    let definition = definition::intern(tx, &alert)?;
    let run_worker_id = kept_by_run::keeper(tx, dead)?;
    let alert = NewJob { run_worker_id, job_file, ..NewJob::new(Arc::new(alert)) };
    insert::insert(tx, &alert, definition, &[])?;
    Ok(())
}

/// Stands for a NUL, which a variable of the environment cannot hold.
const NUL_SIGN: &str = "\u{fffd}";

fn without_nul(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).collect::<Vec<_>>().join(NUL_SIGN.as_bytes())
}

/// The unfinished job that holds a unique key.
pub struct KeyOwner {
    pub id: i64,
    pub never_started: bool,
}

/// Finds the unfinished job that holds this key. If that job has expired, this records its expiry, and then only the alert
/// of that job can hold the key.
pub fn expire_and_get_key_owner(tx: &Tx, key: &str) -> Result<Option<KeyOwner>> {
    let sql = "SELECT id, state = 'pending' AND attempts = 0 AS never_started,
                      state = 'pending' AND coalesce(expires_at <= ?2, 0) AND needs_version <= ?3 AS has_expired
               FROM jobs WHERE unique_key = ?1 AND state IN ('pending', 'running')";
    let found = maybe(tx, sql, params![key, tx.now, schema::known().version()], |row| {
        Ok((from_row!(row, KeyOwner { id, never_started }), row.get("has_expired")?))
    })?;
    match found {
        Some((holder, true)) => {
            expire_one(tx, holder.id)?;
            expire_and_get_key_owner(tx, key)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}
