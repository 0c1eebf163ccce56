//! The options of one job. The flags of `enqueue` and the keys of a `--batch` line are one type, so that a new option
//! works in both places.

use std::cell::RefCell;
use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::Deserialize;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};

use super::error::CliError;
use super::typed_time::At;
use super::values::{self, JobRef, Statuses};
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, JobLayer};
use crate::store::{Due, OnConflict};
use crate::text::{Millis, Timestamp, near_names};

/// The options of one job. Each field is a flag, and a key of a batch line with the same meaning and the same values.
#[derive(Clone, Debug, Default, PartialEq, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Options of the job (they override the job file)")]
pub struct JobOptions {
    /// The name of an ad hoc job
    #[arg(long, value_name = "NAME", value_parser = values::name, help_heading = None::<&'static str>)]
    #[serde(deserialize_with = "line::name")]
    pub name: Option<String>,
    /// An ad hoc job: a line for /bin/sh
    #[arg(short = 'c', value_name = "LINE", conflicts_with = "names", help_heading = None::<&'static str>)]
    #[arg(value_parser = OsStringValueParser::new().map(|line| Command::Shell(Bytes::from(line.as_os_str()))))]
    #[serde(deserialize_with = "line::command")]
    pub command: Option<Command>,
    /// Appended to the command of NAME, "$@" in a string; without a name the command
    #[arg(last = true, value_name = "ARG", help_heading = None::<&'static str>)]
    #[arg(value_parser = OsStringValueParser::new().map(|arg| Bytes::from(arg.as_os_str())))]
    #[serde(deserialize_with = "line::args")]
    pub args: Vec<Bytes>,
    /// Tells it from other jobs of its name
    #[arg(long, value_name = "TEXT", value_parser = values::label)]
    #[serde(deserialize_with = "line::label")]
    pub label: Option<String>,
    /// The queue it waits in
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    #[serde(deserialize_with = "line::name")]
    pub queue: Option<String>,
    /// Higher first, -1000 to 1000
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    #[serde(deserialize_with = "line::priority")]
    pub priority: Option<i32>,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    #[serde(rename = "in", deserialize_with = "line::duration")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")]
    #[serde(deserialize_with = "line::at")]
    pub at: Option<At>,
    /// Number of attempts, the first included
    #[arg(long, value_name = "N", value_parser = values::max_attempts)]
    #[serde(deserialize_with = "line::max_attempts")]
    pub max_attempts: Option<u32>,
    /// true, or false for exactly one attempt
    #[arg(long, value_name = "BOOL", hide_possible_values = true)]
    pub retryable: Option<bool>,
    /// The delays between attempts
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::backoff)]
    #[serde(deserialize_with = "line::backoff")]
    pub backoff: Option<Backoff>,
    /// Variation of delays: BOOL, a fraction 0 to 1, or DUR
    #[arg(long, value_name = "J", allow_hyphen_values = true, value_parser = values::jitter)]
    #[serde(deserialize_with = "line::jitter")]
    pub jitter: Option<Jitter>,
    /// Retry only these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    /// Never retry these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub never_retry_for: Option<Vec<CodePattern>>,
    /// The exit statuses that are a success
    #[arg(long, value_name = "N,N", value_parser = values::successes)]
    #[serde(deserialize_with = "line::successes")]
    pub success_exit_codes: Option<Statuses>,
    /// Statuses of a success with a warning; '' for none
    #[arg(long, value_name = "N,N", value_parser = values::warnings)]
    #[serde(deserialize_with = "line::warnings")]
    pub warning_exit_codes: Option<Statuses>,
    /// The limit of each attempt
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    #[serde(deserialize_with = "line::above_zero")]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    #[serde(deserialize_with = "line::duration")]
    pub grace_period: Option<Millis>,
    /// Give up this long after the due time
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    #[serde(deserialize_with = "line::above_zero")]
    pub expires_in: Option<Millis>,
    /// A variable; K alone: as it is here; repeatable
    #[arg(long, value_name = "K[=V]", value_parser = OsStringValueParser::new().try_map(values::variable))]
    #[serde(deserialize_with = "line::env")]
    pub env: Vec<(Bytes, Bytes)>,
    /// The directory it runs in
    #[arg(long, value_name = "DIR", value_parser = OsStringValueParser::new().try_map(values::folder))]
    #[serde(deserialize_with = "line::cwd")]
    pub cwd: Option<PathBuf>,
    /// At most one unfinished job may hold the key
    #[arg(long, value_name = "K", value_parser = values::key)]
    #[serde(deserialize_with = "line::key")]
    pub unique_key: Option<String>,
    /// If it is held: skip, replace or error
    #[arg(long, value_name = "ACTION", value_parser = values::on_conflict)]
    #[serde(deserialize_with = "line::on_conflict")]
    pub on_conflict: Option<OnConflict>,
    /// Never enqueue twice with this key
    #[arg(long, value_name = "K", value_parser = values::key)]
    #[serde(deserialize_with = "line::key")]
    pub idempotency_key: Option<String>,
    /// Start it only when these jobs have succeeded
    #[arg(long, value_name = "ID|NAME", value_delimiter = ',', value_parser = JobRef::parse)]
    #[serde(deserialize_with = "line::after")]
    pub after: Vec<JobRef>,
    /// Start it only when these jobs have ended
    #[arg(long, value_name = "ID|NAME", value_delimiter = ',', value_parser = JobRef::parse)]
    #[serde(deserialize_with = "line::after_any")]
    pub after_any: Vec<JobRef>,
    /// Without the jobs that the file says it is after
    #[arg(long)]
    #[serde(deserialize_with = "line::no_deps")]
    pub no_deps: bool,
}

