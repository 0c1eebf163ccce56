//! Runs one attempt on the calling thread: starts its command, reads its output, and ends its processes on a timeout or
//! when it is asked to.
//!
//! How a command is started is in `spawn`, how processes are ended in `terminate`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::clock;
use crate::model::{AttemptEnd, AttemptOutput, EndCause, OutputStream, Status};
use crate::text::{Millis, Timestamp};

use super::control::wait_readable;
use super::held_output::leave_to_reader;
use super::job_files::take_report;
use super::output::Capture;
use super::reap::reap;
use super::scan::{ProcessGroup, Target};
use super::spawn::{Child, Launch, SpawnError, spawn};
use super::terminate::Termination;
use super::{Control, Leader};

/// How long a background process may hold the output open after the end of the attempt.
const BACKGROUND_OUTPUT_WAIT: Duration = Duration::from_millis(200);
/// How often live output is reported.
const OUTPUT_INTERVAL: Duration = Duration::from_secs(1);

/// News of a running attempt.
#[derive(Debug)]
pub enum Progress {
    /// The output so far, about once a second while there is more of it. The first comes after a second, also if nothing was
    /// written: what a power cut leaves then tells that the attempt had started, and when.
    Output { started_at: Timestamp, output: AttemptOutput },
    /// Background processes hold these reading ends, and the process that would read them could not be started, as the error
    /// says. Whoever gets them has to read them, because the processes end at their next line once they are closed.
    HeldPipes(Vec<OwnedFd>, io::Error),
    /// A message for people.
    Notice(String),
}

