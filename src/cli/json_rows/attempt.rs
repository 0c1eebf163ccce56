//! An attempt as JSON.

use serde::Serialize;

use super::time;
use crate::model::{Attempt, ErrorCode, JobState, Outcome, Status, sentence, signal};
use crate::store::{JobRow, Output};
use crate::text::{Millis, rfc3339};

/// An attempt.
#[derive(Debug, Serialize)]
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
        // An interruption is nobody's failure: there is nothing to wait for, also where it was the last run.
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
            stdout: None,
            stderr: None,
            stdout_omitted_bytes: None,
            stderr_omitted_bytes: None,
        }
    }

    /// The attempt that runs now: what is not known yet is null.
    pub fn running(job: &JobRow) -> Self {
        Self {
            job_id: job.id,
            number: job.attempts.saturating_add(1),
            outcome: None,
            error_code: None,
            exit_code: None,
            signal: None,
            message: None,
            started_at: time(job.attempt_started_at),
            finished_at: None,
            duration_ms: None,
            will_retry: None,
            decision: None,
            counted: None,
            nominal_delay_ms: None,
            delay_ms: None,
            next_retry_at: None,
            worker_id: job.worker_id.clone(),
            leaked: None,
            stdout: None,
            stderr: None,
            stdout_omitted_bytes: None,
            stderr_omitted_bytes: None,
        }
    }

    /// Adds what it wrote.
    #[must_use]
    pub fn with_output(mut self, output: &Output) -> Self {
        let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned());
        self.stdout = text(&output.stdout.bytes);
        self.stderr = text(&output.stderr.bytes);
        self.stdout_omitted_bytes = Some(output.stdout.omitted);
        self.stderr_omitted_bytes = Some(output.stderr.omitted);
        self
    }
}
