//! One list of things that need a person: the store finds them, and `view/advice` has the words. Every view shows that list;
//! `doctor --strict` adds jobs that cannot start on this machine, because looking for them can take long.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::words;
use crate::text::Timestamp;

words! {
    /// Why something needs attention, in the order in which views show it.
    #[derive(PartialOrd, Ord)]
    AttentionKind {
        /// Nothing can be recorded, because the file system is full or read-only.
        DiskFull = "disk_full",
        /// Dead letters that nobody resolved, and of which no later run succeeded.
        Dead = "dead",
        /// Blocked jobs that only a person can get going.
        Stuck = "stuck",
        /// Processes of a dead worker's attempts that cannot be ended.
        Leftover = "leftover",
        /// A job whose last attempts were all interrupted.
        Interrupted = "interrupted",
        /// A schedule that skips its times, because a job that is not running holds its key.
        Skipping = "skipping",
        /// A schedule whose last success is older than its `fresh_within`.
        Stale = "stale",
        /// A schedule whose jobs cannot start on this machine.
        CannotStart = "cannot_start",
        /// Work is due, and no worker takes it.
        NoWorker = "no_worker",
        /// Work has been due for long, although a worker takes it.
        Overdue = "overdue",
        /// Successes with a warning that nobody resolved, and after which none came without one.
        Warned = "warned",
        /// Dead letters of which a later run succeeded.
        Recovered = "recovered",
        /// A pause holds up what is due.
        Paused = "paused",
        /// The job file differs from what was applied.
        Changed = "changed",
    }
}

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attention {
    pub kind: AttentionKind,
    /// An alarm fails `doctor --strict`; a note does not.
    pub alarm: bool,
    /// One sentence, without control characters.
    pub message: String,
    /// The command that settles this when it is run as it stands; none where no command does.
    pub command: Option<String>,
    /// The ids of at most [`Attention::MAX_JOBS`] jobs that this is about.
    pub jobs: Vec<i64>,
    /// The job file that declares them; none if it is not one, or not known.
    pub file: Option<String>,
    /// The page groups the entries by this. JSON does not have it.
    #[serde(skip)]
    pub subject: Option<AttentionSubject>,
    /// The sentence as the page has it: without the commands of `ways`.
    #[serde(skip)]
    pub fact: String,
    /// The other commands for it. The sentence of `message` has them, too.
    #[serde(skip)]
    pub ways: Vec<Way>,
}

/// A command besides the one that settles an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub command: String,
    /// Says what the command does, or when to type it.
    pub purpose: String,
    /// Both, as a part of a sentence.
    pub sentence: String,
}

impl Way {
    pub fn new(command: String, purpose: &str) -> Self {
        Self { sentence: format!("{command} {purpose}"), command, purpose: purpose.to_owned() }
    }

    /// The same with other words for a sentence.
    #[must_use]
    pub fn said(self, sentence: String) -> Self {
        Self { sentence, ..self }
    }
}

/// The jobs of one name that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AttentionSubject {
    pub name: String,
    /// The number of dead letters that nobody resolved, and of which no later run succeeded.
    pub deaths: u64,
    /// The last of these deaths.
    pub last_death: Option<Timestamp>,
}

impl AttentionSubject {
    /// Jobs of this name of which none died.
    pub fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

impl Attention {
    /// The most ids of an entry.
    pub const MAX_JOBS: usize = 20;
    /// At most this number of jobs or schedules is named in a sentence.
    pub const MAX_NAMED: usize = 5;

    /// The number of alarms of a list: nothing is said to be well unless this is 0.
    pub fn alarms(list: &[Self]) -> usize {
        list.iter().filter(|entry| entry.alarm).count()
    }

    /// The entries with their alarms first, then in the order of their kinds. The order within a kind remains.
    pub fn sort(list: &mut [Self]) {
        list.sort_by_key(|entry| (!entry.alarm, entry.kind));
    }
}
