//! Numbers by the name of the jobs: how often they end well, how long they run, how long they wait for a slot.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::error::Result;
use super::filter::Filter;
use super::open::Store;
use crate::model::{JobState, Outcome, Percentiles};
use crate::text::{Millis, Timestamp};

/// The numbers of one name.
#[derive(Clone, Debug, Default)]
pub struct NameStats {
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    /// Ended attempts, of these jobs and of unfinished ones.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub successes: u64,
    /// How long attempts ran that ended by themselves or at their timeout.
    pub runs: Percentiles,
    /// From due to started, where both are known.
    pub waits: Percentiles,
    /// When the newest job succeeded.
    pub last_success: Option<Timestamp>,
    /// The newest failure: when it happened, and its code.
    pub last_failure: Option<(Timestamp, String)>,
}

/// By the name of the jobs.
pub type Stats = BTreeMap<String, NameStats>;

impl NameStats {
    /// Ended jobs.
    pub const fn jobs(&self) -> u64 {
        self.succeeded + self.dead + self.cancelled
    }

    /// The part of the jobs that succeeded, cancelled ones left out, from 0 to 1; none of no jobs.
    pub fn success_rate(&self) -> Option<f64> {
        ratio(self.succeeded, self.succeeded + self.dead)
    }

    /// None without a success.
    pub fn attempts_per_success(&self) -> Option<f64> {
        ratio(self.attempts, self.successes)
    }

    fn add_failure(&mut self, at: Timestamp, code: Option<String>) {
        if let Some(code) = code
            && self.last_failure.as_ref().is_none_or(|(last, _)| *last < at)
        {
            self.last_failure = Some((at, code));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody misses the last digits of numbers above 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The numbers of one name while they are gathered.
#[derive(Default)]
struct Gathered {
    stats: NameStats,
    runs: Vec<Millis>,
    waits: Vec<Millis>,
}

type Names = BTreeMap<String, Gathered>;

impl Store {
    /// The numbers of all names that have something that ended. Takes about a second for a million attempts.
    pub fn stats(&self, filter: &Filter, now: Timestamp) -> Result<Stats> {
        let mut names = Names::new();
        // One transaction for both would hold up checkpoints longer than either.
        self.autocommit(|tx| {
            gather_jobs(tx, filter, now, &mut names)?;
            gather_attempts(tx, filter, &mut names)
        })?;
        let finished = names.into_iter().map(|(name, Gathered { stats, runs, waits })| {
            (name, NameStats { runs: Percentiles::of(runs), waits: Percentiles::of(waits), ..stats })
        });
        Ok(finished.collect())
    }
}

/// A waiting job that has expired is dead, recorded or not.
fn gather_jobs(tx: &Connection, filter: &Filter, now: Timestamp, names: &mut Names) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT name, state, changed_at, error_code FROM jobs INDEXED BY jobs_finished
         WHERE (state = 'succeeded' OR state = 'dead' OR state = 'cancelled') AND changed_at >= ?1 AND changed_at < ?4
           AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)
         UNION ALL
         SELECT name, 'dead', max(expires_at, changed_at), 'EXPIRED' FROM jobs INDEXED BY jobs_expiring
         WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?5
           AND max(expires_at, changed_at) >= ?1 AND max(expires_at, changed_at) < ?4
           AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)",
    )?;
    let (since, until) = filter.period();
    let mut rows = statement.query(params![since, filter.name, filter.queue, until, now.0])?;
    while let Some(row) = rows.next()? {
        let numbers = &mut names.entry(row.get(0)?).or_default().stats;
        let (state, ended_at) = (row.get::<_, String>(1)?, Timestamp(row.get(2)?));
        match JobState::parse(&state) {
            Some(JobState::Succeeded) => {
                numbers.succeeded += 1;
                numbers.last_success = numbers.last_success.max(Some(ended_at));
            }
            Some(JobState::Dead) => numbers.dead += 1,
            _ => numbers.cancelled += 1,
        }
        numbers.add_failure(ended_at, row.get(3)?);
    }
    Ok(())
}

fn gather_attempts(tx: &Connection, filter: &Filter, names: &mut Names) -> Result<()> {
    // Two due times of attempts are known: a job keeps its last one, and a retry was due when its delay was over.
    let mut statement = tx.prepare_cached(
        "SELECT j.name, a.finished_at, a.outcome, a.error_code, a.duration_ms, a.started_at,
                CASE WHEN a.number = j.attempts AND j.finished_at = a.finished_at THEN j.run_at
                     ELSE (SELECT p.finished_at + p.delay_ms FROM attempts AS p
                           WHERE p.job_id = a.job_id AND p.number = a.number - 1) END
         FROM attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j ON j.id = a.job_id
         WHERE a.finished_at >= ?1 AND a.finished_at < ?4 AND (?2 IS NULL OR j.name = ?2) AND (?3 IS NULL OR j.queue = ?3)",
    )?;
    let (since, until) = filter.period();
    let mut rows = statement.query(params![since, filter.name, filter.queue, until])?;
    while let Some(row) = rows.next()? {
        names.entry(row.get(0)?).or_default().add_attempt(row)?;
    }
    Ok(())
}

impl Gathered {
    fn add_attempt(&mut self, row: &Row) -> Result<()> {
        self.stats.attempts += 1;
        let outcome: String = row.get(2)?;
        let outcome = Outcome::parse(&outcome);
        match outcome {
            Some(Outcome::Succeeded) => self.stats.successes += 1,
            Some(outcome) if !outcome.is_failure() => {}
            _ => self.stats.add_failure(Timestamp(row.get(1)?), row.get(3)?),
        }
        let duration: Option<u64> = row.get(4)?;
        if matches!(outcome, Some(Outcome::Succeeded | Outcome::Failed | Outcome::TimedOut)) {
            self.runs.extend(duration.map(Millis));
        }
        let (started, due): (Option<i64>, Option<i64>) = (row.get(5)?, row.get(6)?);
        // A retry that a person made due earlier started before its delay was over: its wait is not known.
        if let (Some(started), Some(due)) = (started, due) {
            self.waits.extend(u64::try_from(started - due).ok().map(Millis));
        }
        Ok(())
    }
}
