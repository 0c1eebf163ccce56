//! `[jobs.NAME]`, and the keys that jobs share with `[defaults]`.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use toml::de::DeValue;

use super::codes::Codes;
use super::diagnostics::{Mistakes, Span};
use super::hints;
use super::keys::{Section, unknown};
use super::read::{Entry, Value, distinct};
use super::retry;
use crate::model::{
    Bytes, CodePattern, Command, DependencyKind, EnvFile, ExitRules, JobDefinition, Missed, PolicyLayer,
    RetryPolicy, Schedule, ScheduleText, check_key, check_name, check_variable,
};
use crate::text::{Millis, human_size, time_zone};

/// A job that the file declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The definition, with `[defaults]` and built-in values.
    pub definition: JobDefinition,
    pub description: Option<String>,
    /// The retry policy as the job states it, then as `[defaults]` states it: for [`RetryPolicy::resolve`], with the
    /// options of `enqueue` put in front.
    pub layers: [PolicyLayer; 2],
    pub schedule: Option<ScheduleText>,
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
}

/// The shared keys of a job or of `[defaults]`, laid over the outer layer: jobs over `[defaults]`, and that over the
/// built-in values.
pub(super) struct ConfigLayer {
    /// With the values of the outer layers. The retry policy is still the built-in one: it is resolved from all layers.
    pub definition: JobDefinition,
    /// The retry keys of this layer alone.
    pub policy: PolicyLayer,
    /// The error codes that this layer lists, with the key of the list and their places.
    pub listed_codes: Vec<(&'static str, CodePattern, Span)>,
    /// The name of the alert, if this layer gives one.
    pub on_dead: Option<String>,
    /// The place of the value of each key that this layer gives, also of values that could not be read.
    places: HashMap<String, Span>,
}

impl ConfigLayer {
    /// The built-in values, the outermost layer. `dir` holds the file.
    pub(super) fn built_in(dir: &Path) -> Self {
        Self::over(JobDefinition::new("", Command::Argv(Vec::new()), joined(dir, "")))
    }

    fn over(outer: JobDefinition) -> Self {
        Self {
            definition: outer,
            policy: PolicyLayer::default(),
            listed_codes: Vec::new(),
            on_dead: None,
            places: HashMap::new(),
        }
    }

    /// The place of the value of this key, if this layer gives it.
    pub(super) fn place(&self, key: &str) -> Option<&Span> {
        self.places.get(key)
    }

    /// Reads one of the shared keys. `dir` holds the file.
    pub(super) fn read_key(&mut self, entry: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) {
        let value = entry.value;
        self.places.insert(entry.key.to_owned(), value.at());
        let (definition, policy) = (&mut self.definition, &mut self.policy);
        match entry.key {
            "launcher" => replace(&mut definition.launcher, argv(value, mistakes)),
            "cwd" => {
                let cwd = value.text(mistakes).and_then(|path| located(value, dir, path, mistakes));
                replace(&mut definition.cwd, cwd);
            }
            "inherit_env" => replace(&mut definition.inherit_env, value.boolean(mistakes)),
            "env_file" => replace(&mut definition.env_file, env_files(value, dir, mistakes)),
            "stdin" => definition.stdin = stdin(value, mistakes),
            "env" => definition.env.extend(environment(value, mistakes)),
            "queue" => replace(&mut definition.queue, queue(value, mistakes)),
            "priority" => {
                let max = JobDefinition::MAX_PRIORITY;
                replace(&mut definition.priority, value.integer(-max..=max, mistakes));
            }
            "timeout" => definition.timeout = value.duration_above_zero(mistakes),
            "grace_period" => replace(&mut definition.grace_period, value.duration(mistakes)),
            "expires_in" => definition.expires_in = value.duration_above_zero(mistakes),
            "success_exit_codes" => definition.exit.success = success_exit_codes(value, mistakes),
            "on_dead" => self.on_dead = value.text(mistakes).map(str::to_owned),
            "output_limit" => replace(&mut definition.output_limit, output_limit(value, mistakes)),
            "retryable" => policy.retryable = value.boolean(mistakes),
            "max_attempts" => policy.max_attempts = retry::max_attempts(value, mistakes),
            "backoff" => policy.backoff = retry::backoff(value, mistakes),
            "auto_retry_for" => {
                self.policy.auto_retry_for = self.code_list("auto_retry_for", value, mistakes);
            }
            "never_retry_for" => {
                self.policy.never_retry_for = self.code_list("never_retry_for", value, mistakes);
            }
            key => unreachable!("the shared key {key} is not read"),
        }
    }

