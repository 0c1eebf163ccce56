//! Recovers dead workers: ends the leftover processes of their attempts, and prepares the attempts to be recorded as lost.
//!
//! The recovering worker holds a lock of its own for the dead worker until everything is recorded. If it dies itself, the kernel releases
//! that lock too, and another worker starts over: ending processes twice does no harm, and the store refuses a second
//! record. Which worker is dead, and how far it had come, is in `registration`; the decision is in `store/write/recover.rs`.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::registration::{self, ClaimFate, DeadWorker, Origin, tag_of};
use crate::clock;
use crate::model::{AttemptEnd, EndCause, check_worker_id};
use crate::process::{self, Leftover};
use crate::store::{EndedAttempt, EndedBefore, OldAttempts, OrphanedClaim, Result, Store, StoreFile, Worker};

/// The time between SIGTERM and SIGKILL. It is not the job's own grace period, because the next attempt waits for it.
const GRACE: Duration = Duration::from_millis(500);

/// How long to look for a process whose start was under way, because before its exec a process shows the worker's
/// environment.
const START_TIME: Duration = Duration::from_millis(100);

/// The pause between two tries to end processes that could not be ended grows from this …
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// … to this.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// How often people are told of processes that cannot be ended.
const TELL_INTERVAL: Duration = Duration::from_mins(1);

/// The result of the recovery of a dead worker: the attempts that are to be recorded.
pub(super) struct DeadWorkerFindings {
    pub worker: Worker,
    /// Attempts that had started, or may have.
    pub lost: Vec<EndedAttempt>,
    pub never_started: Vec<i64>,
    /// Processes that could not be ended, in words: nothing may be recorded yet.
    pub leftovers: Option<String>,
    /// Keeps other workers from recovering the same worker.
    pub _lock: DeadWorker,
}

/// Finds dead workers, and examines each on a thread of its own.
pub(super) struct Recovery {
    db: StoreFile,
    boot_id: String,
    own: i64,
    under_way: HashSet<i64>,
    /// The workers with processes that could not be ended.
    stuck: HashMap<i64, NextTry>,
    /// Called on the thread of each recovery.
    on_findings: Arc<dyn Fn(DeadWorkerFindings) + Send + Sync>,
}

impl Recovery {
    pub(super) fn new(
        db: StoreFile,
        own: &Worker,
        on_findings: impl Fn(DeadWorkerFindings) + Send + Sync + 'static,
    ) -> Self {
        let (boot_id, on_findings) = (own.boot_id.clone(), Arc::new(on_findings));
        Self { db, boot_id, own: own.id, under_way: HashSet::new(), stuck: HashMap::new(), on_findings }
    }

    /// Begins the recovery of every other worker that is dead. Returns the shortage that kept a recovery from beginning, if
    /// any; the next poll finds that worker again.
    pub(super) fn begin_for_dead(&mut self, store: &Store) -> Result<Option<io::Error>> {
        let mut shortage = None;
        for worker in store.open_workers()? {
            let waits = self.stuck.get(&worker.id).is_some_and(|stuck| stuck.retry_at > Instant::now());
            if worker.id == self.own || self.under_way.contains(&worker.id) || waits {
                continue;
            }
            if let Some(dead) = registration::take_dead(&self.db, &worker, &self.boot_id) {
                let held = store.held_by(worker.id)?;
                shortage = self.begin(worker, dead, held).err().or(shortage);
            }
        }
        Ok(shortage)
    }

    fn begin(&mut self, worker: Worker, dead: DeadWorker, held: Vec<OrphanedClaim>) -> io::Result<()> {
        let id = worker.id;
        let on_findings = Arc::clone(&self.on_findings);
        let thread = thread::Builder::new().name("recovery".to_owned());
        thread.spawn(move || on_findings(examine(worker, dead, held)))?;
        self.under_way.insert(id);
        Ok(())
    }

