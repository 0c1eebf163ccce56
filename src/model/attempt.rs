//! One start of a job's command: how it ended, and what is kept of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::job::words;
use super::{DeadReason, ErrorCode, JobState};
use crate::text::{Millis, Timestamp};

words! {
    /// How an attempt came out.
    Outcome {
        /// It exited with a success status.
        Succeeded = "succeeded",
        /// It ended by itself, and not well.
        Failed = "failed",
        /// It outlived its timeout.
        TimedOut = "timed_out",
        /// It could not be started.
        SpawnFailed = "spawn_failed",
        /// Its worker died.
        WorkerCrashed = "worker_crashed",
        /// Its worker was told to stop. Not counted in the budget.
        Interrupted = "interrupted",
        /// A person cancelled it.
        Cancelled = "cancelled",
    }
}

/// What the process itself did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this status, 0 to 255.
    Exited(i32),
    /// It was killed by the signal of this number.
    Signaled(i32),
}

/// Why runner began to end an attempt, or why it never ran; of several the first that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A person cancelled the job.
    Cancelled,
    /// Its worker was told to stop.
    Interrupted,
    /// Its worker died.
    WorkerCrashed,
    /// It outlived its timeout.
    TimedOut,
    /// It could not be started.
    SpawnFailed,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Set where runner had a hand in it.
    pub cut: Option<StopReason>,
    /// What the process did; none where it never ran or nobody saw its end.
    pub status: Option<Status>,
}

impl Exit {
    /// A process that ended by itself.
    pub const fn by_itself(status: Status) -> Self {
        Self { cut: None, status: Some(status) }
    }

    /// An attempt that nobody saw end, or that never ran.
    pub const fn unseen(cut: StopReason) -> Self {
        Self { cut: Some(cut), status: None }
    }
}

/// An ended attempt as the history keeps it, without its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The job it belongs to.
    pub job_id: i64,
    /// From 1, without gaps, over all budgets.
    pub number: u32,
    /// How it came out.
    pub outcome: Outcome,
    /// None exactly for a success.
    pub error_code: Option<ErrorCode>,
    /// What the process did, also after a timeout.
    pub status: Option<Status>,
    /// What runner or the job said about it.
    pub message: Option<String>,
    /// The worker that ran it.
    pub worker_id: String,
    /// None where nobody knows whether it started.
    pub started_at: Option<Timestamp>,
    /// When it ended; for a crash, when its recovery ended.
    pub finished_at: Timestamp,
    /// By the monotonic clock; none for a crash.
    pub duration: Option<Millis>,
    /// Which run of its budget it was, from 1.
    pub budget_number: u32,
    /// The state that was decided.
    pub next_state: JobState,
    /// Why, where that was `dead`.
    pub dead_reason: Option<DeadReason>,
    /// The policy's delay before jitter, where a retry was decided.
    pub nominal_delay: Option<Millis>,
    /// The delay that was drawn or reported, where a retry was decided.
    pub delay: Option<Millis>,
    /// A child outlived it and held its output open.
    pub leaked: bool,
}

impl Attempt {
    /// Does it count in the budget? Runs that runner itself interrupted do not.
    pub fn counted(&self) -> bool {
        self.outcome != Outcome::Interrupted
    }

    /// When the retry that was decided falls due.
    pub fn next_retry_at(&self) -> Option<Timestamp> {
        self.delay.map(|delay| self.finished_at.plus(delay))
    }
}
