//! The keys that a job shares with `[defaults]`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::diagnostics::{Mistakes, Span};
use super::read::{Entry, Value, distinct};
use super::retry::RetryKeys;
use crate::model::{Bytes, Command, JobSpec, check_name, check_variable};
use crate::text::human_size;

/// A job or `[defaults]`, laid over the farther levels. The retry policy is resolved later, from all levels.
pub(super) struct Level {
    pub spec: JobSpec,
    pub retry: RetryKeys,
    /// `success_exit_codes` of this level; empty if it is given and cannot be read.
    pub success: Option<Vec<u8>>,
    /// The name of the alert.
    pub on_dead: Option<(String, Span)>,
}

impl Level {
    /// Built-in values alone. `dir` holds the file.
    pub(super) fn built_in(dir: &Path) -> Self {
        let no_command = Command::Argv(Vec::new());
        Self {
            spec: JobSpec::new("", no_command, joined(dir, "")),
            retry: RetryKeys::default(),
            success: None,
            on_dead: None,
        }
    }

    /// The level of the job `name`, which says nothing yet and takes everything over from this level.
    pub(super) fn job(&self, name: &str) -> Self {
        let spec = JobSpec { name: name.to_owned(), ..self.spec.clone() };
        Self { spec, retry: RetryKeys::default(), success: None, on_dead: None }
    }

    /// Reads one of the shared keys. `dir` holds the file.
    pub(super) fn take(&mut self, entry: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) {
        let spec = &mut self.spec;
        let value = entry.value;
        match entry.key {
            "launcher" => replace(&mut spec.launcher, argv(value, mistakes)),
            "cwd" => replace(&mut spec.cwd, value.text(mistakes).map(|cwd| joined(dir, cwd))),
            "env" => spec.env.extend(environment(value, mistakes)),
            "queue" => replace(&mut spec.queue, queue(value, mistakes)),
            "priority" => {
                let max = JobSpec::MAX_PRIORITY;
                replace(&mut spec.priority, value.integer(-max..=max, mistakes));
            }
            "timeout" => spec.timeout = value.duration_above_zero(mistakes),
            "grace_period" => replace(&mut spec.grace_period, value.duration(mistakes)),
            "expires_in" => spec.expires_in = value.duration_above_zero(mistakes),
            "success_exit_codes" => {
                let statuses = success_exit_codes(value, mistakes);
                spec.exit.success.clone_from(&statuses);
                self.success = Some(statuses);
            }
            "on_dead" => self.on_dead = value.text(mistakes).map(|name| (name.to_owned(), value.at())),
            "output_limit" => replace(&mut spec.output_limit, output_limit(value, mistakes)),
            _ => self.retry.take(entry, mistakes),
        }
    }
}

/// A program and its arguments.
pub(super) fn argv(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Vec<Bytes>> {
    let words = value.list("an array of strings", mistakes)?;
    let Some((program, arguments)) = words.split_first() else {
        value
            .refused(mistakes, "an empty array names no program")
            .hint("write the program and its arguments, such as [\"tar\", \"-xf\", \"a.tar\"]");
        return None;
    };
    let program = program.text(mistakes);
    let arguments: Vec<_> =
        arguments.iter().map(|word| word.passed_on(word.string(mistakes)?, 0, mistakes)).collect();
    let words = [program].into_iter().chain(arguments);
    words.map(|word| word.map(Bytes::from)).collect()
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// `path` as seen from `dir`, without `.`; `..` stays, for a symbolic link may stand before it.
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
        if let Some(text) = text.and_then(|text| entry.value.passed_on(text, name.len() + 1, mistakes)) {
            variables.insert(Bytes::from(name), Bytes::from(text));
        }
    }
    variables
}

fn queue(value: Value<'_>, mistakes: &mut Mistakes) -> Option<String> {
    let name = value.string(mistakes)?;
    value.taken(check_name(name), mistakes).map(|()| name.to_owned())
}

/// Empty if it cannot be read: then no status counts as a success, and no check complains about one.
fn success_exit_codes(value: Value<'_>, mistakes: &mut Mistakes) -> Vec<u8> {
    let list = value.list("an array of exit statuses, such as [0]", mistakes);
    if list.as_ref().is_some_and(Vec::is_empty) {
        value.refused(mistakes, "with an empty list no run could succeed").hint("write [0], or leave it out");
    }
    let read = |status: Value<'_>, mistakes: &mut Mistakes| status.integer(0..=255_u8, mistakes);
    let statuses = distinct(&list.unwrap_or_default(), mistakes, read);
    statuses.into_iter().map(|(status, _)| status).collect()
}

fn output_limit(value: Value<'_>, mistakes: &mut Mistakes) -> Option<u64> {
    let bytes = value.size(mistakes)?;
    if bytes > JobSpec::MAX_OUTPUT_LIMIT {
        value.wrong(mistakes, &format!("at most {}", human_size(JobSpec::MAX_OUTPUT_LIMIT)));
        return None;
    }
    Some(bytes)
}
