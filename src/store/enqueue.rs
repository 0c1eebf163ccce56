//! Putting jobs on disk: all of them or none.

use std::fmt;
use std::sync::Arc;

use rusqlite::OptionalExtension;

use super::insert::{self, Batch};
use super::unique_key::holder_of_key;
use super::{Result, Store, StoreError, cancel};
use crate::model::{Bytes, JobSpec};
use crate::text::Timestamp;

/// What to do where an unfinished job holds the unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Give the id of the holder.
    #[default]
    Skip,
    /// Cancel the holder, if it has never started, and take its place.
    Replace,
    /// Refuse.
    Error,
}

/// A job to be.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its definition, with every option laid over it.
    pub spec: Arc<JobSpec>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// What every attempt reads on its standard input; none: nothing.
    pub stdin: Option<Vec<u8>>,
    /// When it is due; none: at once.
    pub run_at: Option<Timestamp>,
    /// Never given out twice while a job with it is kept.
    pub idempotency_key: Option<String>,
    /// What to do where the unique key is held.
    pub on_conflict: OnConflict,
}

/// The job that stands for an enqueued one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Its id.
    pub id: i64,
    /// False where a key gave a job that was there before.
    pub created: bool,
}

/// Why nothing was enqueued.
#[derive(Debug)]
pub enum EnqueueError {
    /// The store's own trouble.
    Store(StoreError),
    /// The unique key is held by this job, and the conflict is not to be skipped.
    Conflict {
        /// The key.
        key: String,
        /// The job that holds it.
        holder: i64,
        /// The holder was to be replaced, but it has started.
        started: bool,
        /// Which of the jobs, from 0.
        index: usize,
    },
}

impl From<StoreError> for EnqueueError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for EnqueueError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Conflict { key, holder, started: false, .. } => {
                write!(f, "the unique key {key:?} is held by job {holder}")
            }
            Self::Conflict { key, holder, started: true, .. } => write!(
                f,
                "the unique key {key:?} is held by job {holder}, which has started and cannot be replaced"
            ),
        }
    }
}

impl std::error::Error for EnqueueError {}

impl Store {
    /// Enqueues all of `jobs` or none. When this returns, they are on disk.
    ///
    /// The clock is read when it is this process's turn to write, so that ids and due times agree on who came first.
    pub fn enqueue(
        &mut self,
        jobs: &[NewJob],
        clock: &dyn Fn() -> Timestamp,
    ) -> std::result::Result<Vec<Enqueued>, EnqueueError> {
        self.enqueue_telling(jobs, clock, &mut |_| {})
    }

    /// Does that, and tells before each job how many are written; none of them counts until this returns.
    pub fn enqueue_telling(
        &mut self,
        jobs: &[NewJob],
        clock: &dyn Fn() -> Timestamp,
        tell: &mut dyn FnMut(usize),
    ) -> std::result::Result<Vec<Enqueued>, EnqueueError> {
        let mut conflict = None;
        let enqueued = self.write(|tx| {
            let now = clock();
            let mut batch = Batch::new(tx, now);
            let _spared = batch.spare_triggers(jobs)?;
            let mut enqueued = Vec::with_capacity(jobs.len());
            let mut left = jobs;
            while let Some(job) = left.first() {
                let done = jobs.len() - left.len();
                tell(done);
                if let Some(rows) = left.first_chunk().filter(|rows| rows.iter().all(insert::is_plain)) {
                    let ids = batch.insert_rows(rows)?;
                    enqueued.extend(ids.map(|id| Enqueued { id, created: true }));
                    left = &left[rows.len()..];
                    continue;
                }
                match batch.add(job, done) {
                    Ok(done) => enqueued.push(done),
                    Err(EnqueueError::Store(error)) => return Err(error),
                    Err(refused) => {
                        conflict = Some(refused);
                        return Err(StoreError::Busy); // rolls back; `conflict` says why
                    }
                }
                left = &left[1..];
            }
            Ok(enqueued)
        });
        match conflict {
            Some(refused) => Err(refused),
            None => Ok(enqueued?),
        }
    }
}

impl Batch<'_> {
    fn add(&mut self, job: &NewJob, index: usize) -> std::result::Result<Enqueued, EnqueueError> {
        if let Some(key) = &job.idempotency_key
            && let Some(id) = self.given_out(key)?
        {
            return Ok(Enqueued { id, created: false });
        }
        if let Some(key) = &job.spec.unique_key
            && let Some(holder) = holder_of_key(self.connection, key, self.now)?
        {
            match job.on_conflict {
                OnConflict::Skip => {
                    return Ok(Enqueued { id: holder.id, created: false });
                }
                OnConflict::Replace if holder.never_started => {
                    cancel::cancel_waiting(self.connection, holder.id, self.now)?;
                }
                OnConflict::Replace | OnConflict::Error => {
                    let started = job.on_conflict == OnConflict::Replace;
                    return Err(EnqueueError::Conflict {
                        key: key.clone(),
                        holder: holder.id,
                        started,
                        index,
                    });
                }
            }
        }
        Ok(Enqueued { id: self.insert(job)?, created: true })
    }

    fn given_out(&self, key: &str) -> Result<Option<i64>> {
        let sql = "SELECT id FROM jobs WHERE idempotency_key = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?)
    }
}

/// Arguments as they are stored: each closed by a NUL, which none can contain.
pub(super) fn pack_args(args: &[Bytes]) -> Option<Vec<u8>> {
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
