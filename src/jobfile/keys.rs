//! Which keys there are, and what to say of one that there is not.

use super::foreign;
use super::mistake::Found;
use super::near::nearest;
use super::value::Entry;

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// The file itself.
    File,
    /// `[defaults]`.
    Defaults,
    /// `[jobs.NAME]`.
    Job,
    /// `[jobs.NAME.backoff]`, also under `[defaults]`.
    Backoff,
}

/// The keys of the file itself.
const FILE: [&str; 4] = ["default_error_code", "exit_codes", "defaults", "jobs"];

/// The keys that a job shares with `[defaults]`.
const SHARED: [&str; 14] = [
    "cwd",
    "env",
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
];

/// The keys that only a job has.
const JOB_ONLY: [&str; 6] =
    ["command", "description", "unique_key", "reports", "exit_codes", "default_error_code"];

/// The keys of any strategy of `backoff`.
const BACKOFF: [&str; 8] =
    ["strategy", "initial", "multiplier", "max", "delay", "delays", "repeat_last", "jitter"];

impl Place {
    /// The keys that may stand here.
    pub(super) fn keys(self) -> Vec<&'static str> {
        match self {
            Self::File => FILE.to_vec(),
            Self::Defaults => SHARED.to_vec(),
            Self::Job => [&JOB_ONLY[..], &SHARED].concat(),
            Self::Backoff => BACKOFF.to_vec(),
        }
    }

    /// The kind of the table at `path` from the top of the file, if it is one of these.
    pub(super) fn at(path: &[String]) -> Option<Self> {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names[..] {
            [] => Some(Self::File),
            ["defaults"] => Some(Self::Defaults),
            ["jobs", _] => Some(Self::Job),
            ["defaults", "backoff"] | ["jobs", _, "backoff"] => Some(Self::Backoff),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::File => "at the top of the file",
            Self::Defaults => "in [defaults]",
            Self::Job => "in a job",
            Self::Backoff => "in `backoff`",
        }
    }

    /// What to do with a key that is known, but not here.
    fn elsewhere(self, key: &str) -> Option<String> {
        match self {
            Self::File if SHARED.contains(&key) => {
                Some(format!("`{key}` belongs to a job ([jobs.NAME]), or to [defaults] for all of them"))
            }
            Self::File if JOB_ONLY.contains(&key) => Some(format!("`{key}` belongs to a job: [jobs.NAME]")),
            Self::Defaults if FILE.contains(&key) => {
                Some(format!("for every job, `{key}` belongs to the top of the file, before any [table]"))
            }
            Self::Defaults if JOB_ONLY.contains(&key) => {
                Some(format!("`{key}` belongs to each job by itself: [jobs.NAME]"))
            }
            Self::Job | Self::Defaults if BACKOFF.contains(&key) => {
                Some(format!("`{key}` belongs to the table of `backoff`"))
            }
            Self::Backoff if SHARED.contains(&key) => {
                Some(format!("`{key}` belongs to the job, beside `backoff`"))
            }
            _ => None,
        }
    }
}

/// Records that there is no such key here. Gives the key that is suggested instead, if one is.
pub(super) fn unknown(place: Place, entry: &Entry<'_>, found: &mut Found) -> Option<&'static str> {
    let (key, allowed) = (entry.key, place.keys());
    let mistake = found.add(&entry.at, format!("there is no key `{key}` {}", place.name()));
    let renamed = foreign::meant(place, key);
    let mut suggested = None;
    if let Some(hint) = foreign::hint(place, entry) {
        mistake.hint(hint);
    } else if let Some(hint) = place.elsewhere(renamed.unwrap_or(key)) {
        mistake.hint(hint);
    } else if let Some(renamed) = renamed {
        mistake.hint(format!("write `{renamed}`"));
        suggested = Some(renamed);
    } else if let Some(near) = nearest(key, allowed.iter().copied()) {
        mistake.hint(format!("did you mean `{near}`?"));
        suggested = Some(near);
    }
    mistake.allowed(allowed.join(", "));
    suggested
}
