//! The task of a worker: its options, when it is done, and the summary of its work. Pure.

use crate::model::{Event, JobState};
use crate::store::{Backlog, PendingWork};
use crate::text::Millis;

/// When a worker ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Until {
    /// Never: a signal stops the worker.
    #[default]
    Stopped,
    /// When no job is pending or running.
    Drained,
    /// When no job is due or running.
    Idle,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// At least 1.
    pub slots: usize,
    /// Start only if no worker of this database is alive.
    pub single: bool,
    /// None: all queues. A `run` selects none: its list is empty.
    pub queues: Option<Vec<String>>,
    pub until: Until,
    /// The worker also ends after this many started attempts.
    pub max_jobs: Option<u64>,
    /// Jobs that succeeded or were cancelled longer ago are removed.
    pub keep: Option<Millis>,
    /// How long running attempts may go on after a signal to stop.
    pub shutdown_timeout: Millis,
}

impl Options {
    /// Whether the worker takes jobs from this queue.
    pub fn takes_from(&self, queue: &str) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue))
    }

    /// Whether the worker ends by itself.
    pub fn is_bounded(&self) -> bool {
        self.until != Until::Stopped || self.max_jobs.is_some()
    }
}

/// The facts that decide whether a worker is done.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct ExitConditions {
    pub until: Until,
    /// The worker has claimed as many jobs as its options allow.
    pub limit_reached: bool,
    pub is_stopping: bool,
    /// An attempt runs, or its end is not on disk yet.
    pub is_busy: bool,
    /// Something may have changed since the last turn.
    pub turn_needed: bool,
    /// Dead workers are being recovered.
    pub is_recovering: bool,
    /// As of the last turn.
    pub backlog: Backlog,
    /// A blocked job may still become ready. Looked up by a draining worker when nothing else is left.
    pub may_unblock: bool,
    /// A `run` waits for its job no longer.
    pub gave_up: bool,
}

impl ExitConditions {
    /// Whether the worker may end now.
    pub(super) fn is_done(&self) -> bool {
        if self.is_busy {
            return false;
        }
        // The jobs of dead workers may be left to do, so these workers are recovered first.
        self.is_stopping || !self.turn_needed && !self.is_recovering && self.has_reached_its_end()
    }

    /// Whether the worker has reached the end that its options ask for.
    ///
    /// The backlog is that of the last turn. A worker that needs a turn and could not have one, because the disk is full,
    /// does not know what is left.
    pub(super) fn has_reached_its_end(&self) -> bool {
        let Backlog { running, pending, .. } = self.backlog;
        let nothing_left = match self.until {
            _ if self.turn_needed => false,
            Until::Stopped => false,
            Until::Drained => !running && pending == PendingWork::Nothing && !self.may_unblock,
            Until::Idle => !running && pending < PendingWork::AtLimit,
        };
        nothing_left || self.limit_reached || self.gave_up
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Claims that became attempts, or are about to.
    pub claimed: u64,
    /// Recorded attempts, of the queues that the worker takes jobs from.
    pub attempts: u64,
    pub succeeded: u64,
    pub dead: u64,
    /// Jobs that could not be read.
    pub unreadable: u64,
    /// Jobs that a drain left, because they wait for jobs that are dead, cancelled or in paused queues.
    pub stuck: u64,
    /// The signal at which a `run` cancelled its job.
    pub cancelled_by: Option<i32>,
    /// The first signal to stop; that to a worker only if it came before the end that the options ask for.
    pub stopped_by: Option<i32>,
}

impl Summary {
    /// Counts an event that is about a queue that the worker takes jobs from. A dead worker that this one recovers may
    /// have worked on others, and any worker records what has expired.
    pub(super) fn count(&mut self, event: &Event, options: &Options) {
        match event {
            Event::AttemptEnded(ended) if options.takes_from(&ended.queue) => {
                self.attempts += 1;
                match ended.attempt.next_state {
                    JobState::Succeeded => self.succeeded += 1,
                    JobState::Dead => self.dead += 1,
                    _ => {}
                }
            }
            Event::JobExpired(end) if end.queue.as_ref().is_some_and(|queue| options.takes_from(queue)) => {
                self.dead += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle worker that nothing keeps, except what a test changes.
    fn exit_conditions(until: Until) -> ExitConditions {
        ExitConditions {
            until,
            limit_reached: false,
            is_stopping: false,
            is_busy: false,
            turn_needed: false,
            is_recovering: false,
            backlog: Backlog::default(),
            may_unblock: false,
            gave_up: false,
        }
    }

    fn with(until: Until, change: impl Fn(&mut ExitConditions)) -> ExitConditions {
        let mut exit_conditions = exit_conditions(until);
        change(&mut exit_conditions);
        exit_conditions
    }

    #[test]
    fn when_nothing_is_left_depends_on_the_options() {
        type Change = fn(&mut ExitConditions);
        // The work that is left, and whether a worker is done that runs until it is stopped, drained, idle.
        let table: [(&str, Change, [bool; 3]); 9] = [
            ("nothing", |_| (), [false, true, true]),
            ("a job runs in another worker", |it| it.backlog.running = true, [false, false, false]),
            ("a job is due later", |it| it.backlog.pending = PendingWork::Later, [false, false, true]),
            ("limits hold back a due job", |it| it.backlog.pending = PendingWork::AtLimit, [false; 3]),
            ("a job may start", |it| it.backlog.pending = PendingWork::Startable, [false; 3]),
            ("a blocked job may become ready", |it| it.may_unblock = true, [false, false, true]),
            (
                "its job cannot start before it ends",
                |it| {
                    (it.gave_up, it.backlog.pending) = (true, PendingWork::AtLimit);
                },
                [true; 3],
            ),
            ("no further claim is allowed", |it| it.limit_reached = true, [true; 3]),
            (
                "no further claim is allowed, though a job may start",
                |it| (it.limit_reached, it.backlog.pending) = (true, PendingWork::Startable),
                [true; 3],
            ),
        ];
        for (what, change, expected) in table {
            let done =
                [Until::Stopped, Until::Drained, Until::Idle].map(|until| with(until, change).is_done());
            assert_eq!(done, expected, "{what}");
        }
    }

    #[test]
    fn a_worker_is_not_done_before_it_knows_and_has_recorded_everything() {
        type Change = fn(&mut ExitConditions);
        // The reason to go on, and whether a worker is done whose drain is complete, and one that is stopping.
        let table: [(&str, Change, [bool; 2]); 4] = [
            ("nothing", |_| (), [true, true]),
            ("an end is not on disk", |it| it.is_busy = true, [false, false]),
            ("something may have changed", |it| it.turn_needed = true, [false, true]),
            ("a dead worker is being recovered", |it| it.is_recovering = true, [false, true]),
        ];
        for (what, change, expected) in table {
            let drained = with(Until::Drained, change);
            let stopping = with(Until::Stopped, |it| {
                change(it);
                it.is_stopping = true;
                it.backlog.pending = PendingWork::Startable;
            });
            assert_eq!([drained.is_done(), stopping.is_done()], expected, "{what}");
        }
    }

    #[test]
    fn a_worker_whose_turns_failed_does_not_claim_that_nothing_is_left() {
        for until in [Until::Drained, Until::Idle] {
            assert!(with(until, |it| it.is_stopping = true).has_reached_its_end());
            let failed = with(until, |it| (it.is_stopping, it.turn_needed) = (true, true));
            assert!(failed.is_done() && !failed.has_reached_its_end());
        }
    }
}
