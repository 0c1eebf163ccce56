//! Schedules: jobs that are enqueued again and again. `apply` takes them from a job file, and a worker's turn fires them.
//!
//! One transaction enqueues the jobs of a due schedule and sets its next time, so that a time fires exactly once, with any
//! number of workers and through any crash. The next time itself is computed in `model/schedule.rs`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::definition;
use super::enqueue;
use super::far_times::{AHEAD, begins};
use super::insert::{Dependency, Firing, NewJob};
use super::limits::{self, LimitRow};
use crate::model::{Chain, Event, Limits, Link, Pause, Schedule, ScheduleText};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, from_row, maybe, one, run, value};
use crate::store::file::schema;
use crate::store::file::version::Version;
use crate::text::{Millis, Timestamp, are_same_clocks, time_zone};

/// At most this number of schedules fires in one turn; the rest waits for the next turn.
const MAX_SCHEDULES: usize = 100;

/// A schedule as a job file declares it.
#[derive(Clone, Debug)]
pub struct DeclaredSchedule {
    pub chain: Chain,
    pub text: ScheduleText,
    /// The IANA name of the zone that it goes by: the one that the file names, else the machine's. None if it needs none, and
    /// the machine's has no name.
    pub zone: Option<String>,
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
    /// The IANA name of the zone that it goes by. None if a program of version 1.0 applied it without one, or it needs none:
    /// then each worker goes by its own.
    pub zone: Option<String>,
    /// The canonical path of the job file.
    pub file: String,
    /// None if the schedule never fires again, or fires at boot.
    pub next_at: Option<Timestamp>,
    /// The last boot of the machine that a schedule which fires at boot has seen.
    pub boot_id: Option<String>,
    /// The scheduled time for which a job was last enqueued, and the id of that job.
    pub last: Option<(Timestamp, i64)>,
    /// The number of times that were skipped because the unique key was held.
    pub skipped: u64,
    /// The times skipped since a job was last enqueued.
    pub skipped_in_row: u64,
    /// Its pause. One that is over is none, and `next_at` is then the first time after it.
    pub pause: Option<Pause>,
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

    /// The times of the schedule in its zone. The error says why they cannot be found.
    pub fn times(&self) -> std::result::Result<Schedule, String> {
        Schedule::parse(&self.text.schedule, time_zone(self.zone.as_deref())?)
    }

    /// Whether this is what the job file declares. The zone of the machine is no part of the file.
    pub fn matches(&self, declared: &DeclaredSchedule) -> bool {
        self.chain == declared.chain && self.text == declared.text
    }

    /// Whether it goes by the clocks that it would get if it was applied now.
    pub fn has_clocks_of(&self, declared: &DeclaredSchedule, now: Timestamp) -> bool {
        match (&self.zone, &declared.zone) {
            (Some(zone), Some(declared)) => are_same_clocks(zone, declared, now),
            (zone, declared) => zone == declared,
        }
    }

    pub const fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Whether the row tells when it fires next. It does, unless the machine lost the time zone.
    pub fn goes_on(&self) -> bool {
        if self.text.is_at_boot() { self.boot_id.is_some() } else { self.next_at.is_some() }
    }
}

/// Reads the chain of a schedule. Its last job has the name of the row: otherwise what fires the schedule would look for a row
/// of that job's name, find none to move on, and fire the same time again and again.
fn read_chain(row: &Row<'_>) -> Result<Chain> {
    let name: String = row.get("name")?;
    let chain: Chain = definition::read(row, "chain")?;
    if !chain.is_in_order() {
        return Err(StoreError::InvalidData(format!("the chain of the schedule {name} is out of order")));
    }
    let job = &chain.root.definition.name;
    if *job != name {
        return Err(StoreError::InvalidData(format!("the schedule {name} holds the job {job:?}")));
    }
    Ok(chain)
}

impl Store {
    /// All schedules, by name.
    pub fn schedules(&self) -> Result<Vec<StoredSchedule>> {
        self.read(all_schedules)
    }

    /// The job files that have applied a schedule or a limit that is still there.
    pub fn applied_files(&self) -> Result<Vec<String>> {
        let sql = "SELECT file FROM schedules UNION
                   SELECT max_running_file FROM queues WHERE max_running_file IS NOT NULL UNION
                   SELECT rate_file FROM queues WHERE rate_file IS NOT NULL";
        self.read(|tx| all(tx, sql, [], value))
    }

