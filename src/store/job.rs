//! One job, read back.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Row};

use super::definition;
use super::dependencies::{self, Awaited};
use super::error::{Result, StoreError};
use super::insert::{self, Scheduled, unpack_args};
use super::open::Store;
use super::outputs::Output;
use super::queues::{Hold, Settings};
use super::workers::OpenWorker;
use crate::model::{Attempt, Bytes, DeadReason, EXPIRED, ErrorCode, JobSpec, JobState, Phase};
use crate::text::Timestamp;

/// A job at one moment. An expiry that nobody has recorded yet is already shown.
#[derive(Clone, Debug)]
pub struct JobRow {
    pub id: i64,
    pub state: JobState,
    /// None unless the job is pending.
    pub phase: Option<Phase>,
    /// The frozen definition, with the job's own queue, priority and key.
    pub spec: Arc<JobSpec>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    pub idempotency_key: Option<String>,
    pub enqueued_at: Timestamp,
    /// The next or last due time.
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// The last change of state.
    pub changed_at: Timestamp,
    /// The first known start. Only the worker knows the start of a running attempt, see [`JobRow::set_attempt_start`].
    pub started_at: Option<Timestamp>,
    pub attempt_started_at: Option<Timestamp>,
    /// Ended attempts, over all budgets.
    pub attempts: u32,
    /// Counted attempts of this budget.
    pub budget_used: u32,
    /// The worker that runs the job.
    pub worker_id: Option<String>,
    pub cancel_requested_at: Option<Timestamp>,
    /// None unless the job is dead.
    pub error_code: Option<ErrorCode>,
    pub dead_reason: Option<DeadReason>,
    pub result: Option<String>,
    /// When a dead letter was dealt with, or the job was replaced.
    pub resolved_at: Option<Timestamp>,
    /// The note about that, else what replaced the job.
    pub resolution: Option<String>,
    /// The code of the last attempt, if that failed.
    pub last_error_code: Option<ErrorCode>,
    /// The message of the last attempt.
    pub last_message: Option<String>,
    /// The reason why the queue starts nothing; none unless the job is pending.
    pub hold: Option<Hold>,
    /// The schedule's time for this job.
    pub scheduled: Option<Scheduled>,
    /// The jobs that it is after.
    pub after: Vec<i64>,
    /// The number of those that have not succeeded.
    pub waiting_for: u32,
    /// The job that a blocked job waits for; not read for lists.
    pub awaited: Option<Awaited>,
}

/// Everything about one job, at one moment.
#[derive(Debug)]
pub struct JobView {
    pub job: JobRow,
    /// Ended attempts, the newest of them, oldest first.
    pub history: Vec<Attempt>,
    /// The output of the last ended attempt.
    pub last_output: Output,
    pub workers: Vec<OpenWorker>,
}

/// One attempt of a job, at one moment.
#[derive(Debug)]
pub struct AttemptView {
    pub job: JobRow,
    /// None while the attempt runs, or if there is no such attempt.
    pub ended: Option<Attempt>,
    pub output: Output,
}

impl Store {
    /// One job as it is at `now`.
    pub fn job(&self, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE j.id = ?1");
        self.read(|tx| {
            let job = tx.prepare_cached(&sql)?.query_row([id], |row| JobRow::read(row, now)).optional()?;
            let Some(mut job) = job else { return Ok(None) };
            if job.phase == Some(Phase::Blocked) {
                job.awaited = dependencies::awaited(tx, id, now)?;
            }
            Ok(Some(job))
        })
    }

    /// A job with its newest attempts, at most so many.
    pub fn job_view(&self, id: i64, attempts: usize, now: Timestamp) -> Result<Option<JobView>> {
        self.read(|_| {
            let Some(job) = self.job(id, now)? else { return Ok(None) };
            let history = self.history(id, attempts)?;
            let last_output = self.output(id, job.attempts)?;
            Ok(Some(JobView { job, history, last_output, workers: self.workers()? }))
        })
    }

    /// An attempt with its job and its output.
    pub fn attempt_view(&self, id: i64, number: u32, now: Timestamp) -> Result<Option<AttemptView>> {
        self.read(|_| {
            let Some(job) = self.job(id, now)? else { return Ok(None) };
            let (ended, output) = (self.attempt(id, number)?, self.output(id, number)?);
            Ok(Some(AttemptView { job, ended, output }))
        })
    }
}

/// The columns that [`JobRow::read`] takes, of [`TABLES`].
pub(super) const COLUMNS: &str =
    "j.id, j.state, d.spec, j.queue, j.priority, j.unique_key, j.args, j.idempotency_key,
    j.enqueued_at, j.run_at, j.expires_at, j.changed_at, j.started_at, j.attempts, j.budget_used, w.name,
    j.cancel_requested_at, j.error_code, j.dead_reason, j.result,
    (SELECT a.error_code FROM attempts AS a WHERE a.job_id = j.id AND a.number = j.attempts),
    (SELECT a.message FROM attempts AS a WHERE a.job_id = j.id AND a.number = j.attempts),
    j.resolved_at, coalesce(j.resolution, 'replaced by job ' || j.replaced_by), j.scheduled_for, j.scheduled_offset,
    q.paused, q.max_running, q.rate, q.last_start_at,
    CASE WHEN q.max_running IS NOT NULL AND j.state = 'pending'
         THEN (SELECT count(*) FROM jobs AS r WHERE r.state = 'running' AND r.queue = j.queue) ELSE 0 END,
    j.waiting_for, (SELECT json_group_array(after_id) FROM dependencies AS x WHERE x.job_id = j.id)";

