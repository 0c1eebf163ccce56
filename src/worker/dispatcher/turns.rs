//! Turns: what ended goes to disk, what is due is claimed; then act, then speak.

use std::time::{Duration, Instant};

use super::super::WorkError;
use super::super::phase::Phase;
use super::super::recovery::Remains;
use super::Dispatcher;
use crate::clock;
use crate::model::JobState;
use crate::report::EventKind;
use crate::store::{CancelledClaim, Recorded, StoreError, Turn, TurnRequest};
use crate::wake;

/// How long it waits before it writes again after trouble that passes.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a worker that is to stop tries to write what it still has to write.
const LAST_TRIES: u32 = 3;

/// How long it waits before it tries a full disk again where no result waits to be written.
const FULL_DISK_PROBE: Duration = Duration::from_mins(1);

impl Dispatcher<'_> {
    /// Records what ended, and claims what can be started: one transaction, if there is any need for one.
    pub(super) fn take_turn(&mut self) -> Result<(), WorkError> {
        self.gather_until = None;
        let needed = self.look || !self.unsaved.is_empty() || !self.unwanted.is_empty();
        if !needed || self.not_before.is_some_and(|at| at > Instant::now()) {
            return Ok(());
        }
        let request = TurnRequest {
            worker: self.worker,
            queues: self.options.queues.as_deref(),
            ended: &self.unsaved,
            give_back: &self.unwanted,
            idle_slots: self.idle_slots(),
        };
        match self.store.turn(&mut self.definitions, &request, &clock::now) {
            Ok(turn) => {
                self.out_of_trouble();
                self.look = false;
                self.wrote = true;
                self.unsaved.clear();
                self.slots.settle(self.settling.drain(..));
                let returned = !std::mem::take(&mut self.unwanted).is_empty();
                let news = returned || turn.recorded.iter().any(Recorded::is_retry);
                let ended = !turn.recorded.is_empty() || !turn.expired.is_empty();
                self.act_on(turn);
                // Others may have a free slot for what goes back to a queue, and may wait for the last job so that
                // they can end. Nothing else may wake them: two idle workers would wake each other for ever.
                if news || ended && self.running.is_empty() {
                    self.wake_others();
                }
                Ok(())
            }
            Err(error) => self.bear(error),
        }
    }

    /// How many more claims it can start at once.
    fn idle_slots(&self) -> usize {
        if self.phase.is_stopping() {
            return 0;
        }
        let left = self.options.max_jobs.map_or(u64::MAX, |most| most.saturating_sub(self.claimed));
        let most = self.breather.map_or(self.slots.number(), |breather| breather.room_for);
        most.saturating_sub(self.running.len()).min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The transaction is on disk: now start, end and tell.
    fn act_on(&mut self, turn: Turn) {
        self.backlog = turn.backlog;
        for claim in turn.claims {
            let job_id = claim.job_id;
            self.claimed += 1;
            match self.slots.order(claim) {
                Ok((claim, control)) => self.running.add(claim, control),
                Err(error) => {
                    self.lacks_something(job_id, &error.to_string());
                    self.give_back(job_id, None);
                }
            }
        }
        self.running.cancel(&turn.cancels);
        if self.phase == Phase::Ending {
            self.running.interrupt();
        }
        for recorded in turn.recorded {
            self.tell_recorded(recorded);
        }
        for expired in turn.expired {
            self.summary.dead += 1;
            self.tell(EventKind::JobExpired {
                job_id: expired.id,
                name: expired.name,
                attempts: expired.attempts,
            });
        }
        self.tell_called_off(turn.cancelled);
    }

    fn wake_others(&self) {
        wake::wake_others(self.recovery.run_dir(), &self.name);
    }

    fn tell_called_off(&mut self, jobs: Vec<CancelledClaim>) {
        for job in jobs {
            self.tell(EventKind::JobCancelled { job_id: job.id, name: job.name, attempts: job.attempts });
        }
    }

    fn tell_recorded(&mut self, recorded: Recorded) {
        match recorded {
            Recorded::Written { attempt, name, runs } => {
                self.summary.attempts += 1;
                match attempt.next_state {
                    JobState::Succeeded => self.summary.succeeded += 1,
                    JobState::Dead => self.summary.dead += 1,
                    _ => {}
                }
                self.tell(EventKind::AttemptEnded { attempt, name, runs });
            }
            Recorded::Late { job_id, number } => self.tell(EventKind::AttemptLost {
                job_id,
                name: None,
                attempt: number,
                message: "its end came too late: another worker had dealt with it".to_owned(),
            }),
        }
    }

    /// Records what is known of a dead worker's attempts. Its processes are gone already.
    pub(super) fn recover(&mut self, remains: &Remains) -> Result<(), WorkError> {
        if let Some(left) = &remains.left {
            self.tell(EventKind::Notice(format!("a dead worker's attempt could not be ended yet: {left}")));
            self.recovery.try_again(remains);
            return Ok(());
        }
        let now = clock::now();
        let lost: Vec<_> = remains.lost.iter().map(|lost| lost.ended(now, rand::random())).collect();
        let recovered = self.store.recover(
            &mut self.definitions,
            remains.worker.id,
            &lost,
            &remains.never_started,
            &clock::now,
        );
        match recovered {
            Ok(recovered) => {
                self.look = true;
                self.recovery.done(remains);
                for recorded in recovered.recorded {
                    self.tell_lost(recorded);
                }
                self.tell_called_off(recovered.cancelled);
                self.wake_others();
                Ok(())
            }
            Err(error) => {
                self.recovery.try_again(remains);
                self.bear(error)
            }
        }
    }

    /// An attempt of a dead worker: it was lost, and this is what became of its job.
    fn tell_lost(&mut self, recorded: Recorded) {
        if let Recorded::Written { attempt, name, .. } = &recorded {
            self.tell(EventKind::AttemptLost {
                job_id: attempt.job_id,
                name: Some(name.clone()),
                attempt: attempt.number,
                message: attempt.message.clone().unwrap_or_default(),
            });
            self.tell_recorded(recorded);
        }
    }

    /// Saves what running attempts have written. It is a convenience: trouble with it is left to the next turn.
    pub(super) fn save_outputs(&mut self) {
        let outputs = std::mem::take(&mut self.outputs);
        if !outputs.is_empty() {
            let _ = self.store.save_live_outputs(self.worker, &outputs);
        }
    }

    /// Trouble that passes is told once and waited out; any other ends the worker.
    pub(super) fn bear(&mut self, error: StoreError) -> Result<(), WorkError> {
        if !error.is_passing() || self.gives_up() {
            return Err(error.into());
        }
        // One that is to stop has to give back what it claimed, and does not wait a minute for that.
        let patient = self.unsaved.is_empty() && !self.phase.is_stopping();
        let probe = matches!(error, StoreError::Full) && patient;
        self.not_before = Some(Instant::now() + if probe { FULL_DISK_PROBE } else { PAUSE });
        self.look = true;
        self.withdraw(|_| true);
        if !self.in_trouble {
            self.in_trouble = true;
            self.tell(EventKind::Notice(format!("{error}; no job is started until that has passed")));
        }
        Ok(())
    }

    /// Told to stop, and nothing runs any more: the results are tried a few times more, and then there is no use in it.
    fn gives_up(&mut self) -> bool {
        if self.phase.is_stopping() && self.running.is_empty() {
            self.last_tries += 1;
        }
        self.last_tries > LAST_TRIES
    }

    /// A result waits to be written: the next try comes soon, however long the pause was to be.
    pub(super) fn hurry(&mut self) {
        let soon = Instant::now() + PAUSE;
        self.not_before = self.not_before.map(|at| at.min(soon));
    }

    fn out_of_trouble(&mut self) {
        self.not_before = None;
        if std::mem::take(&mut self.in_trouble) {
            self.tell(EventKind::Notice("the database can be written again".to_owned()));
        }
    }
}
