//! Writing the rows of new jobs: one by one, or many with one statement.
//!
//! `OR ROLLBACK`: what fails ends the whole transaction, so that SQLite need not keep a journal of each statement.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::params;

use super::enqueue::{NewJob, pack_args};
use super::{Result, definition};
use crate::model::JobSpec;
use crate::text::Timestamp;

/// Jobs in one statement: what a statement costs by itself, the counter of ids first of all, is then paid once.
const ROWS: usize = 32;

/// Parameters of a job in it, which begin with the second; the first is the time that all share.
const VALUES: usize = 7;

/// Inserts [`ROWS`] jobs.
static INSERT_ROWS: LazyLock<String> =
    LazyLock::new(|| insert_rows(|row| [2 + row * VALUES, 8 + row * VALUES]));

/// Inserts [`ROWS`] jobs that differ in their arguments at most.
static INSERT_ALIKE: LazyLock<String> = LazyLock::new(|| insert_rows(|row| [2, 8 + row]));

/// SQL with these parameters for each row: the first of those of its job, and its arguments.
fn insert_rows(parameters: fn(usize) -> [usize; 2]) -> String {
    let row = |index| {
        let [job, args] = parameters(index);
        let [name, queue, priority, run_at, expires_at] = [1, 2, 3, 4, 5].map(|value| job + value);
        format!(
            "(?{job}, ?{name}, ?{queue}, ?{priority}, 'pending', ?{args}, ?1, ?{run_at}, ?{expires_at}, ?1)"
        )
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    format!(
        "INSERT OR ROLLBACK INTO jobs (definition_id, name, queue, priority, state, args, enqueued_at, run_at, expires_at,
                                       changed_at)
         VALUES {}",
        rows.join(", ")
    )
}

/// Has this job neither a key nor an input? Then its row is all there is to it.
pub(super) fn is_plain(job: &NewJob) -> bool {
    job.idempotency_key.is_none() && job.spec.unique_key.is_none() && job.stdin.is_none()
}

/// While this lives, the connection runs no triggers.
pub(super) struct NoTriggers<'a>(&'a Connection);

impl<'a> NoTriggers<'a> {
    fn on(connection: &'a Connection) -> Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        Ok(Self(connection))
    }
}

impl Drop for NoTriggers<'_> {
    fn drop(&mut self) {
        let _ = self.0.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true);
    }
}

/// One transaction's worth of enqueueing.
pub(super) struct Batch<'a> {
    pub connection: &'a Connection,
    /// Ids of definitions that this batch has met, by the address of the shared definition.
    definitions: HashMap<*const JobSpec, i64>,
    pub now: Timestamp,
}

impl<'a> Batch<'a> {
    pub(super) fn new(connection: &'a Connection, now: Timestamp) -> Self {
        Self { connection, definitions: HashMap::new(), now }
    }

    /// Spares these jobs the triggers, where all are plain; until what it gives is dropped.
    ///
    /// What triggers refuse of a new row is an id or a key that is taken, and a job that does not start waiting. A plain
    /// job is given its id by SQLite and has no key, and the statements say themselves that it waits. With triggers, SQLite
    /// translates them for each statement that is prepared, and copies each row twice before it inserts it: of many jobs a
    /// third of the whole effort, of one job a tenth.
    pub(super) fn spare_triggers(&self, jobs: &[NewJob]) -> Result<Option<NoTriggers<'a>>> {
        jobs.iter().all(is_plain).then(|| NoTriggers::on(self.connection)).transpose()
    }

    /// Inserts plain jobs. Gives their ids, which follow each other.
    pub(super) fn insert_rows(&mut self, jobs: &[NewJob; ROWS]) -> Result<RangeInclusive<i64>> {
        let first = &jobs[0];
        let alike = jobs.iter().all(|job| Arc::ptr_eq(&job.spec, &first.spec) && job.run_at == first.run_at);
        let (sql, step) = if alike { (&INSERT_ALIKE, 1) } else { (&INSERT_ROWS, VALUES) };
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.raw_bind_parameter(1, self.now.0)?;
        for (index, job) in jobs.iter().enumerate() {
            let spec = &job.spec;
            let (run_at, expires_at) = self.times(job);
            if index == 0 || !alike {
                let at = 2 + index * step;
                statement.raw_bind_parameter(at, self.definition(spec)?)?;
                statement.raw_bind_parameter(at + 1, spec.name.as_str())?;
                statement.raw_bind_parameter(at + 2, spec.queue.as_str())?;
                statement.raw_bind_parameter(at + 3, spec.priority)?;
                statement.raw_bind_parameter(at + 4, run_at)?;
                statement.raw_bind_parameter(at + 5, expires_at)?;
            }
            statement.raw_bind_parameter(8 + index * step, pack_args(&job.args))?;
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
                "INSERT OR ROLLBACK INTO jobs (definition_id, name, queue, priority, state, args, unique_key,
                                               idempotency_key, enqueued_at, run_at, expires_at, changed_at)
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
