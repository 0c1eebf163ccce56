//! The dispatcher: waits for events, takes all of them, runs one transaction, then acts and reports.
//!
//! Ends that arrive during a commit share the next commit; there is no other batching. A claim is on disk before its slot
//! gets the assignment. A slot is idle only once the end of its last attempt is on disk.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::mpsc::unbounded_channel;

use super::assignment::Context;
use super::inbox::{Event, Findings, Inbox, is_end_by_stop_signal};
use super::recovery::Recovery;
use super::registration::Registration;
use super::shutdown::{Shutdown, Step};
use super::slots::Slots;
use super::store_trouble::StoreTrouble;
use super::throttle::Throttle;
use super::{Options, Summary, Until};
use crate::clock;
use crate::model::{JobState, StopReason, signal};
use crate::process::{Inherited, ZombieReaper};
use crate::report::{self, EventKind, Reporter};
use crate::store::{
    Backlog, Blocked, Definitions, DroppedJob, Ended, Fired, Output, Recorded, Store, StoreError, Turn,
    TurnRequest, Waiting,
};
use crate::text::{Millis, Timestamp, counted};
use crate::wake;

/// The interval at which a worker polls other workers' locks and the database, for work that no wake-up announced.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The wall clock was set back if it is behind the monotonic clock by more than this; less is drift.
const CLOCK_STEP: Millis = Millis(500);

/// Works until the options or a signal end the worker.
pub(super) async fn run(
    mut store: Store,
    options: Options,
    reporter: &mut dyn Reporter,
    inherited: &Inherited,
) -> Result<Summary> {
    let (registration, socket) = Registration::new(&mut store, &options)?;
    let (sender, events) = unbounded_channel();
    let mut inbox = Inbox::new(inherited, events, socket)?;
    let worker = &registration.row;
    let db = store.file().path().to_owned();
    let context = Context {
        worker_id: worker.name.clone(),
        db: db.clone(),
        reports: registration.reports.clone(),
        start_log: registration.start_log.clone(),
        inbox: sender.clone(),
    };
    let mut dispatcher = Dispatcher {
        worker_row: worker.id,
        worker_id: worker.name.clone(),
        slots: Slots::new(options.slots, context),
        recovery: Recovery::new(store.file().clone(), worker, sender),
        options,
        store,
        definitions: Definitions::default(),
        reporter,
        shutdown: Shutdown::NotAsked,
        throttle: Throttle::default(),
        trouble: StoreTrouble::default(),
        zombies: ZombieReaper::default(),
        backlog: Backlog::default(),
        blocked: Blocked::default(),
        summary: Summary::default(),
        claimed: 0,
        ended: Vec::new(),
        returned: Vec::new(),
        outputs: Vec::new(),
        turn_needed: true,
        polled_at: Instant::now(),
        polled_version: 0,
        wrote: false,
        clocks: (Instant::now(), clock::now()),
    };
    dispatcher.report(EventKind::WorkerStarted {
        worker_id: dispatcher.worker_id.clone(),
        slots: dispatcher.options.slots,
        queues: dispatcher.options.queues.clone(),
        db: db.display().to_string(),
    });
    dispatcher.send_heartbeat();
    dispatcher.store.follow_clock_step(clock::now())?;
    dispatcher.poll()?;
    dispatcher.serve(&mut inbox).await?;
    dispatcher.summary.stopped_by = dispatcher.summary.stopped_by.filter(|_| !dispatcher.has_done_enough());
    registration.end(&mut dispatcher.store)?;
    dispatcher.note_stuck();
    let Summary { attempts, succeeded, dead, .. } = dispatcher.summary;
    dispatcher.report(EventKind::WorkerStopped { attempts, succeeded, dead });
    Ok(dispatcher.summary)
}

