//! Which times a schedule promises, and what has to come of them. It shares nothing with the program: it walks over the minutes
//! with the clock of the zone beside it, as cron does.

use jiff::Timestamp;
use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

/// `missed = "all"` makes up for so many.
const MOST: usize = 100;

/// `missed = "skip"` leaves out a time that is seen later than this.
const LATE: i64 = MINUTE;

/// A line of cron, and the minutes of the wall clock that it means.
#[derive(Clone, Copy)]
pub struct Line {
    pub text: &'static str,
    has: fn(DateTime) -> bool,
    /// Its minute or hour begins with `*`.
    is_interval: bool,
}

const fn of_day(text: &'static str, has: fn(DateTime) -> bool) -> Line {
    Line { text, has, is_interval: false }
}

const fn interval(text: &'static str, has: fn(DateTime) -> bool) -> Line {
    Line { text, has, is_interval: true }
}

fn at(time: DateTime, hour: i8, minute: i8) -> bool {
    (time.hour(), time.minute()) == (hour, minute)
}

fn is_weekend(time: DateTime) -> bool {
    matches!(time.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Whether no later day of the month is one of Monday to Friday, and this one is.
fn is_last_weekday(time: DateTime) -> bool {
    let left = time.date().days_in_month() - time.day();
    !is_weekend(time) && (left == 0 || time.weekday() == Weekday::Friday && left <= 2)
}

pub const QUARTERS: Line = interval("*/15 * * * *", |time| time.minute() % 15 == 0);
pub const TWICE: Line =
    interval("7,37 */2 * * *", |time| time.hour() % 2 == 0 && [7, 37].contains(&time.minute()));
pub const HALF_PAST_TWO: Line = of_day("30 2 * * *", |time| at(time, 2, 30));
pub const NIGHT: Line =
    of_day("15,45 1-3 * * *", |time| (1..=3).contains(&time.hour()) && [15, 45].contains(&time.minute()));
pub const TWO: Line = of_day("0 2 * * *", |time| at(time, 2, 0));
pub const SUNDAYS: Line = of_day("30 1 * * 0", |time| at(time, 1, 30) && time.weekday() == Weekday::Sunday);
pub const QUARTER_TO_TWO: Line = of_day("45 1 * * *", |time| at(time, 1, 45));
pub const TEN_PAST_TWO: Line = of_day("10 2 * * *", |time| at(time, 2, 10));
pub const WORKDAYS: Line = of_day("30 8 * * 1-5", |time| at(time, 8, 30) && !is_weekend(time));
pub const WEEKENDS: Line = of_day("0 10 * * 6,0", |time| at(time, 10, 0) && is_weekend(time));
pub const LAST_WEEKDAY: Line = of_day("15 18 LW * *", |time| at(time, 18, 15) && is_last_weekday(time));
pub const LAST_FRIDAY: Line = of_day("30 8 * * friL", |time| {
    at(time, 8, 30) && time.weekday() == Weekday::Friday && time.day() > time.date().days_in_month() - 7
});
pub const TENTH_OR_MONDAY: Line =
    of_day("5 9 10 * mon", |time| at(time, 9, 5) && (time.day() == 10 || time.weekday() == Weekday::Monday));
pub const HALF_HOURS: Line = interval("*/30 4-21/4 * * *", |time| {
    (4..=20).contains(&time.hour()) && time.hour() % 4 == 0 && time.minute() % 30 == 0
});
pub const EACH_THREE: Line = interval("5 */3 * * *", |time| time.hour() % 3 == 0 && time.minute() == 5);
pub const TWENTY_PAST_FOUR: Line = of_day("20 4 * * *", |time| at(time, 4, 20));
pub const MONTHLY: Line = of_day("@monthly", |time| at(time, 0, 0) && time.day() == 1);
pub const EACH_FOUR: Line = interval("0 */4 * * *", |time| time.hour() % 4 == 0 && time.minute() == 0);
pub const EACH_SIX: Line = interval("0 */6 * * *", |time| time.hour() % 6 == 0 && time.minute() == 0);
pub const NOON: Line = of_day("30 12 * * *", |time| at(time, 12, 30));
pub const FIVE: Line = of_day("15 5 * * *", |time| at(time, 5, 15));

#[derive(Clone)]
pub enum Times {
    Clock(Vec<Line>, TimeZone),
    Every { first: i64, span: i64 },
}

impl Times {
    /// The times after `after` up to `until`, in milliseconds since 1970 like all times here.
    pub fn between(&self, after: i64, until: i64) -> Vec<i64> {
        match self {
            Self::Every { first, span } => {
                let from = (after + 1 - first).max(0);
                let from = first + (from + span - 1).div_euclid(*span) * span;
                std::iter::successors(Some(from), |time| Some(time + span))
                    .take_while(|time| *time <= until)
                    .collect()
            }
            Self::Clock(lines, zone) => by_the_clock(lines, zone, after, until),
        }
    }
}

/// A clock that was set forward shows the minutes that it left out at once, which counts for times of day alone. One that was set
/// back shows minutes again, which counts for intervals alone.
fn by_the_clock(lines: &[Line], zone: &TimeZone, after: i64, until: i64) -> Vec<i64> {
    let shows = |minute: i64| {
        zone.to_datetime(Timestamp::from_millisecond(minute * MINUTE).expect("a time of this century"))
    };
    // No clock here is set back by more than an hour.
    let begin = (after - 3 * HOUR).div_euclid(MINUTE);
    let mut latest = shows(begin);
    let mut times = Vec::new();
    for minute in begin + 1..=until.div_euclid(MINUTE) {
        let showing = shows(minute);
        let later = |time: &DateTime| time.checked_add(jiff::Span::new().minutes(1)).ok();
        let new = || std::iter::successors(later(&latest), later).take_while(|time| *time <= showing);
        let comes = |line: &Line| {
            if line.is_interval { (line.has)(showing) } else { new().any(|time| (line.has)(time)) }
        };
        if minute * MINUTE > after && lines.iter().any(comes) {
            times.push(minute * MINUTE);
        }
        latest = latest.max(showing);
    }
    times
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    Once,
    All,
    Skip,
}

/// What a person asks of the times that were missed.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub missed: Missed,
    pub within: Option<i64>,
}

impl Policy {
    /// The times of these, the oldest first, that are made up for if they are seen at `now`.
    pub fn made_up(self, come: &[i64], now: i64) -> Vec<i64> {
        let newest = match self.missed {
            Missed::All => MOST,
            Missed::Once | Missed::Skip => 1,
        };
        let newest = &come[come.len().saturating_sub(newest)..];
        newest.iter().copied().filter(|time| !self.is_late(*time, now)).collect()
    }

    fn is_late(self, time: i64, now: i64) -> bool {
        let within = if self.missed == Missed::Skip { Some(LATE) } else { self.within };
        within.is_some_and(|within| time < now - within)
    }
}

/// What came of the times of a schedule from one look to the next.
pub struct Look<'a> {
    pub policy: Policy,
    /// The times that were promised in it, the oldest first.
    pub come: &'a [i64],
    /// The times for which there is a job, and when it was enqueued.
    pub fired: &'a [(i64, i64)],
    /// How many were said to be gone.
    pub gone: usize,
    /// When it was over.
    pub until: i64,
    /// A job that did not end may hold the key.
    pub is_held: bool,
    /// Somebody may have looked in between, but was killed or found no room.
    pub looked_between: bool,
}

