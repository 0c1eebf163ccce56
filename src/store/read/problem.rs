//! What needs a person, as facts: ids, names, times and counts. `view/advice` makes the sentences and commands of it.

use std::path::PathBuf;

use crate::model::{AttentionKind, AttentionSubject, ErrorCode};
use crate::store::file::error::NoRoom;
use crate::store::write::limits::QueueHold;
use crate::store::write::workers::NoWorker;
use crate::text::{Millis, Timestamp};

/// Work that has been due for longer than this is overdue, unless something of its queue started within this time.
pub const OVERDUE: Millis = Millis::from_secs(60 * 60);

/// A problem, and the jobs that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionEntry {
    pub problem: Problem,
    pub alarm: bool,
    /// At most [`crate::model::Attention::MAX_JOBS`].
    pub jobs: Vec<i64>,
}

/// How many there are, as far as they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub counted: u64,
    pub is_more: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file system of the database takes no more data.
    DiskFull {
        path: PathBuf,
        why: NoRoom,
    },
    Dead(Dead),
    /// Dead letters of names and codes that have no entry; without a time, jobs that expired and were not read.
    OtherDead {
        count: Count,
        last: Option<Timestamp>,
    },
    /// Dead letters of which later runs succeeded.
    Recovered(DeadLetters),
    /// Those of names and codes that have no entry. `is_all`: no filter was given.
    OtherRecovered {
        count: Count,
        last: Timestamp,
        is_all: bool,
    },
    /// Successes with a warning that nobody has looked at.
    Warned(Warned),
    Stuck(Stuck),
    /// The number of dead, cancelled or removed jobs that others wait for, and that no other entry is about.
    OtherStuck(Count),
    /// Processes of the dead worker with this pid that could not be ended; none if they cannot be seen.
    Leftover {
        pid: i32,
        since: Timestamp,
        processes: Vec<LeftProcess>,
    },
    /// Jobs of a name that are interrupted each time.
    Interrupted {
        name: String,
        jobs: usize,
        times: Count,
        least: usize,
        last: Timestamp,
    },
    /// The times of the schedule cannot be found, and why.
    NoTimes {
        schedule: String,
        next_at: Option<Timestamp>,
        why: String,
    },
    /// The schedule has times, but none is recorded as the next.
    NoNextTime {
        schedule: String,
        file: String,
    },
    /// A job that is not running holds the key of the schedule's job.
    Skipping {
        schedule: String,
        in_row: u64,
        holder: i64,
        holder_name: String,
        state: HolderState,
    },
    /// The last success of a schedule's job is too old. `unfinished` is the newest job of the name that has not ended.
    Stale {
        name: String,
        file: String,
        last_success: Option<Timestamp>,
        applied_at: Timestamp,
        within: Millis,
        unfinished: Option<i64>,
        /// The file still declares the job.
        is_declared: bool,
    },
    /// A file or folder that a schedule needs is missing.
    CannotStart {
        schedule: String,
        missing: Vec<String>,
    },
    /// No worker starts the due jobs of a queue.
    NoWorker {
        queue: String,
        due: u64,
        oldest: Timestamp,
        why: NoWorker,
    },
    /// The due jobs of a queue need a newer program than its worker is.
    OldWorker {
        queue: String,
        pid: i32,
        oldest: Timestamp,
    },
    /// The jobs of a suspended worker run without it.
    Unattended {
        pid: i32,
        jobs: u64,
        oldest: Timestamp,
    },
    /// The jobs of workers with these pids, which died, and no other one recovers them.
    Orphaned {
        pids: Vec<i32>,
        jobs: u64,
        oldest: Timestamp,
    },
    /// No worker fires these schedules, or only one that is older than the program that applied them.
    Unfired {
        schedules: Vec<String>,
        oldest: Timestamp,
        /// The pid of that one.
        old_worker: Option<i32>,
    },
    Overdue {
        queue: String,
        due: u64,
        oldest: Timestamp,
        reason: OverdueReason,
    },
    PausedQueue {
        queue: String,
        due: u64,
        oldest: Timestamp,
        /// When the pause ends by itself.
        until: Option<Timestamp>,
    },
    PausedSchedule {
        schedule: String,
        passed: Timestamp,
        /// When the pause ends by itself.
        until: Option<Timestamp>,
    },
    /// Everything is paused, and the oldest due job or time that this holds back.
    AllPaused {
        oldest: Option<Timestamp>,
        /// When the pause ends by itself.
        until: Option<Timestamp>,
    },
    Changed {
        path: String,
        change: FileChange,
        schedules: Vec<String>,
        /// The limits of these queues differ.
        queues: Vec<String>,
    },
}

