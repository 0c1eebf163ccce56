//! The state of everything in a few numbers.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};

use super::{Result, Store};
use crate::model::Timestamp;

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
    fn add(&mut self, status: &str, number: u64) {
        match status {
            "ready" => self.ready += number,
            "scheduled" => self.scheduled += number,
            "retrying" => self.retrying += number,
            "running" => self.running += number,
            "succeeded" => self.succeeded += number,
            "dead" => self.dead += number,
            "cancelled" => self.cancelled += number,
            _ => {}
        }
    }

    /// Jobs that are not finished.
    pub fn unfinished(&self) -> u64 {
        self.ready + self.scheduled + self.retrying + self.running
    }
}

impl Store {
    /// Counts everything as it is to be seen at `now`.
    pub fn overview(&mut self, now: Timestamp) -> Result<Overview> {
        self.read(|tx| {
            let mut overview = Overview::default();
            count(tx, now, &mut overview)?;
            let mut dead = tx.prepare_cached(
                "SELECT iif(state = 'dead', error_code, 'EXPIRED'), count(*) FROM jobs
                 WHERE state = 'dead' OR state = 'pending' AND expires_at <= ?1 GROUP BY 1",
            )?;
            let mut rows = dead.query(params![now.0])?;
            while let Some(row) = rows.next()? {
                overview.dead_by_error_code.insert(row.get(0)?, row.get(1)?);
            }
            overview.next_run_at = first_due(tx, "run_at > ?1", now)?;
            overview.oldest_due_at = first_due(tx, "run_at <= ?1", now)?;
            Ok(overview)
        })
    }
}

fn first_due(tx: &Transaction, when: &str, now: Timestamp) -> Result<Option<Timestamp>> {
    let sql = format!(
        "SELECT min(run_at) FROM jobs WHERE state = 'pending' AND coalesce(expires_at > ?1, 1) AND {when}"
    );
    let first: Option<i64> = tx.prepare_cached(&sql)?.query_row(params![now.0], |row| row.get(0))?;
    Ok(first.map(Timestamp))
}

fn count(tx: &Transaction, now: Timestamp, overview: &mut Overview) -> Result<()> {
    let mut queues: BTreeMap<String, (bool, Counts)> = BTreeMap::new();
    let mut statement = tx.prepare_cached(
        "SELECT queue, CASE WHEN state <> 'pending' THEN state
                            WHEN expires_at <= ?1 THEN 'dead'
                            WHEN run_at <= ?1 THEN 'ready'
                            WHEN attempts = 0 THEN 'scheduled'
                            ELSE 'retrying' END AS status, count(*)
         FROM jobs GROUP BY queue, status",
    )?;
    let mut rows = statement.query(params![now.0])?;
    while let Some(row) = rows.next()? {
        let (queue, status, number): (String, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        overview.counts.add(&status, number);
        queues.entry(queue).or_default().1.add(&status, number);
    }
    let mut paused = tx.prepare_cached("SELECT name FROM paused_queues")?;
    let mut rows = paused.query([])?;
    while let Some(row) = rows.next()? {
        queues.entry(row.get(0)?).or_default().0 = true;
    }
    overview.queues = queues
        .into_iter()
        .filter(|(_, (paused, counts))| *paused || counts.unfinished() > 0)
        .map(|(name, (paused, counts))| QueueRow { name, paused, counts })
        .collect();
    Ok(())
}
