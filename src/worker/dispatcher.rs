//! The dispatcher: waits for news, takes all that is there, runs one transaction, then acts and speaks.
//!
//! Ends that arrive during a commit share the next one: that is all the batching there is. A claim is on disk before its
//! slot hears of it; a slot is idle only once its last end is on disk.

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
    Backlog, Definitions, DroppedJob, Ended, Output, Recorded, Store, StoreError, Turn, TurnRequest,
};
use crate::text::{Millis, Timestamp};
use crate::wake;

/// How often a worker looks by itself at other workers' locks, and for work that nobody woke it for.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A wall clock that is this much behind was set back; less is the clocks' own difference.
const CLOCK_STEP: Millis = Millis(500);

/// Works until it has done enough.
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
        worker: worker.id,
        name: worker.name.clone(),
        slots: Slots::new(options.slots, context),
        recovery: Recovery::new(store.file().run_dir(), worker, sender),
        options,
        store,
        definitions: Definitions::default(),
        reporter,
        shutdown: Shutdown::NotAsked,
        throttle: Throttle::default(),
        trouble: StoreTrouble::default(),
        zombies: ZombieReaper::default(),
        backlog: Backlog::default(),
        summary: Summary::default(),
        claimed: 0,
        ended: Vec::new(),
        returned: Vec::new(),
        outputs: Vec::new(),
        turn_needed: true,
        looked_at: Instant::now(),
        seen_version: 0,
        wrote: false,
        clocks: (Instant::now(), clock::now()),
    };
    dispatcher.tell(EventKind::WorkerStarted {
        worker_id: dispatcher.name.clone(),
        slots: dispatcher.options.slots,
        queues: dispatcher.options.queues.clone(),
        db: db.display().to_string(),
    });
    dispatcher.send_heartbeat();
    dispatcher.store.follow_clock_step(clock::now())?;
    dispatcher.look_around()?;
    dispatcher.serve(&mut inbox).await?;
    dispatcher.summary.cut_short = dispatcher.summary.cut_short.filter(|_| !dispatcher.has_done_enough());
    registration.end(&mut dispatcher.store)?;
    let Summary { attempts, succeeded, dead, .. } = dispatcher.summary;
    dispatcher.tell(EventKind::WorkerStopped { attempts, succeeded, dead });
    Ok(dispatcher.summary)
}

