//! The keys of the retry policy: `max_attempts`, the lists of error codes, and `backoff`, which is a table, a string
//! (always that delay, or the name of a strategy) or an array (those delays).

use toml::de::DeValue;

use super::diagnostics::{Mistakes, Span};
use super::keys::Section;
use super::read::{Entry, Value, distinct};
use super::unknown::unknown;
use crate::model::{Backoff, CodePattern, Jitter, RetryPolicy, Strategy};
use crate::text::{Millis, is_word, nearest};

/// The strategies, and the keys that each has besides `strategy` and `jitter`.
pub(super) const STRATEGIES: [(&str, &[&str]); 4] = [
    ("exponential", &["initial", "multiplier", "max"]),
    ("linear", &["delay", "max"]),
    ("constant", &["delay"]),
    ("list", &["delays", "repeat_last"]),
];

/// What a `backoff` that is a string may be.
const ALLOWED_TEXTS: &str = "exponential, linear, constant, or a delay such as \"30s\"";

pub(super) fn max_attempts(value: Value<'_>, mistakes: &mut Mistakes) -> Option<u32> {
    if value.as_integer() == Some(0) {
        value
            .refused(mistakes, "0 makes a job that can never run")
            .hint("it counts every attempt, the first included: 1 means no retry");
        return None;
    }
    value.integer(1..=RetryPolicy::MAX_ATTEMPTS, mistakes)
}

/// The entries of a list of codes that can be read, each with its place, and whether those are all.
pub(super) fn codes(value: Value<'_>, mistakes: &mut Mistakes) -> Option<(Vec<(CodePattern, Span)>, bool)> {
    let list = value.list("an array of error codes, such as [\"TIMEOUT\"]", mistakes)?;
    let codes = distinct(&list, mistakes, |entry, mistakes| {
        if let Some(status) = entry.as_integer() {
            entry
                .wrong(mistakes, "a string")
                .hint(format!("write \"EXIT_{status}\", or the name that `exit_codes` gives it"));
            return None;
        }
        let text = entry.string(mistakes)?;
        entry.ok_or_refuse(CodePattern::parse(text), mistakes)
    });
    let is_whole = codes.len() == list.len();
    Some((codes, is_whole))
}

