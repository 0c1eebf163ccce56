//! The run of a dependency that has a schedule of its own. A job that is after it does not run it again: it waits for the newest
//! run, and only where that is no use, one is enqueued with the job, as if the dependency had no schedule.

use rusqlite::params;

use super::act;
use super::expire::expire_and_get_state;
use super::same_work::{is_same_file, task};
use super::stuck;
use crate::model::{JobState, OwnSchedule};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::Tx;
use crate::store::file::row::{maybe, one, value};
use crate::text::{Millis, Timestamp};

/// The newest run of a dependency that has a schedule of its own, and what it is to the jobs that are after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduledRun {
    /// This job is the dependency: it is unfinished, or it has succeeded, or a person or the file wants no other run.
    Counts(i64),
    /// There is none, so one is enqueued.
    Missing,
    /// This one is dead, so another one is enqueued.
    Dead(i64),
    /// The success of this one is too old, so another one is enqueued.
    TooOld(i64),
}

/// Finds the newest job of this name and job file without label and arguments, or the one that has taken its place while it waited,
/// and says what that is for a job that depends on it. An expiry that is due is recorded first.
pub fn newest(tx: &Tx, name: &str, job_file: Option<i64>, schedule: OwnSchedule) -> Result<ScheduledRun> {
    // Ad hoc jobs and alerts do other work.
    let sql = format!(
        "SELECT j.id FROM jobs AS j INDEXED BY jobs_by_name
         WHERE j.name = ?1 AND j.label IS NULL AND j.args_nul IS NULL AND {} IS NOT NULL AND {}
         ORDER BY j.id DESC LIMIT 1",
        task("j"),
        is_same_file("j.job_file", "?2")
    );
    let Some(newest) = maybe(tx, &sql, params![name, job_file], value::<i64>)? else {
        return Ok(ScheduledRun::Missing);
    };
    let id = act::changed_to(tx, newest)?;
    let state = expire_and_get_state(tx, id)?;
    Ok(match state {
        Some(JobState::Dead) if stuck::state(tx, id)?.is_some_and(|job| job.retryable) => {
            ScheduledRun::Dead(id)
        }
        Some(JobState::Succeeded) if !is_fresh(tx, id, schedule)? => ScheduledRun::TooOld(id),
        Some(_) => ScheduledRun::Counts(id),
        // The job in its place was removed.
        None if id != newest => ScheduledRun::Missing,
        None => return Err(StoreError::contradiction(format!("an index has job {id}, and no table"))),
    })
}

/// Whether this success is as young as the schedule asks.
fn is_fresh(tx: &Tx, id: i64, schedule: OwnSchedule) -> Result<bool> {
    let Some(within) = schedule.fresh_within else { return Ok(true) };
    let at: Timestamp = one(tx, "SELECT changed_at FROM jobs WHERE id = ?1", [id], value)?;
    Ok(is_within(at, within, tx.now))
}

/// Whether a success of then is at most so old. One in the future is none: the clock was ahead.
pub fn is_within(at: Timestamp, within: Millis, now: Timestamp) -> bool {
    at <= now && now.since(at) <= within
}
