//! Backoff and jitter as they are typed.

use crate::model::{Backoff, Jitter, Strategy};
use crate::text::Millis;

/// `true`, `false`, a fraction, or a duration.
pub fn jitter(text: &str) -> Result<Jitter, String> {
    match text {
        "true" => return Ok(Jitter::DEFAULT),
        "false" => return Ok(Jitter::NONE),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(Jitter::Fraction(fraction)),
        Ok(_) => Err("a jitter without a unit is a fraction of the wait, from 0 to 1".to_owned()),
        Err(_) => Millis::parse(text).map(Jitter::Absolute),
    }
}

/// `30s`, `5s,1m,10m`, `exponential:INITIAL[:MULTIPLIER[:MAX]]` or `linear:DELAY[:MAX]`.
pub fn backoff(text: &str) -> Result<Backoff, String> {
    let strategy = match text.split_once(':') {
        Some(("exponential", rest)) => exponential(rest)?,
        Some(("linear", rest)) => linear(rest)?,
        Some((other, _)) => {
            return Err(format!(
                "{other:?} is not a strategy; write 30s, 5s,1m,10m, exponential:INITIAL[:MULTIPLIER[:MAX]] or linear:DELAY[:MAX]"
            ));
        }
        None if text.contains(',') => list(text.split(','))?,
        None => Strategy::Constant { delay: Millis::parse(text)? },
    };
    Ok(Backoff { strategy, jitter: Jitter::DEFAULT })
}

/// A list of delays, each used once.
pub fn list<'a>(delays: impl Iterator<Item = &'a str>) -> Result<Strategy, String> {
    let delays = delays.map(Millis::parse).collect::<Result<Vec<_>, _>>()?;
    if delays.is_empty() {
        return Err("a list of waits is not empty".to_owned());
    }
    Ok(Strategy::List { delays, repeat_last: false })
}

fn exponential(rest: &str) -> Result<Strategy, String> {
    let mut parts = rest.split(':');
    let initial = Millis::parse(parts.next().unwrap_or_default())?;
    let multiplier = match parts.next() {
        None => Strategy::EXPONENTIAL_MULTIPLIER,
        Some(text) => text
            .parse()
            .ok()
            .filter(|factor| Strategy::MULTIPLIERS.contains(factor))
            .ok_or_else(|| format!("the multiplier {text:?} is not a number from 1 to 1000"))?,
    };
    let max = cap(initial, parts.next(), parts.next())?;
    Ok(Strategy::Exponential { initial, multiplier, max })
}

fn linear(rest: &str) -> Result<Strategy, String> {
    let mut parts = rest.split(':');
    let delay = Millis::parse(parts.next().unwrap_or_default())?;
    let max = cap(delay, parts.next(), parts.next())?;
    Ok(Strategy::Linear { delay, max })
}

/// The last part of a strategy, which must not lie below its first wait.
fn cap(first: Millis, max: Option<&str>, beyond: Option<&str>) -> Result<Millis, String> {
    if let Some(beyond) = beyond {
        return Err(format!("there is nothing that {beyond:?} could stand for"));
    }
    let max = max.map_or(Ok(Strategy::MAX), Millis::parse)?;
    if max < first {
        return Err(format!(
            "the longest wait ({max}) is below the first ({first}); give MAX as the last part"
        ));
    }
    Ok(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoffs_as_they_are_typed() {
        let parsed = |text| backoff(text).map(|backoff| backoff.strategy);
        let secs = Millis::from_secs;
        assert_eq!(parsed("30s"), Ok(Strategy::Constant { delay: secs(30) }));
        let delays = vec![secs(5), secs(60), secs(600)];
        assert_eq!(parsed("5s,1m,10m"), Ok(Strategy::List { delays, repeat_last: false }));
        let exponential = |multiplier, max| Strategy::Exponential { initial: secs(2), multiplier, max };
        assert_eq!(parsed("exponential:2s"), Ok(exponential(2.0, secs(3_600))));
        assert_eq!(parsed("exponential:2s:3:5m"), Ok(exponential(3.0, secs(300))));
        assert_eq!(parsed("linear:10s:1m"), Ok(Strategy::Linear { delay: secs(10), max: secs(60) }));
        for bad in [
            "",
            "30",
            "fixed:3s",
            "exponential:",
            "exponential:2s:0.5",
            "linear:5m:1m",
            "linear:1s:2s:3s",
            "5s,",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn jitter_is_a_switch_a_fraction_or_a_duration() {
        assert_eq!(jitter("true"), Ok(Jitter::Fraction(0.25)));
        assert_eq!(jitter("0.5"), Ok(Jitter::Fraction(0.5)));
        assert_eq!(jitter("100ms"), Ok(Jitter::Absolute(Millis(100))));
        for bad in ["1.5", "-0.1", "NaN", "some"] {
            assert!(jitter(bad).is_err(), "{bad}");
        }
    }
}
