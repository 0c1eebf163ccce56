//! Workers, and whether they live.

use anyhow::Result;

use crate::store::{OpenWorker, Store, WorkerRow};
use crate::worker::{Liveness, liveness};

/// A worker that has neither stopped nor been recovered.
pub struct WorkerStatus {
    pub row: WorkerRow,
    pub liveness: Liveness,
    /// The number of jobs that it holds.
    pub running: u64,
}

impl WorkerStatus {
    /// Does it hold its lock? A suspended worker does.
    pub fn is_alive(&self) -> bool {
        self.liveness != Liveness::Dead
    }

    /// Does it live and look at this queue?
    pub fn takes_from(&self, queue: &str) -> bool {
        let looks = self.row.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue));
        self.is_alive() && looks
    }
}

/// Every open worker as it is now.
pub fn worker_statuses(store: &Store) -> Result<Vec<WorkerStatus>> {
    Ok(look_at(store, store.workers()?))
}

/// Adds to these workers whether they live.
pub fn look_at(store: &Store, workers: Vec<OpenWorker>) -> Vec<WorkerStatus> {
    let run_dir = store.file().run_dir();
    let look =
        |OpenWorker { row, running }| WorkerStatus { liveness: liveness(&run_dir, &row), row, running };
    workers.into_iter().map(look).collect()
}