impl JobOptions {
    /// Reads the keys of a batch line. The error names the key.
    pub fn from_line(keys: Map<String, Value>) -> Result<Self, String> {
        let last = RefCell::new(String::new());
        let keys = keys.into_iter().inspect(|(key, _)| last.borrow_mut().clone_from(key));
        Self::deserialize(MapDeserializer::new(keys)).map_err(|why: serde_json::Error| {
            let key = last.borrow();
            let known = Self::keys();
            if known.contains(&key) {
                return format!("{key:?}: {why}");
            }
            match near_names(&key, known.iter().map(String::as_str)).first() {
                Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
                None => format!("unknown key {key:?}; keys are {}", known.join(", ")),
            }
        })
    }

    /// The keys of a batch line: the names of the flags.
    pub fn keys() -> Vec<String> {
        let flags = Self::augment_args(clap::Command::new("line"));
        let name = |flag: &clap::Arg| flag.get_long().unwrap_or(flag.get_id().as_str()).replace('-', "_");
        flags.get_arguments().map(name).collect()
    }

    /// Whether they say more of a job than which work it is.
    pub fn say_more_than_the_work(&self) -> bool {
        let Self { name, command, args, label, unique_key, on_conflict, no_deps, .. } = self.clone();
        *self != Self { name, command, args, label, unique_key, on_conflict, no_deps, ..Self::default() }
    }

    /// Refuses options that contradict each other, as the job file does.
    pub fn check(&self) -> Result<()> {
        if let Some(contradiction) = self.layer()?.contradictions().first() {
            return Err(CliError::usage(contradiction.to_string()).into());
        }
        if self.delay.is_some() && self.at.is_some() {
            return Err(CliError::usage("\"in\" and \"at\" do not go together").into());
        }
        Ok(())
    }

    /// The values that these options give to the definition.
    pub fn layer(&self) -> Result<JobLayer> {
        // Every option is named here, so that none is forgotten.
        let Self {
            queue,
            priority,
            timeout,
            grace_period,
            expires_in,
            env,
            cwd,
            unique_key,
            retryable,
            max_attempts,
            backoff,
            jitter,
            auto_retry_for,
            never_retry_for,
            success_exit_codes,
            warning_exit_codes,
            name: _,
            command: _,
            args: _,
            label: _,
            delay: _,
            at: _,
            on_conflict: _,
            idempotency_key: _,
            after: _,
            after_any: _,
            no_deps: _,
        } = self.clone();
        let absolute = |cwd: PathBuf| -> Result<Bytes> {
            let here = env::current_dir().context("could not find the current directory")?;
            Ok(Bytes::from(here.join(cwd).as_os_str()))
        };
        Ok(JobLayer {
            queue,
            priority,
            timeout,
            grace_period,
            expires_in,
            env: Some(env.into_iter().collect()),
            cwd: cwd.map(absolute).transpose()?,
            unique_key,
            retryable,
            max_attempts,
            backoff,
            jitter,
            auto_retry_for,
            never_retry_for,
            success_exit_codes: success_exit_codes.map(|statuses| statuses.0),
            warning_exit_codes: warning_exit_codes.map(|statuses| statuses.0),
            ..JobLayer::default()
        })
    }

    /// These options without those that do not change the definition: lines for which this is equal share one
    /// definition.
    #[must_use]
    pub fn definition_part(&self) -> Self {
        Self {
            args: Vec::new(),
            label: None,
            delay: None,
            at: None,
            on_conflict: None,
            idempotency_key: None,
            after: Vec::new(),
            after_any: Vec::new(),
            no_deps: false,
            ..self.clone()
        }
    }

    /// When the job is due, if these options say so.
    pub fn due(&self, now: Timestamp) -> Option<Due> {
        self.delay.map(Due::In).or(self.at.map(|at| Due::At(at.resolve(now))))
    }
}

