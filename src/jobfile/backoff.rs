//! `backoff`: a table, or a string (always that delay), or an array (those delays).

use toml::de::DeValue;

use super::keys::{Place, unknown};
use super::mistake::{Found, Span};
use super::strategy::{belongs, misplaced, named, quoted};
use super::value::{Entry, Value};
use crate::model::{Backoff, Jitter, RetryPolicy, Strategy};
use crate::text::Millis;

/// What the table says, key by key.
#[derive(Default)]
struct Parts {
    initial: Option<(Millis, Span)>,
    multiplier: Option<f64>,
    max: Option<(Millis, Span)>,
    delay: Option<(Millis, Span)>,
    delays: Option<Vec<Millis>>,
    repeat_last: Option<bool>,
    jitter: Option<Jitter>,
    /// A duration is given, but nobody can tell what it says.
    in_doubt: bool,
}

/// Reads a `backoff`.
pub(super) fn read(value: Value<'_>, found: &mut Found) -> Option<Backoff> {
    let with_usual_jitter = |strategy| Backoff { strategy, jitter: Jitter::DEFAULT };
    match value.data() {
        DeValue::Table(_) => table(value, found),
        DeValue::Array(_) => {
            let delays = delays(value, found)?;
            Some(with_usual_jitter(Strategy::List { delays, repeat_last: false }))
        }
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => {
            if let Some(table) = value.data().as_str().and_then(of_command_line) {
                value
                    .refused(
                        found,
                        "this is how the option of `enqueue` is written; here a string is a constant delay",
                    )
                    .hint(format!("write {table}"));
                return None;
            }
            if let Some(strategy) = value.data().as_str().and_then(quoted) {
                value
                    .refused(found, "a string is a constant delay, such as \"30s\"")
                    .hint(format!("write a table with strategy = {strategy}"));
                return None;
            }
            let delay = value.duration(found)?;
            Some(with_usual_jitter(Strategy::Constant { delay }))
        }
        _ => {
            value.wrong(
                found,
                "a table with a strategy, a delay (\"30s\") or an array of delays ([\"5s\", \"1m\"])",
            );
            None
        }
    }
}

/// The value to write for `exponential:2s:3:5m`, `linear:1m:1h` or `5s,1m`, as the command line takes them.
fn of_command_line(text: &str) -> Option<String> {
    let Some((strategy, rest)) = text.split_once(':') else {
        let delays: Vec<String> = text.split(',').map(|delay| format!("{:?}", delay.trim())).collect();
        return (delays.len() > 1).then(|| format!("backoff = [{}]", delays.join(", ")));
    };
    let keys: &[&str] = match strategy {
        "exponential" => &["initial", "multiplier", "max"],
        "linear" => &["delay", "max"],
        _ => return None,
    };
    let show = |(key, text): (&&str, &str)| match *key {
        "multiplier" => format!(", {key} = {}", text.trim()),
        _ => format!(", {key} = {:?}", text.trim()),
    };
    let parts: String =
        keys.iter().zip(rest.split(':')).filter(|(_, text)| !text.is_empty()).map(show).collect();
    Some(format!("backoff = {{ strategy = {strategy:?}{parts} }}"))
}

fn table(value: Value<'_>, found: &mut Found) -> Option<Backoff> {
    let entries = value.table("a table", found)?;
    let given = entries.iter().find(|entry| entry.key == "strategy");
    let strategy = match given {
        Some(entry) => named(entry.value, found),
        None => Some("exponential"),
    };
    let mut parts = Parts::default();
    for entry in &entries {
        if !Place::Backoff.keys().contains(&entry.key) {
            unknown(Place::Backoff, entry, found);
        } else if strategy.is_none_or(|strategy| belongs(strategy, entry.key)) {
            parts.take(entry, found);
        } else if let Some(strategy) = strategy {
            misplaced(strategy, given.is_some(), entry, found);
            if matches!(entry.key, "delay" | "initial") {
                // Its hint says that `delays` is meant: that they are missing is the same mistake.
                parts.delays.get_or_insert_default();
            }
        }
    }
    Some(Backoff {
        jitter: parts.jitter.unwrap_or(Jitter::DEFAULT),
        strategy: parts.strategy(strategy?, &value.at(), found)?,
    })
}

impl Parts {
    fn take(&mut self, entry: &Entry<'_>, found: &mut Found) {
        let value = entry.value;
        let placed = |duration| (duration, value.at());
        match entry.key {
            "initial" | "max" | "delay" => {
                let duration = value.duration(found).map(placed);
                self.in_doubt |= duration.is_none();
                match entry.key {
                    "initial" => self.initial = duration,
                    "max" => self.max = duration,
                    _ => self.delay = duration,
                }
            }
            "multiplier" => self.multiplier = multiplier(value, found),
            "delays" => self.delays = delays(value, found).or(Some(Vec::new())),
            // Unreadable, it may have been true: nobody is told that the list is too short.
            "repeat_last" => self.repeat_last = value.boolean(found).or(Some(true)),
            "jitter" => self.jitter = jitter(value, found),
            _ => {} // `strategy`, which is read first
        }
    }

