//! The keys that a job shares with `[defaults]`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::mistake::Found;
use super::retries::Retries;
use super::value::{Entry, Value, distinct};
use crate::model::{Bytes, JobSpec, OWNED_VARIABLES, check_name};
use crate::text::{Millis, human_size};

/// What a job or `[defaults]` says with the keys that both have.
#[derive(Default)]
pub(super) struct Level<'t> {
    /// The keys of the retry policy.
    pub retries: Retries,
    /// `success_exit_codes`.
    pub success: Option<Vec<u8>>,
    /// `success_exit_codes` is given, but nobody can tell what it says.
    pub success_in_doubt: bool,
    cwd: Option<&'t str>,
    env: BTreeMap<Bytes, Bytes>,
    queue: Option<&'t str>,
    priority: Option<i32>,
    timeout: Option<Millis>,
    grace_period: Option<Millis>,
    expires_in: Option<Millis>,
    output_limit: Option<u64>,
}

impl<'t> Level<'t> {
    /// Reads `entry`, if it is one of the shared keys.
    pub(super) fn take(&mut self, entry: &Entry<'t>, found: &mut Found) -> bool {
        let value = entry.value;
        match entry.key {
            "cwd" => self.cwd = value.text(found),
            "env" => self.env = environment(value, found),
            "queue" => self.queue = queue(value, found),
            "priority" => {
                let most = JobSpec::MOST_PRIORITY;
                self.priority = value.integer(-most..=most, found);
            }
            "timeout" => self.timeout = value.duration_above_zero(found),
            "grace_period" => self.grace_period = value.duration(found),
            "expires_in" => self.expires_in = value.duration_above_zero(found),
            "success_exit_codes" => {
                self.success = success(value, found);
                self.success_in_doubt = self.success.is_none();
            }
            "output_limit" => self.output_limit = output_limit(value, found),
            _ => return self.retries.take(entry, found),
        }
        true
    }

    /// Lays what this level says over `spec`; the retry policy is resolved by itself. `dir` holds the file.
    pub(super) fn lay_over(&self, spec: &mut JobSpec, dir: &Path) {
        fn replace<T: Clone>(place: &mut T, said: Option<&T>) {
            if let Some(said) = said {
                place.clone_from(said);
            }
        }
        replace(&mut spec.cwd, self.cwd.map(|cwd| joined(dir, cwd)).as_ref());
        spec.env.extend(self.env.clone());
        replace(&mut spec.queue, self.queue.map(str::to_owned).as_ref());
        replace(&mut spec.priority, self.priority.as_ref());
        replace(&mut spec.grace_period, self.grace_period.as_ref());
        replace(&mut spec.exit.success, self.success.as_ref());
        replace(&mut spec.output_limit, self.output_limit.as_ref());
        spec.timeout = self.timeout.or(spec.timeout);
        spec.expires_in = self.expires_in.or(spec.expires_in);
    }
}

/// `path` as seen from `dir`, without `.`; `..` stays, for a symbolic link may stand before it.
pub(super) fn joined(dir: &Path, path: &str) -> Bytes {
    let joined: PathBuf = dir.join(path).components().collect();
    Bytes(joined.as_os_str().as_bytes().to_vec())
}

fn environment(value: Value<'_>, found: &mut Found) -> BTreeMap<Bytes, Bytes> {
    let entries = value.table("a table of strings, such as { LANG = \"C\" }", found);
    let mut variables = BTreeMap::new();
    for entry in entries.unwrap_or_default() {
        let name = entry.key;
        if name.is_empty() || name.contains(['=', '\0']) {
            found.add(
                &entry.at,
                format!(
                    "{name:?} cannot be the name of a variable: it is empty, or holds \"=\" or a NUL byte"
                ),
            );
        } else if OWNED_VARIABLES.contains(&name) {
            found
                .add(&entry.at, format!("`{name}` is set by runner itself for every attempt"))
                .hint("choose another name");
        }
        let text = entry.value.string(found);
        if let Some(text) = text.and_then(|text| entry.value.passed_on(text, name.len() + 1, found)) {
            variables.insert(Bytes::from(name), Bytes::from(text));
        }
    }
    variables
}

fn queue<'t>(value: Value<'t>, found: &mut Found) -> Option<&'t str> {
    let name = value.string(found)?;
    value.taken(check_name(name), found).map(|()| name)
}

fn success(value: Value<'_>, found: &mut Found) -> Option<Vec<u8>> {
    let list = value.list("an array of exit statuses, such as [0]", found)?;
    if list.is_empty() {
        value.refused(found, "with an empty list no run could succeed").hint("write [0], or leave it out");
        return None;
    }
    let statuses = distinct(&list, found, |status, found| status.integer(0..=255_u8, found));
    Some(statuses.into_iter().map(|(status, _)| status).collect())
}

fn output_limit(value: Value<'_>, found: &mut Found) -> Option<u64> {
    let bytes = value.size(found)?;
    if bytes > JobSpec::MOST_OUTPUT {
        let most = human_size(JobSpec::MOST_OUTPUT);
        value.wrong(found, &format!("at most {most}"));
        return None;
    }
    Some(bytes)
}
