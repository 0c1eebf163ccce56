//! Recording the end of an attempt and moving its job on: one transaction, behind a fence.

use rusqlite::{Connection, OptionalExtension, params};

use super::definition::Definitions;
use super::error::{Result, StoreError};
use super::outputs::{self, Output};
use super::{dependencies, expire};
use crate::model::{
    Attempt, Circumstances, Decision, Exit, JobState, SelfReport, SpawnFailure, Status, classify, decide,
};
use crate::text::{Millis, Timestamp};

/// A job that runner interrupts after its expiry expires this long after the interruption: another worker, or a worker
/// that is started again, takes the job at once.
pub(super) const INTERRUPTED_EXPIRY: Millis = Millis(2_000);

/// An attempt that has ended, as its worker or a recoverer reports the end.
#[derive(Clone, Debug)]
pub struct Ended {
    pub job_id: i64,
    pub number: u32,
    pub exit: Exit,
    /// The job's report on itself.
    pub report: SelfReport,
    /// Runner's own message.
    pub message: Option<String>,
    /// None where nobody knows whether the attempt started.
    pub started_at: Option<Timestamp>,
    pub finished_at: Timestamp,
    /// By the monotonic clock; none for a crash.
    pub duration: Option<Millis>,
    /// A child outlived the attempt and held its output open.
    pub leaked: bool,
    /// The reason why the attempt could not be started.
    pub spawn_failure: Option<SpawnFailure>,
    /// The output; none: the output saved while the attempt ran is all there is.
    pub output: Option<Output>,
    /// The dice for the jitter, uniform in [0, 1).
    pub roll: f64,
}

/// The result of recording an ended attempt.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// The attempt as the history has it, and what was decided.
    Written {
        attempt: Box<Attempt>,
        name: String,
        queue: String,
        /// The number of runs in the job's budget.
        runs: u32,
        /// A job that was after this one waits for nothing more.
        goes_on: bool,
    },
    /// The job is no longer this worker's, or this attempt was recorded before: nothing was changed.
    Late { job_id: i64, number: u32 },
}

impl Recorded {
    /// May a worker have more to start: the job again, one that was after it, or its alert?
    pub fn makes_work(&self) -> bool {
        matches!(self, Self::Written { attempt, goes_on, .. }
            if *goes_on || matches!(attempt.next_state, JobState::Pending | JobState::Dead))
    }
}

/// The job's facts for the decision.
struct Held {
    definition_id: i64,
    name: String,
    queue: String,
    budget_used: u32,
    cancel_requested: bool,
    expires_at: Option<Timestamp>,
    worker_name: String,
}

/// Records one ended attempt of the worker with this row id.
pub(super) fn finish(
    tx: &Connection,
    definitions: &mut Definitions,
    worker: i64,
    ended: &Ended,
) -> Result<Recorded> {
    let Some(held) = held(tx, worker, ended)? else {
        return Ok(Recorded::Late { job_id: ended.job_id, number: ended.number });
    };
    let spec = definitions.get(tx, held.definition_id)?;
    let verdict = classify(&spec.exit, ended.exit, ended.report.error_code.as_ref());
    let budget_number = held.budget_used.saturating_add(1);
    let decision = decide(
        &spec.policy,
        &verdict,
        &ended.report,
        Circumstances {
            budget_number,
            cancel_requested: held.cancel_requested,
            expires_at: held.expires_at,
            finished_at: ended.finished_at,
            roll: ended.roll,
        },
    );
    let (nominal_delay, delay, run_at) = match decision {
        Decision::Retry { nominal, delay, at, .. } => (Some(nominal), Some(delay), Some(at.0)),
        _ => (None, None, None),
    };
    let attempt = Attempt {
        job_id: ended.job_id,
        number: ended.number,
        outcome: verdict.outcome,
        error_code: verdict.code,
        status: ended.exit.status,
        message: message(ended),
        worker_id: held.worker_name,
        started_at: ended.started_at,
        finished_at: ended.finished_at,
        duration: ended.duration,
        budget_number,
        next_state: decision.state(),
        dead_reason: decision.dead_reason(),
        nominal_delay,
        delay,
        leaked: ended.leaked,
        spawn_failure: ended.spawn_failure,
    };
    insert(tx, worker, &attempt)?;
    outputs::record(tx, ended.job_id, ended.number, ended.output.as_ref())?;
    // Only an interrupted job goes back to its queue at or after its expiry.
    let expires_at = held.expires_at.map(|expiry| match run_at {
        Some(run_at) if run_at >= expiry.0 => Timestamp(run_at).plus(INTERRUPTED_EXPIRY).0,
        _ => expiry.0,
    });
    update_job(tx, worker, &attempt, run_at, expires_at, ended.report.result.as_deref())?;
    if attempt.next_state == JobState::Dead && spec.on_dead.is_some() {
        expire::call_alert(tx, attempt.job_id, attempt.finished_at)?;
    }
    let goes_on = attempt.next_state == JobState::Succeeded && dependencies::release(tx, attempt.job_id)?;
    let runs = spec.policy.runs();
    Ok(Recorded::Written { attempt: Box::new(attempt), name: held.name, queue: held.queue, runs, goes_on })
}

