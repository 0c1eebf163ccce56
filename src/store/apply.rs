//! Making the schedules of the database those of a job file.

use rusqlite::Connection;
use serde::Serialize;

use super::error::{Result, StoreError};
use super::open::Store;
use super::schedules::{self, ApplySchedule, ScheduleRow};
use crate::text::Timestamp;

/// What `apply` changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Schedule,
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
    pub kind: Kind,
    pub name: String,
    pub change: Change,
    /// When a schedule that stays fires next, unless it is paused.
    pub next_at: Option<Timestamp>,
}

impl Store {
    /// Makes the schedules of this file those that are `wanted`, in one transaction. `file` is a canonical path.
    pub fn apply(
        &mut self,
        file: &str,
        wanted: &[ApplySchedule],
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Applied>> {
        self.write(|tx| apply(tx, file, wanted, clock()))
    }

    /// What [`Store::apply`] would change.
    pub fn plan_apply(&self, file: &str, wanted: &[ApplySchedule], now: Timestamp) -> Result<Vec<Applied>> {
        plan(&self.schedules()?, file, wanted, now)
    }
}

fn apply(tx: &Connection, file: &str, wanted: &[ApplySchedule], now: Timestamp) -> Result<Vec<Applied>> {
    let applied = plan(&schedules::all(tx)?, file, wanted, now)?;
    for Applied { name, change, next_at, .. } in &applied {
        match change {
            Change::Unchanged => {}
            Change::Removed => schedules::remove(tx, name)?,
            Change::Added | Change::Changed => {
                let found = wanted.iter().find(|schedule| schedule.spec.name == *name);
                found.map_or(Ok(()), |schedule| schedules::put(tx, file, schedule, *next_at))?;
            }
        }
    }
    Ok(applied)
}

/// The changes that make the schedules of this file those that are `wanted`.
pub fn plan(
    present: &[ScheduleRow],
    file: &str,
    wanted: &[ApplySchedule],
    now: Timestamp,
) -> Result<Vec<Applied>> {
    let mut applied = Vec::new();
    for schedule in wanted {
        let name = &schedule.spec.name;
        let row = present.iter().find(|row| row.spec.name == *name);
        if let Some(row) = row.filter(|row| row.file != file) {
            return Err(StoreError::AppliedElsewhere { name: name.clone(), file: row.file.clone() });
        }
        let change = match row {
            None => Change::Added,
            Some(row) if row.is(schedule) => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        // A schedule keeps its next time and its phase as long as its pace stays.
        // Not before the last time: the clock may have been set back since.
        let begins = row.and_then(|row| row.last).map_or(now, |(at, _)| at.max(now));
        let next_at = match row.filter(|row| row.text.has_pace_of(&schedule.text)) {
            Some(row) => row.next_at,
            None => schedule.text.parse().ok().and_then(|parsed| parsed.first(begins)),
        };
        applied.push(Applied { kind: Kind::Schedule, name: name.clone(), change, next_at });
    }
    let is_wanted = |name: &str| wanted.iter().any(|schedule| schedule.spec.name == name);
    for row in present.iter().filter(|row| row.file == file && !is_wanted(&row.spec.name)) {
        let name = row.spec.name.clone();
        applied.push(Applied { kind: Kind::Schedule, name, change: Change::Removed, next_at: None });
    }
    Ok(applied)
}
