//! The dispatcher: takes all messages, runs one transaction, then acts and reports.
//!
//! Ends that arrive during a commit share the next commit; there is no other batching. A claim is on disk before its slot
//! gets the assignment. A slot is idle only once the end of its last attempt is on disk.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use signal_hook::consts::SIGINT;

use super::changes::Changes;
use super::inbox::{Inbox, Message, Timer, is_end_by_stop_signal};
use super::keep::Keeper;
use super::options::{ExitConditions, Options, Summary, Until};
use super::recovery::{Findings, Recovery};
use super::registration::Registration;
use super::retry_throttle::RetryThrottle;
use super::run::Run;
use super::shutdown::{Shutdown, ShutdownStep};
use super::slots::{Context, Slots};
use crate::clock;
use crate::model::{EndCause, Event, JobLabel, signal};
use crate::place::runner;
use crate::process::{self, Inherited, Progress};
use crate::report::Reporter;
use crate::store::{
    Act, Backlog, Blocked, DefinitionCache, EndedAttempt, FarTime, LiveOutput, PendingWork, Store,
    StoreError, Takes, Turn, TurnRequest, Worker,
};
use crate::text::{Timestamp, counted, local_time};

/// Works until the options or a signal end the worker; none if it was to be the only one and is not.
pub(super) async fn run<'a>(
    mut store: Store,
    options: Options,
    reporter: &'a mut dyn Reporter,
    run: Option<Run<'a>>,
    inherited: &Inherited,
    lack: Option<String>,
) -> Result<Option<Summary>> {
    const TASK: &str = "could not listen for signals and wake-ups";
    // Before the worker registers: a signal that ended the process later would leave the worker's row open.
    let mut inbox = Inbox::open(inherited).context(TASK)?;
    let Some((registration, socket)) = Registration::new(&mut store, &options)? else { return Ok(None) };
    inbox.listen_for_wake_ups(socket).context(TASK)?;
    let worker = registration.row.clone();
    let db = store.file().path().to_owned();
    let context = Context {
        worker_id: worker.name.clone(),
        mark: worker.mark.clone(),
        db: db.clone(),
        reports: registration.reports.clone(),
        start_log: registration.start_log.clone(),
        inbox: inbox.sender(),
        pass_on: run.as_ref().and_then(|run| run.pass_on.clone()),
    };
    let sender = inbox.sender();
    let on_findings = move |findings| sender.send(Message::DeadWorker(Box::new(findings)));
    let mut dispatcher = Dispatcher {
        slots: Slots::new(options.slots, context),
        recovery: Recovery::new(store.file().clone(), &worker, on_findings),
        worker,
        options,
        store,
        definitions: DefinitionCache::default(),
        is_boot_held: false,
        reporter,
        shutdown: Shutdown::NotAsked,
        throttle: RetryThrottle::default(),
        unsaved: Unsaved::default(),
        turn_needed: true,
        backlog: Backlog::default(),
        blocked: Blocked::default(),
        summary: Summary::default(),
        changes: Changes::default(),
        run,
    };
    dispatcher.report(&Event::WorkerStarted {
        worker_id: dispatcher.worker.name.clone(),
        slots: dispatcher.options.slots,
        queues: dispatcher.options.queues.clone(),
        db: db.display().to_string(),
    });
    if let Some(lack) = lack {
        dispatcher.notice(lack);
    }
    dispatcher.store.rebase_after_clock_step()?;
    if dispatcher.run.is_none() {
        dispatcher.bring_far_times_nearer()?;
        dispatcher.fire_at_boot()?;
    }
    let _keeper = match dispatcher.options.keep {
        Some(keep) => {
            let sender = inbox.sender();
            let on_trouble = move |text| sender.send(Message::Trouble(text));
            let file = dispatcher.store.file().clone();
            Some(Keeper::start(file, keep, on_trouble).context("could not start a thread")?)
        }
        None => None,
    };
    dispatcher.serve(&mut inbox).await?;
    dispatcher.summary.stopped_by =
        dispatcher.summary.stopped_by.filter(|_| !dispatcher.exit_conditions().has_reached_its_end());
    dispatcher.close(registration)?;
    if dispatcher.run.is_none() {
        dispatcher.note_stuck();
    }
    let Summary { attempts, succeeded, dead, .. } = dispatcher.summary;
    dispatcher.report(&Event::WorkerStopped { attempts, succeeded, dead });
    Ok(Some(dispatcher.summary))
}

