//! All jobs in a few numbers.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use serde::Serialize;

use super::error::Result;
use super::open::Store;
use super::queues::{self, Settings};
use super::workers::OpenWorker;
use crate::model::{EXPIRED, Limits};
use crate::text::Timestamp;

/// Jobs by their state; pending ones by their phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub ready: u64,
    pub scheduled: u64,
    pub retrying: u64,
    pub blocked: u64,
    pub running: u64,
    pub succeeded: u64,
    /// Without the resolved ones.
    pub dead: u64,
    /// Dead jobs that were dealt with.
    pub resolved: u64,
    pub cancelled: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QueueRow {
    pub name: String,
    pub paused: bool,
    pub limits: Limits,
    /// The jobs of the queue. Finished jobs are not counted.
    pub counts: Counts,
}

/// Everything at one moment.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub counts: Counts,
    /// Queues with unfinished jobs, and paused and limited ones, by name.
    pub queues: Vec<QueueRow>,
    pub workers: Vec<OpenWorker>,
    pub dead_by_error_code: BTreeMap<String, u64>,
    /// The earliest due time in the future.
    pub next_run_at: Option<Timestamp>,
    /// The earliest due time of a ready job.
    pub oldest_due_at: Option<Timestamp>,
}

impl Counts {
    /// Each state or phase with its number.
    pub const fn by_state(self) -> [(&'static str, u64); 9] {
        let Self { ready, scheduled, retrying, blocked, running, succeeded, dead, resolved, cancelled } =
            self;
        [
            ("ready", ready),
            ("scheduled", scheduled),
            ("retrying", retrying),
            ("blocked", blocked),
            ("running", running),
            ("succeeded", succeeded),
            ("dead", dead),
            ("resolved", resolved),
            ("cancelled", cancelled),
        ]
    }

    pub fn unfinished(&self) -> u64 {
        self.ready + self.scheduled + self.retrying + self.blocked + self.running
    }
}

impl Store {
    /// Everything as it is at `now`, counted from indexes alone.
    pub fn overview(&self, now: Timestamp) -> Result<Overview> {
        self.read(|tx| {
            let mut overview = Overview { workers: self.workers()?, ..Overview::default() };
            let mut counts = unfinished(tx, now, &mut overview)?;
            finished(tx, &mut overview)?;
            let mut settings = queues::settings(tx)?;
            let names: BTreeSet<String> = counts.keys().chain(settings.keys()).cloned().collect();
            let queue = |name: String| {
                let Settings { paused, limits, .. } = settings.remove(&name).unwrap_or_default();
                let counts = counts.remove(&name).unwrap_or_default();
                QueueRow { name, paused, limits, counts }
            };
            overview.queues = names.into_iter().map(queue).collect();
            let has_something =
                |row: &QueueRow| row.paused || !row.limits.is_none() || row.counts.unfinished() > 0;
            overview.queues.retain(has_something);
            (overview.oldest_due_at, overview.next_run_at) =
                queues::due_times(tx, &queues::levels(tx)?, now)?;
            Ok(overview)
        })
    }
}

/// Counts the jobs that wait and run, by queue and in all. A waiting job that has expired is dead, recorded or not.
fn unfinished(tx: &Connection, now: Timestamp, overview: &mut Overview) -> Result<BTreeMap<String, Counts>> {
    let mut queues: BTreeMap<String, Counts> = BTreeMap::new();
    let mut waiting = tx.prepare_cached(
        "SELECT queue, count(*), sum(run_at > ?1), sum(run_at > ?1 AND attempts > 0),
                coalesce(sum(expires_at <= ?1), 0)
         FROM jobs WHERE state = 'pending' AND waiting_for = 0 GROUP BY queue",
    )?;
    let mut rows = waiting.query([now.0])?;
    while let Some(row) = rows.next()? {
        let (all, later, retrying, dead): (u64, u64, u64, u64) =
            (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        // An expired job is past its due time.
        let (ready, scheduled) = (all.saturating_sub(later + dead), later.saturating_sub(retrying));
        queues.insert(row.get(0)?, Counts { ready, scheduled, retrying, dead, ..Counts::default() });
    }
    let mut blocked = tx.prepare_cached(
        "SELECT queue, count(*), coalesce(sum(expires_at <= ?1), 0)
         FROM jobs WHERE state = 'pending' AND waiting_for > 0 GROUP BY queue",
    )?;
    let mut rows = blocked.query([now.0])?;
    while let Some(row) = rows.next()? {
        let (all, dead): (u64, u64) = (row.get(1)?, row.get(2)?);
        let counts = queues.entry(row.get(0)?).or_default();
        counts.blocked = all.saturating_sub(dead);
        counts.dead += dead;
    }
    for (queue, running) in queues::running(tx)? {
        queues.entry(queue).or_default().running = running;
    }
    let all = &mut overview.counts;
    for counts in queues.values() {
        all.ready += counts.ready;
        all.scheduled += counts.scheduled;
        all.retrying += counts.retrying;
        all.blocked += counts.blocked;
        all.running += counts.running;
        all.dead += counts.dead;
    }
    if all.dead > 0 {
        overview.dead_by_error_code.insert(EXPIRED.to_owned(), all.dead);
    }
    Ok(queues)
}

/// Counts the finished jobs.
fn finished(tx: &Connection, overview: &mut Overview) -> Result<()> {
    let count = |state: &str| -> Result<u64> {
        let mut statement =
            tx.prepare_cached(&format!("SELECT count(*) FROM jobs WHERE state = '{state}'"))?;
        Ok(statement.query_row([], |row| row.get(0))?)
    };
    overview.counts.succeeded = count("succeeded")?;
    overview.counts.cancelled = count("cancelled")?;
    let mut dead = tx.prepare_cached(
        "SELECT error_code, count(*) - count(resolved_at), count(resolved_at)
         FROM jobs INDEXED BY jobs_dead WHERE state = 'dead' GROUP BY error_code",
    )?;
    let mut rows = dead.query([])?;
    while let Some(row) = rows.next()? {
        let (dead, resolved): (u64, u64) = (row.get(1)?, row.get(2)?);
        overview.counts.dead += dead;
        overview.counts.resolved += resolved;
        if dead > 0 {
            *overview.dead_by_error_code.entry(row.get(0)?).or_default() += dead;
        }
    }
    Ok(())
}
