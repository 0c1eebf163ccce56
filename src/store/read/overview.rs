//! Numbers about all jobs: the overview, and the recent outcomes of each name.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::stats::{ByNameAndFile, Percentiles, has_origin, with_undeclared};
use crate::model::{EXPIRED, Limits, Outcome, Pause};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{all, each, one, value};
use crate::store::write::claim;
use crate::store::write::conditions::{is_blocked, is_unblocked};
use crate::store::write::limits::{self, Settings};
use crate::store::write::same_work::is_same_file;
use crate::store::write::workers::Worker;
use crate::text::{Millis, Timestamp};

/// A name has run lately if one of the newest attempts is of it: at most this number of attempts, from this long ago on.
const MAX_ATTEMPTS: usize = 1_000;
const LATELY: Millis = Millis::from_secs(7 * 24 * 60 * 60);

/// How many outcomes of a name are shown.
const OUTCOMES: usize = 20;

/// For how many of a name's newest jobs the attempts are read.
const MAX_JOBS: usize = 100;

/// How many jobs are in each state; pending ones by their phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct JobCounts {
    pub ready: u64,
    pub scheduled: u64,
    pub retrying: u64,
    pub blocked: u64,
    pub running: u64,
    pub succeeded: u64,
    /// Dead jobs that nobody has resolved.
    pub dead: u64,
    /// Dead jobs that were resolved, and successes of which the warning was. The latter are among the succeeded, too.
    pub resolved: u64,
    pub cancelled: u64,
}

/// A queue in a list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QueueRow {
    pub name: String,
    /// The pause of this queue.
    pub pause: Option<Pause>,
    /// The pause of everything.
    pub pause_of_all: Option<Pause>,
    pub limits: Limits,
    /// The unfinished jobs of the queue; finished ones are not counted.
    pub counts: JobCounts,
}

/// The numbers that `runner inspect` begins with, all read at one moment.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub counts: JobCounts,
    /// Queues with unfinished jobs, and paused and limited ones, by name.
    pub queues: Vec<QueueRow>,
    pub workers: Vec<Worker>,
    pub dead_by_error_code: BTreeMap<String, u64>,
    /// The earliest due time in the future.
    pub next_run_at: Option<Timestamp>,
    /// The earliest due time of a ready job.
    pub oldest_due_at: Option<Timestamp>,
}

/// A name that ran lately, or has a schedule, with its job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentName {
    pub name: String,
    /// The path of the job file; none for ad hoc jobs, and where the file is unknown.
    pub file: Option<String>,
    /// The outcomes of the last attempts, oldest first, each with whether it was a success with a warning.
    pub outcomes: Vec<(Outcome, bool)>,
    /// When an attempt last succeeded; none if none did among the newest jobs of the name.
    pub last_success: Option<Timestamp>,
}

/// The attempts of each name and job file, by its path.
type Names = ByNameAndFile<String, Attempts>;

/// The outcomes of a name's attempts, each with whether it had a warning, ordered by their end; job and number tell apart those that ended together.
type Attempts = BTreeMap<(Timestamp, i64, u32), (Outcome, bool)>;

impl QueueRow {
    pub const fn is_paused(&self) -> bool {
        self.pause.is_some() || self.pause_of_all.is_some()
    }
}

impl JobCounts {
    /// Each state or phase with the number of its jobs.
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
    /// The overview at `now`. It is counted from indexes alone, because with a million jobs their rows take too long to read.
    pub fn overview(&self, now: Timestamp) -> Result<Overview> {
        self.read(|tx| {
            let mut overview = Overview { workers: self.open_workers()?, ..Overview::default() };
            let mut counts = unfinished(tx, now, &mut overview)?;
            finished(tx, &mut overview)?;
            let mut settings = limits::settings(tx)?;
            let pause_of_all = limits::pause_of_all(tx, now)?;
            let names: BTreeSet<String> = counts.keys().chain(settings.keys()).cloned().collect();
            let queue = |name: String| {
                let Settings { pause, limits, .. } = settings.remove(&name).unwrap_or_default();
                let counts = counts.remove(&name).unwrap_or_default();
                let pause = pause.filter(|pause| !pause.is_over(now));
                QueueRow { name, pause, pause_of_all, limits, counts }
            };
            overview.queues = names.into_iter().map(queue).collect();
            let has_something =
                |row: &QueueRow| row.pause.is_some() || !row.limits.is_none() || row.counts.unfinished() > 0;
            overview.queues.retain(has_something);
            (overview.oldest_due_at, overview.next_run_at) =
                claim::due_times(tx, "TRUE", &claim::priorities(tx)?, now)?;
            Ok(overview)
        })
    }

