//! The options of one job: the flags of `enqueue` and `run`, and the keys of a line of a batch. A new one is a row here.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use clap::builder::{BoolValueParser, OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, ValueHint};
use serde_json::{Map, Value};

use super::error::{CliError, NO_CURRENT_DIR};
use super::option_value::{Given, OptionValue};
use super::typed_time::At;
use super::values::{self, JobRef};
use crate::model::{Bytes, Command, Jitter, JobLayer, ReadForm};
use crate::store::{Due, OnConflict};
use crate::text::{Millis, Timestamp, near_names};

const HEADING: &str = "Options of the job (they override the job file)";

/// Clap's word for a setting that one flag does without.
const NONE: Option<&str> = None;

/// Makes [`JobOptions`] of the table. A row with a type is a field, which is read in that form. A row without one gives a value
/// to the definition: its key stands in the table of `model/keys.rs` too, which has its type and its form. Behind `=>` stands
/// what clap has to know besides the name.
macro_rules! options {
    ($($key:ident $(: $type:ty, $form:ident $(($parse:expr))?)? => $(.$tell:ident($($value:expr),+))+;)+) => {
        /// The options of one job, as flags or as the keys of a line.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct JobOptions {
            $($(pub $key: Option<$type>,)?)+
            /// The values that they give to the definition; a folder may still be relative.
            pub values: JobLayer,
        }

        /// How much a call says of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSays {
    WhichWork,
    /// Its unique key, or another thing that matters only if it is enqueued: an earlier job can stand for it.
    HowToEnqueue,
    /// Anything else, so an earlier job cannot stand for it.
    More,
}

impl JobOptions {
            fn flags() -> Vec<Arg> {
                vec![$(flag(stringify!($key))$(.$tell($($value),+))+,)+]
            }

            /// Reads the value of the option `id`. The error says why it cannot be used.
            fn read(&mut self, id: &str, given: Given<'_>) -> Result<(), String> {
                let mut value = OptionValue { id, given, wrong: None };
                match id {
                    $($(stringify!($key) => self.$key = value.$form($($parse)?),)?)+
                    _ if self.values.read(id, &mut value) => {}
                    _ => return Err(format!("there is no option {id}")),
                }
                value.wrong.map_or(Ok(()), Err)
            }
        }
    };
}

options! {
    name: String, parsed(values::name) => .value_name("NAME").help("The name of an ad hoc job").help_heading(NONE);
    command: Command, command => .value_name("LINE").help("An ad hoc job: a line for /bin/sh").help_heading(NONE)
        .short('c').long(NONE).conflicts_with("names");
    args: Vec<Bytes>, argv => .value_name("ARG").help_heading(NONE).long(NONE).last(true).num_args(1..)
        .help("Appended to the command of NAME, \"$@\" in a string; without a name the command");
    label: String, parsed(values::label) => .value_name("TEXT").help("Tells it from other jobs of its name");
    queue => .value_name("QUEUE").help("The queue it waits in");
    priority => .value_name("N").help("Higher first, -1000 to 1000").allow_hyphen_values(true);
    delay: Millis, duration => .long("in").value_name("DUR").help("Due after this time").allow_hyphen_values(true)
        .conflicts_with("at");
    at: At, parsed(At::parse) => .value_name("TIME").help("HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")
        .allow_hyphen_values(true);
    max_attempts => .value_name("N").help("Number of attempts, the first included");
    retryable => .value_name("BOOL").help("true, or false for exactly one attempt")
        .value_parser(BoolValueParser::new()).hide_possible_values(true);
    backoff => .value_name("SPEC").help("The delays between attempts").allow_hyphen_values(true);
    jitter: Jitter, jitter => .value_name("J").help("Variation of delays: BOOL, a fraction 0 to 1, or DUR")
        .allow_hyphen_values(true);
    auto_retry_for => .value_name("A,B").help("Retry only these error codes").value_delimiter(',')
        .action(ArgAction::Append);
    never_retry_for => .value_name("A,B").help("Never retry these error codes").value_delimiter(',')
        .action(ArgAction::Append);
    success_exit_codes => .value_name("N,N").help("The exit statuses that are a success");
    warning_exit_codes => .value_name("N,N").help("Statuses of a success with a warning; '' for none");
    timeout => .value_name("DUR").help("The limit of each attempt").allow_hyphen_values(true);
    grace_period => .value_name("DUR").help("Between SIGTERM and SIGKILL").allow_hyphen_values(true);
    expires_in => .value_name("DUR").help("Give up this long after the due time").allow_hyphen_values(true);
    env => .value_name("K[=V]").help("A variable; K alone: as it is here; repeatable").action(ArgAction::Append);
    cwd => .value_name("DIR").help("The directory it runs in").value_hint(ValueHint::AnyPath);
    unique_key => .value_name("K").help("At most one unfinished job may hold the key");
    on_conflict: OnConflict, parsed(values::on_conflict) => .value_name("ACTION")
        .help("If it is held: skip, replace or error");
    idempotency_key: String, parsed(values::key) => .value_name("K").help("Never enqueue twice with this key");
    after: Vec<JobRef>, jobs => .value_name("ID|NAME").help("Start it only when these jobs have succeeded")
        .value_delimiter(',').action(ArgAction::Append);
    after_any: Vec<JobRef>, jobs => .value_name("ID|NAME").help("Start it only when these jobs have ended")
        .value_delimiter(',').action(ArgAction::Append);
    no_deps: bool, boolean => .help("Without the jobs that the file says it is after").action(ArgAction::SetTrue);
}

