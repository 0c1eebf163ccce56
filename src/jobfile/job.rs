//! `[jobs.NAME]`.

use std::path::Path;

use toml::de::DeValue;

use super::Declared;
use super::exits::Exits;
use super::foreign;
use super::keys::{Place, unknown};
use super::level::{Level, joined};
use super::mistake::Found;
use super::value::{Entry, Value, distinct};
use crate::model::{Bytes, Command, ErrorCode, ExitRules, JobSpec, RetryPolicy, check_name};

/// What the file says about one job.
pub(super) struct Job<'t> {
    /// Its name.
    pub name: &'t str,
    /// The keys that it shares with `[defaults]`.
    pub level: Level<'t>,
    /// Its `exit_codes` and `default_error_code`.
    pub exits: Exits,
    /// `reports`.
    pub reports: Vec<ErrorCode>,
    command: Option<Command>,
    description: Option<&'t str>,
    unique_key: Option<&'t str>,
}

impl<'t> Job<'t> {
    /// Reads a job.
    pub(super) fn read(header: &Entry<'t>, found: &mut Found) -> Option<Self> {
        if let Err(why) = check_name(header.key) {
            found.add(&header.at, why);
        }
        if let DeValue::String(_) = header.value.data() {
            let example = format!("write {} = {{ command = \"…\" }}", header.key);
            header.value.wrong(found, "a table with a `command`").hint(example);
            return None;
        }
        let entries = header.value.table("a table with a `command`", found)?;
        let mut job = Self {
            name: header.key,
            level: Level::default(),
            exits: Exits::default(),
            reports: Vec::new(),
            command: None,
            description: None,
            unique_key: None,
        };
        let mut has_command = false;
        for entry in &entries {
            let meant = job.take(entry, found);
            has_command |= meant == Some("command") || foreign::is_job(entry);
        }
        if !has_command {
            found
                .add(&header.at, format!("the job `{}` has no `command`", job.name))
                .hint("write command = \"…\" for the shell, or an array such as command = [\"tar\", \"-xf\", \"a.tar\"]");
        }
        job.level.retries.check(found);
        Some(job)
    }

    /// Reads one key, and says which it is, or most likely means.
    fn take(&mut self, entry: &Entry<'t>, found: &mut Found) -> Option<&'t str> {
        if self.level.take(entry, found) || self.exits.take(entry, found) {
            return Some(entry.key);
        }
        let value = entry.value;
        match entry.key {
            "command" => self.command = command(value, found),
            "description" => self.description = value.string(found),
            "unique_key" => self.unique_key = value.text(found),
            "reports" => self.reports = self.declared_reports(value, found),
            _ => {
                let meant = unknown(Place::Job, entry, found);
                self.exits.doubt(meant);
                return meant;
            }
        }
        Some(entry.key)
    }

    fn declared_reports(&mut self, value: Value<'t>, found: &mut Found) -> Vec<ErrorCode> {
        let list = value.list("an array of error codes, such as [\"RATE_LIMITED\"]", found);
        self.exits.in_doubt |= list.is_none();
        let codes =
            distinct(&list.unwrap_or_default(), found, |entry, found| self.exits.target(entry, found));
        codes.into_iter().map(|(code, _)| code).collect()
    }

    /// How the endings of this job are named.
    pub(super) fn exit_rules(&self, defaults: &Level<'_>, file: &Exits) -> ExitRules {
        let success = self.level.success.as_ref().or(defaults.success.as_ref());
        ExitRules {
            success: success.cloned().unwrap_or(ExitRules::default().success),
            job: self.exits.codes(),
            file: file.codes(),
            default: self.exits.default.clone().or(file.default.clone()),
        }
    }

    /// The job as it is enqueued; none if it has a mistake. `dir` holds the file.
    pub(super) fn declare(&self, defaults: &Level<'_>, file: &Exits, dir: &Path) -> Option<Declared> {
        let layers = [self.level.retries.layer(), defaults.retries.layer()];
        let mut spec = JobSpec::new(self.name, self.command.clone()?, joined(dir, ""));
        defaults.lay_over(&mut spec, dir);
        self.level.lay_over(&mut spec, dir);
        spec.policy = RetryPolicy::resolve(&[], &[&layers[0], &layers[1]], &RetryPolicy::default());
        spec.exit = self.exit_rules(defaults, file);
        spec.unique_key = self.unique_key.map(str::to_owned);
        Some(Declared { spec, description: self.description.map(str::to_owned), layers })
    }
}

fn command(value: Value<'_>, found: &mut Found) -> Option<Command> {
    match value.data() {
        DeValue::String(_) => {
            let line = value.text(found)?;
            if line.trim().is_empty() {
                value.refused(found, "it is blank");
                return None;
            }
            Some(Command::Shell(Bytes::from(line)))
        }
        DeValue::Array(_) => argv(value, found),
        _ => {
            value.wrong(
                found,
                "a string for the shell (\"make backup\") or an array that is executed as it is ([\"make\", \"backup\"])",
            );
            None
        }
    }
}

fn argv(value: Value<'_>, found: &mut Found) -> Option<Command> {
    let words = value.list("an array of strings", found)?;
    let Some((program, arguments)) = words.split_first() else {
        value
            .refused(found, "an empty array names no program")
            .hint("write the program and its arguments, such as [\"tar\", \"-xf\", \"a.tar\"]");
        return None;
    };
    let program = program.text(found);
    let arguments: Vec<_> =
        arguments.iter().map(|word| word.passed_on(word.string(found)?, 0, found)).collect();
    let words = [program].into_iter().chain(arguments);
    words.map(|word| word.map(Bytes::from)).collect::<Option<_>>().map(Command::Argv)
}