struct Dispatcher<'a> {
    worker: Worker,
    options: Options,
    store: Store,
    definitions: DefinitionCache,
    reporter: &'a mut dyn Reporter,
    slots: Slots,
    recovery: Recovery,
    shutdown: Shutdown,
    throttle: RetryThrottle,
    unsaved: Unsaved,
    /// Something may have changed since the last turn.
    turn_needed: bool,
    /// A pause of everything keeps the schedules that fire at boot.
    is_boot_held: bool,
    /// As of the last turn.
    backlog: Backlog,
    /// Looked up only when a draining worker has nothing else left to do.
    blocked: Blocked,
    summary: Summary,
    changes: Changes,
    run: Option<Run<'a>>,
}

/// Results that the worker knows and has not put on disk yet.
#[derive(Default)]
struct Unsaved {
    ended: Vec<EndedAttempt>,
    /// Jobs whose claims are released uncounted.
    released: Vec<i64>,
    /// The output of running attempts so far.
    outputs: Vec<LiveOutput>,
}

impl Unsaved {
    /// Whether a turn has nothing to record. It need not wait for outputs.
    fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.released.is_empty()
    }
}

impl Dispatcher<'_> {
    async fn serve(&mut self, inbox: &mut Inbox) -> Result<()> {
        loop {
            for message in inbox.next(self.shutdown.is_stopping()).await {
                self.handle_message(message)?;
            }
            self.save_outputs();
            self.start_run()?;
            if self.is_boot_held {
                self.fire_at_boot()?;
            }
            self.turn()?;
            self.look_at_run();
            if self.exit_conditions().is_done() {
                return Ok(());
            }
            inbox.set_timer(Timer::Due, self.due_at());
            inbox.set_timer(Timer::Retry, self.throttle.until());
            inbox.set_timer(Timer::Shutdown, self.shutdown.deadline());
        }
    }

    /// Fires the schedules that fire at boot. A pause of everything holds them back until it is over.
    fn fire_at_boot(&mut self) -> Result<()> {
        let fired = self.store.fire_at_boot(&self.worker.boot_id)?;
        self.is_boot_held = fired.is_none();
        for event in fired.unwrap_or_default() {
            self.report(&event);
        }
        Ok(())
    }

    fn report(&mut self, event: &Event) {
        self.summary.count(event, &self.options);
        self.reporter.report(clock::now(), event);
    }

    fn notice(&mut self, text: impl Into<String>) {
        self.report(&Event::Notice(text.into()));
    }

    fn exit_conditions(&self) -> ExitConditions {
        ExitConditions {
            until: self.options.until,
            limit_reached: self.options.max_jobs.is_some_and(|most| self.summary.claimed >= most),
            is_stopping: self.shutdown.is_stopping(),
            is_busy: self.slots.busy() > 0 || !self.unsaved.is_empty(),
            turn_needed: self.turn_needed || self.run.as_ref().is_some_and(|run| !run.has_started),
            is_recovering: self.recovery.is_under_way(),
            backlog: self.backlog,
            may_unblock: self.blocked.may_unblock,
        }
    }

    // A run.

    /// Lets a `run` put its job on disk, once the claims of dead workers are recovered: one of them may have left this job.
    fn start_run(&mut self) -> Result<()> {
        let is_recovered = !self.recovery.is_under_way();
        let Some(run) = self.run.as_mut().filter(|run| !run.has_started && is_recovered) else {
            return Ok(());
        };
        if self.shutdown.is_stopping() || run.waits_for_another_recovery(&self.store)? {
            return Ok(());
        }
        run.job = run.task.start(&mut self.store, self.worker.id);
        run.has_started = true;
        self.turn_needed = true;
        Ok(())
    }

    fn look_at_run(&mut self) {
        if let Some(Run { task, job: Some(job), .. }) = &mut self.run {
            *job = self.store.changed_to(*job).unwrap_or(*job);
            task.look(&self.store, *job);
        }
    }

    /// Cancels the job of a `run`, and what it depends on, because whoever started it in the foreground ends it. False if
    /// there is nothing left to cancel.
    fn cancel_run(&mut self, number: i32) -> Result<bool, StoreError> {
        let Some(Run { job: Some(job), .. }) = self.run else { return Ok(false) };
        let job = self.store.changed_to(job)?;
        let jobs = self.store.with_dependencies_of_run(self.worker.id, job)?;
        self.store.act(&jobs, Act::Cancel)?;
        self.turn_needed = true;
        if !jobs.is_empty() {
            self.summary.cancelled_by = Some(number);
        }
        Ok(!jobs.is_empty())
    }

    // Turns.

    /// Runs a turn if one is needed, and again as long as a claim cannot be given to its slot.
    fn turn(&mut self) -> Result<()> {
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
                is_stopping: self.claims_no_more(),
            };
            match self.store.turn(&mut self.definitions, &request) {
                Ok(turn) => {
                    self.apply(turn);
                    if let Err(error) = self.look_for_blocked() {
                        self.handle_store_error(error)?;
                    }
                }
                Err(error) => self.handle_store_error(error)?,
            }
        }
        Ok(())
    }

    /// Whether it only waits for what it runs, because it is stopping or has claimed as much as it may.
    fn claims_no_more(&self) -> bool {
        let exit_conditions = self.exit_conditions();
        exit_conditions.is_stopping || exit_conditions.limit_reached
    }

    /// The number of attempts that can start once the ended ones are on disk.
    fn idle_slots(&self) -> usize {
        if self.shutdown.is_stopping() {
            return 0;
        }
        let left = self.options.max_jobs.map_or(u64::MAX, |most| most.saturating_sub(self.summary.claimed));
        let idle = self.throttle.cap(self.slots.count()).saturating_sub(self.slots.busy());
        idle.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The turn is on disk: now start attempts, end attempts and report.
    fn apply(&mut self, turn: Turn) {
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
        self.slots.cancel(&turn.cancels);
        if Event::wakes_others(&turn.events, released, self.backlog.place_freed, self.slots.busy() == 0) {
            self.store.wake_workers();
        }
        for event in turn.events {
            self.report(&event);
        }
    }

    /// A drain whose last jobs are blocked goes on as long as one of them can still become ready.
    fn look_for_blocked(&mut self) -> Result<(), StoreError> {
        let nothing_else = !self.backlog.running && self.backlog.pending == PendingWork::Nothing;
        self.blocked = if self.options.until == Until::Drained && nothing_else {
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
    fn save_outputs(&mut self) {
        let outputs = std::mem::take(&mut self.unsaved.outputs);
        if !outputs.is_empty() {
            // Live output is a convenience, and the next turn will report the same trouble.
            let _ = self.store.save_live_outputs(self.worker.id, &outputs);
        }
    }

    /// Trouble that passes is reported once and waited out; any other error ends the worker.
    fn handle_store_error(&mut self, error: StoreError) -> Result<()> {
        let only_results_left = self.shutdown.is_timeout_over() && self.slots.busy() == 0;
        let may_wait_long =
            matches!(error, StoreError::Full(_)) && self.unsaved.is_empty() && !self.shutdown.is_stopping();
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

    /// Closes the worker's row. One that stays open because the database cannot be written holds nothing: the next worker
    /// finds it and closes it.
    fn close(&mut self, registration: Registration) -> Result<()> {
        match registration.end(&mut self.store) {
            Err(error) if error.is_passing() => {
                self.notice(format!("{error}; so this worker is shown as dead until another one starts"));
                Ok(())
            }
            ended => Ok(ended?),
        }
    }

    /// Reports how many jobs the drain left because only a person can get them going.
    fn note_stuck(&mut self) {
        let Blocked { stuck, behind_paused, .. } = self.blocked;
        self.summary.stuck = stuck + behind_paused;
        for (left, what) in
            [(stuck, "jobs that are dead or cancelled"), (behind_paused, "jobs in paused queues")]
        {
            if left > 0 {
                let (jobs, wait) = (counted(left, "job"), if left == 1 { "waits" } else { "wait" });
                self.notice(format!(
                    "{jobs} still {wait} for {what}; {} lists them, {} tells what goes on",
                    runner("inspect", "jobs --state blocked"),
                    runner("inspect", "ID")
                ));
            }
        }
    }

    // Messages.

    fn handle_message(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Stop(number) => self.handle_stop_signal(number),
            // Here and not in a signal handler: a worker that stopped within a transaction would keep every other process
            // from writing until it is resumed.
            Message::Suspend => process::suspend(),
            Message::Woken | Message::TimeOver(Timer::Due) => self.turn_needed = true,
            Message::Tick => self.tick()?,
            Message::TimeOver(Timer::Retry) => {
                self.throttle.pass(Instant::now(), self.slots.count());
                self.turn_needed = true;
            }
            Message::TimeOver(Timer::Shutdown) => {
                if let Some(step) = self.shutdown.pass(Instant::now()) {
                    let reason =
                        format!("{} are over: ending what is running", self.options.shutdown_timeout);
                    self.shut_down(step, reason);
                }
            }
            Message::Started { slot, pid } => {
                if let Some(claim) = self.slots.started(slot, pid) {
                    let started = Event::JobStarted {
                        job_id: claim.job_id,
                        name: claim.definition.name.clone(),
                        attempt: claim.number,
                        max_attempts: claim.definition.policy.max_attempts(),
                        attempt_in_budget: claim.attempt_in_budget,
                        label: JobLabel::of(&claim.definition, claim.label.clone(), &claim.args),
                        pid,
                    };
                    self.report(&started);
                }
            }
            Message::Progress { job_id, number, progress: Progress::Output { started_at, output } } => {
                self.unsaved.outputs.retain(|live| live.job_id != job_id);
                self.unsaved.outputs.push(LiveOutput { job_id, number, started_at, output });
            }
            Message::Progress { job_id, progress: Progress::Notice(text), .. } => {
                self.notice(format!("job {job_id}: {text}"));
            }
            Message::Ended { slot, mut ended } => {
                self.throttle.retry_soon(Instant::now());
                self.slots.end(slot);
                self.unsaved.outputs.retain(|live| live.job_id != ended.job_id);
                // A machine or service that stops may signal the jobs as well as the worker.
                if self.shutdown.is_stopping() && is_end_by_stop_signal(&ended.end) {
                    ended.end.cause = Some(EndCause::Interrupted);
                }
                self.unsaved.ended.push(*ended);
            }
            Message::NotStarted { slot, shortage } => {
                self.throttle.retry_soon(Instant::now());
                if let Some(running) = self.slots.end(slot) {
                    let job_id = running.claim.job_id;
                    self.release(job_id);
                    if let Some(why) = shortage {
                        self.slots.end_thread(slot);
                        self.handle_shortage(job_id, &why);
                    }
                }
            }
            Message::SlotBroke => bail!("a slot of the worker broke down; this is a defect of runner"),
            Message::Trouble(text) => self.notice(text),
            Message::DeadWorker(findings) => self.recover(&findings)?,
        }
        Ok(())
    }

    /// The job goes back to its queue, and its claim is not counted.
    fn release(&mut self, job_id: i64) {
        self.unsaved.released.push(job_id);
        self.summary.claimed -= 1;
    }

    fn handle_shortage(&mut self, job_id: i64, why: &str) {
        let running = self.slots.busy();
        if self.throttle.shortage(Instant::now(), running) {
            self.notice(format!(
                "job {job_id} could not be started now and goes back to its queue: {why}; {running} running"
            ));
        }
    }

    fn handle_stop_signal(&mut self, number: i32) {
        if number == SIGINT && self.summary.cancelled_by.is_some() {
            self.slots.kill();
            return;
        }
        // What could not be cancelled is ended as by any other signal.
        if number == SIGINT && self.cancel_run(number).unwrap_or(false) {
            self.report(&Event::WorkerStopping {
                message: "SIGINT: cancelling the job".to_owned(),
                running: self.slots.started_attempts(),
            });
            return;
        }
        self.summary.stopped_by.get_or_insert(number);
        self.slots.stop_unstarted();
        let timeout = self.options.shutdown_timeout;
        let mut step = self.shutdown.signal(Instant::now(), timeout.into());
        if self.run.is_some() {
            step = self.shutdown.pass(Instant::now()).unwrap_or(step);
        }
        self.throttle.retry_soon(Instant::now());
        let name = signal::name(number);
        let reason = match step {
            ShutdownStep::Wait => {
                format!("{name}; running attempts have {timeout} to end, a second signal ends them now")
            }
            ShutdownStep::Interrupt if self.run.is_some() => format!("{name}: ending what is running"),
            ShutdownStep::Interrupt => format!("{name} again: ending what is running"),
            ShutdownStep::Kill => format!("{name} once more: killing what is running"),
        };
        self.shut_down(step, reason);
        if step == ShutdownStep::Wait {
            // Only `inspect` shows this, so a failure does not matter.
            let _ = self.store.worker_stopping(self.worker.id);
        }
    }

    fn shut_down(&mut self, step: ShutdownStep, message: String) {
        self.report(&Event::WorkerStopping { message, running: self.slots.started_attempts() });
        match step {
            ShutdownStep::Wait => {}
            ShutdownStep::Interrupt => self.slots.interrupt(),
            ShutdownStep::Kill => self.slots.kill(),
        }
    }

    /// Records the attempts of a dead worker, whose processes have ended.
    fn recover(&mut self, findings: &Findings) -> Result<()> {
        if let Some(leftovers) = &findings.leftovers {
            if self.recovery.try_again_later(findings, Instant::now()) {
                let pid = findings.worker.pid;
                self.notice(format!(
                    "what a dead worker (pid {pid}) left could not be ended yet, and is tried again: {leftovers}"
                ));
            }
            if findings.worker.leftover_since.is_none()
                && let Err(error) = self.store.leftover_found(findings.worker.id)
            {
                self.handle_store_error(error)?;
            }
            return Ok(());
        }
        let Findings { worker, lost, never_started, .. } = findings;
        match self.store.recover(&mut self.definitions, worker.id, lost, never_started) {
            Ok(events) => {
                self.turn_needed = true;
                self.recovery.done(findings);
                for event in events {
                    self.report(&event);
                }
                Ok(())
            }
            Err(error) => {
                self.recovery.try_again(findings);
                self.handle_store_error(error)
            }
        }
    }

    // Time.

    /// Comes once a second: looks for dead workers, and for changes that no wake-up announced.
    fn tick(&mut self) -> Result<()> {
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
        if self.changes.clock_set_back {
            self.bring_far_times_nearer()?;
            self.changes.clock_set_back = false;
        }
        self.turn_needed |= others_wrote;
        Ok(())
    }

    /// Looks for schedules whose next times were computed while the clock was ahead.
    fn bring_far_times_nearer(&mut self) -> Result<(), StoreError> {
        for FarTime { name, from, to } in self.store.bring_far_times_nearer()? {
            self.turn_needed = true;
            let (from, to) = (local_time(from), local_time(to));
            self.notice(format!(
                "schedule {name} comes next at {to}, not at {from}: the clock had been ahead"
            ));
        }
        Ok(())
    }

    /// The moment of the next turn if nothing else happens.
    fn due_at(&self) -> Option<Instant> {
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
