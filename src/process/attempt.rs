//! One running attempt: its output, its end, its deadline, and the dispatcher's orders.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::model::{Exit, JobSpec, SelfReport, Status, StopReason, StreamBytes};
use crate::text::Millis;

use super::control::wait_readable;
use super::output::Stream;
use super::procfs::{Group, Target};
use super::terminate::Termination;
use super::{AttemptTag, Child, Control, report_file};

/// How long a background process may hold the output open after the end of the attempt.
const BACKGROUND_OUTPUT_WAIT: Duration = Duration::from_millis(200);
/// How often live output is reported.
const OUTPUT_INTERVAL: Duration = Duration::from_secs(1);

/// News of a running attempt.
#[derive(Debug)]
pub enum Progress {
    /// The output so far; about once a second, and not in the first second.
    Output { stdout: StreamBytes, stderr: StreamBytes },
    /// A message for people.
    Notice(String),
}

/// The end of an attempt that was started.
#[derive(Debug)]
pub struct AttemptResult {
    pub exit: Exit,
    pub duration: Millis,
    pub stdout: StreamBytes,
    pub stderr: StreamBytes,
    /// A background process held the output open.
    pub leaked: bool,
    pub report: SelfReport,
}

/// Returns when the process is reaped and all processes that had to be ended with it are gone.
///
/// Blocks its thread, and calls `on_progress` on it.
pub fn supervise(
    child: Child,
    spec: &JobSpec,
    tag: AttemptTag,
    report: &Path,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress),
) -> AttemptResult {
    let mut attempt = Attempt {
        stdout: Stream::new(child.stdout, spec.output_limit),
        stderr: Stream::new(child.stderr, spec.output_limit),
        // A time beyond the range of the clock is never.
        deadline: spec.timeout.and_then(|timeout| child.started.checked_add(timeout.into())),
        target: Target { tag, group: Group::Pinned(child.identity) },
        grace: spec.grace_period.into(),
        scratch: Vec::new(),
        stop_reason: None,
        termination: None,
        end: None,
        quiet_since: None,
        next_output_at: child.started + OUTPUT_INTERVAL,
        sent_bytes: 0,
    };
    loop {
        let pidfd = Some(child.pidfd.as_fd()).filter(|_| attempt.end.is_none());
        let limit = attempt.wake_at().map(|at| at.saturating_duration_since(Instant::now()));
        let descriptors = [Some(control.waker()), attempt.stdout.pipe(), attempt.stderr.pipe(), pidfd];
        let [_, stdout, stderr, ended] = wait_readable(descriptors, limit);
        if stdout {
            attempt.stdout.read(&mut attempt.scratch);
        }
        if stderr {
            attempt.stderr.read(&mut attempt.scratch);
        }
        // The job's own end comes first: a job that ended by itself keeps its exit, even if this thread is late.
        if ended {
            attempt.see_end(child.pid);
        }
        attempt.stop_if_asked(child.pid, control);
        attempt.terminate(on_progress);
        attempt.send_output(on_progress);
        if attempt.is_over() {
            break;
        }
    }
    let leaked = [attempt.stdout.close(&mut attempt.scratch), attempt.stderr.close(&mut attempt.scratch)];
    // The last thing: from here on the ids of leader and group may be reused.
    let _ = retry_on_intr(|| waitpid(Some(child.pid), WaitOptions::empty()));
    let status = match attempt.end {
        Some(End::Seen(status)) => Some(status),
        Some(End::Unseen) | None => None,
    };
    AttemptResult {
        exit: Exit { stop_reason: attempt.stop_reason, status },
        duration: Millis(u64::try_from(child.started.elapsed().as_millis()).unwrap_or(u64::MAX)),
        stdout: attempt.stdout.captured(),
        stderr: attempt.stderr.captured(),
        leaked: leaked.contains(&true),
        report: report_file::take(report),
    }
}

/// How the leader ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Seen(Status),
    /// Another process reaped the leader: the pid may be reused.
    Unseen,
}

