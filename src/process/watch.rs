//! The loop over a running attempt: its output, its end, its time, and what others ask.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::model::{Exit, StopReason};

use super::control::Listener;
use super::hunt::Hunt;
use super::leader::{End, Leader};
use super::run::Began;
use super::scan::{Group, Sought};
use super::stream::Stream;
use super::{Kept, Launch, Progress, wait};

/// How long output is waited for that somebody in the background may still write.
const LINGER: Duration = Duration::from_millis(200);
/// How often output is told.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked for the end where nothing announces it.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running attempt.
pub(super) struct Watch<'a> {
    launch: &'a Launch<'a>,
    control: &'a Listener<'a>,
    leader: Leader,
    stdout: Stream,
    stderr: Stream,
    /// What is read at once; shared by both streams.
    buffer: Vec<u8>,
    /// When its time is over.
    deadline: Option<Instant>,
    /// Why it is being ended: the first reason.
    cut: Option<StopReason>,
    hunt: Option<Hunt>,
    end: Option<End>,
    /// When the last process was gone that is waited for.
    quiet_since: Option<Instant>,
    /// When output may be told again, and how much of it was told.
    tell_at: Instant,
    told: u64,
}

/// What is known when it is over.
pub(super) struct Watched {
    pub ending: Exit,
    pub stdout: Kept,
    pub stderr: Kept,
    pub leaked: bool,
}

impl<'a> Watch<'a> {
    pub fn new(
        launch: &'a Launch<'a>,
        control: &'a Listener<'a>,
        leader: Leader,
        stdout: OwnedFd,
        stderr: OwnedFd,
        began: Began,
    ) -> Self {
        let timeout = launch.spec.timeout;
        Self {
            launch,
            control,
            leader,
            stdout: Stream::new(stdout, launch.spec.output_limit),
            stderr: Stream::new(stderr, launch.spec.output_limit),
            buffer: Vec::new(),
            // Beyond what the clock counts is never.
            deadline: timeout.and_then(|t| began.instant.checked_add(Duration::from_millis(t.0))),
            cut: None,
            hunt: None,
            end: None,
            quiet_since: None,
            tell_at: began.instant + TELL_EVERY,
            told: 0,
        }
    }

    /// Returns when the leader has ended, and all that was to be ended with it.
    pub fn run(mut self, tell: &mut dyn FnMut(Progress<'_>)) -> Watched {
        loop {
            let [_, stdout, stderr, ended] = self.sleep();
            if stdout {
                self.stdout.read(&mut self.buffer);
            }
            if stderr {
                self.stderr.read(&mut self.buffer);
            }
            let now = Instant::now();
            // First what the job did, then what is done to it: a job that ended by itself keeps its ending,
            // also if this thread looks late.
            if ended || self.leader.handle().is_none() {
                self.see_end(now);
            }
            self.begin_to_end(now);
            self.pursue(now, tell);
            self.tell_output(now, tell);
            if self.is_over(now) {
                return self.finish(tell);
            }
        }
    }

    /// Says which of these have news: the control, the two streams, the leader's end.
    fn sleep(&self) -> [bool; 4] {
        let until = self.wake_at();
        let most = until.map(|until| until.saturating_duration_since(Instant::now()));
        let leader = self.leader.handle().filter(|_| self.end.is_none());
        wait::readable([Some(self.control.wake()), self.stdout.pipe(), self.stderr.pipe(), leader], most)
    }

    /// When something is due though nothing happens.
    fn wake_at(&self) -> Option<Instant> {
        let running = self.end.is_none();
        let unannounced = running && self.leader.handle().is_none();
        let news = running && self.written() > self.told;
        [
            self.deadline.filter(|_| running && self.cut.is_none()),
            self.hunt.as_ref().and_then(Hunt::look_at),
            unannounced.then(|| Instant::now() + LOOK_EVERY),
            news.then_some(self.tell_at),
            self.quiet_since.map(|since| since + LINGER),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn see_end(&mut self, now: Instant) {
        if self.end.is_some() {
            return;
        }
        self.end = self.leader.end();
        match (self.end, &mut self.hunt) {
            // Its number is free, so nobody may be signalled by it.
            (Some(End::Unseen), _) => self.hunt = None,
            (Some(End::Seen(_)), Some(hunt)) => hunt.look_now(now),
            _ => {}
        }
        if self.end.is_some() && self.hunt.is_none() {
            self.quiet_since = Some(now);
        }
    }

    /// Begins to end it, if somebody asked or its time is over.
    fn begin_to_end(&mut self, now: Instant) {
        let asked = self.control.hear();
        let timed_out = self.deadline.is_some_and(|deadline| deadline <= now);
        let why = asked.stop.or(timed_out.then_some(StopReason::TimedOut));
        if self.end.is_none()
            && self.cut.is_none()
            && let Some(cut) = why
        {
            let mut hunt = self.prepare_to_end();
            // That took a while, in which it may have ended by itself.
            let now = Instant::now();
            self.see_end(now);
            if self.end.is_none() {
                self.cut = Some(cut);
                hunt.begin(now);
                // While the leader lives there is no need to look for the others.
                hunt.rest();
                self.hunt = Some(hunt);
            }
        }
        if asked.kill
            && let Some(hunt) = &mut self.hunt
        {
            hunt.kill_now(now);
        }
    }

    fn prepare_to_end(&self) -> Hunt {
        let sought = Sought { mark: self.launch.mark.clone(), group: Group::Pinned(self.leader.identity()) };
        let grace = Duration::from_millis(self.launch.spec.grace_period.0);
        Hunt::prepare(vec![sought], grace)
    }

    fn pursue(&mut self, now: Instant, tell: &mut dyn FnMut(Progress<'_>)) {
        let Some(hunt) = &mut self.hunt else {
            return;
        };
        if hunt.look_at().is_some_and(|at| at <= now) && hunt.step(now) && self.end.is_some() {
            self.hunt = None;
            self.quiet_since = Some(now);
        } else if let Some(words) = hunt.news_of_stuck(now) {
            tell(Progress::Stuck(&words));
        }
    }

    fn tell_output(&mut self, now: Instant, tell: &mut dyn FnMut(Progress<'_>)) {
        let written = self.written();
        if written > self.told && self.tell_at <= now && self.quiet_since.is_none() {
            self.told = written;
            self.tell_at = now + TELL_EVERY;
            tell(Progress::Output { stdout: &self.stdout.kept(), stderr: &self.stderr.kept() });
        }
    }

    fn written(&self) -> u64 {
        self.stdout.total() + self.stderr.total()
    }

    fn is_over(&self, now: Instant) -> bool {
        let silent = self.stdout.pipe().is_none() && self.stderr.pipe().is_none();
        self.quiet_since.is_some_and(|since| silent || since + LINGER <= now)
    }

    fn finish(mut self, tell: &mut dyn FnMut(Progress<'_>)) -> Watched {
        let leaked =
            [self.stdout.close(&mut self.buffer), self.stderr.close(&mut self.buffer)].contains(&true);
        // The last thing: from here on the numbers of leader and group may be given out again.
        let left = self.leader.reap();
        if !left.is_empty() {
            tell(Progress::Left(left));
        }
        let status = match self.end {
            Some(End::Seen(status)) => Some(status),
            Some(End::Unseen) | None => None,
        };
        Watched {
            ending: Exit { cut: self.cut, status },
            stdout: self.stdout.kept(),
            stderr: self.stderr.kept(),
            leaked,
        }
    }
}