/// The tables that [`COLUMNS`] come from.
pub(super) const TABLES: &str = "jobs AS j JOIN definitions AS d ON d.id = j.definition_id
    LEFT JOIN workers AS w ON w.id = j.worker_id LEFT JOIN queues AS q ON q.name = j.queue";

impl JobRow {
    /// Reads a row of [`COLUMNS`], as it is at `now`.
    pub(super) fn read(row: &Row, now: Timestamp) -> rusqlite::Result<Self> {
        let time = |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.map(Timestamp));
        let code = |index: usize| {
            let text: Option<String> = row.get(index)?;
            Ok::<_, rusqlite::Error>(text.and_then(|text| ErrorCode::parse(&text).ok()))
        };
        let definition: String = row.get(2)?;
        let mut spec = definition::parse(&definition).map_err(|error| unreadable(2, error))?;
        spec.queue = row.get(3)?;
        spec.priority = row.get(4)?;
        spec.unique_key = row.get(5)?;
        let args: Option<Vec<u8>> = row.get(6)?;
        let state: String = row.get(1)?;
        let dead_reason: Option<String> = row.get(18)?;
        let mut job = Self {
            id: row.get(0)?,
            state: JobState::parse(&state)
                .ok_or_else(|| unreadable(1, StoreError::InvalidData(format!("state {state:?}"))))?,
            phase: None,
            spec: Arc::new(spec),
            args: unpack_args(args.as_deref()),
            idempotency_key: row.get(7)?,
            enqueued_at: Timestamp(row.get(8)?),
            run_at: Timestamp(row.get(9)?),
            expires_at: time(10)?,
            changed_at: Timestamp(row.get(11)?),
            started_at: time(12)?,
            attempt_started_at: None,
            attempts: row.get(13)?,
            budget_used: row.get(14)?,
            worker_id: row.get(15)?,
            cancel_requested_at: time(16)?,
            error_code: code(17)?,
            dead_reason: dead_reason.and_then(|word| DeadReason::parse(&word)),
            result: row.get(19)?,
            last_error_code: code(20)?,
            last_message: row.get(21)?,
            resolved_at: time(22)?,
            resolution: row.get(23)?,
            scheduled: insert::scheduled(row.get(24)?, row.get(25)?),
            hold: Settings::read(row, 26)?.hold(row.get(30)?, now),
            waiting_for: row.get(31)?,
            after: serde_json::from_str(&row.get::<_, String>(32)?).unwrap_or_default(),
            awaited: None,
        };
        job.apply_time(now);
        Ok(job)
    }

    /// Sets the values that depend on the time: the phase, and an expiry that has passed.
    fn apply_time(&mut self, now: Timestamp) {
        if self.state != JobState::Pending {
            self.hold = None;
            return;
        }
        if let Some(expiry) = self.expires_at.filter(|expiry| *expiry <= now) {
            self.state = JobState::Dead;
            self.hold = None;
            self.dead_reason = Some(DeadReason::Expired);
            self.error_code = Some(ErrorCode::built_in(EXPIRED));
            self.changed_at = self.changed_at.max(expiry);
            return;
        }
        if self.waiting_for > 0 {
            self.phase = Some(Phase::Blocked);
            return;
        }
        self.phase = Some(match (self.run_at <= now, self.attempts) {
            (true, _) => Phase::Ready,
            (false, 0) => Phase::Scheduled,
            (false, _) => Phase::Retrying,
        });
    }

    /// Adds the start of the running attempt, which its worker keeps.
    pub fn set_attempt_start(&mut self, at: Timestamp) {
        self.attempt_started_at = Some(at);
        self.started_at = self.started_at.or(Some(at));
    }

    /// When the job ended; none before.
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.state.is_final().then_some(self.changed_at)
    }

    /// When the running attempt began, or was claimed; none unless the job is running.
    pub fn running_since(&self) -> Option<Timestamp> {
        (self.state == JobState::Running).then(|| self.attempt_started_at.unwrap_or(self.changed_at))
    }

    /// The number of the running attempt, else of the last one; 0 before the first.
    pub fn last_attempt(&self) -> u32 {
        if self.state == JobState::Running { self.attempts.saturating_add(1) } else { self.attempts }
    }

    /// The number within its budget of the running attempt, else of the last counted one; 0 before the first.
    pub fn last_of_budget(&self) -> u32 {
        if self.state == JobState::Running { self.budget_used.saturating_add(1) } else { self.budget_used }
    }

    /// When the retry is due; none unless the job waits for a retry.
    pub fn next_retry_at(&self) -> Option<Timestamp> {
        (self.phase == Some(Phase::Retrying)).then_some(self.run_at)
    }

    /// The phase of a waiting job, else the state.
    pub fn status(&self) -> &'static str {
        self.phase.map_or(self.state.as_str(), Phase::as_str)
    }
}

fn unreadable(column: usize, error: StoreError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
