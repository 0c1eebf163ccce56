//! Hints for the words of other programs in a job file: the keys of `text/foreign_words.toml`.

use toml::de::DeValue;

use super::keys::Section;
use super::read::{Entry, Value};
use crate::call_target::with_commands;
use crate::model::{RetryPolicy, check_name};
use crate::text::{Meanings, Millis, foreign_words, misspelt, snake_case};

/// What stands here in the place of another program's key.
#[derive(Clone, Copy)]
pub(super) enum Meant {
    /// The same under this name.
    Key(&'static str),
    /// A duration under this name; there it is a number of this unit.
    Span(&'static str, &'static str),
    /// The number of attempts after the first.
    Retries,
    /// The time between two runs.
    Pace,
    /// The user that the command runs as.
    User,
    Words(&'static str),
}

/// What the author of an unknown key means, who knows it from another program.
pub(super) fn foreign(section: Section, entry: &Entry<'_>) -> Option<Meant> {
    let key = snake_case(entry.key).replace(' ', "_");
    let of_this_type = format!("{key}:{}", entry.value.data().type_str());
    let own = match section {
        Section::File => "keys of a file",
        Section::Backoff => "keys of backoff",
        Section::Queue => "keys of a queue",
        Section::Defaults | Section::Job => "keys of a job",
    };
    let of_jobs = foreign_words("keys of a job")?;
    let look_up = |rows: &'static Meanings| rows.get(&of_this_type).or_else(|| rows.get(&key));
    let listed = foreign_words(own).and_then(look_up).or_else(|| look_up(of_jobs));
    let is_variable = || {
        entry.key.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            && matches!(entry.value.data(), DeValue::String(_))
            && misspelt(&key, section.keys()).is_none()
    };
    listed.or_else(|| of_jobs.get("VARIABLE").filter(|_| is_variable())).map(|ours| Meant::read(ours))
}

impl Meant {
    fn read(ours: &'static str) -> Self {
        match *ours.split(' ').collect::<Vec<_>>() {
            ["key", key] => Self::Key(key),
            ["span", key, unit] => Self::Span(key, unit),
            ["retries"] => Self::Retries,
            ["pace"] => Self::Pace,
            ["user"] => Self::User,
            _ => Self::Words(ours),
        }
    }

    /// The key of this program, if it is the same under another name.
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Self::Key(key) => Some(key),
            _ => None,
        }
    }

    /// What to write, if that is more than another name.
    pub(super) fn words(self, entry: &Entry<'_>) -> Option<String> {
        Some(match self {
            Self::Key(_) => return None,
            Self::Words(words) => with_commands(words),
            Self::Span(ours, unit) => match span(entry.value, unit) {
                Some(span) => format!("write {ours} = \"{span}\""),
                None => format!("write {ours} = \"30s\", or another duration"),
            },
            Self::Retries => {
                let max = i64::from(RetryPolicy::MAX_ATTEMPTS);
                let retries = entry.value.as_integer().filter(|retries| (0..max).contains(retries));
                let attempts = retries.map_or("N".to_owned(), |retries| (retries + 1).to_string());
                format!("write `max_attempts = {attempts}`: it counts every attempt, the first included")
            }
            Self::Pace => match span(entry.value, "s") {
                Some(span) => format!("write schedule = \"every {span}\""),
                None => "write schedule = \"every 15m\", or another duration".to_owned(),
            },
            Self::User => {
                let user = entry.value.data().as_str().filter(|name| check_name(name).is_ok());
                let user = user.unwrap_or("NAME");
                format!(
                    "root's worker runs it as another user by a `launcher`: launcher = [\"runuser\", \"-u\", \"{user}\", \"--\"]"
                )
            }
        })
    }
}

/// The duration that this value means, if a bare number counts this unit.
fn span(value: Value<'_>, unit: &str) -> Option<Millis> {
    let text = match value.data() {
        DeValue::String(text) => text.to_string(),
        _ => format!("{}{unit}", value.as_integer()?),
    };
    Millis::parse(&text).or_else(|_| Millis::parse(&format!("{text}{unit}"))).ok().filter(|span| span.0 > 0)
}