    fn strategy(self, name: &str, at: &Span, found: &mut Found) -> Option<Strategy> {
        let max = self.max.as_ref().map_or(Strategy::MAX, |(max, _)| *max);
        match name {
            "exponential" => {
                self.check_cap("initial", self.initial.as_ref(), Strategy::EXPONENTIAL_INITIAL, found);
                Some(Strategy::Exponential {
                    initial: self.initial.map_or(Strategy::EXPONENTIAL_INITIAL, |(initial, _)| initial),
                    multiplier: self.multiplier.unwrap_or(Strategy::EXPONENTIAL_MULTIPLIER),
                    max,
                })
            }
            "linear" => {
                self.check_cap("delay", self.delay.as_ref(), Strategy::LINEAR_DELAY, found);
                Some(Strategy::Linear {
                    delay: self.delay.map_or(Strategy::LINEAR_DELAY, |(delay, _)| delay),
                    max,
                })
            }
            "constant" => Some(Strategy::Constant {
                delay: self.delay.map_or(Strategy::CONSTANT_DELAY, |(delay, _)| delay),
            }),
            _ => {
                let Some(delays) = self.delays else {
                    found
                        .add(at, "the strategy \"list\" needs its `delays`")
                        .hint("write delays = [\"5s\", \"1m\"]");
                    return None;
                };
                Some(Strategy::List { delays, repeat_last: self.repeat_last.unwrap_or(false) })
            }
        }
    }

    /// The first delay, called `key`, must not be above the cap.
    fn check_cap(&self, key: &str, first: Option<&(Millis, Span)>, usual_first: Millis, found: &mut Found) {
        match (first, &self.max) {
            _ if self.in_doubt => {}
            (Some((first, _)), Some((max, at))) if max < first => {
                found
                    .add(at, format!("`max` ({max}) is below `{key}` ({first})"))
                    .hint(format!("give a `max` of at least \"{first}\""));
            }
            (None, Some((max, at))) if *max < usual_first => {
                found
                    .add(at, format!("`max` ({max}) is below `{key}`, which is {usual_first} by default"))
                    .hint(format!("give `{key}` too, at most \"{max}\""));
            }
            (Some((first, at)), None) if *first > Strategy::MAX => {
                let max = Strategy::MAX;
                found
                    .add(at, format!("`{key}` ({first}) is above `max`, which is {max} by default"))
                    .hint(format!("give `max` too, at least \"{first}\""));
            }
            _ => {}
        }
    }
}

fn multiplier(value: Value<'_>, found: &mut Found) -> Option<f64> {
    let taken = value.as_number().filter(|number| (1.0..=1_000.0).contains(number));
    if taken.is_none() {
        value.wrong(found, "a number from 1 to 1000");
    }
    taken
}

fn delays(value: Value<'_>, found: &mut Found) -> Option<Vec<Millis>> {
    let list = value.list("an array of delays, such as [\"5s\", \"1m\"]", found)?;
    if list.is_empty() {
        value
            .refused(found, "a list of delays needs at least one")
            .hint("for a single run write `max_attempts = 1`");
    }
    if list.len() >= RetryPolicy::MOST_ATTEMPTS as usize {
        value.refused(found, "the list asks for more than a million runs");
    }
    let durations: Vec<_> = list.iter().map(|delay| delay.duration(found)).collect();
    // One that cannot be read still counts: the length of the list is not what is wrong with it.
    Some(durations.into_iter().map(Option::unwrap_or_default).collect())
}

fn jitter(value: Value<'_>, found: &mut Found) -> Option<Jitter> {
    match value.data() {
        DeValue::Boolean(true) => return Some(Jitter::DEFAULT),
        DeValue::Boolean(false) => return Some(Jitter::NONE),
        DeValue::String(_) => return value.duration(found).map(Jitter::Absolute),
        _ => {}
    }
    let number = value.as_number();
    let taken = number.filter(|number| (0.0..=1.0).contains(number));
    if taken.is_none() {
        let mistake = value.wrong(
            found,
            "true, false, a fraction of the delay from 0 to 1, or a duration such as \"100ms\"",
        );
        if let Some(number) = number.filter(|number| *number > 1.0) {
            mistake.hint(format!("write \"{number}s\" for seconds; a quarter of the delay is 0.25"));
        }
    }
    taken.map(Jitter::Fraction)
}
