//! Recording that pending jobs have expired, and the alerts of jobs that died (`on_dead`) or were warned (`on_warning`).
//!
//! The two are one file because each leads to the other: an expiry is a death, and before an alert is enqueued, the expiry
//! of a job that holds its unique key is recorded.

use std::sync::Arc;

use rusqlite::{Row, params};

use super::claim::{UnreadableJob, none_of};
use super::conditions::{has_expired, is_known, is_unfinished};
use super::definition::{PENDING_JOB, pending_job};
use super::insert::{self, NewJob};
use super::same_work::is_of_other_file;
use super::{definition, dependencies, kept_by_run, outputs};
use crate::model::{Bytes, Event, JobDefinition, JobState, PendingJob, last_bytes};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, all_or_nothing, from_row, maybe, one, value};
use crate::text::Timestamp;

/// Marks a pending job as dead of its expiry. It died at its expiry, even if nobody noticed until now.
const EXPIRE: &str = "UPDATE jobs SET state = 'dead', dead_reason = 'expired', error_code = 'EXPIRED',
                                      changed_at = max(expires_at, changed_at)
                      WHERE state = 'pending'";

impl Store {
    /// Records the expiry of this job if it has expired and nobody has recorded that yet.
    pub fn record_expiry(&mut self, id: i64) -> Result<()> {
        let due =
            format!("SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND {})", has_expired("jobs", "?2"));
        // Usually a worker has recorded it already, and then there is nothing to write.
        if self.read(|tx| one(tx, &due, params![id, tx.now], value))? {
            self.write_work(|tx| expire_and_get_state(tx, id))?;
        }
        Ok(())
    }
}

/// The state of this job, after its expiry is recorded if it has passed.
pub fn expire_and_get_state(tx: &Tx, id: i64) -> Result<Option<JobState>> {
    let sql = format!(
        "SELECT state, {} AND {} AS has_expired FROM jobs WHERE id = ?1",
        has_expired("jobs", "?2"),
        is_known("jobs")
    );
    let read = |row: &Row<'_>| Ok((row.get("state")?, row.get("has_expired")?));
    match maybe(tx, &sql, params![id, tx.now], read)? {
        Some((_, true)) => {
            expire(tx, id)?;
            Ok(Some(JobState::Dead))
        }
        other => Ok(other.map(|(state, _)| state)),
    }
}

