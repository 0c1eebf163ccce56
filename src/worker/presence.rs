//! What a worker keeps on disk while it lives: its row, lock, socket and reports.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use super::lock;
use super::pace::Pace;
use super::slot_table::{SlotTable, Tickets};
use super::{Options, WorkError};
use crate::clock;
use crate::process::{self, Identity};
use crate::store::{Store, WorkerRow};
use crate::wake;

/// A worker that others can see.
#[derive(Debug)]
pub(super) struct Presence {
    pub row: WorkerRow,
    pub table: SlotTable,
    pub tickets: Tickets,
    pub reports: PathBuf,
    run_dir: PathBuf,
}

impl Presence {
    /// Takes the lock first and adds the row last: whoever sees the row can rely on the lock.
    pub(super) fn establish(store: &mut Store, options: &Options) -> Result<(Self, UnixDatagram), WorkError> {
        let failed = |error| WorkError::Io("set up the run directory beside the database", error);
        let run_dir = store.file().make_run_dir()?;
        let pid = std::process::id().cast_signed();
        let mut row = WorkerRow {
            id: 0,
            name: format!("{:016x}", rand::random::<u64>()),
            pid,
            boot_id: process::boot_id(),
            start_ticks: Identity::of(pid).map_or(0, |process| process.start_ticks),
            started_at: clock::now(),
            slots: options.slots,
            queues: options.queues.clone(),
        };
        // Claims of one turn get their records before those of the turn before are free.
        let records = 2 * (options.slots + Pace::most_ahead(options.slots));
        let file = lock::create(&run_dir, &row.name, records).map_err(failed)?;
        let reports = reports_dir(&run_dir, &row.name);
        let bound =
            DirBuilder::new().mode(0o700).create(&reports).and_then(|()| wake::bind(&run_dir, &row.name));
        let registered = bound.map_err(failed).and_then(|socket| Ok((socket, store.register_worker(&row)?)));
        match registered {
            Ok((socket, id)) => {
                row.id = id;
                let (table, tickets) = (SlotTable::new(file), Tickets::new(records));
                Ok((Self { row, table, tickets, reports, run_dir }, socket))
            }
            Err(error) => {
                // Without a row nobody would ever tidy up after it.
                remove_traces(&run_dir, &row.name);
                Err(error)
            }
        }
    }

    /// Leaves nothing behind but the closed row.
    pub(super) fn give_up(self, store: &mut Store) -> Result<(), WorkError> {
        store.worker_ended(self.row.id, clock::now())?;
        remove_traces(&self.run_dir, &self.row.name);
        Ok(())
    }
}

/// Removes the files of a worker that has stopped or was recovered. What cannot be removed does no harm.
pub(super) fn remove_traces(run_dir: &Path, worker: &str) {
    let _ = fs::remove_dir_all(reports_dir(run_dir, worker));
    let _ = fs::remove_file(wake::socket_path(run_dir, worker));
    let _ = fs::remove_file(lock::lock_path(run_dir, worker));
}

fn reports_dir(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.reports"))
}
