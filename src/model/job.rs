//! A resolved job definition, and a job with its dependencies.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::names::MAX_LABEL_CHARS;
use super::{Bytes, DependencyKind, EnvFile, ExitRules, RetryPolicy, check_key, check_name};
use crate::text::{Millis, cut_middle, safe_line, shell_word};

/// The variables that every command inherits from the worker, because few programs work without them.
pub const INHERITED_ALWAYS: [&str; 5] = ["PATH", "HOME", "LOGNAME", "SHELL", "LANG"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for `/bin/sh -c`; arguments follow as `$1`, `$2` ….
    Shell(Bytes),
    /// A program and its arguments, executed as they are; never empty.
    Argv(Vec<Bytes>),
}

impl Command {
    /// As a person would type it in a shell, without the arguments of a job.
    pub fn typed(&self) -> String {
        match self {
            Self::Shell(line) => line.to_text(),
            Self::Argv(words) => {
                words.iter().map(|word| shell_word(&word.to_text())).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Whether arguments can have an effect. A line for the shell has to mention them: `$1`, `"$@"`, `${2:-x}`, `getopts`.
    pub fn uses_arguments(&self) -> bool {
        let Self::Shell(line) = self else { return true };
        let line = line.to_text();
        let is_argument = |after: &str| {
            let name = after.trim_start_matches('{').trim_start_matches(['!', '#']);
            after.starts_with('#') || name.starts_with(|c: char| matches!(c, '1'..='9' | '@' | '*'))
        };
        line.split('$').skip(1).any(is_argument) || line.contains("getopts") || line.contains("shift")
    }
}

/// A job definition with everything resolved: options over the job over `[defaults]` over built-in values.
///
/// Each job stores its definition, so a later edit of the file changes nothing that is queued. See
/// [`JobDefinition::without_columns`] for what the stored definition of a job leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobDefinition {
    #[serde(deserialize_with = "checked_name")]
    pub name: String,
    /// No job file declares it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ad_hoc: bool,
    pub command: Command,
    /// Put in front of the command: `nice -n 10`, `srun -n1`. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launcher: Vec<Bytes>,
    /// Absolute.
    pub cwd: Bytes,
    /// Whether the command gets the worker's environment, or only its [`INHERITED_ALWAYS`].
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub inherit_env: bool,
    /// Files whose variables are laid over the worker's environment, the last one on top.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_file: Vec<EnvFile>,
    /// Laid over the variables of the files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<Bytes, Bytes>,
    /// The standard input of every attempt, unless the job has an input of its own. None: nothing to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(
        default = "default_queue",
        skip_serializing_if = "is_default_queue",
        deserialize_with = "checked_name"
    )]
    pub queue: String,
    /// Higher first, -1000 to 1000.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// The limit of each attempt; above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL.
    pub grace_period: Millis,
    /// How long after its first due time the job is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Millis>,
    pub policy: RetryPolicy,
    pub exit: ExitRules,
    /// The bytes kept of each stream of each attempt.
    pub output_limit: u64,
    /// At most one unfinished job may hold this key.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "checked_key")]
    pub unique_key: Option<String>,
    /// The alert: a job of this definition is enqueued when the job dies. It has no alert of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_dead: Option<Box<JobDefinition>>,
    /// The same for a success with a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_warning: Option<Box<JobDefinition>>,
}

/// A job with its dependencies, ready to be enqueued together, as a schedule stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// The direct and indirect dependencies of the root, each after its own dependencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Link>,
    pub root: Link,
}

/// A job of a [`Chain`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub definition: JobDefinition,
    /// The direct dependencies of this job that must succeed: indexes of [`Chain::dependencies`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
    /// The direct dependencies of which any end will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_any: Vec<usize>,
    /// None for the root, which the chain is to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_schedule: Option<OwnSchedule>,
}

/// What the job file says of a dependency that has a schedule of its own: the jobs that are after it wait for the run that this
/// brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSchedule {
    /// A success that is older than this is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh_within: Option<Millis>,
}

impl Link {
    /// A job that nothing in the chain says more about than this definition.
    pub const fn new(definition: JobDefinition) -> Self {
        Self { definition, after: Vec::new(), after_any: Vec::new(), own_schedule: None }
    }

