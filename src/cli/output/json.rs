//! Jobs, attempts, the overview and statistics as JSON.
//!
//! The names of the fields and their order are promised to scripts.

use serde_json::{Value, json};

use crate::cli::worker_status::WorkerStatus;
use crate::model::{Attempt, Bytes, Command, JobSpec, JobState, Outcome, Status, decision_text, signal};
use crate::store::{self, After, JobRow, NameStats, NewJob, Overview, QueueRow, ScheduleRow, StoreFile};
use crate::text::{Millis, Timestamp, rfc3339};

/// A job without its history.
pub fn job_json(job: &JobRow) -> Value {
    let key = job.idempotency_key.as_deref();
    job_fields(Some(job), &job.spec, &job.args, job.run_at, key, job.expires_at, &job.after)
}

/// A job with its ended attempts.
pub fn job_with_history_json(job: &JobRow, history: &[Attempt]) -> Value {
    let runs = job.spec.policy.runs();
    let mut json = job_json(job);
    json["history"] = history.iter().map(|attempt| attempt_json(&job.spec.name, attempt, runs)).collect();
    json
}

/// A job that is not enqueued yet.
pub fn planned_job_json(job: &NewJob, now: Timestamp) -> Value {
    let run_at = job.due_at(now);
    let expires_at = job.spec.expires_in.map(|span| run_at.plus(span));
    let after = job.after.iter().filter_map(|after| match after {
        After::Job(id) => Some(*id),
        After::InCall(_) => None,
    });
    let after: Vec<i64> = after.collect();
    job_fields(None, &job.spec, &job.args, run_at, job.idempotency_key.as_deref(), expires_at, &after)
}

fn job_fields(
    row: Option<&JobRow>,
    spec: &JobSpec,
    args: &[Bytes],
    run_at: Timestamp,
    idempotency_key: Option<&str>,
    expires_at: Option<Timestamp>,
    after: &[i64],
) -> Value {
    let at = |time: fn(&JobRow) -> Option<Timestamp>| row.and_then(time).map(rfc3339);
    json!({
        "id": row.map(|job| job.id),
        "name": spec.name,
        "queue": spec.queue,
        "state": row.map_or(JobState::Pending, |job| job.state),
        "dead_reason": row.map(|job| job.dead_reason),
        "error_code": row.map(|job| &job.error_code),
        "priority": spec.priority,
        "attempts": row.map_or(0, |job| job.attempts),
        "budget_used": row.map_or(0, |job| job.budget_used),
        "max_attempts": spec.policy.runs(),
        "retryable": spec.policy.retryable,
        "command": match &spec.command {
            Command::Shell(line) => json!(line.to_text()),
            Command::Argv(words) => texts(words),
        },
        "args": texts(args),
        "cwd": spec.cwd.to_text(),
        "unique_key": spec.unique_key,
        "idempotency_key": idempotency_key,
        "enqueued_at": row.map(|job| rfc3339(job.enqueued_at)),
        "run_at": rfc3339(run_at),
        "started_at": at(|job| job.started_at),
        "finished_at": at(JobRow::finished_at),
        "expires_at": expires_at.map(rfc3339),
        "next_retry_at": at(JobRow::next_retry_at),
        "cancel_requested_at": at(|job| job.cancel_requested_at),
        "result": row.map(|job| &job.result),
        "worker_id": row.map(|job| &job.worker_id),
        "after": after,
        "scheduled_for": at(|job| job.scheduled.map(|scheduled| scheduled.at)),
        "resolved_at": at(|job| job.resolved_at),
        "resolution": row.map(|job| &job.resolution),
        "history": null,
    })
}

fn texts(words: &[Bytes]) -> Value {
    words.iter().map(Bytes::to_text).collect()
}

/// An ended attempt, without its output. `name` is the name of its job, `runs` the number of runs in the job's budget.
pub fn attempt_json(name: &str, attempt: &Attempt, runs: u32) -> Value {
    let (started_at, worker) = (attempt.started_at, Some(attempt.worker_id.as_str()));
    attempt_fields((attempt.job_id, name), attempt.number, started_at, worker, Some((attempt, runs)))
}

/// The attempt that runs now: unknown fields are null.
pub fn running_attempt_json(job: &JobRow) -> Value {
    let (id, name) = (job.id, job.spec.name.as_str());
    attempt_fields((id, name), job.last_attempt(), job.attempt_started_at, job.worker_id.as_deref(), None)
}

