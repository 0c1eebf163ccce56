//! Dependencies: jobs that must end before another job may start; of one kind they must succeed, of the other any end will do.
//!
//! Each job counts its unmet dependencies, and only jobs without any are claimed. The transaction that records an end also
//! lowers the counts of the dependents, so that a crash can neither block a dependent for ever nor start it too early. An edge
//! that was met stays met: a job that dies, is retried and succeeds counts once.

use rusqlite::{Connection, params};

use super::conditions::is_blocked;
use super::stuck;
use crate::model::{DependencyKind, JobState, Phase};
use crate::store::file::error::Result;
use crate::store::file::row::{all, from_row, maybe, one, run, value};
use crate::text::Timestamp;

/// A job that another one depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub id: i64,
    pub kind: DependencyKind,
    /// Once it is met it stays met, whatever happens to the job.
    pub met: bool,
}

/// The edge to this job as it is now: met if the job has ended as the kind asks.
pub fn edge(tx: &Connection, id: i64, kind: DependencyKind) -> Result<Edge> {
    let state = maybe(tx, "SELECT state FROM jobs WHERE id = ?1", [id], value::<JobState>)?;
    let met = match kind {
        DependencyKind::Success => state == Some(JobState::Succeeded),
        DependencyKind::Any => match state {
            Some(JobState::Pending) => stuck::is_stuck(tx, id)?,
            state => state.is_some_and(JobState::is_final),
        },
    };
    Ok(Edge { id, kind, met })
}

/// Adds the dependencies of this job.
pub fn insert(tx: &Connection, job: i64, dependencies: &[Edge]) -> Result<()> {
    for Edge { id, kind, met } in dependencies {
        let sql = "INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (?1, ?2, ?3, ?4)";
        run(tx, sql, params![job, id, kind, met])?;
    }
    Ok(())
}

/// The dependencies of this job for a job that takes its place: what was met stays met.
pub fn of(tx: &Connection, job: i64) -> Result<Vec<Edge>> {
    let sql = "SELECT dependency_id, kind, met FROM dependencies WHERE job_id = ?1 ORDER BY dependency_id";
    let edges =
        all(tx, sql, [job], |row| Ok(from_row!(row, Edge { id: row.get("dependency_id")?, kind, met })))?;
    edges.into_iter().map(|old| if old.met { Ok(old) } else { edge(tx, old.id, old.kind) }).collect()
}

/// Meets the edges to this job, which has just succeeded. True if a dependent now has no unmet dependency left.
pub fn succeeded(tx: &Connection, job: i64) -> Result<bool> {
    // Usually nobody waits for it, and an update would make two temporary tables before it finds that out.
    let dependents =
        all(tx, "SELECT job_id FROM dependencies WHERE dependency_id = ?1 AND NOT met", [job], value)?;
    if !dependents.is_empty() {
        run(tx, "UPDATE dependencies SET met = 1 WHERE dependency_id = ?1 AND NOT met", [job])?;
    }
    count_down(tx, &dependents)
}

/// Meets the edges that any end meets, to this job, which has just died or was cancelled, and to the jobs that are stuck
/// because of that. True if a dependent now has no unmet dependency left.
pub fn failed(tx: &Connection, job: i64) -> Result<bool> {
    // Usually nobody waits for any end, and then the search for stuck jobs, of which there may be many, is needless.
    let sql = "SELECT EXISTS (SELECT 1 FROM dependencies WHERE kind = 'any' AND met = 0)";
    if !one(tx, sql, [], value::<bool>)? {
        return Ok(false);
    }
    let sql = format!(
        "WITH RECURSIVE {}
         UPDATE dependencies SET met = 1 WHERE kind = 'any' AND met = 0 AND dependency_id IN (SELECT id FROM stuck)
         RETURNING job_id",
        stuck::and_behind("VALUES (?1, 'end')")
    );
    count_down(tx, &all(tx, &sql, params![job, None::<Timestamp>], value)?)
}

/// Lowers the count of unmet dependencies of these jobs, once for each time that a job is listed. True if one of them now has
/// none left.
fn count_down(tx: &Connection, dependents: &[i64]) -> Result<bool> {
    let mut unblocks = false;
    for id in dependents {
        let sql = "UPDATE jobs SET unmet_dependencies = unmet_dependencies - 1 WHERE id = ?1
                   RETURNING unmet_dependencies = 0 AND state = 'pending'";
        unblocks |= one(tx, sql, [id], value::<bool>)?;
    }
    Ok(unblocks)
}

/// Makes the jobs that still wait for the old job wait for the new one.
pub fn replace(tx: &Connection, old: i64, new: i64) -> Result<()> {
    run(tx, "UPDATE dependencies SET dependency_id = ?2 WHERE dependency_id = ?1 AND NOT met", [old, new])?;
    Ok(())
}

/// Whether a job waits for another one, at any distance.
pub fn waits_for(tx: &Connection, job: i64, other: i64) -> Result<bool> {
    let sql = "WITH RECURSIVE before(id) AS (
                   SELECT dependency_id FROM dependencies WHERE job_id = ?1 AND NOT met
                   UNION
                   SELECT d.dependency_id FROM dependencies AS d JOIN before ON d.job_id = before.id WHERE NOT d.met
               )
               SELECT EXISTS (SELECT 1 FROM before WHERE id = ?2)";
    one(tx, sql, [job, other], value)
}

/// A dependency of a job, as its command gets it in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedDependency {
    pub id: i64,
    /// One that is stuck is `blocked`.
    pub state: &'static str,
    pub name: String,
    pub label: Option<String>,
}

/// The dependencies of this job, which may start.
pub fn ended(tx: &Connection, job: i64) -> Result<Vec<EndedDependency>> {
    let sql = format!(
        "SELECT j.id, j.state, {} AS is_blocked, j.name, j.label
         FROM dependencies AS d JOIN jobs AS j ON j.id = d.dependency_id WHERE d.job_id = ?1 ORDER BY d.dependency_id",
        is_blocked("j")
    );
    all(tx, &sql, [job], |row| {
        let state: JobState = row.get("state")?;
        let state = if row.get("is_blocked")? { Phase::Blocked.as_str() } else { state.as_str() };
        Ok(from_row!(row, EndedDependency { id, state: state, name, label }))
    })
}
