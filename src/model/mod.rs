//! The rules: job definitions, names for the ends of attempts, and the decision after each attempt.
//!
//! Nothing here reads a clock, throws dice or does I/O: the same arguments give the same answer, so every rule has a
//! unit test. This room uses `text` only.

mod attempt;
mod backoff;
mod bytes;
mod classify;
mod decide;
mod error_code;
mod job;
mod limits;
#[cfg(test)]
mod no_panics;
mod percentiles;
mod policy;
mod schedule;
mod self_report;
pub mod signal;
mod state;

pub use attempt::{Attempt, Exit, Outcome, SpawnFailure, Status, StopReason, StreamBytes};
pub use backoff::{Backoff, Jitter, Strategy};
pub use bytes::{Bytes, MAX_ARG_STRLEN};
pub use classify::{ExitRules, Verdict, classify};
pub use decide::{Circumstances, Decision, decide, decision_text, final_because};
pub use error_code::{
    CANCELLED, CodePattern, EXPIRED, ErrorCode, ExitCodes, ExitEntry, ExitKey, INTERRUPTED,
    LISTABLE_RESERVED, RESERVED, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED,
};
pub use job::{Chain, Command, FrozenJob, JobSpec, Link, check_name, check_variable};
pub use limits::{Limits, Rate};
pub use percentiles::Percentiles;
pub use policy::{Contradiction, PolicyLayer, RetryPolicy};
pub use schedule::{MISSED_AFTER, Missed, Schedule, ScheduleText};
pub use self_report::SelfReport;
pub use state::{DeadReason, JobState, Phase};
