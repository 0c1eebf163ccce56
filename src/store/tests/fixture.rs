//! What several of these tests need.

use std::sync::Arc;

use tempfile::TempDir;

use crate::model::{Bytes, Command, Exit, JobSpec, SelfReport, Status, StopReason};
use crate::store::{Ended, Enqueued, NewJob, OnConflict, Result, Store, StoreFile, WorkerRow};
use crate::text::Timestamp;

/// A folder with a database in it, both gone at the end.
pub(super) struct Place {
    pub dir: TempDir,
    pub file: StoreFile,
}

impl Place {
    /// A folder in which there is no database yet.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = StoreFile::new(&dir.path().join("runner.db")).unwrap();
        Self { dir, file }
    }

    /// Opens its database, and creates it first.
    pub fn open(&self) -> Store {
        Store::open_or_create(self.file.clone()).unwrap()
    }
}

/// Without syncs: for tests of what is written, not of what survives.
pub(super) fn unsynced(store: Store) -> Store {
    store.connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    store
}

pub(super) fn spec(name: &str) -> JobSpec {
    JobSpec::new(name, Command::Shell(Bytes::from("true")), Bytes::from("/"))
}

pub(super) fn new_job(spec: JobSpec) -> NewJob {
    NewJob {
        spec: Arc::new(spec),
        args: Vec::new(),
        stdin: None,
        run_at: None,
        idempotency_key: None,
        on_conflict: OnConflict::Skip,
    }
}

pub(super) fn worker_row(name: &str) -> WorkerRow {
    WorkerRow {
        id: 0,
        name: name.to_owned(),
        pid: 1,
        boot_id: "boot".to_owned(),
        start_ticks: 1,
        started_at: Timestamp(1),
        slots: 4,
        queues: None,
    }
}

/// An attempt that exited with 0 after 10 ms.
pub(super) fn exited(job_id: i64, number: u32, finished_at: Timestamp) -> Ended {
    Ended {
        job_id,
        number,
        ending: Exit::by_itself(Status::Exited(0)),
        report: SelfReport::default(),
        message: None,
        started_at: Some(Timestamp(finished_at.0 - 10)),
        finished_at,
        duration: Some(crate::text::Millis(10)),
        leaked: false,
        output: None,
        roll: 0.5,
    }
}

/// An attempt whose worker died.
pub(super) fn lost(job_id: i64, number: u32, finished_at: Timestamp) -> Ended {
    Ended {
        ending: Exit::unseen(StopReason::WorkerCrashed),
        duration: None,
        started_at: None,
        ..exited(job_id, number, finished_at)
    }
}

impl Store {
    /// Enqueues without a look at the progress.
    pub fn add(&mut self, jobs: &[NewJob], clock: &dyn Fn() -> Timestamp) -> Result<Vec<Enqueued>> {
        self.enqueue(jobs, clock, &mut |_| {})
    }
}
