//! The state of everything in a few numbers.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use super::counts::{self, Sides};
use super::tally::Kind;
use super::{Connection, Result, Store, queues};
use crate::model::{EXPIRED, JobState};
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
    /// Everything as it is to be seen at `now`, from the kept counts: however many jobs there are, few rows are read.
    pub fn overview(&mut self, now: Timestamp) -> Result<Overview> {
        let in_hand = self.in_hand.clone();
        self.read(|tx| {
            let mut overview = Overview::default();
            let mut queues = unfinished(tx, now, &in_hand, &mut overview)?;
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

/// A count as it is shown. One that somebody's own changes have put out of step may be below zero.
fn shown(jobs: i64) -> u64 {
    u64::try_from(jobs).unwrap_or(0)
}

/// Counts the jobs that wait and run, for each queue and altogether, and among the dead those that have expired.
fn unfinished(
    tx: &Connection,
    now: Timestamp,
    in_hand: &BTreeSet<i64>,
    overview: &mut Overview,
) -> Result<BTreeMap<String, (bool, Counts)>> {
    let mut queues: BTreeMap<String, (bool, Counts)> = BTreeMap::new();
    for kind in Kind::ALL {
        for (queue, Sides { past, future }) in counts::waiting(tx, kind, now)? {
            let counts = &mut queues.entry(queue).or_default().1;
            match kind {
                Kind::New => counts.scheduled = shown(future),
                Kind::Retry => counts.retrying = shown(future),
                Kind::Expiring => {
                    // What has expired is past due, and dead, whether anybody has recorded it or not.
                    counts.dead = shown(past);
                    counts.ready = counts.ready.saturating_sub(shown(past));
                    continue;
                }
            }
            counts.ready += shown(past);
        }
    }
    for job in running_jobs(tx)? {
        let counts = &mut queues.entry(job.queue).or_default().1;
        if in_hand.contains(&job.id) {
            counts.ready += 1;
        } else {
            counts.running += 1;
        }
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
    let mut statement =
        tx.prepare_cached("SELECT state, error_code, jobs FROM finished_counts WHERE jobs > 0")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (state, code, jobs): (String, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match JobState::parse(&state) {
            Some(JobState::Succeeded) => overview.counts.succeeded += jobs,
            Some(JobState::Cancelled) => overview.counts.cancelled += jobs,
            Some(JobState::Dead) => {
                overview.counts.dead += jobs;
                *overview.dead_by_error_code.entry(code).or_default() += jobs;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A job that a worker holds.
struct RunningJob {
    id: i64,
    queue: String,
}

/// The jobs that workers hold: as few as there are slots.
fn running_jobs(tx: &Connection) -> Result<Vec<RunningJob>> {
    let mut statement = tx.prepare_cached("SELECT id, queue FROM jobs WHERE state = 'running'")?;
    let rows = statement.query_map([], |row| Ok(RunningJob { id: row.get(0)?, queue: row.get(1)? }))?;
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
