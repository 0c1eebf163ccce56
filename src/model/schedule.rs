//! When a schedule is due: lines of cron in a time zone, a fixed interval, or each boot of the machine.

use std::fmt;
use std::ops::RangeInclusive;

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp as Instant, ToSpan};
use serde::{Deserialize, Serialize};

use super::cron::CronLine;
use super::state::words;
use crate::text::{Millis, Timestamp};

/// [`Missed::Skip`] leaves out a time that a worker sees later than this.
const MISSED_AFTER: Millis = Millis::from_secs(60);

/// [`Missed::All`] makes up for this many missed times, the newest.
const MAX_MISSED: usize = 100;

/// How many times of one schedule are looked at for one that another has, too: those of a week with one each minute.
const MAX_LOOKS: usize = 10_080;

/// How far ahead the next time of a line of cron is looked for.
const FORTY_YEARS: SignedDuration = SignedDuration::from_hours(40 * 366 * 24);

words! {
    /// The policy for times that passed since a worker last looked.
    #[derive(Default)]
    Missed {
        /// One job, for the latest of them.
        #[default]
        Once = "once",
        /// One job for each, at most the newest 100.
        All = "all",
        /// One job for the latest of them, if it is not missed.
        Skip = "skip",
    }
}

/// A schedule as the job file writes it, and as the database stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleText {
    /// Lines of cron, each of whose times counts; or one alone that may also be `every 15m` or `@reboot`. Never none.
    pub lines: Vec<String>,
    /// The IANA name that the job file gives; none: the zone of the machine.
    pub timezone: Option<String>,
    pub missed: Missed,
    /// A missed time that is seen later than this is gone; none with [`Missed::Skip`] and at boot.
    pub missed_within: Option<Millis>,
    /// The last success should not be older than this.
    pub fresh_within: Option<Millis>,
    /// A job is due up to this much later than its time, with each whole number of milliseconds as likely as another.
    pub random_delay: Option<Millis>,
}

impl ScheduleText {
    /// Whether it has no times, and fires once for each boot of the machine.
    pub fn is_at_boot(&self) -> bool {
        Schedule::is_at_boot(&self.lines)
    }

    /// Whether it goes by the clocks of a zone: a boot does not, and `every 15m` counts from the time at which it was applied.
    pub fn needs_zone(&self) -> bool {
        !self.is_at_boot() && self.lines.iter().all(|line| span_text(line).is_none())
    }

    /// Its lines as people read them: of several each after `; `.
    pub fn times_text(&self) -> String {
        self.lines.join("; ")
    }

    /// Its times in this zone. The error says what is allowed.
    pub fn times(&self, zone: TimeZone) -> Result<Schedule, String> {
        Schedule::of_lines(&self.lines, zone)
    }

    /// Parts times that have come, the oldest first, into those that are seen too late at `now`, and the others.
    pub fn too_late(&self, mut times: Vec<Timestamp>, now: Timestamp) -> (Vec<Timestamp>, Vec<Timestamp>) {
        let is_late = |time: &Timestamp| self.missed_within.is_some_and(|within| *time < now.minus(within));
        let others = times.split_off(times.partition_point(is_late));
        (times, others)
    }

    /// The text that programs of versions 1.0 and 1.1 read in the place of the lines, if such a program cannot know all that this
    /// schedule says. No job file has this text, so that such a program which applies the schedule anew sees a change.
    pub fn for_1_0(&self) -> Option<String> {
        let is_of_1_0 = |line: &&String| CronLine::parse(line).map_or(true, |line| line.is_of_1_0());
        let first = self.lines.first()?;
        let known = self.lines.iter().find(is_of_1_0);
        if self.lines.len() == 1 && known.is_some() && self.missed_within.is_none() {
            return None;
        }
        Some(format!("{} ", known.cloned().unwrap_or_else(|| CronLine::for_1_0(first))))
    }
}

/// A schedule that was read, with its time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    recurrence: Recurrence,
    zone: TimeZone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Recurrence {
    Cron(Vec<CronLine>),
    Every(Millis),
    Boot,
}

impl Schedule {
    /// The schedule that has no times, and fires once for each boot of the machine.
    pub const AT_BOOT: &str = "@reboot";

    /// A schedule has at most this many lines.
    pub const MAX_LINES: usize = 100;

    /// Whether this is the schedule that has no times, and fires once for each boot of the machine.
    pub fn is_at_boot(lines: &[String]) -> bool {
        matches!(lines, [line] if line.trim() == Self::AT_BOOT)
    }

