//! When to look again, and when to end.

use std::time::{Duration, Instant};

use super::super::{Until, WorkError};
use super::Dispatcher;
use crate::clock;
use crate::process;
use crate::report::EventKind;
use crate::text::Millis;

/// A wall clock that is this much behind was set back; less is the clocks' own difference.
const STEP: Millis = Millis(500);

/// How often a worker looks by itself: at other workers' locks, and for work that nobody woke it for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long ends may gather while every slot has its next order: one transaction, one sync, for all of them.
const GATHER: Duration = Duration::from_millis(3);

/// A claim goes back if no slot comes to it or to one before it for so long: an idle worker may have it.
const STALLED: Duration = Duration::from_millis(100);

/// Has nothing moved for too long since then?
pub(super) fn is_stalled(since: Option<Instant>) -> bool {
    since.is_some_and(|since| since.elapsed() >= STALLED)
}

impl Dispatcher<'_> {
    /// May the next turn wait for more to be recorded? Only while no slot waits for it.
    pub(super) fn lets_ends_gather(&mut self) -> bool {
        if self.phase.is_stopping() || !self.unwanted.is_empty() {
            return false;
        }
        let now = Instant::now();
        let until = *self.gather_until.get_or_insert(now + GATHER);
        // The next orders are to be there before the last one is taken.
        let low = if self.backlog.due { self.pace.ahead(self.slots.number()) / 2 } else { 0 };
        until > now && self.exchange.gather(low)
    }

    /// What the passing of time brings.
    pub(super) fn pass_time(&mut self) -> Result<(), WorkError> {
        let now = Instant::now();
        if let Some(step) = self.phase.pass(now) {
            let reason = format!("{} are over: ending what is running", self.options.shutdown_timeout);
            self.tell(EventKind::WorkerStopping { reason, running: self.running.begun() });
            self.obey(step);
        }
        if is_stalled(self.exchange.stalled_since()) {
            self.pace.forget();
            self.withdraw(|_| true);
        }
        if self.breather.is_some_and(|breather| breather.until <= now) {
            self.breather = None;
            self.look = true;
        }
        if self.backlog.next_due.is_some_and(|due| due <= clock::now()) {
            self.look = true;
        }
        if now >= self.looked_at + LOOK_EVERY {
            self.looked_at = now;
            self.look_around()?;
            self.send_heartbeat();
        }
        Ok(())
    }

    pub(super) fn send_heartbeat(&mut self) {
        if self.reporter.wants_heartbeats() {
            let unfinished = self.store.count_unfinished().ok();
            self.tell(EventKind::Heartbeat { unfinished });
        }
    }

    /// Looks for dead workers and for changes that nobody woke this one for.
    pub(super) fn look_around(&mut self) -> Result<(), WorkError> {
        process::reap_orphans();
        self.store.check_path()?;
        let looked = self.recovery.look(&self.store).and_then(|()| {
            let version = self.store.data_version()?;
            let news = std::mem::take(&mut self.wrote) || version != self.seen;
            if (self.clock_was_set_back() || news) && self.store.follow_clock_step(clock::now())? > 0 {
                self.look = true;
            }
            Ok(version)
        });
        match looked {
            Ok(version) => {
                self.look |= version != self.seen;
                self.seen = version;
                Ok(())
            }
            Err(WorkError::Store(error)) => self.bear(error),
            Err(other) => Err(other),
        }
    }

    /// Has the wall clock fallen behind the monotonic one since the last look?
    fn clock_was_set_back(&mut self) -> bool {
        let (then, wall_then) = std::mem::replace(&mut self.clocks, (Instant::now(), clock::now()));
        let passed = u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clocks.1.plus(STEP) < wall_then.plus(Millis(passed))
    }

    pub(super) fn deadline(&self) -> Instant {
        let now = Instant::now();
        let mut deadline = self.looked_at + LOOK_EVERY;
        let in_trouble = self.not_before.is_some_and(|at| at > now);
        if let Some(due) = self.backlog.next_due.filter(|_| !in_trouble) {
            deadline = deadline.min(now + Duration::from(due.since(clock::now())));
        }
        let stalled = self.exchange.stalled_since().map(|since| since + STALLED);
        let give_back = (!self.unwanted.is_empty() && !in_trouble).then_some(now);
        let breather = self.breather.map(|breather| breather.until);
        let moments = [self.phase.deadline(), breather, self.gather_until, stalled, give_back];
        deadline = moments.into_iter().flatten().fold(deadline, Instant::min);
        // A turn that has to wait comes when it may, whatever else there is to look for.
        match self.not_before {
            Some(at) if at > now => deadline.max(now).min(at),
            _ => deadline,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        if !self.running.is_empty() || !self.unsaved.is_empty() || !self.unwanted.is_empty() {
            return false;
        }
        if self.phase.is_stopping() {
            return true;
        }
        // Dead workers are dealt with first: what they held may be what there is to do.
        !self.look && !self.recovery.is_under_way() && self.has_done_enough()
    }

    /// Is there nothing left of what it was asked to do? As of the last turn.
    pub(super) fn has_done_enough(&self) -> bool {
        let left = match self.options.until {
            Until::Stopped => true,
            Until::Drained => self.backlog.running || self.backlog.waiting,
            Until::Idle => self.backlog.running || self.backlog.due,
        };
        !left || self.options.max_jobs.is_some_and(|most| self.claimed >= most)
    }
}
