//! `[jobs.NAME]`: its layer of values, and the keys that are no part of a layer.

use std::path::Path;

use toml::de::DeValue;

use super::codes::Codes;
use super::diagnostics::{Mistakes, Span};
use super::keys::Section;
use super::layer::{PlacedLayer, argv, joined};
use super::read::{Entry, Value, distinct};
use super::unknown::unknown;
use crate::model::{
    Bytes, Command, DependencyKind, ErrorCode, ExitRules, JobDefinition, JobLayer, Missed, OwnSchedule,
    Schedule, ScheduleText, check_name,
};
use crate::text::time_zone;

/// A job that the file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The definition, with `[defaults]` and built-in values.
    pub definition: JobDefinition,
    pub description: Option<String>,
    /// The values that the job itself gives: the options of `enqueue` come over it, and it over those of `[defaults]`.
    pub layer: JobLayer,
    pub schedule: Option<ScheduleText>,
    /// The error codes that it may report itself.
    pub reports: Vec<ErrorCode>,
    /// The names of its direct dependencies that must succeed.
    pub after: Vec<String>,
    /// The names of its direct dependencies of which any end will do.
    pub after_any: Vec<String>,
}

impl Declared {
    /// The names of all its direct dependencies.
    pub fn dependencies(&self) -> impl Iterator<Item = (&String, DependencyKind)> {
        let after = self.after.iter().map(|name| (name, DependencyKind::Success));
        after.chain(self.after_any.iter().map(|name| (name, DependencyKind::Any)))
    }

    /// What a job that is after this one has to know of its schedule.
    pub fn own_schedule(&self) -> Option<OwnSchedule> {
        self.schedule.as_ref().map(|text| OwnSchedule { fresh_within: text.fresh_within })
    }
}

/// A `[jobs.NAME]` table as it was read, before `[defaults]` are applied.
pub(super) struct Job {
    pub name: String,
    pub layer: PlacedLayer,
    pub codes: Codes,
    command: Option<Command>,
    description: Option<String>,
    /// The names of its direct dependencies that must succeed.
    pub after: Vec<(String, Span)>,
    /// The names of its direct dependencies of which any end will do.
    pub after_any: Vec<(String, Span)>,
}

