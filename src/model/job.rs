//! A job definition, resolved and ready to be frozen into a job.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use super::{Bytes, ExitRules, RetryPolicy};
use crate::text::Millis;

/// The variables that runner itself sets for every attempt.
const OWNED_VARIABLES: [&str; 11] = [
    "RUNNER_JOB_ID",
    "RUNNER_JOB_NAME",
    "RUNNER_ATTEMPT",
    "RUNNER_MAX_ATTEMPTS",
    "RUNNER_ATTEMPTS_LEFT",
    "RUNNER_LAST_ERROR_CODE",
    "RUNNER_QUEUE",
    "RUNNER_SCHEDULED_FOR",
    "RUNNER_WORKER_ID",
    "RUNNER_DB",
    "RUNNER_REPORT",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for `/bin/sh -c`; arguments follow as `$1`, `$2` ….
    Shell(Bytes),
    /// A program and its arguments, executed as they are; never empty.
    Argv(Vec<Bytes>),
}

/// A job definition with everything resolved: options over the job over `[defaults]` over built-in values.
///
/// Each job stores its definition, so a later edit of the file changes nothing that is queued. The skipped fields are
/// columns of the job's own row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    pub name: String,
    /// No job file declares it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ad_hoc: bool,
    pub command: Command,
    /// Put in front of the command: `nice -n 10`, `srun -n1`. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launcher: Vec<Bytes>,
    /// Absolute.
    pub cwd: Bytes,
    /// Laid over the worker's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<Bytes, Bytes>,
    #[serde(skip)]
    pub queue: String,
    /// Higher first, -1000 to 1000.
    #[serde(skip)]
    pub priority: i32,
    /// The limit of each attempt; above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL.
    pub grace_period: Millis,
    /// How long after its first due time the job is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Millis>,
    pub policy: RetryPolicy,
    pub exit: ExitRules,
    /// The bytes kept of each stream of each attempt.
    pub output_limit: u64,
    /// At most one unfinished job may hold this key.
    #[serde(skip)]
    pub unique_key: Option<String>,
    /// The alert: a job of this definition is enqueued when the job dies. It has no alert of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_dead: Option<Box<FrozenJob>>,
}

/// A definition that is stored on its own, with the values that a job keeps in columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenJob {
    spec: JobSpec,
    queue: String,
    priority: i32,
    unique_key: Option<String>,
}

impl FrozenJob {
    pub fn freeze(mut spec: JobSpec) -> Self {
        let (queue, priority) = (mem::take(&mut spec.queue), mem::take(&mut spec.priority));
        let unique_key = spec.unique_key.take();
        Self { spec, queue, priority, unique_key }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The definition as it was frozen.
    pub fn thaw(self) -> JobSpec {
        let Self { spec, queue, priority, unique_key } = self;
        JobSpec { queue, priority, unique_key, ..spec }
    }
}

/// A job with what it is after, ready to be enqueued together.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The jobs that the last one is after, and those that these are after: dependencies first.
    pub before: Vec<Link>,
    pub last: Link,
}

/// A job of a [`Chain`].
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub spec: JobSpec,
    /// The jobs that this one is after: indexes of [`Chain::before`].
    pub after: Vec<usize>,
}

impl JobSpec {
    pub const DEFAULT_QUEUE: &'static str = "default";
    pub const DEFAULT_GRACE: Millis = Millis::from_secs(10);
    pub const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 10; // 64 KiB
    pub const MAX_OUTPUT_LIMIT: u64 = 16 << 20; // 16 MiB
    /// Priorities lie from minus this to this.
    pub const MAX_PRIORITY: i32 = 1_000;

    /// A definition with everything at its default.
    pub fn new(name: &str, command: Command, cwd: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            ad_hoc: false,
            command,
            launcher: Vec::new(),
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
            on_dead: None,
        }
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
        "{name:?} is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash"
    ))
}

/// Checks the name of a variable that a definition sets. The error says why it cannot be set.
pub fn check_variable(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!(
            "{name:?} cannot be the name of a variable: it is empty, or holds \"=\" or a NUL byte"
        ));
    }
    if OWNED_VARIABLES.contains(&name) {
        return Err(format!("runner itself sets {name} for every attempt; choose another name"));
    }
    Ok(())
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
