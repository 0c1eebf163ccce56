//! Putting jobs on disk: all of them or none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::error::{Result, StoreError};
use super::expire::key_holder;
use super::insert::{After, INSERT, NewJob, OnConflict, insert};
use super::open::Store;
use super::{cancel, definition, dependencies};
use crate::model::JobSpec;
use crate::text::Timestamp;

/// The answer for one [`NewJob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Which of the jobs of the call, from 0.
    pub index: usize,
    pub id: i64,
    /// False if a key gave an earlier job.
    pub created: bool,
}

impl Store {
    /// Enqueues all of `jobs` or none, but no dependency of a job that a key has given before. When this returns, they are
    /// on disk.
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

/// Inserts the jobs, each unless a key gives an earlier job, and dependencies only for jobs that are new.
pub(super) fn insert_all(
    tx: &Connection,
    jobs: &[NewJob],
    now: Timestamp,
    on_progress: &mut dyn FnMut(usize),
) -> Result<Vec<Enqueued>> {
    let mut statement = tx.prepare_cached(INSERT)?;
    // By address: the jobs of a batch share most of their definitions.
    let mut definitions: HashMap<*const JobSpec, i64> = HashMap::new();
    let wanted = wanted(tx, jobs, now)?;
    let mut ids: Vec<Option<i64>> = vec![None; jobs.len()];
    let mut enqueued = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        on_progress(index);
        if !wanted[index] {
            continue;
        }
        if let Some(id) = job_of_keys(tx, job, index, now)? {
            ids[index] = Some(id);
            enqueued.push(Enqueued { index, id, created: false });
            continue;
        }
        let after = after(tx, job, &ids)?;
        let definition = match definitions.entry(Arc::as_ptr(&job.spec)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(definition::intern(tx, &job.spec)?),
        };
        let id = insert(&mut statement, tx, job, definition, &after, now)?;
        ids[index] = Some(id);
        enqueued.push(Enqueued { index, id, created: true });
    }
    Ok(enqueued)
}

/// Which of the jobs are looked at: a dependency only if a job is after it that no key gives.
fn wanted(tx: &Connection, jobs: &[NewJob], now: Timestamp) -> Result<Vec<bool>> {
    let mut wanted: Vec<bool> = jobs.iter().map(|job| !job.is_dependency).collect();
    for (index, job) in jobs.iter().enumerate().rev() {
        if job.after.is_empty() || !wanted[index] || is_known(tx, job, now)? {
            continue;
        }
        for after in &job.after {
            if let After::InCall(before) = after {
                wanted[*before] = true;
            }
        }
    }
    Ok(wanted)
}

/// Will a key give an earlier job?
fn is_known(tx: &Connection, job: &NewJob, now: Timestamp) -> Result<bool> {
    let holder = match (&job.spec.unique_key, job.on_conflict) {
        (Some(key), OnConflict::Skip) => key_holder(tx, key, now)?,
        _ => None,
    };
    Ok(holder.is_some() || job_of_idempotency_key(tx, job)?.is_some())
}

/// The jobs that this one is after, each once. `ids` are those of the earlier jobs of the call.
fn after(tx: &Connection, job: &NewJob, ids: &[Option<i64>]) -> Result<Vec<i64>> {
    let mut after = Vec::with_capacity(job.after.len());
    for each in &job.after {
        match *each {
            After::Job(id) if !dependencies::exists(tx, id)? => return Err(StoreError::NoDependency(id)),
            After::Job(id) => after.push(id),
            After::InCall(index) => after.extend(ids[index]),
        }
    }
    after.sort_unstable();
    after.dedup();
    Ok(after)
}

fn job_of_idempotency_key(tx: &Connection, job: &NewJob) -> Result<Option<i64>> {
    let Some(key) = &job.idempotency_key else { return Ok(None) };
    let sql = "SELECT id FROM jobs WHERE idempotency_key = ?1";
    Ok(tx.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?)
}

/// The earlier job that the keys of this job refer to. A holder that is to be replaced is cancelled.
fn job_of_keys(tx: &Connection, job: &NewJob, index: usize, now: Timestamp) -> Result<Option<i64>> {
    if let Some(earlier) = job_of_idempotency_key(tx, job)? {
        return Ok(Some(earlier));
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
