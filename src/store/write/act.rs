//! The acts on jobs that a person names by id: cancel, resolve, retry, redefine, change.
//!
//! One call acts on many ids in one transaction. Each id is dealt with by itself: a job that does not fit is left as it
//! is, and its result says why.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::insert::{self, Due, NewJob};
use super::{definition, dependencies, expire, stuck};
use crate::model::{JobDefinition, JobState};
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{one, run, value};
use crate::text::{Millis, Timestamp};

/// The change that a person asks for.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// Cancels pending jobs, and asks running ones to end.
    Cancel,
    /// Marks dead jobs, and those that succeeded with a warning, as resolved. A job that was resolved before keeps that time, and its note unless a new one is given.
    Resolve { note: Option<&'a str> },
    /// Puts dead and cancelled jobs back with a fresh budget. Id, definition and history stay.
    Retry { force: bool },
    /// Changes pending jobs where they stand. Budget and attempt numbers stay.
    Change(&'a JobChange),
    /// Enqueues a job of the present definition in the place of a pending one, which is cancelled. What waits for the one
    /// waits for the other.
    ReplacePending {
        /// The new jobs by the id of the old one, as for [`Act::ReplaceEnded`]. Each has the due time, the queue and the priority
        /// that the old one has then, and is for the same `run`.
        jobs: &'a BTreeMap<i64, NewJob>,
    },
    /// Enqueues a job of the present definition in the place of a dead or cancelled one, which is resolved.
    ReplaceEnded {
        /// The new jobs by the id of the old one, with its arguments and keys; its input is copied. A job that nothing
        /// declares any more has none.
        jobs: &'a BTreeMap<i64, NewJob>,
        force: bool,
    },
}

/// What changes of a pending job. What is none stays as it is.
#[derive(Clone, Debug, Default)]
pub struct JobChange {
    /// A time that has passed means now, which leaves a job alone that is due already.
    pub due: Option<Due>,
    pub priority: Option<i32>,
    pub queue: Option<String>,
}

/// The result of an act for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActResult {
    pub id: i64,
    pub outcome: std::result::Result<Done, Refusal>,
}

/// The change that an act made to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The job is as the act asks.
    Changed,
    /// The job is running: the request is on disk, and its worker ends the job.
    AskedToEnd,
    /// This new job has taken its place.
    ReplacedBy(i64),
    /// The job was resolved, because this job does its work.
    ResolvedFor(i64),
}

/// The reason why a job was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such job.
    Unknown,
    /// The job is in this state, which the act does not fit.
    State(JobState),
    /// The job is not retryable; `--force` runs the job again all the same.
    NotRetryable,
    /// This unfinished job holds the unique key.
    KeyTaken(i64),
    /// No job file has ever declared the job.
    AdHoc,
    /// The job file does not declare the name any more.
    Undeclared,
    /// This job has taken its place before.
    Replaced(i64),
    /// This newer job, which does the same, was left.
    NewerLeft(i64),
    /// The new due time is not before this expiry, which stays, because the job has started before.
    ExpiresBefore(Timestamp),
}

/// The result of an act on one job; the outer error undoes the whole call.
type ActOutcome = Result<std::result::Result<Done, Refusal>>;

impl Store {
    /// Acts on the jobs of these ids, in this order, in one transaction.
    pub fn act(&mut self, ids: &[i64], act: Act) -> Result<Vec<ActResult>> {
        self.write_work(|tx| {
            ids.iter().map(|id| Ok(ActResult { id: *id, outcome: act_on(tx, *id, act)? })).collect()
        })
    }

    /// The job that a person has put in the place of this one while it was waiting, or of that one in turn; else the job itself.
    pub fn changed_to(&self, id: i64) -> Result<i64> {
        self.read(|tx| changed_to(tx, id))
    }
}

