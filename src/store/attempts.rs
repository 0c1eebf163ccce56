//! Lists of attempts, newest first, a page at a time; and the attempts of one job.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::definition;
use super::error::{Result, StoreError};
use super::filter::{Conditions, Filter};
use super::open::Store;
use crate::model::{Attempt, DeadReason, ErrorCode, JobState, Outcome, SpawnFailure, Status};
use crate::text::{Millis, Timestamp};

/// An ended attempt in a list.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    pub attempt: Attempt,
    /// The name of the job.
    pub name: String,
    /// The runs in the budget of the job.
    pub runs: u32,
}

/// The place of an attempt in a list: when it ended, its job, its number. The next page comes after the last place.
pub type AttemptCursor = (Timestamp, i64, u32);

impl Store {
    /// Up to `limit` ended attempts after `last`, newest first, and where the next page begins; none after the last page.
    pub fn attempts_page(
        &self,
        filter: &Filter,
        last: Option<AttemptCursor>,
        limit: usize,
    ) -> Result<(Vec<AttemptRow>, Option<AttemptCursor>)> {
        self.read(|tx| {
            let page = find(tx, filter, last, limit)?;
            if page.iter().any(|place| last.is_some_and(|last| *place >= last)) {
                return Err(StoreError::contradiction("an index of attempts is out of order"));
            }
            let mut read = tx.prepare_cached(&format!(
                "SELECT {COLUMNS}, j.name, d.spec FROM {TABLES} JOIN jobs AS j ON j.id = a.job_id
                 JOIN definitions AS d ON d.id = j.definition_id WHERE a.job_id = ?1 AND a.number = ?2"
            ))?;
            let mut attempts = Vec::with_capacity(page.len());
            for (_, job_id, number) in &page {
                let mut rows = read.query(params![job_id, number])?;
                let Some(row) = rows.next()? else { continue };
                let definition: String = row.get("spec")?;
                let runs = definition::parse(&definition)?.policy.runs();
                attempts.push(AttemptRow { attempt: read_attempt(row)?, name: row.get("name")?, runs });
            }
            Ok((attempts, page.last().copied().filter(|_| page.len() == limit)))
        })
    }

    /// The newest `limit` attempts of a job, oldest first.
    pub fn history(&self, job_id: i64, limit: usize) -> Result<Vec<Attempt>> {
        self.read(|tx| {
            let mut statement = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE a.job_id = ?1 ORDER BY a.number DESC LIMIT ?2"
            ))?;
            let rows = statement.query_map(params![job_id, limit], read_attempt)?;
            let mut attempts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            attempts.reverse();
            Ok(attempts)
        })
    }

    /// One ended attempt.
    pub fn attempt(&self, job_id: i64, number: u32) -> Result<Option<Attempt>> {
        self.read(|tx| {
            let mut statement = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE a.job_id = ?1 AND a.number = ?2"
            ))?;
            Ok(statement.query_row(params![job_id, number], read_attempt).optional()?)
        })
    }
}

/// The places of a page, found by a walk from the newest attempt on.
fn find(
    tx: &Connection,
    filter: &Filter,
    last: Option<AttemptCursor>,
    limit: usize,
) -> Result<Vec<AttemptCursor>> {
    let mut wanted = conditions(filter);
    if let Some((at, job_id, number)) = last {
        wanted.and("a.finished_at <= {}", at.0);
        let (at, job) = (wanted.values.len(), wanted.values.len() + 1);
        wanted.values.push(job_id.into());
        wanted.and(&format!("(a.finished_at, a.job_id, a.number) < (?{at}, ?{job}, {{}})"), number);
    }
    let join = if filter.name.is_some() || filter.queue.is_some() { "CROSS JOIN jobs AS j" } else { "" };
    let sql = format!(
        "SELECT a.finished_at, a.job_id, a.number FROM attempts AS a INDEXED BY attempts_by_time {join} WHERE {}
         ORDER BY a.finished_at DESC, a.job_id DESC, a.number DESC LIMIT {limit}",
        wanted.sql
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(&wanted.values), |row| {
        Ok((Timestamp(row.get(0)?), row.get(1)?, row.get(2)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The whole filter as conditions on `attempts AS a` and, for a name or a queue, `jobs AS j`.
fn conditions(filter: &Filter) -> Conditions {
    let mut wanted = Conditions::new(Value::from(0));
    if !filter.outcomes.is_empty() {
        let any: Vec<_> = filter.outcomes.iter().map(|outcome| format!("'{outcome}'")).collect();
        wanted.and_sql(&format!("a.outcome IN ({})", any.join(", ")));
    }
    if filter.name.is_some() || filter.queue.is_some() {
        wanted.and_sql("j.id = a.job_id");
    }
    wanted.and_text("j.name", filter.name.as_ref());
    wanted.and_text("j.queue", filter.queue.as_ref());
    wanted.and_text("a.error_code", filter.error_code.as_ref());
    wanted.and_period("a.finished_at", filter);
    wanted
}

const TABLES: &str = "attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id";

/// The columns of [`TABLES`] that [`read_attempt`] takes.
const COLUMNS: &str = "a.job_id, a.number, a.outcome, a.error_code, a.exit_code, a.signal, a.message,
    coalesce(w.name, ''), a.started_at, a.finished_at, a.duration_ms, a.budget_number, a.next_state, a.dead_reason,
    a.nominal_delay_ms, a.delay_ms, a.leaked, a.spawn_failure";

fn read_attempt(row: &Row) -> rusqlite::Result<Attempt> {
    let word = |index: usize| row.get::<_, Option<String>>(index);
    let exit: Option<i32> = row.get(4)?;
    let signal: Option<i32> = row.get(5)?;
    let span = |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<u64>>(index)?.map(Millis));
    Ok(Attempt {
        job_id: row.get(0)?,
        number: row.get(1)?,
        outcome: word(2)?.as_deref().and_then(Outcome::parse).unwrap_or(Outcome::Failed),
        error_code: word(3)?.and_then(|text| ErrorCode::parse(&text).ok()),
        status: exit.map(Status::Exited).or(signal.map(Status::Signaled)),
        message: row.get(6)?,
        worker_id: row.get(7)?,
        started_at: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        finished_at: Timestamp(row.get(9)?),
        duration: span(10)?,
        budget_number: row.get(11)?,
        next_state: word(12)?.as_deref().and_then(JobState::parse).unwrap_or(JobState::Pending),
        dead_reason: word(13)?.as_deref().and_then(DeadReason::parse),
        nominal_delay: span(14)?,
        delay: span(15)?,
        leaked: row.get(16)?,
        spawn_failure: word(17)?.as_deref().and_then(SpawnFailure::parse),
    })
}
