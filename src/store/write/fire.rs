//! Fires schedules: enqueues the jobs of those that are due, or fire at boot, and sets their next times.
//!
//! One transaction does both, so that a time fires exactly once, with any number of workers and through any crash.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::params;

use super::conditions::is_known;
use super::enqueue;
use super::insert::{Dependency, Due, Firing, NewJob};
use super::schedules::{DueTimes, SELECT, StoredSchedule, end_pauses, next_due, read};
use super::{job_files, limits};
use crate::model::{Event, SkipReason};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, all_or_nothing, maybe, one, run, value};
use crate::text::{Millis, Timestamp};

/// At most this number of schedules fires in one turn; the rest waits for the next turn.
const MAX_SCHEDULES: usize = 100;

/// Whether a schedule is due at `?1`.
fn is_due() -> String {
    format!("NOT paused AND next_at IS NOT NULL AND next_at <= ?1 AND {}", is_known("schedules"))
}

/// Whether a schedule fires at boot, and has not seen the boot `?1`.
fn waits_for_boot() -> String {
    format!("next_at IS NULL AND boot_id <> ?1 AND ?1 <> '' AND {}", is_known("schedules"))
}

/// Ends the pauses of schedules that are over, enqueues the jobs of the schedules that are due, and sets the next time of each.
pub fn fire_due(tx: &Tx) -> Result<Vec<Event>> {
    end_pauses(tx)?;
    // The end of a pause may have been all that there was.
    if next_due(tx)?.is_none_or(|at| at > tx.now) {
        return Ok(Vec::new());
    }
    let sql = format!("{SELECT} WHERE {} ORDER BY next_at, name LIMIT ?2", is_due());
    let due = all(tx, &sql, params![tx.now, MAX_SCHEDULES], |row| read(row, tx.now))?;
    let mut events = Vec::new();
    for schedule in dependencies_first(due, |name| due_of_name(tx, name))? {
        fire(tx, &schedule, &mut events)?;
    }
    Ok(events)
}

/// The schedule of this name, if it is due.
fn due_of_name(tx: &Tx, name: &str) -> Result<Option<StoredSchedule>> {
    let sql = format!("{SELECT} WHERE name = ?2 AND {}", is_due());
    maybe(tx, &sql, params![tx.now, name], |row| read(row, tx.now))
}

/// These schedules, each after those whose runs its jobs wait for, which `due` finds if they fire now, too. Otherwise a job would
/// miss a run that comes in the same moment.
fn dependencies_first(
    schedules: Vec<StoredSchedule>,
    due: impl Fn(&str) -> Result<Option<StoredSchedule>>,
) -> Result<Vec<StoredSchedule>> {
    enum Visit {
        Find(StoredSchedule),
        Fire(StoredSchedule),
    }
    let (mut ordered, mut found) = (Vec::new(), HashSet::new());
    // Of several files each schedule may be after the other. Then one of them is first.
    let mut steps: Vec<Visit> = schedules.into_iter().rev().map(Visit::Find).collect();
    while let Some(step) = steps.pop() {
        match step {
            Visit::Fire(schedule) => ordered.push(schedule),
            Visit::Find(schedule) if found.insert(schedule.name().to_owned()) => {
                let mut before = Vec::new();
                for name in schedule.chain.scheduled_dependencies().filter(|name| !found.contains(*name)) {
                    before.extend(due(name)?.map(Visit::Find));
                }
                steps.push(Visit::Fire(schedule));
                steps.extend(before.into_iter().rev());
            }
            Visit::Find(_) => {}
        }
    }
    Ok(ordered)
}

