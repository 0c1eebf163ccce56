//! Taking due jobs for a worker: by priority, then due time, then id.

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::definition::Definitions;
use super::error::{Result, StoreError};
use super::insert::{self, Scheduled, unpack_args};
use super::queues::{self, Gate};
use crate::model::{Bytes, ErrorCode, JobSpec};
use crate::text::Timestamp;

/// A job that a worker holds, with all that its next attempt needs.
#[derive(Clone, Debug)]
pub struct Claim {
    pub job_id: i64,
    /// The number of the next attempt.
    pub number: u32,
    /// The number of that run in the budget, from 1.
    pub budget_number: u32,
    pub spec: Arc<JobSpec>,
    pub queue: String,
    /// The job must not start from this time on.
    pub expires_at: Option<Timestamp>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// Standard input.
    pub stdin: Option<Vec<u8>>,
    /// The error code of the attempt before, if that attempt failed.
    pub last_error_code: Option<ErrorCode>,
    /// The worker that ran the attempt before, unless that worker belongs to a database of which this one is a copy.
    pub last_worker: Option<String>,
    /// The schedule's time for this job.
    pub scheduled: Option<Scheduled>,
}

/// A due job that may be claimed.
struct Candidate {
    id: i64,
    run_at: i64,
}

/// Claims up to `limit` due jobs of these queues (none: of all) for the worker with this row id, as `gate` allows.
pub(super) fn claim(
    tx: &Connection,
    definitions: &mut Definitions,
    worker: i64,
    selected: Option<&[String]>,
    limit: usize,
    gate: &mut Gate,
) -> Result<Vec<Claim>> {
    let now = gate.now;
    let mut claims = Vec::new();
    if limit == 0 {
        return Ok(claims);
    }
    let levels = queues::open_levels(tx, selected, gate)?;
    for same_priority in levels.chunk_by(|a, b| a.1 == b.1) {
        let mut due = Vec::new();
        for (queue, priority) in same_priority {
            let wanted = gate.room(queue).min(limit - claims.len());
            if wanted > 0 {
                due.extend(due_jobs(tx, queue, *priority, now, wanted)?);
            }
        }
        due.sort_by_key(|candidate| (candidate.run_at, candidate.id));
        due.truncate(limit - claims.len());
        for candidate in due {
            let claim = read(tx, definitions, worker, candidate.id)?;
            take(tx, worker, &claim, now)?;
            gate.record_start(tx, &claim.queue)?;
            claims.push(claim);
        }
        if claims.len() >= limit {
            break;
        }
    }
    Ok(claims)
}

fn due_jobs(
    tx: &Connection,
    queue: &str,
    priority: i32,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let mut statement = tx.prepare_cached(
        "SELECT id, run_at FROM jobs
         WHERE state = 'pending' AND waiting_for = 0 AND queue = ?1 AND priority = ?2 AND run_at <= ?3
           AND (expires_at IS NULL OR expires_at > ?3)
         ORDER BY run_at, id LIMIT ?4",
    )?;
    let rows = statement.query_map(params![queue, priority, now.0, limit], |row| {
        Ok(Candidate { id: row.get(0)?, run_at: row.get(1)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn take(tx: &Connection, worker: i64, claim: &Claim, now: Timestamp) -> Result<()> {
    let taken = tx
        .prepare_cached(
            "UPDATE jobs SET state = 'running', worker_id = ?2, changed_at = ?3
             WHERE id = ?1 AND state = 'pending' AND waiting_for = 0",
        )?
        .execute(params![claim.job_id, worker, now.0])?;
    if taken == 0 {
        // A job that is passed over would be offered again and again.
        let words = format!("an index calls job {} due, its row does not", claim.job_id);
        return Err(StoreError::contradiction(words));
    }
    Ok(())
}

/// Everything that the next attempt of this job needs.
fn read(tx: &Connection, definitions: &mut Definitions, worker: i64, id: i64) -> Result<Claim> {
    let mut statement = tx.prepare_cached(
        "SELECT j.definition_id, j.queue, j.args, j.attempts, j.budget_used, j.expires_at, i.stdin, a.error_code, w.name,
                j.scheduled_for, j.scheduled_offset
         FROM jobs AS j LEFT JOIN inputs AS i ON i.job_id = j.id
         LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
         LEFT JOIN workers AS w ON w.id = a.worker_id AND w.db = (SELECT db FROM workers WHERE id = ?2)
         WHERE j.id = ?1",
    )?;
    let mut rows = statement.query([id, worker])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let next = |count: u32| {
        count
            .checked_add(1)
            .ok_or_else(|| StoreError::InvalidData(format!("job {id} counts {count} attempts")))
    };
    let args: Option<Vec<u8>> = row.get(2)?;
    let last_code: Option<String> = row.get(7)?;
    Ok(Claim {
        job_id: id,
        number: next(row.get(3)?)?,
        budget_number: next(row.get(4)?)?,
        spec: definitions.get(tx, row.get(0)?)?,
        queue: row.get(1)?,
        expires_at: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        args: unpack_args(args.as_deref()),
        stdin: row.get(6)?,
        last_error_code: last_code.and_then(|code| ErrorCode::parse(&code).ok()),
        last_worker: row.get(8)?,
        scheduled: insert::scheduled(row.get(9)?, row.get(10)?),
    })
}