/// Dead letters of a name and error code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetters {
    pub name: String,
    pub error_code: String,
    pub count: Count,
    pub last: Timestamp,
    /// The labels, or else arguments, of the newest, and the number of all.
    pub newest_labels: Vec<String>,
    pub labels: u64,
    /// The label that was asked for; an empty one stands for none.
    pub wanted_label: Option<String>,
    /// All of them are among the jobs of the entry.
    pub are_all_named: bool,
    /// The job file that declares them; none if it is not known.
    pub file: Option<String>,
    /// Dead letters of other job files have the same name, so that no command selects these by it.
    pub has_several_files: bool,
}

/// Dead letters that need attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    pub letters: DeadLetters,
    /// The last of them, and its last words, which may be empty.
    pub newest: i64,
    pub words: String,
    /// The last attempt of the newest wrote something.
    pub has_output: bool,
    pub same_work: SameWork,
    /// Why `retry` would not take the jobs that are to run again.
    pub obstacle: Option<RetryObstacle>,
    /// Others of the name and code recovered.
    pub has_recovered: bool,
}

/// Successes of a name with a warning that nobody resolved, and after which none of the same work came without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warned {
    pub name: String,
    pub warning: ErrorCode,
    /// The exit status of the newest.
    pub status: Option<i32>,
    pub count: Count,
    pub last: Timestamp,
    /// The last of them, and its last words, which may be empty.
    pub newest: i64,
    pub words: String,
    /// The last attempt of the newest wrote something.
    pub has_output: bool,
    /// The labels of the newest, and whether there are more.
    pub labels: Vec<String>,
    pub has_more_labels: bool,
    /// The label that was asked for; an empty one stands for none.
    pub wanted_label: Option<String>,
    /// The job file that declares them; none if it is not known.
    pub file: Option<String>,
    pub others: OtherWarned,
}

/// The other entries about warnings of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherWarned {
    None,
    /// All of them are of the same job file.
    OfSameFile,
    OfOtherFiles,
}

/// Which dead letters do the same, so that one run does for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameWork {
    None,
    /// Some of the entry.
    Some,
    /// All of the name, whatever they died of.
    AllOfName,
}

/// Jobs that wait for jobs of one name and job file which will not succeed by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// None if those that they wait for were removed.
    pub name: Option<String>,
    /// The path of their job file.
    pub file: Option<String>,
    /// The number of those, and the newest of them: all, if one command may retry so many.
    pub roots: u64,
    pub newest_roots: Vec<i64>,
    /// How those ended, each kind of end once.
    pub ends: Vec<RootEnd>,
    /// The jobs that wait.
    pub count: Count,
    /// The names of the first jobs of the entry.
    pub names: Vec<String>,
    /// Why `retry` would not take the newest roots.
    pub obstacle: Option<RetryObstacle>,
    /// The newest job that does the same as the newest root and has succeeded since; so has one for each root.
    pub succeeded_since: Option<i64>,
    /// Later jobs have done the work of all the jobs that wait, so nothing is lost without these.
    pub is_done_by_others: bool,
}

/// How a job ended that others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootEnd {
    Dead,
    Resolved,
    Cancelled,
    Removed,
}

/// A living process of a dead worker's attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    pub pid: i32,
    pub job: i64,
    pub attempt: u32,
    /// Its program and arguments; empty if they cannot be seen.
    pub command: String,
    /// The name of its user; none if that cannot be seen.
    pub user: Option<String>,
    /// Whether it belongs to the owner of the database, so that it got SIGKILL already.
    pub is_of_owner: bool,
    /// Whether the caller may end it.
    pub may_be_ended: bool,
}

/// Why a job that holds a key does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderState {
    Blocked,
    NotDue,
    Ready,
}

/// Why the due jobs of a queue do not start although a worker takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverdueReason {
    /// As many attempts run as may.
    Limit {
        max_running: u32,
        longest: Option<LongestRunning>,
    },
    /// Another limit.
    AtLimit(QueueHold),
    Busy {
        slots: u64,
        longest: Option<LongestRunning>,
    },
    Unknown,
}

