//! Totals by queue and by name, for monitoring. Unlike the overview they read all jobs and all attempts.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use super::overview::JobCounts;
use crate::model::{EXPIRED, Outcome};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{self, all, each};
use crate::store::write::conditions::{expired_at, has_expired, is_ready};
use crate::text::{Millis, Timestamp};

/// The sums over the attempts of all jobs of one name, removed jobs included, so that no total ever falls. The last three fields
/// are about the jobs that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NameTotals {
    /// Ended attempts, in the order of [`Outcome::ALL`].
    attempts: [u64; Outcome::ALL.len()],
    /// How long the attempts ran that [`Outcome::has_run_time`] is about.
    pub run_time: Millis,
    /// User and system time of the attempts' processes.
    pub cpu: Millis,
    /// Jobs that succeeded with a warning.
    pub warnings: u64,
    /// The most memory that a process of a kept attempt held, in bytes. None if only bounds are known.
    pub max_rss: Option<u64>,
    /// When an attempt of a kept job last succeeded.
    pub last_success: Option<Timestamp>,
    /// When an attempt of a kept job last failed, or such a job expired.
    pub last_failure: Option<Timestamp>,
}

impl NameTotals {
    pub fn by_outcome(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL.iter().copied().zip(self.attempts)
    }

    pub fn attempts(&self) -> u64 {
        self.attempts.iter().sum()
    }

    /// The number of attempts whose time is in `run_time`.
    pub fn runs(&self) -> u64 {
        self.by_outcome().filter(|(outcome, _)| outcome.has_run_time()).map(|(_, attempts)| attempts).sum()
    }

    fn add(&mut self, outcome: Outcome, attempts: u64, duration: Millis, cpu: Millis) {
        for (known, sum) in Outcome::ALL.iter().zip(&mut self.attempts) {
            *sum += if *known == outcome { attempts } else { 0 };
        }
        if outcome.has_run_time() {
            self.run_time = Millis(self.run_time.0 + duration.0);
        }
        self.cpu = Millis(self.cpu.0 + cpu.0);
    }
}

impl Store {
    /// The totals of each name that has ever had an attempt, or a job that expired. Takes one to two seconds for a million attempts.
    pub fn totals_by_name(&self, now: Timestamp) -> Result<BTreeMap<String, NameTotals>> {
        // One moment, because a job that is removed in between would be counted twice, or not at all.
        self.read(|tx| {
            let mut names = BTreeMap::new();
            add_attempts(tx, &mut names)?;
            add_removed(tx, &mut names)?;
            add_warnings(tx, &mut names)?;
            add_expired(tx, now, &mut names)?;
            Ok(names)
        })
    }

    /// The numbers of dead letters that nobody resolved, by name and error code. Jobs that have expired are among them, recorded
    /// or not.
    pub fn dead_by_name(&self, now: Timestamp) -> Result<Vec<(String, String, u64)>> {
        let sql = format!(
            "SELECT name, error_code, count(*) AS dead FROM (
                 SELECT name, error_code FROM jobs INDEXED BY jobs_unresolved
                 WHERE state = 'dead' AND resolved_at IS NULL
                 UNION ALL
                 SELECT name, ?2 FROM jobs INDEXED BY jobs_expiring WHERE {}
             ) GROUP BY name, error_code",
            has_expired("jobs", "?1")
        );
        let read = |row: &rusqlite::Row<'_>| Ok((row.get("name")?, row.get("error_code")?, row.get("dead")?));
        self.autocommit(|tx| all(tx, &sql, (now, EXPIRED), read))
    }

    /// The numbers of finished jobs by queue. This reads all jobs, which takes a quarter of a second for a million.
    pub fn finished_by_queue(&self) -> Result<Vec<(String, JobCounts)>> {
        let sql =
            "SELECT queue, sum(state = 'succeeded') AS succeeded, sum(state = 'cancelled') AS cancelled,
                          sum(state = 'dead' AND resolved_at IS NULL) AS dead,
                          sum(state = 'dead' AND resolved_at IS NOT NULL) AS resolved
                   FROM jobs NOT INDEXED GROUP BY queue";
        self.autocommit(|tx| {
            all(tx, sql, [], |row| {
                let counts = JobCounts {
                    succeeded: row.get("succeeded")?,
                    dead: row.get("dead")?,
                    resolved: row.get("resolved")?,
                    cancelled: row.get("cancelled")?,
                    ..JobCounts::default()
                };
                Ok((row.get("queue")?, counts))
            })
        })
    }

    /// The earliest due time of a ready job, by queue.
    pub fn oldest_due_by_queue(&self, now: Timestamp) -> Result<Vec<(String, Timestamp)>> {
        let sql = format!(
            "SELECT queue, min(run_at) AS oldest FROM jobs WHERE {} GROUP BY queue",
            is_ready("jobs", "?1")
        );
        self.autocommit(|tx| all(tx, &sql, [now], |row| Ok((row.get("queue")?, row.get("oldest")?))))
    }
}