    fn code_list(
        &mut self,
        key: &'static str,
        value: Value<'_>,
        mistakes: &mut Mistakes,
    ) -> Option<Vec<CodePattern>> {
        let (codes, is_whole) = retry::codes(value, mistakes)?;
        self.listed_codes.extend(codes.iter().map(|(code, at)| (key, code.clone(), at.clone())));
        is_whole.then(|| codes.into_iter().map(|(code, _)| code).collect())
    }
}

/// A `[jobs.NAME]` table as it was read, before `[defaults]` are applied.
pub(super) struct Job {
    pub layer: ConfigLayer,
    pub codes: Codes,
    description: Option<String>,
    schedule: Option<String>,
    timezone: Option<String>,
    missed: Missed,
    fresh_within: Option<Millis>,
    random_delay: Option<Millis>,
    /// The names of its direct dependencies that must succeed.
    pub after: Vec<(String, Span)>,
    /// The names of its direct dependencies of which any end will do.
    pub after_any: Vec<(String, Span)>,
}

impl Job {
    /// Reads a job, laid over `defaults`. `dir` holds the file.
    pub(super) fn read(
        header: &Entry<'_>,
        defaults: &ConfigLayer,
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
            layer: ConfigLayer::over(JobDefinition { name: name.to_owned(), ..defaults.definition.clone() }),
            codes: Codes::default(),
            description: None,
            schedule: None,
            timezone: None,
            missed: Missed::default(),
            fresh_within: None,
            random_delay: None,
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
        let string = |mistakes: &mut Mistakes| value.text(mistakes).map(str::to_owned);
        match entry.key {
            "command" => replace(&mut self.layer.definition.command, command(value, mistakes)),
            "description" => self.description = value.string(mistakes).map(str::to_owned),
            "unique_key" => {
                let key = value.text(mistakes).map(|key| check_key(key).map(|()| key.to_owned()));
                self.layer.definition.unique_key = key.and_then(|key| value.ok_or_refuse(key, mistakes));
            }
            "exit_codes" | "default_error_code" | "reports" => self.codes.read_key(entry, mistakes),
            "schedule" => self.schedule = string(mistakes),
            "timezone" => self.timezone = string(mistakes),
            "missed" => {
                let words: Vec<_> = Missed::ALL.iter().map(|missed| missed.as_str()).collect();
                let word = value.one_of(&words, mistakes);
                self.missed = word.and_then(Missed::parse).unwrap_or_default();
            }
            "fresh_within" => self.fresh_within = value.duration_above_zero(mistakes),
            "random_delay" => self.random_delay = value.duration_above_zero(mistakes),
            "after" => self.after = dependencies(value, mistakes),
            "after_any" => self.after_any = dependencies(value, mistakes),
            _ => return self.layer.read_key(entry, dir, mistakes),
        }
        self.layer.places.insert(entry.key.to_owned(), value.at());
    }