    /// Reads all lines of a schedule. The error says what is allowed.
    pub fn of_lines(lines: &[String], zone: TimeZone) -> Result<Self, String> {
        if let [line] = lines {
            return Self::parse(line, zone);
        }
        let lines: Vec<_> = lines.iter().map(|line| CronLine::parse(line)).collect::<Result<_, _>>()?;
        if lines.is_empty() {
            return Err("a schedule has a line".to_owned());
        }
        Ok(Self { recurrence: Recurrence::Cron(lines), zone })
    }

    /// Reads a line of cron, `every 15m`, or `@reboot`. The error says what is allowed.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, String> {
        let recurrence = match span_text(text) {
            Some(span) => Recurrence::Every(every(span.trim())?),
            None if text.trim() == Self::AT_BOOT => Recurrence::Boot,
            None => Recurrence::Cron(vec![CronLine::parse(text)?]),
        };
        Ok(Self { recurrence, zone })
    }

    /// Whether its times are those of the clocks of its zone.
    pub const fn goes_by_clocks(&self) -> bool {
        matches!(self.recurrence, Recurrence::Cron(_))
    }

    /// Whether it has times of day alone: neither its minutes nor its hours begin with `*`. After a sleep cron makes up for these.
    pub fn is_of_day(&self) -> bool {
        matches!(&self.recurrence, Recurrence::Cron(lines) if lines.iter().all(|line| !line.is_interval()))
    }

    /// The first time of a schedule that begins at `now`. `@reboot` has no times.
    pub fn first(&self, now: Timestamp) -> Option<Timestamp> {
        self.after(now)
    }

    /// The times of a schedule that begins at `now`.
    pub fn upcoming(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        self.from(self.first(now))
    }

    /// The times of this schedule from `next` on, which is one of them.
    pub fn from(&self, next: Option<Timestamp>) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(next, |time| self.after(*time))
    }

    /// The times from `next` to `now` for which a job is to be enqueued, the oldest first, and the first time after `now`.
    ///
    /// `next` is a time of this schedule, and comes even if it is one by the clocks of another zone: it was promised.
    pub fn due(
        &self,
        next: Timestamp,
        now: Timestamp,
        missed: Missed,
    ) -> (Vec<Timestamp>, Option<Timestamp>) {
        let come = std::iter::successors(self.latest_come(next, now), |time| {
            self.latest_come(next, time.minus(Millis(1)))
        });
        let mut times: Vec<_> = match missed {
            Missed::Once => come.take(1).collect(),
            Missed::All => come.take(MAX_MISSED).collect(),
            Missed::Skip => come.take(1).filter(|time| *time >= now.minus(MISSED_AFTER)).collect(),
        };
        times.reverse();
        (times, self.next_given(next, now))
    }

    /// The first time after `now`, given a time of this schedule.
    pub fn next_given(&self, next: Timestamp, now: Timestamp) -> Option<Timestamp> {
        match self.latest_come(next, now) {
            Some(latest) => self.after(latest),
            None => Some(next),
        }
    }

    /// Whether this is a time by the clocks of its zone.
    pub fn has(&self, time: Timestamp) -> bool {
        self.goes_by_clocks() && self.latest(time, time) == Some(time)
    }

    /// The first of the times from `next` to `now` that have come by the schedule `before`, and that this one has, too, where at
    /// most the newest 100 count. None without clocks: an interval begins anew.
    pub fn first_shared(&self, before: &Self, next: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let shared = std::iter::successors(self.latest_shared(before, next, now), |time| {
            self.latest_shared(before, next, time.minus(Millis(1)))
        });
        shared.take(MAX_MISSED).last()
    }

    fn latest_shared(&self, before: &Self, next: Timestamp, mut last: Timestamp) -> Option<Timestamp> {
        if !self.goes_by_clocks() {
            return None;
        }
        // Each takes the other back to its own latest time, until both are there at once.
        for _ in 0..MAX_LOOKS {
            let theirs = before.latest_come(next, last)?;
            let ours = self.latest(next, theirs)?;
            if ours == theirs {
                return Some(ours);
            }
            last = ours;
        }
        None
    }

    /// The next time of a schedule that has `next`, if that is further away than it can be after `begins`, because the clock
    /// was ahead when `next` was computed. An interval keeps its phase.
    pub fn nearer(&self, next: Timestamp, begins: Timestamp) -> Option<Timestamp> {
        let nearer = match &self.recurrence {
            Recurrence::Boot => return None,
            Recurrence::Every(span) => {
                // The last moment of the span after `begins` counts to it.
                let spans = next.minus(Millis(1)).since(begins).0 / span.0;
                next.minus(Millis(spans * span.0))
            }
            Recurrence::Cron(_) => self.after(begins)?,
        };
        (nearer < next).then_some(nearer)
    }

    /// How far the clocks of the zone are ahead of UTC at this time, in seconds.
    pub fn offset_at(&self, at: Timestamp) -> i32 {
        instant(at).map_or(0, |at| self.zone.to_offset(at).seconds())
    }

    /// The first time after this one. For `every 15m` this one must be a time of the schedule.
    fn after(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.recurrence {
            Recurrence::Boot => None,
            Recurrence::Every(span) => Some(time.plus(*span)),
            Recurrence::Cron(lines) => {
                let first = instant(time)?.checked_add(1.second()).ok()?;
                let last = first.checked_add(FORTY_YEARS).ok()?;
                let mut stretch = Stretch::at(&self.zone, first);
                loop {
                    let found = lines.iter().fold(None, |found: Option<Instant>, line| {
                        stretch.times(line, first..=found.unwrap_or(last)).next().or(found)
                    });
                    if let Some(time) = found {
                        return Some(timestamp(time));
                    }
                    stretch = Stretch::at(&self.zone, stretch.end.filter(|end| *end <= last)?);
                }
            }
        }
    }

    /// The latest time up to `last`, and not before `next`, which has come even if it is a time by the clocks of another zone.
    fn latest_come(&self, next: Timestamp, last: Timestamp) -> Option<Timestamp> {
        (next <= last).then(|| self.latest(next, last).unwrap_or(next))
    }

    /// The latest time up to `last`, and not before `first`, which must be a time of this schedule.
    fn latest(&self, first: Timestamp, last: Timestamp) -> Option<Timestamp> {
        if last < first {
            return None;
        }
        match &self.recurrence {
            Recurrence::Boot => None,
            Recurrence::Every(span) => Some(first.plus(Millis(last.since(first).0 / span.0 * span.0))),
            Recurrence::Cron(lines) => {
                let (first, last) = (instant(first)?, instant(last)?);
                let mut stretch = Stretch::at(&self.zone, last);
                loop {
                    let found = lines.iter().fold(None, |found: Option<Instant>, line| {
                        stretch.times(line, found.unwrap_or(first)..=last).next_back().or(found)
                    });
                    if let Some(time) = found {
                        return Some(timestamp(time));
                    }
                    let before = stretch.start.checked_sub(1.second()).ok()?;
                    stretch = Stretch::at(&self.zone, Some(before).filter(|before| *before >= first)?);
                }
            }
        }
    }
}

