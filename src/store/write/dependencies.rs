//! Dependencies: jobs that must end before another job may start; of one kind they must succeed, of the other any end will do.
//!
//! Each job counts its unmet dependencies, and only jobs without any are claimed. The transaction that records an end also
//! lowers the counts of the dependents, so that a crash can neither block a dependent for ever nor start it too early. An edge
//! that was met stays met: a job that dies, is retried and succeeds counts once.

use rusqlite::{Connection, Row, params};

use crate::model::{DependencyKind, JobState, Phase};
use crate::store::file::error::Result;
use crate::store::file::open::Tx;
use crate::store::file::row::{all, from_row, maybe, one, run, value};

/// A job that a blocked job waits for, directly or through other blocked jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDependency {
    pub id: i64,
    /// None if the job was removed: then it will never end.
    pub job: Option<DependencyState>,
    /// Whether the wait ends with its success alone, or with any end.
    pub kind: DependencyKind,
}

impl UnmetDependency {
    /// Whether only a person can end the wait for this job.
    pub fn is_stuck(&self) -> bool {
        let needs_success = self.kind == DependencyKind::Success;
        let has_failed = |job: &DependencyState| matches!(job.state, JobState::Dead | JobState::Cancelled);
        self.job.as_ref().is_none_or(|job| needs_success && has_failed(job))
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
    /// The queue of a pending job, if it is paused.
    pub paused_queue: Option<String>,
}

impl DependencyState {
    /// Reads the columns of [`STATE`]; none if there is no such job.
    fn read(row: &Row<'_>) -> Result<Option<Self>> {
        let name: Option<String> = row.get("name")?;
        let read =
            |name| Ok(from_row!(row, Self { name: name, label, state, resolved, retryable, paused_queue }));
        name.map(read).transpose()
    }
}

/// The columns that [`DependencyState::read`] takes, of a job `j` with its definition `d`, as they are at `?2`.
const STATE: &str = "j.name, j.label, iif(j.state = 'pending' AND j.expires_at <= ?2, 'dead', j.state) AS state,
                     j.resolved_at IS NOT NULL AS resolved, d.definition ->> '$.policy.retryable' AS retryable,
                     (SELECT name FROM queues WHERE name = j.queue AND paused AND j.state = 'pending') AS paused_queue";

/// The state of this job; none if there is no such job.
pub fn state(tx: &Tx, id: i64) -> Result<Option<DependencyState>> {
    let sql = format!(
        "SELECT {STATE} FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1"
    );
    Ok(maybe(tx, &sql, params![id, tx.now], DependencyState::read)?.flatten())
}

/// The jobs that keep this job blocked and are not blocked themselves. Those that only a person can get going come first.
pub fn unmet(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "WITH RECURSIVE before (id, kind) AS
             (SELECT dependency_id, kind FROM dependencies WHERE job_id = ?1 AND NOT met
              UNION SELECT d.dependency_id, min(before.kind, d.kind) FROM before
              JOIN jobs AS b ON b.id = before.id AND b.state = 'pending' AND coalesce(b.expires_at > ?2, 1)
              JOIN dependencies AS d ON d.job_id = b.id AND NOT d.met)
         SELECT before.id, max(before.kind) AS kind, {STATE}
         FROM before LEFT JOIN jobs AS j ON j.id = before.id LEFT JOIN job_definitions AS d ON d.id = j.definition_id
         WHERE NOT coalesce(j.state = 'pending' AND j.unmet_dependencies > 0 AND coalesce(j.expires_at > ?2, 1), 0)
         GROUP BY before.id ORDER BY before.id"
    );
    let mut unmet = all(tx, &sql, params![id, tx.now], |row| {
        Ok(from_row!(row, UnmetDependency { id, job: DependencyState::read(row)?, kind }))
    })?;
    unmet.sort_by_key(|dependency| !dependency.is_stuck());
    Ok(unmet)
}

