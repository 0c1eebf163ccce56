//! Makes the schedules and queue limits of the database those of a job file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::far_times::begins;
use super::limits::{self, LimitRow};
use super::schedules::{DeclaredSchedule, StoredSchedule, all_schedules, end_pauses, put};
use crate::model::{Limits, Missed, Schedule, ScheduleText};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::run;
use crate::text::{Timestamp, time_zone};

/// Everything that a job file declares for the database.
#[derive(Clone, Copy, Debug)]
pub struct Declarations<'a> {
    /// The canonical path of the job file.
    pub file: &'a str,
    pub schedules: &'a [DeclaredSchedule],
    /// The boot of the machine, which a new schedule that fires at boot has seen.
    pub boot_id: &'a str,
    /// The limits of queues by name.
    pub queues: &'a BTreeMap<String, Limits>,
    /// The files whose schedules this file may take over.
    pub take_over: &'a [String],
}

/// A schedule or a queue, with the facts that `apply` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedKind {
    /// A schedule.
    Schedule {
        /// When it fires next, unless it is paused.
        next_at: Option<Timestamp>,
        /// It fires at another boot than this one.
        boot_id: Option<String>,
        /// The times that were missed, would have been made up for, and are dropped with its old times.
        dropped: Vec<Timestamp>,
    },
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
    let Declarations { file, schedules: wanted, boot_id, take_over, .. } = declared;
    end_pauses(tx)?;
    let present = all_schedules(tx)?;
    let mut applied = Vec::new();
    for schedule in wanted {
        let name = schedule.name();
        let stored = present.iter().find(|stored| stored.name() == name);
        let owner = stored.map(|stored| &stored.file).filter(|owner| *owner != file);
        if let Some(owner) = owner.filter(|owner| !take_over.contains(owner)) {
            return Err(StoreError::AppliedElsewhere { name: name.to_owned(), file: owner.clone() });
        }
        let has_clocks = |stored: &StoredSchedule| stored.has_clocks_of(schedule, tx.now);
        let change = match stored {
            None => Change::Added,
            Some(_) if owner.is_some() => Change::Changed,
            Some(stored) if stored.matches(schedule) && stored.goes_on() && has_clocks(stored) => {
                Change::Unchanged
            }
            Some(_) => Change::Changed,
        };
        let (next_at, dropped) = next_time(stored, schedule, tx.now);
        let kept = stored.and_then(|stored| stored.boot_id.as_deref());
        let boot_id = schedule.text.is_at_boot().then(|| kept.unwrap_or(boot_id));
        if change != Change::Unchanged {
            put(tx, file, schedule, next_at, boot_id)?;
        }
        let kind = AppliedKind::Schedule { next_at, boot_id: boot_id.map(str::to_owned), dropped };
        let name = name.to_owned();
        applied.push(Applied { name, change, kind, taken_from: owner.cloned() });
    }
    let is_wanted = |name: &str| wanted.iter().any(|schedule| schedule.name() == name);
    for stored in present.iter().filter(|stored| stored.file == file && !is_wanted(stored.name())) {
        run(tx, "DELETE FROM schedules WHERE name = ?1", [stored.name()])?;
        let dropped = missed_runs(stored, tx.now);
        let kind = AppliedKind::Schedule { next_at: None, boot_id: None, dropped };
        let name = stored.name().to_owned();
        applied.push(Applied { name, change: Change::Removed, kind, taken_from: None });
    }
    Ok(applied)
}

/// The next time of a schedule once it is as declared, and the runs that were missed before and are dropped.
fn next_time(
    stored: Option<&StoredSchedule>,
    declared: &DeclaredSchedule,
    now: Timestamp,
) -> (Option<Timestamp>, Vec<Timestamp>) {
    let is_same_text = |stored: &&StoredSchedule| stored.text.lines == declared.text.lines;
    let (same, mut missed) =
        (stored.filter(is_same_text), stored.map(|it| missed_runs(it, now)).unwrap_or_default());
    // If neither the schedule text nor its clocks change, the next time stays: `every 1h` does not begin anew at each apply.
    let keeps_time =
        |stored: &&StoredSchedule| !stored.text.needs_zone() || stored.has_clocks_of(declared, now);
    if let Some((stored, next)) = same.filter(keeps_time).and_then(|stored| Some((stored, stored.next_at?))) {
        match stored.times() {
            Ok(times) => forget_what_comes(&mut missed, &times, next, &declared.text, now),
            // The promised time comes all the same.
            Err(_) => missed.clear(),
        }
        return (Some(next), missed);
    }
    let zone = time_zone(declared.zone.as_deref()).ok();
    let schedule = zone.and_then(|zone| declared.text.times(zone).ok());
    // A missed time stays if the new times have it. Where only the zone changes, one stays in any case, since it was promised.
    let shared = || {
        let (schedule, next) = (schedule.as_ref()?, stored.filter(|_| !missed.is_empty())?.next_at?);
        match stored?.times() {
            Ok(before) => schedule.first_shared(&before, next, now),
            Err(_) => Some(next).filter(|next| schedule.has(*next)),
        }
    };
    let promised = || {
        let next = same?.next_at.filter(|next| *next <= now)?;
        let is_shared = schedule.as_ref().is_some_and(|schedule| schedule.has(next));
        Some(missed.first().copied().filter(|_| !is_shared).unwrap_or(next))
    };
    let next_at = promised().or_else(shared).or_else(|| {
        // Not before the last time, because the clock may have been set back since.
        let begins = begins(stored.and_then(|stored| stored.last).map(|(at, _)| at), now);
        schedule.as_ref()?.first(begins)
    });
    if let (Some(next), Some(schedule)) = (next_at, &schedule) {
        forget_what_comes(&mut missed, schedule, next, &declared.text, now);
    }
    (next_at, missed)
}

/// Takes off these missed times those that still come by this schedule with this next time.
fn forget_what_comes(
    missed: &mut Vec<Timestamp>,
    schedule: &Schedule,
    next: Timestamp,
    text: &ScheduleText,
    now: Timestamp,
) {
    let (_, due) = text.too_late(schedule.due(next, now, text.missed).0, now);
    match text.missed {
        Missed::All | Missed::Skip => missed.retain(|time| !due.contains(time)),
        // One run makes up for all, and so stands for the last of them.
        Missed::Once if !due.is_empty() => {
            let comes =
                |time: &Timestamp| due.contains(time) || *time == next || *time > next && schedule.has(*time);
            if let Some(last) = missed.iter().rposition(comes) {
                missed.remove(last);
            }
        }
        Missed::Once => {}
    }
}

/// The times that have come for which a worker would enqueue jobs now.
fn missed_runs(stored: &StoredSchedule, now: Timestamp) -> Vec<Timestamp> {
    if stored.has_come(now) { stored.due(now).times } else { Vec::new() }
}
