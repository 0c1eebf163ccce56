//! A job as JSON.

use serde::Serialize;

use super::{AttemptJson, time};
use crate::model::{Attempt, Bytes, Command, DeadReason, ErrorCode, JobSpec, JobState};
use crate::store::{JobRow, NewJob};
use crate::text::{Timestamp, rfc3339};

/// A job.
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
