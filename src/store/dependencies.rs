//! Dependencies: jobs that must succeed before another job may start.
//!
//! Each job counts its unmet dependencies, and only jobs without any are claimed. The transaction that records a success also
//! lowers the counts of the dependents, so that a crash can neither block a dependent for ever nor start it too early.

use rusqlite::{Connection, Row, params};

use super::error::Result;
use super::open::Tx;
use super::row::{all, from_row, maybe, one, run, value};
use crate::model::JobState;
use crate::text::Timestamp;

/// A job that a blocked job waits for, directly or through other blocked jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDependency {
    pub id: i64,
    /// None if the job was removed: then it will never succeed.
    pub job: Option<DependencyState>,
}

impl UnmetDependency {
    /// Whether the job can still succeed without a person's help.
    pub fn may_succeed(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.state.is_final())
    }
}

/// The facts about a dependency that say whether it can still succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyState {
    pub name: String,
    /// Tells it from other jobs of its name.
    pub label: Option<String>,
    pub state: JobState,
    /// Somebody has resolved or replaced the job.
    pub resolved: bool,
    pub retryable: bool,
}

impl DependencyState {
    /// Reads the columns of [`STATE`]; none if there is no such job.
    fn read(row: &Row<'_>) -> Result<Option<Self>> {
        let name: Option<String> = row.get("name")?;
        let read = |name| Ok(from_row!(row, Self { name: name, label, state, resolved, retryable }));
        name.map(read).transpose()
    }
}

/// What [`DependencyState::read`] takes, of a job `j` with its definition `d`, as they are at `?2`.
const STATE: &str = "j.name, j.label, iif(j.state = 'pending' AND j.expires_at <= ?2, 'dead', j.state) AS state,
                     j.resolved_at IS NOT NULL AS resolved, d.definition ->> '$.policy.retryable' AS retryable";

/// The state of this job; none if there is no such job.
pub(super) fn state(tx: &Tx, id: i64) -> Result<Option<DependencyState>> {
    let sql = format!(
        "SELECT {STATE} FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1"
    );
    Ok(maybe(tx, &sql, params![id, tx.now], DependencyState::read)?.flatten())
}

/// Finds the root of a blocked job's wait: an unmet dependency that is not itself blocked. A job may have several; one that is
/// dead, cancelled or removed comes first, because only a person can help it. None unless the job is blocked.
pub(super) fn root(tx: &Connection, id: i64, now: Timestamp) -> Result<Option<UnmetDependency>> {
    let sql = format!(
        "WITH RECURSIVE before (id) AS
             (SELECT dependency_id FROM dependencies WHERE job_id = ?1 AND NOT met
              UNION SELECT d.dependency_id FROM before
              JOIN jobs AS b ON b.id = before.id AND b.state = 'pending' AND coalesce(b.expires_at > ?2, 1)
              JOIN dependencies AS d ON d.job_id = b.id AND NOT d.met)
         SELECT before.id, {STATE}
         FROM before LEFT JOIN jobs AS j ON j.id = before.id LEFT JOIN job_definitions AS d ON d.id = j.definition_id
         WHERE NOT coalesce(j.state = 'pending' AND j.unmet_dependencies > 0 AND coalesce(j.expires_at > ?2, 1), 0)
         ORDER BY coalesce(state IN ('pending', 'running'), 0), before.id LIMIT 1"
    );
    maybe(tx, &sql, params![id, now], |row| {
        Ok(UnmetDependency { id: row.get("id")?, job: DependencyState::read(row)? })
    })
}

pub(super) fn exists(tx: &Connection, id: i64) -> Result<bool> {
    one(tx, "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1)", [id], value)
}

/// Counts how many of these jobs have not succeeded. A removed job counts.
pub(super) fn count_unfinished(tx: &Connection, ids: &[i64]) -> Result<u32> {
    let mut unmet_dependencies = 0;
    for id in ids {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'succeeded')";
        unmet_dependencies += one(tx, sql, [id], value::<u32>)?;
    }
    Ok(unmet_dependencies)
}

/// Adds the dependencies of this job. Those that have succeeded are met from the start.
pub(super) fn insert(tx: &Connection, job: i64, dependencies: &[i64]) -> Result<()> {
    for dependency in dependencies {
        let sql = "INSERT INTO dependencies (job_id, dependency_id, met)
                   VALUES (?1, ?2, EXISTS (SELECT 1 FROM jobs WHERE id = ?2 AND state = 'succeeded'))";
        run(tx, sql, [job, *dependency])?;
    }
    Ok(())
}

/// The dependencies of this job.
pub(super) fn of(tx: &Connection, job: i64) -> Result<Vec<i64>> {
    all(tx, "SELECT dependency_id FROM dependencies WHERE job_id = ?1 ORDER BY dependency_id", [job], value)
}

/// Lowers the count of unmet dependencies in each dependent of this job, which has succeeded. True if one of them now has
/// none left.
pub(super) fn unblock_dependents(tx: &Connection, job: i64) -> Result<bool> {
    let sql = "UPDATE dependencies SET met = 1 WHERE dependency_id = ?1 AND NOT met RETURNING job_id";
    let dependents: Vec<i64> = all(tx, sql, [job], value)?;
    let mut unblocks = false;
    for id in dependents {
        let sql = "UPDATE jobs SET unmet_dependencies = unmet_dependencies - 1 WHERE id = ?1 RETURNING unmet_dependencies = 0";
        unblocks |= one(tx, sql, [id], value::<bool>)?;
    }
    Ok(unblocks)
}

/// Makes the jobs that still wait for the old job wait for the new one.
pub(super) fn replace(tx: &Connection, old: i64, new: i64) -> Result<()> {
    run(tx, "UPDATE dependencies SET dependency_id = ?2 WHERE dependency_id = ?1 AND NOT met", [old, new])?;
    Ok(())
}
