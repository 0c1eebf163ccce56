//! Times that are too far away, because the clock was ahead when they were computed: next times of schedules, due times that were
//! computed from a delay, and ends of pauses that were made for a time.
//!
//! A time that a person named is never moved.

use rusqlite::{Row, params};

use super::conditions::is_known;
use super::schedule_columns::read_lines;
use crate::model::Schedule;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, run};
use crate::text::{Millis, Timestamp, time_zone};

/// A stored time that is further in the future than this shows that the clock was set back. A smaller difference may come
/// from two processes that read the clock at the same moment.
pub const SLACK: Millis = Millis::from_secs(1);

/// A last time that is further ahead than this is that of a clock which was wrong.
pub const AHEAD: Millis = Millis::from_secs(24 * 60 * 60);

/// No two zones are further apart than this.
const ZONES_APART: Millis = Millis::from_secs(26 * 60 * 60);

/// A time that was too far away, and the one that holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarTime {
    pub of: TimeOf,
    pub from: Timestamp,
    pub to: Timestamp,
}

/// What the time is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// The next time of this schedule.
    Schedule(String),
    /// The due time of this job.
    Job {
        id: i64,
        name: String,
    },
    /// The end of the pause of this queue.
    PausedQueue(String),
    PausedSchedule(String),
    PauseOfAll,
}

impl Store {
    /// Finds the times that are too far away, because the clock was ahead, and computes them again by the clock of now.
    ///
    /// A schedule gets the next time that its text gives. When it was applied may lie as far ahead, and becomes now, so that the
    /// age of its last success counts. A delay or the length of a pause counts from now.
    pub fn bring_far_times_nearer(&mut self) -> Result<Vec<FarTime>> {
        let is_any = |tx: &Tx| {
            Ok(!(far_times(tx)?.is_empty() && far_jobs(tx)?.is_empty() && far_pauses(tx)?.is_empty()))
        };
        if !self.read(is_any)? {
            return Ok(Vec::new());
        }
        self.write_work(|tx| {
            let far = [far_times(tx)?, far_jobs(tx)?, far_pauses(tx)?].concat();
            for time in &far {
                bring_nearer(tx, time)?;
            }
            Ok(far)
        })
    }
}

fn bring_nearer(tx: &Tx, FarTime { of, from, to }: &FarTime) -> Result<()> {
    match of {
        TimeOf::Schedule(name) => {
            let sql = "UPDATE schedules SET next_at = ?2, applied_at = iif(applied_at > ?4, ?3, applied_at),
                                            last_fired_at = iif(last_fired_at > ?4, NULL, last_fired_at),
                                            last_job_id = iif(last_fired_at > ?4, NULL, last_job_id)
                       WHERE name = ?1";
            run(tx, sql, params![name, to, tx.now, tx.now.plus(AHEAD)])?
        }
        TimeOf::Job { id, .. } => {
            let sql = "UPDATE jobs SET run_at = ?2, due_from = ?3, due_delay_ms = ?2 - ?3, changed_at = min(changed_at, ?3),
                                       expires_at = expires_at - (?4 - ?2) WHERE id = ?1";
            run(tx, sql, params![id, to, tx.now, from])?
        }
        TimeOf::PausedQueue(name) => run(
            tx,
            "UPDATE queues SET paused_until = ?2, paused_at = ?3 WHERE name = ?1",
            params![name, to, tx.now],
        )?,
        TimeOf::PausedSchedule(name) => {
            let sql = "UPDATE schedules SET paused_until = ?2, paused_at = ?3 WHERE name = ?1";
            run(tx, sql, params![name, to, tx.now])?
        }
        TimeOf::PauseOfAll => {
            run(tx, "UPDATE pause_of_all SET paused_until = ?1, paused_at = ?2", params![to, tx.now])?
        }
    };
    Ok(())
}

