//! Queues: which are there, which are paused, what waits in them.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::error::{Result, StoreError};
use super::open::Store;
use super::schedules;
use crate::text::Timestamp;

impl Store {
    /// Pauses a queue, or resumes it. True where that changed something.
    pub fn set_paused(&mut self, queue: &str, paused: bool) -> Result<bool> {
        let sql = if paused {
            "INSERT INTO paused_queues (name) VALUES (?1) ON CONFLICT DO NOTHING"
        } else {
            "DELETE FROM paused_queues WHERE name = ?1"
        };
        self.write(|tx| Ok(tx.execute(sql, [queue])? > 0))
    }

    /// The number of unfinished jobs in these queues (none: in all).
    pub fn count_unfinished(&self, selected: Option<&[String]>) -> Result<u64> {
        self.read(|tx| {
            let mut count = tx.prepare_cached(
                "SELECT (SELECT count(*) FROM jobs WHERE state = 'pending' AND (?1 IS NULL OR queue = ?1))
                      + (SELECT count(*) FROM jobs WHERE state = 'running' AND (?1 IS NULL OR queue = ?1))",
            )?;
            let Some(queues) = selected else {
                return Ok(count.query_row([None::<&str>], |row| row.get(0))?);
            };
            let counts = queues.iter().map(|queue| count.query_row([queue], |row| row.get::<_, u64>(0)));
            Ok(counts.sum::<rusqlite::Result<_>>()?)
        })
    }
}

/// A queue and a priority that have waiting jobs.
pub(super) type Level = (String, i32);

/// The levels of the queues that a worker may claim from: selected (none: all), and not paused. The highest priority first.
pub(super) fn open_levels(tx: &Connection, selected: Option<&[String]>) -> Result<Vec<Level>> {
    let paused: Vec<String> = {
        let mut statement = tx.prepare_cached("SELECT name FROM paused_queues")?;
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    let mut levels = match selected {
        None => levels(tx)?,
        Some(names) => {
            // A queue that is named twice must not offer its jobs twice.
            let names: BTreeSet<&String> = names.iter().collect();
            let of_queue = |queue: &String| levels_of(tx, queue);
            names.into_iter().map(of_queue).collect::<Result<Vec<_>>>()?.concat()
        }
    };
    levels.retain(|(queue, _)| !paused.contains(queue));
    levels.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
    Ok(levels)
}

/// All levels, found by leaps over the index.
pub(super) fn levels(tx: &Connection) -> Result<Vec<Level>> {
    let mut next = tx.prepare_cached(
        "SELECT queue FROM jobs WHERE state = 'pending' AND queue > ?1 ORDER BY queue LIMIT 1",
    )?;
    let (mut levels, mut last) = (Vec::new(), String::new());
    while let Some(queue) = next.query_row([&last], |row| row.get::<_, String>(0)).optional()? {
        if queue <= last {
            return Err(out_of_order());
        }
        levels.extend(levels_of(tx, &queue)?);
        last = queue;
    }
    Ok(levels)
}

/// The levels of one queue, the highest priority first.
fn levels_of(tx: &Connection, queue: &str) -> Result<Vec<Level>> {
    let mut next = tx.prepare_cached(
        "SELECT priority FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority < ?2
         ORDER BY priority DESC LIMIT 1",
    )?;
    let (mut levels, mut below) = (Vec::new(), i32::MAX);
    while let Some(priority) = next.query_row(params![queue, below], |row| row.get(0)).optional()? {
        if priority >= below {
            return Err(out_of_order());
        }
        levels.push((queue.to_owned(), priority));
        below = priority;
    }
    Ok(levels)
}

/// In such an index a walk would not end.
fn out_of_order() -> StoreError {
    StoreError::contradiction("the index of waiting jobs is out of order")
}

/// The earliest due time of a ready job on these levels, and the earliest one in the future.
pub(super) fn due_times(
    tx: &Connection,
    levels: &[Level],
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    let mut statement = tx.prepare_cached(
        "SELECT (SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at <= ?3
                 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY run_at LIMIT 1),
                (SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at > ?3
                 ORDER BY run_at LIMIT 1)",
    )?;
    let (mut due, mut later) = (None, None);
    for (queue, priority) in levels {
        let found = statement.query_row(params![queue, priority, now.0], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
        })?;
        due = earlier(due, found.0.map(Timestamp));
        later = earlier(later, found.1.map(Timestamp));
    }
    Ok((due, later))
}

/// Work left in the selected queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// A job is running, here or in another worker.
    pub running: bool,
    /// A job is waiting and due.
    pub due: bool,
    /// A job is waiting, due or not.
    pub waiting: bool,
    /// When the next job falls due or expires, or the next schedule fires.
    pub next_due: Option<Timestamp>,
}

/// Finds the work left in these queues (none: in all), except in paused ones.
pub(super) fn backlog(tx: &Connection, selected: Option<&[String]>, now: Timestamp) -> Result<Backlog> {
    let levels = open_levels(tx, selected)?;
    let (due, next_due) = due_times(tx, &levels, now)?;
    let expiry: Option<i64> = tx
        .prepare_cached(
            "SELECT min(expires_at) FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(Backlog {
        running: any_running(tx, selected)?,
        due: due.is_some(),
        waiting: !levels.is_empty(),
        next_due: earlier(earlier(next_due, expiry.map(Timestamp)), schedules::next_due(tx)?),
    })
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    a.into_iter().chain(b).min()
}

fn any_running(tx: &Connection, selected: Option<&[String]>) -> Result<bool> {
    let mut statement = tx.prepare_cached(
        "SELECT j.queue, j.id, EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                       WHERE id = j.worker_id AND ended_at IS NULL)
         FROM jobs AS j WHERE j.state = 'running'
         AND NOT EXISTS (SELECT 1 FROM paused_queues WHERE name = j.queue)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let queue: String = row.get(0)?;
        if !row.get::<_, bool>(2)? {
            // Nobody would ever end this job, and a wait for its end would never end.
            let id: i64 = row.get(1)?;
            return Err(StoreError::contradiction(format!("job {id} is held by a worker that has ended")));
        }
        if selected.is_none_or(|names| names.contains(&queue)) {
            return Ok(true);
        }
    }
    Ok(false)
}
