//! When a schedule is due: a line of cron in a time zone, or a fixed pace.

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::state::words;
use crate::text::{Millis, Timestamp};

/// A time of a schedule that a worker sees later than this counts as missed.
pub const MISSED_AFTER: Millis = Millis::from_secs(60);

/// [`Missed::All`] makes up for this many missed times, the newest.
const MAX_MISSED: usize = 100;

words! {
    /// What to do about times at which no worker ran.
    #[derive(Default)]
    Missed {
        /// One job, for the latest of them.
        #[default]
        Once = "once",
        /// One job for each, at most the newest 100.
        All = "all",
        /// No job.
        Skip = "skip",
    }
}

/// A schedule as the job file writes it, and as the database stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleText {
    /// A line of cron, or `every 15m`.
    pub schedule: String,
    /// An IANA name; none: the zone of the machine.
    pub timezone: Option<String>,
    pub missed: Missed,
    /// The last success should not be older than this.
    pub fresh_within: Option<Millis>,
}

impl ScheduleText {
    /// Reads the text; `find_zone` finds a time zone by its name, and that of the machine for no name.
    pub fn parse(
        &self,
        find_zone: impl FnOnce(Option<&str>) -> Result<TimeZone, String>,
    ) -> Result<Schedule, String> {
        Schedule::parse(&self.schedule, find_zone(self.timezone.as_deref())?)
    }

    /// Whether both schedules come at the same times.
    pub fn has_pace_of(&self, other: &Self) -> bool {
        self.schedule == other.schedule && self.timezone == other.timezone
    }
}

/// A schedule that was read, with its time zone.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    zone: TimeZone,
}

#[derive(Clone, Debug)]
enum Pace {
    Cron(Box<Cron>),
    Every(Millis),
}

impl Schedule {
    /// Reads a line of cron, or `every 15m`. The error says what is allowed.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, String> {
        let pace = match text.trim().strip_prefix("every ") {
            Some(span) => Pace::Every(every(span.trim())?),
            None => Pace::Cron(Box::new(cron(text)?)),
        };
        let schedule = Self { pace, zone };
        // 2000-01-01. Leap days come back within eight years.
        if schedule.next_after(Timestamp(946_684_800_000)).is_none() {
            return Err(format!("{text:?} never comes: there is no such day"));
        }
        Ok(schedule)
    }

    /// The first time of a schedule that begins at `now`.
    pub fn first(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.pace {
            Pace::Cron(_) => self.next_after(now),
            Pace::Every(span) => Some(now.plus(*span)),
        }
    }

    /// The times of a schedule that begins at `now`.
    pub fn upcoming(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.first(now), |time| self.after(*time))
    }

    /// The times from `next` to `now` for which a job is to be enqueued, the oldest first, and the first time after `now`.
    ///
    /// `next` must be a time of this schedule.
    pub fn due(
        &self,
        next: Timestamp,
        now: Timestamp,
        missed: Missed,
    ) -> (Vec<Timestamp>, Option<Timestamp>) {
        let in_time = now.minus(MISSED_AFTER);
        let mut times = match missed {
            Missed::Skip => Vec::new(),
            Missed::Once => self.latest_before(in_time, next).take(1).collect(),
            Missed::All => self.latest_before(in_time, next).take(MAX_MISSED).collect(),
        };
        times.reverse();
        let mut time = if next >= in_time { Some(next) } else { self.from(next, in_time) };
        while let Some(due) = time.filter(|time| *time <= now) {
            times.push(due);
            time = self.after(due);
        }
        (times, time)
    }

    /// The first time after `now`, given a time of this schedule.
    pub fn next_given(&self, next: Timestamp, now: Timestamp) -> Option<Timestamp> {
        if next > now { Some(next) } else { self.from(next, Timestamp(now.0.saturating_add(1))) }
    }

    /// How far the clocks of the zone are ahead of UTC at this time, in seconds.
    pub fn offset_at(&self, at: Timestamp) -> i32 {
        zoned(at, &self.zone).map_or(0, |at| at.offset().seconds())
    }

    /// The first time at or after `start`, given an earlier time of this schedule.
    fn from(&self, earlier: Timestamp, start: Timestamp) -> Option<Timestamp> {
        match &self.pace {
            Pace::Cron(_) => self.next_after(Timestamp(start.0.saturating_sub(1))),
            Pace::Every(span) => {
                let steps = start.since(earlier).0.div_ceil(span.0);
                Some(earlier.plus(Millis(steps.saturating_mul(span.0))))
            }
        }
    }

    /// The time after this time of the schedule.
    fn after(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.pace {
            Pace::Cron(_) => self.next_after(time),
            Pace::Every(span) => Some(time.plus(*span)),
        }
    }

    /// The times before `end` and not before `first`, a time of this schedule; the latest first.
    fn latest_before(&self, end: Timestamp, first: Timestamp) -> impl Iterator<Item = Timestamp> {
        let before = move |time: Timestamp| match &self.pace {
            Pace::Cron(cron) => {
                // Whole seconds only, because croner takes a part of a second for a later time.
                let last = zoned(Timestamp(time.0.saturating_sub(1)), &self.zone)?;
                Some(timestamp(&cron.find_previous_occurrence(&last, true).ok()?))
            }
            Pace::Every(span) => {
                let steps = Timestamp(time.0.saturating_sub(1)).since(first).0 / span.0;
                Some(first.plus(Millis(steps * span.0)))
            }
        };
        let earlier = move |time: &Timestamp| before(*time).filter(|found| *found >= first && *found < *time);
        std::iter::successors(Some(end), earlier).skip(1)
    }

    fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        match &self.pace {
            Pace::Cron(cron) => {
                Some(timestamp(&cron.find_next_occurrence(&zoned(time, &self.zone)?, false).ok()?))
            }
            Pace::Every(span) => Some(time.plus(*span)),
        }
    }
}

