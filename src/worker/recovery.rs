//! Dealing with dead workers: end what is left of their attempts, then record them as lost, then decide.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::lock::{self, Corpse};
use super::slot_table::SlotRecord;
use super::{WorkError, presence};
use crate::model::{Exit, SelfReport, StopReason};
use crate::process::{self, Identity, Mark};
use crate::store::{Ended, HeldClaim, Store, WorkerRow};
use crate::text::Timestamp;

/// How long a lost attempt has between SIGTERM and SIGKILL. Not its own grace period: the next attempt waits for this.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long to look for a process that may just be starting: until its exec it shows the worker's environment.
const START_UNDER_WAY: Duration = Duration::from_millis(100);

/// A dead worker whose processes have been dealt with, and what is to be recorded of it.
pub(super) struct Remains {
    pub worker: WorkerRow,
    /// Attempts that had begun, or may have.
    pub lost: Vec<Lost>,
    /// Claims that never became attempts.
    pub never_started: Vec<i64>,
    /// What could not be ended, in words; then nothing may be recorded yet.
    pub left: Option<String>,
    /// Keeps others from dealing with it at the same time.
    _corpse: Corpse,
}

/// An attempt whose worker died.
pub(super) struct Lost {
    orphan: HeldClaim,
    started_at: Option<Timestamp>,
    message: &'static str,
}

/// Finds dead workers and deals with each on a thread of its own.
pub(super) struct Recovery {
    run_dir: PathBuf,
    boot_id: String,
    own: i64,
    under_way: HashSet<i64>,
    tell: UnboundedSender<Remains>,
}

impl Recovery {
    pub(super) fn new(run_dir: PathBuf, boot_id: String, own: i64, tell: UnboundedSender<Remains>) -> Self {
        Self { run_dir, boot_id, own, under_way: HashSet::new(), tell }
    }

    /// Looks at every other worker's lock, and begins to deal with those that are dead.
    pub(super) fn look(&mut self, store: &Store) -> Result<(), WorkError> {
        for worker in store.open_workers()? {
            if worker.id == self.own || self.under_way.contains(&worker.id) {
                continue;
            }
            if let Some(corpse) = lock::take_dead(&self.run_dir, &worker, &self.boot_id) {
                let orphans = store.held_by(worker.id)?;
                self.deal_with(worker, corpse, orphans);
            }
        }
        Ok(())
    }

    fn deal_with(&mut self, worker: WorkerRow, corpse: Corpse, orphans: Vec<HeldClaim>) {
        let id = worker.id;
        let rebooted = worker.boot_id != self.boot_id;
        self.under_way.insert(worker.id);
        let tell = self.tell.clone();
        let spawned = thread::Builder::new().name("recovery".to_owned()).spawn(move || {
            let _ = tell.send(examine(worker, corpse, orphans, rebooted));
        });
        if spawned.is_err() {
            // The machine lacks something now: the next look finds it again.
            self.under_way.remove(&id);
        }
    }

    /// What was found has been recorded.
    pub(super) fn done(&mut self, remains: &Remains) {
        presence::remove_traces(&self.run_dir, &remains.worker.name);
        self.try_again(remains);
    }

    /// What was found could not be recorded: the next look finds it again.
    pub(super) fn try_again(&mut self, remains: &Remains) {
        self.under_way.remove(&remains.worker.id);
    }

    /// Is a dead worker being dealt with?
    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Where the workers of this database keep their files.
    pub(super) fn run_dir(&self) -> &Path {
        &self.run_dir
    }
}

/// Tells what had begun from what had not, and ends what is left of the former.
fn examine(worker: WorkerRow, corpse: Corpse, orphans: Vec<HeldClaim>, rebooted: bool) -> Remains {
    let mut lost = Vec::new();
    let mut never_started = Vec::new();
    let mut left_of = Vec::new();
    let mut under_way = false;
    for orphan in orphans {
        let record = corpse
            .records
            .iter()
            .filter(|record| (record.job_id, record.number) == (orphan.job_id, orphan.number))
            // A claim that was given back and taken again may stand in two slots.
            .max_by_key(|record| record.started.is_some());
        match record {
            Some(SlotRecord { started: Some((process, at)), .. }) => {
                let message = if rebooted || !process.is_alive() {
                    "its worker died while it was running; the command is gone, nobody saw how it ended"
                } else {
                    "its worker died while it was running; the command was still there, and was ended"
                };
                left_of.push((mark(&worker, &orphan), Some(*process)));
                lost.push(Lost { orphan, started_at: Some(*at), message });
            }
            // A lost table, or a spawn that was under way: nobody can say that it did not start.
            Some(_) => {
                under_way = true;
                left_of.push((mark(&worker, &orphan), None));
                lost.push(Lost {
                    orphan,
                    started_at: None,
                    message: "its worker died; it may not have started",
                });
            }
            None if corpse.never_started(&orphan) => never_started.push(orphan.job_id),
            None => {
                left_of.push((mark(&worker, &orphan), None));
                let message = if rebooted {
                    "the machine was restarted; it may not have started"
                } else {
                    "its worker died; it may not have started"
                };
                lost.push(Lost { orphan, started_at: None, message });
            }
        }
    }
    let left = if rebooted || left_of.is_empty() {
        None // after a restart of the machine nothing is left to end
    } else {
        end(&left_of, if under_way { START_UNDER_WAY } else { Duration::ZERO })
    };
    Remains { worker, lost, never_started, left, _corpse: corpse }
}

fn end(left_of: &[(Mark, Option<Identity>)], at_least: Duration) -> Option<String> {
    let leftovers = process::end_all(left_of, PATIENCE, at_least);
    (!leftovers.is_empty()).then(|| leftovers.to_string())
}

fn mark(worker: &WorkerRow, orphan: &HeldClaim) -> Mark {
    Mark { worker_id: worker.name.clone(), job_id: orphan.job_id, attempt: orphan.number }
}

impl Lost {
    /// The attempt as it is recorded; its end is the end of the recovery.
    pub(super) fn ended(&self, now: Timestamp, roll: f64) -> Ended {
        Ended {
            job_id: self.orphan.job_id,
            number: self.orphan.number,
            ending: Exit::unseen(StopReason::WorkerCrashed),
            report: SelfReport::default(),
            message: Some(self.message.to_owned()),
            started_at: self.started_at,
            finished_at: now,
            duration: None,
            leaked: false,
            output: None,
            roll,
        }
    }
}
