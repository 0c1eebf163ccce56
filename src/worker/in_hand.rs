//! What workers have claimed ahead, for others: to everybody but its worker such a job is still waiting.

use std::collections::BTreeSet;
use std::fs::File;

use super::lock::{self, lock_path};
use super::slot_table;
use crate::process;
use crate::store::{Result, Store, WorkerRow};
use crate::text::Timestamp;

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

/// Gives back what dead workers held and had not begun, as their recovery would: who acts on a waiting job need not wait
/// for that.
pub fn take_from_the_dead(store: &mut Store, clock: &dyn Fn() -> Timestamp) -> Result<()> {
    let boot_id = process::boot_id();
    let run_dir = store.file().run_dir();
    for worker in store.open_workers()? {
        let Some(corpse) = lock::take_dead(&run_dir, &worker, &boot_id) else { continue };
        let held = store.held_by(worker.id)?.into_iter();
        let jobs: Vec<_> = held.filter(|held| corpse.never_started(held)).map(|held| held.job_id).collect();
        if !jobs.is_empty() {
            store.give_back(worker.id, &jobs, clock)?;
        }
    }
    Ok(())
}

/// First the table, then the jobs: what is still held for an attempt of which there was no record had not begun then. The
/// record of an attempt stays until its end is on disk.
fn not_begun(store: &Store, worker: &WorkerRow) -> Result<Vec<i64>> {
    let path = lock_path(&store.file().run_dir(), &worker.name);
    let Some(records) = File::open(path).ok().and_then(|file| slot_table::read(&file)) else {
        return Ok(Vec::new());
    };
    let held = store.held_by(worker.id)?.into_iter();
    Ok(held.filter(|held| !slot_table::names(&records, held)).map(|held| held.job_id).collect())
}
