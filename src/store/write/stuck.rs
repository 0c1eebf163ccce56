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

use super::conditions::{KEY_HOLDER, expired_at, has_expired, is_blocked, is_pending};
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
    pub is_stuck: bool,
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
    /// The unfinished job that holds the unique key of one that has ended, which cannot be retried until then.
    pub key_holder: Option<i64>,
}

impl DependencyState {
    /// Reads the columns of [`state_columns`]; none if there is no such job.
    fn read(row: &Row<'_>) -> Result<Option<Self>> {
        let name: Option<String> = row.get("name")?;
        let read = |name| {
            Ok(from_row!(
                row,
                Self { name: name, label, state, resolved, retryable, paused_queue, key_holder }
            ))
        };
        name.map(read).transpose()
    }
}

/// The columns that [`DependencyState::read`] takes, of a job `j` with its definition `d`, as they are at `?2`.
fn state_columns() -> String {
    format!(
        "j.name, j.label, iif({}, 'dead', j.state) AS state,
         j.resolved_at IS NOT NULL AS resolved, d.definition ->> '$.policy.retryable' AS retryable,
         (SELECT name FROM queues WHERE name = j.queue AND paused AND j.state = 'pending') AS paused_queue,
         (SELECT id FROM {KEY_HOLDER}) AS key_holder",
        has_expired("j", "?2")
    )
}

/// Whether the job `w` waits or may start at `?2`. Where `?2` is null here and below, an expiry counts once it is recorded.
pub fn waits() -> String {
    is_pending("w", "?2")
}

/// Whether the job `j` is removed, dead or cancelled at `?2`.
pub fn ended_without_success() -> String {
    let has_expired = has_expired("j", "?2");
    format!("(j.id IS NULL OR j.state = 'dead' OR j.state = 'cancelled' OR coalesce({has_expired}, 0))")
}

/// Whether the edge `d` blocks its dependent for good. Ask this only where `j`, the job that it depends on, has ended without a
/// success or is stuck. A wait for a success is lost then. A wait for any end is lost only if `j` never ends (`never_ends`: it was
/// removed, or is stuck behind a removed or paused job) and does not expire either.
pub fn edge_blocks(never_ends: &str) -> String {
    format!("(d.kind = 'success' OR {never_ends} AND j.expires_at IS NULL)")
}

/// A table `upstream` of the jobs on which `?1` depends, directly or through pending ones. `blocked_by` says what of such a job
/// blocks `?1` for good: 2 its end, other than a success, or its removal; 1 its removal alone; 0 neither.
fn upstream() -> String {
    let blocked_by =
        format!("CASE WHEN {} THEN 2 WHEN {} THEN 1 ELSE 0 END", edge_blocks("0"), edge_blocks("1"));
    let waits = waits();
    format!(
        "upstream (id, blocked_by) AS
             (SELECT d.dependency_id, {blocked_by} FROM dependencies AS d LEFT JOIN jobs AS j ON j.id = d.dependency_id
              WHERE d.job_id = ?1 AND NOT d.met
              UNION SELECT d.dependency_id, min(upstream.blocked_by, {blocked_by}) FROM upstream
              JOIN jobs AS w ON w.id = upstream.id AND {waits}
              JOIN dependencies AS d ON d.job_id = w.id AND NOT d.met LEFT JOIN jobs AS j ON j.id = d.dependency_id)"
    )
}

/// Whether this job of [`upstream`] blocks `?1` for good.
fn upstream_blocks() -> String {
    let ended_without_success = ended_without_success();
    format!(
        "CASE WHEN j.id IS NULL THEN upstream.blocked_by >= 1 WHEN {ended_without_success} THEN upstream.blocked_by = 2 ELSE 0 END"
    )
}

/// The jobs that keep this job blocked and are not blocked themselves. Those that only a person can get going come first.
pub fn unmet(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "WITH RECURSIVE {}
         SELECT upstream.id, max({}) AS is_stuck, {}
         FROM upstream LEFT JOIN jobs AS j ON j.id = upstream.id LEFT JOIN job_definitions AS d ON d.id = j.definition_id
         WHERE NOT coalesce({} AND {}, 0)
         GROUP BY upstream.id ORDER BY is_stuck DESC, upstream.id",
        upstream(),
        upstream_blocks(),
        state_columns(),
        is_pending("j", "?2"),
        is_blocked("j")
    );
    all(tx, &sql, params![id, tx.now], |row| {
        Ok(from_row!(row, UnmetDependency { id, job: DependencyState::read(row)?, is_stuck }))
    })
}

/// The jobs that kept this one blocked until it expired: those that would keep it blocked now, and those that have succeeded
/// since.
pub fn unmet_at_expiry(tx: &Tx, id: i64) -> Result<Vec<UnmetDependency>> {
    let sql = format!(
        "SELECT j.id, {} FROM jobs AS expired JOIN dependencies AS x ON x.job_id = expired.id
         JOIN jobs AS j ON j.id = x.dependency_id JOIN job_definitions AS d ON d.id = j.definition_id
         WHERE expired.id = ?1 AND x.kind = 'success' AND x.met AND j.state = 'succeeded'
               AND j.changed_at >= {}
         ORDER BY j.id",
        state_columns(),
        expired_at("expired")
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
        "SELECT {} FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1",
        state_columns()
    );
    Ok(maybe(tx, &sql, params![id, tx.now], DependencyState::read)?.flatten())
}

/// Whether this unfinished job is stuck. An expiry counts from when it is recorded, because that meets the edges.
pub fn is_stuck(tx: &Connection, id: i64) -> Result<bool> {
    is_stuck_behind(tx, id, "LEFT JOIN")
}

/// Whether this unfinished job is stuck behind one that has ended, and was not removed.
pub fn is_stuck_behind_an_end(tx: &Connection, id: i64) -> Result<bool> {
    is_stuck_behind(tx, id, "JOIN")
}

fn is_stuck_behind(tx: &Connection, id: i64, join: &str) -> Result<bool> {
    let sql = format!(
        "WITH RECURSIVE {} SELECT EXISTS (SELECT 1 FROM upstream {join} jobs AS j ON j.id = upstream.id WHERE {})",
        upstream(),
        upstream_blocks()
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
              WHERE {} AND {})",
        waits(),
        edge_blocks("stuck.cause <> 'end'")
    )
}

/// The stuck jobs behind these, the direct ones first, at most `most`. Either all of these were removed, or none was.
pub fn behind(tx: &Tx, roots: &[i64], are_removed: bool, most: usize) -> Result<Vec<i64>> {
    // A single statement for all of them would read a million jobs behind one before it stops.
    let sql = format!(
        "SELECT w.id FROM dependencies AS d JOIN jobs AS w ON w.id = d.job_id
         LEFT JOIN jobs AS j ON j.id = d.dependency_id
         WHERE d.dependency_id = ?1 AND NOT d.met AND {} AND {} LIMIT ?4",
        waits(),
        edge_blocks("?3")
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
