//! Options of `enqueue`, laid over a definition.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};

use super::super::args::JobOptions;
use super::super::error::CliError;
use super::super::locate;
use super::super::values::At;
use super::too_long;
use crate::jobfile::Declared;
use crate::model::{Bytes, Jitter, JobSpec, OWNED_VARIABLES, PolicyLayer, RetryPolicy};
use crate::store::{NewJob, OnConflict};
use crate::text::{Millis, Timestamp};

/// When a job is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    In(Millis),
    At(At),
}

impl Due {
    /// The time that is meant now.
    pub(super) fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::In(delay) => now.plus(delay),
            Self::At(at) => at.resolve(now),
        }
    }
}

/// What one command line, or one line of a batch, says about a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    pub queue: Option<String>,
    pub priority: Option<i32>,
    pub due: Option<Due>,
    pub policy: PolicyLayer,
    /// What the command line says, where this is a line of a batch.
    pub usual_policy: PolicyLayer,
    pub jitter: Option<Jitter>,
    pub timeout: Option<Millis>,
    pub grace_period: Option<Millis>,
    pub expires_in: Option<Millis>,
    pub env: BTreeMap<Bytes, Bytes>,
    pub cwd: Option<PathBuf>,
    pub unique_key: Option<String>,
    pub on_conflict: Option<OnConflict>,
    pub idempotency_key: Option<String>,
}

impl Overrides {
    /// From options of the command line. The error says which of them do not go together.
    pub(super) fn from_options(options: &JobOptions) -> Result<Self, String> {
        let mut env = BTreeMap::new();
        for entry in &options.env {
            let (key, value) = split_env(entry)?;
            env.insert(key, value);
        }
        let options = options.clone();
        let overrides = Self {
            queue: options.queue,
            priority: options.priority,
            due: options.delay.map(Due::In).or(options.at.map(Due::At)),
            policy: PolicyLayer {
                retryable: options.retryable,
                max_attempts: options.max_attempts,
                backoff: options.backoff,
                auto_retry_for: options.auto_retry_for,
                never_retry_for: options.never_retry_for,
            },
            usual_policy: PolicyLayer::default(),
            jitter: options.jitter,
            timeout: options.timeout,
            grace_period: options.grace_period,
            expires_in: options.expires_in,
            env,
            cwd: options.cwd,
            unique_key: options.unique_key,
            on_conflict: options.on_conflict,
            idempotency_key: options.idempotency_key,
        };
        overrides.check()?;
        Ok(overrides)
    }

    /// Contradictions between options of one level are errors, as they are in the job file.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(contradiction) = self.policy.contradictions().first() {
            return Err(contradiction.to_string());
        }
        Ok(())
    }

    /// Keys belong to one job.
    pub(super) fn check_single(&self, single: bool) -> Result<()> {
        for (option, given) in [
            ("--unique-key", self.unique_key.is_some()),
            ("--idempotency-key", self.idempotency_key.is_some()),
        ] {
            if given && !single {
                bail!(CliError::usage(format!("{option} is for a single job")));
            }
        }
        Ok(())
    }

    /// These over `farther` ones: the options of a command line are the defaults of every line of its batch.
    pub(super) fn over(mut self, farther: &Self) -> Self {
        let mut env = farther.env.clone();
        env.append(&mut self.env);
        let farther = farther.clone();
        Self {
            queue: self.queue.or(farther.queue),
            priority: self.priority.or(farther.priority),
            due: self.due.or(farther.due),
            // Two levels, not one: a nearer list of waits fixes the runs, whatever the farther level says of them.
            policy: self.policy,
            usual_policy: farther.policy,
            jitter: self.jitter.or(farther.jitter),
            timeout: self.timeout.or(farther.timeout),
            grace_period: self.grace_period.or(farther.grace_period),
            expires_in: self.expires_in.or(farther.expires_in),
            env,
            cwd: self.cwd.or(farther.cwd),
            unique_key: self.unique_key.or(farther.unique_key),
            on_conflict: self.on_conflict.or(farther.on_conflict),
            idempotency_key: self.idempotency_key.or(farther.idempotency_key),
        }
    }

    /// What is said about retries, the nearest first.
    pub(super) fn policies(&self) -> [&PolicyLayer; 2] {
        [&self.policy, &self.usual_policy]
    }

    /// A declared job with these laid over it.
    pub(super) fn declared(&self, job: &Declared, args: Vec<Bytes>, now: Timestamp) -> Result<NewJob> {
        let mut spec = job.spec.clone();
        let [near, far] = &job.layers;
        spec.policy = RetryPolicy::resolve(&self.policies(), &[near, far], &RetryPolicy::default());
        self.finish(spec, args, now)
    }

    /// A definition whose policy is settled, with the rest laid over it.
    pub(super) fn finish(&self, mut spec: JobSpec, args: Vec<Bytes>, now: Timestamp) -> Result<NewJob> {
        if let Some(jitter) = self.jitter {
            spec.policy.backoff.jitter = jitter;
        }
        if let Some(queue) = &self.queue {
            spec.queue.clone_from(queue);
        }
        spec.priority = self.priority.unwrap_or(spec.priority);
        spec.timeout = self.timeout.or(spec.timeout);
        spec.grace_period = self.grace_period.unwrap_or(spec.grace_period);
        spec.expires_in = self.expires_in.or(spec.expires_in);
        spec.env.extend(self.env.clone());
        if let Some(cwd) = &self.cwd {
            spec.cwd = Bytes::from(absolute(cwd)?.as_os_str());
        }
        if self.unique_key.is_some() {
            spec.unique_key.clone_from(&self.unique_key);
        }
        too_long::check(&spec, &args)?;
        Ok(NewJob {
            spec: Arc::new(spec),
            args,
            stdin: None,
            run_at: self.due.map(|due| due.resolve(now)),
            idempotency_key: self.idempotency_key.clone(),
            on_conflict: self.on_conflict.unwrap_or_default(),
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(locate::current_dir()?.join(path))
}

fn split_env(entry: &OsStr) -> Result<(Bytes, Bytes), String> {
    let bytes = entry.as_bytes();
    let shown = entry.to_string_lossy();
    let at = bytes
        .iter()
        .position(|byte| *byte == b'=')
        .ok_or_else(|| format!("--env {shown} has no =; write --env {shown}=VALUE"))?;
    let (key, value) = (Bytes(bytes[..at].to_vec()), Bytes(bytes[at + 1..].to_vec()));
    check_variable(&key)?;
    Ok((key, value))
}

/// Can a job be given a variable of this name?
pub(super) fn check_variable(name: &Bytes) -> Result<(), String> {
    let text = name.to_text();
    // The definition of a job is kept as JSON, whose keys are text.
    if std::str::from_utf8(&name.0).is_err() {
        return Err(format!("{text:?} cannot be the name of a variable: it is not UTF-8"));
    }
    if text.is_empty() || text.contains(['=', '\0']) {
        return Err(format!("{text:?} cannot be the name of a variable"));
    }
    if OWNED_VARIABLES.contains(&text.as_str()) {
        return Err(format!("the variable {text} is set by runner itself"));
    }
    Ok(())
}
