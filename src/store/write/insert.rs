//! Writing one job. Which jobs an enqueue writes is decided in `enqueue`; an alert is written by `expire`.

use std::sync::Arc;

use rusqlite::{Row, params};

use super::dependencies::Edge;
use super::{definition, dependencies, needs_version};
use crate::model::{Bytes, DependencyKind, JobDefinition, OwnSchedule};
use crate::store::file::error::Result;
use crate::store::file::open::Tx;
use crate::store::file::row::run;
use crate::text::{Millis, Timestamp};

/// The way to proceed if an unfinished job holds the unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Enqueue nothing, and give the id of the holder.
    #[default]
    Skip,
    /// Cancel a holder that has never started, and take its place.
    Replace,
    /// Refuse.
    Error,
}

/// A job to be enqueued.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The definition, with every option applied.
    pub definition: Arc<JobDefinition>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// The standard input of every attempt.
    pub stdin: Option<Vec<u8>>,
    pub due: Due,
    /// An enqueue with a key that was used before gives the id of the earlier job, as long as that one is kept.
    pub idempotency_key: Option<String>,
    pub on_conflict: OnConflict,
    /// The time of the schedule that enqueues this job. It stands for now in `due`, even if it is past.
    pub scheduled: Option<Firing>,
    pub label: Option<String>,
    /// The jobs that must end before this one starts.
    pub dependencies: Vec<(Dependency, DependencyKind)>,
    /// The job is enqueued only if a new job of the same call depends on it.
    pub is_dependency: bool,
    /// Of a dependency that has a schedule of its own: it is enqueued only if its newest run does not count.
    pub own_schedule: Option<OwnSchedule>,
    /// The row id of the `run` that starts it: while that lives, nobody else does.
    pub run_worker_id: Option<i64>,
    /// The row of the job file that declares it; none of an ad hoc job.
    pub job_file: Option<i64>,
}

/// When a job is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Due {
    #[default]
    Now,
    /// At this time; now if that is past.
    At(Timestamp),
    /// So long after now.
    In(Millis),
}

impl Due {
    /// The delay that a due time of now is computed from; none if nobody gave one.
    pub const fn delay(self) -> Option<Millis> {
        match self {
            Self::In(delay) => Some(delay),
            Self::Now | Self::At(_) => None,
        }
    }
}

/// A job that another one depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// A job that was enqueued before, by its id.
    Job(i64),
    /// An earlier job of the same call, by its index.
    InCall(usize),
}

/// A time at which a schedule enqueues its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    pub at: Timestamp,
    /// How far the schedule's zone was ahead of UTC, in seconds.
    pub offset: i32,
}

impl Firing {
    /// Reads the time of the schedule that made a job from a row of `jobs`; none if a person enqueued the job.
    pub(in crate::store) fn read(row: &Row<'_>) -> Result<Option<Self>> {
        let at = row.get::<_, Option<Timestamp>>("scheduled_for")?;
        Ok(at.zip(row.get("scheduled_offset")?).map(|(at, offset)| Self { at, offset }))
    }
}

impl NewJob {
    /// A job of this definition, with everything else at its default.
    pub fn new(definition: Arc<JobDefinition>) -> Self {
        Self {
            definition,
            args: Vec::new(),
            stdin: None,
            due: Due::Now,
            idempotency_key: None,
            on_conflict: OnConflict::default(),
            scheduled: None,
            label: None,
            dependencies: Vec::new(),
            is_dependency: false,
            own_schedule: None,
            run_worker_id: None,
            job_file: None,
        }
    }

    /// The due time of a job that is enqueued now.
    pub fn due_at(&self, now: Timestamp) -> Timestamp {
        let from = self.due_from(now);
        match self.due {
            Due::Now => from,
            Due::At(at) if self.scheduled.is_some() => at,
            Due::At(at) => at.max(now),
            Due::In(delay) => from.plus(delay),
        }
    }

    /// The time that a delay counts from.
    fn due_from(&self, now: Timestamp) -> Timestamp {
        self.scheduled.map_or(now, |scheduled| scheduled.at)
    }
}

/// With `OR ROLLBACK` a failure ends the whole transaction, so that SQLite need not keep a journal of each statement.
const INSERT: &str = "INSERT OR ROLLBACK INTO jobs (definition_id, name, queue, priority, state, args_nul, unique_key,
                                                    idempotency_key, enqueued_at, run_at, expires_at, changed_at,
                                                    scheduled_for, scheduled_offset, unmet_dependencies, label,
                                                    task_hash, needs_version, run_worker_id, due_from, due_delay_ms,
                                                    job_file)
                      VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?8, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
                              ?20)";

/// Writes a job whose keys nobody holds, with these dependencies, each named once. Gives its id.
pub fn insert(tx: &Tx, job: &NewJob, definition_id: i64, dependencies: &[Edge]) -> Result<i64> {
    let definition = &job.definition;
    let run_at = job.due_at(tx.now);
    let values = params![
        definition_id,
        definition.name,
        definition.queue,
        definition.priority,
        definition::pack_args(&job.args),
        definition.unique_key,
        job.idempotency_key,
        tx.now,
        run_at,
        definition.expires_in.map(|span| run_at.plus(span)),
        job.scheduled.map(|scheduled| scheduled.at),
        job.scheduled.map(|scheduled| scheduled.offset),
        dependencies.iter().filter(|edge| !edge.met).count(),
        job.label,
        task_hash(job),
        needs_version::of_job(definition, job.run_worker_id.is_some()),
        job.run_worker_id,
        job.due.delay().map(|_| job.due_from(tx.now)),
        job.due.delay(),
        job.job_file,
    ];
    run(tx, INSERT, values)?;
    let id = tx.last_insert_rowid();
    if let Some(stdin) = &job.stdin {
        run(tx, "INSERT INTO inputs (job_id, stdin) VALUES (?1, ?2)", params![id, stdin])?;
    }
    dependencies::insert(tx, id, dependencies)?;
    Ok(id)
}

/// A hash of what the job does: its name, label and arguments. None if no other job does the same again (see `same_work`).
fn task_hash(job: &NewJob) -> Option<i64> {
    let JobDefinition { ad_hoc, .. } = *job.definition;
    let is_one_of_a_kind = ad_hoc || job.definition.is_alert();
    let is_repeated = !is_one_of_a_kind && (job.label.is_some() || job.args.is_empty());
    is_repeated.then(|| {
        // None of the parts can hold a NUL.
        let label = job.label.as_deref().unwrap_or_default();
        let parts = [job.definition.name.as_bytes(), label.as_bytes()];
        let parts = parts.into_iter().chain(job.args.iter().map(|arg| arg.0.as_slice()));
        definition::fnv1a(&parts.collect::<Vec<_>>().join(&0))
    })
}
