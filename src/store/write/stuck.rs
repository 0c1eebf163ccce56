//! Whether a blocked job can still go on by itself, or is stuck: only a person can get it going.
//!
//! A job is stuck if it waits for the success of a job that is dead, cancelled or stuck, or for a job that was removed. A wait
//! for any end is met when the other job ends, or becomes stuck because one before it ended (see `dependencies::failed`). A
//! removal meets nothing. So a job that waits for any end of one that is stuck behind a removed job is stuck, too, unless that
//! one expires.
//!
//! For one job the search goes back along what it waits for. For many it goes forward from what ended, because a million jobs may
//! wait for one that is well.

use std::collections::{HashSet, VecDeque};

use rusqlite::{Connection, Row, params};

use crate::model::JobState;
use crate::store::file::error::Result;
use crate::store::file::open::Tx;
use crate::store::file::row::{all, from_row, maybe, one, value};
use crate::text::Timestamp;

/// A job that a blocked job waits for, directly or through other blocked jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetDependency {
    pub id: i64,
    /// None if the job was removed: then it will never end.
    pub job: Option<DependencyState>,
    /// Whether only a person can end the wait for this job.
    is_stuck: bool,
}

impl UnmetDependency {
    /// Whether only a person can end the wait for this job.
    pub const fn is_stuck(&self) -> bool {
        self.is_stuck
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

/// The columns that [`DependencyState::read`] takes, of a job `j` with its definition `f`, as they are at `?2`.
const STATE: &str = "j.name, j.label, iif(j.state = 'pending' AND j.expires_at <= ?2, 'dead', j.state) AS state,
                     j.resolved_at IS NOT NULL AS resolved, f.definition ->> '$.policy.retryable' AS retryable,
                     (SELECT name FROM queues WHERE name = j.queue AND paused AND j.state = 'pending') AS paused_queue";

/// Whether the job `w` waits or may start at `?2`. Where `?2` is null here and below, an expiry counts once it is recorded.
pub const IS_PENDING: &str = "w.state = 'pending' AND coalesce(w.expires_at > ?2, 1)";

/// Whether the job `j` is removed, dead or cancelled at `?2`.
pub const HAS_ENDED: &str = "(j.id IS NULL OR j.state = 'dead' OR j.state = 'cancelled'
                              OR (j.state = 'pending' AND coalesce(j.expires_at <= ?2, 0)))";

/// Whether the edge `d` keeps its dependent from going on because `j`, on which that depends, does not: `j` has ended, or it is
/// stuck behind what has ended. `is_no_end` says that this was a removal or a pause, which meets no edge.
pub fn keeps(is_no_end: &str) -> String {
    format!("(d.kind = 'success' OR {is_no_end} AND j.expires_at IS NULL)")
}

/// The jobs on which `?1` depends, directly or through pending ones, and which ends of each keep `?1` from going on: 2 all, 1
/// a removal alone, 0 none.
fn before() -> String {
    let reason = format!("CASE WHEN {} THEN 2 WHEN {} THEN 1 ELSE 0 END", keeps("0"), keeps("1"));
    format!(
        "before (id, reason) AS
             (SELECT d.dependency_id, {reason} FROM dependencies AS d LEFT JOIN jobs AS j ON j.id = d.dependency_id
              WHERE d.job_id = ?1 AND NOT d.met
              UNION SELECT d.dependency_id, min(before.reason, {reason}) FROM before
              JOIN jobs AS w ON w.id = before.id AND {IS_PENDING}
              JOIN dependencies AS d ON d.job_id = w.id AND NOT d.met LEFT JOIN jobs AS j ON j.id = d.dependency_id)"
    )
}

/// Whether this one of [`before`] keeps the job.
fn is_reason() -> String {
    format!(
        "CASE WHEN j.id IS NULL THEN before.reason >= 1 WHEN {HAS_ENDED} THEN before.reason = 2 ELSE 0 END"
    )
}

/// The jobs that keep this job blocked and are not blocked themselves. Those that only a person can get going come first.
pub fn unmet(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "WITH RECURSIVE {}
         SELECT before.id, max({}) AS is_stuck, {STATE}
         FROM before LEFT JOIN jobs AS j ON j.id = before.id LEFT JOIN job_definitions AS f ON f.id = j.definition_id
         WHERE NOT coalesce(j.state = 'pending' AND j.unmet_dependencies > 0 AND coalesce(j.expires_at > ?2, 1), 0)
         GROUP BY before.id ORDER BY is_stuck DESC, before.id",
        before(),
        is_reason()
    );
    all(tx, &sql, params![id, tx.now], |row| {
        Ok(from_row!(row, UnmetDependency { id, job: DependencyState::read(row)?, is_stuck }))
    })
}

