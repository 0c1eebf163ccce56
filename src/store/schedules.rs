//! Schedules: frozen jobs that are enqueued again and again.
//!
//! A time fires in the transaction that moves its schedule on, so it fires once, whoever looks and whatever crashes.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::enqueue::{self, NewJob, Scheduled};
use super::error::{Result, StoreError};
use super::open::Store;
use crate::model::{JobSpec, Missed, ScheduleText};
use crate::text::Timestamp;

/// Schedules that fire in one turn; the rest waits for the next.
const MAX_SCHEDULES: usize = 100;

/// A schedule as a job file declares it.
#[derive(Clone, Debug)]
pub struct ApplySchedule {
    pub spec: JobSpec,
    pub text: ScheduleText,
}

/// An applied schedule.
#[derive(Clone, Debug)]
pub struct ScheduleRow {
    /// The definition, frozen.
    pub spec: JobSpec,
    pub text: ScheduleText,
    /// The canonical path of the job file.
    pub file: String,
    /// None: it never comes again.
    pub next_at: Option<Timestamp>,
    /// The scheduled time that last made a job, and that job.
    pub last: Option<(Timestamp, i64)>,
    /// Times at which the unique key was held.
    pub skipped: u64,
    pub paused: bool,
}

impl ScheduleRow {
    /// Is this what the job file declares?
    pub fn is(&self, declared: &ApplySchedule) -> bool {
        self.spec == declared.spec && self.text == declared.text
    }
}

/// A time of a schedule that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub name: String,
    pub at: Timestamp,
    /// None: the unique key was held, and the time was skipped.
    pub job_id: Option<i64>,
}

/// A definition with the values that a job keeps in columns.
#[derive(Serialize, Deserialize)]
struct FrozenJob {
    spec: JobSpec,
    queue: String,
    priority: i32,
    unique_key: Option<String>,
}

impl FrozenJob {
    fn to_text(spec: &JobSpec) -> Result<String> {
        let frozen = Self {
            spec: spec.clone(),
            queue: spec.queue.clone(),
            priority: spec.priority,
            unique_key: spec.unique_key.clone(),
        };
        serde_json::to_string(&frozen).map_err(|error| StoreError::InvalidData(error.to_string()))
    }

    fn parse(text: &str) -> Result<JobSpec> {
        let frozen: Self = serde_json::from_str(text)
            .map_err(|error| StoreError::InvalidData(format!("a schedule: {error}")))?;
        let Self { spec, queue, priority, unique_key } = frozen;
        Ok(JobSpec { queue, priority, unique_key, ..spec })
    }
}

impl Store {
    /// All schedules, by name.
    pub fn schedules(&self) -> Result<Vec<ScheduleRow>> {
        self.read(all)
    }

