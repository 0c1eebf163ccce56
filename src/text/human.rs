//! Times and durations as people read them.

use std::sync::atomic::{AtomicBool, Ordering};

use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};

use crate::text::{Millis, Timestamp};

const UTC: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]Z");
const LOCAL: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");

const RFC3339: StaticFormatDescription =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// Set once, before anything is shown: it is a choice of whoever looks, for all that this process shows.
static IN_UTC: AtomicBool = AtomicBool::new(false);

/// From now on [`local_time`] shows UTC, with a `Z`.
pub fn show_utc() {
    IN_UTC.store(true, Ordering::Relaxed);
}

/// A point in time on the clock of the place: `2026-11-21 14:03:07`.
pub fn local_time(at: Timestamp) -> String {
    let Ok(utc) = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000) else {
        return format!("{} ms", at.0);
    };
    if IN_UTC.load(Ordering::Relaxed) {
        return utc.format(UTC).unwrap_or_else(|_| utc.to_string());
    }
    let offset = UtcOffset::local_offset_at(utc).unwrap_or(UtcOffset::UTC);
    // At the end of the year 9999 some places are in a year that cannot be written.
    utc.checked_to_offset(offset).unwrap_or(utc).format(LOCAL).unwrap_or_else(|_| utc.to_string())
}

/// A point in time as RFC 3339 with milliseconds, UTC.
pub fn rfc3339(at: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000)
        .ok()
        .and_then(|utc| utc.format(RFC3339).ok())
        .unwrap_or_else(|| at.0.to_string())
}

/// So many of these: `1 job`, `2 jobs`.
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// A duration in its one or two largest units: `12 ms`, `1.9 s`, `42 s`, `3m 20s`, `2h 5m`, `3d 4h`.
pub fn human_duration(span: Millis) -> String {
    let ms = span.0;
    let (seconds, minutes, hours, days) = (ms / 1_000, ms / 60_000, ms / 3_600_000, ms / 86_400_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 => two(minutes, "m", seconds % 60, "s"),
        3_600_000..86_400_000 => two(hours, "h", minutes % 60, "m"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit} {small}{small_unit}")
    }
}

/// A point in time seen from now: `3m 20s ago`, `in 5 s`, `now`.
pub fn relative_time(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", human_duration(at.since(now)))
    } else if now.since(at).0 < 1_000 {
        "now".to_owned()
    } else {
        format!("{} ago", human_duration(now.since(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_what_matters() {
        let shown: Vec<_> = [0, 999, 1_940, 10_999, 60_000, 200_000, 7_500_000, 90_000_000]
            .into_iter()
            .map(|ms| human_duration(Millis(ms)))
            .collect();
        assert_eq!(shown, ["0 ms", "999 ms", "1.9 s", "10 s", "1m", "3m 20s", "2h 5m", "1d 1h"]);
    }

    #[test]
    fn times_are_seen_from_now() {
        let now = Timestamp(1_000_000);
        assert_eq!(relative_time(Timestamp(1_005_000), now), "in 5.0 s");
        assert_eq!(relative_time(Timestamp(999_500), now), "now");
        assert_eq!(relative_time(Timestamp(800_000), now), "3m 20s ago");
    }

    #[test]
    fn json_times_are_utc_with_milliseconds() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_007)), "2023-11-14T22:13:20.007Z");
        assert_eq!(rfc3339(Timestamp(-1)), "1969-12-31T23:59:59.999Z");
    }
}