/// Readers of the keys of a batch line. Each reads one JSON type, and then accepts the same values as the flag. A null
/// counts as an absent key.
mod line {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use serde_json::{Number, Value};

    use crate::cli::typed_time::At;
    use crate::cli::values::{self, JobRef, Statuses};
    use crate::model::{Backoff, Bytes, Command, Jitter};
    use crate::store::OnConflict;
    use crate::text::Millis;

    macro_rules! readers {
        ($($name:ident($json:ty) -> $value:ty: $parse:expr;)+) => {$(
            pub fn $name<'de, D: Deserializer<'de>>(json: D) -> Result<$value, D::Error> {
                let Some(json) = Option::<$json>::deserialize(json)? else { return Ok(<$value>::default()) };
                let parse: fn($json) -> Result<_, String> = $parse;
                parse(json).map(Into::into).map_err(D::Error::custom)
            }
        )+};
    }

    readers! {
        name(String) -> Option<String>: |text| values::name(&text);
        key(String) -> Option<String>: |text| values::key(&text);
        label(String) -> Option<String>: |text| values::label(&text);
        command(TextOrTexts) -> Option<Command>: |command| match command {
            TextOrTexts::One(line) => Ok(Command::Shell(bytes(line)?)),
            TextOrTexts::Many(words) => Ok(Command::Argv(all_bytes(words)?)),
        };
        args(Vec<String>) -> Vec<Bytes>: all_bytes;
        priority(Number) -> Option<i32>: |number| values::priority(&number.to_string());
        max_attempts(Number) -> Option<u32>: |number| values::max_attempts(&number.to_string());
        duration(String) -> Option<Millis>: |text| Millis::parse(&text);
        above_zero(String) -> Option<Millis>: |text| values::above_zero(&text);
        at(String) -> Option<At>: |text| At::parse(&text);
        backoff(TextOrTexts) -> Option<Backoff>: |backoff| match backoff {
            TextOrTexts::One(text) => values::backoff(&text),
            TextOrTexts::Many(delays) => values::delays(delays.iter().map(String::as_str)),
        };
        jitter(Value) -> Option<Jitter>: |jitter| match jitter {
            Value::String(text) => values::jitter(&text),
            Value::Bool(_) | Value::Number(_) => values::jitter(&jitter.to_string()),
            _ => Err("expected true, false, a fraction or a duration".to_owned()),
        };
        successes(Vec<Number>) -> Option<Statuses>: |numbers| values::successes(&listed(&numbers));
        warnings(Vec<Number>) -> Option<Statuses>: |numbers| values::warnings(&listed(&numbers));
        env(BTreeMap<String, String>) -> Vec<(Bytes, Bytes)>: variables;
        cwd(String) -> Option<PathBuf>: |path| values::folder(bytes(path)?.as_os_str().to_owned());
        on_conflict(String) -> Option<OnConflict>: |text| values::on_conflict(&text);
        after(Vec<IdOrName>) -> Vec<JobRef>: job_refs;
        after_any(Vec<IdOrName>) -> Vec<JobRef>: job_refs;
        no_deps(bool) -> bool: Ok;
    }

    /// As the flag has them.
    fn listed(numbers: &[Number]) -> String {
        numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
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

    fn job_refs(jobs: Vec<IdOrName>) -> Result<Vec<JobRef>, String> {
        let read = |job| match job {
            IdOrName::Id(id) => Ok(JobRef::Id(id)),
            IdOrName::Name(name) => JobRef::parse(&name),
        };
        jobs.into_iter().map(read).collect()
    }

    /// Text without a NUL byte, which the kernel could not pass to a command.
    fn bytes(text: String) -> Result<Bytes, String> {
        if text.contains('\0') { Err("it holds a NUL byte".to_owned()) } else { Ok(Bytes(text.into_bytes())) }
    }

    fn variables(entries: BTreeMap<String, String>) -> Result<Vec<(Bytes, Bytes)>, String> {
        let entry =
            |(name, value): (String, String)| Ok((values::variable_name(name.into_bytes())?, bytes(value)?));
        entries.into_iter().map(entry).collect()
    }

    fn all_bytes(texts: Vec<String>) -> Result<Vec<Bytes>, String> {
        texts.into_iter().map(bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_a_key_of_a_batch_line() {
        let unknown = serde_json::from_str::<JobOptions>(r#"{"?": 0}"#).unwrap_err().to_string();
        // unknown field `?`, expected one of `name`, `command`, …
        let mut keys: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
        let mut flags = JobOptions::keys();
        keys.sort_unstable();
        flags.sort_unstable();
        assert_eq!(keys, flags);
    }
}
