//! The strategies of `backoff`, and which keys belong to which.

use super::foreign;
use super::mistake::Found;
use super::near::nearest;
use super::value::{Entry, Value};

/// The strategies, and the keys that each has besides `strategy` and `jitter`.
pub(super) const STRATEGIES: [(&str, &[&str]); 4] = [
    ("exponential", &["initial", "multiplier", "max"]),
    ("linear", &["delay", "max"]),
    ("constant", &["delay"]),
    ("list", &["delays", "repeat_last"]),
];

/// Where `name` is that of a strategy, here or elsewhere: the strategy to write, in quotes.
pub(super) fn quoted(name: &str) -> Option<String> {
    let known = STRATEGIES.iter().find(|(known, _)| *known == name);
    known.map(|(known, _)| format!("{known:?}")).or_else(|| foreign::strategy(name).map(str::to_owned))
}

/// Reads the name of a strategy.
pub(super) fn named(value: Value<'_>, found: &mut Found) -> Option<&'static str> {
    let name = value.string(found)?;
    let known = STRATEGIES.iter().map(|(known, _)| *known);
    if let Some(strategy) = known.clone().find(|strategy| *strategy == name) {
        return Some(strategy);
    }
    let mistake = value.wrong(found, "one of exponential, linear, constant, list");
    if let Some(ours) = foreign::strategy(name) {
        mistake.hint(format!("write {ours}"));
    } else if let Some(near) = nearest(name, known) {
        mistake.hint(format!("did you mean {near:?}?"));
    }
    None
}

fn keys_of(strategy: &str) -> &'static [&'static str] {
    STRATEGIES.iter().find(|(name, _)| *name == strategy).map_or(&[], |(_, keys)| keys)
}

/// Does a backoff of this strategy have `key`?
pub(super) fn belongs(strategy: &str, key: &str) -> bool {
    ["strategy", "jitter"].contains(&key) || keys_of(strategy).contains(&key)
}

/// Records a key that another strategy has.
pub(super) fn misplaced(strategy: &str, is_named: bool, entry: &Entry<'_>, found: &mut Found) {
    let key = entry.key;
    let by_default = if is_named { "" } else { ", the default strategy," };
    let mistake = found.add(&entry.at, format!("the strategy {strategy:?}{by_default} has no `{key}`"));
    let owners: Vec<String> = STRATEGIES
        .iter()
        .filter(|(_, keys)| keys.contains(&key))
        .map(|(name, _)| format!("{name:?}"))
        .collect();
    let same_thing = match (strategy, key) {
        ("exponential", "delay") => "its first delay is `initial`; or ",
        ("linear" | "constant", "initial") => "its first delay is `delay`; or ",
        ("list", "delay" | "initial") => "its delays are `delays`; or ",
        _ => "",
    };
    mistake.hint(format!("{same_thing}write strategy = {}, which has `{key}`", owners.join(" or ")));
    mistake.allowed(format!("strategy, {}, jitter", keys_of(strategy).join(", ")));
}
