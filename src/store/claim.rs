//! Taking due jobs for a worker: by priority, then due time, then id.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::definition::Definitions;
use super::enqueue::unpack_args;
use super::{Result, queues};
use crate::model::{Bytes, ErrorCode, JobSpec, Timestamp};

/// A job that a worker holds, with all that its next attempt needs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The job.
    pub job_id: i64,
    /// The number that its attempt will have.
    pub number: u32,
    /// Which run of the budget that will be, from 1.
    pub budget_number: u32,
    /// The frozen definition.
    pub spec: Arc<JobSpec>,
    /// The queue it waited in.
    pub queue: String,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// What it reads on its standard input.
    pub stdin: Option<Vec<u8>>,
    /// What the attempt before ended with, if it failed.
    pub last_error_code: Option<ErrorCode>,
    /// The name of the worker that ran the attempt before.
    pub last_worker: Option<String>,
}

/// A due job that may be claimed.
struct Candidate {
    id: i64,
    run_at: i64,
}

/// Claims up to `want` due jobs of these queues (none: of all) for the worker with this row id.
pub(super) fn claim(
    connection: &Connection,
    definitions: &mut Definitions,
    worker: i64,
    selected: Option<&[String]>,
    want: usize,
    now: Timestamp,
) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    if want == 0 {
        return Ok(claims);
    }
    let mut levels = waiting_levels(connection, selected)?;
    levels.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
    for same_priority in levels.chunk_by(|a, b| a.1 == b.1) {
        let mut due = Vec::new();
        for (queue, priority) in same_priority {
            due.extend(due_jobs(connection, queue, *priority, now, want - claims.len())?);
        }
        due.sort_by_key(|candidate| (candidate.run_at, candidate.id));
        due.truncate(want - claims.len());
        for candidate in due {
            claims.extend(take(connection, definitions, worker, candidate.id, now)?);
        }
        if claims.len() >= want {
            break;
        }
    }
    Ok(claims)
}

/// The queue and priority of all waiting jobs, each pair once, found by leaps over the index.
fn waiting_levels(connection: &Connection, selected: Option<&[String]>) -> Result<Vec<(String, i32)>> {
    let mut next = connection.prepare_cached(
        "SELECT priority FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority < ?2
         ORDER BY priority DESC LIMIT 1",
    )?;
    let mut levels = Vec::new();
    for queue in queues::open_queues(connection, selected)? {
        let mut below = i32::MAX;
        while let Some(priority) = next.query_row(params![queue, below], |row| row.get(0)).optional()? {
            levels.push((queue.clone(), priority));
            below = priority;
        }
    }
    Ok(levels)
}

fn due_jobs(
    connection: &Connection,
    queue: &str,
    priority: i32,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, run_at FROM jobs
         WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at <= ?3
           AND (expires_at IS NULL OR expires_at > ?3)
         ORDER BY run_at, id LIMIT ?4",
    )?;
    let rows = statement.query_map(params![queue, priority, now.0, limit], |row| {
        Ok(Candidate { id: row.get(0)?, run_at: row.get(1)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

struct JobPart {
    definition_id: i64,
    queue: String,
    args: Vec<Bytes>,
    stdin: Option<Vec<u8>>,
    attempts: u32,
    budget_used: u32,
}

fn take(
    connection: &Connection,
    definitions: &mut Definitions,
    worker: i64,
    id: i64,
    now: Timestamp,
) -> Result<Option<Claim>> {
    let taken = connection
        .prepare_cached(
            "UPDATE jobs SET state = 'running', worker_id = ?2, changed_at = ?3
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![id, worker, now.0])?;
    if taken == 0 {
        return Ok(None); // a queue that is named twice offers its jobs twice
    }
    let part = connection
        .prepare_cached(
            "SELECT definition_id, queue, args, attempts, budget_used,
                    (SELECT stdin FROM inputs WHERE job_id = jobs.id)
             FROM jobs WHERE id = ?1",
        )?
        .query_row([id], |row: &Row| {
            let args: Option<Vec<u8>> = row.get(2)?;
            Ok(JobPart {
                definition_id: row.get(0)?,
                queue: row.get(1)?,
                args: unpack_args(args.as_deref()),
                attempts: row.get(3)?,
                budget_used: row.get(4)?,
                stdin: row.get(5)?,
            })
        })?;
    let before = if part.attempts == 0 { None } else { attempt_before(connection, id, part.attempts)? };
    let (last_error_code, last_worker) = before.unwrap_or_default();
    Ok(Some(Claim {
        job_id: id,
        number: part.attempts + 1,
        budget_number: part.budget_used + 1,
        spec: definitions.get(connection, part.definition_id)?,
        queue: part.queue,
        args: part.args,
        stdin: part.stdin,
        last_error_code,
        last_worker,
    }))
}

/// Error code and worker of this attempt.
fn attempt_before(
    connection: &Connection,
    id: i64,
    number: u32,
) -> Result<Option<(Option<ErrorCode>, Option<String>)>> {
    let sql = "SELECT a.error_code, w.name FROM attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id
               WHERE a.job_id = ?1 AND a.number = ?2";
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![id, number], |row| {
            let code: Option<String> = row.get(0)?;
            Ok((code.and_then(|text| ErrorCode::parse(&text).ok()), row.get(1)?))
        })
        .optional()?)
}
