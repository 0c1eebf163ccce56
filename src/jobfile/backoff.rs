//! `backoff`: a table, or a string (always that delay), or an array (those delays).

use toml::de::DeValue;

use super::diagnostics::{Mistakes, Span};
use super::keys::{Section, unknown};
use super::read::{Entry, Value};
use super::suggest::nearest;
use crate::model::{Backoff, Jitter, RetryPolicy, Strategy};
use crate::text::Millis;

/// The strategies, and the keys that each has besides `strategy` and `jitter`.
pub(super) const STRATEGIES: [(&str, &[&str]); 4] = [
    ("exponential", &["initial", "multiplier", "max"]),
    ("linear", &["delay", "max"]),
    ("constant", &["delay"]),
    ("list", &["delays", "repeat_last"]),
];

/// Reads a `backoff`.
pub(super) fn read(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Backoff> {
    let strategy = match value.data() {
        DeValue::Table(_) => return table(value, mistakes),
        DeValue::Array(_) => Strategy::List { delays: delays(value, mistakes)?, repeat_last: false },
        DeValue::Integer(_) | DeValue::Float(_) => Strategy::Constant { delay: value.duration(mistakes)? },
        DeValue::String(text) => match Millis::parse(text) {
            Ok(delay) => Strategy::Constant { delay },
            Err(why) => {
                value.refused(mistakes, &why).hint(
                    "a string is a constant delay; other strategies need an array of delays, or a table such as { strategy = \"linear\", delay = \"1m\" }",
                );
                return None;
            }
        },
        _ => {
            value.wrong(
                mistakes,
                "a table with a strategy, a delay (\"30s\") or an array of delays ([\"5s\", \"1m\"])",
            );
            return None;
        }
    };
    Some(Backoff { strategy, jitter: Jitter::DEFAULT })
}

/// The values of the table, key by key.
#[derive(Default)]
struct Table {
    initial: Option<Delay>,
    delay: Option<Delay>,
    max: Option<Delay>,
    multiplier: Option<f64>,
    delays: Option<Vec<Millis>>,
    repeat_last: Option<bool>,
    jitter: Option<Jitter>,
}

/// A duration that the table gives.
struct Delay {
    at: Span,
    /// None if it cannot be read.
    length: Option<Millis>,
}

fn table(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Backoff> {
    let entries = value.table("a table", mistakes)?;
    let given = entries.iter().find(|entry| entry.key == "strategy");
    let strategy = given.map_or(Some("exponential"), |entry| strategy_name(entry.value, mistakes));
    let mut table = Table::default();
    for entry in &entries {
        if !Section::Backoff.has(entry.key) {
            unknown(Section::Backoff, entry, mistakes);
        } else if strategy.is_none_or(|strategy| has_key(strategy, entry.key)) {
            table.take(entry, mistakes);
        } else if let Some(strategy) = strategy {
            wrong_strategy(strategy, given.is_some(), entry, mistakes);
        }
    }
    let jitter = table.jitter.unwrap_or(Jitter::DEFAULT);
    Some(Backoff { jitter, strategy: table.strategy(strategy?, &value.at(), mistakes)? })
}

fn strategy_name(value: Value<'_>, mistakes: &mut Mistakes) -> Option<&'static str> {
    let name = value.string(mistakes)?;
    let mut known = STRATEGIES.iter().map(|(known, _)| *known);
    if let Some(strategy) = known.clone().find(|strategy| *strategy == name) {
        return Some(strategy);
    }
    let mistake = value.wrong(mistakes, "one of exponential, linear, constant, list");
    if name == "fixed" {
        mistake.hint("write \"constant\" for the same delay each time, or \"list\" for given delays");
    } else if let Some(near) = nearest(name, known.by_ref()) {
        mistake.hint(format!("did you mean {near:?}?"));
    }
    None
}

fn keys_of(strategy: &str) -> &'static [&'static str] {
    STRATEGIES.iter().find(|(name, _)| *name == strategy).map_or(&[], |(_, keys)| keys)
}

/// Does a backoff of this strategy have `key`?
pub(super) fn has_key(strategy: &str, key: &str) -> bool {
    ["strategy", "jitter"].contains(&key) || keys_of(strategy).contains(&key)
}

/// Records a key that only other strategies have.
fn wrong_strategy(strategy: &str, is_named: bool, entry: &Entry<'_>, mistakes: &mut Mistakes) {
    let key = entry.key;
    let by_default = if is_named { "" } else { ", the default strategy," };
    let owners = STRATEGIES.iter().filter(|(_, keys)| keys.contains(&key));
    let owners: Vec<String> = owners.map(|(name, _)| format!("{name:?}")).collect();
    mistakes
        .add(&entry.at, format!("the strategy {strategy:?}{by_default} has no `{key}`"))
        .hint(format!("write strategy = {}, which has `{key}`", owners.join(" or ")))
        .allowed(format!("strategy, {}, jitter", keys_of(strategy).join(", ")));
}

impl Table {
    fn take(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let value = entry.value;
        let delay =
            |mistakes: &mut Mistakes| Some(Delay { at: value.at(), length: value.duration(mistakes) });
        match entry.key {
            "initial" => self.initial = delay(mistakes),
            "delay" => self.delay = delay(mistakes),
            "max" => self.max = delay(mistakes),
            "multiplier" => self.multiplier = multiplier(value, mistakes),
            "delays" => self.delays = delays(value, mistakes).or(Some(Vec::new())),
            // Unreadable, it may mean true: then the list is not too short.
            "repeat_last" => self.repeat_last = value.boolean(mistakes).or(Some(true)),
            "jitter" => self.jitter = jitter(value, mistakes),
            _ => {} // `strategy`, which is read first
        }
    }

    fn strategy(mut self, name: &str, at: &Span, mistakes: &mut Mistakes) -> Option<Strategy> {
        let or_default = |given: Option<&Delay>, default| given.map_or(Some(default), |it| it.length);
        let max = or_default(self.max.as_ref(), Strategy::MAX);
        let strategy = match name {
            "exponential" => Strategy::Exponential {
                initial: or_default(self.initial.as_ref(), Strategy::EXPONENTIAL_INITIAL)?,
                multiplier: self.multiplier.unwrap_or(Strategy::EXPONENTIAL_MULTIPLIER),
                max: max?,
            },
            "linear" => Strategy::Linear {
                delay: or_default(self.delay.as_ref(), Strategy::LINEAR_DELAY)?,
                max: max?,
            },
            "constant" => {
                Strategy::Constant { delay: or_default(self.delay.as_ref(), Strategy::CONSTANT_DELAY)? }
            }
            _ => {
                if self.delays.is_none() {
                    mistakes
                        .add(at, "the strategy \"list\" needs its `delays`")
                        .hint("write delays = [\"5s\", \"1m\"]");
                }
                let repeat_last = self.repeat_last.unwrap_or(false);
                Strategy::List { delays: self.delays.take()?, repeat_last }
            }
        };
        self.check_max(&strategy, mistakes);
        Some(strategy)
    }

    /// Records a `max` below the first delay. What is not given has its default.
    fn check_max(&self, strategy: &Strategy, mistakes: &mut Mistakes) {
        let Some((first, max)) = strategy.first_above_max() else { return };
        let (key, given) = match strategy {
            Strategy::Exponential { .. } => ("initial", self.initial.as_ref()),
            _ => ("delay", self.delay.as_ref()),
        };
        let Some(Delay { at, .. }) = self.max.as_ref().or(given) else { return };
        let by_default = |given: Option<&Delay>| if given.is_none() { " by default" } else { "" };
        let (max_default, first_default) = (by_default(self.max.as_ref()), by_default(given));
        mistakes
            .add(at, format!("`max` is {max}{max_default}, below `{key}`, which is {first}{first_default}"))
            .hint(format!("give a `max` of at least \"{first}\", or lower `{key}` to \"{max}\""));
    }
}

fn multiplier(value: Value<'_>, mistakes: &mut Mistakes) -> Option<f64> {
    let taken = value.as_number().filter(|number| Strategy::MULTIPLIERS.contains(number));
    if taken.is_none() {
        let range = Strategy::MULTIPLIERS;
        value.wrong(mistakes, &format!("a number from {} to {}", range.start(), range.end()));
    }
    taken
}

fn delays(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Vec<Millis>> {
    let list = value.list("an array of delays, such as [\"5s\", \"1m\"]", mistakes)?;
    if list.is_empty() {
        value
            .refused(mistakes, "a list of delays needs at least one")
            .hint("for a single attempt write `max_attempts = 1`");
    }
    if list.len() >= RetryPolicy::MAX_ATTEMPTS as usize {
        value.refused(mistakes, "the list asks for more than a million attempts");
    }
    let durations: Vec<_> = list.iter().map(|delay| delay.duration(mistakes)).collect();
    // An unreadable delay still counts: the length of the list is right.
    Some(durations.into_iter().map(Option::unwrap_or_default).collect())
}

fn jitter(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Jitter> {
    match value.data() {
        DeValue::Boolean(true) => return Some(Jitter::DEFAULT),
        DeValue::Boolean(false) => return Some(Jitter::NONE),
        DeValue::String(_) => return value.duration(mistakes).map(Jitter::Absolute),
        _ => {}
    }
    let taken = value.as_number().filter(|number| (0.0..=1.0).contains(number));
    if taken.is_none() {
        let allowed = "true, false, a fraction of the delay from 0 to 1, or a duration such as \"100ms\"";
        value.wrong(mistakes, allowed);
    }
    taken.map(Jitter::Fraction)
}
