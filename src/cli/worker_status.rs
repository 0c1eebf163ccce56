//! Workers and their liveness.

use anyhow::Result;

use crate::store::{JobRow, OpenWorker, Store, WorkerRow};
use crate::worker::{Liveness, liveness};

/// A worker that has neither stopped nor been recovered.
pub struct WorkerStatus {
    pub row: WorkerRow,
    pub liveness: Liveness,
    /// The number of jobs that the worker holds.
    pub running: u64,
}

impl WorkerStatus {
    /// Does the worker hold its lock? A suspended worker does.
    pub fn is_alive(&self) -> bool {
        matches!(self.liveness, Liveness::Alive | Liveness::Suspended)
    }

    /// Does the worker start jobs now?
    pub fn takes_jobs(&self) -> bool {
        self.liveness == Liveness::Alive && !self.row.is_stopping
    }

    /// Does the worker start jobs of this queue now?
    pub fn takes_from(&self, queue: &str) -> bool {
        self.takes_jobs() && self.serves(queue)
    }

    /// Is the worker alive, and are the jobs of this queue among its own?
    pub fn serves(&self, queue: &str) -> bool {
        let selects = self.row.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue));
        self.is_alive() && selects
    }
}

/// The worker that holds a running job.
pub fn holder<'a>(job: &JobRow, workers: &'a [WorkerStatus]) -> Option<&'a WorkerStatus> {
    workers.iter().find(|worker| job.worker_id.as_ref() == Some(&worker.row.name))
}

/// Every open worker as it is now.
pub fn worker_statuses(store: &Store) -> Result<Vec<WorkerStatus>> {
    Ok(with_liveness(store, store.workers()?))
}

/// Adds its liveness to each worker.
pub fn with_liveness(store: &Store, workers: Vec<OpenWorker>) -> Vec<WorkerStatus> {
    let status =
        |OpenWorker { row, running }| WorkerStatus { liveness: liveness(store.file(), &row), row, running };
    workers.into_iter().map(status).collect()
}