    /// Pauses a schedule, changes the end of its pause, or resumes it (none). None if there is no such schedule; true if that
    /// changed something.
    ///
    /// The times that passed during the pause do not count as missed, nor do the boots up to this one.
    pub fn pause_schedule(
        &mut self,
        name: &str,
        pause: Option<Pause>,
        boot_id: &str,
    ) -> Result<Option<bool>> {
        self.write_work(|tx| {
            end_pauses(tx)?;
            let sql = format!("{SELECT} WHERE name = ?1");
            let Some(schedule) = maybe(tx, &sql, [name], |row| read(row, tx.now))? else { return Ok(None) };
            if schedule.pause == pause {
                return Ok(Some(false));
            }
            let next_at = schedule.next_at.and_then(|next| schedule.times().ok()?.next_given(next, tx.now));
            let boot_id = schedule.boot_id.map(|_| boot_id);
            let sql = "UPDATE schedules SET paused = ?2, paused_until = ?3, next_at = ?4, boot_id = ?5 WHERE name = ?1";
            let end = pause.and_then(Pause::ends_at);
            run(tx, sql, params![name, pause.is_some(), end, next_at, boot_id])?;
            Ok(Some(true))
        })
    }
}

const SELECT: &str =
    "SELECT name, chain, schedule, timezone, missed, file, next_at, boot_id, last_fired_at, last_job_id, skipped,
                             skipped_in_row, paused, paused_until, applied_at, last_success_at, fresh_within_ms, random_delay_ms,
                             needs_version, machine_timezone
                      FROM schedules";

/// All schedules, by name.
fn all_schedules(tx: &Tx) -> Result<Vec<StoredSchedule>> {
    all(tx, &format!("{SELECT} ORDER BY name"), [], |row| read(row, tx.now))
}

/// Damaged rows of schedules.
pub fn damaged(tx: &Tx, limit: usize) -> Result<Vec<String>> {
    let sql = format!("SELECT 'the schedule ' || name AS which, * FROM ({SELECT})");
    row::damaged(tx, &sql, [], limit, |row| {
        // A zone that this machine does not know is no damage.
        let text = read(row, tx.now)?.text;
        time_zone(Some("UTC"))
            .and_then(|utc| Schedule::parse(&text.schedule, utc))
            .map(|_| ())
            .map_err(|why| StoreError::InvalidData(format!("its times are {:?}: {why}", text.schedule)))
    })
}

/// Reads a row of [`SELECT`], as it is at `now`.
fn read(row: &Row<'_>, now: Timestamp) -> Result<StoredSchedule> {
    let mut schedule = read_recorded(row)?;
    if let Some(Pause::Until(end)) = schedule.pause.filter(|pause| pause.is_over(now)) {
        schedule.pause = None;
        schedule.next_at = schedule.next_at.and_then(|next| schedule.times().ok()?.next_given(next, end));
    }
    Ok(schedule)
}

fn read_recorded(row: &Row<'_>) -> Result<StoredSchedule> {
    let last_at: Option<Timestamp> = row.get("last_fired_at")?;
    let timezone: Option<String> = row.get("timezone")?;
    let machine_zone: Option<String> = row.get("machine_timezone")?;
    Ok(from_row!(
        row,
        StoredSchedule {
            chain: read_chain(row)?,
            text: from_row!(
                row,
                ScheduleText {
                    schedule,
                    timezone: timezone.clone().filter(|zone| machine_zone.as_ref() != Some(zone)),
                    missed,
                    fresh_within: row.get("fresh_within_ms")?,
                    random_delay: row.get("random_delay_ms")?,
                }
            ),
            zone: timezone,
            file,
            next_at,
            boot_id,
            last: last_at.zip(row.get("last_job_id")?),
            skipped,
            skipped_in_row,
            pause: Pause::from_columns(row.get("paused")?, row.get("paused_until")?),
            applied_at,
            last_success_at,
            needs_version: Version(row.get("needs_version")?),
        }
    ))
}

