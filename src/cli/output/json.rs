//! Jobs, attempts, the overview and statistics as JSON.
//!
//! The names of the fields and their order are promised to scripts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::worker_status::WorkerStatus;
use crate::model::{
    Attempt, Bytes, Command, DeadReason, ErrorCode, JobSpec, JobState, Outcome, Status, sentence, signal,
};
use crate::store::{self, Counts, JobRow, NameStats, NewJob, Overview, QueueRow, StoreFile};
use crate::text::{Millis, Timestamp, rfc3339};

#[derive(Debug, Serialize)]
pub struct JobJson {
    id: Option<i64>,
    name: String,
    queue: String,
    state: JobState,
    dead_reason: Option<DeadReason>,
    error_code: Option<ErrorCode>,
    priority: i32,
    attempts: u32,
    budget_used: u32,
    max_attempts: u32,
    retryable: bool,
    command: CommandJson,
    args: Vec<String>,
    cwd: String,
    unique_key: Option<String>,
    idempotency_key: Option<String>,
    enqueued_at: Option<String>,
    run_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    expires_at: Option<String>,
    next_retry_at: Option<String>,
    cancel_requested_at: Option<String>,
    result: Option<String>,
    worker_id: Option<String>,
    history: Option<Vec<AttemptJson>>,
}

/// A command: a string for the shell, or an array.
#[derive(Debug)]
struct CommandJson(Command);

impl Serialize for CommandJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Command::Shell(line) => serializer.serialize_str(&line.to_text()),
            Command::Argv(argv) => serializer.collect_seq(argv.iter().map(Bytes::to_text)),
        }
    }
}

impl JobJson {
    /// A job as it was read.
    pub fn new(job: &JobRow) -> Self {
        Self {
            id: Some(job.id),
            state: job.state,
            dead_reason: job.dead_reason,
            error_code: job.error_code.clone(),
            attempts: job.attempts,
            budget_used: job.budget_used,
            idempotency_key: job.idempotency_key.clone(),
            enqueued_at: Some(rfc3339(job.enqueued_at)),
            started_at: time(job.started_at),
            finished_at: time(job.finished_at()),
            expires_at: time(job.expires_at),
            next_retry_at: time(job.next_retry_at()),
            cancel_requested_at: time(job.cancel_requested_at),
            result: job.result.clone(),
            worker_id: job.worker_id.clone(),
            ..Self::of(&job.spec, &job.args, job.run_at)
        }
    }

    /// A job that is not enqueued yet.
    pub fn planned(job: &NewJob, now: Timestamp) -> Self {
        let run_at = job.run_at.map_or(now, |at| at.max(now));
        Self {
            idempotency_key: job.idempotency_key.clone(),
            expires_at: time(job.spec.expires_in.map(|span| run_at.plus(span))),
            ..Self::of(&job.spec, &job.args, run_at)
        }
    }

    fn of(spec: &JobSpec, args: &[Bytes], run_at: Timestamp) -> Self {
        Self {
            id: None,
            name: spec.name.clone(),
            queue: spec.queue.clone(),
            state: JobState::Pending,
            dead_reason: None,
            error_code: None,
            priority: spec.priority,
            attempts: 0,
            budget_used: 0,
            max_attempts: spec.policy.runs(),
            retryable: spec.policy.retryable,
            command: CommandJson(spec.command.clone()),
            args: args.iter().map(Bytes::to_text).collect(),
            cwd: spec.cwd.to_text(),
            unique_key: spec.unique_key.clone(),
            idempotency_key: None,
            enqueued_at: None,
            run_at: rfc3339(run_at),
            started_at: None,
            finished_at: None,
            expires_at: None,
            next_retry_at: None,
            cancel_requested_at: None,
            result: None,
            worker_id: None,
            history: None,
        }
    }

    /// Adds the ended attempts.
    #[must_use]
    pub fn with_history(mut self, history: &[Attempt]) -> Self {
        let runs = self.max_attempts;
        self.history = Some(history.iter().map(|attempt| AttemptJson::new(attempt, runs)).collect());
        self
    }
}

#[derive(Debug, Default, Serialize)]
pub struct AttemptJson {
    job_id: i64,
    number: u32,
    outcome: Option<Outcome>,
    error_code: Option<ErrorCode>,
    exit_code: Option<i32>,
    signal: Option<String>,
    message: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    duration_ms: Option<Millis>,
    will_retry: Option<bool>,
    decision: Option<String>,
    counted: Option<bool>,
    nominal_delay_ms: Option<Millis>,
    delay_ms: Option<Millis>,
    next_retry_at: Option<String>,
    worker_id: Option<String>,
    leaked: Option<bool>,
    stdout: Option<String>,
    stderr: Option<String>,
    stdout_omitted_bytes: Option<u64>,
    stderr_omitted_bytes: Option<u64>,
}

impl AttemptJson {
    /// An ended attempt, without its output. `runs` is the number of runs in its job's budget.
    pub fn new(attempt: &Attempt, runs: u32) -> Self {
        let (exit_code, signal) = match attempt.status {
            Some(Status::Exited(exit)) => (Some(exit), None),
            Some(Status::Signaled(number)) => (None, Some(signal::name(number))),
            None => (None, None),
        };
        // An interruption is no failure: there is nothing to wait for, even if it ended the job.
        let no_wait = (attempt.outcome == Outcome::Interrupted).then_some(Millis(0));
        Self {
            job_id: attempt.job_id,
            number: attempt.number,
            outcome: Some(attempt.outcome),
            error_code: attempt.error_code.clone(),
            exit_code,
            signal,
            message: attempt.message.clone(),
            started_at: time(attempt.started_at),
            finished_at: Some(rfc3339(attempt.finished_at)),
            duration_ms: attempt.duration,
            will_retry: Some(attempt.next_state == JobState::Pending),
            decision: Some(sentence(attempt, runs)),
            counted: Some(attempt.counted()),
            nominal_delay_ms: attempt.nominal_delay.or(no_wait),
            delay_ms: attempt.delay.or(no_wait),
            next_retry_at: time(attempt.next_retry_at()),
            worker_id: Some(attempt.worker_id.clone()),
            leaked: Some(attempt.leaked),
            ..Self::default()
        }
    }

