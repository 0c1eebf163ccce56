//! Numbers about all jobs of a name: how often they end well, how long they run, how long they wait for a slot.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::{Result, Store};
use crate::model::{EXPIRED, JobState, Outcome, Spread};
use crate::text::{Millis, Timestamp};

/// Rows read at once: no read lasts long enough to hold up a checkpoint.
const PAGE: usize = 10_000;

/// What to look at. What is none does not narrow it.
#[derive(Clone, Debug, Default)]
pub struct StatsFilter {
    /// Jobs of this name.
    pub name: Option<String>,
    /// Jobs in this queue.
    pub queue: Option<String>,
    /// What ended at or after this time.
    pub since: Option<Timestamp>,
}

/// What is known of the jobs of one name.
#[derive(Clone, Debug, Default)]
pub struct NameStats {
    /// Jobs that succeeded.
    pub succeeded: u64,
    /// Jobs that were given up.
    pub dead: u64,
    /// Jobs that were called off.
    pub cancelled: u64,
    /// Attempts that ended, of these jobs and of unfinished ones.
    pub attempts: u64,
    /// Attempts that ended well.
    pub successes: u64,
    /// How long attempts ran that ended by themselves or at their timeout.
    pub runs: Spread,
    /// From due to started, where both are known.
    pub waits: Spread,
    /// The newest failure: when it happened, and its code.
    pub last_failure: Option<(Timestamp, String)>,
}

/// By the name of the jobs.
pub type Stats = BTreeMap<String, NameStats>;

impl NameStats {
    /// Jobs that have ended.
    pub const fn jobs(&self) -> u64 {
        self.succeeded + self.dead + self.cancelled
    }

    /// How many of the jobs succeeded that were not called off, from 0 to 1; none where there are none.
    pub fn success_rate(&self) -> Option<f64> {
        ratio(self.succeeded, self.succeeded + self.dead)
    }

    /// How many attempts a success takes; none where there was no success.
    pub fn attempts_per_success(&self) -> Option<f64> {
        ratio(self.attempts, self.successes)
    }

    fn failed(&mut self, at: Timestamp, code: Option<String>) {
        if let Some(code) = code
            && self.last_failure.as_ref().is_none_or(|(last, _)| *last < at)
        {
            self.last_failure = Some((at, code));
        }
    }
}

impl Store {
    /// Counts what has ended. The memory that it takes grows with the number of names alone.
    pub fn stats(&mut self, filter: &StatsFilter, now: Timestamp) -> Result<Stats> {
        let mut stats = Stats::new();
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            self.count_finished(filter, state, &mut stats)?;
        }
        self.count_expired(filter, now, &mut stats)?;
        self.count_attempts(filter, &mut stats)?;
        Ok(stats)
    }

    fn count_finished(&self, filter: &StatsFilter, state: JobState, found: &mut Stats) -> Result<()> {
        // A word, not a parameter: else the partial index is of no use.
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT changed_at, id, name, error_code FROM jobs
             WHERE state = '{state}' AND changed_at >= ?1 AND (changed_at, id) > (?1, ?2)
               AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR queue = ?4)
             ORDER BY changed_at, id LIMIT ?5"
        ))?;
        let mut last = Some((since(filter), 0_i64));
        while let Some((at, id)) = last.take() {
            let StatsFilter { name, queue, .. } = filter;
            let mut rows = statement.query(params![at, id, name, queue, PAGE])?;
            while let Some(row) = rows.next()? {
                let finished_at: i64 = row.get(0)?;
                last = Some((finished_at, row.get(1)?));
                let of_name = found.entry(row.get(2)?).or_default();
                match state {
                    JobState::Succeeded => of_name.succeeded += 1,
                    JobState::Dead => of_name.dead += 1,
                    _ => of_name.cancelled += 1,
                }
                of_name.failed(Timestamp(finished_at), row.get(3)?);
            }
        }
        Ok(())
    }

    /// Waiting jobs that have expired are dead, recorded or not.
    fn count_expired(&self, filter: &StatsFilter, now: Timestamp, found: &mut Stats) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, max(expires_at, changed_at) FROM jobs
             WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
               AND max(expires_at, changed_at) >= ?2
               AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR queue = ?4)",
        )?;
        let mut rows = statement.query(params![now.0, since(filter), filter.name, filter.queue])?;
        while let Some(row) = rows.next()? {
            let of_name = found.entry(row.get(0)?).or_default();
            of_name.dead += 1;
            of_name.failed(Timestamp(row.get(1)?), Some(EXPIRED.to_owned()));
        }
        Ok(())
    }

    fn count_attempts(&self, filter: &StatsFilter, found: &mut Stats) -> Result<()> {
        // When an attempt was due: a job keeps its last due time, and a retry was due when its delay was over. What else
        // was due before is not kept, and not guessed.
        let mut statement = self.connection.prepare_cached(
            "SELECT a.finished_at, a.job_id, a.number, j.name, a.outcome, a.error_code, a.duration_ms, a.started_at,
                    CASE WHEN a.number = j.attempts AND j.finished_at = a.finished_at THEN j.run_at
                         ELSE (SELECT p.finished_at + p.delay_ms FROM attempts AS p
                               WHERE p.job_id = a.job_id AND p.number = a.number - 1) END
             FROM attempts AS a CROSS JOIN jobs AS j ON j.id = a.job_id
             WHERE a.finished_at >= ?1 AND (a.finished_at, a.job_id, a.number) > (?1, ?2, ?3)
               AND (?4 IS NULL OR j.name = ?4) AND (?5 IS NULL OR j.queue = ?5)
             ORDER BY a.finished_at, a.job_id, a.number LIMIT ?6",
        )?;
        let mut last = Some((since(filter), 0_i64, 0_u32));
        while let Some((at, job, number)) = last.take() {
            let StatsFilter { name, queue, .. } = filter;
            let mut rows = statement.query(params![at, job, number, name, queue, PAGE])?;
            while let Some(row) = rows.next()? {
                last = Some((row.get(0)?, row.get(1)?, row.get(2)?));
                found.entry(row.get(3)?).or_default().add_attempt(row)?;
            }
        }
        Ok(())
    }
}

impl NameStats {
    fn add_attempt(&mut self, row: &Row) -> Result<()> {
        self.attempts += 1;
        let word: String = row.get(4)?;
        let outcome = Outcome::parse(&word);
        match outcome {
            Some(Outcome::Succeeded) => self.successes += 1,
            // Whoever called it off, or stopped the worker, knows; it is no failure of the job.
            Some(Outcome::Cancelled | Outcome::Interrupted) => {}
            _ => self.failed(Timestamp(row.get(0)?), row.get(5)?),
        }
        let duration: Option<u64> = row.get(6)?;
        if let Some(ms) = duration
            && matches!(outcome, Some(Outcome::Succeeded | Outcome::Failed | Outcome::TimedOut))
        {
            self.runs.add(Millis(ms));
        }
        let (started, due): (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
        // A retry that a person made due earlier started before its delay was over.
        if let (Some(started), Some(due)) = (started, due)
            && let Ok(wait) = u64::try_from(started - due)
        {
            self.waits.add(Millis(wait));
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "of numbers above 2^53 nobody misses the last digits")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn since(filter: &StatsFilter) -> i64 {
    filter.since.map_or(i64::MIN, |at| at.0)
}
