//! The keys of a job: one table of them, and what follows from it.
//!
//! A new key is a row of the table, a field of [`JobDefinition`] with its default, and its effect; the form of its value, if
//! that is new, is a function of [`ReadForm`].

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::{
    Backoff, Bytes, CodePattern, Command, EnvFile, INHERITED_ALWAYS, Jitter, JobDefinition, Missed,
    check_name,
};
use crate::text::Millis;

/// Where a key may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In `[jobs.NAME]` alone.
    Job,
    /// In `[defaults]`, too.
    Shared,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub place: KeyPlace,
    /// The function of [`ReadForm`] that reads it; none for a key that is not part of a [`JobLayer`].
    pub form: Option<&'static str>,
}

/// A value that [`JobDefinition::shown_values`] gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownValue {
    pub key: &'static str,
    /// Its name on a screen, in at most nine columns.
    pub word: &'static str,
    /// Its value on a screen, a line each; none if every job has that value.
    pub lines: Vec<String>,
    /// The value as a definition stores it, whatever it is.
    pub json: Value,
}

/// Makes [`KEYS`] and [`JobLayer`] of the table. The first rows are no part of a layer. Of the others, `=> field` replaces that
/// field of the definition; what has none is resolved by hand in `layer`, or does not belong to the definition. `shown WORD
/// FUNCTION` makes the field one of [`JobDefinition::shown_values`], with the lines that the function says of it; the screens
/// show the others by hand, several in a line.
macro_rules! keys {
    (
        read_by_hand { $($alone:ident;)+ }
        in_layers {
            $($key:ident: $type:ty, $place:ident, $form:ident $(($allowed:expr))?
              $(=> $field:ident $(since_minor $minor:literal)? $(shown $word:literal $say:ident)?)?;)+
        }
    ) => {
        /// Every key of a job.
        pub const KEYS: &[Key] = &[
            $(Key { name: stringify!($alone), place: KeyPlace::Job, form: None },)+
            $(Key { name: stringify!($key), place: KeyPlace::$place, form: Some(stringify!($form)) },)+
        ];

        /// The values that one layer gives: `[defaults]`, a job of the file, the options of `enqueue`, or a line of a batch.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct JobLayer {
            $(pub $key: Option<$type>,)+
            /// An option alone: it changes the `backoff` of whichever layer gives that.
            pub jitter: Option<Jitter>,
        }

        impl JobLayer {
            /// Reads the value of a key. Whether there is such a key in a layer.
            pub fn read(&mut self, key: &str, reader: &mut impl ReadForm) -> bool {
                match key {
                    $(stringify!($key) => self.$key = reader.$form($($allowed)?),)+
                    _ => return false,
                }
                true
            }

            /// Takes from an outer layer what this one does not give. The variables of both are merged. Of three layers the
            /// two inner ones come first, because their list of delays may fix the number of attempts.
            #[must_use]
            pub fn over(mut self, outer: &Self) -> Self {
                // The nearer one of two lists has a status.
                let success = without(outer.success_exit_codes.as_ref(), self.warning_exit_codes.as_ref());
                let warning = without(outer.warning_exit_codes.as_ref(), self.success_exit_codes.as_ref());
                self.success_exit_codes = self.success_exit_codes.or(success);
                self.warning_exit_codes = self.warning_exit_codes.or(warning);
                // A list fixes the number of attempts, whatever an outer layer says.
                self.max_attempts = self.max_attempts.or(self.fixed_attempts());
                if let (Some(inner), Some(outer)) = (&mut self.env, &outer.env) {
                    for (name, value) in outer {
                        inner.entry(name.clone()).or_insert_with(|| value.clone());
                    }
                }
                $(if self.$key.is_none() { self.$key.clone_from(&outer.$key); })+
                self.jitter = self.jitter.or(outer.jitter);
                self
            }

            /// Puts the values that have a field of their own into a definition.
            pub(super) fn replace_fields(&mut self, definition: &mut JobDefinition) {
                $($(if let Some(value) = self.$key.take() { definition.$field = value.into(); })?)+
            }
        }

        impl JobDefinition {
            /// The minor version that brought the newest key that this definition uses.
            pub fn needs_minor_version(&self) -> u32 {
                let plain = plain();
                // An older program could not read the alerts either.
                let of_alerts = self.alerts().map(|(_, alert)| alert.needs_minor_version());
                let has_warnings = !self.exit.warning.is_empty() || self.on_warning.is_some();
                let mut needs = of_alerts.max().unwrap_or(0).max(if has_warnings { 2 } else { 0 });
                $($($(if self.$field != plain.$field { needs = needs.max($minor); })?)?)+
                needs
            }

            /// What the command starts with, in the order of the table. `check` and `inspect ID` show it.
            pub fn shown_values(&self) -> Vec<ShownValue> {
                let plain = plain();
                vec![$($($({
                    let lines = if self.$field == plain.$field { Vec::new() } else { $say(&self.$field) };
                    let (key, json) = (stringify!($key), json!(self.$field));
                    ShownValue { key, word: $word, lines, json }
                },)?)?)+]
            }
        }
    };
}

