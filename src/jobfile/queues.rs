//! `[queues.NAME]`.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::diagnostics::Mistakes;
use super::keys::{Section, unknown};
use super::read::{Entry, Value};
use crate::model::{Limits, Rate, check_name};

/// Reads the tables of all queues.
pub(super) fn read(entry: &Entry<'_>, mistakes: &mut Mistakes) -> BTreeMap<String, Limits> {
    let tables = entry.value.table("a table of queues: [queues.NAME]", mistakes).unwrap_or_default();
    tables.iter().map(|queue| (queue.key.to_owned(), limits(queue, mistakes))).collect()
}

fn limits(queue: &Entry<'_>, mistakes: &mut Mistakes) -> Limits {
    if let Err(why) = check_name(queue.key) {
        mistakes.add(&queue.at, why);
    }
    let mut limits = Limits::default();
    let Some(entries) = queue.value.table("a table with max_running, rate or both", mistakes) else {
        return limits;
    };
    if entries.is_empty() {
        mistakes
            .add(&queue.at, format!("the queue `{}` has no limit", queue.key))
            .hint("write max_running = 4, rate = \"10/s\" or both");
    }
    for entry in &entries {
        match entry.key {
            "max_running" => limits.max_running = entry.value.integer(1..=Limits::MAX_RUNNING, mistakes),
            "rate" => limits.rate = rate(entry.value, mistakes),
            _ => drop(unknown(Section::Queue, entry, mistakes)),
        }
    }
    limits
}

fn rate(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Rate> {
    let DeValue::String(text) = value.data() else {
        let mistake = value.wrong(mistakes, "a rate, such as \"10/s\"");
        if let Some(number) = value.as_integer() {
            mistake.hint(format!("write \"{number}/s\", \"{number}/m\" or \"{number}/h\""));
        }
        return None;
    };
    value.taken(Rate::parse(text), mistakes)
}