    /// Pauses a schedule, or resumes it. None if there is no such schedule; true if that changed something.
    ///
    /// The times that passed while it was paused are gone.
    pub fn pause_schedule(
        &mut self,
        name: &str,
        paused: bool,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Option<bool>> {
        self.write(|tx| {
            let sql = format!("{SELECT} WHERE name = ?1");
            let Some(row) = tx.prepare_cached(&sql)?.query_row([name], read).optional()? else {
                return Ok(None);
            };
            let row = row?;
            if row.paused == paused {
                return Ok(Some(false));
            }
            let next_at = row.next_at.and_then(|next| row.text.parse().ok()?.next_given(next, clock()));
            tx.execute(
                "UPDATE schedules SET paused = ?2, next_at = ?3 WHERE name = ?1",
                params![name, paused, next_at.map(|at| at.0)],
            )?;
            Ok(Some(true))
        })
    }
}

/// The columns that [`read`] takes.
const SELECT: &str =
    "SELECT job, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped, paused
                      FROM schedules";

/// All schedules, by name.
pub(super) fn all(tx: &Connection) -> Result<Vec<ScheduleRow>> {
    let mut statement = tx.prepare_cached(&format!("{SELECT} ORDER BY name"))?;
    let rows = statement.query_map([], read)?;
    rows.map(|row| row?).collect()
}

fn read(row: &Row) -> rusqlite::Result<Result<ScheduleRow>> {
    let missed: String = row.get(3)?;
    let last = row.get::<_, Option<i64>>(6)?.zip(row.get(7)?);
    let job: String = row.get(0)?;
    let text = ScheduleText {
        schedule: row.get(1)?,
        timezone: row.get(2)?,
        missed: Missed::parse(&missed).unwrap_or_default(),
    };
    let (file, next_at, skipped, paused) =
        (row.get(4)?, row.get::<_, Option<i64>>(5)?, row.get(8)?, row.get(9)?);
    Ok(FrozenJob::parse(&job).map(|spec| ScheduleRow {
        spec,
        text,
        file,
        next_at: next_at.map(Timestamp),
        last: last.map(|(at, job)| (Timestamp(at), job)),
        skipped,
        paused,
    }))
}

/// Writes a schedule that is new or changed. The next time stays if the schedule and its zone do.
pub(super) fn put(
    tx: &Connection,
    file: &str,
    schedule: &ApplySchedule,
    next_at: Option<Timestamp>,
) -> Result<()> {
    let ApplySchedule { spec, text } = schedule;
    tx.prepare_cached(
        "INSERT INTO schedules (name, job, schedule, timezone, missed, file, next_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO UPDATE SET job = ?2, schedule = ?3, timezone = ?4, missed = ?5, next_at = ?7",
    )?
    .execute(params![
        spec.name,
        FrozenJob::to_text(spec)?,
        text.schedule,
        text.timezone,
        text.missed.as_str(),
        file,
        next_at.map(|at| at.0),
    ])?;
    Ok(())
}

pub(super) fn remove(tx: &Connection, name: &str) -> Result<()> {
    tx.prepare_cached("DELETE FROM schedules WHERE name = ?1")?.execute([name])?;
    Ok(())
}

/// When the next schedule fires.
pub(super) fn next_due(tx: &Connection) -> Result<Option<Timestamp>> {
    let sql = "SELECT min(next_at) FROM schedules WHERE NOT paused AND next_at IS NOT NULL";
    let next: Option<i64> = tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(next.map(Timestamp))
}

/// Enqueues the jobs of the times that have come, and moves their schedules on.
pub(super) fn fire_due(tx: &Connection, now: Timestamp) -> Result<Vec<Fired>> {
    if next_due(tx)?.is_none_or(|due| due > now) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "{SELECT} WHERE NOT paused AND next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, name LIMIT ?2"
    );
    let due: Vec<ScheduleRow> = {
        let mut statement = tx.prepare_cached(&sql)?;
        let rows = statement.query_map(params![now.0, MAX_SCHEDULES], read)?;
        rows.map(|row| row?).collect::<Result<_>>()?
    };
    let mut fired = Vec::new();
    for row in due {
        fire(tx, &row, now, &mut fired)?;
    }
    Ok(fired)
}

fn fire(tx: &Connection, row: &ScheduleRow, now: Timestamp, fired: &mut Vec<Fired>) -> Result<()> {
    // A zone may be gone from the machine: then the schedule has no next time, and doctor says so.
    let schedule = row.text.parse().ok();
    let (times, next) = match row.next_at.zip(schedule.as_ref()) {
        Some((next, schedule)) => schedule.due(next, now, row.text.missed),
        None => (Vec::new(), None),
    };
    let spec = Arc::new(row.spec.clone());
    let (mut last, mut skipped) = (None, 0_u64);
    for at in times {
        let offset = schedule.as_ref().map_or(0, |schedule| schedule.offset_at(at));
        let scheduled = Some(Scheduled { at, offset });
        let job = NewJob { scheduled, ..NewJob::new(Arc::clone(&spec)) };
        let enqueued = enqueue::insert_all(tx, &[job], now, &mut |_| ())?;
        let job_id = enqueued.last().filter(|job| job.created).map(|job| job.id);
        match job_id {
            Some(id) => last = Some((at, id)),
            None => skipped += 1,
        }
        fired.push(Fired { name: spec.name.clone(), at, job_id });
    }
    tx.prepare_cached(
        "UPDATE schedules SET next_at = ?2, last_fired_at = coalesce(?3, last_fired_at),
                              last_job_id = coalesce(?4, last_job_id), skipped = skipped + ?5 WHERE name = ?1",
    )?
    .execute(params![
        spec.name,
        next.map(|at| at.0),
        last.map(|(at, _)| at.0),
        last.map(|(_, id)| id),
        skipped
    ])?;
    Ok(())
}
