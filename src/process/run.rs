//! One attempt from its start to its end.

use std::io;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::model::{Exit, SelfReport, StopReason};
use crate::text::{Millis, Timestamp};

use super::birth::Birth;
use super::leader::Leader;
use super::spawn::{Spawned, spawn};
use super::spawn_error::{NotSpawned, is_shortage};
use super::watch::Watch;
use super::{Control, Identity, Kept, Launch, orphans, predecessors, report_file};

/// What is told while an attempt runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The next thing is the start, unless an error is put here: then there is none, for want of what the error names.
    Starting(&'a mut Option<io::Error>),
    /// It runs, since then.
    Started(Identity, Timestamp),
    /// More was written; told about once a second, and not in the first one.
    Output {
        /// What is kept of stdout so far.
        stdout: &'a Kept,
        /// What is kept of stderr so far.
        stderr: &'a Kept,
    },
    /// It has ended by itself and left these in its group: the next attempt is to end them, see [`Launch::remnants`].
    Left(Vec<Identity>),
    /// A known process cannot be ended, in words. Said once; it is tried on and on.
    Stuck(&'a str),
}

/// What became of an attempt.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large one, and none is kept for long")]
pub enum Ran {
    /// It is over.
    Ended {
        /// How.
        ending: Exit,
        /// None if it never ran: it could not be started, or was asked to end before it was.
        started_at: Option<Timestamp>,
        /// When nothing of it was left to wait for.
        finished_at: Timestamp,
        /// By the monotonic clock.
        duration: Millis,
        /// What is kept of its stdout.
        stdout: Kept,
        /// What is kept of its stderr.
        stderr: Kept,
        /// A process in the background still held its output open.
        leaked: bool,
        /// What it said about itself.
        report: SelfReport,
        /// Runner's own words: why it could not be started.
        message: Option<String>,
    },
    /// The machine lacked something for the start: the claim is to be given back, and nothing counts.
    NotStarted {
        /// What it lacked.
        why: io::Error,
    },
}

impl Ran {
    /// There was no start, for want of what runner itself needed for it, as these words and the error say.
    pub fn without(what: &str, error: io::Error) -> Self {
        if is_shortage(&error) {
            Self::NotStarted { why: error }
        } else {
            never_ran(StopReason::SpawnFailed, Some(format!("{what}: {error}")))
        }
    }
}

/// Runs one attempt; returns when its process has ended and been reaped.
///
/// Blocks its thread, and calls `tell` on it.
pub fn run(launch: &Launch<'_>, control: &Control, tell: &mut dyn FnMut(Progress<'_>)) -> Ran {
    let control = match control.listen() {
        Ok(listener) => listener,
        Err(why) => return Ran::NotStarted { why },
    };
    let may_begin = predecessors::end(launch, &control, tell).and_then(|()| control.begin());
    if let Err(cut) = may_begin {
        return never_ran(cut, None);
    }
    let mut prevented = None;
    tell(Progress::Starting(&mut prevented));
    if let Some(why) = prevented {
        return Ran::NotStarted { why };
    }
    let began = Began::now();
    let about_to_start = Birth::about_to();
    let spawned = match orphans::start_own(|| spawn(launch)) {
        Ok(spawned) => spawned,
        Err(error) => {
            return match NotSpawned::explain(error, launch) {
                NotSpawned::Shortage(why) => Ran::NotStarted { why },
                NotSpawned::Failed(words) => never_ran(StopReason::SpawnFailed, Some(words)),
            };
        }
    };
    let Spawned { pid, handle, stdout, stderr } = spawned;
    let leader = Leader::new(pid, handle, about_to_start.identity(pid));
    tell(Progress::Started(leader.identity(), began.at));
    let watched = Watch::new(launch, &control, leader, stdout, stderr, began).run(tell);
    Ran::Ended {
        ending: watched.ending,
        started_at: Some(began.at),
        finished_at: wall_clock(),
        duration: began.elapsed(),
        stdout: watched.stdout,
        stderr: watched.stderr,
        leaked: watched.leaked,
        report: report_file::take(launch.report),
        message: None,
    }
}

/// When an attempt began, by both clocks: just before its process could do anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    pub at: Timestamp,
    pub instant: Instant,
}

impl Began {
    fn now() -> Self {
        Self { at: wall_clock(), instant: Instant::now() }
    }

    fn elapsed(self) -> Millis {
        Millis(u64::try_from(self.instant.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

pub(super) fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

fn never_ran(cut: StopReason, message: Option<String>) -> Ran {
    Ran::Ended {
        ending: Exit::unseen(cut),
        started_at: None,
        finished_at: wall_clock(),
        duration: Millis(0),
        stdout: Kept::default(),
        stderr: Kept::default(),
        leaked: false,
        report: SelfReport::default(),
        message,
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stop_tests.rs"]
mod stop_tests;
