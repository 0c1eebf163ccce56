//! The plain model of schedules: each steps from time to time, or looks at the boot of the machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plain::Plain;
use crate::model::{Chain, Event, JobState, Link, Missed, Pause, ScheduleText, SkipReason};
use crate::store::file::version::Version;
use crate::store::write::needs_version;
use crate::store::{
    Applied, AppliedKind, Change, Declarations, DeclaredSchedule, Dependency, FarTime, Firing, NewJob,
    Result, StoreError, StoredSchedule, TimeOf,
};
use crate::text::{Millis, Timestamp};

/// An applied schedule.
#[derive(Clone)]
pub(super) struct PlainSchedule {
    pub row: StoredSchedule,
    /// None if it fires at boot.
    pace: Option<Pace>,
}

/// When a schedule fires, if not at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Every(Millis),
    /// By the clock: at each minute whose number since 1970 one of these divides.
    Minutes(&'static [i64]),
}

/// The paces by the clock: those of several numbers have several lines.
pub(super) const MINUTES: [Pace; 4] =
    [Pace::Minutes(&[1]), Pace::Minutes(&[2]), Pace::Minutes(&[3, 2]), Pace::Minutes(&[4, 10])];

impl Pace {
    fn of(text: &ScheduleText) -> Option<Self> {
        match text.lines[0].as_str() {
            "@reboot" => None,
            text if let Some(span) = text.strip_prefix("every ") => {
                Some(Self::Every(Millis::parse(span).unwrap()))
            }
            _ => Some(*MINUTES.iter().find(|pace| pace.lines() == text.lines).unwrap()),
        }
    }

    fn lines(self) -> Vec<String> {
        match self {
            Self::Every(span) => vec![format!("every {}ms", span.0)],
            Self::Minutes(numbers) => numbers.iter().map(|number| format!("*/{number} * * * *")).collect(),
        }
    }

    fn after(self, time: Timestamp) -> Timestamp {
        match self {
            Self::Every(span) => time.plus(span),
            Self::Minutes(numbers) => {
                let after = |number: &i64| {
                    let span = number * 60_000;
                    Timestamp((time.0.div_euclid(span) + 1) * span)
                };
                numbers.iter().map(after).min().unwrap()
            }
        }
    }

    fn has_by_clock(self, time: Timestamp) -> bool {
        matches!(self, Self::Minutes(numbers) if numbers.iter().any(|number| time.0 % (number * 60_000) == 0))
    }
}

impl PlainSchedule {
    pub fn end_pause(&mut self, now: Timestamp) {
        let Some(Pause::Until(end)) = self.row.pause.filter(|pause| pause.is_over(now)) else { return };
        self.row.pause = None;
        while let Some(next) = self.row.next_at.filter(|next| *next < end) {
            self.row.next_at = self.pace.map(|pace| pace.after(next));
        }
    }

    /// The times that have come and that no worker has seen.
    fn come(&self, now: Timestamp) -> Vec<Timestamp> {
        let next = self.row.next_at.filter(|_| self.row.pause.is_none());
        std::iter::successors(next, |time| self.pace.map(|pace| pace.after(*time)))
            .take_while(|time| *time <= now)
            .collect()
    }

    /// Those of them that are made up for.
    fn missed(&self, now: Timestamp) -> Vec<Timestamp> {
        let mut times = self.wanted(now);
        times.retain(|time| !is_late(&self.row.text, *time, now));
        times
    }

    /// The times of them that `missed` takes, the ones that are seen too late among them.
    fn wanted(&self, now: Timestamp) -> Vec<Timestamp> {
        let mut times = self.come(now);
        let kept = match self.row.text.missed {
            Missed::Once => 1,
            Missed::All => 100,
            Missed::Skip => usize::from(times.last().is_some_and(|latest| latest.0 >= now.0 - 60_000)),
        };
        times.split_off(times.len().saturating_sub(kept))
    }
}

/// Whether a time is seen too late now.
fn is_late(text: &ScheduleText, time: Timestamp, now: Timestamp) -> bool {
    text.missed_within.is_some_and(|within| time.plus(within) < now)
}