pub(super) fn backoff(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Backoff> {
    let strategy = match value.data() {
        DeValue::Table(_) => return table(value, mistakes),
        DeValue::Array(_) => Strategy::List { delays: delays(value, mistakes)?, repeat_last: false },
        DeValue::Integer(_) | DeValue::Float(_) => Strategy::Constant { delay: value.duration(mistakes)? },
        DeValue::String(text) => match Strategy::named(text).map_or_else(|| constant(text), Ok) {
            Ok(strategy) => strategy,
            Err(why) => {
                // With a colon it is what `--backoff` takes, which is a table here.
                let near = nearest(text, Strategy::NAMES).filter(|_| is_word(text) && !text.contains(':'));
                let forms = "other delays need an array, or a table such as { strategy = \"linear\", delay = \"1m\" }";
                let hint = near.map_or_else(|| forms.to_owned(), |near| format!("did you mean \"{near}\"?"));
                value.refused(mistakes, &why).hint(hint).allowed(ALLOWED_TEXTS);
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

fn constant(delay: &str) -> Result<Strategy, String> {
    match Millis::parse(delay) {
        Ok(delay) => Ok(Strategy::Constant { delay }),
        Err(_) if is_word(delay) => Err(format!("{delay:?} is neither a strategy nor a delay")),
        Err(why) => Err(why),
    }
}

fn table(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Backoff> {
    let earlier = mistakes.count();
    let entries = value.table("a table", mistakes)?;
    let given = entries.iter().find(|entry| entry.key == "strategy");
    let name = given.map_or(Some("exponential"), |entry| strategy_name(entry.value, mistakes));
    for entry in &entries {
        if !Section::Backoff.has(entry.key) {
            unknown(Section::Backoff, entry, mistakes);
        } else if let Some(name) = name.filter(|name| !has_key(name, entry.key)) {
            wrong_strategy(name, given.is_some(), entry, mistakes);
        }
    }
    let get = |key: &str| {
        let fits = name.is_none_or(|name| has_key(name, key));
        entries.iter().find(|entry| fits && entry.key == key).map(|entry| entry.value)
    };
    // All values are read before this returns for a bad one, so that every mistake is recorded.
    let [initial, delay, max] =
        ["initial", "delay", "max"].map(|key| get(key).and_then(|value| value.duration(mistakes)));
    let multiplier = get("multiplier").and_then(|value| multiplier(value, mistakes));
    let delays = get("delays").and_then(|value| delays(value, mistakes));
    let repeat_last = get("repeat_last").and_then(|value| value.boolean(mistakes));
    let jitter = get("jitter").and_then(|value| jitter(value, mistakes));
    if name == Some("list") && get("delays").is_none() {
        mistakes
            .add(&value.at(), "the strategy \"list\" needs its `delays`")
            .hint("write delays = [\"5s\", \"1m\"]");
    }
    if mistakes.count() > earlier {
        return None;
    }
    let strategy = match name? {
        "exponential" => Strategy::Exponential {
            initial: initial.unwrap_or(Strategy::EXPONENTIAL_INITIAL),
            multiplier: multiplier.unwrap_or(Strategy::EXPONENTIAL_MULTIPLIER),
            max: max.unwrap_or(Strategy::MAX),
        },
        "linear" => Strategy::Linear {
            delay: delay.unwrap_or(Strategy::LINEAR_DELAY),
            max: max.unwrap_or(Strategy::MAX),
        },
        "constant" => Strategy::Constant { delay: delay.unwrap_or(Strategy::CONSTANT_DELAY) },
        _ => Strategy::List { delays: delays?, repeat_last: repeat_last.unwrap_or_default() },
    };
    check_max(&strategy, get("initial").or(get("delay")), get("max"), mistakes);
    Some(Backoff { strategy, jitter: jitter.unwrap_or(Jitter::DEFAULT) })
}

/// Records a `max` below the first delay. One of the two may be the built-in value.
fn check_max(strategy: &Strategy, first: Option<Value<'_>>, max: Option<Value<'_>>, mistakes: &mut Mistakes) {
    let Some((delay, longest)) = strategy.first_above_max() else { return };
    let Some(at) = max.or(first).map(Value::at) else { return };
    let key = if let Strategy::Exponential { .. } = strategy { "initial" } else { "delay" };
    let by_default = |given: Option<Value<'_>>| if given.is_none() { " by default" } else { "" };
    let (max_default, first_default) = (by_default(max), by_default(first));
    mistakes
        .add(&at, format!("`max` is {longest}{max_default}, below `{key}`, which is {delay}{first_default}"))
        .hint(format!("give a `max` of at least \"{delay}\", or lower `{key}` to \"{longest}\""));
}

fn strategy_name(value: Value<'_>, mistakes: &mut Mistakes) -> Option<&'static str> {
    if value.data().as_str() == Some("fixed") {
        value
            .wrong(mistakes, "one of exponential, linear, constant, list")
            .hint("write \"constant\" for the same delay each time, or \"list\" for given delays");
        return None;
    }
    value.one_of(&STRATEGIES.map(|(name, _)| name), mistakes)
}

fn keys_of(strategy: &str) -> &'static [&'static str] {
    STRATEGIES.iter().find(|(name, _)| *name == strategy).map_or(&[], |(_, keys)| keys)
}

/// Whether a backoff of this strategy has `key`.
pub(super) fn has_key(strategy: &str, key: &str) -> bool {
    ["strategy", "jitter"].contains(&key) || keys_of(strategy).contains(&key)
}

/// Records a key that this strategy does not have.
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
    durations.into_iter().collect()
}

fn jitter(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Jitter> {
    match value.data() {
        DeValue::Boolean(true) => return Some(Jitter::DEFAULT),
        DeValue::Boolean(false) => return Some(Jitter::NONE),
        DeValue::String(text) if !is_word(text) => return value.duration(mistakes).map(Jitter::Absolute),
        _ => {}
    }
    let taken = value.as_number().filter(|number| (0.0..=1.0).contains(number));
    if taken.is_none() {
        let allowed = "true, false, a fraction of the delay from 0 to 1, or a duration such as \"100ms\"";
        let mistake = value.wrong(mistakes, allowed);
        if let Some(near) = value.data().as_str().and_then(|text| nearest(text, ["true", "false"])) {
            mistake.hint(format!("did you mean {near}, without quotes?"));
        }
    }
    taken.map(Jitter::Fraction)
}
