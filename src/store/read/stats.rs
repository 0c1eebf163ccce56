//! One pass over all attempts and jobs that ended in a period: for the numbers of each name, and for the timeline of
//! `inspect --html`.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use super::attempts::read_usage;
use super::filter::Filter;
use crate::model::{ErrorCode, JobState, MemoryPeak, Outcome, ResourceUsage};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{all, each, from_row};
use crate::store::write::conditions::{expired_at, has_expired, is_ready};
use crate::store::write::job_files;
use crate::text::{Millis, Timestamp};

/// How many due jobs a timeline shows at most.
const MAX_DUE: usize = 100_000;

/// An attempt on a time axis: it has ended, is running, or has not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineAttempt {
    pub job_id: i64,
    pub number: u32,
    pub name: String,
    /// The row of the file that declares the job, as in [`NameStats`].
    pub job_file: Option<i64>,
    pub stage: Stage,
    /// When it fell due, where that is known.
    pub due_at: Option<Timestamp>,
    /// None where it has not started, or nobody knows when.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub duration: Option<Millis>,
    pub usage: Option<ResourceUsage>,
    pub error_code: Option<String>,
    /// The name of the warning with which it succeeded.
    pub warning: Option<ErrorCode>,
    /// When the retry fell due that this failure led to.
    pub retry_at: Option<Timestamp>,
}

/// The attempts of a period.
pub struct Timeline {
    pub attempts: Vec<TimelineAttempt>,
    pub stats: Vec<NameStats>,
    /// The paths of the job files of the attempts, by their row ids.
    pub files: BTreeMap<i64, String>,
}

/// How far an attempt on a time axis has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its job is due, and no worker has taken it.
    Due,
    Running,
    Ended(Outcome),
    /// Its job expired before a worker took it.
    Expired,
}

/// The numbers of all jobs of one name and job file, in the period that was asked for.
#[derive(Clone, Debug, Default)]
pub struct NameStats {
    pub name: String,
    /// The row of the job file; none for ad hoc jobs, and where the file is unknown.
    pub job_file: Option<i64>,
    /// The path of this file.
    pub file: Option<String>,
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    /// The succeeded ones that had a warning.
    pub warnings: u64,
    /// Ended attempts, of these jobs and of unfinished ones.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub successes: u64,
    /// The durations of attempts that ended by themselves or at their timeout.
    pub runs: Percentiles<Millis>,
    /// How long attempts waited between their due time and their start, where both are known.
    pub waits: Percentiles<Millis>,
    /// The CPU time of attempts, where it is known.
    pub cpu: Percentiles<Millis>,
    /// The peak of the memory of attempts, where it is known.
    pub memory: Percentiles<MemoryPeak>,
    /// When the newest job succeeded.
    pub last_success: Option<Timestamp>,
    /// The newest failure: when it happened, and its code.
    pub last_failure: Option<(Timestamp, String)>,
}

impl NameStats {
    /// How many jobs have ended.
    pub const fn jobs(&self) -> u64 {
        self.succeeded + self.dead + self.cancelled
    }

    /// The share of jobs that succeeded, from 0 to 1, without cancelled ones; none if there is no job.
    pub fn success_rate(&self) -> Option<f64> {
        ratio(self.succeeded, self.succeeded + self.dead)
    }