/// Writes a schedule that is new or changed, with its next time or, if it fires at boot, the boot that it has seen.
fn put(
    tx: &Tx,
    file: &str,
    schedule: &DeclaredSchedule,
    next_at: Option<Timestamp>,
    boot_id: Option<&str>,
) -> Result<()> {
    let sql = "INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, applied_at, needs_version,
                                      fresh_within_ms, random_delay_ms, boot_id, machine_timezone)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
               ON CONFLICT DO UPDATE SET chain = ?2, schedule = ?3, timezone = ?4, missed = ?5, file = ?6, next_at = ?7,
                                         applied_at = ?8, needs_version = ?9, fresh_within_ms = ?10,
                                         random_delay_ms = ?11, boot_id = ?12, machine_timezone = ?13,
                                         last_fired_at = iif(last_fired_at > ?14, NULL, last_fired_at),
                                         last_job_id = iif(last_fired_at > ?14, NULL, last_job_id)";
    let needs = schedule.chain.links().map(Link::needs_minor_version).max().map(Version::of_minor);
    let chain = serde_json::to_string(&schedule.chain);
    let chain = chain.map_err(|error| StoreError::InvalidData(error.to_string()))?;
    let ScheduleText { schedule: times, timezone, missed, fresh_within, random_delay } = &schedule.text;
    // Programs of version 1.0 know `timezone` alone, so that it holds the zone of the machine, too.
    let machine_zone = schedule.zone.as_ref().filter(|_| timezone.is_none());
    run(
        tx,
        sql,
        params![
            schedule.name(),
            chain,
            times,
            schedule.zone,
            missed,
            file,
            next_at,
            tx.now,
            needs,
            fresh_within,
            random_delay,
            boot_id,
            machine_zone,
            tx.now.plus(AHEAD)
        ],
    )?;
    Ok(())
}

/// Records that a job of this name has succeeded, for the schedule of that name if there is one.
pub fn record_success(tx: &Connection, name: &str, at: Timestamp) -> Result<()> {
    run(tx, "UPDATE schedules SET last_success_at = ?2 WHERE name = ?1", params![name, at])?;
    Ok(())
}

/// When the next schedule fires, or its pause ends. While everything is paused none fires.
pub fn next_due(tx: &Connection) -> Result<Option<Timestamp>> {
    let sql = "SELECT min(at) FROM
                 (SELECT min(next_at) AS at FROM schedules
                  WHERE NOT paused AND next_at IS NOT NULL AND needs_version <= ?1
                        AND NOT EXISTS (SELECT 1 FROM pause_of_all)
                  UNION ALL SELECT min(paused_until) FROM schedules WHERE paused AND needs_version <= ?1)";
    one(tx, sql, [schema::known().version()], value)
}

/// Records the end of the pauses of schedules that are over. The times that passed during a pause are gone.
pub fn end_pauses(tx: &Tx) -> Result<()> {
    let sql = format!("{SELECT} WHERE paused AND paused_until <= ?1 AND needs_version <= ?2");
    for row in all(tx, &sql, params![tx.now, schema::known().version()], |row| read(row, tx.now))? {
        let sql = "UPDATE schedules SET paused = 0, paused_until = NULL, next_at = ?2 WHERE name = ?1";
        run(tx, sql, params![row.name(), row.next_at])?;
    }
    Ok(())
}

/// Whether a schedule is due at `?1` for a program that knows the version `?2`.
const IS_DUE: &str = "NOT paused AND next_at IS NOT NULL AND next_at <= ?1 AND needs_version <= ?2";

/// Whether a schedule fires at boot, and has not seen the boot `?1`, for a program that knows the version `?2`.
const WAITS_FOR_BOOT: &str = "next_at IS NULL AND boot_id <> ?1 AND ?1 <> '' AND needs_version <= ?2";

/// Enqueues the jobs of the schedules that are due, and sets the next time of each.
pub fn fire_due(tx: &Tx) -> Result<Vec<Event>> {
    end_pauses(tx)?;
    if next_due(tx)?.is_none_or(|due| due > tx.now) {
        return Ok(Vec::new());
    }
    let sql = format!("{SELECT} WHERE {IS_DUE} ORDER BY next_at, name LIMIT ?3");
    let due =
        all(tx, &sql, params![tx.now, schema::known().version(), MAX_SCHEDULES], |row| read(row, tx.now))?;
    let mut events = Vec::new();
    for schedule in dependencies_first(due, |name| due_of_name(tx, name))? {
        fire(tx, &schedule, &mut events)?;
    }
    Ok(events)
}

