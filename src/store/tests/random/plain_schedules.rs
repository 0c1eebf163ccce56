//! The plain model of schedules: each steps from time to time.

use std::sync::Arc;

use super::plain::Plain;
use crate::model::{Chain, Event, Link, Missed, ScheduleText};
use crate::store::version::Version;
use crate::store::{
    Applied, AppliedKind, Change, Declarations, DeclaredSchedule, Dependency, Firing, NewJob, Result,
    StoreError, StoredSchedule,
};
use crate::text::{Millis, Timestamp};

/// An applied schedule.
#[derive(Clone)]
pub(super) struct PlainSchedule {
    pub row: StoredSchedule,
    every: Millis,
}

/// A schedule of a job file that comes every so many milliseconds.
pub(super) fn every_millis(chain: Chain, every: u64, missed: Missed) -> DeclaredSchedule {
    let text = ScheduleText {
        schedule: format!("every {every}ms"),
        timezone: Some("UTC".to_owned()),
        missed,
        fresh_within: None,
        random_delay: None,
    };
    DeclaredSchedule { chain, text }
}

impl Plain {
    pub fn apply(&mut self, declared: Declarations, now: Timestamp) -> Result<Vec<Applied>> {
        let mut applied = self.apply_schedules(declared, now)?;
        applied.extend(self.apply_limits(declared));
        Ok(applied)
    }

    fn apply_schedules(&mut self, declared: Declarations, now: Timestamp) -> Result<Vec<Applied>> {
        let Declarations { file, schedules: wanted, take_over, .. } = declared;
        let name = |schedule: &DeclaredSchedule| schedule.name().to_owned();
        for schedule in wanted {
            let owner = self.schedules.get(&name(schedule)).map(|other| other.row.file.clone());
            if let Some(file) = owner.filter(|owner| owner != file && !take_over.contains(owner)) {
                return Err(StoreError::AppliedElsewhere { name: name(schedule), file });
            }
        }
        let mut applied = Vec::new();
        for schedule in wanted {
            let span = schedule.text.schedule.trim_start_matches("every ");
            let every = Millis::parse(span).unwrap();
            let old = self.schedules.get(&name(schedule)).cloned();
            let mut row = old.as_ref().map_or_else(
                || StoredSchedule {
                    chain: schedule.chain.clone(),
                    text: schedule.text.clone(),
                    file: file.to_owned(),
                    next_at: None,
                    boot_id: None,
                    last: None,
                    skipped: 0,
                    skipped_in_row: 0,
                    paused: false,
                    applied_at: now,
                    last_success_at: None,
                    needs_version: Version::FIRST,
                },
                |old| old.row.clone(),
            );
            let change = match &old {
                None => Change::Added,
                Some(old)
                    if old.row.file == file
                        && old.row.chain == schedule.chain
                        && old.row.text == schedule.text =>
                {
                    Change::Unchanged
                }
                Some(_) => Change::Changed,
            };
            if old.as_ref().is_none_or(|old| old.every != every) {
                row.next_at = Some(row.last.map_or(now, |(at, _)| at.max(now)).plus(every));
            }
            let taken_from = Some(row.file).filter(|owner| owner != file);
            (row.chain, row.text) = (schedule.chain.clone(), schedule.text.clone());
            row.file = file.to_owned();
            if change != Change::Unchanged {
                row.applied_at = now;
            }
            let kind = AppliedKind::Schedule { next_at: row.next_at, boot_id: None };
            applied.push(Applied { name: name(schedule), change, kind, taken_from });
            self.schedules.insert(name(schedule), PlainSchedule { row, every });
        }
        let gone: Vec<String> = self
            .schedules
            .iter()
            .filter(|(name, old)| old.row.file == file && wanted.iter().all(|new| new.name() != *name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.schedules.remove(&name);
            let kind = AppliedKind::Schedule { next_at: None, boot_id: None };
            applied.push(Applied { name, change: Change::Removed, kind, taken_from: None });
        }
        Ok(applied)
    }

    pub fn pause_schedule(&mut self, name: &str, paused: bool, now: Timestamp) -> Option<bool> {
        let PlainSchedule { row, every } = self.schedules.get_mut(name)?;
        if row.paused == paused {
            return Some(false);
        }
        row.paused = paused;
        while row.next_at.unwrap() <= now {
            row.next_at = Some(row.next_at.unwrap().plus(*every));
        }
        Some(true)
    }

    pub fn fire_due(&mut self, now: Timestamp) -> Vec<Event> {
        let due =
            |schedule: &&mut PlainSchedule| !schedule.row.paused && schedule.row.next_at.unwrap() <= now;
        let mut due: Vec<PlainSchedule> =
            self.schedules.values_mut().filter(due).map(|it| it.clone()).collect();
        due.sort_by_key(|schedule| (schedule.row.next_at, schedule.row.name().to_owned()));
        let mut events = Vec::new();
        for PlainSchedule { mut row, every } in due {
            let mut times = Vec::new();
            while row.next_at.unwrap() <= now {
                times.push(row.next_at.unwrap());
                row.next_at = Some(row.next_at.unwrap().plus(every));
            }
            let kept = match row.text.missed {
                Missed::Once => 1,
                Missed::All => 100,
                Missed::Skip => usize::from(times.last().is_some_and(|latest| latest.0 >= now.0 - 60_000)),
            };
            for at in times.split_off(times.len().saturating_sub(kept)) {
                let scheduled = Some(Firing { at, offset: 0 });
                let job = |link: &Link, is_dependency| NewJob {
                    scheduled,
                    dependencies: link
                        .dependencies()
                        .map(|(index, kind)| (Dependency::InCall(index), kind))
                        .collect(),
                    is_dependency,
                    ..NewJob::new(Arc::new(link.definition.clone()))
                };
                let mut jobs: Vec<_> = row.chain.dependencies.iter().map(|link| job(link, true)).collect();
                jobs.push(job(&row.chain.root, false));
                let enqueued = *self.enqueue(&jobs, now).unwrap().last().unwrap();
                let (job_id, name) = (enqueued.id, row.name().to_owned());
                if enqueued.created {
                    row.last = Some((at, job_id));
                    row.skipped_in_row = 0;
                    events.push(Event::ScheduleFired { job_id, name, scheduled_for: at });
                } else {
                    row.skipped += 1;
                    row.skipped_in_row += 1;
                    events.push(Event::ScheduleSkipped { job_id: (), name, scheduled_for: at });
                }
            }
            self.schedules.insert(row.name().to_owned(), PlainSchedule { row, every });
        }
        events
    }
}
