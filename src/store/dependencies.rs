//! Jobs that wait for other jobs to succeed.
//!
//! A job counts the jobs it still waits for, and no claim sees it until none is left. The transaction that records a
//! success counts down, so that a chain goes on exactly once, whatever crashes.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::Result;
use super::open::Store;
use crate::model::JobState;
use crate::text::Timestamp;

/// A job that a blocked job waits for, directly or through other blocked jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    pub id: i64,
    /// None: it was removed, and will never succeed.
    pub job: Option<AwaitedJob>,
}

impl Awaited {
    /// Does the wait end by itself, as far as anybody can know?
    pub fn may_succeed(&self) -> bool {
        self.job.as_ref().is_some_and(|job| !job.state.is_final())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitedJob {
    pub name: String,
    pub state: JobState,
    pub retryable: bool,
}

/// Blocked jobs that a worker would take once they are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Blocked {
    /// The wait of some job can end by itself.
    pub goes_on: bool,
    /// Jobs that wait for dead, cancelled or removed ones, or in a damaged file for none at all.
    pub stuck: u64,
}

impl Store {
    /// The blocked jobs of these queues (none: of all), except of paused ones. Looks at every blocked job.
    pub fn blocked(&self, selected: Option<&[String]>) -> Result<Blocked> {
        let sql = "WITH RECURSIVE blocked (id, queue) AS
                       (SELECT id, queue FROM jobs WHERE state = 'pending' AND waiting_for > 0),
                   stuck (id) AS
                       (SELECT id FROM blocked WHERE EXISTS
                            (SELECT 1 FROM dependencies AS d LEFT JOIN jobs AS a ON a.id = d.after_id
                             WHERE d.job_id = blocked.id AND coalesce(a.state, 'dead') IN ('dead', 'cancelled'))
                        OR NOT EXISTS
                            (SELECT 1 FROM dependencies AS d JOIN jobs AS a ON a.id = d.after_id
                             WHERE d.job_id = blocked.id AND a.state IN ('pending', 'running'))
                        UNION SELECT d.job_id FROM stuck JOIN dependencies AS d ON d.after_id = stuck.id)
                   SELECT queue, count(*), sum(id IN (SELECT id FROM stuck)) FROM blocked
                   WHERE queue NOT IN (SELECT name FROM queues WHERE paused) GROUP BY queue";
        self.read(|tx| {
            let mut statement = tx.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut blocked = Blocked::default();
            while let Some(row) = rows.next()? {
                let (queue, all, stuck): (String, u64, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                if selected.is_none_or(|names| names.contains(&queue)) {
                    blocked.goes_on |= stuck < all;
                    blocked.stuck += stuck;
                }
            }
            Ok(blocked)
        })
    }
}

/// The job that this job waits for: one that will not succeed by itself before others. None unless the job is blocked.
pub(super) fn awaited(tx: &Connection, id: i64, now: Timestamp) -> Result<Option<Awaited>> {
    let sql = "WITH RECURSIVE before (id) AS
                   (SELECT after_id FROM dependencies WHERE job_id = ?1
                    UNION SELECT d.after_id FROM before
                    JOIN jobs AS b ON b.id = before.id AND b.state = 'pending' AND b.waiting_for > 0
                    JOIN dependencies AS d ON d.job_id = b.id),
               found (id, name, definition_id, state, is_blocked) AS
                   (SELECT before.id, j.name, j.definition_id,
                           iif(j.state = 'pending' AND j.expires_at <= ?2, 'dead', j.state),
                           coalesce(j.state = 'pending' AND j.waiting_for > 0, 0)
                    FROM before LEFT JOIN jobs AS j ON j.id = before.id)
               SELECT f.id, f.name, f.state, coalesce(d.spec ->> '$.policy.retryable', 1)
               FROM found AS f LEFT JOIN definitions AS d ON d.id = f.definition_id
               WHERE f.state IS NOT 'succeeded' AND NOT (f.is_blocked AND f.state = 'pending')
               ORDER BY coalesce(f.state IN ('pending', 'running'), 0), f.id LIMIT 1";
    let found = tx.prepare_cached(sql)?.query_row(params![id, now.0], |row| {
        let state: Option<String> = row.get(2)?;
        let job = match (row.get(1)?, state.as_deref().and_then(JobState::parse)) {
            (Some(name), Some(state)) => Some(AwaitedJob { name, state, retryable: row.get(3)? }),
            _ => None,
        };
        Ok(Awaited { id: row.get(0)?, job })
    });
    Ok(found.optional()?)
}

pub(super) fn exists(tx: &Connection, id: i64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1)";
    Ok(tx.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
}

/// How many of these jobs have not succeeded.
pub(super) fn count_unfinished(tx: &Connection, ids: &[i64]) -> Result<u32> {
    let mut waiting_for = 0;
    for id in ids {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'succeeded')";
        waiting_for += tx.prepare_cached(sql)?.query_row([id], |row| row.get::<_, u32>(0))?;
    }
    Ok(waiting_for)
}

/// Records that this job is after those.
pub(super) fn insert(tx: &Connection, job: i64, after: &[i64]) -> Result<()> {
    for after in after {
        tx.prepare_cached("INSERT INTO dependencies (job_id, after_id) VALUES (?1, ?2)")?
            .execute([job, *after])?;
    }
    Ok(())
}

/// The jobs that this one is after.
pub(super) fn after(tx: &Connection, job: i64) -> Result<Vec<i64>> {
    let mut statement =
        tx.prepare_cached("SELECT after_id FROM dependencies WHERE job_id = ?1 ORDER BY after_id")?;
    Ok(statement.query_map([job], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Counts this job, which has succeeded, down in all that is after it. True if one of them waits for nothing more.
pub(super) fn release(tx: &Connection, job: i64) -> Result<bool> {
    let waiting: Vec<i64> = {
        let mut statement = tx.prepare_cached("SELECT job_id FROM dependencies WHERE after_id = ?1")?;
        statement.query_map([job], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    let mut is_one_free = false;
    for id in waiting {
        let sql = "UPDATE jobs SET waiting_for = waiting_for - 1 WHERE id = ?1 RETURNING waiting_for = 0";
        is_one_free |= tx.prepare_cached(sql)?.query_row([id], |row| row.get::<_, bool>(0))?;
    }
    Ok(is_one_free)
}

/// Lets the jobs that are after the old job wait for the new one.
pub(super) fn replace(tx: &Connection, old: i64, new: i64) -> Result<()> {
    tx.prepare_cached("UPDATE dependencies SET after_id = ?2 WHERE after_id = ?1")?.execute([old, new])?;
    Ok(())
}
