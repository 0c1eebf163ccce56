//! Durations and sizes: read with their units, and shown for people.
//!
//! A duration is shown exactly by `Display`, so that it can be typed again, and rounded by [`human_duration`].

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A duration in whole milliseconds, from 0 to ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A year as `systemd.time(7)` counts it: 365.25 days.
const YEAR: u64 = 8_766 * HOUR;

/// The length of a unit in milliseconds.
fn unit_length(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" | "msec" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => 7 * DAY,
        "y" | "year" | "years" => YEAR,
        _ => return None,
    })
}

impl Millis {
    /// The longest duration that is taken: ten years.
    pub const MAX: Self = Self(10 * YEAR);

    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * SECOND)
    }

    /// Reads `"500ms"`, `"30s"`, `"1h 30m"`, `"1.5h"`, at most ten years. The error says what is wrong and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let total = total(text)?;
        if total > Self::MAX.0 {
            return Err(format!("{text:?} is longer than ten years, the most there is"));
        }
        Ok(Self(total))
    }

    /// Like [`Millis::parse`], but a duration longer than `longest` is read as `longest`.
    pub fn parse_capped(text: &str, longest: Self) -> Result<Self, String> {
        Ok(Self(total(text)?).min(longest))
    }
}

/// The sum of the parts of a text in milliseconds; saturates.
fn total(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let mut rest = trimmed;
    if rest.is_empty() {
        return Err("a duration is empty; write a number with a unit, such as \"30s\"".into());
    }
    let mut total: u64 = 0;
    let mut last_length = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        if number.is_empty() || unit.is_empty() && !next.is_empty() {
            return Err(format!(
                "{text:?} is not a duration; write a number with a unit, such as \"30s\" or \"1h 30m\""
            ));
        }
        if unit.is_empty() {
            let advice = with_smaller_units(trimmed, last_length).map(|advice| format!("; {advice}"));
            return Err(format!("{text:?} has no unit{}", advice.unwrap_or_default()));
        }
        let Some(length) = unit_length(unit) else {
            return Err(format!("{text:?} has the unknown unit {unit:?}; units are ms, s, m, h, d, w, y"));
        };
        last_length = length;
        let Some(part) = scaled(number, length) else {
            let before = &trimmed[..trimmed.len() - rest.len()];
            let meant = with_zero(number).map(|number| format!("{before}{number}{unit}{next}"));
            return Err(match meant.filter(|meant| self::total(meant).is_ok()) {
                Some(meant) => format!("{text:?} has a point without a digit beside it; write {meant:?}"),
                None => format!("{text:?} is not a whole number of milliseconds"),
            });
        };
        total = total.saturating_add(part);
        rest = next.trim_start();
    }
    Ok(total)
}

/// What to write for a number without a unit, such as `30`: those of a second, a minute and a millisecond that are durations. None
/// if none of them is.
pub fn with_units(number: &str) -> Option<String> {
    with_smaller_units(number, u64::MAX)
}

/// The same for a number behind a part with a unit of this length: whoever writes `1h 30` means a smaller unit.
fn with_smaller_units(number: &str, length: u64) -> Option<String> {
    let number = with_zero(number).unwrap_or_else(|| number.to_owned());
    let units = [("s", "seconds", SECOND), ("m", "minutes", MINUTE), ("ms", "milliseconds", 1)];
    let smaller = units.into_iter().filter(|(_, _, own)| *own < length);
    let texts = smaller.map(|(unit, words, _)| (format!("{number}{unit}"), words));
    // Nothing is nothing in each unit.
    let known: Vec<_> = texts.filter(|(text, _)| Millis::parse(text).is_ok()).collect();
    let known = if Millis::parse(&known.first()?.0) == Ok(Millis(0)) { &known[..1] } else { &known };
    let choices: Vec<_> = known.iter().map(|(text, words)| format!("{text:?} for {words}")).collect();
    let (last, others) = choices.split_last()?;
    Some(if others.is_empty() {
        format!("write {last}")
    } else {
        format!("write {} or {last}", others.join(", "))
    })
}

/// A number that lacks the digits on one side of its point, such as `.5`, with a zero there.
fn with_zero(number: &str) -> Option<String> {
    let (whole, fraction) = number.split_once('.').filter(|(_, fraction)| !fraction.contains('.'))?;
    match (whole, fraction) {
        ("", "") => None,
        ("", fraction) => Some(format!("0.{fraction}")),
        (whole, "") => Some(whole.to_owned()),
        _ => None,
    }
}

/// `number` (decimal digits, at most one point) times `length`, if that is a whole number; saturates.
fn scaled(number: &str, length: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_point = number.contains('.');
    if whole.is_empty() || has_point && (fraction.is_empty() || fraction.contains('.')) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().unwrap_or(u64::MAX);
    let mut part = 0;
    if !fraction.is_empty() {
        let denominator = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
        let numerator = fraction.parse::<u64>().ok()?.checked_mul(length)?;
        if !numerator.is_multiple_of(denominator) {
            return None;
        }
        part = numerator / denominator;
    }
    Some(whole.saturating_mul(length).saturating_add(part))
}

