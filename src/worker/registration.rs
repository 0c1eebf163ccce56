//! The traces of a living worker on disk: its row, lock file, socket and reports folder.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Options;
use super::lock;
use super::start_log::StartLog;
use crate::clock;
use crate::process::{self, Identity};
use crate::store::{Store, WorkerRow};
use crate::wake;

#[derive(Debug)]
pub(super) struct Registration {
    pub row: WorkerRow,
    pub start_log: StartLog,
    pub reports: PathBuf,
    run_dir: PathBuf,
}

impl Registration {
    /// Takes the lock first and adds the row last, so that a row always has a lock.
    pub(super) fn new(store: &mut Store, options: &Options) -> Result<(Self, UnixDatagram)> {
        const TASK: &str = "could not set up the run directory beside the database";
        let run_dir = store.file().make_run_dir()?;
        let pid = std::process::id().cast_signed();
        let mut row = WorkerRow {
            id: 0,
            name: format!("{:016x}", rand::random::<u64>()),
            db: store.file().path().to_owned(),
            pid,
            boot_id: process::boot_id(),
            start_ticks: Identity::of(pid).map_or(0, |process| process.start_ticks),
            started_at: clock::now(),
            slots: options.slots,
            queues: options.queues.clone(),
            is_stopping: false,
        };
        let file = lock::create(&run_dir, &row.name, options.slots).context(TASK)?;
        let reports = reports_dir(&run_dir, &row.name);
        let bound =
            DirBuilder::new().mode(0o700).create(&reports).and_then(|()| wake::bind(&run_dir, &row.name));
        let registered = bound.context(TASK).and_then(|socket| Ok((socket, store.register_worker(&row)?)));
        match registered {
            Ok((socket, id)) => {
                row.id = id;
                Ok((Self { row, start_log: StartLog::new(file), reports, run_dir }, socket))
            }
            Err(error) => {
                // Without a row no recovery would ever remove these.
                remove_files(&run_dir, &row.name);
                Err(error)
            }
        }
    }

    /// Closes the row and removes the files.
    pub(super) fn end(self, store: &mut Store) -> Result<()> {
        store.worker_ended(self.row.id, clock::now())?;
        remove_files(&self.run_dir, &self.row.name);
        Ok(())
    }
}

/// Removes the files of a worker that has stopped or was recovered. A file that stays does no harm.
pub(super) fn remove_files(run_dir: &Path, worker: &str) {
    let _ = fs::remove_dir_all(reports_dir(run_dir, worker));
    let _ = fs::remove_file(wake::socket_path(run_dir, worker));
    let _ = fs::remove_file(lock::lock_path(run_dir, worker));
}

fn reports_dir(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.reports"))
}
