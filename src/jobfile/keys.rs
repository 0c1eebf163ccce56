//! Which keys each section of a job file has, and the hint for an unknown key.

use super::diagnostics::Mistakes;
use super::hints::{Meant, foreign};
use super::read::Entry;
use crate::text::misspelt;

/// A kind of table in a job file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Section {
    /// The top level of the file.
    File,
    Defaults,
    Job,
    Backoff,
    Queue,
}

const FILE_KEYS: [&str; 5] = ["default_error_code", "exit_codes", "defaults", "jobs", "queues"];

/// The keys that a job shares with `[defaults]`.
const SHARED_KEYS: [&str; 19] = [
    "launcher",
    "cwd",
    "inherit_env",
    "env_file",
    "env",
    "stdin",
    "queue",
    "priority",
    "timeout",
    "grace_period",
    "expires_in",
    "success_exit_codes",
    "retryable",
    "max_attempts",
    "backoff",
    "auto_retry_for",
    "never_retry_for",
    "output_limit",
    "on_dead",
];

/// The keys that only a job has.
const JOB_KEYS: [&str; 13] = [
    "command",
    "description",
    "unique_key",
    "reports",
    "exit_codes",
    "default_error_code",
    "schedule",
    "timezone",
    "missed",
    "fresh_within",
    "random_delay",
    "after",
    "after_any",
];

/// The keys of `backoff`, of any strategy.
const BACKOFF_KEYS: [&str; 8] =
    ["strategy", "initial", "multiplier", "max", "delay", "delays", "repeat_last", "jitter"];

const QUEUE_KEYS: [&str; 2] = ["max_running", "rate"];

impl Section {
    const ALL: [Self; 5] = [Self::File, Self::Defaults, Self::Job, Self::Backoff, Self::Queue];

    /// The keys that may stand here.
    pub(super) fn keys(self) -> Vec<&'static str> {
        match self {
            Self::File => FILE_KEYS.to_vec(),
            Self::Defaults => SHARED_KEYS.to_vec(),
            Self::Job => [&JOB_KEYS[..], &SHARED_KEYS].concat(),
            Self::Backoff => BACKOFF_KEYS.to_vec(),
            Self::Queue => QUEUE_KEYS.to_vec(),
        }
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.keys().contains(&key)
    }

    fn place(self) -> &'static str {
        match self {
            Self::File => "at the top of the file",
            Self::Defaults => "in [defaults]",
            Self::Job => "in a job",
            Self::Backoff => "in `backoff`",
            Self::Queue => "in a queue",
        }
    }
}

/// Records that the section has no such key. Returns the key of this section that the author probably means.
pub(super) fn unknown<'k>(section: Section, entry: &Entry<'k>, mistakes: &mut Mistakes) -> Option<&'k str> {
    let key = entry.key;
    let mistake = mistakes.add(&entry.at, format!("there is no key `{key}` {}", section.place()));
    mistake.allowed(section.keys().join(", "));
    let meant = foreign(section, entry);
    let wanted = meant.and_then(Meant::key).unwrap_or(key);
    let header = |section: Section| match section {
        Section::Job => "in [jobs.NAME]",
        Section::Queue => "in [queues.NAME]",
        other => other.place(),
    };
    let others: Vec<_> = Section::ALL.into_iter().filter(|it| it.has(wanted)).map(header).collect();
    if let Some(hint) = advice(section, entry) {
        mistake.hint(hint);
        // A table with a command is a job, so its command is not missing here.
        return is_job(entry).then_some("command");
    }
    if let Some(words) = meant.and_then(|meant| meant.words(entry)) {
        mistake.hint(words);
        return None;
    }
    if section.has(wanted) {
        mistake.hint(format!("write `{wanted}`"));
        return Some(wanted);
    }
    if !others.is_empty() {
        mistake.hint(format!("`{wanted}` belongs {}", others.join(" or ")));
        return None;
    }
    let near = misspelt(key, section.keys())?;
    mistake.hint(format!("did you mean `{near}`?"));
    Some(near)
}

/// The hint for an unknown key that cannot just be renamed.
fn advice(section: Section, entry: &Entry<'_>) -> Option<String> {
    match section {
        Section::File if entry.key == "queue" && entry.value.data().is_table() => {
            return Some("write [queues.NAME]".to_owned());
        }
        Section::File if is_job(entry) => return Some(format!("a job has a header [jobs.{}]", entry.key)),
        Section::Job if is_job(entry) => {
            return Some("a name with a dot needs quotes: [jobs.\"a.b\"]".to_owned());
        }
        _ => {}
    }
    None
}

/// Whether the author means this table as a job: it has a `command`.
fn is_job(entry: &Entry<'_>) -> bool {
    entry.value.data().as_table().is_some_and(|table| table.contains_key("command"))
}
