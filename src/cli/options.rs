//! The options of one job: flags of `enqueue`, and keys of a line of its `--batch`.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::error::CliError;
use super::values;
use crate::jobfile::near_names;
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, JobSpec, PolicyLayer};
use crate::store::OnConflict;
use crate::text::{At, Millis, Timestamp};

/// Options of one job. A flag and the key of the same name have the same meaning and the same value parser.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Options of the job (they override the job file)")]
pub struct JobOptions {
    /// The name of an ad hoc job
    #[arg(long, value_name = "NAME", value_parser = values::name, help_heading = None::<&'static str>)]
    pub name: Option<String>,
    /// An ad hoc job: a line for /bin/sh
    #[arg(short = 'c', value_name = "LINE", conflicts_with_all = ["names", "batch"], help_heading = None::<&'static str>)]
    #[arg(value_parser = OsStringValueParser::new().map(|line| Command::Shell(Bytes::from(line.as_os_str()))))]
    pub command: Option<Command>,
    /// Appended to the command of NAME; without a name the command
    #[arg(last = true, value_name = "ARG", help_heading = None::<&'static str>)]
    #[arg(value_parser = OsStringValueParser::new().map(|arg| Bytes::from(arg.as_os_str())))]
    pub args: Vec<Bytes>,
    /// The queue it waits in
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub queue: Option<String>,
    /// Higher first, -1000 to 1000
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    pub priority: Option<i32>,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")]
    pub at: Option<At>,
    /// Number of attempts, the first included
    #[arg(long, value_name = "N", value_parser = values::max_attempts)]
    pub max_attempts: Option<u32>,
    /// true, or false for exactly one attempt
    #[arg(long, value_name = "BOOL", hide_possible_values = true)]
    pub retryable: Option<bool>,
    /// The delays between runs
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::backoff)]
    pub backoff: Option<Backoff>,
    /// Variation of delays: BOOL, a fraction 0 to 1, or DUR
    #[arg(long, value_name = "J", allow_hyphen_values = true, value_parser = values::jitter)]
    pub jitter: Option<Jitter>,
    /// Retry only these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    /// Never retry these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub never_retry_for: Option<Vec<CodePattern>>,
    /// The limit of each attempt
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub grace_period: Option<Millis>,
    /// Give up this long after the due time
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    pub expires_in: Option<Millis>,
    /// A variable of its environment; repeatable
    #[arg(long, value_name = "K=V", value_parser = OsStringValueParser::new().try_map(values::variable))]
    pub env: Vec<(Bytes, Bytes)>,
    /// The directory it runs in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// At most one unfinished job may hold the key
    #[arg(long, value_name = "K", value_parser = values::nonempty)]
    pub unique_key: Option<String>,
    /// If it is held: skip, replace or error
    #[arg(long, value_name = "ACTION", value_parser = values::on_conflict)]
    pub on_conflict: Option<OnConflict>,
    /// Never enqueue twice with this key
    #[arg(long, value_name = "K", value_parser = values::nonempty)]
    pub idempotency_key: Option<String>,
    /// Start it only when these jobs have succeeded
    #[arg(long, value_name = "ID,ID", value_delimiter = ',', value_parser = values::id)]
    pub after: Vec<i64>,
    /// Without the jobs that the file says it is after
    #[arg(long)]
    pub no_deps: bool,
}

impl JobOptions {
    pub fn policy(&self) -> PolicyLayer {
        PolicyLayer {
            retryable: self.retryable,
            max_attempts: self.max_attempts,
            backoff: self.backoff.clone(),
            auto_retry_for: self.auto_retry_for.clone(),
            never_retry_for: self.never_retry_for.clone(),
        }
    }

    /// Contradictions between options of one level are errors, as they are in the job file.
    pub fn check(&self) -> Result<()> {
        if let Some(contradiction) = self.policy().contradictions().first() {
            return Err(CliError::usage(contradiction.to_string()).into());
        }
        if self.delay.is_some() && self.at.is_some() {
            return Err(CliError::usage("\"in\" and \"at\" do not go together").into());
        }
        Ok(())
    }

    /// Lays these options over a definition whose policy is resolved.
    pub fn apply(&self, spec: &mut JobSpec) -> Result<()> {
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
        spec.env.extend(self.env.iter().cloned());
        if let Some(cwd) = &self.cwd {
            let here = env::current_dir().context("could not find the current directory")?;
            spec.cwd = Bytes::from(here.join(cwd).as_os_str());
        }
        if self.unique_key.is_some() {
            spec.unique_key.clone_from(&self.unique_key);
        }
        Ok(())
    }