    /// Removes the dead worker's files, because the findings are on disk now.
    pub(super) fn done(&mut self, findings: &DeadWorkerFindings) {
        registration::remove_files(&self.db.run_dir(), &findings.worker.name);
        self.stuck.remove(&findings.worker.id);
        self.try_again(findings);
    }

    /// Notes that processes are left, so that the worker is tried again, less and less often. True if people are to be told.
    pub(super) fn try_again_later(&mut self, findings: &DeadWorkerFindings, now: Instant) -> bool {
        self.try_again(findings);
        self.stuck.entry(findings.worker.id).or_insert_with(|| NextTry::new(now)).again(now)
    }

    /// Notes that the findings could not be recorded, so that the next poll finds the worker again.
    pub(super) fn try_again(&mut self, findings: &DeadWorkerFindings) {
        self.under_way.remove(&findings.worker.id);
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }
}

/// When a dead worker is tried again of which processes could not be ended.
#[derive(Clone, Copy, Debug)]
struct NextTry {
    retry_at: Instant,
    pause: Duration,
    told_at: Option<Instant>,
}

impl NextTry {
    fn new(now: Instant) -> Self {
        Self { retry_at: now, pause: MIN_PAUSE, told_at: None }
    }

    /// Notes one more try in vain. True if people are to be told.
    fn again(&mut self, now: Instant) -> bool {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        let is_told = self.told_at.is_none_or(|at| now >= at + TELL_INTERVAL);
        if is_told {
            self.told_at = Some(now);
        }
        is_told
    }
}

/// The processes that are left of a dead worker's attempts, as far as whoever looks can see them; none if that cannot be seen,
/// or if the worker is not dead.
pub fn leftovers(db: &StoreFile, worker: &Worker, held: &[OrphanedClaim]) -> Option<Vec<Leftover>> {
    let dead = registration::look_at_dead(db, worker, &process::boot_id())?;
    if dead.origin != Origin::ThisBoot {
        return Some(Vec::new());
    }
    let attempts = held.iter().filter_map(|claim| {
        let leader = match dead.fate(claim) {
            ClaimFate::NeverStarted => return None,
            ClaimFate::Started(leader, _) => Some(leader),
            ClaimFate::MayHaveStarted { .. } => None,
        };
        Some((tag_of(&worker.mark, worker.version, claim.job_id, claim.number), leader))
    });
    process::find_leftovers(&attempts.collect::<Vec<_>>())
}

/// Removes the files of workers whose row is closed: reports of their jobs may be among them, and whoever should have removed
/// them was killed first.
pub fn remove_abandoned_files(store: &Store) -> Result<()> {
    let run_dir = store.file().run_dir();
    let Ok(entries) = fs::read_dir(&run_dir) else { return Ok(()) };
    let open: HashSet<String> = store.open_workers()?.into_iter().map(|worker| worker.name).collect();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_reports = path.extension().is_some_and(|end| end == "reports");
        let Some(worker) = path.file_stem().and_then(OsStr::to_str).filter(|_| is_reports) else { continue };
        // A worker that starts holds its lock before it has a row.
        let is_closed = !open.contains(worker) && !registration::holds_lock(&run_dir, worker);
        if is_closed && check_worker_id(worker).is_ok() {
            registration::remove_files(&run_dir, worker);
        }
    }
    Ok(())
}

/// Ends what is left of the attempts of a database that is about to be replaced. All its workers are dead. The error says what
/// could not be ended.
pub fn end_leftovers(db: &StoreFile, attempts: OldAttempts) -> std::result::Result<(), String> {
    let held: Vec<_> = attempts.held.into_iter().filter(|(_, held)| !held.is_empty()).collect();
    if held.is_empty() && attempts.ended.is_empty() {
        return Ok(());
    }
    process::check_proc().map_err(|error| error.to_string())?;
    let boot_id = process::boot_id();
    for (worker, held) in held {
        let pid = worker.pid;
        let Some(dead) = registration::take_dead(db, &worker, &boot_id) else {
            return Err(format!("its worker with pid {pid} is alive"));
        };
        if let Some(leftovers) = examine(worker, dead, held).leftovers {
            return Err(format!("{leftovers} cannot be ended"));
        }
    }
    end_background(&attempts.ended, GRACE)
}

