//! What comes in: from slots, from signals, from recoveries.

use std::time::{Duration, Instant};

use super::super::inputs::Input;
use super::super::phase::Step;
use super::super::slot_table::Ticket;
use super::super::slots::FromSlot;
use super::super::{WorkError, running};
use super::{Breather, Dispatcher};
use crate::model::signal;
use crate::process::Ran;
use crate::report::EventKind;
use crate::store::Claim;

/// How long it claims no more than what the machine had room for, after it lacked something.
const BREATHER: Duration = Duration::from_secs(1);

/// A shortage that lasts is told this often.
const TELL_AGAIN: Duration = Duration::from_mins(1);

impl Dispatcher<'_> {
    pub(super) fn take(&mut self, input: Input) -> Result<(), WorkError> {
        match input {
            Input::Slot(message) => self.take_from_slot(message)?,
            Input::Remains(remains) => self.recover(&remains)?,
            Input::Woken => self.look = true,
            Input::Stop(number) => self.stop(number),
            Input::Time => {}
        }
        Ok(())
    }

    fn take_from_slot(&mut self, message: FromSlot) -> Result<(), WorkError> {
        match message {
            FromSlot::Started { claim, pid } => self.tell(EventKind::JobStarted {
                job_id: claim.job_id,
                name: claim.spec.name.clone(),
                attempt: claim.number,
                runs: claim.spec.policy.runs(),
                budget_number: claim.budget_number,
                pid,
            }),
            FromSlot::Output { job_id, number, output } => {
                self.outputs.retain(|(job, ..)| *job != job_id);
                self.outputs.push((job_id, number, output));
            }
            FromSlot::Notice { job_id, text } => {
                self.tell(EventKind::Notice(format!("job {job_id}: {text}")));
            }
            FromSlot::Ran { ticket, claim, ran, took } => self.take_end(ticket, &claim, ran, took),
            FromSlot::Broken => return Err(WorkError::Broken),
        }
        Ok(())
    }

    fn take_end(&mut self, ticket: Ticket, claim: &Claim, ran: Ran, took: Duration) {
        self.hurry();
        self.outputs.retain(|(job, ..)| *job != claim.job_id);
        let lacked = if let Ran::NotStarted { why } = &ran { Some(why.to_string()) } else { None };
        match running::ended(claim, ran, self.phase.is_stopping(), rand::random()) {
            Some(ended) => {
                self.pace.note(took);
                self.running.remove(claim.job_id);
                self.settling.push(ticket);
                self.unsaved.push(ended);
            }
            None => self.give_back(claim.job_id, Some(ticket)),
        }
        if let Some(why) = lacked {
            self.lacks_something(claim.job_id, &why);
        }
    }

    /// Claims that no slot has taken go back to their queue, if they are meant.
    pub(super) fn withdraw(&mut self, is_meant: impl FnMut(&Claim) -> bool) {
        for order in self.exchange.withdraw(is_meant) {
            self.give_back(order.claim.job_id, Some(order.ticket));
        }
    }

    /// The claim goes back as if it had never been made.
    pub(super) fn give_back(&mut self, job_id: i64, ticket: Option<Ticket>) {
        self.running.remove(job_id);
        self.unwanted.push(job_id);
        self.settling.extend(ticket);
        self.claimed -= 1;
    }

    /// The machine could not start an attempt now: for a while there are no more of them than it had room for.
    pub(super) fn lacks_something(&mut self, job_id: i64, why: &str) {
        let now = Instant::now();
        self.withdraw(|_| true);
        self.breather = Some(Breather { until: now + BREATHER, room_for: self.running.len() });
        if self.shortage_told.is_none_or(|at| now >= at + TELL_AGAIN) {
            self.shortage_told = Some(now);
            let running = self.running.len();
            self.tell(EventKind::Notice(format!(
                "job {job_id} could not be started now and goes back to its queue: {why}; {running} running"
            )));
        }
    }

    fn stop(&mut self, number: i32) {
        self.summary.cut_short.get_or_insert(number);
        self.withdraw(|_| true);
        self.running.call_off(|_| true);
        let step = self.phase.signal(Instant::now(), self.options.shutdown_timeout.into());
        self.hurry();
        let reason = match step {
            Step::Let => format!(
                "{}; running attempts have {} to end, a second signal ends them now",
                signal::name(number),
                self.options.shutdown_timeout
            ),
            Step::Interrupt => format!("{} again: ending what is running", signal::name(number)),
            Step::Kill => format!("{} once more: killing what is running", signal::name(number)),
        };
        self.tell(EventKind::WorkerStopping { reason, running: self.running.begun() });
        self.obey(step);
    }

    pub(super) fn obey(&mut self, step: Step) {
        match step {
            Step::Let => {}
            Step::Interrupt => self.running.interrupt(),
            Step::Kill => self.running.kill(),
        }
    }
}