/// The schedule of this name, if it is due.
fn due_of_name(tx: &Tx, name: &str) -> Result<Option<StoredSchedule>> {
    let sql = format!("{SELECT} WHERE name = ?3 AND {IS_DUE}");
    maybe(tx, &sql, params![tx.now, schema::known().version(), name], |row| read(row, tx.now))
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
    /// A worker asks for this when it starts, and again after a pause of everything, during which this is none. The boot does
    /// not change while it runs, and whatever writes the row of such a schedule then, writes this boot. An unknown boot, the
    /// empty id, fires nothing.
    pub fn fire_at_boot(&mut self, boot_id: &str) -> Result<Option<Vec<Event>>> {
        let version = schema::known().version();
        let waits = format!("SELECT EXISTS (SELECT 1 FROM schedules WHERE {WAITS_FOR_BOOT})");
        if !self.read(|tx| one(tx, &waits, params![boot_id, version], value::<bool>))? {
            return Ok(Some(Vec::new()));
        }
        if self.read(|tx| limits::pause_of_all(tx, tx.now))?.is_some() {
            return Ok(None);
        }
        self.write_work(|tx| {
            end_pauses(tx)?;
            let sql = format!("UPDATE schedules SET boot_id = ?1 WHERE paused AND {WAITS_FOR_BOOT}");
            run(tx, &sql, params![boot_id, version])?;
            let sql = format!("{SELECT} WHERE {WAITS_FOR_BOOT} ORDER BY name");
            let waiting = all(tx, &sql, params![boot_id, version], |row| read(row, tx.now))?;
            let sql = format!("{SELECT} WHERE name = ?3 AND {WAITS_FOR_BOOT}");
            let of_name = |name: &str| {
                let at_boot = maybe(tx, &sql, params![boot_id, version, name], |row| read(row, tx.now))?;
                at_boot.map_or_else(|| due_of_name(tx, name), |row| Ok(Some(row)))
            };
            let mut events = Vec::new();
            for row in dependencies_first(waiting, of_name)? {
                if row.boot_id.is_none() {
                    fire(tx, &row, &mut events)?;
                    continue;
                }
                run(tx, "UPDATE schedules SET boot_id = ?2 WHERE name = ?1", params![row.name(), boot_id])?;
                let schedule = row.times().ok();
                enqueue_for(tx, &row, schedule.as_ref(), vec![tx.now], &mut events)?;
            }
            Ok(Some(events))
        })
    }
}

/// Enqueues the jobs for all due times of this schedule, and sets its next time.
fn fire(tx: &Tx, row: &StoredSchedule, events: &mut Vec<Event>) -> Result<()> {
    let schedule = row.times().ok();
    let (times, next) = match (row.next_at, &schedule) {
        (Some(next), Some(schedule)) => schedule.due(next, tx.now, row.text.missed),
        // The machine may not know the time zone any more. The promised time comes all the same, and no other: attention says so.
        (next, _) => (next.into_iter().collect(), None),
    };
    run(tx, "UPDATE schedules SET next_at = ?2 WHERE name = ?1", params![row.name(), next])?;
    enqueue_for(tx, row, schedule.as_ref(), times, events)
}

/// Enqueues the jobs of this schedule for each of these times, and counts the times at which its key is held. Each time draws
/// its own delay, which the whole chain has.
fn enqueue_for(
    tx: &Tx,
    row: &StoredSchedule,
    schedule: Option<&Schedule>,
    times: Vec<Timestamp>,
    events: &mut Vec<Event>,
) -> Result<()> {
    let links = row.chain.dependencies.iter().map(|link| (link, true)).chain([(&row.chain.root, false)]);
    let jobs = links.map(|(link, is_dependency)| NewJob {
        dependencies: link.dependencies().map(|(index, kind)| (Dependency::InCall(index), kind)).collect(),
        is_dependency,
        own_schedule: link.own_schedule,
        ..NewJob::new(Arc::new(link.definition.clone()))
    });
    let mut jobs: Vec<NewJob> = jobs.collect();
    let (mut last, mut skipped, mut skipped_in_row) = (None, 0_u64, row.skipped_in_row);
    for at in times {
        let offset = schedule.map_or(0, |schedule| schedule.offset_at(at));
        let delay = row.text.random_delay.map(|most| Millis(rand::random_range(0..=most.0)));
        for job in &mut jobs {
            job.scheduled = Some(Firing { at, offset });
            job.run_at = delay.map(|delay| at.plus(delay));
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
    let sql = "UPDATE schedules SET last_fired_at = coalesce(?2, last_fired_at), last_job_id = coalesce(?3, last_job_id),
                                    skipped = skipped + ?4, skipped_in_row = ?5 WHERE name = ?1";
    let (last_at, last_id) = last.unzip();
    run(tx, sql, params![row.name(), last_at, last_id, skipped, skipped_in_row])?;
    Ok(())
}

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