struct Dispatcher<'a> {
    worker_row: i64,
    /// Random and never reused; `name` in the row.
    worker_id: String,
    options: Options,
    store: Store,
    definitions: Definitions,
    reporter: &'a mut dyn Reporter,
    slots: Slots,
    recovery: Recovery,
    shutdown: Shutdown,
    throttle: Throttle,
    trouble: StoreTrouble,
    zombies: ZombieReaper,
    /// As of the last turn.
    backlog: Backlog,
    /// Read when nothing else is left to do, by a worker that drains.
    blocked: Blocked,
    summary: Summary,
    /// Claims that became attempts, or are about to.
    claimed: u64,
    /// Ended attempts that are not on disk yet.
    ended: Vec<Ended>,
    /// Jobs whose claims go back uncounted; not on disk yet.
    returned: Vec<i64>,
    /// The output of running attempts so far: job, number, output. Not on disk yet.
    outputs: Vec<(i64, u32, Output)>,
    /// Something may have changed since the last turn.
    turn_needed: bool,
    polled_at: Instant,
    /// The data version at the last poll.
    polled_version: i64,
    /// This worker has written since the last poll.
    wrote: bool,
    /// Both clocks at the last poll.
    clocks: (Instant, Timestamp),
}

impl Dispatcher<'_> {
    async fn serve(&mut self, inbox: &mut Inbox) -> Result<()> {
        loop {
            self.take_turn()?;
            if self.is_done() {
                return Ok(());
            }
            for event in inbox.next(self.deadline(), self.shutdown.is_stopping()).await {
                self.handle(event)?;
            }
            self.save_outputs();
            self.pass_time()?;
        }
    }

    fn report(&mut self, kind: EventKind) {
        self.reporter.report(&report::Event { time: clock::now(), kind });
    }

    // Turns.

    /// Records ended attempts and claims jobs for idle slots in one transaction, if a turn is needed.
    fn take_turn(&mut self) -> Result<()> {
        let needed = self.turn_needed || !self.ended.is_empty() || !self.returned.is_empty();
        if !needed || self.trouble.waits_until(Instant::now()).is_some() {
            return Ok(());
        }
        let request = TurnRequest {
            worker: self.worker_row,
            queues: self.options.queues.as_deref(),
            ended: &self.ended,
            give_back: &self.returned,
            idle_slots: self.idle_slots(),
        };
        match self.store.turn(&mut self.definitions, &request, &clock::now) {
            Ok(turn) => {
                self.turn_needed = false;
                self.wrote = true;
                self.ended.clear();
                self.slots.committed();
                if self.trouble.end() {
                    self.report(EventKind::Notice("the database can be written again".to_owned()));
                }
                let returned = !std::mem::take(&mut self.returned).is_empty();
                let makes_work = returned || turn.recorded.iter().any(Recorded::makes_work);
                let has_expired = !turn.expired.is_empty();
                let place_freed = turn.backlog.place_freed;
                let has_ended = !turn.recorded.is_empty();
                let has_enqueued = turn.fired.iter().any(|fired| fired.job_id.is_some());
                self.apply(turn);
                // Another worker may have an idle slot for a new or requeued job, one that goes on, an alert, or a place that came
                // free in a full queue, or may wait for the last job so that it can end. Nothing else may wake the others: two
                // idle workers would wake each other for ever.
                if makes_work
                    || has_expired
                    || has_enqueued
                    || place_freed
                    || has_ended && self.slots.busy() == 0
                {
                    self.wake_others();
                }
                self.look_for_blocked()
            }
            Err(error) => self.handle_store_error(error),
        }
    }

    /// A drain whose last jobs are blocked goes on as long as one of them can still become ready.
    fn look_for_blocked(&mut self) -> Result<()> {
        self.blocked = Blocked::default();
        if self.options.until == Until::Drained
            && !self.backlog.running
            && self.backlog.waiting == Waiting::Nothing
        {
            match self.store.blocked(self.options.queues.as_deref()) {
                Ok(blocked) => self.blocked = blocked,
                Err(error) => return self.handle_store_error(error),
            }
        }
        Ok(())
    }

    /// The number of attempts that can start once the ended ones are on disk.
    fn idle_slots(&self) -> usize {
        if self.shutdown.is_stopping() {
            return 0;
        }
        let left = self.options.max_jobs.map_or(u64::MAX, |most| most.saturating_sub(self.claimed));
        let idle = self.throttle.limit(self.slots.count()).saturating_sub(self.slots.busy());
        idle.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The turn is on disk: now start attempts, end attempts and report.
    fn apply(&mut self, turn: Turn) {
        self.backlog = turn.backlog;
        for claim in turn.claims {
            let job_id = claim.job_id;
            self.claimed += 1;
            if let Err(error) = self.slots.assign(claim) {
                self.give_back(job_id);
                self.handle_shortage(job_id, &error.to_string());
            }
        }
        self.slots.cancel(&turn.cancels);
        for recorded in turn.recorded {
            self.report_recorded(recorded);
        }
        for expired in turn.expired {
            self.summary.dead += u64::from(self.options.takes_from(&expired.queue));
            let (job_id, name, attempts) = (expired.id, expired.name, expired.attempts);
            self.report(EventKind::JobExpired { job_id, name, attempts });
        }
        self.report_cancelled(turn.cancelled);
        for Fired { name, at, job_id } in turn.fired {
            self.report(EventKind::ScheduleFired { name, scheduled_for: at, job_id });
        }
    }

    /// Says how many jobs the drain left, which nothing but a person can help on.
    fn note_stuck(&mut self) {
        self.summary.stuck = self.blocked.stuck;
        if self.blocked.stuck > 0 {
            let (jobs, wait) =
                (counted(self.blocked.stuck, "job"), if self.blocked.stuck == 1 { "waits" } else { "wait" });
            self.report(EventKind::Notice(format!(
                "{jobs} still {wait} for jobs that are dead or cancelled; runner inspect jobs --state blocked lists them, \
                 runner explain ID tells what goes on"
            )));
        }
    }

    fn wake_others(&self) {
        wake::wake_others(&self.store.file().run_dir(), &self.worker_id);
    }

    fn report_cancelled(&mut self, jobs: Vec<DroppedJob>) {
        for DroppedJob { id, name, attempts, .. } in jobs {
            self.report(EventKind::JobCancelled { job_id: id, name, attempts });
        }
    }

    fn report_recorded(&mut self, recorded: Recorded) {
        match recorded {
            Recorded::Written { attempt, name, queue, runs, .. } => {
                // A dead worker may have worked on other queues.
                if self.options.takes_from(&queue) {
                    self.summary.attempts += 1;
                    match attempt.next_state {
                        JobState::Succeeded => self.summary.succeeded += 1,
                        JobState::Dead => self.summary.dead += 1,
                        _ => {}
                    }
                }
                self.report(EventKind::AttemptEnded { attempt, name, runs });
            }
            Recorded::Late { job_id, number } => self.report(EventKind::AttemptLost {
                job_id,
                name: None,
                attempt: number,
                message: "its end came too late: another worker had dealt with it".to_owned(),
            }),
        }
    }

    /// Saves the output of running attempts. A failure is ignored: live output is a convenience, and the next turn meets
    /// the same trouble.
    fn save_outputs(&mut self) {
        let outputs = std::mem::take(&mut self.outputs);
        if !outputs.is_empty() {
            let _ = self.store.save_live_outputs(self.worker_row, &outputs);
        }
    }

    /// Trouble that passes is reported once and waited out; any other error ends the worker.
    fn handle_store_error(&mut self, error: StoreError) -> Result<()> {
        let only_results_left = self.shutdown.is_stopping() && self.slots.busy() == 0;
        if !error.is_passing() || only_results_left && self.trouble.gives_up() {
            return Err(error.into());
        }
        let may_wait_long = matches!(error, StoreError::Full)
            && self.ended.is_empty()
            && self.returned.is_empty()
            && !self.shutdown.is_stopping();
        self.turn_needed = true;
        if self.trouble.begin(Instant::now(), may_wait_long) {
            self.report(EventKind::Notice(format!("{error}; no job is started until that has passed")));
        }
        Ok(())
    }

    // Events.

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Signal(number) => self.handle_signal(number),
            // Never within a transaction: no other process could write until this one is resumed.
            Event::Suspend => kill_process(getpid(), Signal::STOP)?,
            Event::Woken => self.turn_needed = true,
            Event::Started { slot, pid } => {
                if let Some(claim) = self.slots.started(slot, pid) {
                    let started = EventKind::JobStarted {
                        job_id: claim.job_id,
                        name: claim.spec.name.clone(),
                        attempt: claim.number,
                        runs: claim.spec.policy.runs(),
                        budget_number: claim.budget_number,
                        pid,
                    };
                    self.report(started);
                }
            }
            Event::Output { job_id, number, output } => {
                self.outputs.retain(|(job, ..)| *job != job_id);
                self.outputs.push((job_id, number, output));
            }
            Event::Notice { job_id, text } => {
                self.report(EventKind::Notice(format!("job {job_id}: {text}")));
            }
            Event::Ended { slot, mut ended } => {
                self.trouble.retry_soon(Instant::now());
                self.slots.end(slot);
                self.outputs.retain(|(job, ..)| *job != ended.job_id);
                // A machine or service that stops may signal the jobs as well as the worker.
                if self.shutdown.is_stopping() && is_end_by_stop_signal(ended.exit) {
                    ended.exit.stop_reason = Some(StopReason::Interrupted);
                }
                self.ended.push(*ended);
            }
            Event::NotStarted { slot, shortage } => {
                self.trouble.retry_soon(Instant::now());
                if let Some(running) = self.slots.end(slot) {
                    let job_id = running.claim.job_id;
                    self.give_back(job_id);
                    if let Some(why) = shortage {
                        self.handle_shortage(job_id, &why);
                    }
                }
            }
            Event::SlotBroke => bail!("a slot of the worker broke down; this is a defect of runner"),
            Event::DeadWorker(findings) => self.recover(&findings)?,
        }
        Ok(())
    }

    /// The claim goes back to its queue and is not counted.
    fn give_back(&mut self, job_id: i64) {
        self.returned.push(job_id);
        self.claimed -= 1;
    }

    fn handle_shortage(&mut self, job_id: i64, why: &str) {
        let running = self.slots.busy();
        if self.throttle.begin(Instant::now(), running) {
            self.report(EventKind::Notice(format!(
                "job {job_id} could not be started now and goes back to its queue: {why}; {running} running"
            )));
        }
    }

    fn handle_signal(&mut self, number: i32) {
        self.summary.stopped_by.get_or_insert(number);
        self.slots.stop_unstarted();
        let step = self.shutdown.signal(Instant::now(), self.options.shutdown_timeout.into());
        self.trouble.retry_soon(Instant::now());
        let name = signal::name(number);
        let reason = match step {
            Step::Wait => {
                let timeout = self.options.shutdown_timeout;
                format!("{name}; running attempts have {timeout} to end, a second signal ends them now")
            }
            Step::Interrupt => format!("{name} again: ending what is running"),
            Step::Kill => format!("{name} once more: killing what is running"),
        };
        self.shut_down(step, reason);
        if step == Step::Wait {
            // Only for people who look: a stop does not fail for that.
            let _ = self.store.worker_stopping(self.worker_row, clock::now());
        }
    }

    fn shut_down(&mut self, step: Step, reason: String) {
        self.report(EventKind::WorkerStopping { reason, running: self.slots.started_attempts() });
        match step {
            Step::Wait => {}
            Step::Interrupt => self.slots.interrupt(),
            Step::Kill => self.slots.kill(),
        }
    }

    /// Records the attempts of a dead worker, whose processes have ended.
    fn recover(&mut self, findings: &Findings) -> Result<()> {
        if let Some(survivors) = &findings.survivors {
            let text = format!("a dead worker's attempt could not be ended yet: {survivors}");
            self.report(EventKind::Notice(text));
            self.recovery.try_again(findings);
            return Ok(());
        }
        let Findings { worker, lost, never_started, .. } = findings;
        match self.store.recover(&mut self.definitions, worker.id, lost, never_started, &clock::now) {
            Ok(recovered) => {
                self.turn_needed = true;
                self.recovery.done(findings);
                for recorded in recovered.recorded {
                    self.report_lost(recorded);
                }
                self.report_cancelled(recovered.cancelled);
                self.wake_others();
                Ok(())
            }
            Err(error) => {
                self.recovery.try_again(findings);
                self.handle_store_error(error)
            }
        }
    }

    /// Reports that an attempt of a dead worker was lost, then the decision about its job.
    fn report_lost(&mut self, recorded: Recorded) {
        if let Recorded::Written { attempt, name, .. } = &recorded {
            self.report(EventKind::AttemptLost {
                job_id: attempt.job_id,
                name: Some(name.clone()),
                attempt: attempt.number,
                message: attempt.message.clone().unwrap_or_default(),
            });
            self.report_recorded(recorded);
        }
    }

    // Time.

    fn pass_time(&mut self) -> Result<()> {
        let now = Instant::now();
        if let Some(step) = self.shutdown.pass(now) {
            let reason = format!("{} are over: ending what is running", self.options.shutdown_timeout);
            self.shut_down(step, reason);
        }
        self.turn_needed |= self.throttle.lift(now);
        self.turn_needed |= self.backlog.next_due.is_some_and(|due| due <= clock::now());
        if now >= self.polled_at + POLL_INTERVAL {
            self.polled_at = now;
            self.poll()?;
            self.send_heartbeat();
        }
        Ok(())
    }

    fn send_heartbeat(&mut self) {
        if self.reporter.wants_heartbeats() {
            let unfinished = self.store.count_unfinished(self.options.queues.as_deref()).ok();
            self.report(EventKind::Heartbeat { unfinished });
        }
    }

    /// Looks for dead workers, and for changes that no wake-up announced.
    fn poll(&mut self) -> Result<()> {
        self.zombies.reap(|pid| self.slots.has_process(pid));
        self.store.check_path()?;
        if let Err(error) = self.poll_store() {
            return self.handle_store_error(error);
        }
        Ok(())
    }

    fn poll_store(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.recovery.begin_for_dead(&self.store)?
            && self.throttle.begin(Instant::now(), self.slots.busy())
        {
            self.report(EventKind::Notice(format!("a dead worker cannot be recovered now: {error}")));
        }
        let version = self.store.data_version()?;
        let others_wrote = version != self.polled_version;
        let has_news = std::mem::take(&mut self.wrote) || others_wrote;
        if (self.clock_was_set_back() || has_news) && self.store.follow_clock_step(clock::now())? > 0 {
            self.turn_needed = true;
        }
        self.turn_needed |= others_wrote;
        self.polled_version = version;
        Ok(())
    }

    /// Did the wall clock fall behind the monotonic clock since the last poll?
    fn clock_was_set_back(&mut self) -> bool {
        let (then, wall_then) = std::mem::replace(&mut self.clocks, (Instant::now(), clock::now()));
        let passed = u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clocks.1.plus(CLOCK_STEP) < wall_then.plus(Millis(passed))
    }

    /// The time to act if no event arrives.
    fn deadline(&self) -> Instant {
        let now = Instant::now();
        let next_poll = self.polled_at + POLL_INTERVAL;
        if let Some(at) = self.trouble.waits_until(now) {
            let others = [self.shutdown.deadline(), self.throttle.until()].into_iter().flatten();
            return others.fold(next_poll, Instant::min).max(now).min(at);
        }
        let due = self.backlog.next_due.map(|due| now + Duration::from(due.since(clock::now())));
        // A claim that could not be assigned goes back at once.
        let returned = (!self.returned.is_empty()).then_some(now);
        let moments = [self.shutdown.deadline(), self.throttle.until(), due, returned];
        moments.into_iter().flatten().fold(next_poll, Instant::min)
    }

    fn is_done(&self) -> bool {
        if self.slots.busy() > 0 || !self.ended.is_empty() || !self.returned.is_empty() {
            return false;
        }
        if self.shutdown.is_stopping() {
            return true;
        }
        // Dead workers are recovered first: their jobs may be left to do.
        !self.turn_needed && !self.recovery.is_under_way() && self.has_done_enough()
    }

    /// True if the worker has reached the end that its options ask for, as of the last turn.
    fn has_done_enough(&self) -> bool {
        let left = match self.options.until {
            Until::Stopped => true,
            Until::Drained => {
                self.backlog.running || self.backlog.waiting > Waiting::Nothing || self.blocked.goes_on
            }
            Until::Idle => self.backlog.running || self.backlog.waiting >= Waiting::HeldBack,
        };
        !left || self.options.max_jobs.is_some_and(|most| self.claimed >= most)
    }
}