/// The flag `--id`, whose value is read once to be checked.
fn flag(id: &'static str) -> Arg {
    let check = move |word: OsString| JobOptions::default().read(id, Given::Typed(&[&word]));
    // Clap wants names that live as long as the program.
    let long: &str = id.replace('_', "-").leak();
    Arg::new(id).long(long).value_parser(OsStringValueParser::new().try_map(check))
}

/// The flags, in the order of the help, each with its key in a line, which is its name.
static FLAGS: LazyLock<Vec<(String, Arg)>> = LazyLock::new(|| {
    let name = |flag: &Arg| flag.get_long().unwrap_or(flag.get_id().as_str()).replace('-', "_");
    JobOptions::flags().into_iter().map(|flag| (name(&flag), flag)).collect()
});

impl FromArgMatches for JobOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        for id in FLAGS.iter().map(|(_, flag)| flag.get_id().as_str()) {
            if matches.value_source(id) == Some(ValueSource::CommandLine) {
                let words: Vec<&OsStr> = matches.get_raw(id).into_iter().flatten().collect();
                let read = options.read(id, Given::Typed(&words));
                read.map_err(|why| clap::Error::raw(ErrorKind::ValueValidation, why))?;
            }
        }
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for JobOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.next_help_heading(HEADING).args(FLAGS.iter().map(|(_, flag)| flag))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl JobOptions {
    /// Reads the keys of a batch line. The error names the key.
    pub fn from_line(keys: &Map<String, Value>) -> Result<Self, String> {
        let mut options = Self::default();
        for (key, json) in keys {
            let Some((_, flag)) = FLAGS.iter().find(|(known, _)| known == key) else {
                let known = Self::keys();
                return Err(match near_names(key, known.iter().map(String::as_str)).first() {
                    Some(near) => format!("unknown key {key:?}; did you mean {near:?}?"),
                    None => format!("unknown key {key:?}; keys are {}", known.join(", ")),
                });
            };
            let read = options.read(flag.get_id().as_str(), Given::Json(json));
            read.map_err(|why| format!("{key:?}: {why}"))?;
        }
        Ok(options)
    }

    /// The keys of a batch line: the names of the flags.
    pub fn keys() -> Vec<String> {
        FLAGS.iter().map(|(key, _)| key.clone()).collect()
    }

    /// How much these options say of their job; an input says more than any of them.
    pub fn say(&self, has_input: bool) -> CallSays {
        let Self { name, command, args, label, .. } = self.clone();
        let work = Self { name, command, args, label, ..Self::default() };
        let Self { on_conflict, no_deps, ref values, .. } = *self;
        let values = JobLayer { unique_key: values.unique_key.clone(), ..JobLayer::default() };
        if has_input || *self != (Self { on_conflict, no_deps, values, ..work.clone() }) {
            CallSays::More
        } else if *self != work {
            CallSays::HowToEnqueue
        } else {
            CallSays::WhichWork
        }
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
        let mut layer = JobLayer { jitter: self.jitter, ..self.values.clone() };
        if let Some(cwd) = &mut layer.cwd
            && Path::new(cwd.as_os_str()).is_relative()
        {
            let here = env::current_dir().context(NO_CURRENT_DIR)?;
            *cwd = Bytes::from(here.join(cwd.as_os_str()).as_os_str());
        }
        Ok(layer)
    }

    /// These options without those that do not change the definition: lines for which this is equal share one
    /// definition.
    #[must_use]
    pub fn definition_part(&self) -> Self {
        let Self { name, command, jitter, values, .. } = self.clone();
        Self { name, command, jitter, values, ..Self::default() }
    }

    /// When the job is due, if these options say so.
    pub fn due(&self, now: Timestamp) -> Option<Due> {
        self.delay.map(Due::In).or(self.at.map(|at| Due::At(at.resolve(now))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A null is an absent key, and no option takes such a table.
    #[test]
    fn every_flag_is_a_key_of_a_batch_line() {
        for key in JobOptions::keys() {
            let read = |json| JobOptions::from_line(&Map::from_iter([(key.clone(), json)]));
            assert_eq!(read(Value::Null), Ok(JobOptions::default()));
            assert!(read(json!({"?": []})).is_err(), "{key} is not read");
        }
    }
}