/// The body of [`Store::changed_to`].
pub fn changed_to(tx: &Connection, id: i64) -> Result<i64> {
    let sql = "WITH RECURSIVE changed (id) AS
                   (VALUES (?1) UNION ALL
                    SELECT j.replaced_by FROM changed JOIN jobs AS j ON j.id = changed.id
                    WHERE j.state = 'cancelled' AND j.replaced_by > j.id)
               SELECT max(id) FROM changed";
    one(tx, sql, [id], value)
}

pub fn act_on(tx: &Tx, id: i64, act: Act) -> ActOutcome {
    use JobState::{Cancelled, Dead, Pending, Running, Succeeded};
    let Some(state) = expire::expire_and_get_state(tx, id)? else { return Ok(Err(Refusal::Unknown)) };
    match (act, state) {
        (Act::Cancel, Pending) => {
            cancel_pending(tx, id)?;
            Ok(Ok(Done::Changed))
        }
        (Act::Cancel, Running) => {
            let sql = "UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, ?2)
                       WHERE id = ?1 AND state = 'running'";
            run(tx, sql, params![id, tx.now])?;
            Ok(Ok(Done::AskedToEnd))
        }
        (Act::Resolve { note }, Dead) => {
            let sql = "UPDATE jobs SET resolved_at = coalesce(resolved_at, ?2), resolution = coalesce(?3, resolution)
                       WHERE id = ?1 AND state = 'dead'";
            run(tx, sql, params![id, tx.now, note])?;
            Ok(Ok(Done::Changed))
        }
        (Act::Resolve { note }, Succeeded) => {
            let sql = "UPDATE jobs SET warning_resolved_at = coalesce(warning_resolved_at, ?2),
                                       warning_resolution = coalesce(?3, warning_resolution)
                       WHERE id = ?1 AND warning IS NOT NULL";
            match run(tx, sql, params![id, tx.now, note])? {
                0 => Ok(Err(Refusal::State(state))),
                _ => Ok(Ok(Done::Changed)),
            }
        }
        (Act::Change(change), Pending) => self::change(tx, id, change),
        (Act::ReplacePending { jobs }, Pending) => replace_pending(tx, id, jobs.get(&id)),
        (Act::Retry { force }, Dead | Cancelled) => retry(tx, id, force),
        (Act::ReplaceEnded { jobs, force }, Dead | Cancelled) => replace_ended(tx, id, jobs.get(&id), force),
        (_, other) => Ok(Err(Refusal::State(other))),
    }
}

/// Cancels this job, which is pending.
pub fn cancel_pending(tx: &Tx, id: i64) -> Result<()> {
    mark_cancelled(tx, id)?;
    dependencies::failed(tx, id)?;
    Ok(())
}

/// Cancels this job, which is pending, before another one takes its place: nobody who waits for it goes on.
pub fn mark_cancelled(tx: &Tx, id: i64) -> Result<()> {
    let sql = "UPDATE jobs SET state = 'cancelled', changed_at = ?2 WHERE id = ?1 AND state = 'pending'";
    run(tx, sql, params![id, tx.now])?;
    Ok(())
}

/// Puts a new job in the place of one that [`mark_cancelled`] has cancelled: whoever waits for the old one waits for the new one.
/// Where the new one waits for the old one itself, it would wait for itself: then the old one is cancelled as any, and this is false.
pub fn put_in_place(tx: &Tx, old: i64, new: i64) -> Result<bool> {
    if dependencies::waits_for(tx, new, old)? {
        dependencies::failed(tx, old)?;
        return Ok(false);
    }
    dependencies::replace(tx, old, new)?;
    let sql = "UPDATE jobs SET resolved_at = ?3, replaced_by = ?2 WHERE id = ?1";
    run(tx, sql, params![old, new, tx.now])?;
    lead_on(tx, old, new)?;
    // It may be after one that has ended. Only new edges heed a removal.
    if stuck::is_stuck_behind_an_end(tx, new)? {
        dependencies::failed(tx, new)?;
    }
    Ok(true)
}

