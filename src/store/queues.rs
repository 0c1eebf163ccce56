//! Queues: which are there, which are paused or limited, what waits in them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::{Result, StoreError};
use super::open::Store;
use super::schedules;
use crate::model::{Limits, Rate};
use crate::text::Timestamp;

/// The reason why a queue does not start its due jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Paused,
    /// So many attempts are running, and no more may.
    Full(u32),
    /// The rate allows no start before this time.
    Paced(Rate, Timestamp),
}

/// The part of a row of `queues` that decides about claims.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Settings {
    pub paused: bool,
    pub limits: Limits,
    /// The last claim while there was a rate, see [`Rate::counted_start`].
    last_start_at: Option<Timestamp>,
}

impl Settings {
    /// Reads `paused`, `max_running`, `rate` and `last_start_at`, of which `first` is the first column. All of them are null where
    /// the queue has no row.
    pub fn read(row: &Row, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            paused: row.get::<_, Option<bool>>(first)?.unwrap_or_default(),
            limits: read_limits(row, first + 1)?,
            last_start_at: row.get::<_, Option<i64>>(first + 3)?.map(Timestamp),
        })
    }

    /// The reason why the queue starts nothing while it runs so many attempts.
    pub fn hold(&self, running: u64, now: Timestamp) -> Option<Hold> {
        let Limits { max_running, rate } = self.limits;
        if self.paused {
            return Some(Hold::Paused);
        }
        if let Some(most) = max_running.filter(|most| running >= u64::from(*most)) {
            return Some(Hold::Full(most));
        }
        let (rate, last) = rate.zip(self.last_start_at)?;
        let next = last.plus(rate.spacing());
        (next > now).then_some(Hold::Paced(rate, next))
    }
}

/// Reads `max_running` and `rate`, of which `first` is the first column.
pub(super) fn read_limits(row: &Row, first: usize) -> rusqlite::Result<Limits> {
    let rate: Option<String> = row.get(first + 1)?;
    let rate = rate.map(|text| Rate::parse(&text)).transpose().map_err(|why| {
        let why = format!("a rate cannot be read: {why}");
        rusqlite::Error::FromSqlConversionFailure(first + 1, Type::Text, why.into())
    })?;
    Ok(Limits { max_running: row.get(first)?, rate })
}

