//! A resolved job definition, a job with its dependencies, and the bytes that both keep exactly.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DependencyKind, EnvFile, ExitRules, RetryPolicy};
use crate::text::{Millis, cut_middle, is_invisible, is_safe, safe_line, shell_word};

/// The variables that runner itself sets for every attempt.
const OWNED_VARIABLES: [&str; 14] = [
    "RUNNER_JOB_ID",
    "RUNNER_JOB_NAME",
    "RUNNER_ATTEMPT",
    "RUNNER_MAX_ATTEMPTS",
    "RUNNER_ATTEMPTS_LEFT",
    "RUNNER_LAST_ERROR_CODE",
    "RUNNER_QUEUE",
    "RUNNER_SCHEDULED_FOR",
    "RUNNER_DEPENDENCIES",
    "RUNNER_WORKER_ID",
    "RUNNER_ATTEMPT_MARK",
    "RUNNER_MARK", // of version 1.0
    "RUNNER_DB",
    "RUNNER_REPORT",
];

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
}

impl Link {
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

/// Checks the name of a job or queue: `[A-Za-z0-9._-]{1,128}`, not starting with `-`. The error says what is allowed.
pub fn check_name(name: &str) -> Result<(), String> {
    let well_formed = (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if well_formed {
        return Ok(());
    }
    Err(format!(
        "{name:?} is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash"
    ))
}

/// Checks a unique or idempotency key: a line of text in which nothing hides. The error says what is wrong.
pub fn check_key(key: &str) -> Result<(), String> {
    check_line("key", key)
}

/// Checks a label: a line of 1 to 200 characters in which nothing hides. The error says what is wrong.
pub fn check_label(label: &str) -> Result<(), String> {
    check_line("label", label)?;
    match label.chars().count() {
        0..=MAX_LABEL_CHARS => Ok(()),
        length => Err(format!("a label has at most {MAX_LABEL_CHARS} characters, and this one has {length}")),
    }
}

/// The longest label; the schema of the database refuses more.
const MAX_LABEL_CHARS: usize = 200;

fn check_line(what: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("a {what} must not be empty"));
    }
    if text.contains(|c: char| !is_safe(c) || is_invisible(c)) {
        return Err(format!(
            "{text:?} is not a {what}: control characters and invisible ones may not stand in a {what}"
        ));
    }
    Ok(())
}

/// Checks a key that is read from a database. Version 1.0 let some invisible characters pass, and what it has stored stays
/// readable.
pub fn check_stored_key(key: &str) -> Result<(), String> {
    check_key(&as_1_0_saw(key))
}

/// The same for a label.
pub fn check_stored_label(label: &str) -> Result<(), String> {
    check_label(&as_1_0_saw(label))
}

/// The text, in which a visible character stands in the place of each invisible one that version 1.0 took for visible.
fn as_1_0_saw(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) && !steers(c) { '?' } else { c }).collect()
}

/// Whether version 1.0 refused this invisible character.
const fn steers(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Checks the id of a worker, which becomes part of paths: 16 hexadecimal digits.
pub fn check_worker_id(id: &str) -> Result<(), String> {
    if id.len() == 16 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Ok(());
    }
    Err(format!("{id:?} is not the id of a worker"))
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

/// Checks the name of a variable that a definition sets. The error says why it cannot be set.
pub fn check_variable(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(format!(
            "{name:?} cannot be the name of a variable: it is empty, or holds \"=\" or a NUL byte"
        ));
    }
    if OWNED_VARIABLES.contains(&name) {
        return Err(format!("runner itself sets {name} for every attempt; choose another name"));
    }
    Ok(())
}

/// The longest argument or variable of a command, its closing NUL included: `MAX_ARG_STRLEN` of `execve(2)`.
pub const MAX_ARG_STRLEN: usize = 128 * 1024;

/// A command, argument, variable or path: any bytes but NUL.
///
/// Serialised as a string if it is UTF-8, else as an array of byte values, so that no byte is lost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(from = "TextOrBytes")]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// For people: bytes that are not UTF-8 are replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&OsStr> for Bytes {
    fn from(s: &OsStr) -> Self {
        Self(s.as_bytes().to_vec())
    }
}

impl From<&str> for Bytes {
    fn from(s: &str) -> Self {
        Self(s.as_bytes().to_vec())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or an array of bytes")]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<TextOrBytes> for Bytes {
    fn from(either: TextOrBytes) -> Self {
        match either {
            TextOrBytes::Text(text) => Self(text.into_bytes()),
            TextOrBytes::Bytes(bytes) => Self(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "nightly-backup", "v1.2_x", &"n".repeat(128)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", "a b", "é", "a/b", &"n".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_and_ids_of_workers() {
        for good in ["k", "nightly 2026-11-22", "schlüssel/鍵"] {
            assert!(check_key(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a\n", "\u{1b}[2J", "a\u{200d}b", "a\u{200c}b", "a\u{202e}b", "\u{feff}k"] {
            for why in [check_key(bad), check_label(bad)] {
                let why = why.unwrap_err();
                assert!(why.is_ascii(), "{why}");
            }
        }
        assert!(check_worker_id("0123456789abcdef").is_ok());
        for bad in ["", "../../../../etc/x", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            assert!(check_worker_id(bad).is_err(), "{bad}");
        }
    }

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

    #[test]
    fn every_byte_survives_a_round_trip() {
        for bytes in [b"plain".to_vec(), vec![0xff, 0x80, b'a'], Vec::new()] {
            let json = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().0, bytes);
        }
    }
}
