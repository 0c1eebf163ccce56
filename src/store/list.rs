//! Lists of jobs and attempts, newest first, a page at a time: no read lasts long enough to hold up a checkpoint.

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use super::job_row::{COLUMNS, JobRow, TABLES};
use super::{Result, Store};
use crate::model::{Attempt, DeadReason, ErrorCode, JobState, Millis, Outcome, Phase, Status, Timestamp};

/// A state or a kind of waiting to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    /// A state.
    State(JobState),
    /// A kind of waiting.
    Phase(Phase),
}

impl StateFilter {
    /// Reads the word for a state or a kind of waiting.
    pub fn parse(word: &str) -> Option<Self> {
        JobState::parse(word).map(Self::State).or_else(|| Phase::parse(word).map(Self::Phase))
    }

    /// The words that [`StateFilter::parse`] takes.
    pub fn words() -> impl Iterator<Item = &'static str> {
        JobState::ALL.iter().map(|s| s.as_str()).chain(Phase::ALL.iter().map(|p| p.as_str()))
    }

    /// The condition on `jobs AS j`; `?1` is now.
    fn sql(self) -> &'static str {
        match self {
            Self::State(JobState::Pending) => "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1)",
            Self::State(JobState::Running) => "j.state = 'running'",
            Self::State(JobState::Succeeded) => "j.state = 'succeeded'",
            Self::State(JobState::Dead) => "(j.state = 'dead' OR j.state = 'pending' AND j.expires_at <= ?1)",
            Self::State(JobState::Cancelled) => "j.state = 'cancelled'",
            Self::Phase(Phase::Ready) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at <= ?1"
            }
            Self::Phase(Phase::Scheduled) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at > ?1 AND j.attempts = 0"
            }
            Self::Phase(Phase::Retrying) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at > ?1 AND j.attempts > 0"
            }
        }
    }
}

/// Which jobs to list. What is none does not narrow the list.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// In any of these states; empty: in every state.
    pub states: Vec<StateFilter>,
    /// Of this name.
    pub name: Option<String>,
    /// In this queue.
    pub queue: Option<String>,
    /// Dead with this code.
    pub error_code: Option<String>,
    /// Changed their state at or after this time.
    pub since: Option<Timestamp>,
}

/// Which attempts to list. What is none does not narrow the list.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    /// With one of these outcomes; empty: with every outcome.
    pub outcomes: Vec<Outcome>,
    /// Of jobs of this name.
    pub name: Option<String>,
    /// Of jobs in this queue.
    pub queue: Option<String>,
    /// With this code.
    pub error_code: Option<String>,
    /// Ended at or after this time.
    pub since: Option<Timestamp>,
}

/// A growing `WHERE` with its values.
struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    fn new(first: Value) -> Self {
        Self { sql: "?1 IS NOT NULL".to_owned(), values: vec![first] }
    }

    /// Adds a condition in which `{}` stands for the value.
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let place = format!("?{}", self.values.len());
        self.and_sql(&condition.replace("{}", &place));
    }

    fn and_sql(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    fn and_text(&mut self, column: &str, value: Option<&String>) {
        if let Some(text) = value {
            self.and(&format!("{column} = {{}}"), text.clone());
        }
    }
}