/// The zones that a schedule may have or the machine may be in, with the seconds by which their clocks are ahead of UTC.
pub(super) const ZONES: [(&str, i32); 2] = [("UTC", 0), ("Etc/GMT+5", -5 * 3_600)];

/// A schedule of a job file that has this pace, or fires at boot, in this zone, which the file may name.
pub(super) fn scheduled(
    chain: Chain,
    pace: Option<Pace>,
    missed: Missed,
    missed_within: Option<Millis>,
    zone: &str,
    is_named: bool,
) -> DeclaredSchedule {
    let zone = zone.to_owned();
    let text = ScheduleText {
        lines: pace.map_or_else(|| vec!["@reboot".to_owned()], Pace::lines),
        timezone: is_named.then(|| zone.clone()),
        missed,
        missed_within: missed_within.filter(|_| pace.is_some() && missed != Missed::Skip),
        fresh_within: None,
        random_delay: None,
    };
    DeclaredSchedule { chain, text, zone: Some(zone) }
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Where the times of a schedule begin: now, or at its last time, if that lies ahead by at most a day.
fn begins(row: &StoredSchedule, now: Timestamp) -> Timestamp {
    row.last.map_or(now, |(at, _)| if at.0 > now.0 + DAY { now } else { at.max(now) })
}

/// The next time of a schedule whose times are new and begin here, and the times that are not made up for any more.
fn with_new_times(
    old: Option<&PlainSchedule>,
    schedule: &DeclaredSchedule,
    begins: Timestamp,
    now: Timestamp,
) -> (Option<Timestamp>, Vec<Timestamp>) {
    let pace = Pace::of(&schedule.text);
    let has = |time: &Timestamp| pace.is_some_and(|pace| pace.has_by_clock(*time));
    let mut missed = old.map(|old| old.missed(now)).unwrap_or_default();
    let come = old.into_iter().filter(|_| !missed.is_empty()).flat_map(|old| old.come(now));
    let shared: Vec<_> = come.filter(has).collect();
    let kept = shared.iter().rev().take(100).next_back().copied();
    let next_at = kept.or_else(|| pace.map(|pace| pace.after(begins)));
    let is_kept = |time: &Timestamp| kept.is_some_and(|kept| *time >= kept) && has(time);
    // Where each is made up for, no more than the newest 100 are.
    let newest = |time: &Timestamp| {
        let from = std::iter::successors(Some(*time), |at| pace.map(|pace| pace.after(*at)));
        from.take(101).filter(|at| *at <= now).count() <= 100
    };
    let is_all = schedule.text.missed == Missed::All;
    // Where one is made up for, that is the newest.
    let from = std::iter::successors(kept, |at| pace.map(|pace| pace.after(*at)));
    let latest = from.take_while(|at| *at <= now).last();
    let is_gone = |time: &Timestamp| {
        let looked_at = latest.filter(|_| !is_all).unwrap_or(*time);
        is_late(&schedule.text, looked_at, now)
    };
    let is_run = |time: &Timestamp| match schedule.text.missed {
        Missed::All => newest(time),
        Missed::Once => true,
        // A time that is seen at once is not missed.
        Missed::Skip => latest == Some(*time) && time.0 >= now.0 - 60_000,
    };
    let mut run: Vec<_> =
        missed.iter().copied().filter(|time| is_kept(time) && is_run(time) && !is_gone(time)).collect();
    if !is_all {
        // One run makes up for all.
        run.drain(..run.len().saturating_sub(1));
    }
    missed.retain(|time| !run.contains(time));
    (next_at, missed)
}

impl Plain {
    pub fn apply(&mut self, declared: Declarations, now: Timestamp) -> Result<Vec<Applied>> {
        let mut applied = self.apply_schedules(declared, now)?;
        applied.extend(self.apply_limits(declared));
        Ok(applied)
    }

    fn apply_schedules(&mut self, declared: Declarations, now: Timestamp) -> Result<Vec<Applied>> {
        let Declarations { file, schedules: wanted, boot_id, take_over, .. } = declared;
        let name = |schedule: &DeclaredSchedule| schedule.name().to_owned();
        for schedule in wanted {
            let owner = self.schedules.get(&name(schedule)).map(|other| other.row.file.clone());
            if let Some(file) = owner.filter(|owner| owner != file && !take_over.contains(owner)) {
                return Err(StoreError::AppliedElsewhere { name: name(schedule), file });
            }
        }
        self.end_pauses_of_schedules(now);
        let mut applied = Vec::new();
        for schedule in wanted {
            let pace = Pace::of(&schedule.text);
            let old = self.schedules.get(&name(schedule)).cloned();
            let mut row = old.as_ref().map_or_else(
                || StoredSchedule {
                    chain: schedule.chain.clone(),
                    text: schedule.text.clone(),
                    zone: None,
                    file: file.to_owned(),
                    next_at: None,
                    boot_id: None,
                    last: None,
                    skipped: 0,
                    skipped_in_row: 0,
                    pause: None,
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
                        && old.row.text == schedule.text
                        && old.row.zone == schedule.zone =>
                {
                    Change::Unchanged
                }
                Some(_) => Change::Changed,
            };
            let mut dropped = Vec::new();
            if old.as_ref().is_none_or(|old| old.pace != pace) {
                (row.next_at, dropped) = with_new_times(old.as_ref(), schedule, begins(&row, now), now);
                row.boot_id = pace.is_none().then(|| boot_id.to_owned());
            } else if let Some(old) = &old {
                // Other clocks have the same times here, but the one that comes may be from a time when the clock was ahead.
                let has_other_clocks =
                    matches!(pace, Some(Pace::Minutes(_))) && old.row.zone != schedule.zone;
                if has_other_clocks && row.next_at.is_some_and(|next| next > now) {
                    row.next_at = pace.map(|pace| pace.after(begins(&row, now)));
                }
                let mut new = old.clone();
                new.row.text.missed = schedule.text.missed;
                new.row.text.missed_within = schedule.text.missed_within;
                let comes = new.missed(now);
                dropped = old.missed(now);
                dropped.retain(|time| !comes.contains(time));
            }
            let taken_from = Some(row.file).filter(|owner| owner != file);
            let is_new = schedule.chain.links().any(|link| link.own_schedule.is_some());
            let of_jobs =
                schedule.chain.links().map(|link| needs_version::of_job(&link.definition, false)).max();
            let is_newer = schedule.text.lines.len() > 1 || schedule.text.missed_within.is_some();
            let own = Version(if is_newer { 1_002 } else { 1_000 + u32::from(is_new) });
            row.needs_version = of_jobs.max(Some(own)).unwrap();
            (row.chain, row.text) = (schedule.chain.clone(), schedule.text.clone());
            row.zone.clone_from(&schedule.zone);
            row.file = file.to_owned();
            if change != Change::Unchanged {
                row.applied_at = now;
                row.last = row.last.filter(|(at, _)| at.0 <= now.0 + DAY);
            }
            let boot_id = row.boot_id.clone();
            let kind = AppliedKind::Schedule { next_at: row.next_at, boot_id, dropped };
            applied.push(Applied { name: name(schedule), change, kind, taken_from });
            self.schedules.insert(name(schedule), PlainSchedule { row, pace });
        }
        let gone: Vec<String> = self
            .schedules
            .iter()
            .filter(|(name, old)| old.row.file == file && wanted.iter().all(|new| new.name() != *name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            let dropped = self.schedules.remove(&name).map(|old| old.missed(now)).unwrap_or_default();
            let kind = AppliedKind::Schedule { next_at: None, boot_id: None, dropped };
            applied.push(Applied { name, change: Change::Removed, kind, taken_from: None });
        }
        Ok(applied)
    }

    pub fn pause_schedule(
        &mut self,
        name: &str,
        pause: Option<Pause>,
        boot_id: &str,
        now: Timestamp,
    ) -> Option<bool> {
        self.end_pauses_of_schedules(now);
        let PlainSchedule { row, pace } = self.schedules.get_mut(name)?;
        if row.pause == pause {
            return Some(false);
        }
        row.pause = pause;
        row.boot_id = row.boot_id.take().map(|_| boot_id.to_owned());
        while let Some(next) = row.next_at.filter(|next| *next <= now) {
            row.next_at = pace.map(|pace| pace.after(next));
        }
        Some(true)
    }

    /// Of a pause that is over the times are gone, and those after it come.
    pub fn end_pauses_of_schedules(&mut self, now: Timestamp) {
        for schedule in self.schedules.values_mut() {
            schedule.end_pause(now);
        }
    }

    pub fn fire_due(&mut self, now: Timestamp) -> Vec<Event> {
        self.end_pauses_of_schedules(now);
        if self.pause_of_all.is_some() {
            return Vec::new();
        }
        let due = |schedule: &&PlainSchedule| {
            schedule.row.pause.is_none() && schedule.row.next_at.is_some_and(|next| next <= now)
        };
        let mut due: Vec<PlainSchedule> = self.schedules.values().filter(due).cloned().collect();
        due.sort_by_key(|schedule| (schedule.row.next_at, schedule.row.name().to_owned()));
        let mut left: BTreeMap<String, PlainSchedule> =
            due.iter().map(|schedule| (schedule.row.name().to_owned(), schedule.clone())).collect();
        due.iter().flat_map(|schedule| self.fire_after_others(schedule.row.name(), &mut left, now)).collect()
    }

    /// Fires a schedule of those that are left, and before it those of them that its jobs wait for.
    fn fire_after_others(
        &mut self,
        name: &str,
        left: &mut BTreeMap<String, PlainSchedule>,
        now: Timestamp,
    ) -> Vec<Event> {
        let Some(schedule) = left.remove(name) else { return Vec::new() };
        let mut events = Vec::new();
        for before in schedule.row.chain.dependencies.iter().filter(|link| link.own_schedule.is_some()) {
            events.extend(self.fire_after_others(&before.definition.name, left, now));
        }
        let is_at_boot = schedule.row.boot_id.is_some();
        events.extend(if is_at_boot {
            self.fire_boot(schedule, now)
        } else {
            self.fire_times(schedule, now)
        });
        events
    }

    fn fire_times(&mut self, mut schedule: PlainSchedule, now: Timestamp) -> Vec<Event> {
        let (wanted, times) = (schedule.wanted(now), schedule.missed(now));
        let late = wanted.len() - times.len();
        let last = schedule.come(now).last().copied();
        let PlainSchedule { row, pace } = &mut schedule;
        row.next_at = last.or(row.next_at).and_then(|last| Some(pace.as_ref()?.after(last)));
        row.skipped += late as u64;
        let told = wanted[..late].last().map(|latest| Event::ScheduleSkipped {
            job_id: (),
            name: row.name().to_owned(),
            scheduled_for: *latest,
            reason: SkipReason::TooLate,
            count: late,
        });
        let fired = times.into_iter().map(|at| self.fire(row, at, now));
        let events = told.into_iter().chain(fired).collect();
        self.schedules.insert(row.name().to_owned(), schedule);
        events
    }

    fn fire_boot(&mut self, mut schedule: PlainSchedule, now: Timestamp) -> Vec<Event> {
        let event = self.fire(&mut schedule.row, now, now);
        self.schedules.insert(schedule.row.name().to_owned(), schedule);
        vec![event]
    }

    /// None while everything is paused.
    pub fn fire_at_boot(&mut self, boot_id: &str, now: Timestamp) -> Option<Vec<Event>> {
        let waits =
            |schedule: &PlainSchedule| schedule.row.boot_id.as_ref().is_some_and(|seen| seen != boot_id);
        if !self.schedules.values().any(waits) {
            return Some(Vec::new());
        }
        if self.pause_of_all.is_some_and(|pause| !pause.is_over(now)) {
            return None;
        }
        self.end_pauses_of_schedules(now);
        for PlainSchedule { row, .. } in
            self.schedules.values_mut().filter(|schedule| schedule.row.is_paused())
        {
            row.boot_id = row.boot_id.take().map(|_| boot_id.to_owned());
        }
        let is_new = |schedule: &&PlainSchedule| {
            schedule.row.pause.is_none() && schedule.row.boot_id.as_ref().is_some_and(|seen| seen != boot_id)
        };
        let names: Vec<String> =
            self.schedules.values().filter(is_new).map(|schedule| schedule.row.name().to_owned()).collect();
        // What is due by the clock fires here only if a job waits for it.
        let is_due = |schedule: &PlainSchedule| {
            is_new(&schedule)
                || schedule.row.pause.is_none() && schedule.row.next_at.is_some_and(|next| next <= now)
        };
        let mut left = self.schedules.clone();
        left.retain(|_, schedule| is_due(schedule));
        for schedule in left.values_mut().filter(|schedule| schedule.row.boot_id.is_some()) {
            schedule.row.boot_id = Some(boot_id.to_owned());
        }
        Some(names.iter().flat_map(|name| self.fire_after_others(name, &mut left, now)).collect())
    }

    pub fn bring_far_times_nearer(&mut self, now: Timestamp) -> Vec<FarTime> {
        let mut far = Vec::new();
        for (name, PlainSchedule { row, pace }) in &mut self.schedules {
            let (Some(from), Some(pace)) = (row.next_at.filter(|next| *next > now), *pace) else { continue };
            let (mut to, begins) = (from, begins(row, now));
            match pace {
                Pace::Every(span) => {
                    while to.minus(span) > begins {
                        to = to.minus(span);
                    }
                }
                Pace::Minutes(_) => to = pace.after(begins).min(from),
            }
            if to == from {
                continue;
            }
            let is_ahead = |at: Timestamp| at.0 > now.0 + DAY;
            row.next_at = Some(to);
            row.last = row.last.filter(|(at, _)| !is_ahead(*at));
            row.applied_at = if is_ahead(row.applied_at) { now } else { row.applied_at };
            far.push(FarTime { of: TimeOf::Schedule(name.clone()), from, to });
        }
        for job in self.jobs.values_mut().filter(|job| job.state == JobState::Pending) {
            let Some((from, Some(delay))) = job.delay.filter(|(from, _)| from.0 > now.0 + 1_000) else {
                continue;
            };
            if job.run_at == from.plus(delay) {
                let to = now.plus(delay);
                let nearer = job.run_at.since(to);
                job.expires_at = job.expires_at.map(|expiry| expiry.minus(nearer));
                job.delay = Some((now, Some(delay)));
                job.changed_at = job.changed_at.min(now);
                let of = TimeOf::Job { id: job.id, name: job.definition.name.clone() };
                far.push(FarTime { of, from: job.run_at, to });
                job.run_at = to;
            }
        }
        far
    }

    /// Enqueues the jobs of a schedule for one time.
    fn fire(&mut self, row: &mut StoredSchedule, at: Timestamp, now: Timestamp) -> Event {
        let offset = ZONES.iter().find(|(name, _)| row.zone.as_deref() == Some(name)).unwrap().1;
        let scheduled = Some(Firing { at, offset });
        let job_file = Some(self.file(&row.file));
        let job = |link: &Link, is_dependency| NewJob {
            scheduled,
            job_file,
            dependencies: link
                .dependencies()
                .map(|(index, kind)| (Dependency::InCall(index), kind))
                .collect(),
            is_dependency,
            own_schedule: link.own_schedule,
            ..NewJob::new(Arc::new(link.definition.clone()))
        };
        let mut jobs: Vec<_> = row.chain.dependencies.iter().map(|link| job(link, true)).collect();
        jobs.push(job(&row.chain.root, false));
        let name = row.name().to_owned();
        let new = match self.enqueue(&jobs, now) {
            Ok(enqueued) => enqueued.last().filter(|job| job.created).map(|job| job.id),
            Err(StoreError::KeyOfNamesake { .. }) => None,
            Err(other) => panic!("{other}"),
        };
        if let Some(job_id) = new {
            row.last = Some((at, job_id));
            row.skipped_in_row = 0;
            Event::ScheduleFired { job_id, name, scheduled_for: at }
        } else {
            row.skipped += 1;
            row.skipped_in_row += 1;
            Event::ScheduleSkipped {
                job_id: (),
                name,
                scheduled_for: at,
                reason: SkipReason::KeyHeld,
                count: 1,
            }
        }
    }
}
