//! What several of these tests need.

use std::sync::Arc;

use tempfile::TempDir;

use crate::model::{Bytes, Command, Exit, JobSpec, SelfReport, Status, StopReason};
use crate::store::{
    Definitions, Ended, Enqueued, NewJob, Result, Store, StoreFile, Turn, TurnRequest, WorkerRow,
};
use crate::text::{Millis, Timestamp};

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

/// A database with one worker, and a clock that each call sets.
pub(super) struct Scene {
    pub store: Store,
    pub worker: i64,
    definitions: Definitions,
    place: Place,
}

impl Scene {
    pub fn new() -> Self {
        let place = Place::empty();
        let mut store = unsynced(place.open());
        let worker = store.register_worker(&worker_row("w")).unwrap();
        Self { store, worker, definitions: Definitions::default(), place }
    }

    /// Another connection to the database.
    pub fn other(&self) -> Store {
        unsynced(self.place.open())
    }

    pub fn add(&mut self, job: NewJob, at: i64) -> i64 {
        self.store.add(&[job], &|| Timestamp(at)).unwrap()[0].id
    }

    pub fn turn(&mut self, ended: &[Ended], idle_slots: usize, at: i64) -> Turn {
        let request = TurnRequest { worker: self.worker, queues: None, ended, give_back: &[], idle_slots };
        self.store.turn(&mut self.definitions, &request, &|| Timestamp(at)).unwrap()
    }

    /// Claims the next job, which ends like this.
    pub fn run(&mut self, claimed: i64, started: i64, ended: &Ended) {
        let claims = self.turn(&[], 1, claimed).claims;
        assert_eq!((claims[0].job_id, claims[0].number), (ended.job_id, ended.number));
        let took = u64::try_from(ended.finished_at.0 - started).unwrap();
        let duration = ended.duration.map(|_| Millis(took));
        let ended = Ended { started_at: Some(Timestamp(started)), duration, ..ended.clone() };
        let at = ended.finished_at.0;
        self.turn(&[ended], 0, at);
    }

    /// Enqueues a job of this name, which a worker of this name runs and then ends.
    pub fn succeed(&mut self, name: &str, at: i64) {
        let id = self.add(new_job(spec(name)), at);
        self.worker = self.store.register_worker(&worker_row(name)).unwrap();
        self.run(at, at, &exited(id, 1, Timestamp(at + 1_000)));
        self.store.worker_ended(self.worker, Timestamp(at + 2_000)).unwrap();
    }

    /// The first column of this query.
    pub fn column(&self, sql: &str) -> Vec<String> {
        let mut statement = self.store.connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(std::result::Result::unwrap).collect()
    }

    pub fn status(&self, id: i64, at: i64) -> &'static str {
        self.store.job(id, Timestamp(at)).unwrap().unwrap().status()
    }
}

impl Store {
    /// Enqueues without a look at the progress.
    pub fn add(&mut self, jobs: &[NewJob], clock: &dyn Fn() -> Timestamp) -> Result<Vec<Enqueued>> {
        self.enqueue(jobs, clock, &mut |_| {})
    }
}

pub(super) fn spec(name: &str) -> JobSpec {
    JobSpec::new(name, Command::Shell(Bytes::from("true")), Bytes::from("/"))
}

pub(super) fn new_job(spec: JobSpec) -> NewJob {
    NewJob::new(Arc::new(spec))
}

pub(super) fn worker_row(name: &str) -> WorkerRow {
    WorkerRow {
        id: 0,
        name: name.to_owned(),
        db: "/runner.db".into(),
        pid: 1,
        boot_id: "boot".to_owned(),
        start_ticks: 1,
        started_at: Timestamp(1),
        slots: 4,
        queues: None,
        is_stopping: false,
    }
}

/// An attempt that exited with 0 after 10 ms.
pub(super) fn exited(job_id: i64, number: u32, finished_at: Timestamp) -> Ended {
    Ended {
        job_id,
        number,
        exit: Exit::by_itself(Status::Exited(0)),
        report: SelfReport::default(),
        message: None,
        started_at: Some(Timestamp(finished_at.0 - 10)),
        finished_at,
        duration: Some(Millis(10)),
        leaked: false,
        spawn_failure: None,
        output: None,
        roll: 0.5,
    }
}

/// An attempt that exited with 3.
pub(super) fn failed(job_id: i64, number: u32, finished_at: i64) -> Ended {
    Ended { exit: Exit::by_itself(Status::Exited(3)), ..exited(job_id, number, Timestamp(finished_at)) }
}

/// An attempt whose worker died.
pub(super) fn lost(job_id: i64, number: u32, finished_at: Timestamp) -> Ended {
    Ended {
        exit: Exit::unseen(StopReason::WorkerCrashed),
        duration: None,
        started_at: None,
        ..exited(job_id, number, finished_at)
    }
}