    /// None without a success.
    pub fn attempts_per_success(&self) -> Option<f64> {
        ratio(self.attempts, self.successes)
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody misses the last digits of numbers above 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The numbers of one name and job file while rows are read.
#[derive(Default)]
struct Gathered {
    stats: NameStats,
    runs: Vec<Millis>,
    waits: Vec<Millis>,
    usages: Vec<ResourceUsage>,
}

impl Gathered {
    fn add_job(&mut self, state: JobState, ended_at: Timestamp, code: Option<String>, is_warned: bool) {
        self.stats.warnings += u64::from(is_warned);
        match state {
            JobState::Succeeded => {
                self.stats.succeeded += 1;
                self.stats.last_success = self.stats.last_success.max(Some(ended_at));
            }
            JobState::Dead => self.stats.dead += 1,
            _ => self.stats.cancelled += 1,
        }
        self.add_failure(ended_at, code);
    }

    fn add_attempt(&mut self, attempt: &TimelineAttempt) {
        let (Stage::Ended(outcome), Some(finished_at)) = (attempt.stage, attempt.finished_at) else { return };
        self.stats.attempts += 1;
        self.stats.successes += u64::from(outcome == Outcome::Succeeded);
        if outcome.is_failure() {
            self.add_failure(finished_at, attempt.error_code.clone());
        }
        if outcome.has_run_time() {
            self.runs.extend(attempt.duration);
        }
        self.usages.extend(attempt.usage);
        if let (Some(started), Some(due)) = (attempt.started_at, attempt.due_at) {
            // If somebody made the retry due at once (`change --now`), it started before the due time that is known here, and
            // nobody knows how long it waited.
            self.waits.extend(u64::try_from(started.0 - due.0).ok().map(Millis));
        }
    }

    /// Adds the numbers of other jobs.
    fn append(&mut self, other: Self) {
        let Self { stats, runs, waits, usages } = other;
        self.stats.succeeded += stats.succeeded;
        self.stats.dead += stats.dead;
        self.stats.cancelled += stats.cancelled;
        self.stats.warnings += stats.warnings;
        self.stats.attempts += stats.attempts;
        self.stats.successes += stats.successes;
        self.stats.last_success = self.stats.last_success.max(stats.last_success);
        if let Some((at, code)) = stats.last_failure {
            self.add_failure(at, Some(code));
        }
        self.runs.extend(runs);
        self.waits.extend(waits);
        self.usages.extend(usages);
    }

    fn add_failure(&mut self, at: Timestamp, code: Option<String>) {
        if let Some(code) = code
            && self.stats.last_failure.as_ref().is_none_or(|(last, _)| *last < at)
        {
            self.stats.last_failure = Some((at, code));
        }
    }
}

/// Facts by name, by whether a job file declares the jobs, known or not, and by this file.
pub(super) type ByNameAndFile<File, Of> = BTreeMap<(String, bool, Option<File>), Of>;

/// Whether a job file declares the job of this row, known or not.
pub(super) fn has_origin(row: &Row<'_>) -> Result<bool> {
    Ok(row.get_ref("job_file")? != ValueRef::Null || row.get_ref("task_hash")? != ValueRef::Null)
}

/// Leaves what nobody declared with the declared jobs of its name, if these are of one file.
pub(super) fn with_undeclared<File: Ord, Of>(
    mut names: ByNameAndFile<File, Of>,
    append: impl Fn(&mut Of, Of),
) -> ByNameAndFile<File, Of> {
    let undeclared: Vec<_> = names.extract_if(.., |(_, has_origin, _), _| !*has_origin).collect();
    for ((name, _, file), of) in undeclared {
        let first = (name, true, None);
        let declared = names.range_mut(&first..);
        let mut declared = declared.take_while(|((name, has_origin, _), _)| *has_origin && *name == first.0);
        if let (Some((_, only)), None) = (declared.next(), declared.next()) {
            append(only, of);
        } else {
            names.insert((first.0, false, file), of);
        }
    }
    names
}

impl Store {
    /// The numbers of all names that have something that ended, by name and then by job file. Takes about a second for a million
    /// attempts.
    pub fn stats(&self, filter: &Filter, now: Timestamp) -> Result<Vec<NameStats>> {
        self.walk(filter, now, |_| ())
    }

    /// The attempts that ended in the period of the filter, by their end, and those that run or are due; and the numbers
    /// of each name, as [`Store::stats`] has them.
    pub fn timeline(&self, filter: &Filter, now: Timestamp) -> Result<Timeline> {
        let mut attempts = Vec::new();
        let stats = self.walk(filter, now, |attempt| attempts.push(attempt))?;
        let (since, until) = filter.period();
        self.autocommit(|tx| {
            let Filter { name, queue, label, .. } = filter;
            let params = params![since, name, queue, until, label];
            attempts.extend(all(tx, EXPIRED, params, read_timeline)?);
            attempts.extend(all(tx, RUNNING, params, read_timeline)?);
            attempts.extend(all(tx, &due(), params![now, name, queue, MAX_DUE, label], read_timeline)?);
            let files = job_files::paths(tx, &attempts.iter().filter_map(|it| it.job_file).collect())?;
            Ok(Timeline { attempts, stats, files })
        })
    }

    /// Gives `take` each attempt that ended in the period of the filter, in the order of their ends. Counts these attempts and
    /// the jobs that ended in the period.
    fn walk(
        &self,
        filter: &Filter,
        now: Timestamp,
        mut take: impl FnMut(TimelineAttempt),
    ) -> Result<Vec<NameStats>> {
        let mut names: ByNameAndFile<i64, Gathered> = BTreeMap::new();
        let (since, until) = filter.period();
        let Filter { name, queue, label, .. } = filter;
        // Each statement sees a moment of its own: a transaction over all of them would hold up checkpoints.
        self.autocommit(|tx| {
            each(tx, &ended_jobs(), params![since, name, queue, until, now, label], |row| {
                let (state, ended_at, code) =
                    (row.get("state")?, row.get("ended_at")?, row.get("error_code")?);
                let key = (row.get("name")?, has_origin(row)?, row.get("job_file")?);
                names.entry(key).or_default().add_job(state, ended_at, code, row.get("is_warned")?);
                Ok(())
            })?;
            each(tx, ENDED, params![since, name, queue, until, label], |row| {
                let attempt = read_timeline(row)?;
                let key = (attempt.name.clone(), has_origin(row)?, attempt.job_file);
                names.entry(key).or_default().add_attempt(&attempt);
                take(attempt);
                Ok(())
            })
        })?;
        let names = with_undeclared(names, Gathered::append);
        let ids = names.keys().filter_map(|(_, _, job_file)| *job_file).collect();
        let files = self.autocommit(|tx| job_files::paths(tx, &ids))?;
        let finished = names.into_iter().map(|((name, _, job_file), gathered)| {
            let Gathered { stats, runs, waits, usages } = gathered;
            let cpu = Percentiles::of(usages.iter().map(|usage| usage.cpu).collect());
            let memory = Percentiles::of(usages.iter().map(|usage| usage.memory).collect());
            let file = job_file.and_then(|id| files.get(&id).cloned());
            let (runs, waits) = (Percentiles::of(runs), Percentiles::of(waits));
            NameStats { name, job_file, file, runs, waits, cpu, memory, ..stats }
        });
        let mut finished: Vec<NameStats> = finished.collect();
        finished.sort_by(|one, other| (&one.name, &one.file).cmp(&(&other.name, &other.file)));
        Ok(finished)
    }
}

/// The jobs that ended. A pending job that has expired is dead, recorded or not.
fn ended_jobs() -> String {
    let expired_at = expired_at("jobs");
    format!(
        "SELECT name, task_hash, job_file, state, changed_at AS ended_at,
            error_code, warning IS NOT NULL AS is_warned
     FROM jobs INDEXED BY jobs_finished
     WHERE (state = 'succeeded' OR state = 'dead' OR state = 'cancelled') AND changed_at >= ?1 AND changed_at < ?4
       AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) AND (?6 IS NULL OR coalesce(label, '') = ?6)
     UNION ALL
     SELECT name, task_hash, job_file, 'dead', {expired_at}, 'EXPIRED', 0
     FROM jobs INDEXED BY jobs_expiring
     WHERE {} AND {expired_at} >= ?1 AND {expired_at} < ?4
       AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) AND (?6 IS NULL OR coalesce(label, '') = ?6)",
        has_expired("jobs", "?5")
    )
}

