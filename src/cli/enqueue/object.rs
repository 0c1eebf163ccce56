//! One line of a batch as a JSON object.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The keys of a line.
const KEYS: [&str; 21] = [
    "name",
    "command",
    "args",
    "queue",
    "priority",
    "in",
    "at",
    "max_attempts",
    "retryable",
    "backoff",
    "jitter",
    "auto_retry_for",
    "never_retry_for",
    "timeout",
    "grace_period",
    "expires_in",
    "env",
    "cwd",
    "unique_key",
    "on_conflict",
    "idempotency_key",
];

/// The entries of an object that are not taken yet: keys, and the texts of their values, which nobody has read.
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    /// Unlike a map of the library it refuses a key that is given twice: which one counts would be a guess.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Copied only where it is written with escapes.
        #[derive(Deserialize)]
        struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object<'de>, A::Error> {
                let mut object = Object(Vec::with_capacity(8));
                while let Some((Key(key), value)) = entries.next_entry()? {
                    if object.get(&key).is_some() {
                        return Err(A::Error::custom(format!("the key {key:?} is given twice")));
                    }
                    // More than there are: before long each would have to be compared with thousands.
                    if object.0.len() == KEYS.len() && !KEYS.contains(&&*key) {
                        return Err(A::Error::custom(unknown_key(&key)));
                    }
                    object.0.push((key, value));
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl<'a> Object<'a> {
    /// The keys and the texts.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (&**key, value.get()))
    }

    /// The text behind this key.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.entries().find(|(known, _)| *known == key).map(|(_, text)| text)
    }

    /// Takes the text behind this key.
    pub(super) fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1.get())
    }
}

/// Says that there is no such key.
pub(super) fn unknown_key(unknown: &str) -> String {
    let near = KEYS.iter().find(|key| strsim::damerau_levenshtein(key, unknown) <= 2);
    match near {
        Some(near) => format!("unknown key {unknown:?}; did you mean {near:?}?"),
        None => format!("unknown key {unknown:?}; keys are {}", KEYS.join(", ")),
    }
}
