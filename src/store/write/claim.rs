//! Claiming due jobs for a worker: by priority, then due time, then id.
//!
//! A claim must be as fast with a million pending jobs as with one, so it never scans them: the index leads it to each
//! priority in use, and then to the due jobs of one priority at a time. How many jobs a queue may start is in `limits`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use super::conditions::{is_known, is_ready, is_unblocked};
use super::definition::{self, DefinitionCache};
use super::dependencies::{self, EndedDependency};
use super::insert::Firing;
use super::kept_by_run::NOT_OF_A_RUN;
use super::limits::QueueCapacity;
use crate::model::{Bytes, ErrorCode, JobDefinition};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::row::{all, from_row, maybe, one, run, value};
use crate::store::file::version::Version;
use crate::text::Timestamp;

/// A job that a worker holds, with all that its next attempt needs.
#[derive(Clone, Debug)]
pub struct Claim {
    pub job_id: i64,
    /// The number of the next attempt.
    pub number: u32,
    /// The number of that attempt in the budget, from 1.
    pub attempt_in_budget: u32,
    pub definition: Arc<JobDefinition>,
    pub queue: String,
    /// The job must not start at or after this time.
    pub expires_at: Option<Timestamp>,
    /// Appended to the command.
    pub args: Vec<Bytes>,
    /// Tells it from other jobs of its name.
    pub label: Option<String>,
    /// The standard input of the attempt.
    pub stdin: Option<Vec<u8>>,
    /// The error code of the previous attempt, if that one failed.
    pub last_error_code: Option<ErrorCode>,
    /// The secret of the worker that ran the previous attempt, and the version of its program. None if that worker belongs to a
    /// database of which this one is a copy.
    pub last_mark: Option<(String, Version)>,
    /// The time of the schedule that enqueued the job.
    pub scheduled: Option<Firing>,
    pub dependencies: Vec<EndedDependency>,
}

/// A due job that may be claimed.
struct Candidate {
    id: i64,
    run_at: Timestamp,
}

/// A job whose turn has come and that cannot be read, because its row or its definition is damaged.
#[derive(Debug)]
pub struct UnreadableJob {
    pub id: i64,
    pub why: String,
}

/// The condition on `jobs` that leaves these out.
pub fn none_of(jobs: &[i64]) -> String {
    if jobs.is_empty() {
        return "1".to_owned();
    }
    let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    format!("id NOT IN ({})", ids.join(", "))
}

/// The condition on `jobs` for what a worker may claim: not the jobs of a living `run`, and not these, which it cannot read.
pub fn claimable(left_alone: &[i64]) -> String {
    format!("{NOT_OF_A_RUN} AND {}", none_of(left_alone))
}

/// Claims of one worker in one turn.
pub struct Claiming<'a> {
    pub tx: &'a Connection,
    pub definitions: &'a mut DefinitionCache,
    /// The row id of the worker.
    pub worker: i64,
    /// Jobs that it cannot read.
    pub left_alone: &'a [i64],
}