/// The fence: the job, if the job still runs exactly this attempt for exactly this worker.
fn held(tx: &Connection, worker: i64, ended: &Ended) -> Result<Option<Held>> {
    let sql = "SELECT j.definition_id, j.name, j.budget_used, j.cancel_requested_at IS NOT NULL, j.expires_at, w.name,
                      j.queue
               FROM jobs AS j JOIN workers AS w ON w.id = j.worker_id
               WHERE j.id = ?1 AND j.state = 'running' AND j.worker_id = ?2 AND j.attempts = ?3 - 1";
    Ok(tx
        .prepare_cached(sql)?
        .query_row(params![ended.job_id, worker, ended.number], |row| {
            Ok(Held {
                definition_id: row.get(0)?,
                name: row.get(1)?,
                budget_used: row.get(2)?,
                cancel_requested: row.get(3)?,
                expires_at: row.get::<_, Option<i64>>(4)?.map(Timestamp),
                worker_name: row.get(5)?,
                queue: row.get(6)?,
            })
        })
        .optional()?)
}

/// The job's own words, then runner's, then what could not be read of the report.
fn message(ended: &Ended) -> Option<String> {
    let parts: Vec<&str> = ended
        .report
        .message
        .iter()
        .chain(&ended.message)
        .chain(&ended.report.notes)
        .map(String::as_str)
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn insert(tx: &Connection, worker: i64, attempt: &Attempt) -> Result<()> {
    let (exit_code, signal) = match attempt.status {
        Some(Status::Exited(exit)) => (Some(exit), None),
        Some(Status::Signaled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    tx
        .prepare_cached(
            "INSERT INTO attempts (job_id, number, budget_number, outcome, error_code, exit_code, signal, message,
                                   worker_id, started_at, finished_at, duration_ms, leaked, next_state, dead_reason,
                                   nominal_delay_ms, delay_ms, spawn_failure)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            attempt.job_id,
            attempt.number,
            attempt.budget_number,
            attempt.outcome.as_str(),
            attempt.error_code.as_ref().map(crate::model::ErrorCode::as_str),
            exit_code,
            signal,
            attempt.message,
            worker,
            attempt.started_at.map(|at| at.0),
            attempt.finished_at.0,
            attempt.duration.map(|span| span.0),
            attempt.leaked,
            attempt.next_state.as_str(),
            attempt.dead_reason.map(crate::model::DeadReason::as_str),
            attempt.nominal_delay.map(|span| span.0),
            attempt.delay.map(|span| span.0),
            attempt.spawn_failure.map(SpawnFailure::as_str),
        ])?;
    Ok(())
}

fn update_job(
    tx: &Connection,
    worker: i64,
    attempt: &Attempt,
    run_at: Option<i64>,
    expires_at: Option<i64>,
    result: Option<&str>,
) -> Result<()> {
    let dead = attempt.dead_reason;
    let changed = tx
        .prepare_cached(
            "UPDATE jobs SET state = ?4, worker_id = NULL, changed_at = ?5, run_at = coalesce(?6, run_at),
                             attempts = attempts + 1, budget_used = budget_used + ?7,
                             started_at = coalesce(started_at, ?8), dead_reason = ?9, error_code = ?10,
                             result = coalesce(?11, result), expires_at = ?12
             WHERE id = ?1 AND state = 'running' AND worker_id = ?2 AND attempts = ?3 - 1",
        )?
        .execute(params![
            attempt.job_id,
            worker,
            attempt.number,
            attempt.next_state.as_str(),
            attempt.finished_at.0,
            run_at,
            attempt.counted(),
            attempt.started_at.map(|at| at.0),
            dead.map(crate::model::DeadReason::as_str),
            dead.and(attempt.error_code.as_ref()).map(crate::model::ErrorCode::as_str),
            result,
            expires_at,
        ])?;
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::InvalidData(format!("job {} changed within a transaction", attempt.job_id)))
}
