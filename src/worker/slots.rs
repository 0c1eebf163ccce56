//! The slots: a thread for each, with a channel for its assignments. Threads are started when they are first needed.
//!
//! A blocking thread per slot spawns faster than an asynchronous process, and keeps one attempt straight-line code.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::assignment::{self, Assignment, Context};
use super::inbox::Event;
use crate::model::StopReason;
use crate::process::Control;
use crate::store::Claim;

/// A slot's stack: supervision is shallow.
const STACK_BYTES: usize = 256 << 10;

pub(super) struct Slots {
    context: Arc<Context>,
    slots: Vec<Slot>,
}

#[derive(Default)]
struct Slot {
    assignments: Option<Sender<Assignment>>,
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Busy(Running),
    /// The attempt has ended, or its claim goes back, and neither is on disk. The start log still needs the record.
    Uncommitted,
}

pub(super) struct Running {
    pub claim: Arc<Claim>,
    control: Control,
    pid: Option<i32>,
}

impl Slots {
    pub(super) fn new(number: usize, context: Context) -> Self {
        let slots = std::iter::repeat_with(Slot::default).take(number).collect();
        Self { context: Arc::new(context), slots }
    }

    /// All slots, busy or not.
    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn busy(&self) -> usize {
        self.running().count()
    }

    /// Busy slots whose attempt has a process. A slot without one still ends the survivors of earlier attempts.
    pub(super) fn started_attempts(&self) -> usize {
        self.running().filter(|running| running.pid.is_some()).count()
    }

    /// Gives the claim to an idle slot.
    pub(super) fn assign(&mut self, mut claim: Claim) -> io::Result<()> {
        let control = Control::new()?;
        let index = self.slots.iter().position(|slot| matches!(slot.state, State::Idle));
        let index = index.ok_or_else(|| io::Error::other("no slot is idle"))?;
        let slot = &mut self.slots[index];
        let assignments = match &slot.assignments {
            Some(assignments) => assignments,
            None => slot.assignments.insert(start_thread(index, &self.context)?),
        };
        let stdin = claim.stdin.take();
        let claim = Arc::new(claim);
        let assignment = Assignment { claim: Arc::clone(&claim), stdin, control: control.clone() };
        assignments.send(assignment).map_err(|_| io::Error::other("the slot's thread is gone"))?;
        slot.state = State::Busy(Running { claim, control, pid: None });
        Ok(())
    }

    /// The attempt of this slot has a process now; returns its claim.
    pub(super) fn started(&mut self, index: usize, pid: i32) -> Option<&Claim> {
        match &mut self.slots[index].state {
            State::Busy(running) => {
                running.pid = Some(pid);
                Some(&running.claim)
            }
            State::Idle | State::Uncommitted => None,
        }
    }

    /// The attempt of this slot has ended, or its claim goes back.
    pub(super) fn end(&mut self, index: usize) -> Option<Running> {
        match std::mem::replace(&mut self.slots[index].state, State::Uncommitted) {
            State::Busy(running) => Some(running),
            State::Idle | State::Uncommitted => None,
        }
    }

    /// All ended attempts are on disk.
    pub(super) fn committed(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| matches!(slot.state, State::Uncommitted)) {
            slot.state = State::Idle;
        }
    }

    /// Is this the process of an attempt?
    pub(super) fn has_process(&self, pid: i32) -> bool {
        self.running().any(|running| running.pid == Some(pid))
    }

    /// Asks the attempts of these jobs to end because a person cancelled them. Asking twice does no harm.
    pub(super) fn cancel(&self, jobs: &[i64]) {
        for running in self.running().filter(|running| jobs.contains(&running.claim.job_id)) {
            running.control.stop(StopReason::Cancelled);
        }
    }

    /// Stops the attempts that have not begun to start.
    pub(super) fn stop_unstarted(&self) {
        self.running().for_each(|running| running.control.stop_unless_starting());
    }

    /// Asks all attempts to end because the worker is stopping.
    pub(super) fn interrupt(&self) {
        self.running().for_each(|running| running.control.stop(StopReason::Interrupted));
    }

    pub(super) fn kill(&self) {
        self.interrupt();
        self.running().for_each(|running| running.control.kill());
    }

    fn running(&self) -> impl Iterator<Item = &Running> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            State::Busy(running) => Some(running),
            State::Idle | State::Uncommitted => None,
        })
    }
}

fn start_thread(slot: usize, context: &Arc<Context>) -> io::Result<Sender<Assignment>> {
    let (assignments, receiver) = channel();
    let context = Arc::clone(context);
    let thread = thread::Builder::new().name(format!("slot {slot}")).stack_size(STACK_BYTES);
    thread.spawn(move || serve(slot, &context, &receiver))?;
    Ok(assignments)
}

fn serve(slot: usize, context: &Context, assignments: &Receiver<Assignment>) {
    while let Ok(assignment) = assignments.recv() {
        let event = panic::catch_unwind(AssertUnwindSafe(|| assignment::run(context, slot, assignment)));
        let _ = context.inbox.send(event.unwrap_or(Event::SlotBroke));
    }
}
