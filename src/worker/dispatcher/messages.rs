//! What each message changes.

use std::time::Instant;

use anyhow::{Result, bail};
use signal_hook::consts::SIGINT;

use super::state::Dispatcher;
use crate::model::{EndCause, Event, JobLabel, signal};
use crate::process::{self, Progress};
use crate::store::LiveOutput;
use crate::worker::inbox::{Message, Timer, is_end_by_stop_signal, read_and_drop};
use crate::worker::keep::Keeper;
use crate::worker::recovery::DeadWorkerFindings;
use crate::worker::run::Run;
use crate::worker::shutdown::ShutdownStep;

impl Dispatcher<'_> {
    pub(super) fn handle_message(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Stop(number) => self.handle_stop_signal(number),
            // Here and not in a signal handler: a worker that stopped within a transaction would keep every other process
            // from writing until it is resumed.
            Message::Suspend => {
                let _held = self.keeper.as_ref().map(Keeper::hold);
                process::suspend();
            }
            Message::Woken | Message::TimeOver(Timer::Due) => self.turn_needed = true,
            Message::Tick => self.tick()?,
            Message::TimeOver(Timer::Retry) => {
                self.throttle.on_deadline(Instant::now(), self.slots.count());
                self.turn_needed = true;
            }
            Message::TimeOver(Timer::Shutdown) => {
                if let Some(step) = self.shutdown.on_deadline(Instant::now()) {
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
                    if let Some(Run { task, job: Some(job), .. }) = &mut self.run
                        && *job == claim.job_id
                    {
                        task.on_start();
                    }
                    self.report(&started);
                }
            }
            Message::Progress { job_id, number, progress: Progress::Output { started_at, output } } => {
                self.unsaved.outputs.retain(|live| live.job_id != job_id);
                self.unsaved.outputs.push(LiveOutput { job_id, number, started_at, output });
            }
            Message::Progress { job_id, progress: Progress::HeldPipes(pipes, error), .. } => {
                pipes.into_iter().for_each(read_and_drop);
                self.notice(format!(
                    "job {job_id}: the process that reads what it has left in the background could not be started, so \
                     this worker reads that for as long as it lives: {error}"
                ));
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
            step = self.shutdown.on_deadline(Instant::now()).unwrap_or(step);
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
    fn recover(&mut self, findings: &DeadWorkerFindings) -> Result<()> {
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
        let DeadWorkerFindings { worker, lost, never_started, .. } = findings;
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
}
