//! JSON of all that `inspect` shows, and the columns of its CSV.
//!
//! The names of the fields and their order are promised to scripts.

use serde_json::{Value, json};

use crate::model::{
    Attempt, AttemptOutput, Bytes, Command, JobState, MemoryPeak, Outcome, Pause, Phase, Status,
    decision_text, signal,
};
use crate::store::{
    AttemptRow, JobRow, NameStats, QueueRow, StoreFile, StoredSchedule, UnmetDependency, WorkerStatus,
};
use crate::text::{Millis, Timestamp, rfc3339};
use crate::view::snapshot::{self, Snapshot};

/// The keys of a job, each with its value.
const JOB: [Field<JobRow>; 38] = [
    ("id", |job| json!(job.id)),
    ("name", |job| json!(job.definition.name)),
    ("label", |job| json!(job.label)),
    ("queue", |job| json!(job.definition.queue)),
    ("state", |job| json!(job.state)),
    ("phase", |job| json!(job.status())),
    ("dead_reason", |job| json!(job.dead_reason)),
    ("error_code", |job| json!(job.error_code)),
    ("priority", |job| json!(job.definition.priority)),
    ("attempts", |job| json!(job.attempts)),
    ("budget_used", |job| json!(job.attempts_used)),
    ("max_attempts", |job| json!(job.definition.policy.max_attempts())),
    ("retryable", |job| json!(job.definition.policy.retryable)),
    ("command", |job| json!(command_json(&job.definition.command))),
    ("args", |job| json!(texts(&job.args))),
    ("cwd", |job| json!(job.definition.cwd.to_text())),
    ("unique_key", |job| json!(job.definition.unique_key)),
    ("idempotency_key", |job| json!(job.idempotency_key)),
    ("enqueued_at", |job| json!(rfc3339(job.enqueued_at))),
    ("run_at", |job| json!(rfc3339(job.run_at))),
    ("started_at", |job| json!(job.started_at.map(rfc3339))),
    ("finished_at", |job| json!(job.finished_at().map(rfc3339))),
    ("expires_at", |job| json!(job.expires_at.map(rfc3339))),
    ("next_retry_at", |job| json!(job.next_retry_at().map(rfc3339))),
    ("cancel_requested_at", |job| json!(job.cancel_requested_at.map(rfc3339))),
    ("result", |job| json!(job.result)),
    ("worker_id", |job| json!(job.worker_id)),
    ("after", |job| json!(job.after)),
    ("after_any", |job| json!(job.after_any)),
    ("waits_for", |job| json!(waits_for_json(job))),
    ("scheduled_for", |job| json!(job.scheduled.map(|scheduled| rfc3339(scheduled.at)))),
    ("resolved_at", |job| json!(job.resolved_at.map(rfc3339))),
    ("resolution", |job| json!(job.resolution)),
    ("replaced_by", |job| json!(job.replaced_by)),
    ("file", |job| json!(job.file)),
    ("command_line", |job| json!(job.definition.command.typed())),
    ("warning", |job| json!(job.warning)),
    ("history", |_| Value::Null),
];

/// A job without its history.
pub fn job_json(job: &JobRow) -> Value {
    object(&JOB, job)
}

