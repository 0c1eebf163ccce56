//! Makes the schedules and queue limits of the database those of a job file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::far_times::begins;
use super::limits::{self, LimitRow};
use super::schedules::{DeclaredSchedule, StoredSchedule, all_schedules, put};
use crate::model::{Limits, Schedule};
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
    /// A schedule, and when it fires next unless it is paused: at this time, or at another boot than this one.
    Schedule { next_at: Option<Timestamp>, boot_id: Option<String> },
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
        // If neither the schedule text nor its clocks change, the next time stays, and the boot that was seen: `every 1h` does
        // not begin anew at each apply. A time that has come stays in any case, since it was promised.
        let kept = stored.filter(|stored| stored.text.schedule == schedule.text.schedule);
        let has_come = |stored: &StoredSchedule| stored.next_at.is_some_and(|next| next <= tx.now);
        let keeps_time =
            |stored: &&StoredSchedule| !stored.text.needs_zone() || has_clocks(stored) || has_come(stored);
        let next_at = kept.filter(keeps_time).and_then(|stored| stored.next_at).or_else(|| {
            // Not before the last time, because the clock may have been set back since.
            let begins = begins(stored.and_then(|stored| stored.last).map(|(at, _)| at), tx.now);
            let zone = time_zone(schedule.zone.as_deref()).ok()?;
            Schedule::parse(&schedule.text.schedule, zone).ok()?.first(begins)
        });
        let kept = kept.and_then(|stored| stored.boot_id.as_deref());
        let boot_id = schedule.text.is_at_boot().then(|| kept.unwrap_or(boot_id));
        if change != Change::Unchanged {
            put(tx, file, schedule, next_at, boot_id)?;
        }
        let kind = AppliedKind::Schedule { next_at, boot_id: boot_id.map(str::to_owned) };
        let name = name.to_owned();
        applied.push(Applied { name, change, kind, taken_from: owner.cloned() });
    }
    let is_wanted = |name: &str| wanted.iter().any(|schedule| schedule.name() == name);
    for stored in present.iter().filter(|stored| stored.file == file && !is_wanted(stored.name())) {
        run(tx, "DELETE FROM schedules WHERE name = ?1", [stored.name()])?;
        let kind = AppliedKind::Schedule { next_at: None, boot_id: None };
        let name = stored.name().to_owned();
        applied.push(Applied { name, change: Change::Removed, kind, taken_from: None });
    }
    Ok(applied)
}
