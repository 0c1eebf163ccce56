//! Writing one job.

use std::sync::Arc;

use rusqlite::{Connection, Statement, params};

use super::dependencies;
use super::error::Result;
use crate::model::{Bytes, JobSpec};
use crate::text::Timestamp;

/// The action if an unfinished job holds the unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Answer with the id of the holder.
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
    pub spec: Arc<JobSpec>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// The standard input of every attempt.
    pub stdin: Option<Vec<u8>>,
    /// The due time; none, or a past one: now.
    pub run_at: Option<Timestamp>,
    /// Refers to one job for as long as the job is kept.
    pub idempotency_key: Option<String>,
    pub on_conflict: OnConflict,
    /// The schedule's time for this job. The job was due then, even if that time is past.
    pub scheduled: Option<Scheduled>,
    /// The jobs that must succeed before this one starts.
    pub after: Vec<After>,
    /// The job is enqueued only if a job of the same call is after it.
    pub is_dependency: bool,
}

/// A job that another is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// One that was enqueued before.
    Job(i64),
    /// One of the same call: its index, which is lower.
    InCall(usize),
}

/// A time of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled {
    pub at: Timestamp,
    /// How far the schedule's zone was ahead of UTC, in seconds.
    pub offset: i32,
}

/// Reads the columns of a [`Scheduled`].
pub(super) fn scheduled(at: Option<i64>, offset: Option<i32>) -> Option<Scheduled> {
    at.zip(offset).map(|(at, offset)| Scheduled { at: Timestamp(at), offset })
}

impl NewJob {
    /// A job of this definition, with everything else at its default.
    pub fn new(spec: Arc<JobSpec>) -> Self {
        Self {
            spec,
            args: Vec::new(),
            stdin: None,
            run_at: None,
            idempotency_key: None,
            on_conflict: OnConflict::default(),
            scheduled: None,
            after: Vec::new(),
            is_dependency: false,
        }
    }

    /// The due time of a job that is enqueued now.
    pub fn due_at(&self, now: Timestamp) -> Timestamp {
        match self.scheduled {
            Some(scheduled) => scheduled.at,
            None => self.run_at.map_or(now, |at| at.max(now)),
        }
    }
}

/// OR ROLLBACK: a failure ends the whole transaction, so SQLite need not keep a journal of each statement.
pub(super) const INSERT: &str = "INSERT OR ROLLBACK INTO jobs (definition_id, name, queue, priority, state, args, unique_key,
                                                    idempotency_key, enqueued_at, run_at, expires_at, changed_at,
                                                    scheduled_for, scheduled_offset, waiting_for)
                      VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?8, ?11, ?12, ?13)";

/// Writes a job whose keys nobody holds, by [`INSERT`], after these jobs, each named once. Gives its id.
pub(super) fn insert(
    insert: &mut Statement,
    tx: &Connection,
    job: &NewJob,
    definition: i64,
    after: &[i64],
    now: Timestamp,
) -> Result<i64> {
    let spec = &job.spec;
    let run_at = job.due_at(now);
    insert.execute(params![
        definition,
        spec.name,
        spec.queue,
        spec.priority,
        pack_args(&job.args),
        spec.unique_key,
        job.idempotency_key,
        now.0,
        run_at.0,
        spec.expires_in.map(|span| run_at.plus(span).0),
        job.scheduled.map(|scheduled| scheduled.at.0),
        job.scheduled.map(|scheduled| scheduled.offset),
        dependencies::count_unfinished(tx, after)?,
    ])?;
    let id = tx.last_insert_rowid();
    if let Some(stdin) = &job.stdin {
        tx.prepare_cached("INSERT INTO inputs (job_id, stdin) VALUES (?1, ?2)")?
            .execute(params![id, stdin])?;
    }
    dependencies::insert(tx, id, after)?;
    Ok(id)
}

/// Arguments as stored: each ended by a NUL, which no argument can contain.
fn pack_args(args: &[Bytes]) -> Option<Vec<u8>> {
    if args.is_empty() {
        return None;
    }
    let mut packed = Vec::with_capacity(args.iter().map(|arg| arg.0.len() + 1).sum());
    for arg in args {
        packed.extend_from_slice(&arg.0);
        packed.push(0);
    }
    Some(packed)
}

/// The reverse of [`pack_args`].
pub(super) fn unpack_args(packed: Option<&[u8]>) -> Vec<Bytes> {
    let Some(closed) = packed.and_then(|bytes| bytes.strip_suffix(&[0])) else {
        return Vec::new();
    };
    closed.split(|byte| *byte == 0).map(|arg| Bytes(arg.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_also_empty_ones() {
        for args in [vec![], vec!["a"], vec!["", ""], vec!["x y", "", "z"]] {
            let args: Vec<Bytes> = args.into_iter().map(Bytes::from).collect();
            assert_eq!(unpack_args(pack_args(&args).as_deref()), args);
        }
    }
}
