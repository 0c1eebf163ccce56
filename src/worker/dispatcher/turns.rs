//! A turn: one transaction, and what follows from it once it is on disk.

use std::time::Instant;

use anyhow::Result;

use super::state::Dispatcher;
use crate::call_target::to_type;
use crate::model::Event;
use crate::store::{Blocked, PendingWork, StoreError, Takes, Turn, TurnRequest, UnreadableJob};
use crate::worker::options::Until;

impl Dispatcher<'_> {
    /// Runs a turn if one is needed, and again as long as a claim cannot be given to its slot.
    pub(super) fn turn(&mut self) -> Result<()> {
        while (self.turn_needed || !self.unsaved.is_empty()) && self.throttle.allows_turn(Instant::now()) {
            let request = TurnRequest {
                worker: self.worker.id,
                takes: match self.run {
                    Some(_) => Takes::OwnJobs,
                    None => Takes::Queues(self.options.queues.as_deref()),
                },
                ended: &self.unsaved.ended,
                release: &self.unsaved.released,
                idle_slots: self.idle_slots(),
                claims_no_more: self.claims_no_more(),
                claims_left: self.claims_left(),
                left_alone: &self.unreadable,
                only_ends: self.damage.is_some(),
                ends_with_its_jobs: self.run.as_ref().is_some_and(|run| !run.task.has_more())
                    && !self.recovery.is_under_way(),
            };
            match self.store.turn(&mut self.definitions, &request) {
                Ok(turn) => self.apply(turn)?,
                Err(error) => self.handle_store_error(error)?,
            }
        }
        Ok(())
    }

    /// How many jobs it may still claim; none if there is no limit.
    fn claims_left(&self) -> Option<u64> {
        self.options.max_jobs.map(|most| most.saturating_sub(self.summary.claimed))
    }

    /// The number of attempts that can start once the ended ones are on disk.
    fn idle_slots(&self) -> usize {
        if self.shutdown.is_stopping() {
            return 0;
        }
        let left = self.claims_left().unwrap_or(u64::MAX);
        let idle = self.throttle.cap(self.slots.count()).saturating_sub(self.slots.busy());
        idle.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The turn is on disk: now start attempts, end attempts and report.
    pub(super) fn apply(&mut self, turn: Turn) -> Result<()> {
        self.turn_needed = false;
        self.changes.wrote = true;
        self.unsaved.ended.clear();
        let released = !std::mem::take(&mut self.unsaved.released).is_empty();
        self.slots.committed();
        if self.throttle.store_works() {
            self.notice("the database can be written again");
        }
        self.backlog = turn.backlog;
        for claim in turn.claims {
            let job_id = claim.job_id;
            self.summary.claimed += 1;
            if let Err(error) = self.slots.assign(claim) {
                self.release(job_id);
                self.handle_shortage(job_id, &error.to_string());
            }
        }
        for UnreadableJob { id, why } in turn.unreadable {
            self.notice(format!(
                "job {id} cannot be read and is left alone: {why}; {} says more",
                to_type("doctor", "")
            ));
            self.unreadable.push(id);
            self.summary.unreadable += 1;
            self.turn_needed = true;
        }
        self.slots.cancel(&turn.cancels);
        if Event::wakes_others(&turn.events, released, self.backlog.place_freed, self.slots.busy() == 0) {
            self.store.wake_workers();
        }
        for event in turn.events {
            self.report(&event);
        }
        self.look_for_blocked().or_else(|error| self.handle_store_error(error))
    }

    /// A drain whose last jobs are blocked goes on as long as one of them can still become ready.
    fn look_for_blocked(&mut self) -> Result<(), StoreError> {
        let nothing_else = !self.backlog.running && self.backlog.pending == PendingWork::Nothing;
        // What waits for a job that cannot be read waits for a person.
        self.blocked = if self.options.until == Until::Drained && nothing_else && self.unreadable.is_empty() {
            if self.run.is_some() {
                self.store.blocked_of_run(self.worker.id)?
            } else {
                self.store.blocked(self.options.queues.as_deref())?
            }
        } else {
            Blocked::default()
        };
        Ok(())
    }

    /// Saves the output of running attempts.
    pub(super) fn save_outputs(&mut self) {
        let outputs = std::mem::take(&mut self.unsaved.outputs);
        if !outputs.is_empty() {
            // Live output is a convenience, and the next turn will report the same trouble.
            let _ = self.store.save_live_outputs(self.worker.id, &outputs);
        }
    }
}