fn attempt_fields(
    (job_id, name): (i64, &str),
    number: u32,
    started_at: Option<Timestamp>,
    worker_id: Option<&str>,
    ended: Option<(&Attempt, u32)>,
) -> Value {
    let attempt = ended.map(|(attempt, _)| attempt);
    // An interruption is no failure: there is nothing to wait for, even if it ended the job.
    let interrupted = attempt.is_some_and(|attempt| attempt.outcome == Outcome::Interrupted);
    let no_delay = interrupted.then_some(Millis(0));
    let (exit_code, signal) = match attempt.and_then(|attempt| attempt.status) {
        Some(Status::Exited(exit)) => (Some(exit), None),
        Some(Status::Signaled(number)) => (None, Some(signal::name(number))),
        None => (None, None),
    };
    json!({
        "job_id": job_id,
        "name": name,
        "number": number,
        "outcome": attempt.map(|attempt| attempt.outcome),
        "error_code": attempt.map(|attempt| &attempt.error_code),
        "exit_code": exit_code,
        "signal": signal,
        "message": attempt.map(|attempt| &attempt.message),
        "started_at": started_at.map(rfc3339),
        "finished_at": attempt.map(|attempt| rfc3339(attempt.finished_at)),
        "duration_ms": attempt.map(|attempt| attempt.duration),
        "will_retry": attempt.map(|attempt| attempt.next_state == JobState::Pending),
        "decision": ended.map(|(attempt, runs)| decision_text(attempt, runs)),
        "counted": attempt.map(Attempt::counted),
        "nominal_delay_ms": attempt.and_then(|attempt| attempt.nominal_delay).or(no_delay),
        "delay_ms": attempt.and_then(|attempt| attempt.delay).or(no_delay),
        "next_retry_at": attempt.and_then(Attempt::next_retry_at).map(rfc3339),
        "worker_id": worker_id,
        "leaked": attempt.map(|attempt| attempt.leaked),
        "stdout": null,
        "stderr": null,
        "stdout_omitted_bytes": null,
        "stderr_omitted_bytes": null,
    })
}

/// Adds its output to an attempt.
pub fn with_output(mut attempt: Value, output: &store::Output) -> Value {
    attempt["stdout"] = String::from_utf8_lossy(&output.stdout.bytes).into();
    attempt["stderr"] = String::from_utf8_lossy(&output.stderr.bytes).into();
    attempt["stdout_omitted_bytes"] = output.stdout.omitted.into();
    attempt["stderr_omitted_bytes"] = output.stderr.omitted.into();
    attempt
}

pub fn schedule_json(row: &ScheduleRow) -> Value {
    json!({
        "name": row.name(),
        "schedule": row.text.schedule,
        "timezone": row.text.timezone,
        "missed": row.text.missed.as_str(),
        "next_at": row.next_at.map(rfc3339),
        "last_fired_at": row.last.map(|(at, _)| rfc3339(at)),
        "last_job_id": row.last.map(|(_, job)| job),
        "paused": row.paused,
        "skipped": row.skipped,
        "file": row.file,
    })
}

pub fn overview_json(file: &StoreFile, overview: &Overview, workers: &[WorkerStatus]) -> Value {
    json!({
        "db": file.path().display().to_string(),
        "counts": overview.counts,
        "queues": overview.queues.iter().map(queue_json).collect::<Value>(),
        "workers": workers.iter().map(worker_json).collect::<Value>(),
        "dead_by_error_code": overview.dead_by_error_code,
        "next_run_at": overview.next_run_at.map(rfc3339),
        "oldest_due_at": overview.oldest_due_at.map(rfc3339),
    })
}

pub fn queue_json(QueueRow { name, paused, limits, counts }: &QueueRow) -> Value {
    json!({
        "name": name,
        "paused": paused,
        "max_running": limits.max_running,
        "rate": limits.rate.map(|rate| rate.to_string()),
        "ready": counts.ready,
        "scheduled": counts.scheduled,
        "retrying": counts.retrying,
        "blocked": counts.blocked,
        "running": counts.running,
    })
}

pub fn worker_json(worker: &WorkerStatus) -> Value {
    let WorkerStatus { row, running, .. } = worker;
    json!({
        "id": row.name,
        "pid": row.pid,
        "alive": worker.is_alive(),
        "started_at": rfc3339(row.started_at),
        "slots": row.slots,
        "running": running,
        "queues": row.queues, // null: every queue
    })
}

pub fn stats_json((name, stats): &(String, NameStats)) -> Value {
    let (runs, waits) = (&stats.runs, &stats.waits);
    let rounded = |number: f64, parts: f64| (number * parts).round() / parts;
    let (last_failure_at, code) = stats.last_failure.as_ref().map(|(at, code)| (rfc3339(*at), code)).unzip();
    json!({
        "name": name,
        "jobs": stats.jobs(), // the sum of the next three
        "succeeded": stats.succeeded,
        "dead": stats.dead,
        "cancelled": stats.cancelled,
        "success_rate": stats.success_rate().map(|rate| rounded(rate, 10_000.0)),
        "attempts_per_success": stats.attempts_per_success().map(|ratio| rounded(ratio, 100.0)),
        "duration_p50_ms": runs.percentile(50),
        "duration_p95_ms": runs.percentile(95),
        "duration_max_ms": runs.max(),
        "wait_p50_ms": waits.percentile(50),
        "wait_p95_ms": waits.percentile(95),
        "last_success_at": stats.last_success.map(rfc3339),
        "last_failure_at": last_failure_at,
        "last_error_code": code,
    })
}
