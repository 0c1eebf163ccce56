//! Replacing dead and cancelled jobs with jobs of another definition.

use rusqlite::{Connection, params};

use super::error::Result;
use super::insert::{self, NewJob};
use super::open::Store;
use super::retry::{Answer, Refusal};
use super::{definition, dependencies, expire};
use crate::model::JobState;
use crate::text::Timestamp;

/// A job that is to be replaced, and the job that takes its place.
#[derive(Clone, Debug)]
pub struct Replacement {
    pub id: i64,
    /// With the arguments and the keys of the old job; its input is copied. None if nothing declares the job.
    pub job: Option<NewJob>,
}

impl Store {
    /// Enqueues the replacements and resolves the jobs that they replace, each by itself, all in one transaction.
    pub fn redefine(
        &mut self,
        replacements: &[Replacement],
        force: bool,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Answer>> {
        self.write(|tx| {
            let now = clock();
            let redefined = |Replacement { id, job }: &Replacement| {
                let job = match refusal(tx, *id, job.as_ref(), force, now)? {
                    Ok(new) => Ok(replace(tx, *id, new, now)?),
                    Err(refusal) => Err(refusal),
                };
                Ok(Answer { id: *id, job })
            };
            replacements.iter().map(redefined).collect()
        })
    }
}

/// The new job, or the reason why the old one is left.
fn refusal<'a>(
    tx: &Connection,
    id: i64,
    new: Option<&'a NewJob>,
    force: bool,
    now: Timestamp,
) -> Result<std::result::Result<&'a NewJob, Refusal>> {
    match expire::state_at(tx, id, now)? {
        None => return Ok(Err(Refusal::Unknown)),
        Some(JobState::Dead | JobState::Cancelled) => {}
        Some(other) => return Ok(Err(Refusal::State(other))),
    }
    let sql = "SELECT j.replaced_by, d.spec FROM jobs AS j JOIN definitions AS d ON d.id = j.definition_id
               WHERE j.id = ?1";
    let (replaced_by, spec): (Option<i64>, String) =
        tx.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let spec = definition::parse(&spec)?;
    if let Some(by) = replaced_by {
        return Ok(Err(Refusal::Replaced(by)));
    }
    if spec.ad_hoc {
        return Ok(Err(Refusal::AdHoc));
    }
    let Some(new) = new else { return Ok(Err(Refusal::Undeclared)) };
    if !spec.policy.retryable && !force {
        return Ok(Err(Refusal::NotRetryable));
    }
    if let Some(key) = &new.spec.unique_key
        && let Some(holder) = expire::key_holder(tx, key, now)?
    {
        return Ok(Err(Refusal::KeyTaken(holder.id)));
    }
    Ok(Ok(new))
}

/// Enqueues the new job in place of the old one: after the same jobs, and before those that wait. Gives its id.
fn replace(tx: &Connection, old: i64, new: &NewJob, now: Timestamp) -> Result<i64> {
    tx.prepare_cached(
        "UPDATE jobs SET resolved_at = ?2, resolution = NULL, idempotency_key = NULL WHERE id = ?1",
    )?
    .execute(params![old, now.0])?;
    let definition = definition::intern(tx, &new.spec)?;
    let mut insert = tx.prepare_cached(insert::INSERT)?;
    let id = insert::insert(&mut insert, tx, new, definition, &dependencies::after(tx, old)?, now)?;
    dependencies::replace(tx, old, id)?;
    tx.prepare_cached("INSERT INTO inputs (job_id, stdin) SELECT ?2, stdin FROM inputs WHERE job_id = ?1")?
        .execute([old, id])?;
    tx.prepare_cached("UPDATE jobs SET replaced_by = ?2 WHERE id = ?1")?.execute([old, id])?;
    Ok(id)
}