/// The jobs that kept this one blocked until it expired: those that would keep it blocked now, and those that have succeeded
/// since.
pub fn unmet_at_expiry(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "SELECT j.id, {STATE} FROM jobs AS expired JOIN dependencies AS x ON x.job_id = expired.id
         JOIN jobs AS j ON j.id = x.dependency_id JOIN job_definitions AS f ON f.id = j.definition_id
         WHERE expired.id = ?1 AND x.kind = 'success' AND x.met AND j.state = 'succeeded'
               AND j.changed_at >= max(expired.expires_at, expired.changed_at)
         ORDER BY j.id"
    );
    let mut found = unmet(tx, id)?;
    found.extend(all(tx, &sql, params![id, tx.now], |row| {
        Ok(from_row!(row, UnmetDependency { id, job: DependencyState::read(row)?, is_stuck: false }))
    })?);
    Ok(found)
}

/// The state of this job; none if there is no such job.
pub fn state(tx: &Tx, id: i64) -> Result<Option<DependencyState>> {
    let sql = format!(
        "SELECT {STATE} FROM jobs AS j JOIN job_definitions AS f ON f.id = j.definition_id WHERE j.id = ?1"
    );
    Ok(maybe(tx, &sql, params![id, tx.now], DependencyState::read)?.flatten())
}

/// Whether this unfinished job is stuck. An expiry counts from when it is recorded, because that meets the edges.
pub fn is_stuck(tx: &Connection, id: i64) -> Result<bool> {
    let sql = format!(
        "WITH RECURSIVE {} SELECT EXISTS (SELECT 1 FROM before LEFT JOIN jobs AS j ON j.id = before.id WHERE {})",
        before(),
        is_reason()
    );
    one(tx, &sql, params![id, None::<Timestamp>], value)
}

/// A table `stuck` of the jobs of this `SELECT` of ids and causes, and of those that are stuck behind these by the same cause:
/// `end`, `removal` or `pause`.
pub fn and_behind(jobs: &str) -> String {
    format!(
        "stuck (id, cause) AS
             ({jobs} UNION
              SELECT w.id, stuck.cause FROM stuck JOIN jobs AS j ON j.id = stuck.id
              JOIN dependencies AS d ON d.dependency_id = j.id AND NOT d.met JOIN jobs AS w ON w.id = d.job_id
              WHERE {IS_PENDING} AND {})",
        keeps("stuck.cause <> 'end'")
    )
}

/// The stuck jobs behind these, the direct ones first, at most `most`. Either all of these were removed, or none was.
pub fn behind(tx: &Tx, roots: &[i64], are_removed: bool, most: usize) -> Result<Vec<i64>> {
    // A single statement for all of them would read a million jobs behind one before it stops.
    let sql = format!(
        "SELECT w.id FROM dependencies AS d JOIN jobs AS w ON w.id = d.job_id
         LEFT JOIN jobs AS j ON j.id = d.dependency_id
         WHERE d.dependency_id = ?1 AND NOT d.met AND {IS_PENDING} AND {} LIMIT ?4",
        keeps("?3")
    );
    let mut left: VecDeque<i64> = roots.iter().copied().collect();
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    while found.len() < most
        && let Some(id) = left.pop_front()
    {
        let dependents: Vec<i64> = all(tx, &sql, params![id, tx.now, are_removed, most], value)?;
        for dependent in dependents.into_iter().filter(|id| known.insert(*id)) {
            found.push(dependent);
            left.push_back(dependent);
        }
    }
    found.truncate(most);
    Ok(found)
}