/// The `run` and the calls that wait for the old job wait for the new one from here on.
fn lead_on(tx: &Tx, old: i64, new: i64) -> Result<()> {
    let sql = "UPDATE workers SET run_job_id = ?2
               WHERE id = (SELECT run_worker_id FROM jobs WHERE id = ?1) AND run_job_id = ?1";
    run(tx, sql, [old, new])?;
    run(tx, "UPDATE waits SET job_id = ?2 WHERE job_id = ?1", [old, new])?;
    Ok(())
}

fn retry(tx: &Tx, id: i64, force: bool) -> ActOutcome {
    let (definition, unique_key, _) = stored(tx, id)?;
    if !definition.policy.retryable && !force {
        return Ok(Err(Refusal::NotRetryable));
    }
    if let Some(holder) = key_taken(tx, unique_key.as_deref())? {
        return Ok(Err(Refusal::KeyTaken(holder)));
    }
    let sql =
        "UPDATE jobs SET state = 'pending', run_at = ?2, changed_at = ?2, expires_at = ?3, attempts_used = 0,
                               error_code = NULL, dead_reason = NULL, cancel_requested_at = NULL,
                               resolved_at = NULL, resolution = NULL, replaced_by = NULL
               WHERE id = ?1 AND state IN ('dead', 'cancelled')";
    run(tx, sql, params![id, tx.now, definition.expires_in.map(|span| tx.now.plus(span))])?;
    Ok(Ok(Done::Changed))
}

/// Changes this job, which is pending.
fn change(tx: &Tx, id: i64, change: &JobChange) -> ActOutcome {
    let sql = "SELECT run_at, expires_at, attempts > 0 AS has_started FROM jobs WHERE id = ?1";
    let (old_run_at, mut expires_at, has_started) = one(tx, sql, [id], |row| {
        let expires_at: Option<Timestamp> = row.get("expires_at")?;
        Ok((row.get::<_, Timestamp>("run_at")?, expires_at, row.get::<_, bool>("has_started")?))
    })?;
    let run_at = match change.due {
        None => old_run_at,
        Some(Due::In(delay)) if delay > Millis(0) => tx.now.plus(delay),
        Some(Due::At(at)) if at > tx.now => at,
        Some(_) => old_run_at.min(tx.now),
    };
    if let Some(expiry) = &mut expires_at {
        if !has_started {
            *expiry = run_at.plus(expiry.since(old_run_at));
        } else if *expiry <= run_at {
            return Ok(Err(Refusal::ExpiresBefore(*expiry)));
        }
    }
    let sql = "UPDATE jobs SET run_at = ?2, expires_at = ?3, priority = coalesce(?4, priority), queue = coalesce(?5, queue)
               WHERE id = ?1 AND state = 'pending'";
    run(tx, sql, params![id, run_at, expires_at, change.priority, change.queue])?;
    if let Some(due) = change.due {
        let from = match due {
            // A person has named this time, so no clock that is set back may move it. A `due_from` that equals it says so.
            Due::At(at) if at > tx.now => Some(at),
            _ => due.delay().map(|_| tx.now),
        };
        // A wait is rebased by `changed_at` where that lies in the future, and this one begins now.
        let sql = "UPDATE jobs SET due_from = ?2, due_delay_ms = ?3, changed_at = min(changed_at, ?4) WHERE id = ?1";
        run(tx, sql, params![id, from, due.delay(), tx.now])?;
    }
    Ok(Ok(Done::Changed))
}

