//! Attempts: those of one job, and lists of them.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::filter::{Conditions, Filter};
use crate::model::{Attempt, DeadReason, JobDefinition, MemoryPeak, ResourceUsage, Status};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{self, all, from_row, maybe};
use crate::store::write::definition;

/// An ended attempt in a list.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    pub attempt: Attempt,
    /// The name of the job.
    pub name: String,
    /// See [`JobDefinition::shown_label`].
    pub label: Option<String>,
    /// The attempts in the budget of the job.
    pub max_attempts: u32,
}

impl Store {
    /// The ended attempts that match, the newest first, at most `limit`. The rows are read one by one as they are asked
    /// for, because one long read would hold up checkpoints.
    pub fn attempts(
        &self,
        filter: &Filter,
        limit: usize,
    ) -> Result<impl Iterator<Item = Result<AttemptRow>>> {
        let ids = self.autocommit(|tx| find(tx, filter, limit))?;
        let sql = format!(
            "SELECT {COLUMNS}, j.label, j.args_nul, j.needs_version, d.definition FROM {TABLES} JOIN jobs AS j ON j.id = a.job_id
             JOIN job_definitions AS d ON d.id = j.definition_id WHERE a.job_id = ?1 AND a.number = ?2"
        );
        let read = move |(job_id, number)| {
            let row = |row: &Row<'_>| {
                let definition: JobDefinition = definition::read(row, "definition")?;
                let (attempt, label) = (read_attempt(row)?, definition::shown_label(row, &definition)?);
                let max_attempts = definition.policy.max_attempts();
                Ok(AttemptRow { attempt, name: definition.name, label, max_attempts })
            };
            self.autocommit(|tx| maybe(tx, &sql, params![job_id, number], row)).transpose()
        };
        Ok(ids.into_iter().filter_map(read))
    }

    /// The newest `limit` attempts of a job, oldest first.
    pub fn history(&self, job_id: i64, limit: usize) -> Result<Vec<Attempt>> {
        let sql =
            format!("SELECT {COLUMNS} FROM {TABLES} WHERE a.job_id = ?1 ORDER BY a.number DESC LIMIT ?2");
        let mut attempts = self.read(|tx| all(tx, &sql, params![job_id, limit], read_attempt))?;
        attempts.reverse();
        Ok(attempts)
    }

    /// One ended attempt.
    pub fn attempt(&self, job_id: i64, number: u32) -> Result<Option<Attempt>> {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE a.job_id = ?1 AND a.number = ?2");
        self.read(|tx| maybe(tx, &sql, params![job_id, number], read_attempt))
    }
}

/// The ids of the attempts that match, the newest first: by a walk over the index by time, or of all jobs with a label.
fn find(tx: &Connection, filter: &Filter, limit: usize) -> Result<Vec<(i64, u32)>> {
    let wanted = conditions(filter);
    let tables = if filter.has_label() {
        "jobs AS j INDEXED BY jobs_by_label CROSS JOIN attempts AS a"
    } else if is_about_job(filter) {
        "attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j"
    } else {
        "attempts AS a INDEXED BY attempts_by_time"
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT a.job_id, a.number FROM {tables} WHERE {}
         ORDER BY a.finished_at DESC, a.job_id DESC, a.number DESC LIMIT {limit}",
        wanted.sql
    );
    let read = |row: &Row<'_>| Ok((row.get("job_id")?, row.get("number")?));
    all(tx, &sql, params_from_iter(&wanted.values), read)
}

fn is_about_job(filter: &Filter) -> bool {
    filter.name.is_some() || filter.queue.is_some() || filter.label.is_some()
}

/// The whole filter as conditions on `attempts AS a` and, if it is about the job, too, `jobs AS j`.
fn conditions(filter: &Filter) -> Conditions {
    let mut wanted = Conditions::new(Value::from(0));
    if !filter.outcomes.is_empty() {
        let any: Vec<_> = filter.outcomes.iter().map(|outcome| format!("'{outcome}'")).collect();
        wanted.and_sql(&format!("a.outcome IN ({})", any.join(", ")));
    }
    if is_about_job(filter) {
        wanted.and_sql("j.id = a.job_id");
    }
    wanted.and_text("j.name", filter.name.as_ref());
    wanted.and_text("j.queue", filter.queue.as_ref());
    wanted.and_label("j.label", filter.label.as_ref());
    wanted.and_text("a.error_code", filter.error_code.as_ref());
    wanted.and_period("a.finished_at", filter);
    wanted
}

const TABLES: &str = "attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id";

/// The columns of [`TABLES`] that [`read_attempt`] takes.
const COLUMNS: &str = "a.job_id, a.number, a.outcome, a.error_code, a.exit_code, a.signal, a.message,
    w.name AS worker_name, a.started_at, a.finished_at, a.duration_ms, a.attempt_in_budget, a.next_state,
    a.dead_reason, a.nominal_delay_ms, a.delay_ms, a.output_held_open, a.spawn_failure, a.cpu_ms, a.max_rss_bytes,
    a.max_rss_bound_bytes, a.warning";

/// Damaged rows of ended attempts, looked for as [`super::jobs::damaged`] does it.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let unchecked = "SELECT 'attempt ' || number || ' of job ' || job_id AS which, job_id, error_code, message, dead_reason,
                            number, attempt_in_budget, exit_code, signal, warning FROM attempts";
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE a.job_id = ?1 AND a.number = ?2");
    row::damaged(tx, unchecked, [], limit, |row| {
        row.get::<_, Option<DeadReason>>("dead_reason")?;
        if row::is_plain(row)? {
            return Ok(());
        }
        let (job, number): (i64, i64) = (row.get("job_id")?, row.get("number")?);
        maybe(tx, &sql, [job, number], read_attempt).map(|_| ())
    })
}

fn read_attempt(row: &Row<'_>) -> Result<Attempt> {
    let exit = row.get::<_, Option<i32>>("exit_code")?.map(Status::Exited);
    let signal = row.get::<_, Option<i32>>("signal")?.map(Status::Signaled);
    Ok(from_row!(
        row,
        Attempt {
            job_id,
            number,
            outcome,
            error_code,
            warning,
            status: exit.or(signal),
            message,
            worker_id: row.get("worker_name")?,
            started_at,
            finished_at,
            duration: row.get("duration_ms")?,
            attempt_in_budget,
            next_state,
            dead_reason,
            nominal_delay: row.get("nominal_delay_ms")?,
            delay: row.get("delay_ms")?,
            usage: read_usage(row)?,
            output_held_open,
            spawn_failure,
        }
    ))
}

pub(super) fn read_usage(row: &Row<'_>) -> Result<Option<ResourceUsage>> {
    let Some(cpu) = row.get("cpu_ms")? else { return Ok(None) };
    let bound: Option<u64> = row.get("max_rss_bound_bytes")?;
    let bytes = bound.or(row.get("max_rss_bytes")?).unwrap_or_default();
    Ok(Some(ResourceUsage { cpu, memory: MemoryPeak { bytes, is_bound: bound.is_some() } }))
}
