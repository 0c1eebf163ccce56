//! Schedules: jobs that are enqueued again and again. `apply` takes them from a job file, and a worker's turn fires them.
//!
//! One transaction enqueues the jobs of a due schedule and sets its next time, so that a time fires exactly once, with any
//! number of workers and through any crash. The next time itself is computed in `model/schedule.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::definition;
use super::enqueue;
use super::error::{Result, StoreError};
use super::insert::{Dependency, Firing, NewJob};
use super::limits::{self, LimitRow};
use super::open::{Store, Tx};
use super::row::{all, from_row, maybe, one, run, value};
use super::version::{self, Version};
use crate::model::{Chain, Event, Limits, ScheduleText};
use crate::text::{Timestamp, time_zone};

/// At most this number of schedules fires in one turn; the rest waits for the next turn.
const MAX_SCHEDULES: usize = 100;

/// A schedule as a job file declares it.
#[derive(Clone, Debug)]
pub struct DeclaredSchedule {
    pub chain: Chain,
    pub text: ScheduleText,
}

impl DeclaredSchedule {
    /// The name of the scheduled job.
    pub fn name(&self) -> &str {
        &self.chain.root.definition.name
    }
}

/// An applied schedule.
#[derive(Clone, Debug)]
pub struct StoredSchedule {
    /// The scheduled job and its dependencies.
    pub chain: Chain,
    pub text: ScheduleText,
    /// The canonical path of the job file.
    pub file: String,
    /// None if the schedule never fires again.
    pub next_at: Option<Timestamp>,
    /// The scheduled time for which a job was last enqueued, and the id of that job.
    pub last: Option<(Timestamp, i64)>,
    /// The number of times that were skipped because the unique key was held.
    pub skipped: u64,
    /// Of these, the ones since a job was last enqueued.
    pub skipped_in_row: u64,
    pub paused: bool,
    /// When it was added, or last changed.
    pub applied_at: Timestamp,
    /// When a job of its name last succeeded since it was added.
    pub last_success_at: Option<Timestamp>,
    /// The version of the schema that a worker must know to fire it.
    pub needs_version: Version,
}

impl StoredSchedule {
    /// The name of the scheduled job.
    pub fn name(&self) -> &str {
        &self.chain.root.definition.name
    }

    /// Whether this is what the job file declares.
    pub fn matches(&self, declared: &DeclaredSchedule) -> bool {
        self.chain == declared.chain && self.text == declared.text
    }
}

fn read_chain(row: &Row<'_>) -> Result<Chain> {
    let chain: Chain = definition::read(row, "chain_json")?;
    if !chain.is_in_order() {
        return Err(StoreError::InvalidData("a schedule whose chain is out of order".to_owned()));
    }
    Ok(chain)
}

impl Store {
    /// All schedules, by name.
    pub fn schedules(&self) -> Result<Vec<StoredSchedule>> {
        self.read(|tx| all_schedules(tx))
    }

    /// The job files that have applied a schedule or a limit that is still there.
    pub fn applied_files(&self) -> Result<Vec<String>> {
        let sql = "SELECT file FROM schedules UNION
                   SELECT max_running_file FROM queues WHERE max_running_file IS NOT NULL UNION
                   SELECT rate_file FROM queues WHERE rate_file IS NOT NULL";
        self.read(|tx| all(tx, sql, [], value))
    }

    /// Pauses a schedule, or resumes it. None if there is no such schedule; true if that changed something.
    ///
    /// The times that passed during the pause do not count as missed.
    pub fn pause_schedule(&mut self, name: &str, paused: bool) -> Result<Option<bool>> {
        self.write_work(|tx| {
            let Some(schedule) = maybe(tx, &format!("{SELECT} WHERE name = ?1"), [name], read)? else {
                return Ok(None);
            };
            if schedule.paused == paused {
                return Ok(Some(false));
            }
            let next_at = schedule
                .next_at
                .and_then(|next| schedule.text.parse(time_zone).ok()?.next_given(next, tx.now));
            let sql = "UPDATE schedules SET paused = ?2, next_at = ?3 WHERE name = ?1";
            run(tx, sql, params![name, paused, next_at])?;
            Ok(Some(true))
        })
    }
}

const SELECT: &str =
    "SELECT chain_json, schedule, timezone, missed, file, next_at, last_fired_at, last_job_id, skipped,
                             skipped_in_row, paused, applied_at, last_success_at, fresh_within_ms, needs_version
                      FROM schedules";

/// All schedules, by name.
fn all_schedules(tx: &Connection) -> Result<Vec<StoredSchedule>> {
    all(tx, &format!("{SELECT} ORDER BY name"), [], read)
}

