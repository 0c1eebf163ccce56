//! The reasons for which a queue starts no job: a pause, a limit on running attempts, a rate.
//!
//! A claim reads [`QueueCapacity`] in its own transaction, so that a limit holds over all workers and through crashes. People
//! set limits by hand; `apply` (see `schedules`) sets those of a job file.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use crate::model::{Limits, Rate};
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, each, from_row, run};
use crate::text::Timestamp;

/// The reason why a queue starts none of its due jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockReason {
    Paused,
    /// This many attempts are running, and no more are allowed.
    Full(u32),
    /// The rate allows no start before this time.
    Paced(Rate, Timestamp),
}

/// The columns of `queues` that decide about claims.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    pub paused: bool,
    pub limits: Limits,
    /// The last start while there was a rate, see [`Rate::counted_start`].
    last_start_at: Option<Timestamp>,
}

impl Settings {
    /// Reads a row of `queues`; all columns are null where the queue has none.
    pub fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            paused: row.get::<_, Option<bool>>("paused")?.unwrap_or_default(),
            limits: read_limits(row)?,
            last_start_at: row.get("last_start_at")?,
        })
    }

    /// The reason why the queue starts nothing, if it runs this number of attempts.
    pub fn block_reason(&self, running: u64, now: Timestamp) -> Option<BlockReason> {
        let Limits { max_running, rate } = self.limits;
        if self.paused {
            return Some(BlockReason::Paused);
        }
        if let Some(most) = max_running.filter(|most| running >= u64::from(*most)) {
            return Some(BlockReason::Full(most));
        }
        let (rate, last) = rate.zip(self.last_start_at)?;
        let next = last.plus(rate.spacing());
        (next > now).then_some(BlockReason::Paced(rate, next))
    }
}

/// Reads `max_running` and `rate`.
fn read_limits(row: &Row<'_>) -> Result<Limits> {
    Ok(from_row!(row, Limits { max_running, rate }))
}

/// The rows of `queues`, by name.
pub fn settings(tx: &Connection) -> Result<BTreeMap<String, Settings>> {
    let sql = "SELECT name, paused, max_running, rate, last_start_at FROM queues";
    let rows = all(tx, sql, [], |row| Ok((row.get("name")?, Settings::read(row)?)))?;
    Ok(rows.into_iter().collect())
}

/// The number of running jobs of each queue that has any.
pub fn running(tx: &Connection) -> Result<BTreeMap<String, u64>> {
    let mut running: BTreeMap<String, u64> = BTreeMap::new();
    each(tx, "SELECT queue FROM jobs WHERE state = 'running'", [], |row| {
        *running.entry(row.get("queue")?).or_default() += 1;
        Ok(())
    })?;
    Ok(running)
}

/// How many attempts each queue may start, at the time of a transaction.
#[derive(Debug)]
pub struct QueueCapacity {
    settings: BTreeMap<String, Settings>,
    /// The number of running attempts by queue. Empty if no queue limits it.
    running: BTreeMap<String, u64>,
    pub now: Timestamp,
}

impl QueueCapacity {
    pub fn read(tx: &Tx) -> Result<Self> {
        let settings = settings(tx)?;
        let counts = settings.values().any(|row| row.limits.max_running.is_some());
        let running = if counts { running(tx)? } else { BTreeMap::new() };
        Ok(Self { settings, running, now: tx.now })
    }

    /// The number of attempts that this queue may start now.
    pub fn available(&self, queue: &str) -> usize {
        let Some(row) = self.settings.get(queue) else { return usize::MAX };
        let running = self.running(queue);
        let Limits { max_running, rate } = row.limits;
        let places = max_running.map_or(u64::MAX, |most| u64::from(most).saturating_sub(running));
        match (row.block_reason(running, self.now), rate) {
            (Some(_), _) => 0,
            (None, Some(_)) => 1,
            (None, None) => usize::try_from(places).unwrap_or(usize::MAX),
        }
    }

    /// Counts a claim from this queue, and records its time if the queue has a rate.
    pub fn record_start(&mut self, tx: &Connection, queue: &str) -> Result<()> {
        let Some(row) = self.settings.get_mut(queue) else { return Ok(()) };
        *self.running.entry(queue.to_owned()).or_default() += 1;
        if let Some(rate) = row.limits.rate {
            let start = rate.counted_start(row.last_start_at, self.now);
            row.last_start_at = Some(start);
            run(tx, "UPDATE queues SET last_start_at = ?2 WHERE name = ?1", params![queue, start])?;
        }
        Ok(())
    }

    fn running(&self, queue: &str) -> u64 {
        self.running.get(queue).copied().unwrap_or_default()
    }

    pub fn block_reason(&self, queue: &str) -> Option<BlockReason> {
        self.settings.get(queue)?.block_reason(self.running(queue), self.now)
    }