impl Claiming<'_> {
    /// Claims up to `limit` due jobs of these priorities, which are in order, as `capacity` allows. A job that cannot be read stays
    /// as it is, and is told.
    pub fn claim(
        &mut self,
        priorities: &[QueuePriority],
        limit: usize,
        capacity: &mut QueueCapacity,
        unreadable: &mut Vec<UnreadableJob>,
    ) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        if limit == 0 {
            return Ok(claims);
        }
        for same_priority in priorities.chunk_by(|a, b| a.1 == b.1) {
            let mut due = Vec::new();
            for priority in same_priority {
                let wanted = capacity.available(&priority.0).min(limit - claims.len());
                if wanted > 0 {
                    due.extend(self.due_jobs(priority, capacity.now, wanted)?);
                }
            }
            due.sort_by_key(|candidate| (candidate.run_at, candidate.id));
            due.truncate(limit - claims.len());
            for Candidate { id, .. } in due {
                match start(self.tx, self.definitions, self.worker, id, capacity) {
                    Ok(claim) => claims.extend(claim),
                    Err(StoreError::InvalidData(why)) => unreadable.push(UnreadableJob { id, why }),
                    Err(other) => return Err(other),
                }
            }
            if claims.len() >= limit {
                break;
            }
        }
        Ok(claims)
    }

    fn due_jobs(
        &self,
        (queue, priority): &QueuePriority,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Candidate>> {
        let sql = format!(
            "SELECT id, run_at FROM jobs
             WHERE {} AND queue = ?1 AND priority = ?2 AND {} AND {}
             ORDER BY run_at, id LIMIT ?4",
            is_ready("jobs", "?3"),
            is_known("jobs"),
            claimable(self.left_alone)
        );
        all(self.tx, &sql, params![queue, priority, now, limit], |row| {
            Ok(from_row!(row, Candidate { id, run_at }))
        })
    }
}

/// Claims this job, which may start now. None if it turns out not to be pending, which only happens in a damaged file.
pub fn start(
    tx: &Connection,
    definitions: &mut DefinitionCache,
    worker: i64,
    id: i64,
    capacity: &mut QueueCapacity,
) -> Result<Option<Claim>> {
    let claim = read(tx, definitions, worker, id)?;
    let is_claimed = mark_running(tx, worker, id, capacity.now)?;
    if is_claimed {
        capacity.record_start(tx, &claim.queue)?;
    }
    Ok(is_claimed.then_some(claim))
}

fn mark_running(tx: &Connection, worker: i64, id: i64, now: Timestamp) -> Result<bool> {
    let sql = format!(
        "UPDATE jobs SET state = 'running', worker_id = ?2, changed_at = ?3 WHERE id = ?1 AND {}",
        is_unblocked("jobs")
    );
    Ok(run(tx, &sql, params![id, worker, now])? > 0)
}

/// Everything that the next attempt of this job needs.
fn read(tx: &Connection, definitions: &mut DefinitionCache, worker: i64, id: i64) -> Result<Claim> {
    // The name is read here, too, so that a damaged one is found before its command is started, and not at its end.
    let sql =
        "SELECT j.definition_id, j.name, j.queue, j.args_nul, j.label, j.attempts, j.attempts_used, j.expires_at, i.stdin, a.error_code,
                w.mark, w.version, j.scheduled_for, j.scheduled_offset,
                EXISTS (SELECT 1 FROM dependencies AS d WHERE d.job_id = j.id) AS has_dependencies
         FROM jobs AS j LEFT JOIN inputs AS i ON i.job_id = j.id
         LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
         LEFT JOIN workers AS w ON w.id = a.worker_id AND EXISTS
             (SELECT 1 FROM workers AS own WHERE own.id = ?2 AND (own.db_path = w.db_path
                  OR (own.db_device = w.db_device AND own.db_inode = w.db_inode)))
         WHERE j.id = ?1";
    let next = |count: u32| {
        count
            .checked_add(1)
            .ok_or_else(|| StoreError::InvalidData(format!("job {id} counts {count} attempts")))
    };
    one(tx, sql, [id, worker], |row| {
        Ok(Claim {
            job_id: id,
            number: next(row.get("attempts")?)?,
            attempt_in_budget: next(row.get("attempts_used")?)?,
            definition: definitions.get(tx, row.get("definition_id")?)?,
            queue: row.get("queue")?,
            expires_at: row.get("expires_at")?,
            args: definition::args(row)?,
            label: row.get("label")?,
            stdin: row.get("stdin")?,
            last_error_code: row.get("error_code")?,
            last_mark: match row.get("mark")? {
                Some(mark) => Some((mark, Version(row.get("version")?))),
                None => None,
            },
            scheduled: Firing::read(row)?,
            dependencies: if row.get("has_dependencies")? {
                dependencies::ended(tx, id)?
            } else {
                Vec::new()
            },
        })
    })
}