/// Reads a row of [`SELECT`].
fn read(row: &Row<'_>) -> Result<StoredSchedule> {
    let last_at: Option<Timestamp> = row.get("last_fired_at")?;
    Ok(from_row!(
        row,
        StoredSchedule {
            chain: read_chain(row)?,
            text: from_row!(
                row,
                ScheduleText { schedule, timezone, missed, fresh_within: row.get("fresh_within_ms")? }
            ),
            file,
            next_at,
            last: last_at.zip(row.get("last_job_id")?),
            skipped,
            skipped_in_row,
            paused,
            applied_at,
            last_success_at,
            needs_version: Version(row.get("needs_version")?),
        }
    ))
}

/// Writes a schedule that is new or changed.
fn put(tx: &Tx, file: &str, schedule: &DeclaredSchedule, next_at: Option<Timestamp>) -> Result<()> {
    let sql = "INSERT INTO schedules (name, chain_json, schedule, timezone, missed, file, next_at, applied_at, needs_version,
                                      fresh_within_ms)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
               ON CONFLICT DO UPDATE SET chain_json = ?2, schedule = ?3, timezone = ?4, missed = ?5, file = ?6, next_at = ?7,
                                         applied_at = ?8, needs_version = ?9, fresh_within_ms = ?10";
    let links = schedule.chain.links();
    let needs = links.map(|link| definition::needs_version(&link.definition)).max();
    let chain = serde_json::to_string(&schedule.chain);
    let chain = chain.map_err(|error| StoreError::InvalidData(error.to_string()))?;
    let ScheduleText { schedule: times, timezone, missed, fresh_within } = &schedule.text;
    run(
        tx,
        sql,
        params![schedule.name(), chain, times, timezone, missed, file, next_at, tx.now, needs, fresh_within],
    )?;
    Ok(())
}

/// Records that a job of this name has succeeded, for the schedule of that name if there is one.
pub(super) fn record_success(tx: &Connection, name: &str, at: Timestamp) -> Result<()> {
    run(tx, "UPDATE schedules SET last_success_at = ?2 WHERE name = ?1", params![name, at])?;
    Ok(())
}

/// When the next schedule fires.
pub(super) fn next_due(tx: &Connection) -> Result<Option<Timestamp>> {
    let sql = "SELECT min(next_at) FROM schedules
               WHERE NOT paused AND next_at IS NOT NULL AND needs_version <= ?1";
    one(tx, sql, [version::known().version()], value)
}

/// Enqueues the jobs of the schedules that are due, and sets the next time of each.
pub(super) fn fire_due(tx: &Tx) -> Result<Vec<Event>> {
    if next_due(tx)?.is_none_or(|due| due > tx.now) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "{SELECT} WHERE NOT paused AND next_at IS NOT NULL AND next_at <= ?1 AND needs_version <= ?3
         ORDER BY next_at, name LIMIT ?2"
    );
    let mut events = Vec::new();
    for schedule in all(tx, &sql, params![tx.now, MAX_SCHEDULES, version::known().version()], read)? {
        fire(tx, &schedule, &mut events)?;
    }
    Ok(events)
}

/// Enqueues the jobs for all due times of this schedule, and sets its next time.
fn fire(tx: &Tx, row: &StoredSchedule, events: &mut Vec<Event>) -> Result<()> {
    // The machine may have lost the time zone. Then the schedule gets no next time, and doctor says so.
    let schedule = row.text.parse(time_zone).ok();
    let (times, next) = match row.next_at.zip(schedule.as_ref()) {
        Some((next, schedule)) => schedule.due(next, tx.now, row.text.missed),
        None => (Vec::new(), None),
    };
    let links = row.chain.dependencies.iter().map(|link| (link, true)).chain([(&row.chain.root, false)]);
    let jobs = links.map(|(link, is_dependency)| NewJob {
        dependencies: link.dependencies().map(|(index, kind)| (Dependency::InCall(index), kind)).collect(),
        is_dependency,
        ..NewJob::new(Arc::new(link.definition.clone()))
    });
    let mut jobs: Vec<NewJob> = jobs.collect();
    let (mut last, mut skipped, mut skipped_in_row) = (None, 0_u64, row.skipped_in_row);
    for at in times {
        let offset = schedule.as_ref().map_or(0, |schedule| schedule.offset_at(at));
        for job in &mut jobs {
            job.scheduled = Some(Firing { at, offset });
        }
        let enqueued = enqueue::insert_all(tx, &jobs, &mut |_| ())?;
        let job_id = enqueued.last().filter(|job| job.created).map(|job| job.id);
        let name = row.name().to_owned();
        if let Some(job_id) = job_id {
            last = Some((at, job_id));
            skipped_in_row = 0;
            events.push(Event::ScheduleFired { job_id, name, scheduled_for: at });
        } else {
            skipped += 1;
            skipped_in_row += 1;
            events.push(Event::ScheduleSkipped { job_id: (), name, scheduled_for: at });
        }
    }
    let sql = "UPDATE schedules SET next_at = ?2, last_fired_at = coalesce(?3, last_fired_at),
                                    last_job_id = coalesce(?4, last_job_id), skipped = skipped + ?5,
                                    skipped_in_row = ?6 WHERE name = ?1";
    let (last_at, last_id) = last.unzip();
    run(tx, sql, params![row.name(), next, last_at, last_id, skipped, skipped_in_row])?;
    Ok(())
}

