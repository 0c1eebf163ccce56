//! What the dispatcher knows, and what all its steps do with it.

use std::time::Instant;

use anyhow::Result;

use crate::clock;
use crate::model::{Event, Status, signal};
use crate::report::Reporter;
use crate::store::{Backlog, Blocked, DefinitionCache, EndedAttempt, LiveOutput, Store, StoreError, Worker};
use crate::worker::changes::Changes;
use crate::worker::keep::Keeper;
use crate::worker::options::{ExitConditions, Options, Summary};
use crate::worker::recovery::Recovery;
use crate::worker::retry_throttle::RetryThrottle;
use crate::worker::run::Run;
use crate::worker::shutdown::Shutdown;
use crate::worker::slots::Slots;

pub(super) struct Dispatcher<'a> {
    pub worker: Worker,
    pub options: Options,
    /// It stands before the store, because it has to be dropped first.
    pub keeper: Option<Keeper>,
    pub store: Store,
    pub definitions: DefinitionCache,
    pub reporter: &'a mut dyn Reporter,
    pub slots: Slots,
    pub recovery: Recovery,
    pub shutdown: Shutdown,
    pub throttle: RetryThrottle,
    pub unsaved: Unsaved,
    /// Something may have changed since the last turn.
    pub turn_needed: bool,
    /// Jobs that it could not read when they were due.
    pub unreadable: Vec<i64>,
    /// What else of the database makes no sense: it starts nothing more, and ends with this once what runs has ended.
    pub damage: Option<StoreError>,
    /// A pause of everything keeps the schedules that fire at boot.
    pub is_boot_held: bool,
    /// As of the last turn.
    pub backlog: Backlog,
    /// Looked up only when a draining worker has nothing else left to do.
    pub blocked: Blocked,
    pub summary: Summary,
    pub changes: Changes,
    pub run: Option<Run<'a>>,
}

/// Results that the worker knows and has not put on disk yet.
#[derive(Default)]
pub(super) struct Unsaved {
    pub ended: Vec<EndedAttempt>,
    /// Jobs whose claims are released uncounted.
    pub released: Vec<i64>,
    /// The output of running attempts so far.
    pub outputs: Vec<LiveOutput>,
}

impl Unsaved {
    /// Whether a turn has nothing to record. It need not wait for outputs.
    pub(super) fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.released.is_empty()
    }
}

impl Dispatcher<'_> {
    pub(super) fn report(&mut self, event: &Event) {
        self.summary.count(event, &self.options);
        self.reporter.report(clock::now(), event);
    }

    pub(super) fn notice(&mut self, text: impl Into<String>) {
        self.report(&Event::Notice(text.into()));
    }

    /// Says what an error keeps this worker from recording: how attempts have ended, and that others are left running. The next
    /// worker can only tell that they were lost.
    pub(super) fn tell_of_unrecorded(&mut self) {
        let ended = self.unsaved.ended.iter().map(|ended| {
            let how = match ended.end.status {
                Some(Status::Exited(status)) => format!("exit status {status}"),
                Some(Status::Signaled(number)) => signal::name(number),
                None => "it did not run".to_owned(),
            };
            format!(
                "job {}, attempt {} has ended ({how}), which could not be recorded",
                ended.job_id, ended.number
            )
        });
        let running = self.slots.claims().map(|claim| {
            format!(
                "job {} {} is left running, and nobody records its end",
                claim.job_id, claim.definition.name
            )
        });
        for text in ended.chain(running).collect::<Vec<_>>() {
            self.notice(text);
        }
    }

    pub(super) fn exit_conditions(&self) -> ExitConditions {
        ExitConditions {
            until: self.options.until,
            limit_reached: self.options.max_jobs.is_some_and(|most| self.summary.claimed >= most),
            is_stopping: self.shutdown.is_stopping() || self.damage.is_some(),
            is_busy: self.slots.busy() > 0 || !self.unsaved.is_empty(),
            turn_needed: self.turn_needed || self.run.as_ref().is_some_and(|run| !run.has_started),
            is_recovering: self.recovery.is_under_way(),
            backlog: self.backlog,
            may_unblock: self.blocked.may_unblock,
            gave_up: self.run.as_ref().is_some_and(|run| run.gave_up),
        }
    }

    /// Whether it only waits for what it runs, because it is stopping or has claimed as much as it may.
    pub(super) fn claims_no_more(&self) -> bool {
        let exit_conditions = self.exit_conditions();
        exit_conditions.is_stopping || exit_conditions.limit_reached
    }

    /// The job goes back to its queue, and its claim is not counted.
    pub(super) fn release(&mut self, job_id: i64) {
        self.unsaved.released.push(job_id);
        self.summary.claimed -= 1;
    }

    pub(super) fn handle_shortage(&mut self, job_id: i64, why: &str) {
        let running = self.slots.busy();
        if self.throttle.shortage(Instant::now(), running) {
            self.notice(format!(
                "job {job_id} could not be started now and goes back to its queue: {why}; {running} running"
            ));
        }
    }

    /// Trouble that passes is reported once and waited out; any other error ends the worker.
    pub(super) fn handle_store_error(&mut self, error: StoreError) -> Result<()> {
        let only_results_left = self.shutdown.is_timeout_over() && self.slots.busy() == 0;
        let may_wait_long =
            matches!(error, StoreError::Full(_)) && self.unsaved.is_empty() && !self.shutdown.is_stopping();
        if matches!(error, StoreError::InvalidData(_)) && self.damage.is_none() && self.slots.busy() > 0 {
            self.notice(format!(
                "{error}; nothing more is started, and this worker ends when what it runs has ended"
            ));
            self.damage = Some(error);
            self.turn_needed = true;
            return Ok(());
        }
        if !error.is_passing() {
            return Err(error.into());
        }
        self.turn_needed = true;
        let is_first = self.throttle.store_failed(Instant::now(), may_wait_long);
        if only_results_left && self.throttle.gives_up() {
            return Err(error.into());
        }
        if is_first {
            self.notice(format!("{error}; no job is started until that has passed"));
        }
        Ok(())
    }
}