    /// The minor version of the schema that brought all that this uses.
    pub fn needs_minor_version(&self) -> u32 {
        self.definition.needs_minor_version().max(u32::from(self.own_schedule.is_some()))
    }

    /// The indexes of all direct dependencies.
    pub fn dependencies(&self) -> impl Iterator<Item = (usize, DependencyKind)> {
        let after = self.after.iter().map(|index| (*index, DependencyKind::Success));
        after.chain(self.after_any.iter().map(|index| (*index, DependencyKind::Any)))
    }
}

impl Chain {
    /// All jobs, the root last.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.dependencies.iter().chain([&self.root])
    }

    /// The names of the dependencies that have a schedule of their own.
    pub fn scheduled_dependencies(&self) -> impl DoubleEndedIterator<Item = &str> {
        let scheduled = self.dependencies.iter().filter(|link| link.own_schedule.is_some());
        scheduled.map(|link| link.definition.name.as_str())
    }

    /// Whether each job comes after its dependencies. A damaged database may hold a chain for which this is not so.
    pub fn is_in_order(&self) -> bool {
        self.links().enumerate().all(|(index, link)| link.dependencies().all(|(before, _)| before < index))
    }
}

impl JobDefinition {
    pub const DEFAULT_QUEUE: &'static str = "default";
    pub const DEFAULT_GRACE: Millis = Millis::from_secs(10);
    pub const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 10; // 64 KiB
    pub const MAX_OUTPUT_LIMIT: u64 = 16 << 20; // 16 MiB
    /// The longest standard input in bytes; the table `inputs` takes no more.
    pub const MAX_STDIN: usize = 16 << 20;
    /// Priorities lie from minus this to this.
    pub const MAX_PRIORITY: i32 = 1_000;

    /// Its alerts, each with the key that names it.
    pub fn alerts(&self) -> impl Iterator<Item = (&'static str, &Self)> {
        let alerts = [("on_dead", &self.on_dead), ("on_warning", &self.on_warning)];
        alerts.into_iter().filter_map(|(key, alert)| Some((key, alert.as_deref()?)))
    }

    /// Whether this is the alert of a job that died, or was warned: only runner sets such a variable.
    pub fn is_alert(&self) -> bool {
        self.env.contains_key(&Bytes::from("RUNNER_DEAD_JOB_ID"))
    }

    /// The job of whose death or warning the alert tells; none if it is no alert.
    pub fn dead_job(&self) -> Option<i64> {
        let id = self.env.get(&Bytes::from("RUNNER_DEAD_JOB_ID"))?;
        str::from_utf8(&id.0).ok()?.parse().ok()
    }

    /// Takes over the variables that tell the alert which this one replaces about the job that it is about.
    pub fn keep_alert_variables(&mut self, replaced: &Self) {
        let told = replaced.env.iter().filter(|(name, _)| name.0.starts_with(b"RUNNER_DEAD_"));
        self.env.extend(told.map(|(name, value)| (name.clone(), value.clone())));
    }

    /// A definition with everything at its default.
    pub fn new(name: &str, command: Command, cwd: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            ad_hoc: false,
            command,
            launcher: Vec::new(),
            cwd,
            inherit_env: true,
            env_file: Vec::new(),
            env: BTreeMap::new(),
            stdin: None,
            queue: Self::DEFAULT_QUEUE.to_owned(),
            priority: 0,
            timeout: None,
            grace_period: Self::DEFAULT_GRACE,
            expires_in: None,
            policy: RetryPolicy::default(),
            exit: ExitRules::default(),
            output_limit: Self::DEFAULT_OUTPUT_LIMIT,
            unique_key: None,
            on_dead: None,
            on_warning: None,
        }
    }

    /// The definition as a job stores it: without queue, priority and unique key, which are columns of the job's row, so
    /// that jobs that differ only in these share one stored definition.
    #[must_use]
    pub fn without_columns(&self) -> Self {
        Self { queue: default_queue(), priority: 0, unique_key: None, ..self.clone() }
    }

    /// The text that tells a job from others of its name on a screen: its label, else its arguments as a person would type
    /// them, else, because the name of an ad hoc job is only that of its program, the arguments of that program. Safe for a
    /// terminal.
    pub fn shown_label(&self, label: Option<&str>, args: &[Bytes]) -> Option<String> {
        if let Some(label) = label {
            return Some(label.to_owned());
        }
        let (line, words) = match &self.command {
            _ if !self.ad_hoc => (None, [].as_slice()),
            Command::Shell(line) => (Some(line.to_text()), [].as_slice()),
            Command::Argv(words) => (None, words.get(1..).unwrap_or_default()),
        };
        let words = words.iter().chain(args).map(|word| shell_word(&word.to_text()));
        let typed: Vec<String> = line.into_iter().chain(words).collect();
        let typed = cut_middle(&safe_line(typed.join(" ").trim()), MAX_LABEL_CHARS);
        (!typed.is_empty()).then_some(typed)
    }
}