    /// Records an invalid schedule or time zone, and keys that have no effect with this schedule, or without any.
    fn check_schedule(&self, mistakes: &mut Mistakes) {
        let zone = self.timezone.as_deref().map(|name| time_zone(Some(name)).map(drop));
        let schedule = self.schedule.as_deref().map(|text| Schedule::parse(text, TimeZone::UTC).map(drop));
        for (key, checked) in [("timezone", zone), ("schedule", schedule)] {
            if let (Some(Err(why)), Some(at)) = (checked, self.layer.place(key)) {
                let mistake = mistakes.add(at, why);
                if let Some(hint) =
                    self.schedule.as_deref().filter(|_| key == "schedule").and_then(hints::schedule)
                {
                    mistake.hint(hint);
                }
            }
        }
        let (idle, why, hint): (&[&str], _, _) = if self.layer.place("schedule").is_none() {
            let hint =
                "add schedule = \"0 2 * * *\", or leave the key out; in a chain, the scheduled job has it";
            (&["missed", "timezone", "fresh_within", "random_delay"], "without `schedule`", hint)
        } else if self.schedule.as_deref().map(str::trim) == Some(Schedule::AT_BOOT) {
            let hint = "leave the key out: a boot is not a time, and one without a worker runs nothing";
            (&["missed", "timezone"], "with @reboot", hint)
        } else {
            (&[], "", "")
        };
        for key in idle {
            let Some(at) = self.layer.place(key) else { continue };
            mistakes.add(at, format!("`{key}` has no effect {why}")).hint(hint);
        }
    }

    /// The rules that give the job's exits their error codes. `file` has the codes for all jobs.
    pub(super) fn exit_rules(&self, file: &Codes) -> ExitRules {
        ExitRules {
            success: self.layer.definition.exit.success.clone(),
            job: self.codes.exit_codes(),
            file: file.exit_codes(),
            default: self.codes.default.clone().or(file.default.clone()),
        }
    }