impl Store {
    /// Up to `limit` jobs with smaller ids than `before`, newest first.
    pub fn jobs_page(
        &mut self,
        filter: &JobFilter,
        before: i64,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<JobRow>> {
        let mut wanted = Conditions::new(now.0.into());
        wanted.and("j.id < {}", before);
        if !filter.states.is_empty() {
            let any: Vec<_> = filter.states.iter().map(|state| format!("({})", state.sql())).collect();
            wanted.and_sql(&format!("({})", any.join(" OR ")));
        }
        wanted.and_text("j.name", filter.name.as_ref());
        wanted.and_text("j.queue", filter.queue.as_ref());
        wanted.and_text(
            "iif(j.state = 'pending' AND j.expires_at <= ?1, 'EXPIRED', j.error_code)",
            filter.error_code.as_ref(),
        );
        if let Some(since) = filter.since {
            wanted.and("iif(j.state = 'pending' AND j.expires_at <= ?1, max(j.expires_at, j.changed_at), j.changed_at) >= {}", since.0);
        }
        let sql =
            format!("SELECT {COLUMNS} FROM {TABLES} WHERE {} ORDER BY j.id DESC LIMIT {limit}", wanted.sql);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(wanted.values), |row| JobRow::read(row, now))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Up to `limit` ended attempts, newest first, with the name of their job and the runs of its budget, that come
    /// after `last` in this order.
    pub fn attempts_page(
        &mut self,
        filter: &AttemptFilter,
        last: Option<(Timestamp, i64, u32)>,
        limit: usize,
    ) -> Result<Vec<(Attempt, String, u32)>> {
        let mut wanted = Conditions::new(Value::from(0));
        if let Some((at, job_id, number)) = last {
            wanted.and("a.finished_at <= {}", at.0);
            let (at, job) = (wanted.values.len(), wanted.values.len() + 1);
            wanted.values.push(job_id.into());
            wanted.and(&format!("(a.finished_at, a.job_id, a.number) < (?{at}, ?{job}, {{}})"), number);
        }
        if !filter.outcomes.is_empty() {
            let any: Vec<_> = filter.outcomes.iter().map(|outcome| format!("'{outcome}'")).collect();
            wanted.and_sql(&format!("a.outcome IN ({})", any.join(", ")));
        }
        wanted.and_text("j.name", filter.name.as_ref());
        wanted.and_text("j.queue", filter.queue.as_ref());
        wanted.and_text("a.error_code", filter.error_code.as_ref());
        if let Some(since) = filter.since {
            wanted.and("a.finished_at >= {}", since.0);
        }
        let sql = format!(
            "SELECT {ATTEMPT_COLUMNS}, j.name, d.spec FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
             JOIN definitions AS d ON d.id = j.definition_id LEFT JOIN workers AS w ON w.id = a.worker_id
             WHERE {} ORDER BY a.finished_at DESC, a.job_id DESC, a.number DESC LIMIT {limit}",
            wanted.sql
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(wanted.values))?;
        let mut attempts = Vec::new();
        while let Some(row) = rows.next()? {
            let definition: String = row.get("spec")?;
            let runs = super::definition::parse(&definition)?.policy.runs();
            attempts.push((read_attempt(row)?, row.get("name")?, runs));
        }
        Ok(attempts)
    }

    /// The newest `limit` attempts of a job, oldest first.
    pub fn history(&self, job_id: i64, limit: usize) -> Result<Vec<Attempt>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {ATTEMPT_COLUMNS} FROM attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id
             WHERE a.job_id = ?1 ORDER BY a.number DESC LIMIT ?2"
        ))?;
        let rows = statement.query_map(rusqlite::params![job_id, limit], read_attempt)?;
        let mut attempts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        attempts.reverse();
        Ok(attempts)
    }

    /// One ended attempt.
    pub fn attempt(&self, job_id: i64, number: u32) -> Result<Option<Attempt>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {ATTEMPT_COLUMNS} FROM attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id
             WHERE a.job_id = ?1 AND a.number = ?2"
        ))?;
        let mut rows = statement.query_map(rusqlite::params![job_id, number], read_attempt)?;
        Ok(rows.next().transpose()?)
    }
}

/// The columns that [`read_attempt`] takes, of `attempts AS a` and `workers AS w`.
const ATTEMPT_COLUMNS: &str = "a.job_id, a.number, a.outcome, a.error_code, a.exit_code, a.signal, a.message,
    coalesce(w.name, ''), a.started_at, a.finished_at, a.duration_ms, a.budget_number, a.next_state, a.dead_reason,
    a.nominal_delay_ms, a.delay_ms, a.leaked";

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
    })
}