struct Dispatcher<'a> {
    /// The row id of this worker.
    worker: i64,
    /// Its random name.
    name: String,
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
    summary: Summary,
    /// Claims that became attempts, or are about to.
    claimed: u64,
    /// Attempts that have ended, not on disk.
    ended: Vec<Ended>,
    /// Jobs whose claims go back uncounted, not on disk.
    returned: Vec<i64>,
    /// What running attempts have written, not on disk.
    outputs: Vec<(i64, u32, Output)>,
    /// Something may have changed since the last turn.
    turn_needed: bool,
    looked_at: Instant,
    /// The data version at the last look.
    seen_version: i64,
    /// There was a turn since the last look.
    wrote: bool,
    /// Both clocks at the last look: if the wall clock has fallen behind the other, it was set back.
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

    fn tell(&mut self, kind: EventKind) {
        self.reporter.report(&report::Event { time: clock::now(), kind });
    }

    // Turns.

    /// Records what ended, and claims what can be started: one transaction, if there is any need for one.
    fn take_turn(&mut self) -> Result<()> {
        let needed = self.turn_needed || !self.ended.is_empty() || !self.returned.is_empty();
        if !needed || self.trouble.waits_until(Instant::now()).is_some() {
            return Ok(());
        }
        let request = TurnRequest {
            worker: self.worker,
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
                    self.tell(EventKind::Notice("the database can be written again".to_owned()));
                }
                let returned = !std::mem::take(&mut self.returned).is_empty();
                let has_requeued = returned || turn.recorded.iter().any(Recorded::is_retry);
                let has_ended = !turn.recorded.is_empty() || !turn.expired.is_empty();
                self.apply(turn);
                // Others may have an idle slot for what goes back to a queue, and may wait for the last job so that they can
                // end. Nothing else may wake them: two idle workers would wake each other for ever.
                if has_requeued || has_ended && self.slots.busy() == 0 {
                    self.wake_others();
                }
                Ok(())
            }
            Err(error) => self.handle_store_error(error),
        }
    }

    /// How many more attempts it can start once what has ended is on disk.
    fn idle_slots(&self) -> usize {
        if self.shutdown.is_stopping() {
            return 0;
        }
        let left = self.options.max_jobs.map_or(u64::MAX, |most| most.saturating_sub(self.claimed));
        let idle = self.throttle.limit(self.slots.number()).saturating_sub(self.slots.busy());
        idle.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The turn is on disk: now start, end and tell.
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
            self.tell_recorded(recorded);
        }
        for expired in turn.expired {
            self.summary.dead += 1;
            let (job_id, name, attempts) = (expired.id, expired.name, expired.attempts);
            self.tell(EventKind::JobExpired { job_id, name, attempts });
        }
        self.tell_cancelled(turn.cancelled);
    }

    fn wake_others(&self) {
        wake::wake_others(&self.store.file().run_dir(), &self.name);
    }

    fn tell_cancelled(&mut self, jobs: Vec<DroppedJob>) {
        for DroppedJob { id, name, attempts } in jobs {
            self.tell(EventKind::JobCancelled { job_id: id, name, attempts });
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

    /// Saves what running attempts have written. It is a convenience: trouble with it is left to the next turn.
    fn save_outputs(&mut self) {
        let outputs = std::mem::take(&mut self.outputs);
        if !outputs.is_empty() {
            let _ = self.store.save_live_outputs(self.worker, &outputs);
        }
    }

    /// Trouble that passes is told once and waited out; any other ends the worker.
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
            self.tell(EventKind::Notice(format!("{error}; no job is started until that has passed")));
        }
        Ok(())
    }

    // Events.

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Signal(number) => self.handle_signal(number),
            // Never in the midst of a transaction: nobody else could write until it goes on.
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
                    self.tell(started);
                }
            }
            Event::Output { job_id, number, output } => {
                self.outputs.retain(|(job, ..)| *job != job_id);
                self.outputs.push((job_id, number, output));
            }
            Event::Notice { job_id, text } => {
                self.tell(EventKind::Notice(format!("job {job_id}: {text}")));
            }
            Event::Ended { slot, mut ended } => {
                self.trouble.retry_soon(Instant::now());
                self.slots.end(slot);
                self.outputs.retain(|(job, ..)| *job != ended.job_id);
                // Whoever stops the machine or the service may have signalled its jobs, too.
                if self.shutdown.is_stopping() && is_end_by_stop_signal(ended.ending) {
                    ended.ending.stop_reason = Some(StopReason::Interrupted);
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

    /// The claim goes back as if it had never been made.
    fn give_back(&mut self, job_id: i64) {
        self.returned.push(job_id);
        self.claimed -= 1;
    }

    fn handle_shortage(&mut self, job_id: i64, why: &str) {
        let running = self.slots.busy();
        if self.throttle.shortage(Instant::now(), running) {
            self.tell(EventKind::Notice(format!(
                "job {job_id} could not be started now and goes back to its queue: {why}; {running} running"
            )));
        }
    }

    fn handle_signal(&mut self, number: i32) {
        self.summary.cut_short.get_or_insert(number);
        self.slots.start_no_more();
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
    }

    fn shut_down(&mut self, step: Step, reason: String) {
        self.tell(EventKind::WorkerStopping { reason, running: self.slots.started_attempts() });
        match step {
            Step::Wait => {}
            Step::Interrupt => self.slots.interrupt(),
            Step::Kill => self.slots.kill(),
        }
    }

    /// Records what is known of a dead worker's attempts. Its processes are gone already.
    fn recover(&mut self, findings: &Findings) -> Result<()> {
        if let Some(survivors) = &findings.survivors {
            let text = format!("a dead worker's attempt could not be ended yet: {survivors}");
            self.tell(EventKind::Notice(text));
            self.recovery.try_again(findings);
            return Ok(());
        }
        let Findings { worker, lost, never_started, .. } = findings;
        match self.store.recover(&mut self.definitions, worker.id, lost, never_started, &clock::now) {
            Ok(recovered) => {
                self.turn_needed = true;
                self.recovery.done(findings);
                for recorded in recovered.recorded {
                    self.tell_lost(recorded);
                }
                self.tell_cancelled(recovered.cancelled);
                self.wake_others();
                Ok(())
            }
            Err(error) => {
                self.recovery.try_again(findings);
                self.handle_store_error(error)
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

    // Time.

    fn pass_time(&mut self) -> Result<()> {
        let now = Instant::now();
        if let Some(step) = self.shutdown.pass(now) {
            let reason = format!("{} are over: ending what is running", self.options.shutdown_timeout);
            self.shut_down(step, reason);
        }
        self.turn_needed |= self.throttle.lift(now);
        self.turn_needed |= self.backlog.next_due.is_some_and(|due| due <= clock::now());
        if now >= self.looked_at + LOOK_INTERVAL {
            self.looked_at = now;
            self.look_around()?;
            self.send_heartbeat();
        }
        Ok(())
    }

    fn send_heartbeat(&mut self) {
        if self.reporter.wants_heartbeats() {
            let unfinished = self.store.count_unfinished(self.options.queues.as_deref()).ok();
            self.tell(EventKind::Heartbeat { unfinished });
        }
    }

    /// Looks for dead workers, and for changes that nobody woke this worker for.
    fn look_around(&mut self) -> Result<()> {
        self.zombies.reap(|pid| self.slots.has_process(pid));
        self.store.check_path()?;
        if let Err(error) = self.look_at_store() {
            return self.handle_store_error(error);
        }
        Ok(())
    }

    fn look_at_store(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.recovery.look(&self.store)?
            && self.throttle.shortage(Instant::now(), self.slots.busy())
        {
            self.tell(EventKind::Notice(format!("a dead worker cannot be recovered now: {error}")));
        }
        let version = self.store.data_version()?;
        let others_wrote = version != self.seen_version;
        let has_news = std::mem::take(&mut self.wrote) || others_wrote;
        if (self.clock_was_set_back() || has_news) && self.store.follow_clock_step(clock::now())? > 0 {
            self.turn_needed = true;
        }
        self.turn_needed |= others_wrote;
        self.seen_version = version;
        Ok(())
    }

    /// Has the wall clock fallen behind the monotonic one since the last look?
    fn clock_was_set_back(&mut self) -> bool {
        let (then, wall_then) = std::mem::replace(&mut self.clocks, (Instant::now(), clock::now()));
        let passed = u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clocks.1.plus(CLOCK_STEP) < wall_then.plus(Millis(passed))
    }

    /// When to act though nothing happens.
    fn deadline(&self) -> Instant {
        let now = Instant::now();
        let next_look = self.looked_at + LOOK_INTERVAL;
        if let Some(at) = self.trouble.waits_until(now) {
            let others = [self.shutdown.deadline(), self.throttle.until()].into_iter().flatten();
            return others.fold(next_look, Instant::min).max(now).min(at);
        }
        let due = self.backlog.next_due.map(|due| now + Duration::from(due.since(clock::now())));
        // A claim that could not be assigned goes back at once.
        let returned = (!self.returned.is_empty()).then_some(now);
        let moments = [self.shutdown.deadline(), self.throttle.until(), due, returned];
        moments.into_iter().flatten().fold(next_look, Instant::min)
    }

    fn is_done(&self) -> bool {
        if self.slots.busy() > 0 || !self.ended.is_empty() || !self.returned.is_empty() {
            return false;
        }
        if self.shutdown.is_stopping() {
            return true;
        }
        // Dead workers are recovered first: what they held may be what there is to do.
        !self.turn_needed && !self.recovery.is_under_way() && self.has_done_enough()
    }

    /// Is there nothing left of what it was asked to do? As of the last turn.
    fn has_done_enough(&self) -> bool {
        let left = match self.options.until {
            Until::Stopped => true,
            Until::Drained => self.backlog.running || self.backlog.waiting,
            Until::Idle => self.backlog.running || self.backlog.due,
        };
        !left || self.options.max_jobs.is_some_and(|most| self.claimed >= most)
    }
}