    /// Up to `limit` names that ran lately or are among `scheduled`, a name with its job file, and how many there are. Names whose
    /// last attempt failed come first; otherwise by name. A name that two job files have is there twice.
    pub fn recent_names<'a>(
        &self,
        scheduled: impl Iterator<Item = (&'a str, &'a str)>,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<RecentName>, usize)> {
        self.read(|tx| {
            let mut names = newest(tx, now.minus(LATELY))?;
            for (name, file) in scheduled {
                names.entry((name.to_owned(), true, Some(file.to_owned()))).or_default();
            }
            let mut names = with_undeclared(names, |all, mut more| all.append(&mut more));
            let mut files: BTreeMap<String, usize> = BTreeMap::new();
            for (name, ..) in names.keys() {
                *files.entry(name.clone()).or_default() += 1;
            }
            let is_alone = |name: &str| files.get(name) == Some(&1);
            for (key, attempts) in names.iter_mut().filter(|(_, attempts)| attempts.is_empty()) {
                add_older(tx, key, is_alone(&key.0), attempts)?;
            }
            let all = names.len();
            let mut names: Vec<_> = names.into_iter().collect();
            // The sort is stable: the names remain in order.
            names.sort_by_key(|(_, attempts)| {
                !attempts.values().next_back().is_some_and(|(last, _)| last.is_failure())
            });
            names.truncate(limit);
            let recent = names.into_iter().map(|(key, mut attempts)| {
                add_older(tx, &key, is_alone(&key.0), &mut attempts)?;
                let (name, _, file) = key;
                let skipped = attempts.len().saturating_sub(OUTCOMES);
                let outcomes = attempts.values().copied().skip(skipped).collect();
                Ok(RecentName { name, file, outcomes, last_success: last_success(&attempts) })
            });
            Ok((recent.collect::<Result<_>>()?, all))
        })
    }

    /// The median run time of the newest jobs of this name and job file; none if none of them has run.
    pub fn median_run_time(&self, name: &str, job_file: Option<i64>) -> Result<Option<Millis>> {
        let sql = format!(
            "SELECT a.outcome, a.duration_ms
             FROM (SELECT id, job_file FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 ORDER BY id DESC LIMIT ?2) AS j
             CROSS JOIN attempts AS a ON a.job_id = j.id WHERE a.duration_ms IS NOT NULL AND {} LIMIT ?2",
            is_same_file("j.job_file", "?3")
        );
        let read = |row: &Row<'_>| Ok((row.get("outcome")?, row.get("duration_ms")?));
        let attempts: Vec<(Outcome, Millis)> =
            self.autocommit(|tx| all(tx, &sql, params![name, MAX_JOBS, job_file], read))?;
        let runs = attempts.into_iter().filter(|(outcome, _)| outcome.has_run_time()).map(|(_, took)| took);
        Ok(Percentiles::of(runs.collect()).percentile(50))
    }
}

