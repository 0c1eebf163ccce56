//! Enqueueing: all the jobs of a call are put on disk, or none. What is written of one job stands in `insert`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::Connection;

use super::dependencies::Edge;
use super::expire::{expire_and_get_key_owner, expire_and_get_state};
use super::insert::{Dependency, NewJob, OnConflict, insert};
use super::same_work::{EarlierJob, earlier_jobs};
use super::scheduled_run::{self, ScheduledRun};
use super::{act, definition, dependencies, job_files};
use crate::model::{DependencyKind, JobDefinition};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{maybe, one, value};

/// The result of an enqueue for one [`NewJob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The position of the job in the call, from 0.
    pub index: usize,
    pub id: i64,
    /// False if this is the id of an earlier job, to which a key or the schedule of a dependency led.
    pub created: bool,
    /// Of a dependency with a schedule of its own: its newest run before this call.
    pub scheduled_run: Option<ScheduledRun>,
}

impl Enqueued {
    /// Whether this is a run that the schedule of a dependency has brought: nothing was to be enqueued in its place.
    pub const fn is_scheduled_run(&self) -> bool {
        matches!(self.scheduled_run, Some(ScheduledRun::Counts(_)))
    }
}

impl Store {
    /// Enqueues all of these jobs or none. When this returns, they are on disk.
    ///
    /// A job whose key leads to an earlier job is not enqueued, and neither are its dependencies. `on_progress` is told
    /// before each job how many were written; nothing is enqueued until this returns.
    pub fn enqueue(&mut self, jobs: &[NewJob], on_progress: &mut dyn FnMut(usize)) -> Result<Vec<Enqueued>> {
        self.write_work(|tx| insert_all(tx, jobs, on_progress))
    }
}

/// The body of [`Store::enqueue`], for callers that are within a transaction.
pub fn insert_all(tx: &Tx, jobs: &[NewJob], on_progress: &mut dyn FnMut(usize)) -> Result<Vec<Enqueued>> {
    // By address, because the jobs of a batch share most of their definitions.
    let mut definitions: HashMap<*const JobDefinition, i64> = HashMap::new();
    expire_dependencies(tx, jobs)?;
    let inclusions = decide_inclusions(tx, jobs)?;
    let mut ids: Vec<Option<i64>> = vec![None; jobs.len()];
    let mut enqueued = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        on_progress(index);
        let Inclusion::Included(scheduled_run) = inclusions[index] else { continue };
        let keys = match scheduled_run {
            Some(ScheduledRun::Counts(id)) => Keys::LeadTo(id),
            _ => look_up_keys(tx, job, index)?,
        };
        let replaced = match keys {
            Keys::LeadTo(id) => {
                ids[index] = Some(id);
                enqueued.push(Enqueued { index, id, created: false, scheduled_run });
                continue;
            }
            Keys::Replace(old) => Some(old),
            Keys::AreFree => None,
        };
        let dependencies = dependency_edges(tx, job, index, &ids)?;
        let definition = match definitions.entry(Arc::as_ptr(&job.definition)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(definition::intern(tx, &job.definition)?),
        };
        let id = match replaced {
            None => insert(tx, job, definition, &dependencies)?,
            Some(old) => {
                let sql = "SELECT run_worker_id FROM jobs WHERE id = ?1";
                let run_worker_id = job.run_worker_id.or(one(tx, sql, [old], value)?);
                let job = NewJob { run_worker_id, ..job.clone() };
                let id = insert(tx, &job, definition, &dependencies)?;
                if act::put_in_place(tx, old, id)? {
                    ids.iter_mut().filter(|known| **known == Some(old)).for_each(|known| *known = Some(id));
                }
                id
            }
        };
        ids[index] = Some(id);
        enqueued.push(Enqueued { index, id, created: true, scheduled_run });
    }
    Ok(enqueued)
}

/// Records which of the earlier jobs that these depend on have expired. It is done before any key is looked up, because an
/// expiry may enqueue an alert, and that takes a key.
fn expire_dependencies(tx: &Tx, jobs: &[NewJob]) -> Result<()> {
    for (dependency, _) in jobs.iter().flat_map(|job| &job.dependencies) {
        if let Dependency::Job(id) = *dependency {
            expire_and_get_state(tx, id)?;
        }
    }
    Ok(())
}

/// Whether a job of a call is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inclusion {
    /// No new job depends on it.
    LeftOut,
    /// It is enqueued, unless a key or, of a dependency with a schedule of its own, the newest run leads to an earlier job.
    Included(Option<ScheduledRun>),
}