impl Job {
    /// Reads a job. `dir` holds the file.
    pub(super) fn read(header: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) -> Option<Self> {
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
            name: name.to_owned(),
            layer: PlacedLayer::default(),
            codes: Codes::default(),
            command: None,
            description: None,
            after: Vec::new(),
            after_any: Vec::new(),
        };
        let mut has_command = false;
        for entry in &entries {
            let key = if Section::Job.has(entry.key) {
                job.read_key(entry, dir, mistakes);
                Some(entry.key)
            } else {
                let meant = unknown(Section::Job, entry, mistakes);
                job.codes.note_misspelt(meant);
                meant
            };
            has_command |= key == Some("command");
        }
        if !has_command {
            mistakes
                .add(&header.at, format!("the job `{name}` has no `command`"))
                .hint("write command = \"…\" for the shell, or an array such as command = [\"tar\", \"-xf\", \"a.tar\"]");
        }
        job.check_schedule(mistakes);
        Some(job)
    }

    fn read_key(&mut self, entry: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) {
        let value = entry.value;
        match entry.key {
            "command" => self.command = command(value, mistakes),
            "description" => self.description = value.string(mistakes).map(str::to_owned),
            "exit_codes" | "default_error_code" | "reports" => self.codes.read_key(entry, mistakes),
            "after" => self.after = dependencies(value, mistakes),
            "after_any" => self.after_any = dependencies(value, mistakes),
            key => {
                let is_read = self.layer.read_key(entry, dir, mistakes);
                assert!(is_read, "the key {key} is not read");
            }
        }
    }

    /// Records an invalid schedule or time zone, and keys that have no effect with this schedule, or without any.
    fn check_schedule(&self, mistakes: &mut Mistakes) {
        let values = &self.layer.values;
        check_timezone(&self.layer, mistakes);
        let (idle, why, hint): (&[&str], _, _) = if self.layer.place("schedule").is_none() {
            let hint =
                "add schedule = \"0 2 * * *\", or leave the key out; in a chain, the scheduled job has it";
            let idle = &["missed", "missed_within", "timezone", "fresh_within", "random_delay"];
            (idle, "without `schedule`", hint)
        } else if values.schedule.as_deref().is_some_and(Schedule::is_at_boot) {
            let hint = "leave the key out: a boot is not a time, and one without a worker runs nothing";
            (&["missed", "missed_within", "timezone"], "with @reboot", hint)
        } else {
            (&[], "", "")
        };
        for key in idle {
            let Some(at) = self.layer.place(key) else { continue };
            mistakes.add(at, format!("`{key}` has no effect {why}")).hint(hint);
        }
        check_missed_within(&self.layer, mistakes);
    }

    /// The exit statuses that are a success without a warning.
    pub(super) fn success(&self, defaults: &PlacedLayer) -> Vec<u8> {
        self.statuses(defaults).0
    }

    /// The exit statuses that are a success, without a warning and with one.
    fn statuses(&self, defaults: &PlacedLayer) -> (Vec<u8>, Vec<u8>) {
        let lists = |of: &JobLayer| JobLayer {
            success_exit_codes: of.success_exit_codes.clone(),
            warning_exit_codes: of.warning_exit_codes.clone(),
            ..JobLayer::default()
        };
        let given = lists(&self.layer.values).over(&lists(&defaults.values));
        let success = given.success_exit_codes.unwrap_or(ExitRules::default().success);
        (success, given.warning_exit_codes.unwrap_or_default())
    }

    /// The rules that give the job's exits their error codes. `file` has the codes for all jobs.
    pub(super) fn exit_rules(&self, defaults: &PlacedLayer, file: &Codes) -> ExitRules {
        let (success, warning) = self.statuses(defaults);
        ExitRules {
            success,
            warning,
            job: self.codes.exit_codes(),
            file: file.exit_codes(),
            default: self.codes.default.clone().or(file.default.clone()),
        }
    }

    /// The resolved job, still without its alerts. `dir` holds the file.
    pub(super) fn declare(self, defaults: &PlacedLayer, file: &Codes, dir: &Path) -> Declared {
        let exit = self.exit_rules(defaults, file);
        let layer = self.layer.values;
        let command = self.command.unwrap_or(Command::Argv(Vec::new()));
        let plain = JobDefinition { exit, ..JobDefinition::new(&self.name, command, joined(dir, "")) };
        let mut definition = layer.clone().over(&defaults.values).resolve(plain);
        definition.add_shell_statuses();
        let schedule = layer.schedule.clone().map(|schedule| {
            // A boot has no zone, and none is missed.
            let of_times = if Schedule::is_at_boot(&schedule) { &layer } else { &defaults.values };
            let missed = layer.missed.or(of_times.missed).unwrap_or_default();
            let missed_within = layer.missed_within.or(of_times.missed_within);
            ScheduleText {
                lines: schedule,
                timezone: layer.timezone.clone().or_else(|| of_times.timezone.clone()),
                missed,
                missed_within: missed_within.filter(|_| missed != Missed::Skip),
                fresh_within: layer.fresh_within,
                random_delay: layer.random_delay,
            }
        });
        Declared {
            definition,
            description: self.description,
            layer,
            schedule,
            reports: self.codes.others,
            after: self.after.into_iter().map(|(name, _)| name).collect(),
            after_any: self.after_any.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

/// Records that a layer gives a limit to what it says is never made up for.
pub(super) fn check_missed_within(layer: &PlacedLayer, mistakes: &mut Mistakes) {
    let is_skip = layer.values.missed == Some(Missed::Skip);
    if let Some(at) = layer.place("missed_within").filter(|_| is_skip) {
        mistakes
            .add(at, "`missed_within` has no effect with missed = \"skip\"")
            .hint("write missed = \"once\" or \"all\", or leave `missed_within` out");
    }
}

/// Records a time zone that this machine does not know.
pub(super) fn check_timezone(layer: &PlacedLayer, mistakes: &mut Mistakes) {
    let zone = layer.values.timezone.as_deref().map(|name| time_zone(Some(name)));
    if let (Some(Err(why)), Some(at)) = (zone, layer.place("timezone")) {
        mistakes.add(at, why);
    }
}

/// The names of jobs.
fn dependencies(value: Value<'_>, mistakes: &mut Mistakes) -> Vec<(String, Span)> {
    let names = value.list("an array of names of jobs, such as [\"extract\"]", mistakes).unwrap_or_default();
    distinct(&names, mistakes, |name, mistakes| name.string(mistakes).map(str::to_owned))
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
