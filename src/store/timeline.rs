//! The rows of a timeline: attempts that ended in a period, that run, and that wait.

use rusqlite::{Row, params};

use super::error::Result;
use super::filter::Filter;
use super::open::Store;
use crate::model::Outcome;
use crate::text::{Millis, Timestamp};

/// Due jobs that are read; the rest is not shown.
const MAX_WAITING: usize = 100_000;

/// An attempt on a time axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineAttempt {
    pub job_id: i64,
    pub number: u32,
    pub name: String,
    pub stage: Stage,
    /// When it fell due, where that is known.
    pub due_at: Option<Timestamp>,
    /// None where it never started, or nobody knows when.
    pub started_at: Option<Timestamp>,
    /// None while it runs.
    pub finished_at: Option<Timestamp>,
    pub duration: Option<Millis>,
    pub error_code: Option<String>,
    /// When the retry fell due that this failure led to.
    pub retry_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Running,
    Ended(Outcome),
    /// Its job expired before a worker took it.
    Expired,
}

/// A job that is due, and that no worker has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueJob {
    pub name: String,
    pub run_at: Timestamp,
}

impl Store {
    /// The attempts that ended in the period of the filter, by their end, and those that run.
    pub fn timeline(&self, filter: &Filter) -> Result<Vec<TimelineAttempt>> {
        // One statement after the other: a transaction over all would hold up checkpoints.
        self.autocommit(|tx| {
            let mut attempts = Vec::new();
            for sql in [ENDED, EXPIRED, RUNNING] {
                let mut statement = tx.prepare_cached(sql)?;
                let (since, until) = filter.period();
                let mut rows = statement.query(params![since, filter.name, filter.queue, until])?;
                while let Some(row) = rows.next()? {
                    attempts.push(read(row)?);
                }
            }
            Ok(attempts)
        })
    }

    /// The due jobs that no worker has taken, at most 100 000 of them.
    pub fn due_jobs(&self, filter: &Filter, now: Timestamp) -> Result<Vec<DueJob>> {
        self.autocommit(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT name, run_at FROM jobs INDEXED BY jobs_waiting
                 WHERE state = 'pending' AND waiting_for = 0 AND run_at <= ?1 AND coalesce(expires_at > ?1, 1)
                   AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) LIMIT ?4",
            )?;
            let rows = statement
                .query_map(params![now.0, filter.name, filter.queue, MAX_WAITING], |row| {
                    Ok(DueJob { name: row.get(0)?, run_at: Timestamp(row.get(1)?) })
                })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

// Two due times of attempts are known: a job keeps its last one, and a retry was due when its delay was over.
const ENDED: &str = "SELECT a.job_id, a.number, j.name, a.outcome,
        CASE WHEN a.number = j.attempts AND j.finished_at = a.finished_at THEN j.run_at
             ELSE (SELECT p.finished_at + p.delay_ms FROM attempts AS p
                   WHERE p.job_id = a.job_id AND p.number = a.number - 1) END,
        a.started_at, a.finished_at, a.duration_ms, a.error_code, a.finished_at + a.delay_ms
    FROM attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j ON j.id = a.job_id
    WHERE a.finished_at >= ?1 AND a.finished_at < ?4 AND (?2 IS NULL OR j.name = ?2) AND (?3 IS NULL OR j.queue = ?3)
    ORDER BY a.finished_at";

const EXPIRED: &str = "SELECT id, attempts, name, 'expired', run_at, NULL, changed_at, NULL, error_code, NULL
    FROM jobs INDEXED BY jobs_finished
    WHERE state = 'dead' AND changed_at >= ?1 AND changed_at < ?4 AND dead_reason = 'expired' AND error_code = 'EXPIRED'
      AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)";

const RUNNING: &str = "SELECT id, attempts + 1, name, NULL, run_at, changed_at, NULL, NULL, NULL, NULL
    FROM jobs INDEXED BY jobs_running
    WHERE state = 'running' AND ?1 IS NOT NULL AND changed_at < ?4
      AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)";

fn read(row: &Row) -> rusqlite::Result<TimelineAttempt> {
    let time = |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.map(Timestamp));
    let outcome: Option<String> = row.get(3)?;
    Ok(TimelineAttempt {
        job_id: row.get(0)?,
        number: row.get(1)?,
        name: row.get(2)?,
        stage: match outcome {
            None => Stage::Running,
            Some(outcome) => Outcome::parse(&outcome).map_or(Stage::Expired, Stage::Ended),
        },
        due_at: time(4)?,
        started_at: time(5)?,
        finished_at: time(6)?,
        duration: row.get::<_, Option<u64>>(7)?.map(Millis),
        error_code: row.get(8)?,
        retry_at: time(9)?,
    })
}
