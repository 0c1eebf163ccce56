//! `[jobs.NAME]`.

use std::path::Path;

use toml::de::DeValue;

use super::codes::Codes;
use super::diagnostics::{Mistakes, Span};
use super::keys::{Section, is_job, unknown};
use super::read::{Entry, Value, distinct};
use super::schedule::Schedule;
use super::shared_keys::{Level, argv};
use crate::model::{Bytes, Command, ExitRules, JobSpec, PolicyLayer, RetryPolicy, ScheduleText, check_name};

/// One job of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The definition, with `[defaults]` and built-in values.
    pub spec: JobSpec,
    /// The author's words on the job's purpose.
    pub description: Option<String>,
    /// The retry policy as the job states it, then as `[defaults]` states it: for [`RetryPolicy::resolve`], with the
    /// options of `enqueue` put in front.
    pub layers: [PolicyLayer; 2],
    pub schedule: Option<ScheduleText>,
    /// The names of the jobs that must succeed before this one starts.
    pub after: Vec<String>,
}

/// The statements of the file about one job.
pub(super) struct Job {
    pub level: Level,
    pub codes: Codes,
    description: Option<String>,
    schedule: Schedule,
    /// The names of the jobs that this one is after.
    pub after: Vec<(String, Span)>,
}

impl Job {
    /// Reads a job, laid over `defaults`. `dir` holds the file.
    pub(super) fn read(
        header: &Entry<'_>,
        defaults: &Level,
        dir: &Path,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let name = header.key;
        if let Err(why) = check_name(name) {
            mistakes.add(&header.at, why);
        }
        let entries = match header.value.data() {
            DeValue::String(_) => {
                let hint = format!("write {name} = {{ command = \"…\" }}");
                header.value.wrong(mistakes, "a table with a `command`").hint(hint);
                return None;
            }
            _ => header.value.table("a table with a `command`", mistakes)?,
        };
        let mut job = Self {
            level: defaults.job(name),
            codes: Codes::default(),
            description: None,
            schedule: Schedule::default(),
            after: Vec::new(),
        };
        let mut has_command = false;
        for entry in &entries {
            let key = if Section::Job.has(entry.key) {
                job.take(entry, dir, mistakes);
                Some(entry.key)
            } else {
                let meant = unknown(Section::Job, entry, mistakes);
                job.codes.may_mean(meant);
                meant
            };
            has_command |= key == Some("command") || is_job(entry);
        }
        if !has_command {
            mistakes
                .add(&header.at, format!("the job `{name}` has no `command`"))
                .hint("write command = \"…\" for the shell, or an array such as command = [\"tar\", \"-xf\", \"a.tar\"]");
        }
        job.schedule.check(mistakes);
        Some(job)
    }

    fn take(&mut self, entry: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) {
        let value = entry.value;
        match entry.key {
            "command" => {
                if let Some(command) = command(value, mistakes) {
                    self.level.spec.command = command;
                }
            }
            "description" => self.description = value.string(mistakes).map(str::to_owned),
            "unique_key" => self.level.spec.unique_key = value.text(mistakes).map(str::to_owned),
            "exit_codes" | "default_error_code" | "reports" => self.codes.take(entry, mistakes),
            "schedule" | "timezone" | "missed" => self.schedule.take(entry, mistakes),
            "after" => {
                let names = value.list("an array of names of jobs, such as [\"extract\"]", mistakes);
                self.after = distinct(&names.unwrap_or_default(), mistakes, |name, mistakes| {
                    name.string(mistakes).map(str::to_owned)
                });
            }
            _ => self.level.take(entry, dir, mistakes),
        }
    }

    /// The rules that name the job's exits; `file` holds the codes of the whole file.
    pub(super) fn exit_rules(&self, file: &Codes) -> ExitRules {
        ExitRules {
            success: self.level.spec.exit.success.clone(),
            job: self.codes.exit_codes(),
            file: file.exit_codes(),
            default: self.codes.default.clone().or(file.default.clone()),
        }
    }

    /// The job as it is enqueued.
    pub(super) fn declare(self, defaults: &Level, file: &Codes) -> Declared {
        let layers = [self.level.retry.layer(), defaults.retry.layer()];
        let policy = RetryPolicy::resolve(&[], &[&layers[0], &layers[1]], &RetryPolicy::default());
        let exit = self.exit_rules(file);
        let spec = JobSpec { policy, exit, ..self.level.spec };
        let after = self.after.into_iter().map(|(name, _)| name).collect();
        Declared { spec, description: self.description, layers, schedule: self.schedule.text(), after }
    }
}

fn command(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Command> {
    match value.data() {
        DeValue::String(_) => {
            let line = value.text(mistakes)?;
            if line.trim().is_empty() {
                value.refused(mistakes, "it is blank");
                return None;
            }
            Some(Command::Shell(Bytes::from(line)))
        }
        DeValue::Array(_) => argv(value, mistakes).map(Command::Argv),
        _ => {
            value.wrong(
                mistakes,
                "a string for the shell (\"make backup\") or an array that is executed as it is ([\"make\", \"backup\"])",
            );
            None
        }
    }
}
