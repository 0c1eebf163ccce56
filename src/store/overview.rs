//! The state of everything in a few numbers.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Result, Store, queues};
use crate::model::EXPIRED;
use crate::text::Timestamp;

/// Jobs by where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Waiting and due.
    pub ready: u64,
    /// Due in the future, never started.
    pub scheduled: u64,
    /// Due in the future, started before.
    pub retrying: u64,
    /// Claimed by a worker.
    pub running: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Given up.
    pub dead: u64,
    /// Called off.
    pub cancelled: u64,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// Its name.
    pub name: String,
    /// Nothing is claimed from it.
    pub paused: bool,
    /// Its jobs; of these only ready, scheduled, retrying and running matter.
    pub counts: Counts,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// All jobs.
    pub counts: Counts,
    /// Queues with unfinished jobs, and paused ones, by name.
    pub queues: Vec<QueueRow>,
    /// Dead jobs by their error code.
    pub dead_by_error_code: BTreeMap<String, u64>,
    /// The earliest due time in the future.
    pub next_run_at: Option<Timestamp>,
    /// The earliest due time among ready jobs.
    pub oldest_due_at: Option<Timestamp>,
}

impl Counts {
    /// Jobs that are not finished.
    pub fn unfinished(&self) -> u64 {
        self.ready + self.scheduled + self.retrying + self.running
    }
}

impl Store {
    /// Everything as it is to be seen at `now`, counted from indexes alone.
    pub fn overview(&mut self, now: Timestamp) -> Result<Overview> {
        self.read(|tx| {
            let mut overview = Overview::default();
            let mut queues = unfinished(tx, now, &mut overview)?;
            finished(tx, &mut overview)?;
            let mut paused = tx.prepare_cached("SELECT name FROM paused_queues")?;
            let mut rows = paused.query([])?;
            while let Some(row) = rows.next()? {
                queues.entry(row.get(0)?).or_default().0 = true;
            }
            let queues =
                queues.into_iter().filter(|(_, (paused, counts))| *paused || counts.unfinished() > 0);
            overview.queues =
                queues.map(|(name, (paused, counts))| QueueRow { name, paused, counts }).collect();
            (overview.oldest_due_at, overview.next_run_at) = first_due(tx, now)?;
            Ok(overview)
        })
    }
}

/// Counts the jobs that wait and run, for each queue and altogether. A waiting job that has expired is dead, whether
/// anybody has recorded it or not.
fn unfinished(
    tx: &Connection,
    now: Timestamp,
    overview: &mut Overview,
) -> Result<BTreeMap<String, (bool, Counts)>> {
    let mut queues: BTreeMap<String, (bool, Counts)> = BTreeMap::new();
    let mut waiting = tx.prepare_cached(
        "SELECT queue, count(*), sum(run_at > ?1), sum(run_at > ?1 AND attempts > 0),
                coalesce(sum(expires_at <= ?1), 0)
         FROM jobs WHERE state = 'pending' GROUP BY queue",
    )?;
    let mut rows = waiting.query([now.0])?;
    while let Some(row) = rows.next()? {
        let (all, later, expired): (u64, u64, u64) = (row.get(1)?, row.get(2)?, row.get(4)?);
        let counts = &mut queues.entry(row.get(0)?).or_default().1;
        counts.retrying = row.get(3)?;
        counts.scheduled = later.saturating_sub(counts.retrying);
        // What has expired is past due.
        counts.ready = all.saturating_sub(later + expired);
        counts.dead = expired;
    }
    for queue in running_jobs(tx)? {
        queues.entry(queue).or_default().1.running += 1;
    }
    let all = &mut overview.counts;
    for (_, counts) in queues.values() {
        all.ready += counts.ready;
        all.scheduled += counts.scheduled;
        all.retrying += counts.retrying;
        all.running += counts.running;
        all.dead += counts.dead;
    }
    if all.dead > 0 {
        overview.dead_by_error_code.insert(EXPIRED.to_owned(), all.dead);
    }
    Ok(queues)
}

/// Adds the jobs that are over.
fn finished(tx: &Connection, overview: &mut Overview) -> Result<()> {
    let count = |state: &str| -> Result<u64> {
        let mut statement =
            tx.prepare_cached(&format!("SELECT count(*) FROM jobs WHERE state = '{state}'"))?;
        Ok(statement.query_row([], |row| row.get(0))?)
    };
    overview.counts.succeeded = count("succeeded")?;
    overview.counts.cancelled = count("cancelled")?;
    let mut dead = tx.prepare_cached(
        "SELECT error_code, count(*) FROM jobs INDEXED BY jobs_dead WHERE state = 'dead' GROUP BY error_code",
    )?;
    let mut rows = dead.query([])?;
    while let Some(row) = rows.next()? {
        let jobs: u64 = row.get(1)?;
        overview.counts.dead += jobs;
        *overview.dead_by_error_code.entry(row.get(0)?).or_default() += jobs;
    }
    Ok(())
}

/// The queue of each running job.
fn running_jobs(tx: &Connection) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached("SELECT queue FROM jobs WHERE state = 'running'")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The earliest due time among ready jobs, and the earliest one in the future.
fn first_due(tx: &Connection, now: Timestamp) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    let mut due = tx.prepare_cached(
        "SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at <= ?3
         AND (expires_at IS NULL OR expires_at > ?3) ORDER BY run_at LIMIT 1",
    )?;
    let mut later = tx.prepare_cached(
        "SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at > ?3
         ORDER BY run_at LIMIT 1",
    )?;
    let (mut oldest, mut next) = (None, None);
    for queue in queues::waiting_queues(tx)? {
        for priority in queues::priorities(tx, &queue)? {
            let level = params![queue, priority, now.0];
            let first = due.query_row(level, |row| row.get(0)).optional()?;
            oldest = queues::earlier(oldest, first.map(Timestamp));
            let first = later.query_row(level, |row| row.get(0)).optional()?;
            next = queues::earlier(next, first.map(Timestamp));
        }
    }
    Ok((oldest, next))
}
