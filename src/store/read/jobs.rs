//! Reads jobs: one of them, or a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, Row, params_from_iter};

use super::deaths::dead_job;
use super::filter::{Filter, StateFilter};
use crate::model::{
    Bytes, Command, DeadReason, EXPIRED, ErrorCode, JobDefinition, JobState, Pause, Phase, job_title,
};
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, from_row, json, maybe, value};
use crate::store::file::schema::version_of;
use crate::store::file::version::Version;
use crate::store::write::definition;
use crate::store::write::insert::Firing;
use crate::store::write::limits::{QueueHold, SETTINGS, Settings};
use crate::store::write::stuck::{self, UnmetDependency};
use crate::store::write::{kept_by_run, needs_version};
use crate::text::Timestamp;

/// A job as it was at one moment. If it had expired by then, it is dead here, even if nobody has recorded that yet.
#[derive(Clone, Debug)]
pub struct JobRow {
    pub id: i64,
    pub state: JobState,
    /// None unless the job is pending.
    pub phase: Option<Phase>,
    /// The frozen definition, with the job's own queue, priority and key.
    pub definition: Arc<JobDefinition>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    pub idempotency_key: Option<String>,
    /// Tells it from other jobs of its name.
    pub label: Option<String>,
    /// The hash of name, label and arguments, which jobs that do the same have in common. None if no other job does the same:
    /// an ad hoc job is one of a kind, and so is a job whose arguments are not told from others by a label.
    pub task_hash: Option<i64>,
    pub enqueued_at: Timestamp,
    /// The next or last due time.
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// The last change of state.
    pub changed_at: Timestamp,
    /// The first known start. The database does not know when a running attempt started; see [`JobRow::set_attempt_start`].
    pub started_at: Option<Timestamp>,
    pub attempt_started_at: Option<Timestamp>,
    /// Ended attempts, over all budgets.
    pub attempts: u32,
    /// Counted attempts of this budget.
    pub attempts_used: u32,
    /// The worker that runs the job.
    pub worker_id: Option<String>,
    pub cancel_requested_at: Option<Timestamp>,
    /// None unless the job is dead.
    pub error_code: Option<ErrorCode>,
    pub dead_reason: Option<DeadReason>,
    /// The name of the warning with which it succeeded.
    pub warning: Option<ErrorCode>,
    pub result: Option<String>,
    /// When a dead job or a warning was resolved, or a job was replaced.
    pub resolved_at: Option<Timestamp>,
    /// The note that was made then, or else the words `replaced by job N`.
    pub resolution: Option<String>,
    /// The job that was enqueued in its place.
    pub replaced_by: Option<i64>,
    /// The code of the last attempt, if that failed.
    pub last_error_code: Option<ErrorCode>,
    /// The message of the last attempt.
    pub last_message: Option<String>,
    /// The reason why the queue starts nothing; none unless the job is pending.
    pub queue_hold: Option<QueueHold>,
    /// The time of the schedule that enqueued the job.
    pub scheduled: Option<Firing>,
    /// The dependencies that must succeed.
    pub after: Vec<i64>,
    /// The dependencies of which any end will do.
    pub after_any: Vec<i64>,
    /// The number of dependencies that were not met.
    pub unmet_dependencies: u32,
    /// The dependencies that keep a blocked job from going on, direct or not, that are not blocked themselves. If the job has
    /// expired, those that kept it until then. Lists do not read this.
    pub waits_for: Vec<UnmetDependency>,
    /// Older workers leave it alone.
    pub needs_version: Version,
    /// The row of the job file that declares it, and the path of that; none of an ad hoc job, and where it is not known.
    pub job_file: Option<i64>,
    pub file: Option<String>,
    /// The path by which the file was named last, if links led from there to [`JobRow::file`].
    pub file_link: Option<String>,
    /// The row id of the `run` that keeps the job for itself, unless that is dead and recovered. Lists do not read this.
    pub run_worker_id: Option<i64>,
}