/// Puts a new job in the place of this one, which is pending. No edge that any end meets is met by that, because the new job
/// is still to end.
fn replace_pending(tx: &Tx, id: i64, new: Option<&NewJob>) -> ActOutcome {
    let (definition, ..) = stored(tx, id)?;
    if definition.ad_hoc {
        return Ok(Err(Refusal::AdHoc));
    }
    let Some(new) = new else { return Ok(Err(Refusal::Undeclared)) };
    if let Some(holder) = key_taken(tx, new.definition.unique_key.as_deref())?.filter(|holder| *holder != id)
    {
        return Ok(Err(Refusal::KeyTaken(holder)));
    }
    let run_at: Timestamp = one(tx, "SELECT run_at FROM jobs WHERE id = ?1", [id], value)?;
    let new = &in_place_of(tx, id, new, run_at)?;
    mark_cancelled(tx, id)?;
    let by = replace(tx, id, new)?;
    // A new job is due now at the earliest; this one keeps its place among those that are due.
    let sql = "UPDATE jobs SET run_at = min(run_at, ?2), (due_from, due_delay_ms) =
                   (SELECT due_from, due_delay_ms FROM jobs WHERE id = ?3) WHERE id = ?1";
    run(tx, sql, params![by, run_at, id])?;
    lead_on(tx, id, by)?;
    Ok(Ok(Done::ReplacedBy(by)))
}

/// This new job as it takes the place of a pending one: what may have changed of that one since somebody read it is read here.
fn in_place_of(tx: &Tx, id: i64, new: &NewJob, run_at: Timestamp) -> Result<NewJob> {
    let sql = "SELECT queue, priority, run_worker_id, idempotency_key FROM jobs WHERE id = ?1";
    let mut definition = (*new.definition).clone();
    one(tx, sql, [id], |row| {
        (definition.queue, definition.priority) = (row.get("queue")?, row.get("priority")?);
        Ok(NewJob {
            definition: Arc::new(definition),
            due: Due::At(run_at.max(tx.now)),
            run_worker_id: row.get("run_worker_id")?,
            idempotency_key: row.get("idempotency_key")?,
            ..new.clone()
        })
    })
}

fn replace_ended(tx: &Tx, id: i64, new: Option<&NewJob>, force: bool) -> ActOutcome {
    let (definition, _, replaced_by) = stored(tx, id)?;
    if let Some(by) = replaced_by {
        return Ok(Err(Refusal::Replaced(by)));
    }
    if definition.ad_hoc {
        return Ok(Err(Refusal::AdHoc));
    }
    let Some(new) = new else { return Ok(Err(Refusal::Undeclared)) };
    if !definition.policy.retryable && !force {
        return Ok(Err(Refusal::NotRetryable));
    }
    if let Some(holder) = key_taken(tx, new.definition.unique_key.as_deref())? {
        return Ok(Err(Refusal::KeyTaken(holder)));
    }
    Ok(Ok(Done::ReplacedBy(replace(tx, id, new)?)))
}

/// The definition of this job, its unique key, and the job that has replaced it.
fn stored(tx: &Tx, id: i64) -> Result<(JobDefinition, Option<String>, Option<i64>)> {
    let sql = "SELECT d.definition, j.needs_version, j.unique_key, j.replaced_by
               FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1";
    one(tx, sql, [id], |row| {
        Ok((definition::read(row, "definition")?, row.get("unique_key")?, row.get("replaced_by")?))
    })
}

/// The unfinished job that holds this key.
fn key_taken(tx: &Tx, key: Option<&str>) -> Result<Option<i64>> {
    let Some(key) = key else { return Ok(None) };
    Ok(expire::expire_and_get_key_owner(tx, key)?.map(|owner| owner.id))
}

/// Enqueues the new job with the dependencies and the dependents of the old one. Gives its id.
fn replace(tx: &Tx, old: i64, new: &NewJob) -> Result<i64> {
    let sql = "UPDATE jobs SET resolved_at = ?2, resolution = NULL, idempotency_key = NULL WHERE id = ?1";
    run(tx, sql, params![old, tx.now])?;
    let definition = definition::intern(tx, &new.definition)?;
    let id = insert::insert(tx, new, definition, &dependencies::of(tx, old)?)?;
    dependencies::replace(tx, old, id)?;
    let sql = "INSERT INTO inputs (job_id, stdin) SELECT ?2, stdin FROM inputs WHERE job_id = ?1";
    run(tx, sql, [old, id])?;
    let sql = "UPDATE jobs SET replaced_by = ?2 WHERE id = ?1";
    run(tx, sql, [old, id])?;
    Ok(id)
}