    pub fn is_paused(&self, queue: &str) -> bool {
        self.settings.get(queue).is_some_and(|row| row.paused)
    }

    /// The queues in which no further attempt may run.
    pub fn full(&self) -> Vec<String> {
        let is_full = |queue: &&String| matches!(self.block_reason(queue), Some(BlockReason::Full(_)));
        self.settings.keys().filter(is_full).cloned().collect()
    }
}

/// A change to the limits of a queue, by a person.
#[derive(Clone, Copy, Debug)]
pub enum LimitChange {
    /// Sets the limits that are given; the others stay.
    Set(Limits),
    /// Removes all limits.
    Lift,
}

/// The limits of a queue, and for each the job file that set it; none if a person did.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LimitRow {
    pub limits: Limits,
    max_running_file: Option<String>,
    rate_file: Option<String>,
}

impl LimitRow {
    fn declared(limits: Limits, file: &str) -> Self {
        Self {
            limits,
            max_running_file: limits.max_running.map(|_| file.to_owned()),
            rate_file: limits.rate.map(|_| file.to_owned()),
        }
    }

    /// The row without the limits that this file set.
    fn without(&self, file: &str) -> Self {
        let mut row = self.clone();
        if row.max_running_file.as_deref() == Some(file) {
            (row.limits.max_running, row.max_running_file) = (None, None);
        }
        if row.rate_file.as_deref() == Some(file) {
            (row.limits.rate, row.rate_file) = (None, None);
        }
        row
    }

    pub fn save(&self, tx: &Connection, queue: &str) -> Result<()> {
        let sql = "INSERT INTO queues (name, max_running, max_running_file, rate, rate_file) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT (name) DO UPDATE SET max_running = ?2, max_running_file = ?3, rate = ?4, rate_file = ?5";
        let Self { limits: Limits { max_running, rate }, max_running_file, rate_file } = self;
        let rate = rate.map(|rate| rate.to_string());
        run(tx, sql, params![queue, max_running, max_running_file, rate, rate_file])?;
        Ok(())
    }
}

impl Store {
    /// Pauses a queue, or resumes it. True if that changed something.
    pub fn set_paused(&mut self, queue: &str, paused: bool) -> Result<bool> {
        let sql = if paused {
            "INSERT INTO queues (name, paused) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET paused = 1 WHERE NOT paused"
        } else {
            "UPDATE queues SET paused = 0 WHERE name = ?1 AND paused"
        };
        self.write_work(|tx| Ok(run(tx, sql, [queue])? > 0))
    }

    /// Changes the limits of a queue by hand.
    pub fn change_limits(&mut self, queue: &str, change: LimitChange) -> Result<()> {
        self.write_work(|tx| {
            let mut row = rows(tx)?.remove(queue).unwrap_or_default();
            match change {
                LimitChange::Lift => row = LimitRow::default(),
                LimitChange::Set(Limits { max_running, rate }) => {
                    if max_running.is_some() {
                        (row.limits.max_running, row.max_running_file) = (max_running, None);
                    }
                    if rate.is_some() {
                        (row.limits.rate, row.rate_file) = (rate, None);
                    }
                }
            }
            row.save(tx, queue)
        })
    }
}

/// The limits of all queues by name.
pub fn rows(tx: &Connection) -> Result<BTreeMap<String, LimitRow>> {
    let sql = "SELECT name, max_running, rate, max_running_file, rate_file FROM queues";
    Ok(all(tx, sql, [], read_row)?.into_iter().collect())
}

fn read_row(row: &Row<'_>) -> Result<(String, LimitRow)> {
    let limits = read_limits(row)?;
    Ok((row.get("name")?, from_row!(row, LimitRow { limits: limits, max_running_file, rate_file })))
}

/// Damaged rows of queues.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let sql =
        "SELECT 'the queue ' || name AS which, name, paused, max_running, rate, max_running_file, rate_file,
                      last_start_at FROM queues";
    row::damaged(tx, sql, [], limit, |row| Ok((read_row(row)?, Settings::read(row)?)))
}

/// The rows as they have to be when this file is applied: of the queues that it declares, and of those that lose what it
/// had set.
pub fn wanted(
    rows: &BTreeMap<String, LimitRow>,
    file: &str,
    declared: &BTreeMap<String, Limits>,
) -> BTreeMap<String, LimitRow> {
    let dropped = rows.iter().filter(|(name, _)| !declared.contains_key(*name));
    let mut wanted: BTreeMap<String, LimitRow> = dropped
        .map(|(name, row)| (name.clone(), row.without(file)))
        .filter(|(name, row)| rows.get(name) != Some(row))
        .collect();
    let declared = declared.iter().map(|(name, limits)| (name.clone(), LimitRow::declared(*limits, file)));
    wanted.extend(declared);
    wanted
}
