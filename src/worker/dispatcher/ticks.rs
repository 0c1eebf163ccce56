//! The tick, which finds what no message told, and the moment of the next turn.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::state::Dispatcher;
use crate::clock;
use crate::model::Event;
use crate::store::{FarTime, StoreError, TimeOf};
use crate::text::{Timestamp, local_time};

impl Dispatcher<'_> {
    /// Comes once a second: looks for dead workers, and for changes that no wake-up announced.
    pub(super) fn tick(&mut self) -> Result<()> {
        self.slots.reap_zombies();
        self.store.check_path()?;
        if let Err(error) = self.poll_store() {
            self.handle_store_error(error)?;
        }
        // The timer follows the monotonic clock. The wall clock may have been set forward, or the machine suspended.
        self.turn_needed |= self.next_due().is_some_and(|due| due <= clock::now());
        if self.reporter.wants_heartbeats() {
            let unfinished = self.store.count_unfinished(self.options.queues.as_deref()).ok();
            self.report(&Event::Heartbeat { running: self.slots.started_attempts(), unfinished });
        }
        Ok(())
    }

    fn poll_store(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.recovery.begin_for_dead(&self.store)?
            && self.throttle.shortage(Instant::now(), self.slots.busy())
        {
            self.notice(format!("a dead worker cannot be recovered now: {error}"));
        }
        let others_wrote = self.changes.did_others_write(self.store.data_version()?);
        let has_news = std::mem::take(&mut self.changes.wrote) || others_wrote;
        self.changes.clock_set_back |= self.changes.was_clock_set_back();
        if (self.changes.clock_set_back || has_news) && self.store.rebase_after_clock_step()? > 0 {
            self.turn_needed = true;
        }
        if self.changes.clock_set_back || has_news {
            self.bring_far_times_nearer()?;
            self.changes.clock_set_back = false;
        }
        self.turn_needed |= others_wrote;
        Ok(())
    }

    /// Looks for times that were computed while the clock was ahead.
    pub(super) fn bring_far_times_nearer(&mut self) -> Result<(), StoreError> {
        let far = self.store.bring_far_times_nearer()?;
        self.turn_needed |= !far.is_empty();
        for time in far {
            self.tell_of_far_time(time);
        }
        Ok(())
    }

    pub(super) fn tell_of_far_time(&mut self, FarTime { of, from, to }: FarTime) {
        let what = match of {
            TimeOf::Schedule(name) => format!("schedule {name} comes next"),
            TimeOf::Job { id, name } => format!("job {id} {name} is due"),
            TimeOf::PausedQueue(name) => format!("the pause of queue {name} ends"),
            TimeOf::PausedSchedule(name) => format!("the pause of schedule {name} ends"),
            TimeOf::PauseOfAll => "the pause of everything ends".to_owned(),
        };
        let (from, to) = (local_time(from), local_time(to));
        self.notice(format!("{what} at {to}, not at {from}: the clock had been ahead"));
    }

    /// The moment of the next turn if nothing else happens.
    pub(super) fn due_at(&self) -> Option<Instant> {
        let may_turn = self.throttle.allows_turn(Instant::now());
        let due = self.next_due().filter(|_| may_turn)?;
        Some(Instant::now() + Duration::from(due.since(clock::now())))
    }

    /// When something falls due that this worker would take. Nothing does for one that claims no more: it would look at what
    /// is due again and again.
    fn next_due(&self) -> Option<Timestamp> {
        self.backlog.next_due.filter(|_| !self.claims_no_more())
    }
}