struct Attempt {
    target: Target,
    grace: Duration,
    stdout: Stream,
    stderr: Stream,
    scratch: Vec<u8>,
    deadline: Option<Instant>,
    /// Why runner ends the attempt: the first reason.
    stop_reason: Option<StopReason>,
    termination: Option<Termination>,
    end: Option<End>,
    /// Set when the processes have ended and only output is left to read.
    quiet_since: Option<Instant>,
    next_output_at: Instant,
    /// The number of bytes in the last progress.
    sent_bytes: u64,
}

impl Attempt {
    /// The time to act if no descriptor becomes readable.
    fn wake_at(&self) -> Option<Instant> {
        let running = self.end.is_none();
        let has_news = running && self.written() > self.sent_bytes;
        [
            self.deadline.filter(|_| running && self.stop_reason.is_none()),
            self.termination.as_ref().and_then(Termination::scan_at),
            has_news.then_some(self.next_output_at),
            self.quiet_since.map(|since| since + BACKGROUND_OUTPUT_WAIT),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn see_end(&mut self, pid: Pid) {
        if self.end.is_some() {
            return;
        }
        // The leader stays a zombie: its pid and group id cannot be reused.
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.end = match waitid(WaitId::Pid(pid), how) {
            Ok(ended) => ended.and_then(|ended| {
                let exited = ended.exit_status().map(Status::Exited);
                exited.or_else(|| ended.terminating_signal().map(Status::Signaled)).map(End::Seen)
            }),
            Err(Errno::CHILD) => Some(End::Unseen),
            Err(_) => None,
        };
        match (self.end, &mut self.termination) {
            // The id may belong to another process now: signal nothing.
            (Some(End::Unseen), _) => self.termination = None,
            (Some(End::Seen(_)), Some(termination)) => termination.scan_now(),
            _ => {}
        }
        if self.end.is_some() && self.termination.is_none() {
            self.quiet_since = Some(Instant::now());
        }
    }

    fn stop_if_asked(&mut self, pid: Pid, control: &Control) {
        let orders = control.take_orders();
        let timed_out = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        let reason = orders.stop.or(timed_out.then_some(StopReason::TimedOut));
        if self.end.is_none() && self.stop_reason.is_none() && reason.is_some() {
            let mut termination = Termination::prepare(vec![self.target.clone()], self.grace);
            // The scan took a while, in which the job may have ended by itself.
            self.see_end(pid);
            if self.end.is_none() {
                self.stop_reason = reason;
                termination.begin();
                // While the leader lives there is no need to look for the others.
                termination.rest();
                self.termination = Some(termination);
            }
        }
        if orders.kill
            && let Some(termination) = &mut self.termination
        {
            termination.kill_now();
        }
    }

    fn terminate(&mut self, on_progress: &mut dyn FnMut(Progress)) {
        let Some(termination) = &mut self.termination else {
            return;
        };
        if termination.is_due() && termination.step() && self.end.is_some() {
            self.termination = None;
            self.quiet_since = Some(Instant::now());
        } else if let Some(notice) = termination.notice() {
            on_progress(Progress::Notice(notice));
        }
    }

    fn send_output(&mut self, on_progress: &mut dyn FnMut(Progress)) {
        let written = self.written();
        let now = Instant::now();
        if written > self.sent_bytes && self.next_output_at <= now && self.quiet_since.is_none() {
            self.sent_bytes = written;
            self.next_output_at = now + OUTPUT_INTERVAL;
            on_progress(Progress::Output { stdout: self.stdout.captured(), stderr: self.stderr.captured() });
        }
    }

    fn written(&self) -> u64 {
        self.stdout.total() + self.stderr.total()
    }

    fn is_over(&self) -> bool {
        let is_closed = self.stdout.pipe().is_none() && self.stderr.pipe().is_none();
        self.quiet_since.is_some_and(|since| is_closed || since.elapsed() >= BACKGROUND_OUTPUT_WAIT)
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stop_tests.rs"]
mod stop_tests;
