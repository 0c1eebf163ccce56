//! The store: one SQLite file, and the only SQL of the program.
//!
//! Every write transaction is `BEGIN IMMEDIATE`, has one time, and is on disk before anybody is told of it. A transition of
//! a job and the attempt row that records it are one transaction. A change that may create work wakes the workers.
//!
//! Begin with `open`, which has the transactions, and `turn`, which is what a worker does. `row` has the helpers that run
//! every statement.

mod act;
mod attempts;
mod attention;
mod audit;
mod backlog;
mod backup;
mod claim;
mod dead_groups;
mod dead_letters;
mod definition;
mod dependencies;
mod enqueue;
mod erase;
mod error;
mod expire;
mod far_times;
mod file;
mod filter;
mod finish;
mod immutable;
mod insert;
mod interrupted;
mod job;
mod latest;
mod leftover;
mod letters;
mod limits;
mod metrics;
mod objects;
mod open;
mod outputs;
mod overview;
mod page;
mod prune;
mod recover;
mod restore;
mod row;
mod schedules;
mod stranded;
mod trust;
mod turn;
mod unresolved;
pub mod version;
mod workers;

#[cfg(test)]
mod tests;

pub use act::{Act, ActResult, Done, Refusal};
pub use attempts::{AttemptRow, NameStats, Stage, Stats, TimelineAttempt};
pub use attention::{ChangedFile, FileChange, Surroundings};
pub use audit::Finding;
pub use backlog::{Backlog, Blocked, PendingWork};
pub use claim::Claim;
pub use dead_letters::{DeadGroup, DeadRow};
pub use definition::DefinitionCache;
pub use dependencies::{DependencyState, UnmetDependency};
pub use enqueue::Enqueued;
pub use erase::Traces;
pub use error::{NoRoom, Result, StoreError, Untrusted};
pub use far_times::FarTime;
pub use file::{StoreFile, locate, open_regular};
pub use filter::{Filter, FilterColumn, StateFilter};
pub use finish::EndedAttempt;
pub use insert::{Dependency, Firing, NewJob, OnConflict};
pub use job::JobRow;
pub use leftover::Leftovers;
pub use limits::{BlockReason, LimitChange};
pub use metrics::NameTotals;
pub use open::Store;
pub use outputs::LiveOutput;
pub use overview::{JobCounts, Overview, QueueRow, RecentName};
pub use page::{DayCounts, Death, Link, LinkedJob, UnfinishedJobs};
pub use prune::{Kept, PruneFilter};
pub use recover::OrphanedClaim;
pub use restore::{EndedBefore, OldAttempts, Restored, RunAgain};
pub use schedules::{Applied, AppliedKind, Change, Declarations, DeclaredSchedule, StoredSchedule};
pub use stranded::{HeldBack, StrandedRoot};
pub use turn::{Turn, TurnRequest};
pub use workers::{Liveness, NoWorker, Worker, WorkerStatus};