/// The time in its zone, in whole seconds. None if it lies beyond the years that `jiff` knows.
fn zoned(time: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let time = jiff::Timestamp::from_second(time.0.div_euclid(1_000)).ok()?;
    Some(time.to_zoned(zone.clone()))
}

fn timestamp(time: &Zoned) -> Timestamp {
    Timestamp(time.timestamp().as_millisecond())
}

fn every(span: &str) -> Result<Millis, String> {
    let span = Millis::parse(span)?;
    if span >= Millis::from_secs(1) {
        return Ok(span);
    }
    Err("the pace of a schedule is from 1s to 10 years".to_owned())
}

/// The fields of a line of cron, and what may stand there.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of the month", "1-31"),
    ("month", "1-12 or jan-dec"),
    ("weekday", "0-7 or sun-sat"),
];

fn cron(text: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if text.trim() == "@reboot" {
            return "a schedule has times, and @reboot is none; let the init system run `runner enqueue`".to_owned();
        }
        if fields.len() != FIELDS.len() {
            return format!(
                "{text:?} is not a schedule; write five fields (minute hour day month weekday) such as \"0 2 * * *\", \
                 or @hourly, @daily, @weekly, @monthly, or \"every 15m\""
            );
        }
        let is_wrong = |index: &usize| {
            let mut alone = ["*"; FIELDS.len()];
            alone[*index] = fields[*index];
            parser.parse(&alone.join(" ")).is_err()
        };
        match (0..FIELDS.len()).find(is_wrong) {
            Some(index) => {
                let (name, allowed) = FIELDS[index];
                format!("{:?} cannot be the {name} of a schedule: {allowed}, *, steps such as */5, ranges and lists", fields[index])
            }
            None => format!("{text:?} is not a schedule: {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    /// The next times after `start`, as UTC.
    fn times(schedule: &str, zone: &str, start: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(schedule, TimeZone::get(zone).unwrap()).unwrap();
        schedule
            .upcoming(at(start))
            .take(count)
            .map(|time| jiff::Timestamp::from_millisecond(time.0).unwrap().to_string())
            .collect()
    }

    #[test]
    fn clocks_go_forward_and_back_in_berlin() {
        // No 02:30 on 2026-03-29: the first moment after the gap.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        );
        // 02:30 comes twice on 2026-10-25: the first.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
        // A star keeps its pace.
        assert_eq!(
            times("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
            ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
        );
        assert_eq!(
            times("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1),
            ["2026-03-30T00:00:00Z"]
        );
    }

    #[test]
    fn days_of_month_and_week_match_either() {
        assert_eq!(
            times("0 0 1 * mon", "UTC", "2026-11-22T00:00:00Z", 3),
            ["2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"]
        );
    }

    #[test]
    fn schedules_that_are_refused() {
        for (text, why) in [
            ("0 0 30 2 *", "never comes"),
            ("@reboot", "init system"),
            ("0 2 * * * root", "five fields"),
            ("02:00", "five fields"),
            ("* * * * * *", "five fields"),
            ("61 * * * *", "\"61\" cannot be the minute"),
            ("every 999ms", "from 1s"),
            ("every 11y", "ten years"),
            ("every", "five fields"),
            ("", "five fields"),
        ] {
            let error = Schedule::parse(text, TimeZone::UTC).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn missed_times_by_policy() {
        let schedule = Schedule::parse("every 10m", TimeZone::UTC).unwrap();
        let minute = |n: i64| Timestamp(n * 60_000);
        let due = |now: Timestamp, missed| {
            let (times, next) = schedule.due(minute(10), now, missed);
            let minutes: Vec<i64> = times.iter().map(|time| time.0 / 60_000).collect();
            (minutes, next.unwrap().0 / 60_000)
        };
        for missed in Missed::ALL.iter().copied() {
            assert_eq!(due(minute(9), missed), (vec![], 10));
            // A minute late is in time.
            assert_eq!(due(minute(11), missed), (vec![10], 20));
        }
        let late = minute(40).plus(Millis(1));
        assert_eq!(due(late, Missed::Once), (vec![30, 40], 50));
        assert_eq!(due(late, Missed::All), (vec![10, 20, 30, 40], 50));
        assert_eq!(due(late, Missed::Skip), (vec![40], 50));
        let (times, _) = schedule.due(minute(10), minute(100_005), Missed::All);
        assert_eq!((times.len(), times[0], times[99]), (100, minute(99_010), minute(100_000)));
    }

    proptest! {
        /// `all` of a bounded time gives exactly the times that stepping forward gives.
        #[test]
        fn looking_back_finds_what_stepping_forward_finds(
            text in prop::sample::select(vec!["*/20 * * * *", "30 2 * * *", "0 2,3 * * *", "15 1-3 * * sun", "every 17m"]),
            zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
            start in 1_700_000_000_000_i64..1_860_000_000_000,
            span in 0_i64..40 * 3_600_000,
        ) {
            let schedule = Schedule::parse(text, TimeZone::get(zone).unwrap()).unwrap();
            let first = schedule.first(Timestamp(start)).unwrap();
            let now = Timestamp(first.0 + span);
            let forward: Vec<_> = std::iter::successors(Some(first), |time| schedule.after(*time))
                .take_while(|time| *time <= now)
                .collect();
            let (mut times, next) = schedule.due(first, now, Missed::All);
            let skipped = forward.len().saturating_sub(MAX_MISSED);
            if skipped > 0 {
                times = times.split_off(times.len().saturating_sub(MAX_MISSED));
            }
            prop_assert_eq!(&times[..], &forward[forward.len() - times.len()..]);
            prop_assert!(times.len() >= forward.len().min(MAX_MISSED));
            prop_assert_eq!(next, schedule.next_given(first, now));
            prop_assert_eq!(next, forward.last().map_or(Some(first), |last| schedule.after(*last)));
        }
    }
}
