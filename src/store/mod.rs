//! The store: one SQLite file, and the only SQL of the program; one file a verb.
//!
//! Every write transaction is `BEGIN IMMEDIATE` and synced in full before anybody is told of it. A transition of a
//! job and the attempt row that records it are one transaction.

mod apply;
mod attempts;
mod audit;
mod backup;
mod busy;
mod cancel;
mod claim;
mod clock_step;
mod create;
mod dead_letters;
mod definition;
mod dependencies;
mod enqueue;
mod error;
mod expire;
mod file;
mod filter;
mod finish;
mod gc;
mod insert;
mod job;
mod jobs;
mod limits;
mod metrics;
mod open;
mod outputs;
mod overview;
mod prune;
mod queues;
mod recent;
mod recover;
mod redefine;
mod resolve;
mod restore;
mod retry;
mod schedules;
mod stats;
mod timeline;
mod turn;
mod workers;

#[cfg(test)]
mod tests;

pub use apply::{Applied, Change, Declarations, Kind};
pub use attempts::{AttemptCursor, AttemptRow};
pub use audit::Finding;
pub use cancel::{CancelOutcome, Cancelled};
pub use claim::Claim;
pub use dead_letters::DeadLetter;
pub use definition::Definitions;
pub use dependencies::{Awaited, AwaitedJob, Blocked};
pub use enqueue::Enqueued;
pub use error::{Result, StoreError};
pub use expire::DroppedJob;
pub use file::{StoreFile, locate};
pub use filter::{Filter, FilterColumn, StateFilter};
pub use finish::{Ended, Recorded};
pub use insert::{After, NewJob, OnConflict, Scheduled};
pub use job::{AttemptView, JobRow, JobView};
pub use jobs::JobCursor;
pub use limits::LimitChange;
pub use open::Store;
pub use outputs::Output;
pub use overview::{Counts, Overview, QueueRow};
pub use prune::PruneFilter;
pub use queues::{Backlog, Hold, Waiting};
pub use recent::RecentName;
pub use recover::{HeldClaim, Recovered};
pub use redefine::Replacement;
pub use retry::{Answer, Refusal};
pub use schedules::{ApplySchedule, Fired, ScheduleRow};
pub use stats::{NameStats, Stats};
pub use timeline::{DueJob, Stage, TimelineAttempt};
pub use turn::{Turn, TurnRequest};
pub use workers::{OpenWorker, WorkerRow};