/// Counts the unfinished jobs, by queue and in all. A pending job that has expired counts as dead, even if nobody has recorded
/// that yet.
fn unfinished(
    tx: &Connection,
    now: Timestamp,
    overview: &mut Overview,
) -> Result<BTreeMap<String, JobCounts>> {
    let mut queues: BTreeMap<String, JobCounts> = BTreeMap::new();
    let pending = format!(
        "SELECT queue, count(*) AS jobs, sum(run_at > ?1) AS later,
                sum(run_at > ?1 AND attempts > 0) AS retrying, coalesce(sum(expires_at <= ?1), 0) AS dead
         FROM jobs WHERE {} GROUP BY queue",
        is_unblocked("jobs")
    );
    each(tx, &pending, [now], |row| {
        let (jobs, later): (u64, u64) = (row.get("jobs")?, row.get("later")?);
        let (retrying, dead): (u64, u64) = (row.get("retrying")?, row.get("dead")?);
        // A job never expires before it is due, so an expired one is not among the later ones.
        let (ready, scheduled) = (jobs.saturating_sub(later + dead), later.saturating_sub(retrying));
        queues.insert(
            row.get("queue")?,
            JobCounts { ready, scheduled, retrying, dead, ..JobCounts::default() },
        );
        Ok(())
    })?;
    let blocked = format!(
        "SELECT queue, count(*) AS jobs, coalesce(sum(expires_at <= ?1), 0) AS dead
         FROM jobs WHERE {} GROUP BY queue",
        is_blocked("jobs")
    );
    each(tx, &blocked, [now], |row| {
        let (jobs, dead): (u64, u64) = (row.get("jobs")?, row.get("dead")?);
        let counts = queues.entry(row.get("queue")?).or_default();
        counts.blocked = jobs.saturating_sub(dead);
        counts.dead += dead;
        Ok(())
    })?;
    for (queue, running) in limits::running(tx)? {
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

/// Adds the finished jobs to the counts.
fn finished(tx: &Connection, overview: &mut Overview) -> Result<()> {
    let count =
        |state: &str| one(tx, &format!("SELECT count(*) FROM jobs WHERE state = '{state}'"), [], value);
    overview.counts.succeeded = count("succeeded")?;
    overview.counts.cancelled = count("cancelled")?;
    let sql = "SELECT error_code, count(*) - count(resolved_at) AS dead, count(resolved_at) AS resolved
               FROM jobs INDEXED BY jobs_dead WHERE state = 'dead' GROUP BY error_code";
    each(tx, sql, [], |row| {
        let dead: u64 = row.get("dead")?;
        overview.counts.dead += dead;
        overview.counts.resolved += row.get::<_, u64>("resolved")?;
        if dead > 0 {
            *overview.dead_by_error_code.entry(row.get("error_code")?).or_default() += dead;
        }
        Ok(())
    })?;
    overview.counts.resolved += one(tx, RESOLVED_WARNINGS, [], value::<u64>)?;
    Ok(())
}

/// No index has them. So only the jobs of names that have ever been warned are looked at.
const RESOLVED_WARNINGS: &str =
    "SELECT count(*) FROM warning_totals CROSS JOIN jobs AS j INDEXED BY jobs_by_name ON j.name = warning_totals.name
     WHERE j.warning_resolved_at IS NOT NULL";

/// The newest attempts since this time.
fn newest(tx: &Connection, since: Timestamp) -> Result<Names> {
    let mut names = Names::new();
    let sql =
        "SELECT j.name, j.task_hash, j.job_file, (SELECT path FROM job_files WHERE id = j.job_file) AS file,
                a.finished_at, a.job_id, a.number, a.outcome, a.warning IS NOT NULL AS is_warned
         FROM attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j ON j.id = a.job_id
         WHERE a.finished_at >= ?1 ORDER BY a.finished_at DESC LIMIT ?2";
    each(tx, sql, params![since, MAX_ATTEMPTS], |row| {
        let place = (row.get("finished_at")?, row.get("job_id")?, row.get("number")?);
        let key = (row.get("name")?, has_origin(row)?, row.get("file")?);
        names.entry(key).or_default().insert(place, (row.get("outcome")?, row.get("is_warned")?));
        Ok(())
    })?;
    Ok(names)
}

/// Adds older attempts of this name and job file until there are [`OUTCOMES`] of them and one has succeeded. If they are the only
/// ones of the name, those that nobody declared are theirs, too.
fn add_older(
    tx: &Connection,
    (name, is_declared, file): &(String, bool, Option<String>),
    is_alone: bool,
    attempts: &mut Attempts,
) -> Result<()> {
    // Jobs that are newer than that have not run, and there may be a million of them.
    let newest_job = attempts.keys().map(|(_, job, _)| *job).max().unwrap_or(i64::MAX);
    let sql = "SELECT j.id, j.task_hash, j.job_file, (SELECT path FROM job_files AS f WHERE f.id = j.job_file) AS file
         FROM jobs AS j INDEXED BY jobs_by_name WHERE j.name = ?1 AND j.id <= ?2 ORDER BY j.id DESC LIMIT ?3";
    let read = |row: &Row<'_>| Ok((row.get("id")?, has_origin(row)?, row.get("file")?));
    let jobs: Vec<(i64, bool, Option<String>)> = all(tx, sql, params![name, newest_job, MAX_JOBS], read)?;
    let sql = "SELECT finished_at, number, outcome, warning IS NOT NULL AS is_warned FROM attempts
               WHERE job_id = ?1 ORDER BY number DESC LIMIT ?2";
    let is_own =
        |of: &(i64, bool, Option<String>)| (of.1, &of.2) == (*is_declared, file) || !of.1 && is_alone;
    for (id, ..) in jobs.into_iter().filter(is_own) {
        if attempts.len() >= OUTCOMES && last_success(attempts).is_some() {
            break;
        }
        each(tx, sql, params![id, OUTCOMES], |row| {
            let ended = (row.get("outcome")?, row.get("is_warned")?);
            attempts.insert((row.get("finished_at")?, id, row.get("number")?), ended);
            Ok(())
        })?;
    }
    Ok(())
}

fn last_success(attempts: &Attempts) -> Option<Timestamp> {
    let mut newest_first = attempts.iter().rev();
    newest_first.find(|(_, (outcome, _))| *outcome == Outcome::Succeeded).map(|((at, ..), _)| *at)
}
