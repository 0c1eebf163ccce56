//! Files with many jobs in them, made through the library.

use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use runner::clock;
use runner::model::{Bytes, Command, JobSpec, RetryPolicy};
use runner::store::{NewJob, OnConflict, Store, StoreFile, WorkerRow};
use runner::text::Millis;
use rusqlite::{Connection, params};

use crate::sample::float;

/// What the many are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Due.
    Waiting,
    /// Due next year.
    Scheduled,
    /// Succeeded, with an attempt each.
    Finished,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Scheduled => "scheduled",
            Self::Finished => "finished",
        }
    }
}

/// How many jobs go into one transaction.
const CHUNK: usize = 100_000;

/// Opens a database, and creates it where there is none.
pub fn open(db: &Path) -> anyhow::Result<Store> {
    Ok(Store::open_or_create(StoreFile::new(db)?)?)
}

/// A job that runs this once.
pub fn job(argv: &[&str], cwd: &Path) -> NewJob {
    let words = argv.iter().map(|word| Bytes::from(*word)).collect();
    let mut spec = JobSpec::new("job", Command::Argv(words), Bytes::from(cwd.as_os_str()));
    spec.policy = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    NewJob {
        spec: Arc::new(spec),
        args: Vec::new(),
        stdin: None,
        run_at: None,
        idempotency_key: None,
        on_conflict: OnConflict::default(),
    }
}

/// Adds so many jobs.
pub fn add(store: &mut Store, kind: Kind, jobs: usize) -> anyhow::Result<()> {
    let mut job = job(&["/bin/true"], Path::new("/"));
    if kind == Kind::Scheduled {
        job.run_at = Some(clock::now().plus(Millis::from_secs(365 * 86_400)));
    }
    let mut left = jobs;
    while left > 0 {
        let some = vec![job.clone(); left.min(CHUNK)];
        let first = store.enqueue(&some, &clock::now)?.first().map_or(0, |job| job.id);
        if kind == Kind::Finished {
            finish(store, first, some.len())?;
        }
        left -= some.len();
    }
    Ok(())
}

/// Adds a row for a worker, whose id a claim needs.
pub fn add_worker(store: &mut Store) -> anyhow::Result<i64> {
    let worker = WorkerRow {
        id: 0,
        name: format!("bench-{}", clock::now().0),
        pid: i32::try_from(std::process::id())?,
        boot_id: String::new(),
        start_ticks: 0,
        started_at: clock::now(),
        slots: 1,
        queues: None,
    };
    Ok(store.register_worker(&worker)?)
}

/// Moves jobs through their states as a worker does, but many in a statement. All triggers of the schema watch.
fn finish(store: &mut Store, first: i64, jobs: usize) -> anyhow::Result<()> {
    let worker = add_worker(store)?;
    let mut connection = Connection::open(store.file().path())?;
    // Only what is measured later has to be durable.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")?;
    let (last, now) = (first + i64::try_from(jobs)? - 1, clock::now().0);
    let transaction = connection.transaction()?;
    for sql in [
        "UPDATE jobs SET state = 'running', worker_id = ?3, changed_at = ?4 WHERE id BETWEEN ?1 AND ?2",
        "INSERT INTO attempts (job_id, number, budget_number, outcome, exit_code, worker_id, started_at, finished_at,
                               duration_ms, leaked, next_state)
         SELECT id, 1, 1, 'succeeded', 0, ?3, ?4, ?4, 1, 0, 'succeeded' FROM jobs WHERE id BETWEEN ?1 AND ?2",
        "UPDATE jobs SET state = 'succeeded', worker_id = NULL, attempts = 1, budget_used = 1, changed_at = ?4,
                         started_at = ?4
         WHERE id BETWEEN ?1 AND ?2 AND worker_id = ?3",
    ] {
        let changed = transaction.execute(sql, params![first, last, worker, now])?;
        ensure!(changed == jobs, "{changed} of {jobs} jobs were changed");
    }
    transaction.execute("UPDATE workers SET ended_at = ?2 WHERE id = ?1", params![worker, now])?;
    Ok(transaction.commit()?)
}

/// A number as people say it.
pub fn said(jobs: usize) -> String {
    match jobs {
        1_000_000.. => format!("{} M", float(jobs) / 1e6),
        1_000.. => format!("{} k", float(jobs) / 1e3),
        _ => jobs.to_string(),
    }
}
