//! Recovery of dead workers: end the survivors of their attempts, record the attempts as lost, then decide.
//!
//! The recoverer holds the dead worker's lock until everything is recorded. If the recoverer dies, the kernel
//! releases that lock too, and another worker starts over: ending processes twice does no harm, and the store refuses a
//! second record.

use std::collections::HashSet;
use std::io;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::inbox::{Event, Findings};
use super::lock::{self, ClaimFate, DeadWorker, Origin};
use super::registration;
use crate::clock;
use crate::model::{Exit, SelfReport, StopReason};
use crate::process::{self, AttemptTag};
use crate::store::{Ended, HeldClaim, Result, Store, StoreFile, WorkerRow};
use crate::text::Timestamp;

/// Between SIGTERM and SIGKILL. Not the job's own grace period: the next attempt waits for this.
const GRACE: Duration = Duration::from_millis(500);

/// How long to look for a process whose start was under way: before its exec a process shows the worker's environment.
const START_TIME: Duration = Duration::from_millis(100);

/// Finds dead workers, and ends the processes of each on a thread of its own.
pub(super) struct Recovery {
    db: StoreFile,
    boot_id: String,
    own: i64,
    under_way: HashSet<i64>,
    inbox: UnboundedSender<Event>,
}

impl Recovery {
    pub(super) fn new(db: StoreFile, own: &WorkerRow, inbox: UnboundedSender<Event>) -> Self {
        let boot_id = own.boot_id.clone();
        Self { db, boot_id, own: own.id, under_way: HashSet::new(), inbox }
    }

    /// Begins the recovery of every other worker that is dead. Returns a shortage that kept one recovery from beginning:
    /// the next poll finds that worker again.
    pub(super) fn begin_for_dead(&mut self, store: &Store) -> Result<Option<io::Error>> {
        let mut shortage = None;
        for worker in store.open_workers()? {
            if worker.id == self.own || self.under_way.contains(&worker.id) {
                continue;
            }
            if let Some(dead) = lock::take_dead(&self.db, &worker, &self.boot_id) {
                let held = store.held_by(worker.id)?;
                shortage = self.begin(worker, dead, held).err().or(shortage);
            }
        }
        Ok(shortage)
    }

    fn begin(&mut self, worker: WorkerRow, dead: DeadWorker, held: Vec<HeldClaim>) -> io::Result<()> {
        let id = worker.id;
        let inbox = self.inbox.clone();
        thread::Builder::new().name("recovery".to_owned()).spawn(move || {
            let _ = inbox.send(Event::DeadWorker(Box::new(examine(worker, dead, held))));
        })?;
        self.under_way.insert(id);
        Ok(())
    }

    /// The findings are on disk.
    pub(super) fn done(&mut self, findings: &Findings) {
        registration::remove_files(&self.db.run_dir(), &findings.worker.name);
        self.try_again(findings);
    }

    /// The findings could not be recorded: the next poll finds the worker again.
    pub(super) fn try_again(&mut self, findings: &Findings) {
        self.under_way.remove(&findings.worker.id);
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }
}

/// Separates the claims that had started from the others, and ends the survivors of the started ones.
fn examine(worker: WorkerRow, dead: DeadWorker, held: Vec<HeldClaim>) -> Findings {
    let mut lost = Vec::new();
    let mut never_started = Vec::new();
    let mut attempts = Vec::new();
    let mut start_under_way = false;
    for claim in held {
        let tag = AttemptTag { worker_id: worker.name.clone(), job_id: claim.job_id, attempt: claim.number };
        let (leader, started_at, message) = match dead.fate(&claim) {
            ClaimFate::NeverStarted => {
                never_started.push(claim.job_id);
                continue;
            }
            ClaimFate::Started(process, at) => {
                let message = if process.is_alive() {
                    "its worker died while it was running; the command was still there, and was ended"
                } else {
                    "its worker died while it was running; the command is gone, nobody saw how it ended"
                };
                (Some(process), Some(at), message)
            }
            ClaimFate::MayHaveStarted { is_logged } => {
                start_under_way |= is_logged;
                let message = match dead.origin {
                    Origin::ThisBoot => "its worker died; it may not have started",
                    Origin::EarlierBoot => "the machine was restarted; it may not have started",
                    Origin::Original => {
                        "it was running when this database was copied; how it ended stands in the original"
                    }
                };
                (None, None, message)
            }
        };
        attempts.push((tag, leader));
        lost.push(lost_attempt(&claim, started_at, message));
    }
    let ended = match dead.origin {
        Origin::ThisBoot => {
            let at_least = if start_under_way { START_TIME } else { Duration::ZERO };
            process::end_attempts(&attempts, GRACE, at_least)
        }
        Origin::EarlierBoot | Origin::Original => Ok(()),
    };
    // The end of a lost attempt is the end of its recovery.
    let now = clock::now();
    for attempt in &mut lost {
        attempt.finished_at = now;
    }
    Findings { worker, lost, never_started, survivors: ended.err(), _lock: dead }
}

fn lost_attempt(claim: &HeldClaim, started_at: Option<Timestamp>, message: &str) -> Ended {
    Ended {
        job_id: claim.job_id,
        number: claim.number,
        exit: Exit::unseen(StopReason::WorkerCrashed),
        report: SelfReport::default(),
        message: Some(message.to_owned()),
        started_at,
        finished_at: clock::now(),
        duration: None,
        leaked: false,
        spawn_failure: None,
        output: None,
        roll: rand::random(),
    }
}
