//! Making the schedules and queue limits of the database those of a job file.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Serialize;

use super::error::{Result, StoreError};
use super::limits::{self, LimitRow};
use super::open::Store;
use super::schedules::{self, ApplySchedule, ScheduleRow};
use crate::model::Limits;
use crate::text::Timestamp;

/// Everything that a job file declares for the database.
#[derive(Clone, Copy, Debug)]
pub struct Declarations<'a> {
    /// The canonical path of the job file.
    pub file: &'a str,
    pub schedules: &'a [ApplySchedule],
    /// The limits of queues by name.
    pub queues: &'a BTreeMap<String, Limits>,
}

/// A thing that a job file declares, with the facts that `apply` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// When a schedule that stays fires next, unless it is paused.
    Schedule {
        next_at: Option<Timestamp>,
    },
    Queue {
        before: Limits,
        after: Limits,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Changed,
    Removed,
    Unchanged,
}

/// The change to one thing that a job file declares, or declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub name: String,
    pub change: Change,
    pub kind: Kind,
}

impl Store {
    /// Makes the schedules of the database those of the job file, and the limits of the queues that it declares, in one
    /// transaction. What the file had set and no longer declares goes.
    pub fn apply(&mut self, declared: Declarations, clock: &dyn Fn() -> Timestamp) -> Result<Vec<Applied>> {
        self.write(|tx| {
            let mut applied = apply_schedules(tx, declared.file, declared.schedules, clock())?;
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

    /// The changes that [`Store::apply`] would make; without a database, everything is new.
    pub fn plan_apply(store: Option<&Self>, declared: Declarations, now: Timestamp) -> Result<Vec<Applied>> {
        let (schedules, rows) = match store {
            Some(store) => store.read(|tx| Ok((schedules::all(tx)?, limits::rows(tx)?)))?,
            None => (Vec::new(), BTreeMap::new()),
        };
        let mut applied = plan_schedules(&schedules, declared.file, declared.schedules, now)?;
        let wanted = limits::wanted(&rows, declared.file, declared.queues);
        applied.extend(wanted.iter().map(|(name, row)| limits_change(&rows, name, row)));
        Ok(applied)
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
    Applied { name: name.to_owned(), change, kind: Kind::Queue { before, after } }
}

fn apply_schedules(
    tx: &Connection,
    file: &str,
    wanted: &[ApplySchedule],
    now: Timestamp,
) -> Result<Vec<Applied>> {
    let applied = plan_schedules(&schedules::all(tx)?, file, wanted, now)?;
    for Applied { name, change, kind } in &applied {
        let Kind::Schedule { next_at } = kind else { continue };
        match change {
            Change::Unchanged => {}
            Change::Removed => schedules::remove(tx, name)?,
            Change::Added | Change::Changed => {
                let found = wanted.iter().find(|schedule| schedule.name() == name);
                found.map_or(Ok(()), |schedule| schedules::put(tx, file, schedule, *next_at))?;
            }
        }
    }
    Ok(applied)
}

/// The changes that make the schedules of this file those that are `wanted`.
fn plan_schedules(
    present: &[ScheduleRow],
    file: &str,
    wanted: &[ApplySchedule],
    now: Timestamp,
) -> Result<Vec<Applied>> {
    let mut applied = Vec::new();
    for schedule in wanted {
        let name = schedule.name();
        let row = present.iter().find(|row| row.name() == name);
        if let Some(row) = row.filter(|row| row.file != file) {
            return Err(StoreError::AppliedElsewhere { name: name.to_owned(), file: row.file.clone() });
        }
        let change = match row {
            None => Change::Added,
            Some(row) if row.matches(schedule) && row.next_at.is_some() => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        // A schedule keeps its next time and its phase as long as its pace stays.
        let kept = row.filter(|row| row.text.has_pace_of(&schedule.text)).and_then(|row| row.next_at);
        let next_at = kept.or_else(|| {
            // Not before the last time: the clock may have been set back since.
            let begins = row.and_then(|row| row.last).map_or(now, |(at, _)| at.max(now));
            schedule.text.parse().ok()?.first(begins)
        });
        applied.push(Applied { name: name.to_owned(), change, kind: Kind::Schedule { next_at } });
    }
    let is_wanted = |name: &str| wanted.iter().any(|schedule| schedule.name() == name);
    for row in present.iter().filter(|row| row.file == file && !is_wanted(row.name())) {
        let name = row.name().to_owned();
        applied.push(Applied { name, change: Change::Removed, kind: Kind::Schedule { next_at: None } });
    }
    Ok(applied)
}
