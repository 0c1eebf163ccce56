//! One start of a job's command: its exit, its output and its record.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::words;
use super::{DeadReason, ErrorCode, JobState};
use crate::text::{Millis, Timestamp};

words! {
    Outcome {
        Succeeded = "succeeded",
        /// The process ended by itself, without a success status.
        Failed = "failed",
        TimedOut = "timed_out",
        SpawnFailed = "spawn_failed",
        WorkerCrashed = "worker_crashed",
        /// Its worker was told to stop. Not counted in the budget.
        Interrupted = "interrupted",
        Cancelled = "cancelled",
    }
}

impl Outcome {
    /// Neither a success, nor ended by a person or a stop of its worker.
    pub const fn is_failure(&self) -> bool {
        !matches!(self, Self::Succeeded | Self::Interrupted | Self::Cancelled)
    }
}

words! {
    /// Why a command could not be started.
    SpawnFailure {
        /// The program or its directory does not exist: exit status 127 of a shell.
        NotFound = "not_found",
        /// The program exists and cannot be executed: exit status 126 of a shell.
        NotExecutable = "not_executable",
    }
}

/// The end of the process itself, whatever runner did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0 to 255.
    Exited(i32),
    /// The number of the signal that killed it.
    Signaled(i32),
}

/// Why runner ended an attempt, or why the command never ran. The first reason counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    Cancelled,
    /// Its worker was told to stop.
    Interrupted,
    WorkerCrashed,
    TimedOut,
    SpawnFailed,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// None if the process ended by itself.
    pub stop_reason: Option<StopReason>,
    /// None if the process never ran, or its end was not seen.
    pub status: Option<Status>,
}

impl Exit {
    /// A process that ended by itself.
    pub const fn by_itself(status: Status) -> Self {
        Self { stop_reason: None, status: Some(status) }
    }

    /// An attempt whose end was not seen, or that never ran.
    pub const fn unseen(reason: StopReason) -> Self {
        Self { stop_reason: Some(reason), status: None }
    }
}

/// The kept part of one output stream.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StreamBytes {
    /// The head, then the tail.
    pub bytes: Vec<u8>,
    /// The length of the head; matters only if bytes were omitted.
    pub head: usize,
    /// The number of bytes left out between head and tail.
    pub omitted: u64,
}

impl StreamBytes {
    /// True if the stream carried nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.omitted == 0
    }
}

/// An ended attempt as the history keeps it, without its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub job_id: i64,
    /// From 1, without gaps, over all budgets.
    pub number: u32,
    pub outcome: Outcome,
    /// None exactly for a success.
    pub error_code: Option<ErrorCode>,
    /// Also after a timeout.
    pub status: Option<Status>,
    /// From runner or from the job.
    pub message: Option<String>,
    pub worker_id: String,
    /// None if it is unknown whether the attempt started.
    pub started_at: Option<Timestamp>,
    /// After a crash, the end of the recovery.
    pub finished_at: Timestamp,
    /// By the monotonic clock; none of a crash.
    pub duration: Option<Millis>,
    /// Which run of its budget it was, from 1.
    pub budget_number: u32,
    /// The decision.
    pub next_state: JobState,
    pub dead_reason: Option<DeadReason>,
    /// The policy's delay before jitter, if a retry was decided.
    pub nominal_delay: Option<Millis>,
    /// The drawn or reported delay, if a retry was decided.
    pub delay: Option<Millis>,
    /// A background process held its output open after its end.
    pub leaked: bool,
    pub spawn_failure: Option<SpawnFailure>,
}

impl Attempt {
    /// Does the attempt count in the budget? Interrupted ones do not.
    pub fn counted(&self) -> bool {
        self.outcome != Outcome::Interrupted
    }

    /// When the retry that was decided falls due.
    pub fn next_retry_at(&self) -> Option<Timestamp> {
        self.delay.map(|delay| self.finished_at.plus(delay))
    }
}
