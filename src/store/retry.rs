//! Putting dead and cancelled jobs back, and making waiting ones due.

use rusqlite::{Connection, params};

use super::error::Result;
use super::open::Store;
use super::{definition, expire};
use crate::model::JobState;
use crate::text::Timestamp;

/// The reason why a job was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such job.
    Unknown,
    /// The job is in this state, which the request does not fit.
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
}

/// The answer for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub id: i64,
    /// The job that was changed, or took its place.
    pub job: std::result::Result<i64, Refusal>,
}

impl Store {
    /// Gives these dead or cancelled jobs a fresh budget and puts them back, each by itself, all in one transaction. Id,
    /// definition and history stay.
    pub fn retry(&mut self, ids: &[i64], force: bool, clock: &dyn Fn() -> Timestamp) -> Result<Vec<Answer>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| retry_one(tx, *id, force, now)).collect()
        })
    }

    /// Makes waiting jobs due now. Budget and numbers stay.
    pub fn make_due(&mut self, ids: &[i64], clock: &dyn Fn() -> Timestamp) -> Result<Vec<Answer>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| make_one_due(tx, *id, now)).collect()
        })
    }
}

fn retry_one(tx: &Connection, id: i64, force: bool, now: Timestamp) -> Result<Answer> {
    let refused = |refusal| Ok(Answer { id, job: Err(refusal) });
    match expire::state_at(tx, id, now)? {
        None => return refused(Refusal::Unknown),
        Some(JobState::Dead | JobState::Cancelled) => {}
        Some(other) => return refused(Refusal::State(other)),
    }
    let sql = "SELECT j.unique_key, d.spec FROM jobs AS j JOIN definitions AS d ON d.id = j.definition_id
               WHERE j.id = ?1";
    let (unique_key, spec): (Option<String>, String) =
        tx.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let spec = definition::parse(&spec)?;
    if !spec.policy.retryable && !force {
        return refused(Refusal::NotRetryable);
    }
    if let Some(key) = &unique_key
        && let Some(holder) = expire::key_holder(tx, key, now)?
    {
        return refused(Refusal::KeyTaken(holder.id));
    }
    tx.prepare_cached(
        "UPDATE jobs SET state = 'pending', run_at = ?2, changed_at = ?2, expires_at = ?3, budget_used = 0,
                         error_code = NULL, dead_reason = NULL, cancel_requested_at = NULL,
                         resolved_at = NULL, resolution = NULL, replaced_by = NULL
         WHERE id = ?1 AND state IN ('dead', 'cancelled')",
    )?
    .execute(params![id, now.0, spec.expires_in.map(|span| now.plus(span).0)])?;
    Ok(Answer { id, job: Ok(id) })
}

fn make_one_due(tx: &Connection, id: i64, now: Timestamp) -> Result<Answer> {
    let job = match expire::state_at(tx, id, now)? {
        None => Err(Refusal::Unknown),
        Some(JobState::Pending) => {
            tx.prepare_cached(
                "UPDATE jobs SET run_at = min(run_at, ?2) WHERE id = ?1 AND state = 'pending'",
            )?
            .execute(params![id, now.0])?;
            Ok(id)
        }
        Some(other) => Err(Refusal::State(other)),
    };
    Ok(Answer { id, job })
}