keys! {
    read_by_hand {
        command;
        description;
        reports;
        exit_codes;
        default_error_code;
        after;
        after_any;
    }
    in_layers {
        launcher: Vec<Bytes>, Shared, argv => launcher;
        cwd: Bytes, Shared, path => cwd;
        inherit_env: bool, Shared, boolean => inherit_env since_minor 1 shown "inherits" only_a_few;
        env_file: Vec<EnvFile>, Shared, env_files => env_file shown "env_file" each;
        stdin: String, Shared, input => stdin;
        queue: String, Shared, parsed(valid_name) => queue;
        priority: i32, Shared, integer(-JobDefinition::MAX_PRIORITY..=JobDefinition::MAX_PRIORITY) => priority;
        timeout: Millis, Shared, duration_above_zero => timeout;
        grace_period: Millis, Shared, duration => grace_period;
        expires_in: Millis, Shared, duration_above_zero => expires_in;
        output_limit: u64, Shared, output_limit => output_limit;
        unique_key: String, Job, unique_key => unique_key;
        env: BTreeMap<Bytes, Bytes>, Shared, variables;
        success_exit_codes: Vec<u8>, Shared, exit_statuses;
        warning_exit_codes: Vec<u8>, Shared, warning_statuses;
        retryable: bool, Shared, boolean;
        max_attempts: u32, Shared, attempts;
        backoff: Backoff, Shared, backoff;
        auto_retry_for: Vec<CodePattern>, Shared, codes;
        never_retry_for: Vec<CodePattern>, Shared, codes;
        on_dead: String, Shared, text;
        on_warning: String, Shared, text;
        schedule: Vec<String>, Job, schedule;
        timezone: String, Shared, text;
        missed: Missed, Shared, missed;
        missed_within: Millis, Shared, duration_above_zero;
        fresh_within: Millis, Job, duration_above_zero;
        random_delay: Millis, Job, duration_above_zero;
    }
}

/// A definition in which every key has its default.
fn plain() -> JobDefinition {
    JobDefinition::new("", Command::Argv(Vec::new()), Bytes::default())
}

fn without(list: Option<&Vec<u8>>, nearer: Option<&Vec<u8>>) -> Option<Vec<u8>> {
    let is_left = |status: &u8| nearer.is_none_or(|nearer| !nearer.contains(status));
    list.map(|list| list.iter().copied().filter(is_left).collect())
}

fn valid_name(name: &str) -> Result<String, String> {
    check_name(name).map(|()| name.to_owned())
}

/// A line for each value of a list, or for one that is given.
fn each<'v, T: Display + 'v>(values: impl IntoIterator<Item = &'v T>) -> Vec<String> {
    values.into_iter().map(ToString::to_string).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as all that say a field")]
fn only_a_few(_: &bool) -> Vec<String> {
    vec![format!("only {} of the worker's environment", INHERITED_ALWAYS.join(", "))]
}

/// A type of whole numbers that a key can have.
pub trait WholeNumber: Copy + PartialOrd + TryFrom<i64> + Display {}

impl<N: Copy + PartialOrd + TryFrom<i64> + Display> WholeNumber for N {}

/// The forms that values have. Each function reads the value that the reader stands at; none if it is not of that form,
/// which the reader has recorded. Those with a body here belong to keys that no option has.
pub trait ReadForm {
    fn boolean(&mut self) -> Option<bool>;
    fn text(&mut self) -> Option<String>;
    /// A string that this function takes; its error says what is allowed.
    fn parsed<T>(&mut self, parse: fn(&str) -> Result<T, String>) -> Option<T>;
    fn unique_key(&mut self) -> Option<String>;
    fn input(&mut self) -> Option<String> {
        None
    }
    fn path(&mut self) -> Option<Bytes>;
    fn argv(&mut self) -> Option<Vec<Bytes>>;
    fn env_files(&mut self) -> Option<Vec<EnvFile>> {
        None
    }
    fn variables(&mut self) -> Option<BTreeMap<Bytes, Bytes>>;
    /// A whole number in this range.
    fn integer<N: WholeNumber>(&mut self, range: RangeInclusive<N>) -> Option<N>;
    fn duration(&mut self) -> Option<Millis>;
    fn duration_above_zero(&mut self) -> Option<Millis>;
    fn output_limit(&mut self) -> Option<u64> {
        None
    }
    fn exit_statuses(&mut self) -> Option<Vec<u8>>;
    /// The same, where an empty list takes back an outer one.
    fn warning_statuses(&mut self) -> Option<Vec<u8>>;
    fn attempts(&mut self) -> Option<u32>;
    fn backoff(&mut self) -> Option<Backoff>;
    fn codes(&mut self) -> Option<Vec<CodePattern>>;
    /// A string, or an array of lines of cron.
    fn schedule(&mut self) -> Option<Vec<String>> {
        None
    }
    fn missed(&mut self) -> Option<Missed> {
        None
    }
}

impl JobLayer {
    /// The number of attempts that a list of delays fixes, unless a nearer `max_attempts` says otherwise.
    pub(super) fn fixed_attempts(&self) -> Option<u32> {
        self.backoff.as_ref()?.strategy.fixed_attempts()
    }
}