impl Store {
    /// Runs these reads in one transaction, so that no write comes between them.
    pub fn at_one_moment<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.read(|_| read())
    }

    /// One job as it is at `now`.
    pub fn job(&self, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
        let sql = format!("SELECT {COLUMNS}, {SETTINGS} FROM {TABLES} WHERE j.id = ?1");
        self.read(|tx| {
            let Some(mut job) = maybe(tx, &sql, [id], |row| JobRow::read(row, now))? else { return Ok(None) };
            if job.phase == Some(Phase::Blocked) {
                job.waits_for = stuck::unmet(tx, id)?;
            } else if job.dead_reason == Some(DeadReason::Expired) {
                job.waits_for = stuck::unmet_at_expiry(tx, id)?;
            }
            if !job.state.is_final() && version_of(tx)? >= needs_version::OF_RUNS {
                job.run_worker_id = kept_by_run::keeper(tx, id)?;
            }
            Ok(Some(job))
        })
    }

    /// The jobs that match, the newest first, at most `limit`. The rows are read one by one as they are asked for, because
    /// one long read would hold up checkpoints; a job that no longer matches by then is left out.
    pub fn jobs(
        &self,
        filter: &Filter,
        limit: usize,
        now: Timestamp,
    ) -> Result<impl Iterator<Item = Result<JobRow>>> {
        let ids = self.autocommit(|tx| {
            if filter.dead_by_time {
                dead_by_time(tx, filter, limit, now)
            } else {
                by_id(tx, filter, limit, now)
            }
        })?;
        let mut wanted = filter.conditions(now);
        wanted.and("j.id = {}", 0_i64);
        let sql = format!("SELECT {COLUMNS}, {SETTINGS} FROM {TABLES} WHERE {}", wanted.sql);
        let read = move |id: i64| {
            let last = wanted.values.len() - 1;
            wanted.values[last] = id.into();
            let values = params_from_iter(&wanted.values);
            self.autocommit(|tx| maybe(tx, &sql, values, |row| JobRow::read(row, now))).transpose()
        };
        Ok(ids.into_iter().filter_map(read))
    }

    /// The ids of all jobs that match, oldest first.
    pub fn ids(&self, filter: &Filter, now: Timestamp) -> Result<Vec<i64>> {
        let mut ids = self.autocommit(|tx| by_id(tx, filter, usize::MAX, now))?;
        ids.reverse();
        Ok(ids)
    }
}

/// Finds jobs, the newest first. This walks over all jobs until there are enough, unless an index leads to the wanted ones in
/// the order of their ids.
fn by_id(tx: &Connection, filter: &Filter, limit: usize, now: Timestamp) -> Result<Vec<i64>> {
    let index = if filter.with_open_warning {
        "INDEXED BY jobs_warned"
    } else if filter.has_label() {
        "INDEXED BY jobs_by_label"
    } else if filter.name.is_some() {
        "INDEXED BY jobs_by_name"
    } else if filter.states == [StateFilter::State(JobState::Running)] {
        "INDEXED BY jobs_running" // few jobs run, so sorting them is quick
    } else {
        "NOT INDEXED"
    };
    let wanted = filter.conditions(now);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql =
        format!("SELECT j.id FROM jobs AS j {index} WHERE {} ORDER BY j.id DESC LIMIT {limit}", wanted.sql);
    all(tx, &sql, params_from_iter(&wanted.values), value)
}

/// Finds dead jobs, the last death first.
fn dead_by_time(tx: &Connection, filter: &Filter, limit: usize, now: Timestamp) -> Result<Vec<i64>> {
    let wanted = filter.conditions(now);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = format!("{} LIMIT {limit}", dead_job::select(|_| String::new(), "", &wanted.sql));
    all(tx, &sql, params_from_iter(&wanted.values), |row| Ok(row.get("id")?))
}