/// The jobs that kept this one blocked until it expired: those that would keep it blocked now, and those that have succeeded
/// since.
pub fn unmet_at_expiry(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "SELECT j.id, x.kind, {STATE} FROM jobs AS expired JOIN dependencies AS x ON x.job_id = expired.id
         JOIN jobs AS j ON j.id = x.dependency_id JOIN job_definitions AS d ON d.id = j.definition_id
         WHERE expired.id = ?1 AND x.kind = 'success' AND x.met AND j.state = 'succeeded'
               AND j.changed_at >= max(expired.expires_at, expired.changed_at)
         ORDER BY j.id"
    );
    let mut found = unmet(tx, id)?;
    found.extend(all(tx, &sql, params![id, tx.now], |row| {
        Ok(from_row!(row, UnmetDependency { id, job: DependencyState::read(row)?, kind }))
    })?);
    Ok(found)
}

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
            Some(JobState::Pending) => is_stuck(tx, id)?,
            state => state.is_some_and(JobState::is_final),
        },
    };
    Ok(Edge { id, kind, met })
}

/// Whether only a person can get this pending job going. `read/stuck.rs` finds all such jobs. An expiry counts from when
/// it is recorded, because that meets the edges.
pub fn is_stuck(tx: &Connection, id: i64) -> Result<bool> {
    let sql = "WITH RECURSIVE before (id) AS
                   (VALUES (?1) UNION
                    SELECT d.dependency_id FROM before
                    JOIN jobs AS b ON b.id = before.id AND b.state = 'pending'
                    JOIN dependencies AS d ON d.job_id = b.id AND NOT d.met
                         AND (d.kind = 'success' OR NOT EXISTS (SELECT 1 FROM jobs WHERE id = d.dependency_id)))
               SELECT EXISTS (SELECT 1 FROM before LEFT JOIN jobs AS j ON j.id = before.id
                              WHERE j.id IS NULL OR j.state = 'dead' OR j.state = 'cancelled')";
    one(tx, sql, [id], value)
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
    let sql = "UPDATE dependencies SET met = 1 WHERE dependency_id = ?1 AND NOT met RETURNING job_id";
    count_down(tx, &all(tx, sql, [job], value)?)
}

/// Meets the edges that any end meets, to this job, which has just died or was cancelled, and to the jobs that are stuck
/// because of that. True if a dependent now has no unmet dependency left.
pub fn failed(tx: &Connection, job: i64) -> Result<bool> {
    // Usually nobody waits for any end, and then the search for stuck jobs, of which there may be many, is needless.
    let sql = "SELECT EXISTS (SELECT 1 FROM dependencies WHERE kind = 'any' AND met = 0)";
    if !one(tx, sql, [], value::<bool>)? {
        return Ok(false);
    }
    let sql = "WITH RECURSIVE ended (id) AS
                   (VALUES (?1) UNION
                    SELECT d.job_id FROM ended JOIN dependencies AS d ON d.dependency_id = ended.id
                    JOIN jobs AS j ON j.id = d.job_id
                    WHERE d.kind = 'success' AND NOT d.met AND j.state = 'pending')
               UPDATE dependencies SET met = 1 WHERE kind = 'any' AND met = 0 AND dependency_id IN (SELECT id FROM ended)
               RETURNING job_id";
    count_down(tx, &all(tx, sql, [job], value)?)
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
    let sql = "SELECT j.id, j.state, j.state = 'pending' AND j.unmet_dependencies > 0 AS is_blocked, j.name, j.label
               FROM dependencies AS d JOIN jobs AS j ON j.id = d.dependency_id WHERE d.job_id = ?1 ORDER BY d.dependency_id";
    all(tx, sql, [job], |row| {
        let state: JobState = row.get("state")?;
        let state = if row.get("is_blocked")? { Phase::Blocked.as_str() } else { state.as_str() };
        Ok(from_row!(row, EndedDependency { id, state: state, name, label }))
    })
}
