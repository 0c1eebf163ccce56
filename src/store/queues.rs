//! Queues: which are there, which are paused, what waits in them.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Result, Store, StoreError};
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

/// The queues that a worker may claim from now: with waiting jobs, selected, and not paused.
pub(super) fn open_queues(connection: &Connection, selected: Option<&[String]>) -> Result<Vec<String>> {
    let mut queues = match selected {
        Some(names) => names.to_vec(),
        None => waiting_queues(connection)?,
    };
    let mut paused =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM paused_queues WHERE name = ?1)")?;
    let mut open = Vec::with_capacity(queues.len());
    for queue in queues.drain(..) {
        // One that is named twice must not offer its jobs twice.
        if !open.contains(&queue) && !paused.query_row([&queue], |row| row.get::<_, bool>(0))? {
            open.push(queue);
        }
    }
    Ok(open)
}

/// The priorities of a queue are walked from the highest down. In an index that is out of order the walk would not end.
fn check_descent(priority: i32, below: i32) -> Result<()> {
    if priority < below { Ok(()) } else { Err(out_of_order()) }
}

fn out_of_order() -> StoreError {
    StoreError::contradiction("the index of waiting jobs is out of order")
}

/// The queues of all waiting jobs, each once, found by leaps over the index.
pub(super) fn waiting_queues(connection: &Connection) -> Result<Vec<String>> {
    let mut next = connection.prepare_cached(
        "SELECT queue FROM jobs WHERE state = 'pending' AND queue > ?1 ORDER BY queue LIMIT 1",
    )?;
    let mut queues: Vec<String> = Vec::new();
    loop {
        let after = queues.last().map_or("", String::as_str);
        match next.query_row([after], |row| row.get::<_, String>(0)).optional()? {
            Some(queue) if queue.as_str() > after => queues.push(queue),
            Some(_) => return Err(out_of_order()),
            None => return Ok(queues),
        }
    }
}

/// The priorities of the jobs that wait in this queue, each once, the highest first, found by leaps over the index.
pub(super) fn priorities(connection: &Connection, queue: &str) -> Result<Vec<i32>> {
    let mut next = connection.prepare_cached(
        "SELECT priority FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority < ?2
         ORDER BY priority DESC LIMIT 1",
    )?;
    let mut priorities: Vec<i32> = Vec::new();
    loop {
        let below = priorities.last().copied().unwrap_or(i32::MAX);
        match next.query_row(params![queue, below], |row| row.get(0)).optional()? {
            Some(priority) => {
                check_descent(priority, below)?;
                priorities.push(priority);
            }
            None => return Ok(priorities),
        }
    }
}

/// What is left to do in the queues that a worker looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// A job is running, here or in another worker.
    pub running: bool,
    /// A job is waiting and due.
    pub due: bool,
    /// A job is waiting, due or not.
    pub waiting: bool,
    /// When the first waiting job that is not yet due falls due.
    pub next_due: Option<Timestamp>,
}

/// Looks at what is left in these queues (none: in all), paused ones left out.
pub(super) fn backlog(
    connection: &Connection,
    selected: Option<&[String]>,
    now: Timestamp,
) -> Result<Backlog> {
    let mut backlog = Backlog { running: any_running(connection, selected)?, ..Backlog::default() };
    let mut level = connection.prepare_cached(
        "SELECT priority, run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority < ?2
         ORDER BY priority DESC, run_at LIMIT 1",
    )?;
    let mut later = connection.prepare_cached(
        "SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at > ?3
         ORDER BY run_at LIMIT 1",
    )?;
    for queue in open_queues(connection, selected)? {
        let mut below = i32::MAX;
        let row = |row: &rusqlite::Row| Ok((row.get::<_, i32>(0)?, row.get::<_, i64>(1)?));
        while let Some((priority, first)) = level.query_row(params![queue, below], row).optional()? {
            check_descent(priority, below)?;
            below = priority;
            backlog.waiting = true;
            backlog.due |= first <= now.0;
            let next: Option<i64> =
                later.query_row(params![queue, priority, now.0], |row| row.get(0)).optional()?;
            backlog.next_due = earlier(backlog.next_due, next.map(Timestamp));
        }
    }
    let expiry: Option<i64> = connection
        .prepare_cached(
            "SELECT min(expires_at) FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL",
        )?
        .query_row([], |row| row.get(0))?;
    backlog.next_due = earlier(backlog.next_due, expiry.map(Timestamp));
    Ok(backlog)
}

/// The earlier of these, where there are any.
pub(super) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

fn any_running(connection: &Connection, selected: Option<&[String]>) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT j.queue, j.id, EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                       WHERE id = j.worker_id AND ended_at IS NULL)
         FROM jobs AS j WHERE j.state = 'running'
         AND NOT EXISTS (SELECT 1 FROM paused_queues WHERE name = j.queue)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let queue: String = row.get(0)?;
        if !row.get::<_, bool>(2)? {
            // Nobody would ever end it, and whoever waits for it would wait for ever.
            let id: i64 = row.get(1)?;
            return Err(StoreError::contradiction(format!("job {id} is held by a worker that has ended")));
        }
        if selected.is_none_or(|names| names.contains(&queue)) {
            return Ok(true);
        }
    }
    Ok(false)
}