/// A key and its value.
type Field<R> = (&'static str, fn(&R) -> Value);

fn object<R>(fields: &[Field<R>], of: &R) -> Value {
    Value::Object(fields.iter().map(|(key, value)| ((*key).to_owned(), value(of))).collect())
}

fn command_json(command: &Command) -> Value {
    match command {
        Command::Shell(line) => json!(line.to_text()),
        Command::Argv(words) => texts(words),
    }
}

/// Each job that keeps this blocked one from running; null for a job that is not blocked, and in lists, which do not look.
/// The name and the state are null where the other job was removed.
pub fn waits_for_json(job: &JobRow) -> Option<Vec<Value>> {
    let of = |unmet: &UnmetDependency| {
        let (name, state) = unmet.job.as_ref().map(|job| (&job.name, job.state)).unzip();
        json!({ "job_id": unmet.id, "name": name, "state": state })
    };
    let is_known = job.phase == Some(Phase::Blocked) && !job.waits_for.is_empty();
    is_known.then(|| job.waits_for.iter().map(of).collect())
}

/// The keys that a dead letter has besides those of a job: what its last attempt reported, and the last line that it wrote.
const DEAD_LETTER: [&str; 2] = ["message", "last_output"];

/// A dead letter: a job with [`DEAD_LETTER`].
pub fn dead_letter_json(job: &JobRow, last_output: Option<&str>) -> Value {
    let mut json = job_json(job);
    let [message, last] = DEAD_LETTER;
    json[message] = json!(job.last_message);
    json[last] = json!(last_output);
    json
}

/// A job with its ended attempts.
pub fn job_with_history_json(job: &JobRow, history: &[Attempt]) -> Value {
    let mut json = job_json(job);
    json["history"] = history.iter().map(|attempt| attempt_json(job, Some(attempt))).collect();
    json
}

fn texts(words: &[Bytes]) -> Value {
    words.iter().map(Bytes::to_text).collect()
}

/// The attempt of this job that `ended`, without its output; else the attempt that runs now, of which most is null.
pub fn attempt_json(job: &JobRow, ended: Option<&Attempt>) -> Value {
    let (name, max_attempts) = (&job.definition.name, job.definition.policy.max_attempts());
    let mut json = attempt_fields(name, ended.map(|attempt| (attempt, max_attempts)));
    if ended.is_none() {
        json["job_id"] = job.id.into();
        json["number"] = job.last_attempt().into();
        json["started_at"] = job.attempt_started_at.map(rfc3339).into();
        json["worker_id"] = job.worker_id.as_deref().into();
    }
    json
}

/// An attempt of a list.
pub fn listed_attempt_json(row: &AttemptRow) -> Value {
    attempt_fields(&row.name, Some((&row.attempt, row.max_attempts)))
}

/// An attempt that has ended, with the number of attempts that its job may make; else the same keys without values.
fn attempt_fields(name: &str, ended: Option<(&Attempt, u32)>) -> Value {
    let attempt = ended.map(|(attempt, _)| attempt);
    // An interrupted attempt is tried again at once. Its delays are 0 and not null even if the interruption ended the job.
    let interrupted = attempt.is_some_and(|attempt| attempt.outcome == Outcome::Interrupted);
    let no_delay = interrupted.then_some(Millis(0));
    let usage = attempt.and_then(|attempt| attempt.usage);
    let (exit_code, signal) = match attempt.and_then(|attempt| attempt.status) {
        Some(Status::Exited(exit)) => (Some(exit), None),
        Some(Status::Signaled(number)) => (None, Some(signal::name(number))),
        None => (None, None),
    };
    json!({
        "job_id": attempt.map(|attempt| attempt.job_id),
        "name": name,
        "number": attempt.map(|attempt| attempt.number),
        "outcome": attempt.map(|attempt| attempt.outcome),
        "error_code": attempt.map(|attempt| &attempt.error_code),
        "exit_code": exit_code,
        "signal": signal,
        "message": attempt.map(|attempt| &attempt.message),
        "started_at": attempt.and_then(|attempt| attempt.started_at).map(rfc3339),
        "finished_at": attempt.map(|attempt| rfc3339(attempt.finished_at)),
        "duration_ms": attempt.map(|attempt| attempt.duration),
        "cpu_ms": usage.map(|usage| usage.cpu),
        "max_rss_bytes": usage.and_then(|usage| usage.memory.known()),
        "will_retry": attempt.map(|attempt| attempt.next_state == JobState::Pending),
        "decision": ended.map(|(attempt, max_attempts)| decision_text(attempt, max_attempts)),
        "counted": attempt.map(Attempt::counted),
        "nominal_delay_ms": attempt.and_then(|attempt| attempt.nominal_delay).or(no_delay),
        "delay_ms": attempt.and_then(|attempt| attempt.delay).or(no_delay),
        "next_retry_at": attempt.and_then(Attempt::next_retry_at).map(rfc3339),
        "worker_id": attempt.and_then(|attempt| attempt.worker_id.as_ref()),
        "leaked": attempt.map(|attempt| attempt.output_held_open),
        "stdout": null,
        "stderr": null,
        "stdout_omitted_bytes": null,
        "stderr_omitted_bytes": null,
        "warning": attempt.and_then(|attempt| attempt.warning.as_ref()),
    })
}

/// Adds its output to an attempt.
pub fn with_output(mut attempt: Value, output: &AttemptOutput) -> Value {
    attempt["stdout"] = String::from_utf8_lossy(&output.stdout.bytes).into();
    attempt["stderr"] = String::from_utf8_lossy(&output.stderr.bytes).into();
    attempt["stdout_omitted_bytes"] = output.stdout.omitted.into();
    attempt["stderr_omitted_bytes"] = output.stderr.omitted.into();
    attempt
}

/// The keys of a schedule, each with its value.
const SCHEDULE: [Field<StoredSchedule>; 17] = [
    ("name", |row| json!(row.name())),
    ("schedule", |row| json!(row.text.times_text())),
    ("timezone", |row| json!(row.text.timezone)),
    ("zone", |row| json!(row.zone)),
    ("missed", |row| json!(row.text.missed.as_str())),
    ("next_at", |row| json!(row.next_at.map(rfc3339))),
    ("last_fired_at", |row| json!(row.last.map(|(at, _)| rfc3339(at)))),
    ("last_job_id", |row| json!(row.last.map(|(_, job)| job))),
    ("paused", |row| json!(row.is_paused())),
    ("paused_until", |row| json!(row.pause.and_then(Pause::ends_at).map(rfc3339))),
    ("skipped", |row| json!(row.skipped)),
    ("skipped_in_row", |row| json!(row.skipped_in_row)),
    ("fresh_within_ms", |row| json!(row.text.fresh_within)),
    ("random_delay_ms", |row| json!(row.text.random_delay)),
    ("file", |row| json!(row.file)),
    ("schedules", |row| json!(row.text.lines)),
    ("missed_within_ms", |row| json!(row.text.missed_within)),
];

pub fn schedule_json(row: &StoredSchedule) -> Value {
    object(&SCHEDULE, row)
}

/// A time at which a schedule fires.
pub fn time_to_come_json(name: &str, at: Timestamp) -> Value {
    json!({ "name": name, "at": rfc3339(at) })
}

pub fn overview_json(
    file: &StoreFile,
    Snapshot { overview, workers, attention, .. }: &Snapshot,
    now: Timestamp,
) -> Value {
    let by_code = overview.dead_by_error_code.iter();
    json!({
        "db": file.path().display().to_string(),
        "counts": overview.counts,
        "queues": overview.queues.iter().map(queue_json).collect::<Value>(),
        "workers": workers.iter().map(worker_json).collect::<Value>(),
        "dead_by_error_code": overview.dead_by_error_code,
        "next_run_at": overview.next_run_at.map(rfc3339),
        "oldest_due_at": overview.oldest_due_at.map(rfc3339),
        "time": rfc3339(now),
        "version": env!("CARGO_PKG_VERSION"),
        "host": snapshot::host(),
        "attention": attention,
        // Also as a list, because tools that make columns of keys get other columns each day.
        "dead_by_code": by_code.map(|(code, jobs)| json!({ "error_code": code, "jobs": jobs })).collect::<Value>(),
    })
}

pub fn queue_json(row: &QueueRow) -> Value {
    queue_fields("name", row)
}

/// A queue whose name has this key.
pub fn queue_fields(key: &str, row: &QueueRow) -> Value {
    let QueueRow { name, limits, counts, .. } = row;
    let queue = [(key, name.as_str().into()), ("paused", row.is_paused().into())];
    let counts = [
        ("ready", counts.ready.into()),
        ("scheduled", counts.scheduled.into()),
        ("retrying", counts.retrying.into()),
        ("blocked", counts.blocked.into()),
        ("running", counts.running.into()),
    ];
    queue.into_iter().chain(limits.named()).chain(counts).collect()
}

/// A worker of the overview.
pub fn worker_json(worker: &WorkerStatus) -> Value {
    worker_fields("id", worker)
}

/// A worker of a list.
pub fn listed_worker_json(worker: &WorkerStatus) -> Value {
    let mut object = worker_fields("worker_id", worker);
    object["job_id"] = json!(worker.row.run_job_id); // of a run
    object["outdated"] = json!(worker.is_outdated);
    object
}

fn worker_fields(key: &str, worker: &WorkerStatus) -> Value {
    let row = &worker.row;
    json!({
        key: row.name,
        "pid": row.pid,
        "alive": worker.is_alive(),
        "started_at": rfc3339(row.started_at),
        "slots": row.slots,
        "running": row.running,
        "queues": row.queues, // null: every queue
    })
}

pub fn stats_json(stats: &NameStats) -> Value {
    let (runs, waits) = (&stats.runs, &stats.waits);
    let rounded = |number: f64, parts: f64| (number * parts).round() / parts;
    let (last_failure_at, code) = stats.last_failure.as_ref().map(|(at, code)| (rfc3339(*at), code)).unzip();
    json!({
        "name": stats.name,
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
        "cpu_p95_ms": stats.cpu.percentile(95),
        "max_rss_p95_bytes": stats.memory.percentile(95).and_then(MemoryPeak::known),
        "file": stats.file, // null: ad hoc, or unknown
        "warnings": stats.warnings, // of the succeeded
    })
}

/// The columns of jobs in a table: their keys, but for those that say the same as `command_line`, and the history, which is null in
/// lists.
pub fn job_columns() -> Vec<String> {
    let left_out = ["command", "args", "history"];
    keys(&JOB).filter(|key| !left_out.contains(&key.as_str())).collect()
}

pub fn dead_letter_columns() -> Vec<String> {
    job_columns().into_iter().chain(DEAD_LETTER.map(str::to_owned)).collect()
}

pub fn schedule_columns() -> Vec<String> {
    keys(&SCHEDULE).collect()
}

pub fn time_to_come_columns() -> Vec<String> {
    keys_of_object(&time_to_come_json("", Timestamp(0)))
}

pub fn attempt_columns() -> Vec<String> {
    keys_of_object(&attempt_fields("", None))
}

pub fn stats_columns() -> Vec<String> {
    keys_of_object(&stats_json(&NameStats::default()))
}

fn keys<R>(fields: &[Field<R>]) -> impl Iterator<Item = String> {
    fields.iter().map(|(key, _)| (*key).to_owned())
}

fn keys_of_object(object: &Value) -> Vec<String> {
    object.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect()
}