// The statements of the timeline. Two due times of ended attempts are known: a job keeps its last one, and a retry was due
// when its delay was over.
const ENDED: &str = "SELECT a.job_id, a.number, j.name, j.task_hash, j.job_file,
        'ended' AS stage, a.outcome,
        CASE WHEN a.number = j.attempts AND j.finished_at = a.finished_at THEN j.run_at
             ELSE (SELECT p.finished_at + p.delay_ms FROM attempts AS p
                   WHERE p.job_id = a.job_id AND p.number = a.number - 1) END AS due_at,
        a.started_at, a.finished_at, a.duration_ms, a.cpu_ms, a.max_rss_bytes, a.max_rss_bound_bytes, a.error_code, a.warning,
        a.finished_at + a.delay_ms AS retry_at
    FROM attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j ON j.id = a.job_id
    WHERE a.finished_at >= ?1 AND a.finished_at < ?4 AND (?2 IS NULL OR j.name = ?2) AND (?3 IS NULL OR j.queue = ?3)
      AND (?5 IS NULL OR coalesce(j.label, '') = ?5)
    ORDER BY a.finished_at";

const EXPIRED: &str = "SELECT id AS job_id, attempts AS number, name, job_file, 'expired' AS stage, NULL AS outcome, run_at AS due_at,
        NULL AS started_at, changed_at AS finished_at, NULL AS duration_ms, error_code, NULL AS warning, NULL AS retry_at
    FROM jobs INDEXED BY jobs_finished
    WHERE state = 'dead' AND changed_at >= ?1 AND changed_at < ?4 AND dead_reason = 'expired' AND error_code = 'EXPIRED'
      AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) AND (?5 IS NULL OR coalesce(label, '') = ?5)";