impl From<Millis> for Duration {
    fn from(value: Millis) -> Self {
        Self::from_millis(value.0)
    }
}

/// The shortest text that reads back as the same duration: `1h 30m`, `1.5s`, `250ms`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        if rest == 0 {
            return f.write_str("0s");
        }
        let mut space = "";
        for (name, length) in [("d", DAY), ("h", HOUR), ("m", MINUTE)] {
            if rest >= length {
                write!(f, "{space}{}{name}", rest / length)?;
                rest %= length;
                space = " ";
            }
        }
        if rest == 0 {
            return Ok(());
        }
        let (seconds, ms) = (rest / SECOND, rest % SECOND);
        match (seconds, ms) {
            (0, _) => write!(f, "{space}{ms}ms"),
            (_, 0) => write!(f, "{space}{seconds}s"),
            _ => {
                let fraction = format!("{ms:03}");
                write!(f, "{space}{seconds}.{}s", fraction.trim_end_matches('0'))
            }
        }
    }
}

/// A duration; nothing if it is not known.
pub fn known_duration(span: Option<Millis>) -> String {
    span.map(human_duration).unwrap_or_default()
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

/// Unit names and their size in bytes.
const SIZE_UNITS: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("KB", 1_000), ("MB", 1_000_000)];

/// Reads `"64KiB"`, `"1 MiB"`, `"512B"` as bytes. The error says what is wrong and what to write.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim_start();
    if number.is_empty() {
        return Err(format!("{text:?} is not a size; write a number with a unit, such as \"64KiB\""));
    }
    if unit.is_empty() {
        return Err(format!(
            "{text:?} has no unit; write \"{number}B\" for bytes or \"{number}KiB\" for kibibytes"
        ));
    }
    let Some(&(_, bytes)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("{text:?} has the unknown unit {unit:?}; units are B, KiB, MiB, KB, MB"));
    };
    Ok(number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(bytes))
}

/// Bytes for people: `64 KiB`, `1.5 MiB`, `312 B`.
pub fn human_size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_024 => return format!("{bytes} B"),
        1_024..1_048_576 => (1_024, "KiB"),
        1_048_576..1_073_741_824 => (1_048_576, "MiB"),
        _ => (1_073_741_824, "GiB"),
    };
    let tenths = u128::from(bytes) * 10 / unit;
    if tenths.is_multiple_of(10) {
        format!("{} {name}", tenths / 10)
    } else {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_add_up() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1 hrs 30mins", 5_400_000),
            ("1.5h", 5_400_000),
            (" 2 d ", 172_800_000),
            ("0s", 0),
            ("10y", 315_576_000_000),
        ] {
            assert_eq!(Millis::parse(text), Ok(Millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_hint() {
        for (text, hint) in [
            ("30", "\"30s\""),
            ("", "empty"),
            ("fast", "not a duration"),
            ("-5s", "not a duration"),
            ("5 parsecs", "unknown unit"),
            ("1.0001s", "milliseconds"),
            ("1.s", "write \"1s\""),
            (".5s", "write \"0.5s\""),
            ("1.2.3s", "milliseconds"),
            ("1.5h .5m", "write \"1.5h 0.5m\""),
            (".0001s", "milliseconds"),
            (".5", "write \"0.5s\" for seconds or"),
            ("5s 3", "write \"5s 3ms\" for milliseconds"),
            ("5m30", "has no unit; write \"5m30s\" for seconds or \"5m30ms\" for milliseconds"),
            ("10.34", "write \"10.34s\" for seconds or \"10.34m\" for minutes"),
            ("0", "write \"0s\" for seconds"),
            ("11y", "ten years"),
            ("99999999999999999999d", "ten years"),
        ] {
            let error = Millis::parse(text).unwrap_err();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn people_see_the_one_or_two_largest_units() {
        let shown = [0, 999, 1_940, 10_999, 60_000, 200_000, 7_500_000, 90_000_000]
            .map(|ms| human_duration(Millis(ms)));
        assert_eq!(shown, ["0 ms", "999 ms", "1.9 s", "10 s", "1m", "3m 20s", "2h 5m", "1d 1h"]);
    }

    #[test]
    fn sizes_carry_units() {
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        assert_eq!(parse_size("1 MiB"), Ok(1_048_576));
        assert_eq!(parse_size("0B"), Ok(0));
        assert!(parse_size("64").unwrap_err().contains("\"64KiB\""));
        assert!(parse_size("64kib").unwrap_err().contains("unknown unit"));
        assert!(parse_size("big").unwrap_err().contains("not a size"));
        assert_eq!(parse_size("99999999999999999999MiB"), Ok(u64::MAX));
    }

    #[test]
    fn sizes_are_shown_with_one_decimal() {
        let shown: Vec<_> = [0, 1_023, 1_024, 1_536, 1 << 30].map(human_size).into();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "1 GiB"]);
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(ms in 0..=Millis::MAX.0) {
            prop_assert_eq!(Millis::parse(&Millis(ms).to_string()), Ok(Millis(ms)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = Millis::parse(&text);
        }
    }
}
