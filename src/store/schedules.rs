//! Schedules: frozen jobs that are enqueued again and again.
//!
//! A time fires in the transaction that moves its schedule on, so it fires once, whoever looks and whatever crashes.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::enqueue;
use super::error::{Result, StoreError};
use super::insert::{After, NewJob, Scheduled};
use super::open::Store;
use crate::model::{Chain, FrozenJob, Link, Missed, ScheduleText};
use crate::text::Timestamp;

/// Schedules that fire in one turn; the rest waits for the next.
const MAX_SCHEDULES: usize = 100;

/// A schedule as a job file declares it.
#[derive(Clone, Debug)]
pub struct ApplySchedule {
    pub chain: Chain,
    pub text: ScheduleText,
}

impl ApplySchedule {
    /// The name of the job.
    pub fn name(&self) -> &str {
        &self.chain.last.spec.name
    }
}

/// An applied schedule.
#[derive(Clone, Debug)]
pub struct ScheduleRow {
    /// The job and what it is after, frozen.
    pub chain: Chain,
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
    /// The name of the job.
    pub fn name(&self) -> &str {
        &self.chain.last.spec.name
    }

    /// Is this what the job file declares?
    pub fn matches(&self, declared: &ApplySchedule) -> bool {
        self.chain == declared.chain && self.text == declared.text
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

/// A job of a chain, as it is stored.
#[derive(Serialize, Deserialize)]
struct FrozenLink {
    job: FrozenJob,
    /// Indexes of earlier links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<usize>,
}

fn freeze(chain: &Chain) -> Result<String> {
    let freeze =
        |link: &Link| FrozenLink { job: FrozenJob::freeze(link.spec.clone()), after: link.after.clone() };
    let links: Vec<_> = chain.before.iter().chain([&chain.last]).map(freeze).collect();
    serde_json::to_string(&links).map_err(|error| StoreError::InvalidData(error.to_string()))
}

fn thaw(text: &str) -> Result<Chain> {
    let links: serde_json::Result<Vec<FrozenLink>> = serde_json::from_str(text);
    let links = links.map_err(|error| StoreError::InvalidData(format!("a schedule: {error}")))?;
    let mut before: Vec<_> =
        links.into_iter().map(|link| Link { spec: link.job.thaw(), after: link.after }).collect();
    let last = before.pop().ok_or_else(|| StoreError::InvalidData("a schedule without a job".to_owned()))?;
    let is_in_order = |(index, link): (usize, &Link)| link.after.iter().all(|after| *after < index);
    if !before.iter().chain([&last]).enumerate().all(is_in_order) {
        return Err(StoreError::InvalidData("a schedule whose chain is out of order".to_owned()));
    }
    Ok(Chain { before, last })
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
    Ok(thaw(&job).map(|chain| ScheduleRow {
        chain,
        text,
        file,
        next_at: next_at.map(Timestamp),
        last: last.map(|(at, job)| (Timestamp(at), job)),
        skipped,
        paused,
    }))
}

/// Writes a schedule that is new or changed.
pub(super) fn put(
    tx: &Connection,
    file: &str,
    schedule: &ApplySchedule,
    next_at: Option<Timestamp>,
) -> Result<()> {
    let ApplySchedule { chain, text } = schedule;
    tx.prepare_cached(
        "INSERT INTO schedules (name, job, schedule, timezone, missed, file, next_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO UPDATE SET job = ?2, schedule = ?3, timezone = ?4, missed = ?5, next_at = ?7",
    )?
    .execute(params![
        schedule.name(),
        freeze(chain)?,
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
    let links = row.chain.before.iter().map(|link| (link, true)).chain([(&row.chain.last, false)]);
    let jobs = links.map(|(link, is_dependency)| NewJob {
        after: link.after.iter().copied().map(After::InCall).collect(),
        is_dependency,
        ..NewJob::new(Arc::new(link.spec.clone()))
    });
    let mut jobs: Vec<NewJob> = jobs.collect();
    let (mut last, mut skipped) = (None, 0_u64);
    for at in times {
        let offset = schedule.as_ref().map_or(0, |schedule| schedule.offset_at(at));
        for job in &mut jobs {
            job.scheduled = Some(Scheduled { at, offset });
        }
        let enqueued = enqueue::insert_all(tx, &jobs, now, &mut |_| ())?;
        let job_id = enqueued.last().filter(|job| job.created).map(|job| job.id);
        match job_id {
            Some(id) => last = Some((at, id)),
            None => skipped += 1,
        }
        fired.push(Fired { name: row.name().to_owned(), at, job_id });
    }
    tx.prepare_cached(
        "UPDATE schedules SET next_at = ?2, last_fired_at = coalesce(?3, last_fired_at),
                              last_job_id = coalesce(?4, last_job_id), skipped = skipped + ?5 WHERE name = ?1",
    )?
    .execute(params![
        row.name(),
        next.map(|at| at.0),
        last.map(|(at, _)| at.0),
        last.map(|(_, id)| id),
        skipped
    ])?;
    Ok(())
}