const RUNNING: &str = "SELECT id AS job_id, attempts + 1 AS number, name, job_file, 'running' AS stage, NULL AS outcome,
        run_at AS due_at, changed_at AS started_at, NULL AS finished_at, NULL AS duration_ms, NULL AS error_code,
        NULL AS warning, NULL AS retry_at
    FROM jobs INDEXED BY jobs_running
    WHERE state = 'running' AND ?1 IS NOT NULL AND changed_at < ?4
      AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) AND (?5 IS NULL OR coalesce(label, '') = ?5)";

fn due() -> String {
    format!(
        "SELECT id AS job_id, attempts + 1 AS number, name, job_file, 'due' AS stage, NULL AS outcome, run_at AS due_at,
        NULL AS started_at, NULL AS finished_at, NULL AS duration_ms, NULL AS error_code, NULL AS warning, NULL AS retry_at
    FROM jobs INDEXED BY jobs_claimable
    WHERE {}
      AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3) AND (?5 IS NULL OR coalesce(label, '') = ?5) LIMIT ?4",
        is_ready("jobs", "?1")
    )
}

fn read_timeline(row: &Row<'_>) -> Result<TimelineAttempt> {
    let stage = match row.get_ref("stage")?.as_str()? {
        "ended" => Stage::Ended(row.get("outcome")?),
        "expired" => Stage::Expired,
        "running" => Stage::Running,
        _ => Stage::Due,
    };
    let duration = row.get("duration_ms")?;
    let usage = if matches!(stage, Stage::Ended(_)) { read_usage(row)? } else { None };
    Ok(from_row!(
        row,
        TimelineAttempt {
            job_id,
            number,
            name,
            job_file,
            stage: stage,
            due_at,
            started_at,
            finished_at,
            duration: duration,
            usage: usage,
            error_code,
            warning,
            retry_at,
        }
    ))
}

/// Values in ascending order, for their percentiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Percentiles<T> {
    sorted: Vec<T>,
}

impl<T> Default for Percentiles<T> {
    fn default() -> Self {
        Self { sorted: Vec::new() }
    }
}

impl<T: Copy + Ord> Percentiles<T> {
    pub fn of(mut values: Vec<T>) -> Self {
        values.sort_unstable();
        Self { sorted: values }
    }

    /// The greatest value; none if there are no values.
    pub fn max(&self) -> Option<T> {
        self.sorted.last().copied()
    }

    /// The percentile by nearest rank: the least value such that at least `percent` percent of all are not greater. None
    /// without values.
    pub fn percentile(&self, percent: usize) -> Option<T> {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank() {
        let of = |spans: &[u64]| Percentiles::of(spans.iter().map(|span| Millis(*span)).collect());
        assert_eq!((of(&[]).percentile(50), of(&[]).max()), (None, None));
        assert_eq!(of(&[70_000]).percentile(50), Some(Millis(70_000)));
        let some = of(&[5, 1, 3, 2, 4]);
        let found: Vec<_> = [0, 1, 20, 21, 50, 95, 100].map(|p| some.percentile(p).unwrap().0).into();
        assert_eq!(found, [1, 1, 1, 2, 3, 5, 5]);
        assert_eq!(some.max(), Some(Millis(5)));
    }
}
