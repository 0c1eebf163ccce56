//! The limits of a queue.

use std::fmt;

use serde_json::Value;

use crate::text::{Millis, Timestamp};

/// A start that is at most this late counts as on time.
const MAX_LATE: Millis = Millis(5);

/// The units of a rate, and their milliseconds.
const UNITS: [(&str, u64); 3] = [("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// How often attempts of a queue may start: `10/s`, `5/m` or `100/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    starts: u32,
    /// One of [`UNITS`].
    unit: (&'static str, u64),
}

impl Rate {
    pub fn parse(text: &str) -> Result<Self, String> {
        let rate = text.split_once('/').and_then(|(number, word)| {
            let is_plain = number.len() < 10
                && !number.starts_with('0')
                && number.bytes().all(|byte| byte.is_ascii_digit());
            let starts = number.parse().ok().filter(|_| is_plain)?;
            let unit = UNITS.into_iter().find(|(unit, _)| *unit == word)?;
            Some(Self { starts, unit })
        });
        rate.ok_or_else(|| {
            format!("{text:?} is not a rate: write a whole number above 0 and a unit: 10/s, 30/m or 100/h")
        })
    }

    /// The least time between two starts, rounded up to whole milliseconds.
    pub fn spacing(self) -> Millis {
        Millis(self.unit.1.div_ceil(u64::from(self.starts)))
    }

    /// Starts in a second, which may be a fraction.
    #[expect(clippy::cast_precision_loss, reason = "a unit has few milliseconds")]
    pub fn per_second(self) -> f64 {
        f64::from(self.starts) * 1_000.0 / self.unit.1 as f64
    }

    /// The start to record for the rate, for a start at `now`: a slightly late start counts as on time, so that delays do not
    /// lower the rate.
    pub fn counted_start(self, last: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let due = last.map_or(now, |last| last.plus(self.spacing()));
        let max_late = MAX_LATE.min(Millis(self.spacing().0 / 2));
        if now.since(due) <= max_late { due } else { now }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.starts, self.unit.0)
    }
}

/// The limits of a queue, over all workers together. The default is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Limits {
    /// The most attempts at a time.
    pub max_running: Option<u32>,
    pub rate: Option<Rate>,
}

impl Limits {
    /// The largest `max_running`.
    pub const MAX_RUNNING: u32 = 1_000_000;

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Each limit with its name and as JSON has it: null if it is not set.
    pub fn named(self) -> [(&'static str, Value); 2] {
        let Self { max_running, rate } = self;
        [("max_running", max_running.into()), ("rate", rate.map(|rate| rate.to_string()).into())]
    }

    /// The metric of each limit: its name, its help, and its value if the limit is set.
    pub fn metrics(self) -> [(&'static str, &'static str, Option<f64>); 2] {
        let Self { max_running, rate } = self;
        [
            (
                "queue_max_running",
                "The most attempts of a queue at once, if it has a limit.",
                max_running.map(f64::from),
            ),
            (
                "queue_rate_per_second",
                "Starts of a queue in a second, if it has a rate.",
                rate.map(Rate::per_second),
            ),
        ]
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("no limit");
        }
        let set = self.named().into_iter().filter(|(_, value)| !value.is_null());
        for (index, (name, value)) in set.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match value.as_str() {
                Some(text) => write!(f, "{comma}{name} {text}")?,
                None => write!(f, "{comma}{name} {value}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_whole_numbers_with_a_unit_and_their_starts_are_evenly_spaced() {
        for (text, spacing) in [
            ("10/s", 100),
            ("1/s", 1_000),
            ("3/s", 334),
            ("5000/s", 1),
            ("7/m", 8_572),
            ("1/h", 3_600_000),
            ("999999999/h", 1),
        ] {
            let rate = Rate::parse(text).unwrap();
            assert_eq!((rate.spacing().0, rate.to_string().as_str()), (spacing, text));
        }
        for text in
            ["", "10", "/s", "0/s", "010/s", "+1/s", "-1/s", "1.5/s", "1/d", "1/", "1/s ", "1000000000/s"]
        {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn late_starts_do_not_add_up_and_idle_time_is_not_made_up_for() {
        let counted = |rate: &str, last: Option<i64>, now: i64| {
            Rate::parse(rate).unwrap().counted_start(last.map(Timestamp), Timestamp(now)).0
        };
        assert_eq!(counted("10/s", None, 1_000), 1_000);
        assert_eq!(counted("10/s", Some(1_000), 1_100), 1_100);
        assert_eq!(counted("10/s", Some(1_000), 1_105), 1_100);
        assert_eq!(counted("10/s", Some(1_000), 1_106), 1_106);
        assert_eq!(counted("500/s", Some(1_000), 1_003), 1_002);
        assert_eq!(counted("500/s", Some(1_000), 1_004), 1_004);
        assert_eq!(counted("1000/s", Some(1_000), 1_002), 1_002);
    }
}