    /// Sets the option of a key of a batch line: a value has the parser of its flag, and null is as if the key were absent.
    /// False if there is no such key; the error says what is allowed.
    pub fn set(&mut self, key: &str, value: Value) -> Result<bool, String> {
        match key {
            "name" => self.name = text(value, values::name)?,
            "command" => self.command = command(value)?,
            "args" => self.args = read(value, bytes)?.unwrap_or_default(),
            "queue" => self.queue = text(value, values::name)?,
            "priority" => self.priority = number(value, values::priority)?,
            "in" => self.delay = text(value, Millis::parse)?,
            "at" => self.at = text(value, At::parse)?,
            "max_attempts" => self.max_attempts = number(value, values::max_attempts)?,
            "retryable" => self.retryable = read(value, Ok)?,
            "backoff" => self.backoff = backoff(value)?,
            "jitter" => self.jitter = jitter(value)?,
            "auto_retry_for" => self.auto_retry_for = read(value, Ok)?,
            "never_retry_for" => self.never_retry_for = read(value, Ok)?,
            "timeout" => self.timeout = text(value, values::above_zero)?,
            "grace_period" => self.grace_period = text(value, Millis::parse)?,
            "expires_in" => self.expires_in = text(value, values::above_zero)?,
            "env" => self.env = read(value, environment)?.unwrap_or_default(),
            "cwd" => self.cwd = read(value, without_nul)?.map(PathBuf::from),
            "unique_key" => self.unique_key = text(value, values::nonempty)?,
            "on_conflict" => self.on_conflict = text(value, values::on_conflict)?,
            "idempotency_key" => self.idempotency_key = text(value, values::nonempty)?,
            "after" => self.after = read(value, Ok)?.unwrap_or_default(),
            "no_deps" => self.no_deps = read(value, Ok)?.unwrap_or_default(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The due time, if these options give one.
    pub fn run_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.delay.map(|delay| now.plus(delay)).or(self.at.map(|at| at.resolve(now)))
    }
}

/// The error for an unknown key.
pub fn unknown_key(key: &str) -> String {
    let known = JobOptions::augment_args(clap::Command::new("line"));
    let known =
        known.get_arguments().map(|arg| arg.get_long().unwrap_or(arg.get_id().as_str()).replace('-', "_"));
    let known: Vec<String> = known.collect();
    match near_names(key, known.iter().map(String::as_str)).first() {
        Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
        None => format!("unknown key {key:?}; keys are {}", known.join(", ")),
    }
}

/// Reads a JSON value of the type that `parse` takes.
fn read<Json: DeserializeOwned, T>(
    value: Value,
    parse: impl FnOnce(Json) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let json: Option<Json> = serde_json::from_value(value).map_err(|error| error.to_string())?;
    json.map(parse).transpose()
}

fn text<T>(value: Value, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    read(value, |text: String| parse(&text))
}

fn number<T>(value: Value, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    read(value, |number: Number| parse(&number.to_string()))
}

/// A string that the kernel can be given.
fn without_nul(text: String) -> Result<String, String> {
    if text.contains('\0') { Err("it holds a NUL byte".to_owned()) } else { Ok(text) }
}

fn bytes(texts: Vec<String>) -> Result<Vec<Bytes>, String> {
    texts.into_iter().map(|text| Ok(Bytes(without_nul(text)?.into_bytes()))).collect()
}

fn environment(entries: BTreeMap<String, String>) -> Result<Vec<(Bytes, Bytes)>, String> {
    let entry = |(name, value): (String, String)| {
        Ok((values::variable_name(name.into_bytes())?, Bytes(without_nul(value)?.into_bytes())))
    };
    entries.into_iter().map(entry).collect()
}

fn command(value: Value) -> Result<Option<Command>, String> {
    match value {
        Value::Array(_) => read(value, |words| Ok(Command::Argv(bytes(words)?))),
        _ => read(value, |line| Ok(Command::Shell(Bytes(without_nul(line)?.into_bytes())))),
    }
}

fn backoff(value: Value) -> Result<Option<Backoff>, String> {
    match value {
        Value::Array(_) => {
            read(value, |delays: Vec<String>| values::delays(delays.iter().map(String::as_str)))
        }
        _ => text(value, values::backoff),
    }
}

fn jitter(value: Value) -> Result<Option<Jitter>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => values::jitter(&text).map(Some),
        Value::Bool(_) | Value::Number(_) => values::jitter(&value.to_string()).map(Some),
        _ => Err("expected true, false, a fraction or a duration".to_owned()),
    }
}
