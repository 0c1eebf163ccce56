//! The life of a worker: it registers, serves its inbox and closes its row.

use std::time::Instant;

use anyhow::{Context as _, Result};

use super::opening::{Opening, open};
use super::state::{Dispatcher, Unsaved};
use crate::call_target::to_type;
use crate::model::Event;
use crate::process::Inherited;
use crate::report::Reporter;
use crate::store::{Backlog, Blocked, Store, StoreError};
use crate::text::counted;
use crate::worker::changes::Changes;
use crate::worker::inbox::{Inbox, Message, Timer};
use crate::worker::keep::Keeper;
use crate::worker::options::{Options, Summary};
use crate::worker::recovery::Recovery;
use crate::worker::registration::Registration;
use crate::worker::retry_throttle::RetryThrottle;
use crate::worker::run::Run;
use crate::worker::shutdown::Shutdown;
use crate::worker::slots::{Context, Slots};

/// Works until the options or a signal end the worker; none if it was to be the only one and is not.
pub(in crate::worker) async fn run<'a>(
    mut store: Store,
    options: Options,
    reporter: &'a mut dyn Reporter,
    mut run: Option<Run<'a>>,
    inherited: &Inherited,
    lack: Option<String>,
) -> Result<Option<Summary>> {
    const TASK: &str = "could not listen for signals and wake-ups";
    // Before the worker registers: a signal that ended the process later would leave the worker's row open.
    let mut inbox = Inbox::open(inherited).context(TASK)?;
    let Some((mut registration, socket)) = Registration::new(&store, &options)? else { return Ok(None) };
    let opened = start_keeper(&store, &options, &inbox).and_then(|keeper| {
        let is_wanted = || !inbox.has_new_signal();
        Ok((keeper, open(&mut store, &mut registration, &options, run.as_mut(), is_wanted)?))
    });
    let (keeper, Opening { far, at_boot, turn, definitions }) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            registration.give_up();
            return Err(error);
        }
    };
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
        keeper,
        store,
        definitions,
        is_boot_held: false,
        reporter,
        shutdown: Shutdown::NotAsked,
        throttle: RetryThrottle::default(),
        unsaved: Unsaved::default(),
        turn_needed: true,
        unreadable: Vec::new(),
        damage: None,
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
    for time in far {
        dispatcher.tell_of_far_time(time);
    }
    dispatcher.tell_of_boot(at_boot);
    if let Some(turn) = turn {
        dispatcher.apply(turn)?;
    }
    if let Err(error) = dispatcher.serve(&mut inbox).await {
        dispatcher.tell_of_unrecorded();
        return Err(error);
    }
    // A run that a signal ends may have reached its end by that, because its job is dead then.
    if dispatcher.run.is_none() && dispatcher.exit_conditions().has_reached_its_end() {
        dispatcher.summary.stopped_by = None;
    }
    dispatcher.close(registration)?;
    if let Some(keeper) = dispatcher.keeper.as_ref().filter(|_| dispatcher.summary.stopped_by.is_none()) {
        keeper.finish();
    }
    if dispatcher.run.is_none() {
        dispatcher.note_stuck();
    }
    let Summary { attempts, succeeded, dead, .. } = dispatcher.summary;
    dispatcher.report(&Event::WorkerStopped { attempts, succeeded, dead });
    Ok(Some(dispatcher.summary))
}

fn start_keeper(store: &Store, options: &Options, inbox: &Inbox) -> Result<Option<Keeper>> {
    let Some(keep) = options.keep else { return Ok(None) };
    let sender = inbox.sender();
    let on_trouble = move |text| sender.send(Message::Trouble(text));
    Ok(Some(Keeper::start(store.connect_again()?, keep, on_trouble).context("could not start a thread")?))
}

impl Dispatcher<'_> {
    async fn serve(&mut self, inbox: &mut Inbox) -> Result<()> {
        loop {
            for message in inbox.next(self.shutdown.is_stopping()).await {
                self.handle_message(message)?;
            }
            self.save_outputs();
            self.start_run()?;
            if self.is_boot_held
                && !self.claims_no_more()
                && self.throttle.allows_turn(Instant::now())
                && let Err(error) = self.fire_at_boot()
            {
                self.handle_store_error(error)?;
            }
            self.turn()?;
            self.look_at_run();
            while self.begin_next_of_run() {
                self.start_run()?;
                self.turn()?;
                self.look_at_run();
            }
            if self.exit_conditions().is_done() {
                return self.damage.take().map_or(Ok(()), |damage| Err(damage.into()));
            }
            inbox.set_timer(Timer::Due, self.due_at());
            inbox.set_timer(Timer::Retry, self.throttle.until());
            inbox.set_timer(Timer::Shutdown, self.shutdown.deadline());
        }
    }

    /// Fires the schedules that fire at boot. A pause of everything holds them back until it is over.
    fn fire_at_boot(&mut self) -> Result<(), StoreError> {
        let fired = self.store.fire_at_boot(&self.worker.boot_id)?;
        self.tell_of_boot(fired);
        Ok(())
    }

    /// Reports what fired at boot; none if that is held back.
    fn tell_of_boot(&mut self, fired: Option<Vec<Event>>) {
        self.is_boot_held = fired.is_none();
        for event in fired.unwrap_or_default() {
            self.report(&event);
        }
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
                    to_type("inspect", "jobs --state blocked"),
                    to_type("inspect", "ID")
                ));
            }
        }
    }
}