    /// The attempt that runs now: what is not known yet is null.
    pub fn running(job: &JobRow) -> Self {
        Self {
            job_id: job.id,
            number: job.attempts.saturating_add(1),
            started_at: time(job.attempt_started_at),
            worker_id: job.worker_id.clone(),
            ..Self::default()
        }
    }

    /// Adds what it wrote.
    #[must_use]
    pub fn with_output(mut self, output: &store::Output) -> Self {
        let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
        self.stdout = text(&output.stdout.bytes);
        self.stderr = text(&output.stderr.bytes);
        self.stdout_omitted_bytes = Some(output.stdout.omitted);
        self.stderr_omitted_bytes = Some(output.stderr.omitted);
        self
    }
}

#[derive(Debug, Serialize)]
pub struct OverviewJson {
    db: String,
    counts: CountsJson,
    queues: Vec<QueueJson>,
    workers: Vec<WorkerJson>,
    dead_by_error_code: BTreeMap<String, u64>,
    next_run_at: Option<String>,
    oldest_due_at: Option<String>,
}

impl OverviewJson {
    pub fn new(file: &StoreFile, overview: &Overview, workers: &[WorkerStatus]) -> Self {
        Self {
            db: file.path().display().to_string(),
            counts: overview.counts.into(),
            queues: overview.queues.iter().map(QueueJson::new).collect(),
            workers: workers.iter().map(WorkerJson::new).collect(),
            dead_by_error_code: overview.dead_by_error_code.clone(),
            next_run_at: time(overview.next_run_at),
            oldest_due_at: time(overview.oldest_due_at),
        }
    }
}

#[derive(Debug, Serialize)]
struct CountsJson {
    ready: u64,
    scheduled: u64,
    retrying: u64,
    running: u64,
    succeeded: u64,
    dead: u64,
    cancelled: u64,
}

impl From<Counts> for CountsJson {
    fn from(counts: Counts) -> Self {
        let Counts { ready, scheduled, retrying, running, succeeded, dead, cancelled } = counts;
        Self { ready, scheduled, retrying, running, succeeded, dead, cancelled }
    }
}

#[derive(Debug, Serialize)]
pub struct QueueJson {
    name: String,
    paused: bool,
    ready: u64,
    scheduled: u64,
    retrying: u64,
    running: u64,
}

impl QueueJson {
    pub fn new(queue: &QueueRow) -> Self {
        let QueueRow { name, paused, counts } = queue;
        let Counts { ready, scheduled, retrying, running, .. } = *counts;
        Self { name: name.clone(), paused: *paused, ready, scheduled, retrying, running }
    }
}

#[derive(Debug, Serialize)]
pub struct WorkerJson {
    id: String,
    pid: i32,
    alive: bool,
    started_at: String,
    slots: usize,
    running: u64,
    /// Null: every queue.
    queues: Option<Vec<String>>,
}

impl WorkerJson {
    pub fn new(worker: &WorkerStatus) -> Self {
        let WorkerStatus { row, running, .. } = worker;
        Self {
            id: row.name.clone(),
            pid: row.pid,
            alive: worker.is_alive(),
            started_at: rfc3339(row.started_at),
            slots: row.slots,
            running: *running,
            queues: row.queues.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct StatsJson {
    name: String,
    /// Ended jobs: the sum of the next three.
    jobs: u64,
    succeeded: u64,
    dead: u64,
    cancelled: u64,
    /// Of the jobs that were not cancelled; null where there is none.
    success_rate: Option<f64>,
    attempts: u64,
    attempts_per_success: Option<f64>,
    run_p50_ms: Option<Millis>,
    run_p95_ms: Option<Millis>,
    run_max_ms: Option<Millis>,
    wait_p50_ms: Option<Millis>,
    wait_p95_ms: Option<Millis>,
    wait_max_ms: Option<Millis>,
    last_failure_at: Option<String>,
    last_error_code: Option<String>,
}

impl StatsJson {
    pub fn new(name: &str, stats: &NameStats) -> Self {
        let (runs, waits) = (&stats.runs, &stats.waits);
        Self {
            name: name.to_owned(),
            jobs: stats.jobs(),
            succeeded: stats.succeeded,
            dead: stats.dead,
            cancelled: stats.cancelled,
            success_rate: stats.success_rate().map(|rate| rounded(rate, 10_000.0)),
            attempts: stats.attempts,
            attempts_per_success: stats.attempts_per_success().map(|ratio| rounded(ratio, 100.0)),
            run_p50_ms: runs.percentile(50),
            run_p95_ms: runs.percentile(95),
            run_max_ms: runs.max(),
            wait_p50_ms: waits.percentile(50),
            wait_p95_ms: waits.percentile(95),
            wait_max_ms: waits.max(),
            last_failure_at: time(stats.last_failure.as_ref().map(|(at, _)| *at)),
            last_error_code: stats.last_failure.as_ref().map(|(_, code)| code.clone()),
        }
    }
}

/// Rounded to a fraction of so many parts.
fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(rfc3339)
}