/// A stretch of time in which the clocks of a zone are not changed.
struct Stretch {
    /// Its first moment.
    start: Instant,
    /// The first moment after it, if it ends.
    end: Option<Instant>,
    offset: Offset,
    /// The offset until `start`.
    offset_before: Offset,
}

impl Stretch {
    /// The stretch that has this moment.
    fn at(zone: &TimeZone, time: Instant) -> Self {
        let change = time.checked_add(1.second()).ok().and_then(|after| zone.preceding(after).next());
        let start = change.map_or(Instant::MIN, |change| change.timestamp());
        let before = start.checked_sub(1.second()).unwrap_or(start);
        Self {
            start,
            end: zone.following(time).next().map(|change| change.timestamp()),
            offset: zone.to_offset(time),
            offset_before: zone.to_offset(before),
        }
    }

    /// The times of a line of cron in the part of this stretch that lies in `range`.
    ///
    /// This is Vixie cron's rule for changes of the clock. A line whose minute or hour begins with `*` goes by the new time at
    /// once. The times of day that a clock set forward has left out come at the start of the stretch. Those that a clock set
    /// back shows a second time have come already. A time may come twice in a row.
    fn times(
        &self,
        line: &CronLine,
        range: RangeInclusive<Instant>,
    ) -> impl DoubleEndedIterator<Item = Instant> {
        let (first, last) = range.into_inner();
        let offset = if line.is_interval() { self.offset } else { self.offset_before };
        let begin = offset.to_datetime(self.start);
        let first = if first <= self.start { begin } else { begin.max(self.offset.to_datetime(first)) };
        let end = self.end.and_then(|end| end.checked_sub(1.second()).ok()).unwrap_or(Instant::MAX);
        let last = self.offset.to_datetime(last.min(end));
        let times = line.times(first..=last);
        times.filter_map(|time| Some(self.offset.to_timestamp(time).ok()?.max(self.start)))
    }
}

/// In whole seconds. None if it lies beyond the years that `jiff` knows.
fn instant(time: Timestamp) -> Option<Instant> {
    Instant::from_second(time.0.div_euclid(1_000)).ok()
}

fn timestamp(time: Instant) -> Timestamp {
    Timestamp(time.as_millisecond())
}

/// The span of `every 15m`.
fn span_text(schedule: &str) -> Option<&str> {
    schedule.trim().strip_prefix("every ")
}

fn every(span: &str) -> Result<Millis, String> {
    let span = Millis::parse(span)?;
    if span >= Millis::from_secs(1) {
        return Ok(span);
    }
    Err("an interval is from 1s to 10 years".to_owned())
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