/// Includes the requested jobs, and the dependencies of those that are new.
fn decide_inclusions(tx: &Tx, jobs: &[NewJob]) -> Result<Vec<Inclusion>> {
    let first = |job: &NewJob| if job.is_dependency { Inclusion::LeftOut } else { Inclusion::Included(None) };
    let mut inclusions: Vec<Inclusion> = jobs.iter().map(first).collect();
    for (index, job) in jobs.iter().enumerate().rev() {
        if inclusions[index] == Inclusion::LeftOut {
            continue;
        }
        if let Some(schedule) = job.own_schedule.filter(|_| job.is_dependency) {
            let run = scheduled_run::newest(tx, &job.definition.name, job.job_file, schedule)?;
            inclusions[index] = Inclusion::Included(Some(run));
            if matches!(run, ScheduledRun::Counts(_)) {
                continue;
            }
        }
        let undecided = |(dependency, _): &(Dependency, DependencyKind)| match dependency {
            Dependency::InCall(earlier) => {
                Some(*earlier).filter(|earlier| inclusions[*earlier] == Inclusion::LeftOut)
            }
            Dependency::Job(_) => None,
        };
        let undecided: Vec<usize> = job.dependencies.iter().filter_map(undecided).collect();
        if undecided.is_empty() || is_known(tx, job, index)? {
            continue;
        }
        for earlier in undecided {
            inclusions[earlier] = Inclusion::Included(None);
        }
    }
    Ok(inclusions)
}

/// Whether a key of this job leads to an earlier job. The idempotency key comes first, as in [`look_up_keys`], because a look at
/// the unique key records the expiry of a holder that has expired.
fn is_known(tx: &Tx, job: &NewJob, index: usize) -> Result<bool> {
    if job_of_idempotency_key(tx, job, index)?.is_some() {
        return Ok(true);
    }
    Ok(match (&job.definition.unique_key, job.on_conflict) {
        (Some(key), OnConflict::Skip) => expire_and_get_key_owner(tx, key)?.is_some(),
        _ => false,
    })
}

/// The dependencies of this job, each once. `ids` are the ids of the earlier jobs of the call.
fn dependency_edges(tx: &Tx, job: &NewJob, index: usize, ids: &[Option<i64>]) -> Result<Vec<Edge>> {
    let mut found: BTreeMap<i64, DependencyKind> = BTreeMap::new();
    for (dependency, kind) in &job.dependencies {
        let id = match *dependency {
            Dependency::Job(id) if expire_and_get_state(tx, id)?.is_none() => {
                return Err(StoreError::NoDependency { id, index });
            }
            Dependency::Job(id) => id,
            Dependency::InCall(earlier) => match ids[earlier] {
                Some(id) => id,
                None => continue,
            },
        };
        // The holder of a key may stand for two dependencies; a success is an end, too.
        let known = found.entry(id).or_insert(*kind);
        if *kind == DependencyKind::Success {
            *known = *kind;
        }
    }
    found.into_iter().map(|(id, kind)| dependencies::edge(tx, id, kind)).collect()
}

/// The job that got the idempotency key of this one. An error if that does other work, because this work would be lost if the
/// first job stood for it.
fn job_of_idempotency_key(tx: &Connection, job: &NewJob, index: usize) -> Result<Option<i64>> {
    let Some(key) = &job.idempotency_key else { return Ok(None) };
    let sql = format!("{} WHERE j.idempotency_key = ?1", earlier_jobs(""));
    let found = maybe(tx, &sql, [key], |row| Ok((row.get("id")?, EarlierJob::read(row)?.difference(job))))?;
    match found {
        Some((first, Some(difference))) => {
            Err(StoreError::KeyOfOtherWork { key: key.clone(), first, difference, index })
        }
        found => Ok(found.map(|(first, _)| first)),
    }
}

/// The answer of the keys of a new job.
enum Keys {
    AreFree,
    /// This earlier job stands for it.
    LeadTo(i64),
    /// It takes the place of this one, which has the same name and was cancelled for that.
    Replace(i64),
}

/// Looks up the keys of a job. A holder that is to be replaced is cancelled.
fn look_up_keys(tx: &Tx, job: &NewJob, index: usize) -> Result<Keys> {
    if let Some(earlier) = job_of_idempotency_key(tx, job, index)? {
        return Ok(Keys::LeadTo(earlier));
    }
    let Some(key) = &job.definition.unique_key else { return Ok(Keys::AreFree) };
    let Some(holder) = expire_and_get_key_owner(tx, key)? else { return Ok(Keys::AreFree) };
    // A schedule skips the time instead.
    let is_of_schedule = job.scheduled.is_some() && !job.is_dependency;
    let sql = format!("{} WHERE j.id = ?1", earlier_jobs(""));
    if !is_of_schedule && one(tx, &sql, [holder.id], |row| Ok(EarlierJob::read(row)?.is_namesake_of(job)))? {
        let file = job_files::path(tx, holder.job_file)?.unwrap_or_default();
        return Err(StoreError::KeyOfNamesake { key: key.clone(), holder: holder.id, file, index });
    }
    match job.on_conflict {
        OnConflict::Skip => Ok(Keys::LeadTo(holder.id)),
        OnConflict::Replace if holder.never_started => {
            let name: String = one(tx, "SELECT name FROM jobs WHERE id = ?1", [holder.id], value)?;
            if name == job.definition.name {
                act::mark_cancelled(tx, holder.id)?;
                return Ok(Keys::Replace(holder.id));
            }
            act::cancel_pending(tx, holder.id)?;
            Ok(Keys::AreFree)
        }
        OnConflict::Replace | OnConflict::Error => Err(StoreError::KeyHeld {
            key: key.clone(),
            holder: holder.id,
            started: job.on_conflict == OnConflict::Replace,
            index,
        }),
    }
}
