//! The rules: job definitions, names for the ends of attempts, and the decision after each attempt.
//!
//! Nothing here reads a clock or the time zone of the machine, draws random numbers or does I/O: the same arguments give the
//! same result, so every rule has a unit test. This module uses `text` only.

mod attempt;
mod attention;
mod backoff;
mod bytes;
mod classify;
mod cron;
mod decide;
mod env_file;
mod error_code;
mod event;
mod exit_status;
mod job;
mod keys;
mod layer;
mod limits;
mod names;
#[cfg(test)]
mod no_panics;
mod output_order;
mod pause;
mod policy;
mod schedule;
mod self_report;
mod shell_status;
pub mod signal;
mod state;

pub use attempt::{
    Attempt, AttemptEnd, AttemptOutput, EndCause, MemoryPeak, Outcome, OutputPart, OutputPiece,
    ResourceUsage, SpawnFailure, Status, StreamBytes, last_bytes,
};
pub use attention::{Attention, AttentionKind, AttentionSubject, Way};
pub use backoff::{Backoff, Jitter, Strategy};
pub use bytes::{Bytes, MAX_ARG_STRLEN};
pub use classify::{ExitRules, Verdict, classify};
pub use cron::cron_entry;
pub use decide::{Circumstances, Decision, death_text, decide, decision_text, retried_text, success_text};
pub use env_file::EnvFile;
pub use error_code::{
    CANCELLED, CodePattern, EXPIRED, ErrorCode, ExitCodes, ExitEntry, ExitKey, INTERRUPTED,
    LISTABLE_RESERVED, RESERVED, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED,
};
pub use event::{Event, PendingJob, RecordedAttempt, SkipReason, UnseenEnd};
pub(crate) use exit_status::errors;
pub use exit_status::{ExitStatus, ToType};
pub use job::{Chain, Command, INHERITED_ALWAYS, JobDefinition, JobLabel, Link, OwnSchedule, job_title};
pub use keys::{JobLayer, KEYS, KeyPlace, ReadForm, ShownValue, WholeNumber};
pub use layer::Contradiction;
pub use limits::{Limits, Rate};
pub use names::{
    check_key, check_label, check_name, check_stored_key, check_stored_label, check_variable, check_worker_id,
};
pub use output_order::{LeftOut, OutputMark, OutputOrder, OutputStream, read_marks, write_marks};
pub use pause::Pause;
pub use policy::RetryPolicy;
pub use schedule::{Missed, Schedule, ScheduleText};
pub use self_report::SelfReport;
pub use state::{DeadReason, DependencyKind, JobState, Phase};