impl Look<'_> {
    /// Lists what is wrong.
    pub fn wrong(&self) -> Vec<String> {
        let Self { policy, come, fired, gone, until, is_held, looked_between } = *self;
        let mut wrong = Vec::new();
        for (time, seen) in fired {
            let had_come: Vec<i64> = come.iter().copied().filter(|come| come <= seen).collect();
            if !had_come.contains(time) {
                wrong.push(format!("{time} was not to come, and came at {seen}"));
            } else if !policy.made_up(&had_come, *seen).contains(time) {
                wrong.push(format!("{time} was not to be made up for, and came at {seen}"));
            }
        }
        let ran = |time: &i64| fired.iter().any(|(fired, _)| fired == time);
        let missing: Vec<i64> = policy.made_up(come, until).into_iter().filter(|time| !ran(time)).collect();
        if !missing.is_empty() && !is_held {
            wrong.push(format!("{missing:?} never came"));
        }
        // A time that is seen too late is said to be gone, but for one that `skip` leaves out.
        let newest = if policy.missed == Missed::All { MOST } else { 1 };
        let left = come[come.len().saturating_sub(newest)..].iter().filter(|time| !ran(time)).count();
        let left = if policy.missed == Missed::Skip && !is_held { 0 } else { left };
        let most = if looked_between || is_held { come.len() - fired.len().min(come.len()) } else { left };
        let least = if policy.missed == Missed::Skip { 0 } else { left };
        if gone < least || gone > most {
            wrong.push(format!("{gone} times are said to be gone, and {least} to {most} are"));
        }
        wrong
    }
}

#[test]
fn the_changes_of_the_clocks() {
    let zone = |name: &str| TimeZone::get(name).expect("a zone");
    let at = |text: &str| text.parse::<Timestamp>().expect("a time").as_millisecond();
    let times = |line: Line, name: &str, from: &str, until: &str| {
        let times = Times::Clock(vec![line], zone(name)).between(at(from), at(until));
        times
            .into_iter()
            .map(|time| {
                let text = Timestamp::from_millisecond(time).expect("a time").to_string();
                text[11..16].to_owned()
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (spring, summer) = ("2027-03-27T23:00:00Z", "2027-03-28T03:00:00Z");
    assert_eq!(times(HALF_PAST_TWO, "Europe/Berlin", spring, summer), "01:00");
    assert_eq!(times(NIGHT, "Europe/Berlin", spring, summer), "00:15 00:45 01:00 01:15 01:45");
    assert_eq!(times(TWICE, "Europe/Berlin", spring, summer), "23:07 23:37 02:07 02:37");
    let (autumn, winter) = ("2027-10-30T23:00:00Z", "2027-10-31T02:00:00Z");
    assert_eq!(times(HALF_PAST_TWO, "Europe/Berlin", autumn, winter), "00:30");
    assert_eq!(times(TWICE, "Europe/Berlin", autumn, winter), "00:07 00:37 01:07 01:37");
    let howe = ("2027-10-02T15:00:00Z", "2027-10-02T16:00:00Z");
    assert_eq!(times(TEN_PAST_TWO, "Australia/Lord_Howe", howe.0, howe.1), "15:30");
}
