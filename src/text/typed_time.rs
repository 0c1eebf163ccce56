//! Points in time as they are typed, in local time unless they carry an offset.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

use super::{Millis, Timestamp};

/// A point in time as it was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    Instant(jiff::Timestamp),
    /// Local time.
    Local(DateTime),
    /// The next time of day, in local time.
    Next(Time),
}

impl At {
    /// Reads `2026-11-21T14:00:00Z`, `2026-11-21 14:00` or `14:00`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(instant) = text.parse() {
            return Ok(Self::Instant(instant));
        }
        if let Some((day, clock)) = text.split_once([' ', 'T'])
            && let (Some(day), Some(clock)) = (date(day), time_of_day(clock))
        {
            return Ok(Self::Local(day.to_datetime(clock)));
        }
        time_of_day(text).map(Self::Next).ok_or_else(|| {
            format!("{text:?} is not a time; write 14:30, '2026-11-21 14:30' or 2026-11-21T14:30:00Z")
        })
    }

    /// The instant that this means at `now`.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Instant(instant) => stamp(instant),
            Self::Local(local) => at_local(local).unwrap_or(now),
            Self::Next(clock) => around(now, clock).into_iter().find(|at| *at > now).unwrap_or(now),
        }
    }
}

fn date(text: &str) -> Option<Date> {
    Date::strptime("%Y-%m-%d", text).ok()
}

fn time_of_day(text: &str) -> Option<Time> {
    Time::strptime("%H:%M", text).or_else(|_| Time::strptime("%H:%M:%S", text)).ok()
}

fn stamp(instant: jiff::Timestamp) -> Timestamp {
    Timestamp(instant.as_millisecond()).min(Timestamp::MAX)
}

fn today(now: Timestamp) -> Date {
    let now = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    Zoned::new(now, TimeZone::system()).date()
}

/// The instant of this local time: the earlier of two when the clocks go back. A time that the clocks skip means the
/// instant just as long after the gap as the time is after its start.
fn at_local(local: DateTime) -> Option<Timestamp> {
    Some(stamp(local.to_zoned(TimeZone::system()).ok()?.timestamp()))
}

/// The instants of this local time of day yesterday, today and tomorrow.
fn around(now: Timestamp, clock: Time) -> Vec<Timestamp> {
    let today = today(now);
    let days = [today.yesterday().ok(), Some(today), today.tomorrow().ok()];
    days.into_iter().flatten().filter_map(|day| at_local(day.to_datetime(clock))).collect()
}

/// A point in time in the past as it was typed: a period begins or ends there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PastTime {
    /// A duration before now.
    Ago(Millis),
    At(At),
    /// The start of this day, in local time.
    Day(Date),
    /// The start of the day this many days before today.
    DaysBack(u8),
}

impl PastTime {
    /// Reads a duration, a time, a date, `today` or `yesterday`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "today" => return Ok(Self::DaysBack(0)),
            "yesterday" => return Ok(Self::DaysBack(1)),
            other => {
                if let Some(day) = date(other) {
                    return Ok(Self::Day(day));
                }
            }
        }
        Millis::parse(text).map(Self::Ago).or_else(|_| {
            At::parse(text).map(Self::At).map_err(|_| {
                format!(
                    "{text:?} is neither a duration such as 1h nor a time such as 14:30, '2026-11-21 14:30', 2026-11-21, today or yesterday"
                )
            })
        })
    }

    /// The instant that this means at `now`.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(span) => now.minus(span),
            // Here a time of day means the last one, not the next.
            Self::At(At::Next(clock)) => around(now, clock).into_iter().rfind(|at| *at <= now).unwrap_or(now),
            Self::At(at) => at.resolve(now),
            Self::Day(day) => start_of(day).unwrap_or(now),
            Self::DaysBack(days) => {
                let day = today(now).checked_sub(i64::from(days).days());
                day.ok().and_then(start_of).unwrap_or(now)
            }
        }
    }
}

/// The first instant of this day, in local time.
fn start_of(day: Date) -> Option<Timestamp> {
    at_local(day.to_datetime(Time::midnight()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::super::mutated;
    use super::*;

    #[test]
    fn times_as_they_are_typed() {
        let utc = At::parse("2026-11-21T14:30:00Z").unwrap();
        assert_eq!(utc.resolve(Timestamp(0)), Timestamp(1_795_271_400_000));
        assert!(matches!(At::parse("2026-11-21 14:30"), Ok(At::Local(_))));
        assert!(matches!(At::parse("2026-11-21 14:30:05"), Ok(At::Local(_))));
        let now = Timestamp(1_795_271_400_000);
        let next = At::parse("14:30").unwrap().resolve(now);
        assert!(next > now && next.since(now) <= Millis::from_secs(25 * 3_600));
        for bad in ["25:00", "tomorrow", "2026-13-01 10:00", ""] {
            assert!(At::parse(bad).is_err(), "{bad}");
        }
    }

    const TIMES: [&str; 12] = [
        "1h 30m",
        "yesterday",
        "2026-11-20",
        "4:5",
        "23:59:60",
        "2026-11-21 14:30",
        "2026-02-29T00:00",
        "2026-11-21T14:30:00.5+23:59",
        "9999-12-31 23:59:59",
        "-9999-01-01T00:00:00Z",
        "-9999-01-01",
        "0000-00-00 24:00",
    ];

    proptest! {
        #[test]
        fn no_time_panics(text in mutated(&TIMES), now in any::<i64>(), soon in 0..4_102_444_800_000_i64) {
            for now in [now, soon].map(Timestamp) {
                if let Ok(at) = At::parse(&text) {
                    prop_assert!(at.resolve(now) <= Timestamp::MAX.max(now));
                }
                if let Ok(past) = PastTime::parse(&text) {
                    prop_assert!(past.resolve(now) <= Timestamp::MAX.max(now));
                }
            }
        }
    }
}
