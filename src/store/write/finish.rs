//! Recording the end of an attempt and moving its job on: one transaction, behind a fence.

use rusqlite::{Connection, params};

use super::definition::{self, DefinitionCache};
use super::expire::Alert;
use super::{dependencies, outputs, schedules};
use crate::model::{
    Attempt, AttemptEnd, Bytes, Circumstances, Decision, EndCause, JobLabel, JobState, MemoryPeak,
    RecordedAttempt, Status, classify, decide,
};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::Tx;
use crate::store::file::row::{from_row, maybe, run};
use crate::text::{Millis, Timestamp, safe_line};

/// A job that runner interrupts after its expiry expires this long after the interruption: another worker, or a worker
/// that is started again, takes the job at once.
pub const INTERRUPTED_EXPIRY: Millis = Millis(2_000);

/// An attempt that has ended, as its worker or a recoverer reports the end.
#[derive(Clone, Debug)]
pub struct EndedAttempt {
    pub job_id: i64,
    pub number: u32,
    /// Decides the jitter: uniform in [0, 1).
    pub jitter_sample: f64,
    pub end: AttemptEnd,
}

/// A job whose attempt has ended, as the file has it: a recovery has no claim that could tell.
struct RunningJob {
    definition_id: i64,
    name: String,
    label: Option<String>,
    args: Vec<Bytes>,
    queue: String,
    worker_name: String,
    circumstances: Circumstances,
}

/// Records one ended attempt of the worker with this row id.
///
/// None, and nothing is changed, if the job is no longer this worker's or this attempt was recorded before.
pub fn finish(
    tx: &Tx,
    definitions: &mut DefinitionCache,
    worker: i64,
    ended: &EndedAttempt,
) -> Result<Option<RecordedAttempt>> {
    let Some(held) = running_job(tx, worker, ended)? else {
        return Ok(None);
    };
    let definition = definitions.get(tx, held.definition_id)?;
    let EndedAttempt { job_id, number, ref end, .. } = *ended;
    let verdict = classify(&definition.exit, end);
    let Circumstances { attempt_in_budget, expires_at, .. } = held.circumstances;
    let decision = decide(&definition.policy, end, &verdict, held.circumstances);
    let (nominal_delay, delay, run_at) = match decision {
        Decision::Retry { nominal, delay, at, .. } => (Some(nominal), Some(delay), Some(at)),
        _ => (None, None, None),
    };
    let attempt = Attempt {
        job_id,
        number,
        outcome: verdict.outcome,
        error_code: verdict.code,
        warning: verdict.warning,
        status: end.status,
        message: message(end),
        worker_id: Some(held.worker_name),
        started_at: end.started_at,
        finished_at: end.finished_at,
        duration: end.duration,
        attempt_in_budget,
        next_state: decision.state(),
        dead_reason: decision.dead_reason(),
        nominal_delay,
        delay,
        usage: end.usage,
        output_held_open: end.output_held_open,
        spawn_failure: match end.cause {
            Some(EndCause::SpawnFailed(failure)) => failure,
            _ => None,
        },
    };
    insert(tx, worker, &attempt)?;
    outputs::record(tx, job_id, number, end.output.as_ref())?;
    // Only an interrupted job goes back to its queue at or after its expiry.
    let expires_at = expires_at.map(|expiry| match run_at {
        Some(run_at) if run_at >= expiry => run_at.plus(INTERRUPTED_EXPIRY),
        _ => expiry,
    });
    update_job(tx, worker, &attempt, run_at, expires_at, end.report.result.as_deref())?;
    let is_told = attempt.next_state == JobState::Dead || attempt.warning.is_some();
    if is_told
        && definition.alerts().next().is_some()
        && let Some(alert) = Alert::of(tx, attempt.job_id)?
    {
        alert.enqueue(tx)?;
    }
    if attempt.warning.is_some() {
        count_warning(tx, &held.name)?;
    }
    let last_output = if is_told { outputs::of(tx, job_id, number)?.last_line() } else { None };
    let last_output = last_output.map(|line| safe_line(&line));
    let has_succeeded = attempt.next_state == JobState::Succeeded;
    if has_succeeded {
        schedules::record_success(tx, attempt.job_id, &held.name, attempt.finished_at)?;
    }
    let unblocks = match attempt.next_state {
        JobState::Succeeded => dependencies::succeeded(tx, attempt.job_id)?,
        JobState::Cancelled => dependencies::failed(tx, attempt.job_id)?,
        JobState::Dead => {
            dependencies::failed(tx, attempt.job_id)?;
            false
        }
        JobState::Pending | JobState::Running => false,
    };
    Ok(Some(RecordedAttempt {
        attempt,
        name: held.name,
        label: JobLabel::of(&definition, held.label, &held.args),
        queue: held.queue,
        max_attempts: definition.policy.max_attempts(),
        last_output,
        unblocks,
    }))
}

