//! Writing the rows of new jobs: one by one, or many with one statement.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use rusqlite::params;

use super::enqueue::{NewJob, pack_args};
use super::tally::Waiting;
use super::writing::Writing;
use super::{Result, definition};
use crate::model::{JobSpec, Timestamp};

/// Jobs in one statement: what a statement costs by itself, the counter of ids first of all, is then paid once.
const ROWS: usize = 32;

/// Values of each job in it, after the time that they share.
const VALUES: usize = 7;

/// Inserts [`ROWS`] jobs.
static INSERT_ROWS: LazyLock<String> = LazyLock::new(|| {
    let row = |index| {
        let [a, b, c, d, e, f, g]: [usize; VALUES] = std::array::from_fn(|value| 2 + index * VALUES + value);
        format!("(?{a}, ?{b}, ?{c}, ?{d}, 'pending', ?{e}, ?1, ?{f}, ?{g}, ?1)")
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    format!(
        "INSERT INTO jobs (definition_id, name, queue, priority, state, args, enqueued_at, run_at, expires_at, changed_at)
         VALUES {}",
        rows.join(", ")
    )
});

/// Has this job neither a key nor an input? Then its row is all there is to it.
pub(super) fn is_plain(job: &NewJob) -> bool {
    job.idempotency_key.is_none() && job.spec.unique_key.is_none() && job.stdin.is_none()
}

/// One transaction's worth of enqueueing.
pub(super) struct Batch<'a> {
    pub connection: &'a Writing<'a>,
    /// Ids of definitions that this batch has met, by the address of the shared definition.
    definitions: HashMap<*const JobSpec, i64>,
    pub now: Timestamp,
}

impl<'a> Batch<'a> {
    pub(super) fn new(connection: &'a Writing, now: Timestamp) -> Self {
        Self { connection, definitions: HashMap::new(), now }
    }

    /// Inserts plain jobs. Gives their ids, which follow each other.
    pub(super) fn insert_rows(&mut self, jobs: &[NewJob; ROWS]) -> Result<RangeInclusive<i64>> {
        let mut statement = self.connection.prepare_cached(&INSERT_ROWS)?;
        statement.raw_bind_parameter(1, self.now.0)?;
        for (index, job) in jobs.iter().enumerate() {
            let spec = &job.spec;
            let (run_at, expires_at) = self.times(job);
            let first = 2 + index * VALUES;
            statement.raw_bind_parameter(first, self.definition(spec)?)?;
            statement.raw_bind_parameter(first + 1, spec.name.as_str())?;
            statement.raw_bind_parameter(first + 2, spec.queue.as_str())?;
            statement.raw_bind_parameter(first + 3, spec.priority)?;
            statement.raw_bind_parameter(first + 4, pack_args(&job.args))?;
            statement.raw_bind_parameter(first + 5, run_at)?;
            statement.raw_bind_parameter(first + 6, expires_at)?;
            self.connection.waits(Waiting { queue: &spec.queue, attempts: 0, run_at, expires_at });
        }
        statement.raw_execute()?;
        let last = self.connection.last_insert_rowid();
        // Nobody else writes meanwhile, and AUTOINCREMENT leaves no gap within a statement.
        let before = i64::try_from(ROWS - 1).unwrap_or(0);
        Ok(last - before..=last)
    }

    /// Inserts one job. Gives its id.
    pub(super) fn insert(&mut self, job: &NewJob) -> Result<i64> {
        let spec = &job.spec;
        let (run_at, expires_at) = self.times(job);
        let definition_id = self.definition(spec)?;
        self.connection
            .prepare_cached(
                "INSERT INTO jobs (definition_id, name, queue, priority, state, args, unique_key, idempotency_key,
                                   enqueued_at, run_at, expires_at, changed_at)
                 VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?8)",
            )?
            .execute(params![
                definition_id,
                spec.name,
                spec.queue,
                spec.priority,
                pack_args(&job.args),
                spec.unique_key,
                job.idempotency_key,
                self.now.0,
                run_at,
                expires_at,
            ])?;
        let id = self.connection.last_insert_rowid();
        self.connection.waits(Waiting { queue: &spec.queue, attempts: 0, run_at, expires_at });
        if let Some(stdin) = &job.stdin {
            self.connection
                .prepare_cached("INSERT INTO inputs (job_id, stdin) VALUES (?1, ?2)")?
                .execute(params![id, stdin])?;
        }
        Ok(id)
    }

    /// When the job is due, and when it expires.
    fn times(&self, job: &NewJob) -> (i64, Option<i64>) {
        let run_at = job.run_at.map_or(self.now, |at| at.max(self.now));
        (run_at.0, job.spec.expires_in.map(|span| run_at.plus(span).0))
    }

    /// The id of this definition's row.
    fn definition(&mut self, spec: &Arc<JobSpec>) -> Result<i64> {
        if let Some(id) = self.definitions.get(&Arc::as_ptr(spec)) {
            return Ok(*id);
        }
        let id = definition::intern(self.connection, spec)?;
        self.definitions.insert(Arc::as_ptr(spec), id);
        Ok(id)
    }
}
