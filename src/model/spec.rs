//! A job definition, resolved and ready to be frozen into a job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Bytes, ExitRules, RetryPolicy};
use crate::text::{Millis, Timestamp};

/// The variables that runner itself sets for every attempt: a definition cannot.
pub const OWNED_VARIABLES: [&str; 10] = [
    "RUNNER_JOB_ID",
    "RUNNER_JOB_NAME",
    "RUNNER_ATTEMPT",
    "RUNNER_MAX_ATTEMPTS",
    "RUNNER_ATTEMPTS_LEFT",
    "RUNNER_LAST_ERROR_CODE",
    "RUNNER_QUEUE",
    "RUNNER_WORKER_ID",
    "RUNNER_DB",
    "RUNNER_REPORT",
];

/// What is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for `/bin/sh -c`; arguments follow as `$1`, `$2` ….
    Shell(Bytes),
    /// A program and its arguments, executed as they are; never empty.
    Argv(Vec<Bytes>),
}

/// A job definition with everything resolved: options over the job over `[defaults]` over what is built in.
///
/// It is stored as it is with the job, so that a later edit of the file changes nothing that is queued. The
/// parts that a job keeps in its own row are left out of what is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The name, as in `[jobs.NAME]`.
    pub name: String,
    /// What is executed.
    pub command: Command,
    /// The directory it runs in, absolute.
    pub cwd: Bytes,
    /// Added to the worker's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<Bytes, Bytes>,
    /// The queue it waits in.
    #[serde(skip)]
    pub queue: String,
    /// Higher first, -1000 to 1000.
    #[serde(skip)]
    pub priority: i32,
    /// For each attempt; above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL.
    pub grace_period: Millis,
    /// Not started, and not retried, this long after the first due time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Millis>,
    /// Whether, how often and when it is retried.
    pub policy: RetryPolicy,
    /// How its endings are named.
    pub exit: ExitRules,
    /// Kept of each stream of each attempt, in bytes.
    pub output_limit: u64,
    /// At most one unfinished job may hold it.
    #[serde(skip)]
    pub unique_key: Option<String>,
}

impl JobSpec {
    /// The queue where none is named.
    pub const DEFAULT_QUEUE: &'static str = "default";
    /// `grace_period` where none is given.
    pub const DEFAULT_GRACE: Millis = Millis::from_secs(10);
    /// `output_limit` where none is given: 64 KiB.
    pub const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 10;
    /// The largest `output_limit`: 16 MiB.
    pub const MOST_OUTPUT: u64 = 16 << 20;
    /// Priorities lie from minus this to this.
    pub const MOST_PRIORITY: i32 = 1_000;

    /// A definition with everything at its default.
    pub fn new(name: &str, command: Command, cwd: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            command,
            cwd,
            env: BTreeMap::new(),
            queue: Self::DEFAULT_QUEUE.to_owned(),
            priority: 0,
            timeout: None,
            grace_period: Self::DEFAULT_GRACE,
            expires_in: None,
            policy: RetryPolicy::default(),
            exit: ExitRules::default(),
            output_limit: Self::DEFAULT_OUTPUT_LIMIT,
            unique_key: None,
        }
    }

    /// The moment from which a job of this definition is not retried, given its `expires_at`.
    ///
    /// A job that runner interrupted after its expiry runs again, for it has started, and loses its expiry by that: for
    /// its retries the moment is past.
    pub fn no_retry_from(&self, expires_at: Option<Timestamp>) -> Option<Timestamp> {
        expires_at.or(self.expires_in.map(|_| Timestamp(i64::MIN)))
    }
}

/// Checks the name of a job or queue: `[A-Za-z0-9._-]{1,128}`, not starting with `-`. The error says what is allowed.
pub fn check_name(name: &str) -> Result<(), String> {
    let well_formed = (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if well_formed {
        return Ok(());
    }
    Err(format!(
        "{name:?} is not a name: names are 1 to 128 letters, digits, dots, underscores and dashes, and do not start with a dash"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "nightly-backup", "v1.2_x", &"n".repeat(128)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a b", "é", "a/b", &"n".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