/// Everything that a job file declares for the database.
#[derive(Clone, Copy, Debug)]
pub struct Declarations<'a> {
    /// The canonical path of the job file.
    pub file: &'a str,
    pub schedules: &'a [DeclaredSchedule],
    /// The limits of queues by name.
    pub queues: &'a BTreeMap<String, Limits>,
    /// The files whose schedules this file may take over.
    pub take_over: &'a [String],
}

/// What kind of thing was applied, with the facts that `apply` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliedKind {
    /// A schedule, and when it fires next unless it is paused.
    Schedule { next_at: Option<Timestamp> },
    /// The limits of a queue.
    Queue { before: Limits, after: Limits },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Changed,
    Removed,
    Unchanged,
}

/// A change to one thing that the job file declares, or used to declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub name: String,
    pub change: Change,
    pub kind: AppliedKind,
    /// The file that had applied the schedule before.
    pub taken_from: Option<String>,
}

impl Store {
    /// Makes the schedules and queue limits of the database those of the job file, in one transaction. Removes what the
    /// same file had set before and no longer declares.
    pub fn apply(&mut self, declared: Declarations) -> Result<Vec<Applied>> {
        self.write_work(|tx| {
            let mut applied = apply_schedules(tx, declared)?;
            let rows = limits::rows(tx)?;
            for (name, row) in limits::wanted(&rows, declared.file, declared.queues) {
                applied.push(limits_change(&rows, &name, &row));
                if rows.get(&name) != Some(&row) {
                    row.save(tx, &name)?;
                }
            }
            Ok(applied)
        })
    }
}

/// The change of a queue's limits to those of this row.
fn limits_change(rows: &BTreeMap<String, LimitRow>, name: &str, row: &LimitRow) -> Applied {
    let before = rows.get(name).map(|row| row.limits).unwrap_or_default();
    let after = row.limits;
    let change = match (before.is_none(), after.is_none()) {
        _ if before == after => Change::Unchanged,
        (true, _) => Change::Added,
        (_, true) => Change::Removed,
        _ => Change::Changed,
    };
    let kind = AppliedKind::Queue { before, after };
    Applied { name: name.to_owned(), change, kind, taken_from: None }
}

fn apply_schedules(tx: &Tx, declared: Declarations) -> Result<Vec<Applied>> {
    let Declarations { file, schedules: wanted, take_over, .. } = declared;
    let present = all_schedules(tx)?;
    let mut applied = Vec::new();
    for schedule in wanted {
        let name = schedule.name();
        let stored = present.iter().find(|stored| stored.name() == name);
        let owner = stored.map(|stored| &stored.file).filter(|owner| *owner != file);
        if let Some(owner) = owner.filter(|owner| !take_over.contains(owner)) {
            return Err(StoreError::AppliedElsewhere { name: name.to_owned(), file: owner.clone() });
        }
        let change = match stored {
            None => Change::Added,
            Some(_) if owner.is_some() => Change::Changed,
            Some(stored) if stored.matches(schedule) && stored.next_at.is_some() => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        // If neither the schedule text nor its time zone changes, the next time stays: `every 1h` does not begin anew at each
        // apply.
        let kept = stored.filter(|stored| stored.text.has_pace_of(&schedule.text));
        let next_at = kept.and_then(|stored| stored.next_at).or_else(|| {
            // Not before the last time, because the clock may have been set back since.
            let begins = stored.and_then(|stored| stored.last).map_or(tx.now, |(at, _)| at.max(tx.now));
            schedule.text.parse(time_zone).ok()?.first(begins)
        });
        if change != Change::Unchanged {
            put(tx, file, schedule, next_at)?;
        }
        let (name, kind) = (name.to_owned(), AppliedKind::Schedule { next_at });
        applied.push(Applied { name, change, kind, taken_from: owner.cloned() });
    }
    let is_wanted = |name: &str| wanted.iter().any(|schedule| schedule.name() == name);
    for stored in present.iter().filter(|stored| stored.file == file && !is_wanted(stored.name())) {
        run(tx, "DELETE FROM schedules WHERE name = ?1", [stored.name()])?;
        let (name, kind) = (stored.name().to_owned(), AppliedKind::Schedule { next_at: None });
        applied.push(Applied { name, change: Change::Removed, kind, taken_from: None });
    }
    Ok(applied)
}
