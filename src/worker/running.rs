//! The attempts that a worker runs, and the way from what a slot tells to what the store takes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{Exit, Status, StopReason};
use crate::process::{Control, Ran};
use crate::store::{Claim, Ended, Output};

use super::slots::kept;

/// The attempts under way, by job.
#[derive(Default)]
pub(super) struct Running {
    attempts: HashMap<i64, (Arc<Claim>, Control)>,
}

impl Running {
    pub(super) fn len(&self) -> usize {
        self.attempts.len()
    }

    /// How many of them have begun. Before that a slot ends what earlier attempts left.
    pub(super) fn begun(&self) -> usize {
        self.attempts.values().filter(|(_, control)| control.has_begun()).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    pub(super) fn add(&mut self, claim: Arc<Claim>, control: Control) {
        self.attempts.insert(claim.job_id, (claim, control));
    }

    pub(super) fn remove(&mut self, job_id: i64) {
        self.attempts.remove(&job_id);
    }

    /// Those that are meant are not to begin any more.
    pub(super) fn call_off(&self, is_meant: impl Fn(&Claim) -> bool) {
        self.attempts
            .values()
            .filter(|(claim, _)| is_meant(claim))
            .for_each(|(_, control)| control.call_off());
    }

    /// Asks these to end because a person cancelled them. Asking twice does no harm.
    pub(super) fn cancel(&self, jobs: &[i64]) {
        for (_, control) in jobs.iter().filter_map(|job| self.attempts.get(job)) {
            control.stop(StopReason::Cancelled);
        }
    }

    /// Asks all to end because the worker is stopping.
    pub(super) fn interrupt(&self) {
        for (_, control) in self.attempts.values() {
            control.stop(StopReason::Interrupted);
        }
    }

    /// Kills all.
    pub(super) fn kill(&self) {
        for (_, control) in self.attempts.values() {
            control.stop(StopReason::Interrupted);
            control.kill_now();
        }
    }
}

/// What a slot told of an attempt's end, for the store; none where the attempt never began.
pub(super) fn ended(claim: &Claim, ran: Ran, stopping: bool, roll: f64) -> Option<Ended> {
    match ran {
        // The machine lacked something. Or: it was asked to end before it was started, and so was not.
        Ran::NotStarted { .. }
        | Ran::Ended {
            started_at: None,
            ending: Exit { cut: Some(StopReason::Cancelled | StopReason::Interrupted), status: None },
            ..
        } => None,
        Ran::Ended {
            ending,
            started_at,
            finished_at,
            duration,
            stdout,
            stderr,
            leaked,
            report,
            message,
            ..
        } => Some(Ended {
            job_id: claim.job_id,
            number: claim.number,
            ending: interrupted_if_stopping(ending, stopping),
            report,
            message,
            started_at,
            finished_at,
            // An end that nobody saw has no duration.
            duration: (ending.cut.is_some() || ending.status.is_some()).then_some(duration),
            leaked,
            output: Some(Output { stdout: kept(stdout), stderr: kept(stderr) }),
            roll,
        }),
    }
}

/// Did it die by a signal that asks to end, without runner having a hand in it?
pub(super) fn was_signalled_to_end(ran: &Ran) -> bool {
    matches!(ran, Ran::Ended { ending, .. } if ending.cut.is_none() && asked_to_end(*ending))
}

/// SIGHUP, SIGINT, SIGKILL, SIGTERM
fn asked_to_end(ending: Exit) -> bool {
    matches!(ending.status, Some(Status::Signaled(1 | 2 | 9 | 15)))
}

/// While a worker is stopping, one who stops the machine or the service may well have signalled its jobs too.
fn interrupted_if_stopping(ending: Exit, stopping: bool) -> Exit {
    if stopping && ending.cut.is_none() && asked_to_end(ending) {
        return Exit { cut: Some(StopReason::Interrupted), ..ending };
    }
    ending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_by_signal_while_stopping_is_an_interruption() {
        let killed = Exit::by_itself(Status::Signaled(15));
        assert_eq!(interrupted_if_stopping(killed, true).cut, Some(StopReason::Interrupted));
        assert_eq!(interrupted_if_stopping(killed, false), killed);
        for other in [Status::Signaled(11), Status::Exited(143)] {
            let ending = Exit::by_itself(other);
            assert_eq!(interrupted_if_stopping(ending, true), ending);
        }
        let late = Exit { cut: Some(StopReason::TimedOut), ..killed };
        assert_eq!(interrupted_if_stopping(late, true), late);
    }
}