/// The rows of `queues`, by name.
pub(super) fn settings(tx: &Connection) -> Result<BTreeMap<String, Settings>> {
    let mut statement =
        tx.prepare_cached("SELECT name, paused, max_running, rate, last_start_at FROM queues")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, Settings::read(row, 1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The number of running jobs of each queue that has any.
pub(super) fn running(tx: &Connection) -> Result<BTreeMap<String, u64>> {
    let mut running: BTreeMap<String, u64> = BTreeMap::new();
    let mut statement = tx.prepare_cached("SELECT queue FROM jobs WHERE state = 'running'")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        *running.entry(row.get(0)?).or_default() += 1;
    }
    Ok(running)
}

impl Store {
    /// Pauses a queue, or resumes it. True where that changed something.
    pub fn set_paused(&mut self, queue: &str, paused: bool) -> Result<bool> {
        let sql = if paused {
            "INSERT INTO queues (name, paused) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET paused = 1 WHERE NOT paused"
        } else {
            "UPDATE queues SET paused = 0 WHERE name = ?1 AND paused"
        };
        self.write(|tx| Ok(tx.execute(sql, [queue])? > 0))
    }

    /// The number of unfinished jobs in these queues (none: in all).
    pub fn count_unfinished(&self, selected: Option<&[String]>) -> Result<u64> {
        self.read(|tx| {
            let mut count = tx.prepare_cached(
                "SELECT (SELECT count(*) FROM jobs
                         WHERE state = 'pending' AND waiting_for = 0 AND (?1 IS NULL OR queue = ?1))
                      + (SELECT count(*) FROM jobs
                         WHERE state = 'pending' AND waiting_for > 0 AND (?1 IS NULL OR queue = ?1))
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

/// The starts that the queues allow at one moment.
#[derive(Debug)]
pub(super) struct Gate {
    settings: BTreeMap<String, Settings>,
    /// Counted only if a queue has a `max_running`.
    running: BTreeMap<String, u64>,
    pub now: Timestamp,
}

impl Gate {
    pub fn read(tx: &Connection, now: Timestamp) -> Result<Self> {
        let settings = settings(tx)?;
        let counts = settings.values().any(|row| row.limits.max_running.is_some());
        let running = if counts { running(tx)? } else { BTreeMap::new() };
        Ok(Self { settings, running, now })
    }

    /// The number of attempts that this queue may start now.
    pub fn room(&self, queue: &str) -> usize {
        let Some(row) = self.settings.get(queue) else { return usize::MAX };
        let running = self.running(queue);
        let Limits { max_running, rate } = row.limits;
        let places = max_running.map_or(u64::MAX, |most| u64::from(most).saturating_sub(running));
        match (row.hold(running, self.now), rate) {
            (Some(_), _) => 0,
            (None, Some(_)) => 1,
            (None, None) => usize::try_from(places).unwrap_or(usize::MAX),
        }
    }

    /// Counts a claim from this queue.
    pub fn record_start(&mut self, tx: &Connection, queue: &str) -> Result<()> {
        let Some(row) = self.settings.get_mut(queue) else { return Ok(()) };
        *self.running.entry(queue.to_owned()).or_default() += 1;
        if let Some(rate) = row.limits.rate {
            let start = rate.counted_start(row.last_start_at, self.now);
            row.last_start_at = Some(start);
            tx.prepare_cached("UPDATE queues SET last_start_at = ?2 WHERE name = ?1")?
                .execute(params![queue, start.0])?;
        }
        Ok(())
    }

    fn running(&self, queue: &str) -> u64 {
        self.running.get(queue).copied().unwrap_or_default()
    }

    fn hold(&self, queue: &str) -> Option<Hold> {
        self.settings.get(queue)?.hold(self.running(queue), self.now)
    }

    fn is_paused(&self, queue: &str) -> bool {
        self.settings.get(queue).is_some_and(|row| row.paused)
    }

    /// The queues in which no further attempt may run.
    pub fn full(&self) -> Vec<String> {
        let is_full = |queue: &&String| matches!(self.hold(queue), Some(Hold::Full(_)));
        self.settings.keys().filter(is_full).cloned().collect()
    }
}

/// A queue and a priority that have waiting jobs.
pub(super) type Level = (String, i32);

/// The levels of the queues that a worker may claim from: selected (none: all), and not paused. The highest priority first.
pub(super) fn open_levels(tx: &Connection, selected: Option<&[String]>, gate: &Gate) -> Result<Vec<Level>> {
    let mut levels = match selected {
        None => levels(tx)?,
        Some(names) => {
            // A queue that is named twice must not offer its jobs twice.
            let names: BTreeSet<&String> = names.iter().collect();
            let of_queue = |queue: &String| levels_of(tx, queue);
            names.into_iter().map(of_queue).collect::<Result<Vec<_>>>()?.concat()
        }
    };
    levels.retain(|(queue, _)| !gate.is_paused(queue));
    levels.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
    Ok(levels)
}

/// All levels, found by leaps over the index.
pub(super) fn levels(tx: &Connection) -> Result<Vec<Level>> {
    let mut next = tx.prepare_cached(
        "SELECT queue FROM jobs WHERE state = 'pending' AND waiting_for = 0 AND queue > ?1 ORDER BY queue LIMIT 1",
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
        "SELECT priority FROM jobs WHERE state = 'pending' AND waiting_for = 0 AND queue = ?1 AND priority < ?2
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
        "SELECT (SELECT run_at FROM jobs WHERE state = 'pending' AND waiting_for = 0 AND queue = ?1 AND priority = ?2
                 AND run_at <= ?3 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY run_at LIMIT 1),
                (SELECT run_at FROM jobs WHERE state = 'pending' AND waiting_for = 0 AND queue = ?1 AND priority = ?2
                 AND run_at > ?3 ORDER BY run_at LIMIT 1)",
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

/// The jobs that wait in the selected queues, by the one that is nearest to its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Waiting {
    #[default]
    Nothing,
    /// None is due.
    Later,
    /// One is due, and the limits of its queue hold it back.
    HeldBack,
    /// One is due, and may start.
    Startable,
}

/// Work left in the selected queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// A job is running, here or in another worker.
    pub running: bool,
    pub waiting: Waiting,
    /// When the next job falls due or expires, the rate of its queue lets it start, or the next schedule fires.
    pub next_due: Option<Timestamp>,
    /// An attempt of a full queue has ended, and this worker does not take the next job.
    pub place_freed: bool,
}

/// Finds the work left in these queues (none: in all), except in paused ones. `full` names the queues that were full
/// before attempts ended.
pub(super) fn backlog(
    tx: &Connection,
    selected: Option<&[String]>,
    gate: &Gate,
    full: &[String],
) -> Result<Backlog> {
    let levels = open_levels(tx, selected, gate)?;
    let expiry: Option<i64> = tx
        .prepare_cached(
            "SELECT min(expires_at) FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL",
        )?
        .query_row([], |row| row.get(0))?;
    let mut backlog = Backlog {
        running: any_running(tx, selected)?,
        waiting: if levels.is_empty() { Waiting::Nothing } else { Waiting::Later },
        next_due: earlier(expiry.map(Timestamp), schedules::next_due(tx)?),
        ..Backlog::default()
    };
    for level in &levels {
        let (due, later) = due_times(tx, std::slice::from_ref(level), gate.now)?;
        backlog.next_due = earlier(backlog.next_due, later);
        if due.is_none() {
            continue;
        }
        let hold = gate.hold(&level.0);
        let waiting = if hold.is_some() { Waiting::HeldBack } else { Waiting::Startable };
        backlog.waiting = backlog.waiting.max(waiting);
        if let Some(Hold::Paced(_, next)) = hold {
            backlog.next_due = earlier(backlog.next_due, Some(next));
        }
        let has_place = !matches!(hold, Some(Hold::Full(_)));
        backlog.place_freed |= has_place && full.contains(&level.0);
    }
    Ok(backlog)
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    a.into_iter().chain(b).min()
}

fn any_running(tx: &Connection, selected: Option<&[String]>) -> Result<bool> {
    let mut statement = tx.prepare_cached(
        "SELECT j.queue, j.id, EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                       WHERE id = j.worker_id AND ended_at IS NULL)
         FROM jobs AS j WHERE j.state = 'running'
         AND NOT EXISTS (SELECT 1 FROM queues WHERE name = j.queue AND paused)",
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
