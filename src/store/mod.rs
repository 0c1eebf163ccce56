//! The store: one SQLite file, and the only SQL of the program.
//!
//! Every write transaction is `BEGIN IMMEDIATE`, has one time, and is on disk before anybody is told of it. A transition of
//! a job and the attempt row that records it are one transaction. A change that may create work wakes the workers.
//!
//! It has three floors. `file` is the file itself: how it is found, trusted, opened and copied, and the helpers that run
//! every statement. `write` has a file for each act that changes something, and what these decide by. `read` is what people
//! are shown. A floor imports only those before it. `audit`, which has a rule for every table, and `restore` use all three.
//!
//! Begin with `file/open.rs`, which has the transactions, and `write/turn.rs`, which is what a worker does.

mod audit;
mod file;
mod read;
mod restore;
mod write;

#[cfg(test)]
mod tests;

pub use audit::BrokenRule;
pub use file::caller::{Caller, ProcessRow};
pub use file::error::{NoRoom, Result, StoreError, Untrusted, raise_limit};
pub use file::open::Store;
pub use file::schema;
pub use file::store_file::{
    StoreFile, is_lock_held, locate, lock_path, make_private_dir, open_lock, open_regular,
};
pub use file::version::Version;
pub use read::attempts::AttemptRow;
pub use read::attention_query::{ChangedFile, Surroundings};
pub use read::deaths::list::{DeadGroup, DeadRow};
pub use read::filter::{Filter, FilterColumn, StateFilter};
pub use read::html_page::{DayCounts, Death, ScheduledDays};
pub use read::jobs::JobRow;
pub use read::leftover::Leftovers;
pub use read::metrics::NameTotals;
pub use read::overview::{JobCounts, Overview, QueueRow, RecentName};
pub use read::problem;
pub use read::problem::FileChange;
pub use read::stats::{NameStats, Stage, Timeline, TimelineAttempt};
pub use read::stuck_groups::StuckBehind;
pub use read::unfinished::UnfinishedJobs;
pub use restore::{OldAttempts, Restored, RunAgain};
pub use write::act::{Act, ActResult, Done, JobChange, Refusal};
pub use write::apply::{Applied, AppliedKind, Change, Declarations};
pub use write::backlog::{Backlog, Blocked, PendingWork};
pub use write::claim::{Claim, UnreadableJob};
pub use write::definition::DefinitionCache;
pub use write::dependencies::EndedDependency;
pub use write::ended_before::EndedBefore;
pub use write::enqueue::Enqueued;
pub use write::far_times::{FarTime, TimeOf};
pub use write::finish::EndedAttempt;
pub use write::insert::{Dependency, Due, Firing, NewJob, OnConflict};
pub use write::inside::{Inside, RunningJob};
pub use write::job_files::{JobFilePath, RegisteredFile};
pub use write::limits::{LimitChange, QueueHold};
pub use write::outputs::LiveOutput;
pub use write::prune::{CHUNK, GAP, Kept, PruneFilter};
pub use write::recover::OrphanedClaim;
pub use write::runs::{Others, RunStart};
pub use write::scheduled_run::ScheduledRun;
pub use write::schedules::{DeclaredSchedule, StoredSchedule};
pub use write::stuck::{DependencyState, UnmetDependency};
pub use write::turn::{Takes, Turn, TurnRequest};
pub use write::workers::{Liveness, NoWorker, Worker, WorkerStatus, no_worker};