/// The label that tells a job from others of its name, in an event. As JSON it is the label alone.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct JobLabel {
    /// None if nobody has given it one.
    pub label: Option<String>,
    /// See [`JobDefinition::shown_label`].
    #[serde(skip)]
    pub shown: Option<String>,
}

impl JobLabel {
    pub fn of(definition: &JobDefinition, label: Option<String>, args: &[Bytes]) -> Self {
        let shown = definition.shown_label(label.as_deref(), args);
        Self { label, shown }
    }
}

/// The name of a job with what [`JobDefinition::shown_label`] gives: `fetch [eu-west]`.
pub fn job_title(name: &str, shown_label: Option<&str>) -> String {
    /// Lines stay readable with this many columns of a label.
    const COLUMNS: usize = 40;
    match shown_label {
        None => name.to_owned(),
        Some(label) => format!("{name} [{}]", cut_middle(label, COLUMNS)),
    }
}

fn default_queue() -> String {
    JobDefinition::DEFAULT_QUEUE.to_owned()
}

fn is_default_queue(queue: &str) -> bool {
    queue == JobDefinition::DEFAULT_QUEUE
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a field of a stored definition that has to pass a check.
fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
    check: fn(&str) -> Result<(), String>,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    check(&text).map_err(D::Error::custom)?;
    Ok(text)
}

fn checked_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, check_name)
}

fn checked_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let key = Option::<String>::deserialize(deserializer)?;
    key.as_deref().map_or(Ok(()), check_key).map_err(D::Error::custom)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::super::check_label;
    use super::*;

    #[test]
    fn labels_are_short_and_stand_in_for_by_arguments() {
        assert!(check_label(&"é".repeat(200)).is_ok());
        assert!(check_label(&"é".repeat(201)).unwrap_err().contains("at most 200"));
        let mut job = JobDefinition::new("job", Command::Argv(vec!["curl".into(), "-f".into()]), "/".into());
        let args = [Bytes::from("a b"), "\u{1b}[2J".into()];
        let shown = |job: &JobDefinition, label, args: &[Bytes]| {
            job_title("job", job.shown_label(label, args).as_deref())
        };
        assert_eq!(shown(&job, Some("one"), &args), "job [one]");
        assert_eq!(shown(&job, None, &args), "job ['a b' '\\e[2J']");
        assert_eq!(shown(&job, None, &[]), "job");
        job.ad_hoc = true;
        assert_eq!(shown(&job, None, &args), "job [-f 'a b' '\\e[2J']");
        job.command = Command::Shell(format!("echo {} done", "x".repeat(999)).as_str().into());
        assert_eq!(shown(&job, None, &[]), "job [echo xxxxxxxxxxxxxxx…xxxxxxxxxxxxxx done]");
    }

    #[test]
    fn a_stored_definition_with_a_damaged_name_is_refused() {
        let mut good = JobDefinition::new("good", Command::Shell("true".into()), "/".into());
        good.unique_key = Some("k".to_owned());
        good.on_dead = Some(Box::new(JobDefinition::new("alert", Command::Shell("true".into()), "/".into())));
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(serde_json::from_str::<JobDefinition>(&text).unwrap(), good);
        for (from, to) in
            [("\"good\"", "\"\\u001b[2J\""), ("\"alert\"", "\"../x\""), ("\"k\"", "\"\\u202e\"")]
        {
            let damaged = text.replace(from, to);
            assert!(damaged != text && serde_json::from_str::<JobDefinition>(&damaged).is_err(), "{damaged}");
        }
    }
}
