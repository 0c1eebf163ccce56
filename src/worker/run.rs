//! A `run`: the worker for one job, with what that depends on and the alerts of their deaths. It takes no other job and fires
//! no schedule.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::registration::liveness;
use crate::process::PassOn;
use crate::store::{Liveness, Store, Worker};

/// How long a `run` waits for another process to recover a dead `run`, which may have left the job that it is called for.
const RECOVERY_WAIT: Duration = Duration::from_secs(3);

/// What the caller of a `run` does while it works.
pub trait RunTask {
    /// Puts the job on disk for the worker with this row id, and gives its id; none if there is nothing to run.
    fn start(&mut self, store: &mut Store, worker: i64) -> Option<i64>;

    /// Is called whenever an attempt of the job has started.
    fn on_start(&mut self);

    /// Is called whenever something may have changed. False if it makes no sense to wait for the job any longer.
    fn look(&mut self, store: &Store, job: i64) -> bool;

    /// Takes on what the job waits for and nobody else would start any more. True if there is something.
    fn take_on(&mut self, store: &mut Store) -> bool;

    /// Whether another job may come after the one that was started.
    fn has_more(&self) -> bool;

    /// Whether the job that has ended was only the first of two: then [`RunTask::start`] is called again.
    fn goes_on(&mut self, store: &Store) -> bool;
}

/// How far a `run` has come.
pub(super) struct Run<'a> {
    pub task: &'a mut dyn RunTask,
    /// Where the output of the jobs goes, besides the store.
    pub pass_on: Option<Arc<PassOn>>,
    pub has_started: bool,
    /// The job that it was called for, once it is on disk.
    pub job: Option<i64>,
    /// The task waits for the job no longer.
    pub gave_up: bool,
    began: Instant,
}

impl<'a> Run<'a> {
    pub(super) fn new(task: &'a mut dyn RunTask, pass_on: Option<Arc<PassOn>>) -> Self {
        Self { task, pass_on, has_started: false, job: None, gave_up: false, began: Instant::now() }
    }

    /// Lets the task put its job on disk, for the worker with this row id.
    pub(super) fn start(&mut self, store: &mut Store, worker: i64) {
        self.job = self.task.start(store, worker);
        self.has_started = true;
    }

    /// Whether another process may be recovering a dead `run` now.
    pub(super) fn waits_for_another_recovery(&self, store: &Store) -> Result<bool> {
        let is_dead = |worker: &Worker| {
            worker.is_foreground()
                && worker.leftover_since.is_none()
                && liveness(store.file(), worker) == Liveness::Dead
        };
        Ok(self.began.elapsed() < RECOVERY_WAIT && store.open_workers()?.iter().any(is_dead))
    }
}