/// The columns that [`JobRow::read`] takes beside [`SETTINGS`], of [`TABLES`].
const COLUMNS: &str =
    "j.id, j.state, d.definition, j.needs_version, j.queue, j.priority, j.unique_key, j.args_nul, j.idempotency_key, j.label, j.task_hash, j.job_file,
    (SELECT path FROM job_files AS f WHERE f.id = j.job_file) AS file,
    (SELECT nullif(named_path, path) FROM job_files AS f WHERE f.id = j.job_file) AS file_link,
    j.enqueued_at, j.run_at, j.expires_at, j.changed_at, j.started_at, j.attempts, j.attempts_used, w.name AS worker_name,
    j.cancel_requested_at, j.error_code, j.dead_reason, j.result,
    (SELECT a.error_code FROM attempts AS a WHERE a.job_id = j.id AND a.number = j.attempts) AS last_error_code,
    (SELECT a.message FROM attempts AS a WHERE a.job_id = j.id AND a.number = j.attempts) AS last_message,
    coalesce(j.resolved_at, j.warning_resolved_at) AS resolved_at, j.replaced_by, j.warning,
    coalesce(j.resolution, j.warning_resolution, 'replaced by job ' || j.replaced_by) AS resolution,
    j.scheduled_for, j.scheduled_offset, j.unmet_dependencies,
    EXISTS (SELECT 1 FROM pause_of_all) AS all_paused, (SELECT paused_until FROM pause_of_all) AS all_paused_until,
    CASE WHEN q.max_running IS NOT NULL AND j.state = 'pending'
         THEN (SELECT count(*) FROM jobs AS r WHERE r.state = 'running' AND r.queue = j.queue) ELSE 0 END AS running,
    (SELECT json_group_array(dependency_id) FROM dependencies AS x WHERE x.job_id = j.id AND kind = 'success') AS after,
    (SELECT json_group_array(dependency_id) FROM dependencies AS x WHERE x.job_id = j.id AND kind = 'any') AS after_any";

/// The tables that [`COLUMNS`] come from.
const TABLES: &str = "jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
    LEFT JOIN workers AS w ON w.id = j.worker_id LEFT JOIN queues AS q ON q.name = j.queue";

/// Damaged rows of jobs, their definitions aside. Only what the schema does not check is looked at, and a row with something
/// odd there is read: a million rows are not read column by column.
pub fn damaged(tx: &Tx, limit: usize) -> Result<Vec<String>> {
    let unchecked = "SELECT 'job ' || id AS which, id, name, queue, label, unique_key, idempotency_key, error_code, warning, result,
                            resolution, warning_resolution, attempts, attempts_used, unmet_dependencies, scheduled_offset FROM jobs";
    let sql = format!("SELECT j.name, {COLUMNS}, {SETTINGS} FROM {TABLES} WHERE j.id = ?1");
    row::damaged(tx, unchecked, [], limit, |row| {
        if row::is_plain(row)? {
            return Ok(());
        }
        let any = JobDefinition::new("any", Command::Argv(Vec::new()), Bytes::default());
        let id: i64 = row.get("id")?;
        maybe(tx, &sql, [id], |row| JobRow::with_definition(any, row, tx.now)).map(|_| ())
    })
}

impl JobRow {
    /// Reads a row of [`COLUMNS`] and [`SETTINGS`], as it is at `now`.
    fn read(row: &Row<'_>, now: Timestamp) -> Result<Self> {
        Self::with_definition(definition::read(row, "definition")?, row, now)
    }

    /// Reads all of the row but its definition.
    fn with_definition(mut definition: JobDefinition, row: &Row<'_>, now: Timestamp) -> Result<Self> {
        definition.queue = row.get("queue")?;
        definition.priority = row.get("priority")?;
        definition.unique_key = row.get("unique_key")?;
        let pause_of_all = Pause::from_columns(row.get("all_paused")?, row.get("all_paused_until")?);
        let pause_of_all = pause_of_all.filter(|pause| !pause.is_over(now));
        let mut job = from_row!(
            row,
            Self {
                id,
                state,
                phase: None,
                definition: Arc::new(definition),
                args: definition::args(row)?,
                idempotency_key,
                label,
                task_hash,
                enqueued_at,
                run_at,
                expires_at,
                changed_at,
                started_at,
                attempt_started_at: None,
                attempts,
                attempts_used,
                worker_id: row.get("worker_name")?,
                cancel_requested_at,
                error_code,
                dead_reason,
                warning,
                result,
                last_error_code,
                last_message,
                resolved_at,
                resolution,
                replaced_by,
                queue_hold: pause_of_all
                    .map(QueueHold::AllPaused)
                    .or(Settings::read(row)?.queue_hold(row.get("running")?, now)),
                scheduled: Firing::read(row)?,
                after: json(row, "after")?,
                after_any: json(row, "after_any")?,
                unmet_dependencies,
                waits_for: Vec::new(),
                needs_version: Version(row.get("needs_version")?),
                job_file,
                file,
                file_link,
                run_worker_id: None,
            }
        );
        job.apply_time(now);
        Ok(job)
    }