/// Runs an attempt. Returns when its process is reaped and every process that had to be ended with it is gone.
///
/// Blocks the thread, and calls `on_start` and `on_progress` on it. A command that cannot be started is an end like any
/// other. An error means that nothing was started, and that a later try may succeed: it says what the machine is short of; none
/// if the attempt was asked to stop while it waited for its start.
pub fn run(
    mut launch: Launch<'_>,
    control: &Control,
    on_start: impl FnOnce(Leader, Timestamp),
    on_progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd, Option<io::Error>> {
    let began = Instant::now();
    match spawn(&mut launch, control, &mut |text| on_progress(Progress::Notice(text))) {
        Ok(child) => {
            on_start(child.leader, child.started_at);
            Ok(supervise(child, &launch, control, on_progress))
        }
        Err(SpawnError::Shortage(error)) => Err(Some(error)),
        Err(SpawnError::Stopped) => Err(None),
        Err(SpawnError::Failed(failure, message)) => {
            Ok(AttemptEnd::spawn_failed(failure, message, clock::now()))
        }
        Err(SpawnError::TimedOut(message)) => Ok(AttemptEnd {
            message: Some(message),
            duration: Some(millis(began.elapsed())),
            ..AttemptEnd::unseen(EndCause::TimedOut, clock::now())
        }),
    }
}

fn supervise(
    child: Child,
    launch: &Launch<'_>,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress),
) -> AttemptEnd {
    let Launch { definition, tag, report, .. } = launch;
    let mut attempt = RunningAttempt {
        leader: child.pid,
        pidfd: child.pidfd,
        capture: Capture::new(child.stdout, child.stderr, definition.output_limit, launch.pass_on),
        // A timeout too long for the clock never runs out.
        deadline: definition.timeout.and_then(|timeout| child.started.checked_add(timeout.into())),
        grace: definition.grace_period.into(),
        target: Target { tag: tag.clone(), group: ProcessGroup::Pinned(child.leader) },
        phase: AttemptPhase::Running,
        outlived_grace: false,
        started_at: child.started_at,
        next_output_at: child.started + OUTPUT_INTERVAL,
        sent_bytes: None,
    };
    let (cause, status) = loop {
        attempt.wait_and_read(control);
        attempt.stop_if_asked(control);
        attempt.terminate(on_progress);
        attempt.send_output(on_progress);
        if let Some(end) = attempt.finished() {
            break end;
        }
    };
    let held = attempt.capture.finish();
    // The leader is reaped last, because from here on the ids of leader and group may be reused.
    let usage = reap(attempt.leader);
    let duration = millis(child.started.elapsed());
    let output_held_open = !held.is_empty();
    if output_held_open && let Err(error) = leave_to_reader(&held) {
        on_progress(Progress::HeldPipes(held, error));
    }
    AttemptEnd {
        cause,
        status,
        report: take_report(report),
        message: attempt.outlived_grace.then(|| {
            let grace = definition.grace_period;
            format!("SIGKILL was needed, because not all of its processes had ended {grace} after SIGTERM")
        }),
        started_at: Some(child.started_at),
        finished_at: clock::now(),
        // If nobody saw the end, nobody knows when it was.
        duration: (cause.is_some() || status.is_some()).then_some(duration),
        usage,
        output_held_open,
        output: Some(attempt.capture.output()),
    }
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// How far an attempt has come.
enum AttemptPhase {
    /// The leader runs, and nothing has asked the attempt to end.
    Running,
    /// runner ends the processes. `status` is set once the leader has ended.
    Stopping { cause: EndCause, status: Option<Status>, termination: Termination },
    /// The processes have ended, and only output is left to read.
    Draining { cause: Option<EndCause>, status: Option<Status>, since: Instant },
}

struct RunningAttempt<'a> {
    /// The process that was started. It leads its process group.
    leader: Pid,
    pidfd: OwnedFd,
    capture: Capture<'a>,
    deadline: Option<Instant>,
    grace: Duration,
    target: Target,
    phase: AttemptPhase,
    /// Whether a process of it was still there at the end of the grace period.
    outlived_grace: bool,
    started_at: Timestamp,
    next_output_at: Instant,
    /// The number of bytes that had been written when output was last sent; none before the first time.
    sent_bytes: Option<u64>,
}

impl RunningAttempt<'_> {
    /// Waits until a descriptor is readable or it is time to act. Reads output, and looks for the end of the leader.
    fn wait_and_read(&mut self, control: &Control) {
        let limit = self.wake_at().map(|at| at.saturating_duration_since(Instant::now()));
        let pidfd = self.leader_runs().then(|| self.pidfd.as_fd());
        let [stdout, stderr] = OutputStream::BOTH.map(|stream| self.capture.to_wait_for(stream));
        let [_, stdout, stderr, has_ended] =
            wait_readable([Some(control.waker()), stdout, stderr, pidfd], limit);
        for (stream, is_readable) in OutputStream::BOTH.into_iter().zip([stdout, stderr]) {
            if is_readable {
                self.capture.read(stream);
            }
        }
        // Before any order to stop is looked at: a job that ended by itself keeps its exit, even if this thread is late.
        if has_ended {
            self.see_end();
        }
    }

    /// The time to act if no descriptor becomes readable.
    fn wake_at(&self) -> Option<Instant> {
        let of_phase = match &self.phase {
            AttemptPhase::Running => self.deadline,
            AttemptPhase::Stopping { termination, .. } => termination.scan_at(),
            AttemptPhase::Draining { since, .. } => Some(*since + BACKGROUND_OUTPUT_WAIT),
        };
        let of_output = self.has_new_output().then_some(self.next_output_at);
        of_phase.into_iter().chain(of_output).min()
    }

    fn leader_runs(&self) -> bool {
        matches!(self.phase, AttemptPhase::Running | AttemptPhase::Stopping { status: None, .. })
    }

    /// Looks whether the leader has ended, and does not reap it: as long as it is a zombie, its pid and its group id
    /// cannot be reused.
    fn see_end(&mut self) {
        if !self.leader_runs() {
            return;
        }
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = match waitid(WaitId::Pid(self.leader), how) {
            Ok(Some(ended)) => {
                let exited = ended.exit_status().map(Status::Exited);
                exited.or_else(|| ended.terminating_signal().map(Status::Signaled))
            }
            // Another process has reaped the leader. Its id may be another process's by now, so nothing more is signalled.
            Err(Errno::CHILD) => {
                let cause = match self.phase {
                    AttemptPhase::Stopping { cause, .. } => Some(cause),
                    AttemptPhase::Running | AttemptPhase::Draining { .. } => None,
                };
                return self.drain(cause, None);
            }
            Ok(None) | Err(_) => None,
        };
        match &mut self.phase {
            AttemptPhase::Running if status.is_some() => self.drain(None, status),
            AttemptPhase::Stopping { status: of_leader, termination, .. } if status.is_some() => {
                *of_leader = status;
                termination.scan_now();
            }
            _ => {}
        }
    }

    fn drain(&mut self, cause: Option<EndCause>, status: Option<Status>) {
        self.phase = AttemptPhase::Draining { cause, status, since: Instant::now() };
    }

    fn stop_if_asked(&mut self, control: &Control) {
        let orders = control.take_orders();
        let is_timed_out = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        let cause = orders.stop.or(is_timed_out.then_some(EndCause::TimedOut));
        if let Some(cause) = cause.filter(|_| matches!(self.phase, AttemptPhase::Running)) {
            let mut termination = Termination::prepare(vec![self.target.clone()]);
            // The scan took a while, in which the job may have ended by itself.
            self.see_end();
            if matches!(self.phase, AttemptPhase::Running) {
                termination.begin(self.grace);
                // While the leader lives there is no need to look for the others.
                termination.wait_out_grace();
                self.phase = AttemptPhase::Stopping { cause, status: None, termination };
            }
        }
        if let AttemptPhase::Stopping { termination, .. } = &mut self.phase
            && orders.kill
        {
            termination.kill_now();
        }
    }

    fn terminate(&mut self, on_progress: &mut dyn FnMut(Progress)) {
        let AttemptPhase::Stopping { cause, status, termination } = &mut self.phase else {
            return;
        };
        let are_gone = termination.is_due() && termination.step();
        self.outlived_grace = termination.has_outlived_grace();
        if are_gone && status.is_some() {
            let (cause, status) = (Some(*cause), *status);
            self.drain(cause, status);
        } else if let Some(notice) = termination.notice() {
            on_progress(Progress::Notice(notice));
        }
    }

    fn send_output(&mut self, on_progress: &mut dyn FnMut(Progress)) {
        let now = Instant::now();
        if self.has_new_output() && self.next_output_at <= now {
            self.sent_bytes = Some(self.capture.length());
            self.next_output_at = now + OUTPUT_INTERVAL;
            on_progress(Progress::Output { started_at: self.started_at, output: self.capture.output() });
        }
    }

    /// Whether there is output that was not sent yet, or none was sent at all. Once the processes have ended, none is sent, because [`AttemptEnd`]
    /// holds all of it.
    fn has_new_output(&self) -> bool {
        !matches!(self.phase, AttemptPhase::Draining { .. }) && Some(self.capture.length()) > self.sent_bytes
    }

    /// Why runner ended the attempt and how the leader ended, once all output has been read or background processes have
    /// held it open for long enough.
    fn finished(&self) -> Option<(Option<EndCause>, Option<Status>)> {
        let AttemptPhase::Draining { cause, status, since } = self.phase else {
            return None;
        };
        (self.capture.is_closed() || since.elapsed() >= BACKGROUND_OUTPUT_WAIT).then_some((cause, status))
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