/// Ends what these attempts, which have ended, have left in the background. The error says what could not be ended.
pub fn end_background(ended: &[EndedBefore], grace: Duration) -> std::result::Result<(), String> {
    let tag = |ended: &EndedBefore| tag_of(&ended.mark, ended.version, ended.job_id, ended.number);
    let ended: Vec<_> = ended.iter().map(|ended| (tag(ended), None)).collect();
    process::end_attempts(&ended, grace, Duration::ZERO).map_err(|left| format!("{left} cannot be ended"))
}

/// The message of an attempt whose process is not there. An earlier try of the recovery may have ended it.
const NOBODY_SAW: &str = "its worker died while it was running; nobody saw how it ended";

/// Separates the claims that had started from the others, and ends the leftover processes of the started ones.
fn examine(worker: Worker, dead: DeadWorker, held: Vec<OrphanedClaim>) -> DeadWorkerFindings {
    let mut lost = Vec::new();
    let mut never_started = Vec::new();
    let mut attempts = Vec::new();
    let mut start_under_way = false;
    for claim in held {
        let tag = tag_of(&worker.mark, worker.version, claim.job_id, claim.number);
        let (leader, started_at, message) = match dead.fate(&claim) {
            ClaimFate::NeverStarted => {
                never_started.push(claim.job_id);
                continue;
            }
            ClaimFate::Started(leader, at) => {
                let message = if process::is_leader_alive(&leader) {
                    "its worker died while it was running; the command was still there, and was ended"
                } else {
                    NOBODY_SAW
                };
                (Some(leader), Some(at), message)
            }
            ClaimFate::MayHaveStarted { is_logged } => {
                start_under_way |= is_logged;
                let message = match (dead.origin, claim.has_started) {
                    (Origin::ThisBoot, true) => NOBODY_SAW,
                    (Origin::ThisBoot, false) => "its worker died; it may not have started",
                    (Origin::EarlierBoot, true) => "the machine was restarted while it was running",
                    (Origin::EarlierBoot, false) => "the machine was restarted; it may not have started",
                    (Origin::Original, _) => {
                        "it was running when this database was copied; how it ended stands in the original"
                    }
                };
                (None, claim.started_at, message)
            }
        };
        let message = if dead.is_of_replaced {
            "it was running when this database was copied; the database that it replaced may say how it ended"
        } else {
            message
        };
        attempts.push((tag, leader));
        lost.push((claim, started_at, message));
    }
    let ended = match dead.origin {
        Origin::ThisBoot => {
            let at_least = if start_under_way { START_TIME } else { Duration::ZERO };
            process::end_attempts(&attempts, GRACE, at_least)
        }
        Origin::EarlierBoot | Origin::Original => Ok(()),
    };
    // Nobody knows when a lost attempt ended, so the history gives the end of its recovery.
    let now = clock::now();
    let lost_attempt = |(claim, started_at, message): (OrphanedClaim, _, &str)| {
        let message = Some(message.to_owned());
        let end = AttemptEnd { message, started_at, ..AttemptEnd::unseen(EndCause::WorkerCrashed, now) };
        EndedAttempt { job_id: claim.job_id, number: claim.number, jitter_sample: rand::random(), end }
    };
    let lost = lost.into_iter().map(lost_attempt).collect();
    DeadWorkerFindings { worker, lost, never_started, leftovers: ended.err(), _lock: dead }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_ended_is_tried_less_and_less_often_and_told_once_a_minute() {
        let start = Instant::now();
        let mut stuck = NextTry::new(start);
        let (mut now, mut tried, mut told) = (start, Vec::new(), Vec::new());
        for _ in 0..9 {
            tried.push((now - start).as_secs());
            if stuck.again(now) {
                told.push((now - start).as_secs());
            }
            now = stuck.retry_at;
        }
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        assert_eq!(told, [0, 63, 123, 183]);
    }
}
