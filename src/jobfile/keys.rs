//! Which keys each section of a job file has.

use crate::model::{KEYS, KeyPlace, Limits};

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

/// The keys of `backoff`, of any strategy.
const BACKOFF_KEYS: [&str; 8] =
    ["strategy", "initial", "multiplier", "max", "delay", "delays", "repeat_last", "jitter"];

impl Section {
    pub(super) const ALL: [Self; 5] = [Self::File, Self::Defaults, Self::Job, Self::Backoff, Self::Queue];

    /// The keys that may stand here.
    pub(super) fn keys(self) -> Vec<&'static str> {
        match self {
            Self::File => FILE_KEYS.to_vec(),
            Self::Defaults => {
                KEYS.iter().filter(|key| key.place == KeyPlace::Shared).map(|key| key.name).collect()
            }
            Self::Job => KEYS.iter().map(|key| key.name).collect(),
            Self::Backoff => BACKOFF_KEYS.to_vec(),
            Self::Queue => Limits::default().named().map(|(name, _)| name).to_vec(),
        }
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.keys().contains(&key)
    }

    pub(super) fn place(self) -> &'static str {
        match self {
            Self::File => "at the top of the file",
            Self::Defaults => "in [defaults]",
            Self::Job => "in a job",
            Self::Backoff => "in `backoff`",
            Self::Queue => "in a queue",
        }
    }
}
