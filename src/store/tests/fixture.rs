//! A database in a folder of its own, a worker, and ended attempts, for the tests of the store.

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use crate::model::{AttemptEnd, Bytes, Command, EndCause, JobDefinition, Status};
use crate::store::file::version::Version;
use crate::store::{
    DefinitionCache, Due, EndedAttempt, Enqueued, JobChange, NewJob, Result, Store, StoreFile, Turn,
    TurnRequest, Worker,
};
use crate::text::{Millis, Timestamp};

/// A folder with a database in it, both gone at the end.
pub(super) struct Place {
    _dir: TempDir,
    pub file: StoreFile,
}

impl Place {
    /// A folder in which there is no database yet.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = StoreFile::new(&dir.path().join("runner.db")).unwrap();
        Self { _dir: dir, file }
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
    definitions: DefinitionCache,
    place: Place,
}

impl Scene {
    pub fn new() -> Self {
        let place = Place::empty();
        let mut store = unsynced(place.open());
        let worker = store.register_worker(&worker_row("w")).unwrap();
        Self { store, worker, definitions: DefinitionCache::default(), place }
    }

    /// Another connection to the database.
    pub fn other(&self) -> Store {
        unsynced(self.place.open())
    }

    /// A path in the folder of the database.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.file.path().with_file_name(name)
    }

    pub fn add(&mut self, job: NewJob, at: i64) -> i64 {
        self.store.at(Timestamp(at)).add(&[job]).unwrap()[0].id
    }

    pub fn turn(&mut self, ended: &[EndedAttempt], idle_slots: usize, at: i64) -> Turn {
        let request = TurnRequest { ended, idle_slots, ..TurnRequest::of(self.worker) };
        self.store.at(Timestamp(at)).turn(&mut self.definitions, &request).unwrap()
    }

    /// Claims the next job, which ends like this.
    pub fn run(&mut self, claimed: i64, started: i64, ended: &EndedAttempt) {
        let claims = self.turn(&[], 1, claimed).claims;
        assert_eq!((claims[0].job_id, claims[0].number), (ended.job_id, ended.number));
        let mut ended = ended.clone();
        let at = ended.end.finished_at.0;
        ended.end.started_at = Some(Timestamp(started));
        ended.end.duration = ended.end.duration.map(|_| Millis(u64::try_from(at - started).unwrap()));
        self.turn(&[ended], 0, at);
    }

    /// Enqueues a job of this name, which a worker of this name runs and then ends.
    pub fn succeed(&mut self, name: &str, at: i64) {
        let id = self.add(new_job(definition(name)), at);
        self.worker = self.store.register_worker(&worker_row(name)).unwrap();
        self.run(at, at, &exited(id, 1, Timestamp(at + 1_000)));
        self.store.at(Timestamp(at + 2_000)).worker_ended(self.worker).unwrap();
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
    pub fn add(&mut self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        self.enqueue(jobs, &mut |_| {})
    }
}

pub(super) fn definition(name: &str) -> JobDefinition {
    JobDefinition::new(name, Command::Shell(Bytes::from("true")), Bytes::from("/"))
}

pub(super) fn new_job(definition: JobDefinition) -> NewJob {
    NewJob::new(Arc::new(definition))
}

/// The row of a worker whose id is this short name in hexadecimal digits.
pub(super) fn worker_row(name: &str) -> Worker {
    let digits = name.bytes().fold(0, |digits, byte| digits << 8 | u64::from(byte));
    Worker {
        id: 0,
        name: format!("{digits:016x}"),
        mark: mark_of(&format!("{digits:016x}")),
        db: "/runner.db".into(),
        db_file: None,
        pid: 1,
        boot_id: "boot".to_owned(),
        start_ticks: 1,
        started_at: Timestamp(1),
        slots: 4,
        version: Version::FIRST,
        queues: None,
        leftover_since: None,
        run_job_id: None,
        is_stopping: false,
        running: 0,
    }
}

/// The mark of the worker with this id.
pub(super) fn mark_of(worker_id: &str) -> String {
    format!("mark-{worker_id}")
}

fn ended(job_id: i64, number: u32, end: AttemptEnd) -> EndedAttempt {
    EndedAttempt { job_id, number, jitter_sample: 0.5, end }
}

fn exited_with(job_id: i64, number: u32, status: i32, finished_at: Timestamp) -> EndedAttempt {
    let end = AttemptEnd {
        started_at: Some(Timestamp(finished_at.0 - 10)),
        duration: Some(Millis(10)),
        ..AttemptEnd::by_itself(Status::Exited(status), finished_at)
    };
    ended(job_id, number, end)
}

/// An attempt that exited with 0 after 10 ms.
pub(super) fn exited(job_id: i64, number: u32, finished_at: Timestamp) -> EndedAttempt {
    exited_with(job_id, number, 0, finished_at)
}

/// An attempt that exited with 3.
pub(super) fn failed(job_id: i64, number: u32, finished_at: i64) -> EndedAttempt {
    exited_with(job_id, number, 3, Timestamp(finished_at))
}

/// An attempt whose worker died.
pub(super) fn lost(job_id: i64, number: u32, finished_at: Timestamp) -> EndedAttempt {
    ended(job_id, number, AttemptEnd::unseen(EndCause::WorkerCrashed, finished_at))
}

/// A change that makes a job due at this time, or now if that has passed.
pub fn due_at(at: Timestamp) -> JobChange {
    JobChange { due: Some(Due::At(at)), ..JobChange::default() }
}
