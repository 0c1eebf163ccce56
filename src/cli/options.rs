//! The options of one job: flags of `enqueue`, and keys of a line of its `--batch`.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Number;

use super::error::CliError;
use super::values;
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, JobSpec, PolicyLayer};
use crate::store::OnConflict;
use crate::text::{At, Millis, Timestamp};

/// Options of one job. A flag and the key of the same name have the same meaning and the same value parser.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct JobOptions {
    /// The name of an ad hoc job [default: from its command]
    #[arg(long, value_name = "NAME", value_parser = values::name)]
    #[serde(deserialize_with = "name")]
    pub name: Option<String>,
    /// An ad hoc job: a line for /bin/sh
    #[arg(short = 'c', value_name = "LINE", conflicts_with_all = ["names", "batch"])]
    #[arg(value_parser = OsStringValueParser::new().map(|line| Command::Shell(Bytes::from(line.as_os_str()))))]
    #[serde(deserialize_with = "command")]
    pub command: Option<Command>,
    /// With a name: appended to its command. Without: the command to run
    #[arg(last = true, value_name = "ARG")]
    #[arg(value_parser = OsStringValueParser::new().map(|arg| Bytes::from(arg.as_os_str())))]
    #[serde(deserialize_with = "args")]
    pub args: Vec<Bytes>,
    /// The queue it waits in
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    #[serde(deserialize_with = "name")]
    pub queue: Option<String>,
    /// Higher first, -1000 to 1000
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    #[serde(deserialize_with = "priority")]
    pub priority: Option<i32>,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    #[serde(rename = "in", deserialize_with = "duration")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "Due at this time: RFC 3339, 'YYYY-MM-DD HH:MM[:SS]' or HH:MM (local, the next)")]
    #[serde(deserialize_with = "at")]
    pub at: Option<At>,
    /// The total number of runs, the first included
    #[arg(long, value_name = "N", value_parser = values::max_attempts)]
    #[serde(deserialize_with = "max_attempts")]
    pub max_attempts: Option<u32>,
    /// false: exactly one run
    #[arg(long, value_name = "BOOL")]
    pub retryable: Option<bool>,
    /// The delays between runs
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::backoff)]
    #[serde(deserialize_with = "backoff")]
    pub backoff: Option<Backoff>,
    /// How far delays may vary: true, false, a fraction 0 to 1, or a duration
    #[arg(long, value_name = "J", allow_hyphen_values = true, value_parser = values::jitter)]
    #[serde(deserialize_with = "jitter")]
    pub jitter: Option<Jitter>,
    /// Retry only these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    /// Never retry these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub never_retry_for: Option<Vec<CodePattern>>,
    /// The longest that one attempt may take
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    #[serde(deserialize_with = "above_zero")]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    #[serde(deserialize_with = "duration")]
    pub grace_period: Option<Millis>,
    /// Give up this long after the due time
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    #[serde(deserialize_with = "above_zero")]
    pub expires_in: Option<Millis>,
    /// A variable for its environment; repeatable
    #[arg(long, value_name = "K=V", value_parser = OsStringValueParser::new().try_map(values::variable))]
    #[serde(deserialize_with = "environment")]
    pub env: Vec<(Bytes, Bytes)>,
    /// The directory it runs in
    #[arg(long, value_name = "DIR")]
    #[serde(deserialize_with = "cwd")]
    pub cwd: Option<PathBuf>,
    /// At most one unfinished job may hold this key
    #[arg(long, value_name = "K", value_parser = values::key)]
    #[serde(deserialize_with = "key")]
    pub unique_key: Option<String>,
    /// What to do where the unique key is held
    #[arg(long, value_name = "skip|replace|error", value_parser = values::on_conflict)]
    #[serde(deserialize_with = "on_conflict")]
    pub on_conflict: Option<OnConflict>,
    /// Never enqueue twice with this key, also after the first job has finished
    #[arg(long, value_name = "K", value_parser = values::key)]
    #[serde(deserialize_with = "key")]
    pub idempotency_key: Option<String>,
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

    /// When the job is due, if these options say so.
    pub fn run_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.delay.map(|delay| now.plus(delay)).or(self.at.map(|at| at.resolve(now)))
    }
}