impl Store {
    /// Enqueues the jobs of the schedules that fire at boot and have not seen this one, each in the transaction that makes it
    /// see the boot, so that it fires once for each boot. Those that are due and that their jobs wait for fire with them. One
    /// that is paused sees the boot and does not fire.
    ///
    /// While everything is paused this gives none: a worker, which asks when it starts, asks again afterwards. The boot does
    /// not change while it runs, and whatever writes the row of such a schedule then, writes this boot. An unknown boot, the
    /// empty id, fires nothing.
    pub fn fire_at_boot(&mut self, boot_id: &str) -> Result<Option<Vec<Event>>> {
        let waits_for_boot = waits_for_boot();
        let waits = format!("SELECT EXISTS (SELECT 1 FROM schedules WHERE {waits_for_boot})");
        if !self.read(|tx| one(tx, &waits, [boot_id], value::<bool>))? {
            return Ok(Some(Vec::new()));
        }
        if self.read(|tx| limits::pause_of_all(tx, tx.now))?.is_some() {
            return Ok(None);
        }
        self.write_work(|tx| {
            end_pauses(tx)?;
            let sql = format!("UPDATE schedules SET boot_id = ?1 WHERE paused AND {waits_for_boot}");
            run(tx, &sql, [boot_id])?;
            let sql = format!("{SELECT} WHERE {waits_for_boot} ORDER BY name");
            let waiting = all(tx, &sql, [boot_id], |row| read(row, tx.now))?;
            let sql = format!("{SELECT} WHERE name = ?2 AND {waits_for_boot}");
            let of_name = |name: &str| {
                let at_boot = maybe(tx, &sql, [boot_id, name], |row| read(row, tx.now))?;
                at_boot.map_or_else(|| due_of_name(tx, name), |row| Ok(Some(row)))
            };
            let mut events = Vec::new();
            for row in dependencies_first(waiting, of_name)? {
                if row.boot_id.is_none() {
                    fire(tx, &row, &mut events)?;
                    continue;
                }
                run(tx, "UPDATE schedules SET boot_id = ?2 WHERE name = ?1", params![row.name(), boot_id])?;
                enqueue_for(tx, &row, vec![tx.now], &mut events)?;
            }
            Ok(Some(events))
        })
    }
}

/// Enqueues the jobs for all due times of this schedule, and sets its next time.
fn fire(tx: &Tx, row: &StoredSchedule, events: &mut Vec<Event>) -> Result<()> {
    let DueTimes { times, too_late, next } = row.due(tx.now);
    let sql = "UPDATE schedules SET next_at = ?2, skipped = skipped + ?3 WHERE name = ?1";
    run(tx, sql, params![row.name(), next, too_late.len()])?;
    if let Some(latest) = too_late.last() {
        events.push(Event::ScheduleSkipped {
            job_id: (),
            name: row.name().to_owned(),
            scheduled_for: *latest,
            reason: SkipReason::TooLate,
            count: too_late.len(),
        });
    }
    if times.is_empty() { Ok(()) } else { enqueue_for(tx, row, times, events) }
}

/// Enqueues the jobs of this schedule for each of these times, and counts the times at which its key is held, or that of a
/// dependency by a job of its name from another job file, which does other work. Each time draws its own delay, which the whole
/// chain has.
fn enqueue_for(tx: &Tx, row: &StoredSchedule, times: Vec<Timestamp>, events: &mut Vec<Event>) -> Result<()> {
    let job_file = Some(job_files::id_of(tx, &row.file)?);
    let links = row.chain.dependencies.iter().map(|link| (link, true)).chain([(&row.chain.root, false)]);
    let jobs = links.map(|(link, is_dependency)| NewJob {
        dependencies: link.dependencies().map(|(index, kind)| (Dependency::InCall(index), kind)).collect(),
        is_dependency,
        own_schedule: link.own_schedule,
        job_file,
        ..NewJob::new(Arc::new(link.definition.clone()))
    });
    let mut jobs: Vec<NewJob> = jobs.collect();
    let schedule = row.times().ok();
    let (mut last, mut skipped, mut skipped_in_row) = (None, 0_u64, row.skipped_in_row);
    for at in times {
        let offset = schedule.as_ref().map_or(0, |schedule| schedule.offset_at(at));
        let delay = row.text.random_delay.map(|most| Millis(rand::random_range(0..=most.0)));
        for job in &mut jobs {
            job.scheduled = Some(Firing { at, offset });
            job.due = delay.map_or(Due::Now, Due::In);
        }
        let job_id = match all_or_nothing(tx, || enqueue::insert_all(tx, &jobs, &mut |_| ())) {
            Ok(enqueued) => enqueued.last().filter(|job| job.created).map(|job| job.id),
            Err(StoreError::KeyOfNamesake { .. }) => None,
            Err(other) => return Err(other),
        };
        let name = row.name().to_owned();
        if let Some(job_id) = job_id {
            last = Some((at, job_id));
            skipped_in_row = 0;
            events.push(Event::ScheduleFired { job_id, name, scheduled_for: at });
        } else {
            skipped += 1;
            skipped_in_row += 1;
            let reason = SkipReason::KeyHeld;
            events.push(Event::ScheduleSkipped { job_id: (), name, scheduled_for: at, reason, count: 1 });
        }
    }
    let sql = "UPDATE schedules SET last_fired_at = coalesce(?2, last_fired_at), last_job_id = coalesce(?3, last_job_id),
                                    skipped = skipped + ?4, skipped_in_row = ?5 WHERE name = ?1";
    let (last_at, last_id) = last.unzip();
    run(tx, sql, params![row.name(), last_at, last_id, skipped, skipped_in_row])?;
    Ok(())
}