/// The pending jobs whose delay counts from a time to come. In a job of a program older than 1.2 the delay is known only if its
/// schedule drew it.
fn far_jobs(tx: &Tx) -> Result<Vec<FarTime>> {
    let known = is_known("jobs");
    let sql = format!(
        "SELECT id, name, run_at, due_delay_ms AS delay FROM jobs INDEXED BY jobs_delayed
         WHERE state = 'pending' AND due_from IS NOT NULL AND due_from > ?1 AND run_at = due_from + due_delay_ms AND {known}
         UNION ALL
         SELECT id, name, run_at, run_at - scheduled_for FROM (SELECT * FROM jobs ORDER BY id DESC LIMIT 1000) AS jobs
         WHERE state = 'pending' AND due_from IS NULL AND attempts = 0 AND enqueued_at > ?1 AND scheduled_for > ?1
               AND run_at - scheduled_for BETWEEN 1 AND (SELECT max(random_delay_ms) FROM schedules) AND {known} ORDER BY id"
    );
    all(tx, &sql, [tx.now.plus(SLACK)], |row| {
        let job = TimeOf::Job { id: row.get("id")?, name: row.get("name")? };
        Ok(FarTime { of: job, from: row.get("run_at")?, to: tx.now.plus(row.get("delay")?) })
    })
}

/// The pauses that were made for a time, and begin in the future.
fn far_pauses(tx: &Tx) -> Result<Vec<FarTime>> {
    let is_far = "paused_at > ?1 AND paused_until = paused_at + paused_for_ms";
    let read = |of: fn(String) -> TimeOf| {
        move |row: &Row<'_>| {
            let to = tx.now.plus(row.get("paused_for_ms")?);
            Ok(FarTime { of: of(row.get("name")?), from: row.get("paused_until")?, to })
        }
    };
    let future = tx.now.plus(SLACK);
    let columns = "paused_until, paused_for_ms";
    let sql = format!("SELECT name, {columns} FROM queues WHERE paused AND {is_far} ORDER BY name");
    let mut far = all(tx, &sql, [future], read(TimeOf::PausedQueue))?;
    let sql = format!(
        "SELECT name, {columns} FROM schedules WHERE paused AND {is_far} AND {} ORDER BY name",
        is_known("schedules")
    );
    far.extend(all(tx, &sql, [future], read(TimeOf::PausedSchedule))?);
    let sql = format!("SELECT 'all' AS name, {columns} FROM pause_of_all WHERE {is_far}");
    far.extend(all(tx, &sql, [future], read(|_| TimeOf::PauseOfAll))?);
    Ok(far)
}

fn far_times(tx: &Tx) -> Result<Vec<FarTime>> {
    let sql = format!(
        "SELECT name, schedule, schedule_lines, needs_version, timezone, next_at, last_fired_at FROM schedules
         WHERE next_at > ?1 AND {} ORDER BY name",
        is_known("schedules")
    );
    let rows = all(tx, &sql, [tx.now], |row| {
        let (lines, zone): (_, Option<String>) = (read_lines(row)?, row.get("timezone")?);
        let from: Timestamp = row.get("next_at")?;
        let begins = begins(row.get("last_fired_at")?, tx.now);
        let found = time_zone(zone.as_deref()).and_then(|zone| Schedule::of_lines(&lines, zone));
        let nearer = found.ok().and_then(|schedule| {
            // Without a zone it may have been computed by other clocks than those of this process.
            let is_exact = zone.is_some() || !schedule.goes_by_clocks();
            let apart = if is_exact { Millis(0) } else { ZONES_APART };
            schedule.nearer(from.minus(apart), begins.plus(apart))?;
            schedule.nearer(from, begins)
        });
        Ok((row.get("name")?, from, nearer))
    })?;
    let of = TimeOf::Schedule;
    let far =
        rows.into_iter().filter_map(|(name, from, nearer)| Some(FarTime { of: of(name), from, to: nearer? }));
    Ok(far.collect())
}

/// When a schedule with this last time goes on. Not before the last time, because the clock may have been set back since; but a
/// last time of more than a day ahead tells that the clock was wrong.
pub fn begins(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    last.filter(|last| *last <= now.plus(AHEAD)).map_or(now, |last| last.max(now))
}
