//! Reads the value of an option in the form that its row names. A line of a batch accepts what may be typed for the flag, each
//! as one type of JSON.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::values::{self, JobRef};
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, ReadForm, WholeNumber};
use crate::text::Millis;

/// A value as it was given.
#[derive(Clone, Copy)]
pub enum Given<'v> {
    /// The words that were typed for all flags of the name.
    Typed(&'v [&'v OsStr]),
    /// A null counts as an absent key.
    Json(&'v Value),
}

use Given::{Json, Typed};

/// The value of an option.
pub struct OptionValue<'v> {
    /// The option, for messages.
    pub id: &'v str,
    pub given: Given<'v>,
    /// Why it cannot be used.
    pub wrong: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
enum TextOrTexts {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the id or the name of a job")]
enum IdOrName {
    Id(i64),
    Name(String),
}

impl OptionValue<'_> {
    fn checked<T>(&mut self, read: Result<T, String>) -> Option<T> {
        read.map_err(|why| self.wrong = Some(why)).ok()
    }

    /// The value of a key, if it is of this type; none for a null.
    fn json<T: DeserializeOwned>(&mut self, json: &Value) -> Option<T> {
        let read = Option::deserialize(json).map_err(|error| error.to_string());
        self.checked(read).flatten()
    }

    /// Reads the word, or the text of a JSON value of type `J`, by `parse`.
    fn read<J: DeserializeOwned + ToString, T>(
        &mut self,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let read = match self.given {
            Typed(words) => text(words.first()?).and_then(parse),
            Json(json) => parse(&self.json::<J>(json)?.to_string()),
        };
        self.checked(read)
    }

    /// The same of exit statuses, which are numbers in JSON, and one word: `0,24`.
    fn statuses(&mut self, parse: fn(&str) -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        let Json(json) = self.given else { return self.read::<String, _>(parse) };
        let numbers: Vec<Number> = self.json(json)?;
        let listed = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        self.checked(parse(&listed))
    }

    /// A line for the shell; in JSON also a program with its arguments.
    pub fn command(&mut self) -> Option<Command> {
        let command = match self.given {
            Typed(words) => Ok(Command::Shell(Bytes::from(*words.first()?))),
            Json(json) => match self.json(json)? {
                TextOrTexts::One(line) => bytes(line).map(Command::Shell),
                TextOrTexts::Many(words) => all_bytes(words).map(Command::Argv),
            },
        };
        self.checked(command)
    }

    /// None for an empty list.
    pub fn jobs(&mut self) -> Option<Vec<JobRef>> {
        let jobs: Result<Vec<_>, _> = match self.given {
            Typed(words) => words.iter().map(|word| text(word).and_then(JobRef::parse)).collect(),
            Json(json) => {
                let read = |job| match job {
                    IdOrName::Id(id) => Ok(JobRef::Id(id)),
                    IdOrName::Name(name) => JobRef::parse(&name),
                };
                self.json::<Vec<_>>(json)?.into_iter().map(read).collect()
            }
        };
        self.checked(jobs).filter(|jobs| !jobs.is_empty())
    }

    pub fn jitter(&mut self) -> Option<Jitter> {
        match self.given {
            Json(json @ (Value::Bool(_) | Value::Number(_))) => {
                self.checked(values::jitter(&json.to_string()))
            }
            Json(Value::Array(_) | Value::Object(_)) => {
                self.checked(Err("expected true, false, a fraction or a duration".to_owned()))
            }
            _ => self.parsed(values::jitter),
        }
    }
}

impl ReadForm for OptionValue<'_> {
    fn boolean(&mut self) -> Option<bool> {
        self.read::<bool, _>(|text| text.parse().map_err(|_| "it is true or false".to_owned()))
    }

    fn text(&mut self) -> Option<String> {
        self.parsed(|text| Ok(text.to_owned()))
    }

    fn parsed<T>(&mut self, parse: fn(&str) -> Result<T, String>) -> Option<T> {
        self.read::<String, _>(parse)
    }

    fn unique_key(&mut self) -> Option<String> {
        self.parsed(values::key)
    }

    /// As it was given, so perhaps relative.
    fn path(&mut self) -> Option<Bytes> {
        let path = match self.given {
            Typed(words) => Ok(Bytes::from(*words.first()?)),
            Json(json) => bytes(self.json(json)?),
        };
        self.checked(path.and_then(values::folder))
    }

    /// None for an empty list.
    fn argv(&mut self) -> Option<Vec<Bytes>> {
        let words = match self.given {
            Typed(words) => Ok(words.iter().map(|word| Bytes::from(*word)).collect()),
            Json(json) => all_bytes(self.json(json)?),
        };
        self.checked(words).filter(|words| !words.is_empty())
    }

    fn variables(&mut self) -> Option<BTreeMap<Bytes, Bytes>> {
        let variables = match self.given {
            Typed(words) => words.iter().map(|word| values::variable((*word).to_owned())).collect(),
            Json(json) => {
                let read = |(name, value): (String, _)| {
                    Ok((values::variable_name(name.into_bytes())?, bytes(value)?))
                };
                self.json::<BTreeMap<_, _>>(json)?.into_iter().map(read).collect()
            }
        };
        self.checked(variables)
    }

    fn integer<N: WholeNumber>(&mut self, range: RangeInclusive<N>) -> Option<N> {
        let what = self.id.replace('_', " ");
        self.read::<Number, _>(|text| values::whole_number(&what, &range, text))
    }

    fn duration(&mut self) -> Option<Millis> {
        self.parsed(Millis::parse)
    }

    fn duration_above_zero(&mut self) -> Option<Millis> {
        self.parsed(values::above_zero)
    }

    fn exit_statuses(&mut self) -> Option<Vec<u8>> {
        self.statuses(values::successes)
    }

    fn warning_statuses(&mut self) -> Option<Vec<u8>> {
        self.statuses(values::warnings)
    }

    fn attempts(&mut self) -> Option<u32> {
        self.read::<Number, _>(values::max_attempts)
    }

    fn backoff(&mut self) -> Option<Backoff> {
        let Json(json) = self.given else { return self.parsed(values::backoff) };
        let backoff = match self.json(json)? {
            TextOrTexts::One(text) => values::backoff(&text),
            TextOrTexts::Many(delays) => values::delays(delays.iter().map(String::as_str)),
        };
        self.checked(backoff)
    }

    fn codes(&mut self) -> Option<Vec<CodePattern>> {
        match self.given {
            Typed(words) => {
                self.checked(words.iter().map(|word| text(word).and_then(CodePattern::parse)).collect())
            }
            Json(json) => self.json(json),
        }
    }
}

fn text(word: &OsStr) -> Result<&str, String> {
    word.to_str().ok_or_else(|| "it is not UTF-8".to_owned())
}

/// Text without a NUL byte, which the kernel could not pass to a command.
fn bytes(text: String) -> Result<Bytes, String> {
    if text.contains('\0') { Err("it holds a NUL byte".to_owned()) } else { Ok(Bytes(text.into_bytes())) }
}

fn all_bytes(texts: Vec<String>) -> Result<Vec<Bytes>, String> {
    texts.into_iter().map(bytes).collect()
}
