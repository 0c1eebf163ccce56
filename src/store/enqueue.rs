//! Putting jobs on disk: all of them or none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::error::{Result, StoreError};
use super::open::Store;
use super::{cancel, definition, expire};
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

/// The answer for one [`NewJob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    pub id: i64,
    /// False if a key gave an earlier job.
    pub created: bool,
}

impl Store {
    /// Enqueues all of `jobs` or none. When this returns, they are on disk.
    ///
    /// The clock is read once the write lock is held, so that ids and due times agree on the order. `on_progress` is told
    /// before each job how many jobs are written; no job counts until this returns.
    pub fn enqueue(
        &mut self,
        jobs: &[NewJob],
        clock: &dyn Fn() -> Timestamp,
        on_progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Enqueued>> {
        self.write(|tx| insert_all(tx, jobs, clock(), on_progress))
    }
}

/// Inserts the jobs, each unless a key gives an earlier job.
pub(super) fn insert_all(
    tx: &Connection,
    jobs: &[NewJob],
    now: Timestamp,
    on_progress: &mut dyn FnMut(usize),
) -> Result<Vec<Enqueued>> {
    let mut statement = tx.prepare_cached(INSERT)?;
    // By address: the jobs of a batch share most of their definitions.
    let mut definitions: HashMap<*const JobSpec, i64> = HashMap::new();
    let mut enqueued = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        on_progress(index);
        if let Some(id) = job_of_keys(tx, job, index, now)? {
            enqueued.push(Enqueued { id, created: false });
            continue;
        }
        let definition = match definitions.entry(Arc::as_ptr(&job.spec)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(definition::intern(tx, &job.spec)?),
        };
        let id = insert(&mut statement, tx, job, definition, now)?;
        enqueued.push(Enqueued { id, created: true });
    }
    Ok(enqueued)
}

/// The earlier job that the keys of this job refer to. A holder that is to be replaced is cancelled.
fn job_of_keys(tx: &Connection, job: &NewJob, index: usize, now: Timestamp) -> Result<Option<i64>> {
    if let Some(key) = &job.idempotency_key {
        let sql = "SELECT id FROM jobs WHERE idempotency_key = ?1";
        let earlier = tx.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
        if earlier.is_some() {
            return Ok(earlier);
        }
    }
    let Some(key) = &job.spec.unique_key else { return Ok(None) };
    let Some(holder) = key_holder(tx, key, now)? else { return Ok(None) };
    match job.on_conflict {
        OnConflict::Skip => Ok(Some(holder.id)),
        OnConflict::Replace if holder.never_started => {
            cancel::cancel_waiting(tx, holder.id, now)?;
            Ok(None)
        }
        OnConflict::Replace | OnConflict::Error => Err(StoreError::KeyHeld {
            key: key.clone(),
            holder: holder.id,
            started: job.on_conflict == OnConflict::Replace,
            index,
        }),
    }
}

/// The unfinished job that holds a unique key.
pub(super) struct Holder {
    pub id: i64,
    pub never_started: bool,
}

/// Finds the unfinished job that holds this key. If that job has expired, its expiry is recorded
/// and nobody holds the key.
pub(super) fn key_holder(tx: &Connection, key: &str, now: Timestamp) -> Result<Option<Holder>> {
    let sql =
        "SELECT id, state = 'pending' AND attempts = 0, state = 'pending' AND coalesce(expires_at <= ?2, 0)
               FROM jobs WHERE unique_key = ?1 AND state IN ('pending', 'running')";
    let found = tx
        .prepare_cached(sql)?
        .query_row(params![key, now.0], |row| {
            Ok((Holder { id: row.get(0)?, never_started: row.get(1)? }, row.get(2)?))
        })
        .optional()?;
    match found {
        Some((holder, true)) => {
            expire::expire_one(tx, holder.id)?;
            Ok(None)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}

/// OR ROLLBACK: a failure ends the whole transaction, so SQLite need not keep a journal of each statement.
pub(super) const INSERT: &str = "INSERT OR ROLLBACK INTO jobs (definition_id, name, queue, priority, state, args, unique_key,
                                                    idempotency_key, enqueued_at, run_at, expires_at, changed_at,
                                                    scheduled_for, scheduled_offset)
                      VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?8, ?11, ?12)";

/// Writes a job whose keys nobody holds, by [`INSERT`]. Gives its id.
pub(super) fn insert(
    insert: &mut Statement,
    tx: &Connection,
    job: &NewJob,
    definition: i64,
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
    ])?;
    let id = tx.last_insert_rowid();
    if let Some(stdin) = &job.stdin {
        tx.prepare_cached("INSERT INTO inputs (job_id, stdin) VALUES (?1, ?2)")?
            .execute(params![id, stdin])?;
    }
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