/// The job that has been running for the longest time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongestRunning {
    pub id: i64,
    pub name: String,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    Edited,
    /// It is as it was applied, but the machine has another time zone now, of this name.
    Zone(String),
    /// It has changed, and the machine has another time zone now.
    EditedAndZone(String),
    /// The machine has another time zone now, which has no name, so the file cannot be applied.
    NamelessZone(String),
    Gone,
    /// It has a mistake, or cannot be read.
    Unusable,
    /// It was not read, and why.
    NotRead(&'static str),
}

/// A reason why `retry` would not take all of some dead jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryObstacle {
    /// One is not retryable.
    NeedsForce,
    /// Two of them need the same key.
    SharedKey,
    /// An unfinished job holds the key of one.
    HeldKey,
}

impl Problem {
    pub const fn kind(&self) -> AttentionKind {
        match self {
            Self::DiskFull { .. } => AttentionKind::DiskFull,
            Self::Dead(_) | Self::OtherDead { .. } => AttentionKind::Dead,
            Self::Recovered(_) | Self::OtherRecovered { .. } => AttentionKind::Recovered,
            Self::Warned(_) => AttentionKind::Warned,
            Self::Stuck(_) | Self::OtherStuck(_) => AttentionKind::Stuck,
            Self::Leftover { .. } => AttentionKind::Leftover,
            Self::Interrupted { .. } => AttentionKind::Interrupted,
            Self::NoTimes { .. } | Self::NoNextTime { .. } | Self::Skipping { .. } => AttentionKind::Skipping,
            Self::Stale { .. } => AttentionKind::Stale,
            Self::CannotStart { .. } => AttentionKind::CannotStart,
            Self::NoWorker { .. }
            | Self::OldWorker { .. }
            | Self::Unattended { .. }
            | Self::Orphaned { .. }
            | Self::Unfired { .. } => AttentionKind::NoWorker,
            Self::Overdue { .. } => AttentionKind::Overdue,
            Self::PausedQueue { .. } | Self::PausedSchedule { .. } | Self::AllPaused { .. } => {
                AttentionKind::Paused
            }
            Self::Changed { .. } => AttentionKind::Changed,
        }
    }

    /// The name that the page groups the entry by, and the job file that it is about.
    pub fn into_subject_and_file(self) -> (Option<AttentionSubject>, Option<String>) {
        let (name, file) = match self {
            Self::Dead(Dead { letters: DeadLetters { name, count, last, file, .. }, .. }) => {
                let subject = AttentionSubject { name, deaths: count.counted, last_death: Some(last) };
                return (Some(subject), file);
            }
            Self::Recovered(letters) => (Some(letters.name), letters.file),
            Self::Warned(warned) => (Some(warned.name), warned.file),
            Self::Stuck(stuck) => (stuck.name, stuck.file),
            Self::Stale { name, file, .. } => (Some(name), Some(file)),
            Self::Interrupted { name, .. } => (Some(name), None),
            Self::NoTimes { schedule, .. }
            | Self::NoNextTime { schedule, .. }
            | Self::Skipping { schedule, .. }
            | Self::CannotStart { schedule, .. }
            | Self::PausedSchedule { schedule, .. } => (Some(schedule), None),
            Self::Changed { path, .. } => (None, Some(path)),
            Self::DiskFull { .. }
            | Self::OtherDead { .. }
            | Self::OtherRecovered { .. }
            | Self::OtherStuck(_)
            | Self::Leftover { .. }
            | Self::NoWorker { .. }
            | Self::OldWorker { .. }
            | Self::Unattended { .. }
            | Self::Orphaned { .. }
            | Self::Unfired { .. }
            | Self::Overdue { .. }
            | Self::PausedQueue { .. }
            | Self::AllPaused { .. } => (None, None),
        };
        (name.as_deref().map(AttentionSubject::of), file)
    }

    /// An alarm about no job, or about jobs that are named later.
    pub const fn alarm(self) -> AttentionEntry {
        AttentionEntry { problem: self, alarm: true, jobs: Vec::new() }
    }

    pub(in crate::store) const fn note(self) -> AttentionEntry {
        AttentionEntry { problem: self, alarm: false, jobs: Vec::new() }
    }
}

impl AttentionEntry {
    pub(in crate::store) fn about(self, jobs: Vec<i64>) -> Self {
        Self { jobs, ..self }
    }
}
