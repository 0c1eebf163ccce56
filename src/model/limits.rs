//! The limits of a queue.

use std::fmt;

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
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.max_running, self.rate) {
            (None, None) => f.write_str("no limit"),
            (Some(most), None) => write!(f, "max_running {most}"),
            (None, Some(rate)) => write!(f, "rate {rate}"),
            (Some(most), Some(rate)) => write!(f, "max_running {most}, rate {rate}"),
        }
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