/// A queue and a priority that have pending jobs.
pub type QueuePriority = (String, i32);

/// The priorities of the queues that a worker may claim from, the highest first: of the selected queues (none: of all) that
/// are not paused.
pub fn open_priorities(
    tx: &Connection,
    selected: Option<&[String]>,
    capacity: &QueueCapacity,
) -> Result<Vec<QueuePriority>> {
    let mut priorities = match selected {
        None => priorities(tx)?,
        Some(names) => {
            // A queue that is named twice must not offer its jobs twice.
            let names: BTreeSet<&String> = names.iter().collect();
            let of_queue = |queue: &String| priorities_of(tx, queue);
            names.into_iter().map(of_queue).collect::<Result<Vec<_>>>()?.concat()
        }
    };
    priorities.retain(|(queue, _)| !capacity.is_paused(queue));
    priorities.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
    Ok(priorities)
}

/// All queues with their priorities. Each step seeks the next queue in the index, because a scan would read every job.
pub fn priorities(tx: &Connection) -> Result<Vec<QueuePriority>> {
    let next = format!(
        "SELECT queue, priority FROM jobs WHERE {} AND queue > ?1 ORDER BY queue, priority DESC LIMIT 1",
        is_unblocked("jobs")
    );
    let read = |row: &Row<'_>| Ok((row.get::<_, String>("queue")?, row.get("priority")?));
    let (mut priorities, mut last) = (Vec::new(), String::new());
    while let Some((queue, highest)) = maybe(tx, &next, [&last], read)? {
        if queue <= last {
            return Err(out_of_order());
        }
        priorities.push((queue.clone(), highest));
        priorities.extend(priorities_below(tx, &queue, highest)?);
        last = queue;
    }
    Ok(priorities)
}

/// The priorities of one queue, the highest first.
pub fn priorities_of(tx: &Connection, queue: &str) -> Result<Vec<QueuePriority>> {
    priorities_below(tx, queue, i32::MAX)
}

fn priorities_below(tx: &Connection, queue: &str, mut below: i32) -> Result<Vec<QueuePriority>> {
    let next = format!(
        "SELECT priority FROM jobs WHERE {} AND queue = ?1 AND priority < ?2 ORDER BY priority DESC LIMIT 1",
        is_unblocked("jobs")
    );
    let mut priorities = Vec::new();
    while let Some(priority) = maybe(tx, &next, params![queue, below], value)? {
        if priority >= below {
            return Err(out_of_order());
        }
        priorities.push((queue.to_owned(), priority));
        below = priority;
    }
    Ok(priorities)
}

/// A walk over a damaged index, whose entries are out of order, might never end.
fn out_of_order() -> StoreError {
    StoreError::contradiction("the index of pending jobs is out of order")
}

/// The earliest due time of a ready job on these priorities that meets the condition, and the earliest one in the future.
pub fn due_times(
    tx: &Connection,
    condition: &str,
    priorities: &[QueuePriority],
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    let known = is_known("jobs");
    let first = |which: &str| {
        format!(
            "SELECT run_at FROM jobs WHERE {which} AND queue = ?1 AND priority = ?2 AND {known} AND {condition}
             ORDER BY run_at LIMIT 1"
        )
    };
    let (due, later) = (is_ready("jobs", "?3"), is_unblocked("jobs") + " AND run_at > ?3");
    let sql = format!("SELECT ({}) AS due, ({}) AS later", first(&due), first(&later));
    let (mut due, mut later) = (None, None);
    for (queue, priority) in priorities {
        let found =
            one(tx, &sql, params![queue, priority, now], |row| Ok((row.get("due")?, row.get("later")?)))?;
        due = earlier(due, found.0);
        later = earlier(later, found.1);
    }
    Ok((due, later))
}

/// The earlier of two times, of which either may be missing.
pub fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    a.into_iter().chain(b).min()
}
