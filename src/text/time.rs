//! Points in time: integer milliseconds since the Unix epoch, shown in local time, as RFC 3339, or relative to now.

use std::sync::atomic::{AtomicBool, Ordering};

use ::time::format_description::StaticFormatDescription;
use ::time::macros::format_description;
use ::time::{OffsetDateTime, UtcOffset};
use serde::{Deserialize, Serialize};

use super::system_zone::clocks_of_machine;
use super::{Millis, human_duration};

/// Milliseconds since the Unix epoch, UTC, by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The end of the year 9999: RFC 3339 has no later time.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// This much later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus(self, delay: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(delay.0)).min(Self::MAX)
    }

    /// This much earlier.
    #[must_use]
    pub fn minus(self, span: Millis) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }

    /// How long after `earlier` this is; zero if it is not later.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

const UTC: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]Z");
const LOCAL: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
const UTC_MS: StaticFormatDescription =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:3]Z");
const LOCAL_MS: StaticFormatDescription =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:3]");
const CLOCK: StaticFormatDescription = format_description!("[hour]:[minute]");
const DAY_CLOCK: StaticFormatDescription = format_description!("[month]-[day] [hour]:[minute]");
const YEAR_CLOCK: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]");

const DAY_TIME: StaticFormatDescription =
    format_description!("[weekday repr:short] [year]-[month]-[day] [hour]:[minute]");

const DAY_NAME: StaticFormatDescription =
    format_description!("[weekday repr:short] [day padding:none] [month repr:short]");

const RFC3339: StaticFormatDescription =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

const WITH_OFFSET: StaticFormatDescription = format_description!(
    "[year]-[month]-[day]T[hour]:[minute]:[second][offset_hour sign:mandatory]:[offset_minute]"
);

/// Whether times are shown in UTC. It is set once, before anything is shown.
static IN_UTC: AtomicBool = AtomicBool::new(false);

/// From now on [`local_time`] shows UTC.
pub fn show_utc() {
    IN_UTC.store(true, Ordering::Relaxed);
}

pub(super) fn is_shown_in_utc() -> bool {
    IN_UTC.load(Ordering::Relaxed)
}

/// A point in time in the local time zone: `2026-11-21 14:03:07`; after [`show_utc`] in UTC, with a `Z`.
pub fn local_time(at: Timestamp) -> String {
    let form = if is_shown_in_utc() { UTC } else { LOCAL };
    formatted(at, form)
}

/// Like [`local_time`], to the millisecond: `2026-11-21 14:03:07.250`.
pub fn local_time_ms(at: Timestamp) -> String {
    let form = if is_shown_in_utc() { UTC_MS } else { LOCAL_MS };
    formatted(at, form)
}

/// The local day of the week, and the time to the minute: `Sat 2026-11-21 14:03`; after [`show_utc`] in UTC.
pub fn day_time(at: Timestamp) -> String {
    formatted(at, DAY_TIME)
}

/// The local day as one says it: `Sun 22 Nov`; after [`show_utc`] in UTC.
pub fn day_name(at: Timestamp) -> String {
    formatted(at, DAY_NAME)
}

fn formatted(at: Timestamp, form: StaticFormatDescription) -> String {
    local(at).and_then(|at| at.format(form).ok()).unwrap_or_else(|| format!("{} ms", at.0))
}

/// How many seconds local clocks are ahead of UTC at this time; none after [`show_utc`].
pub fn local_offset(at: Timestamp) -> i32 {
    local(at).map_or(0, |at| at.offset().whole_seconds())
}

/// How far the clocks of this machine are ahead of UTC at this moment, by the zone data that schedules follow, too.
pub fn machine_offset(at: OffsetDateTime) -> UtcOffset {
    let seconds = jiff::Timestamp::from_second(at.unix_timestamp())
        .map_or(0, |at| clocks_of_machine().to_offset(at).seconds());
    UtcOffset::from_whole_seconds(seconds).unwrap_or(UtcOffset::UTC)
}

/// The time by local clocks, or in UTC after [`show_utc`]; none if the calendar has no such time.
fn local(at: Timestamp) -> Option<OffsetDateTime> {
    let utc = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000).ok()?;
    if is_shown_in_utc() {
        return Some(utc);
    }
    let offset = machine_offset(utc);
    // The last hours of the year 9999 are in the year 10000 elsewhere, which cannot be written.
    Some(utc.checked_to_offset(offset).unwrap_or(utc))
}

/// A point in time as RFC 3339 with milliseconds, UTC.
pub fn rfc3339(at: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1_000_000)
        .ok()
        .and_then(|utc| utc.format(RFC3339).ok())
        .unwrap_or_else(|| at.0.to_string())
}

/// A point in time as RFC 3339 with whole seconds, by clocks that are this many seconds ahead of UTC.
pub fn rfc3339_with_offset(at: Timestamp, offset: i32) -> String {
    let local = UtcOffset::from_whole_seconds(offset).ok().and_then(|offset| {
        OffsetDateTime::from_unix_timestamp(at.0.div_euclid(1_000)).ok()?.checked_to_offset(offset)
    });
    local.and_then(|local| local.format(WITH_OFFSET).ok()).unwrap_or_else(|| rfc3339(at))
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

/// The hours and minutes of a local time, with the date unless that is today: `14:03`, `11-20 14:03`, `2025-11-20 14:03`.
pub fn clock_time(at: Timestamp, now: Timestamp) -> String {
    let (Some(local_at), Some(now)) = (local(at), local(now)) else { return local_time(at) };
    let form = if local_at.date() == now.date() {
        CLOCK
    } else if local_at.year() == now.year() {
        DAY_CLOCK
    } else {
        YEAR_CLOCK
    };
    let zone = if is_shown_in_utc() { "Z" } else { "" };
    formatted(at, form) + zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seen_from_now() {
        let now = Timestamp(1_000_000);
        assert_eq!(relative_time(Timestamp(1_005_000), now), "in 5.0 s");
        assert_eq!(relative_time(Timestamp(999_500), now), "now");
        assert_eq!(relative_time(Timestamp(800_000), now), "3m 20s ago");
    }

    #[test]
    fn a_day_has_its_name() {
        assert!(day_time(Timestamp(1_000_000_000_000)).starts_with("Sun 2001-09-09 "));
        assert_eq!(day_name(Timestamp(1_000_000_000_000)), "Sun 9 Sep");
    }

    #[test]
    fn json_times_are_utc_with_milliseconds() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_007)), "2023-11-14T22:13:20.007Z");
        assert_eq!(rfc3339(Timestamp(-1)), "1969-12-31T23:59:59.999Z");
    }
}