    /// Sets what depends on the time: the phase, and the death of a job that has expired.
    fn apply_time(&mut self, now: Timestamp) {
        if self.state != JobState::Pending {
            self.queue_hold = None;
            return;
        }
        if let Some(expiry) = self.expires_at.filter(|expiry| *expiry <= now) {
            self.state = JobState::Dead;
            self.queue_hold = None;
            self.dead_reason = Some(DeadReason::Expired);
            self.error_code = Some(ErrorCode::built_in(EXPIRED));
            self.changed_at = self.changed_at.max(expiry);
            return;
        }
        if self.unmet_dependencies > 0 {
            self.phase = Some(Phase::Blocked);
            return;
        }
        self.phase = Some(match (self.run_at <= now, self.attempts) {
            (true, _) => Phase::Ready,
            (false, 0) => Phase::Scheduled,
            (false, _) => Phase::Retrying,
        });
    }

    /// Adds the start of the running attempt, which its worker keeps in its start log.
    pub fn set_attempt_start(&mut self, at: Timestamp) {
        self.attempt_started_at = Some(at);
        self.started_at = self.started_at.or(Some(at));
    }

    /// The name, and what tells the job from others of its name: `fetch [eu-west]`.
    pub fn title(&self) -> String {
        job_title(&self.definition.name, self.shown_label().as_deref())
    }

    /// See [`JobDefinition::shown_label`].
    pub fn shown_label(&self) -> Option<String> {
        self.definition.shown_label(self.label.as_deref(), &self.args)
    }

    /// When the job ended; none before.
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.state.is_final().then_some(self.changed_at)
    }

    /// When the running attempt started, or when it was claimed if its start is not known; none unless the job is running.
    pub fn running_since(&self) -> Option<Timestamp> {
        (self.state == JobState::Running).then(|| self.attempt_started_at.unwrap_or(self.changed_at))
    }

    /// The number of the running attempt, else of the last one; 0 before the first.
    pub fn last_attempt(&self) -> u32 {
        if self.state == JobState::Running { self.attempts.saturating_add(1) } else { self.attempts }
    }

    /// The number within its budget of the running attempt, else of the last counted one; 0 before the first.
    pub fn last_of_budget(&self) -> u32 {
        if self.state == JobState::Running {
            self.attempts_used.saturating_add(1)
        } else {
            self.attempts_used
        }
    }

    /// When the retry is due; none unless the job waits for a retry.
    pub fn next_retry_at(&self) -> Option<Timestamp> {
        (self.phase == Some(Phase::Retrying)).then_some(self.run_at)
    }

    /// Whether the job is blocked for good, unless a person does something.
    pub fn is_stuck(&self) -> bool {
        self.phase == Some(Phase::Blocked) && self.waits_for.iter().any(|unmet| unmet.is_stuck)
    }

    /// The paused queues of the jobs that keep this one blocked, each once.
    pub fn paused_queues(&self) -> Vec<&String> {
        let jobs = self.waits_for.iter().filter_map(|unmet| unmet.job.as_ref());
        let queues: BTreeSet<_> = jobs.filter_map(|job| job.paused_queue.as_ref()).collect();
        queues.into_iter().filter(|_| self.phase == Some(Phase::Blocked)).collect()
    }

    /// The same as people are shown it: a warning stands beside the state.
    pub fn shown_status(&self) -> String {
        match &self.warning {
            Some(warning) => format!("{}, {}", self.status(), warning.as_warning()),
            None => self.status().to_owned(),
        }
    }

    /// The phase of a pending job, else the state.
    pub fn status(&self) -> &'static str {
        self.phase.map_or(self.state.as_str(), Phase::as_str)
    }
}