/// Reads a JSON value through the parser that its flag has. Null is as if the key were absent.
fn parsed<'de, D: Deserializer<'de>, Json: Deserialize<'de> + Display, T>(
    json: D,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    let value = Option::<Json>::deserialize(json)?;
    value.map(|value| parse(&value.to_string()).map_err(D::Error::custom)).transpose()
}

/// A string that the kernel can be given.
fn text<E: Error>(text: String) -> Result<String, E> {
    if text.contains('\0') { Err(E::custom("it holds a NUL byte")) } else { Ok(text) }
}

fn bytes<E: Error>(texts: Vec<String>) -> Result<Vec<Bytes>, E> {
    texts.into_iter().map(|each| Ok(Bytes(text::<E>(each)?.into_bytes()))).collect()
}

fn name<'de, D: Deserializer<'de>>(json: D) -> Result<Option<String>, D::Error> {
    parsed::<D, String, _>(json, values::name)
}

fn key<'de, D: Deserializer<'de>>(json: D) -> Result<Option<String>, D::Error> {
    parsed::<D, String, _>(json, values::key)
}

fn duration<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Millis>, D::Error> {
    parsed::<D, String, _>(json, Millis::parse)
}

fn above_zero<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Millis>, D::Error> {
    parsed::<D, String, _>(json, values::above_zero)
}

fn at<'de, D: Deserializer<'de>>(json: D) -> Result<Option<At>, D::Error> {
    parsed::<D, String, _>(json, At::parse)
}

fn on_conflict<'de, D: Deserializer<'de>>(json: D) -> Result<Option<OnConflict>, D::Error> {
    parsed::<D, String, _>(json, values::on_conflict)
}

fn cwd<'de, D: Deserializer<'de>>(json: D) -> Result<Option<PathBuf>, D::Error> {
    Option::<String>::deserialize(json)?.map(|path| text(path).map(PathBuf::from)).transpose()
}

fn priority<'de, D: Deserializer<'de>>(json: D) -> Result<Option<i32>, D::Error> {
    parsed::<D, Number, _>(json, values::priority)
}

fn max_attempts<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u32>, D::Error> {
    parsed::<D, Number, _>(json, values::max_attempts)
}

fn jitter<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Jitter>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected true, false, a fraction or a duration")]
    enum Json {
        Switch(bool),
        Fraction(Number),
        Duration(String),
    }
    let parse = |text: String| values::jitter(&text).map_err(D::Error::custom);
    let value = Option::<Json>::deserialize(json)?;
    value
        .map(|value| match value {
            Json::Switch(on) => parse(on.to_string()),
            Json::Fraction(fraction) => parse(fraction.to_string()),
            Json::Duration(text) => parse(text),
        })
        .transpose()
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
enum OneOrMany {
    Many(Vec<String>),
    One(String),
}

fn backoff<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Backoff>, D::Error> {
    let parsed = Option::<OneOrMany>::deserialize(json)?.map(|value| match value {
        OneOrMany::One(text) => values::backoff(&text),
        OneOrMany::Many(delays) => values::delays(delays.iter().map(String::as_str)),
    });
    parsed.transpose().map_err(D::Error::custom)
}

fn command<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Command>, D::Error> {
    let command = Option::<OneOrMany>::deserialize(json)?.map(|value| match value {
        OneOrMany::One(line) => Ok(Command::Shell(Bytes(text(line)?.into_bytes()))),
        OneOrMany::Many(words) => Ok(Command::Argv(bytes(words)?)),
    });
    command.transpose()
}

fn args<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<Bytes>, D::Error> {
    bytes(Option::deserialize(json)?.unwrap_or_default())
}

fn environment<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<(Bytes, Bytes)>, D::Error> {
    let entries = Option::<BTreeMap<String, String>>::deserialize(json)?.unwrap_or_default();
    entries
        .into_iter()
        .map(|(key, value)| {
            let name = values::variable_name(key.into_bytes()).map_err(D::Error::custom)?;
            Ok((name, Bytes(text::<D::Error>(value)?.into_bytes())))
        })
        .collect()
}