/// The fence: the job, if the job still runs exactly this attempt for exactly this worker.
fn running_job(tx: &Connection, worker: i64, ended: &EndedAttempt) -> Result<Option<RunningJob>> {
    let sql = "SELECT j.definition_id, j.name, j.label, j.args_nul, j.queue, j.attempts_used,
                      j.cancel_requested_at IS NOT NULL AS cancel_requested, j.expires_at, w.name AS worker_name
               FROM jobs AS j JOIN workers AS w ON w.id = j.worker_id
               WHERE j.id = ?1 AND j.state = 'running' AND j.worker_id = ?2 AND j.attempts = ?3 - 1";
    maybe(tx, sql, params![ended.job_id, worker, ended.number], |row| {
        Ok(from_row!(
            row,
            RunningJob {
                definition_id,
                name,
                label,
                args: definition::args(row)?,
                queue,
                worker_name,
                circumstances: Circumstances {
                    attempt_in_budget: row.get::<_, u32>("attempts_used")?.saturating_add(1),
                    cancel_requested: row.get("cancel_requested")?,
                    expires_at: row.get("expires_at")?,
                    jitter_sample: ended.jitter_sample,
                },
            }
        ))
    })
}

/// The message of the attempt: what the job reported, then what runner says, then what of the report could not be read.
fn message(end: &AttemptEnd) -> Option<String> {
    let parts = end.report.message.iter().chain(&end.message).chain(&end.report.notes);
    let parts: Vec<&str> = parts.map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn insert(tx: &Connection, worker: i64, attempt: &Attempt) -> Result<()> {
    let (exit_code, signal) = match attempt.status {
        Some(Status::Exited(exit)) => (Some(exit), None),
        Some(Status::Signaled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let sql = "INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, signal, message,
                                     worker_id, started_at, finished_at, duration_ms, output_held_open, next_state,
                                     dead_reason, nominal_delay_ms, delay_ms, spawn_failure, cpu_ms, max_rss_bytes,
                                     max_rss_bound_bytes, warning)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
                       ?22)";
    let memory = attempt.usage.map(|usage| usage.memory);
    let values = params![
        attempt.job_id,
        attempt.number,
        attempt.attempt_in_budget,
        attempt.outcome,
        attempt.error_code,
        exit_code,
        signal,
        attempt.message,
        worker,
        attempt.started_at,
        attempt.finished_at,
        attempt.duration,
        attempt.output_held_open,
        attempt.next_state,
        attempt.dead_reason,
        attempt.nominal_delay,
        attempt.delay,
        attempt.spawn_failure,
        attempt.usage.map(|usage| usage.cpu),
        memory.and_then(MemoryPeak::known),
        memory.filter(|memory| memory.is_bound).map(|memory| memory.bytes),
        attempt.warning,
    ];
    run(tx, sql, values)?;
    Ok(())
}

/// Counts a success with a warning, so that the number never falls, whatever is removed.
fn count_warning(tx: &Connection, name: &str) -> Result<()> {
    let sql = "INSERT INTO warning_totals (name, warnings) VALUES (?1, 1)
               ON CONFLICT DO UPDATE SET warnings = warnings + 1";
    run(tx, sql, [name])?;
    Ok(())
}

fn update_job(
    tx: &Connection,
    worker: i64,
    attempt: &Attempt,
    run_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    result: Option<&str>,
) -> Result<()> {
    let sql = "UPDATE jobs SET state = ?4, worker_id = NULL, changed_at = ?5, run_at = coalesce(?6, run_at),
                               attempts = attempts + 1, attempts_used = attempts_used + ?7,
                               started_at = coalesce(started_at, ?8), dead_reason = ?9, error_code = ?10,
                               result = coalesce(?11, result), expires_at = ?12, warning = ?13
               WHERE id = ?1 AND state = 'running' AND worker_id = ?2 AND attempts = ?3 - 1";
    let dead_reason = attempt.dead_reason;
    let values = params![
        attempt.job_id,
        worker,
        attempt.number,
        attempt.next_state,
        attempt.finished_at,
        run_at,
        attempt.counted(),
        attempt.started_at,
        dead_reason,
        dead_reason.and(attempt.error_code.as_ref()),
        result,
        expires_at,
        attempt.warning,
    ];
    match run(tx, sql, values)? {
        1 => Ok(()),
        _ => Err(StoreError::InvalidData(format!("job {} changed within a transaction", attempt.job_id))),
    }
}