/// Adds the attempts of the jobs that are kept. The index by name gives the jobs in the order of the groups, so that SQLite
/// neither reads the jobs themselves nor sorts the attempts. To read the rows one by one, as the page does, takes three times as
/// long for a million attempts.
fn add_attempts(tx: &Connection, names: &mut BTreeMap<String, NameTotals>) -> Result<()> {
    let outcomes = Outcome::ALL.iter();
    let sums = outcomes.map(|outcome| {
        format!(
            "sum(a.outcome = '{outcome}') AS {outcome},
             coalesce(sum(a.duration_ms) FILTER (WHERE a.outcome = '{outcome}'), 0) AS {outcome}_ms,
             coalesce(sum(a.cpu_ms) FILTER (WHERE a.outcome = '{outcome}'), 0) AS {outcome}_cpu_ms"
        )
    });
    let failures = Outcome::ALL.iter().filter(|outcome| outcome.is_failure());
    let failures: Vec<_> = failures.map(|outcome| format!("'{outcome}'")).collect();
    let sql = format!(
        "SELECT j.name AS name, {}, max(a.max_rss_bytes) AS max_rss,
                max(a.finished_at) FILTER (WHERE a.outcome = 'succeeded') AS last_success,
                max(a.finished_at) FILTER (WHERE a.outcome IN ({})) AS last_failure
         FROM jobs AS j INDEXED BY jobs_by_name CROSS JOIN attempts AS a ON a.job_id = j.id GROUP BY j.name",
        sums.collect::<Vec<_>>().join(", "),
        failures.join(", ")
    );
    each(tx, &sql, [], |row| {
        let mut totals = NameTotals {
            last_success: row.get("last_success")?,
            last_failure: row.get("last_failure")?,
            max_rss: row.get("max_rss")?,
            ..NameTotals::default()
        };
        for outcome in Outcome::ALL {
            let duration = row.get(format!("{outcome}_ms").as_str())?;
            let cpu = row.get(format!("{outcome}_cpu_ms").as_str())?;
            totals.add(*outcome, row.get(outcome.as_str())?, duration, cpu);
        }
        names.insert(row.get("name")?, totals);
        Ok(())
    })
}

fn add_removed(tx: &Connection, names: &mut BTreeMap<String, NameTotals>) -> Result<()> {
    each(tx, &format!("SELECT {REMOVED} FROM removed_attempts"), [], |row| {
        let (name, outcome, attempts, duration, cpu) = read_removed(row)?;
        names.entry(name).or_default().add(outcome, attempts, duration, cpu);
        Ok(())
    })
}

fn add_warnings(tx: &Connection, names: &mut BTreeMap<String, NameTotals>) -> Result<()> {
    each(tx, "SELECT name, warnings FROM warning_totals", [], |row| {
        names.entry(row.get("name")?).or_default().warnings = row.get("warnings")?;
        Ok(())
    })
}

/// The columns of `removed_attempts` that [`read_removed`] takes.
const REMOVED: &str = "name, outcome, attempts, duration_ms, cpu_ms";

fn read_removed(row: &Row<'_>) -> Result<(String, Outcome, u64, Millis, Millis)> {
    let (name, outcome, attempts) = (row.get("name")?, row.get("outcome")?, row.get("attempts")?);
    Ok((name, outcome, attempts, row.get("duration_ms")?, row.get("cpu_ms")?))
}

/// Damaged sums over removed jobs.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let sql =
        format!("SELECT 'the sum over removed jobs ' || name AS which, {REMOVED} FROM removed_attempts");
    let mut found = row::damaged(tx, &sql, [], limit, read_removed)?;
    let sql = "SELECT 'the number of warnings of ' || name AS which, name, warnings FROM warning_totals";
    found.extend(row::damaged(tx, sql, [], limit, |row| Ok(row.get::<_, u64>("warnings")?))?);
    Ok(found)
}

fn add_expired(tx: &Connection, now: Timestamp, names: &mut BTreeMap<String, NameTotals>) -> Result<()> {
    let sql = format!(
        "SELECT name, max(ended_at) AS ended_at FROM (
             SELECT name, changed_at AS ended_at FROM jobs INDEXED BY jobs_dead
             WHERE state = 'dead' AND error_code = ?2
             UNION ALL
             SELECT name, {} FROM jobs INDEXED BY jobs_expiring WHERE {}
         ) GROUP BY name",
        expired_at("jobs"),
        has_expired("jobs", "?1")
    );
    each(tx, &sql, (now, EXPIRED), |row| {
        let totals = names.entry(row.get("name")?).or_default();
        totals.last_failure = totals.last_failure.max(row.get("ended_at")?);
        Ok(())
    })
}
