//! Looks up which workers are alive.

use anyhow::Result;

use crate::process::is_program_replaced;
use crate::store::{Liveness, Store, Worker, WorkerStatus};
use crate::worker::liveness;

/// Every worker that runs, or that died and was not recovered yet.
pub fn worker_statuses(store: &Store) -> Result<Vec<WorkerStatus>> {
    with_liveness(store, store.open_workers()?)
}

/// Looks at the lock of each worker to tell whether it is alive. One that has ended since its row was read was alive then.
pub fn with_liveness(store: &Store, workers: Vec<Worker>) -> Result<Vec<WorkerStatus>> {
    let status = |row: Worker| {
        let status = WorkerStatus { liveness: liveness(store.file(), &row), is_outdated: false, row };
        WorkerStatus { is_outdated: status.is_alive() && is_program_replaced(status.row.pid), ..status }
    };
    let mut statuses: Vec<_> = workers.into_iter().map(status).collect();
    if statuses.iter().any(|worker| worker.liveness == Liveness::Dead) {
        let open = store.open_workers()?;
        let has_ended = |row: &Worker| open.iter().all(|still| still.id != row.id);
        for worker in &mut statuses {
            if worker.liveness == Liveness::Dead && has_ended(&worker.row) {
                worker.liveness = Liveness::Alive;
            }
        }
    }
    Ok(statuses)
}
