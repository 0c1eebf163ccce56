//! What workers have claimed ahead, for onlookers: to everybody but its worker such a job is still waiting.

use std::collections::BTreeSet;
use std::fs::File;

use super::lock::lock_path;
use super::slot_table;
use crate::process;
use crate::store::{Result, Store, WorkerRow};

/// The jobs that a worker holds and has not begun.
pub fn in_hand(store: &Store) -> Result<BTreeSet<i64>> {
    let boot_id = process::boot_id();
    let mut jobs = BTreeSet::new();
    for worker in store.open_workers()? {
        if worker.boot_id == boot_id {
            jobs.extend(not_begun(store, &worker)?);
        }
    }
    Ok(jobs)
}

/// First the table, then the jobs: what is still held for an attempt of which there was no record had not begun then. The
/// record of an attempt stays until its end is on disk.
fn not_begun(store: &Store, worker: &WorkerRow) -> Result<Vec<i64>> {
    let path = lock_path(&store.file().run_dir(), &worker.name);
    let Some(records) = File::open(path).ok().and_then(|file| slot_table::read(&file)) else {
        return Ok(Vec::new());
    };
    let has_begun = |job_id, number| records.iter().any(|it| (it.job_id, it.number) == (job_id, number));
    let held = store.held_by(worker.id)?.into_iter();
    Ok(held.filter(|held| !has_begun(held.job_id, held.number)).map(|held| held.job_id).collect())
}
