//! Parses points in time as people type them. They are in local time unless they have an offset.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime, PrimitiveDateTime, Time};

use crate::text::{Millis, Timestamp, machine_offset};

/// A point in time as it was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    Instant(OffsetDateTime),
    /// Local time.
    Local(PrimitiveDateTime),
    /// The next time at which local clocks show this.
    Next(Time),
}

impl At {
    /// Reads `2026-11-21T14:00:00Z`, `2026-11-21 14:00` or `14:00`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(instant) = OffsetDateTime::parse(text, &Rfc3339) {
            return Ok(Self::Instant(instant));
        }
        let date = format_description!("[year]-[month]-[day]");
        if let Some((day, clock)) = text.split_once([' ', 'T'])
            && let (Ok(day), Some(clock)) = (Date::parse(day, date), time_of_day(clock))
        {
            return Ok(Self::Local(day.with_time(clock)));
        }
        time_of_day(text).map(Self::Next).ok_or_else(|| {
            format!("{text:?} is not a time; write 14:30, '2026-11-21 14:30' or 2026-11-21T14:30:00Z")
        })
    }

    /// The instant that this means at `now`.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Instant(instant) => timestamp(instant),
            Self::Local(local) => at_local(local).first().copied().map_or(now, timestamp),
            Self::Next(clock) => {
                near_times_of_day(now, clock).into_iter().find(|at| *at > now).unwrap_or(now)
            }
        }
    }
}

fn time_of_day(text: &str) -> Option<Time> {
    let minutes = format_description!("[hour padding:none]:[minute]");
    let seconds = format_description!("[hour padding:none]:[minute]:[second]");
    Time::parse(text, minutes).or_else(|_| Time::parse(text, seconds)).ok()
}

fn timestamp(instant: OffsetDateTime) -> Timestamp {
    let ms = instant.unix_timestamp_nanos() / 1_000_000;
    Timestamp(i64::try_from(ms).unwrap_or(i64::MAX)).min(Timestamp::MAX)
}

fn local(at: Timestamp) -> OffsetDateTime {
    let utc = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    utc.checked_to_offset(machine_offset(utc)).unwrap_or(utc)
}

/// The instants of this local time, the earliest first: two when the clocks go back. A time that the clocks skip
/// means the instant just after the gap.
fn at_local(local: PrimitiveDateTime) -> Vec<OffsetDateTime> {
    let about = local.assume_utc();
    // If the clocks change near this time, the offset a day before is the old one, and that a day after the new one.
    let around = [about.checked_sub(Duration::DAY), about.checked_add(Duration::DAY)];
    let guesses = around.into_iter().flatten().map(|day| local.assume_offset(machine_offset(day)));
    let mut instants: Vec<_> = guesses.collect();
    let skipped = instants.first().copied().unwrap_or(about);
    instants.retain(|instant| machine_offset(*instant) == instant.offset());
    instants.sort();
    instants.dedup();
    if instants.is_empty() { vec![skipped] } else { instants }
}

/// The instants of this local time of day yesterday, today and tomorrow, the earliest first.
fn near_times_of_day(now: Timestamp, clock: Time) -> Vec<Timestamp> {
    let today = local(now).date();
    let days = [today.previous_day(), Some(today), today.next_day()];
    days.into_iter().flatten().flat_map(|day| at_local(day.with_time(clock))).map(timestamp).collect()
}

/// The begin or end of a past period, as it was typed for `--since` or `--until`.
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
        let date = format_description!("[year]-[month]-[day]");
        match text.trim() {
            "today" => return Ok(Self::DaysBack(0)),
            "yesterday" => return Ok(Self::DaysBack(1)),
            other => {
                if let Ok(day) = Date::parse(other, date) {
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
            Self::Ago(span) => Timestamp(now.0.saturating_sub_unsigned(span.0)),
            // `--since` and `--until` are about the past, so 14:30 means the last time it was 14:30.
            Self::At(At::Next(clock)) => {
                near_times_of_day(now, clock).into_iter().rfind(|at| *at <= now).unwrap_or(now)
            }
            Self::At(at) => at.resolve(now),
            Self::Day(day) => start_of(day).unwrap_or(now),
            Self::DaysBack(days) => {
                let day = local(now).date().checked_sub(Duration::days(days.into()));
                day.and_then(start_of).unwrap_or(now)
            }
        }
    }
}

/// The first instant of this day, in local time.
fn start_of(day: Date) -> Option<Timestamp> {
    at_local(day.midnight()).first().copied().map(timestamp)
}

#[cfg(test)]
mod tests {
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
}