    /// The resolved job, still without its alert.
    pub(super) fn declare(self, defaults: &ConfigLayer, file: &Codes) -> Declared {
        let exit = self.exit_rules(file);
        let layers = [self.layer.policy, defaults.policy.clone()];
        let policy = RetryPolicy::resolve(&[], &[&layers[0], &layers[1]], &RetryPolicy::default());
        let schedule = self.schedule.map(|schedule| ScheduleText {
            schedule,
            timezone: self.timezone,
            missed: self.missed,
            fresh_within: self.fresh_within,
            random_delay: self.random_delay,
        });
        let mut definition = JobDefinition { policy, exit, ..self.layer.definition };
        definition.add_shell_statuses_to_exit_codes();
        definition.add_shell_statuses_to_code_lists();
        Declared {
            definition,
            description: self.description,
            layers,
            schedule,
            after: self.after.into_iter().map(|(name, _)| name).collect(),
            after_any: self.after_any.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

/// The names of jobs.
fn dependencies(value: Value<'_>, mistakes: &mut Mistakes) -> Vec<(String, Span)> {
    let names = value.list("an array of names of jobs, such as [\"extract\"]", mistakes).unwrap_or_default();
    distinct(&names, mistakes, |name, mistakes| name.string(mistakes).map(str::to_owned))
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
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

/// A program and its arguments.
fn argv(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Vec<Bytes>> {
    let words = value.list("an array of strings", mistakes)?;
    let Some((program, arguments)) = words.split_first() else {
        value
            .refused(mistakes, "an empty array names no program")
            .hint("write the program and its arguments, such as [\"tar\", \"-xf\", \"a.tar\"]");
        return None;
    };
    let program = program.text(mistakes);
    let arguments: Vec<_> =
        arguments.iter().map(|word| word.fits_kernel(word.string(mistakes)?, 0, mistakes)).collect();
    let words = [program].into_iter().chain(arguments);
    words.map(|word| word.map(Bytes::from)).collect()
}

/// The files of variables, each with a dash in front if it may be missing.
fn env_files(value: Value<'_>, dir: &Path, mistakes: &mut Mistakes) -> Option<Vec<EnvFile>> {
    let allowed = "a path, or an array of paths, such as [\"common.env\", \"-local.env\"]";
    let values = match value.data() {
        DeValue::String(_) => vec![value],
        _ => value.list(allowed, mistakes)?,
    };
    let read = |value: Value<'_>| {
        let text = value.text(mistakes)?;
        let path = text.strip_prefix('-').unwrap_or(text);
        if path.is_empty() {
            value.refused(mistakes, "there is no path after the dash");
            return None;
        }
        Some(EnvFile { path: located(value, dir, path, mistakes)?, optional: path != text })
    };
    // All of them are read, so that all mistakes are recorded.
    let files: Vec<_> = values.into_iter().map(read).collect();
    files.into_iter().collect()
}

fn stdin(value: Value<'_>, mistakes: &mut Mistakes) -> Option<String> {
    let text = value.string(mistakes)?;
    if text.len() > JobDefinition::MAX_STDIN {
        value
            .refused(mistakes, "it has more than 16 MiB")
            .hint("put it into a file, and let the command read that");
        return None;
    }
    Some(text.to_owned())
}

/// A path of the job file: relative to `dir`, or to the home directory if it begins with `~/`.
fn located(value: Value<'_>, dir: &Path, path: &str, mistakes: &mut Mistakes) -> Option<Bytes> {
    let Some(below_home) = path.strip_prefix('~') else { return Some(joined(dir, path)) };
    if !below_home.is_empty() && !below_home.starts_with('/') {
        value
            .refused(mistakes, "only `~` and `~/…` stand for a home directory, which is your own")
            .hint(format!("write the path in full, or ./{path} for a name that begins with `~`"));
        return None;
    }
    let Some(home) = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()) else {
        value.refused(mistakes, "there is no home directory: $HOME is not set to an absolute path");
        return None;
    };
    Some(joined(&home, below_home.trim_start_matches('/')))
}

/// `path` relative to `dir`, without `.`. A `..` stays, because the directory before it may be a symbolic link.
fn joined(dir: &Path, path: &str) -> Bytes {
    let joined: PathBuf = dir.join(path).components().collect();
    Bytes(joined.as_os_str().as_bytes().to_vec())
}

fn environment(value: Value<'_>, mistakes: &mut Mistakes) -> BTreeMap<Bytes, Bytes> {
    let entries = value.table("a table of strings, such as { LANG = \"C\" }", mistakes);
    let mut variables = BTreeMap::new();
    for entry in entries.unwrap_or_default() {
        let name = entry.key;
        if let Err(why) = check_variable(name) {
            mistakes.add(&entry.at, why);
        }
        let text = entry.value.string(mistakes);
        if let Some(text) = text.and_then(|text| entry.value.fits_kernel(text, name.len() + 1, mistakes)) {
            variables.insert(Bytes::from(name), Bytes::from(text));
        }
    }
    variables
}

fn queue(value: Value<'_>, mistakes: &mut Mistakes) -> Option<String> {
    let name = value.string(mistakes)?;
    value.ok_or_refuse(check_name(name), mistakes).map(|()| name.to_owned())
}

/// The list is empty if it cannot be read. Then `checks` finds no contradiction with it.
fn success_exit_codes(value: Value<'_>, mistakes: &mut Mistakes) -> Vec<u8> {
    let list = value.list("an array of exit statuses, such as [0]", mistakes);
    if list.as_ref().is_some_and(Vec::is_empty) {
        value
            .refused(mistakes, "with an empty list no attempt could succeed")
            .hint("write [0], or leave it out");
    }
    let read = |status: Value<'_>, mistakes: &mut Mistakes| status.integer(0..=255_u8, mistakes);
    let statuses = distinct(&list.unwrap_or_default(), mistakes, read);
    statuses.into_iter().map(|(status, _)| status).collect()
}

fn output_limit(value: Value<'_>, mistakes: &mut Mistakes) -> Option<u64> {
    let bytes = value.size(mistakes)?;
    if bytes > JobDefinition::MAX_OUTPUT_LIMIT {
        value.wrong(mistakes, &format!("at most {}", human_size(JobDefinition::MAX_OUTPUT_LIMIT)));
        return None;
    }
    Some(bytes)
}
