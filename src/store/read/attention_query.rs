//! What a search for what needs attention goes by, and when something that waits is an alarm.

use rusqlite::Connection;

use super::filter::Filter;
use super::leftover::Leftovers;
use super::overview::QueueRow;
use super::problem::{AttentionEntry, FileChange, Problem};
use crate::model::Pause;
use crate::store::write::schedules::StoredSchedule;
use crate::store::write::workers::WorkerStatus;
use crate::text::{Millis, Timestamp};

/// Work that has been due for longer than this without a worker is an alarm; before, a worker may just be starting.
const NO_WORKER: Millis = Millis::from_secs(2 * 60);

/// What a pause without an end has held for longer than this is an alarm: the pause may have been forgotten.
const FORGOTTEN: Millis = Millis::from_secs(24 * 60 * 60);

/// The facts that the caller has to find out, because the database does not have them.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The unfinished jobs by queue, as the overview counts them.
    pub queues: &'a [QueueRow],
    pub workers: &'a [WorkerStatus],
    pub schedules: &'a [StoredSchedule],
    pub files: &'a [ChangedFile],
    pub leftovers: &'a [Leftovers],
}

/// A job file that differs from what was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    pub change: FileChange,
    /// The schedules that differ, or all schedules of a file that cannot be read.
    pub schedules: Vec<String>,
    /// The schedules whose jobs cannot be enqueued from it now.
    pub undeclared: Vec<String>,
    /// The queues with other limits.
    pub queues: Vec<String>,
}

/// What is asked for, at one moment.
pub struct AttentionQuery<'a> {
    pub tx: &'a Connection,
    pub seen: Surroundings<'a>,
    pub filter: &'a Filter,
    pub now: Timestamp,
}

impl AttentionQuery<'_> {
    pub fn wants_queue(&self, queue: &str) -> bool {
        self.filter.queue.as_ref().is_none_or(|wanted| wanted == queue)
    }

    pub fn wants_schedule(&self, row: &StoredSchedule) -> bool {
        // The jobs of a schedule have no label.
        self.filter.name.as_ref().is_none_or(|wanted| wanted == row.name())
            && self.filter.wants_label(None)
            && self.wants_queue(&row.chain.root.definition.queue)
    }

    /// A problem that is an alarm once work has been due for a while.
    pub fn alarm_if_late(&self, due: Timestamp, problem: Problem) -> AttentionEntry {
        if self.now.since(due) > NO_WORKER { problem.alarm() } else { problem.note() }
    }

    /// A pause that holds something back since `held`.
    pub fn alarm_if_forgotten(&self, pause: Pause, held: Timestamp, problem: Problem) -> AttentionEntry {
        let is_forgotten = pause.ends_at().is_none() && self.now.since(held) > FORGOTTEN;
        if is_forgotten { problem.alarm() } else { problem.note() }
    }
}
