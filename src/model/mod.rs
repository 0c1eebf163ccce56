//! The rules: what a job is, how an attempt's ending is named, what is decided after it.
//!
//! Nothing here reads a clock, throws dice or does I/O: the same arguments give the same answer, so every rule is a
//! unit test. All other modules use this one; it uses none of them.

mod attempt;
mod backoff;
mod bytes;
mod classify;
mod code;
mod decide;
mod exit_codes;
mod job;
#[cfg(test)]
mod no_panics;
mod policy;
mod self_report;
pub mod signal;
mod spec;
mod spread;

pub use attempt::{Attempt, Exit, Outcome, Status, StopReason};
pub use backoff::{Backoff, Jitter, Strategy};
pub use bytes::{Bytes, LONGEST_STRING};
pub use classify::{ExitRules, Verdict, classify};
pub use code::{
    CANCELLED, CodePattern, EXPIRED, ErrorCode, INTERRUPTED, LISTABLE_RESERVED, RESERVED, SPAWN_FAILED,
    TIMEOUT, WORKER_CRASHED,
};
pub use decide::{Circumstances, Decision, decide, sentence};
pub use exit_codes::{ExitCodes, ExitEntry, ExitKey};
pub use job::{DeadReason, JobState, Phase};
pub use policy::{Contradiction, PolicyLayer, RetryPolicy};
pub use self_report::SelfReport;
pub use spec::{Command, JobSpec, OWNED_VARIABLES, check_name};
pub use spread::Spread;