/// Records up to `limit` pending jobs that had expired by this time, but leaves these alone, which cannot be read. Others that
/// cannot be read stay as they are, and are told.
pub fn expire_due(
    tx: &Tx,
    until: Timestamp,
    limit: usize,
    left_alone: &[i64],
) -> Result<(Vec<Event>, Vec<UnreadableJob>)> {
    let sql = format!(
        "SELECT id FROM jobs WHERE {} AND {} AND {} ORDER BY expires_at LIMIT ?2",
        has_expired("jobs", "?1"),
        is_known("jobs"),
        none_of(left_alone)
    );
    let mut due = all(tx, &sql, params![until, limit], value::<i64>)?;
    due.sort_unstable();
    let (mut events, mut alerts, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for id in due {
        match all_or_nothing(tx, || expire_one(tx, id)) {
            Ok((expired, alert)) => {
                events.push(Event::expired(expired));
                alerts.extend(alert);
            }
            Err(StoreError::InvalidData(why)) => unreadable.push(UnreadableJob { id, why }),
            Err(other) => return Err(other),
        }
    }
    // An alert looks for the holder of its key, and none of these may hold it any more.
    for alert in alerts {
        alert.enqueue(tx)?;
    }
    Ok((events, unreadable))
}

/// Records the expiry of this job, which is pending and has expired, and enqueues its alert.
fn expire(tx: &Tx, id: i64) -> Result<()> {
    match expire_one(tx, id)? {
        (_, Some(alert)) => alert.enqueue(tx),
        (_, None) => Ok(()),
    }
}

/// Records the expiry of this job, which is pending and has expired. Its alert is still to be enqueued.
fn expire_one(tx: &Tx, id: i64) -> Result<(PendingJob, Option<Alert>)> {
    let sql = format!("{EXPIRE} AND id = ?1 RETURNING {PENDING_JOB}");
    let expired = maybe(tx, &sql, [id], pending_job)?;
    // The search for the owner of a key looks again after an expiry, and in a damaged file would do so for ever.
    let expired = expired.ok_or_else(|| {
        StoreError::contradiction(format!("an index calls job {id} pending, its row does not"))
    })?;
    dependencies::failed(tx, id)?;
    Ok((expired, Alert::of(tx, id)?))
}

/// The longest message, and the most output, that an alert is told. With both, the variables stay far below the 128 KiB that
/// Linux takes for arguments and variables together even where the limit of the stack is low.
const MAX_TOLD_BYTES: usize = 16 << 10;

/// The reason that the alert of a warning is told, where that of a death is told why the job is dead.
const WARNING: &str = "warning";

/// The alert of a job that has just died (`on_dead`), or succeeded with a warning (`on_warning`).
pub struct Alert {
    definition: JobDefinition,
    job_file: Option<i64>,
    run_worker_id: Option<i64>,
}

/// The facts that an alert is told of its job.
struct AlertedJob {
    definition: JobDefinition,
    /// The code and the reason of a death.
    death: Option<(String, String)>,
    warning: Option<String>,
    attempts: u32,
    message: Option<String>,
    job_file: Option<i64>,
}

impl Alert {
    /// The alert of this job, told of its death or of its warning. None if the job has no alert for that.
    pub fn of(tx: &Tx, id: i64) -> Result<Option<Self>> {
        let sql = "SELECT d.definition, j.needs_version, j.error_code, j.dead_reason, j.warning, j.attempts, a.message, j.job_file
                   FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
                   LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts WHERE j.id = ?1";
        let told = one(tx, sql, [id], |row| {
            let (code, reason): (Option<String>, Option<String>) =
                (row.get("error_code")?, row.get("dead_reason")?);
            let definition = definition::read(row, "definition")?;
            Ok(from_row!(
                row,
                AlertedJob {
                    definition: definition,
                    death: code.zip(reason),
                    warning,
                    attempts,
                    message,
                    job_file,
                }
            ))
        })?;
        let AlertedJob { definition, death, warning, attempts, message, job_file } = told;
        let (alert, code, reason) = match (death, warning) {
            (Some((code, reason)), _) => (definition.on_dead, code, reason),
            (None, Some(warning)) => (definition.on_warning, warning, WARNING.to_owned()),
            (None, None) => return Ok(None),
        };
        let Some(alert) = alert else { return Ok(None) };
        let mut alert = *alert;
        let output = outputs::of(tx, id, attempts)?;
        let message = message.or_else(|| output.last_line()).unwrap_or_default();
        // The sign in place of a NUL is longer than a NUL, so texts are cut afterwards.
        let mut message = message.replace('\0', NUL_SIGN);
        message.truncate(message.floor_char_boundary(MAX_TOLD_BYTES));
        let output = if output.stderr.is_empty() { output.stdout } else { output.stderr };
        let output = without_nul(output.tail(MAX_TOLD_BYTES));
        let output = last_bytes(&output, MAX_TOLD_BYTES);
        for (variable, value) in [
            ("RUNNER_DEAD_JOB_ID", id.to_string().as_bytes()),
            ("RUNNER_DEAD_JOB_NAME", definition.name.as_bytes()),
            ("RUNNER_DEAD_ERROR_CODE", code.as_bytes()),
            ("RUNNER_DEAD_REASON", reason.as_bytes()),
            ("RUNNER_DEAD_MESSAGE", message.as_bytes()),
            ("RUNNER_DEAD_OUTPUT", output),
        ] {
            alert.env.insert(Bytes::from(variable), Bytes(value.to_vec()));
        }
        Ok(Some(Self { definition: alert, job_file, run_worker_id: kept_by_run::keeper(tx, id)? }))
    }

    /// Enqueues it, unless an unfinished job of the same job file holds its unique key. One of another file tells of another
    /// project's jobs, so this one is enqueued without the key.
    pub fn enqueue(mut self, tx: &Tx) -> Result<()> {
        if let Some(key) = &self.definition.unique_key
            && let Some(holder) = expire_and_get_key_owner(tx, key)?
        {
            if !is_of_other_file(holder.job_file, self.job_file) {
                return Ok(());
            }
            self.definition.unique_key = None;
        }
        let definition = definition::intern(tx, &self.definition)?;
        let Self { job_file, run_worker_id, .. } = self;
        let job = NewJob { run_worker_id, job_file, ..NewJob::new(Arc::new(self.definition)) };
        insert::insert(tx, &job, definition, &[])?;
        Ok(())
    }
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
    /// The row id of its job file.
    pub job_file: Option<i64>,
}

/// Finds the unfinished job that holds this key. If that job has expired, this records its expiry, and then only the alert
/// of that job can hold the key.
pub fn expire_and_get_key_owner(tx: &Tx, key: &str) -> Result<Option<KeyOwner>> {
    let sql = format!(
        "SELECT id, job_file, state = 'pending' AND attempts = 0 AS never_started,
                {} AND {} AS has_expired
         FROM jobs WHERE unique_key = ?1 AND {}",
        has_expired("jobs", "?2"),
        is_known("jobs"),
        is_unfinished("jobs")
    );
    let found = maybe(tx, &sql, params![key, tx.now], |row| {
        Ok((from_row!(row, KeyOwner { id, never_started, job_file }), row.get("has_expired")?))
    })?;
    match found {
        Some((holder, true)) => {
            expire(tx, holder.id)?;
            expire_and_get_key_owner(tx, key)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}
