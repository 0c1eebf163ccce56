//! Jobs whose definition in the job file has changed since they were enqueued.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Map, Value, json};

use super::args::Global;
use super::locate;
use super::output::warn;
use crate::jobfile::JobFile;
use crate::model::{Bytes, JobSpec, JobState};
use crate::store::JobRow;
use crate::text::{Timestamp, counted};

/// Warns of jobs that are about to run with a definition that the job file has changed since, and says how to get the
/// present one. Silent if the job file cannot be read.
pub fn warn_of_stale(global: &Global, jobs: &[JobRow], dry_run: bool) {
    let Some(present) = Present::read(global) else { return };
    let mut of_name: BTreeMap<&str, (Vec<&JobRow>, Vec<String>)> = BTreeMap::new();
    for job in jobs {
        let keys = present.changed_keys(job);
        if !keys.is_empty() {
            let (stale, all) = of_name.entry(&job.spec.name).or_default();
            stale.push(job);
            all.extend(keys);
        }
    }
    for (name, (stale, mut keys)) in of_name {
        keys.sort_unstable();
        keys.dedup();
        let (subject, id) = match stale.as_slice() {
            [job] => (format!("job {} keeps the definition of its enqueue", job.id), job.id.to_string()),
            jobs => (
                format!("{} of {name} keep the definition of their enqueue", counted(jobs.len(), "job")),
                "ID".into(),
            ),
        };
        // A job that waits by then cannot be replaced.
        let waits = !dry_run || stale.iter().any(|job| !job.state.is_final());
        let cancel = if waits { format!("runner cancel {id}, then ") } else { String::new() };
        let (keys, path) = (keys.join(", "), locate::display(&present.file.path));
        warn(&format!(
            "{subject}; {name} in {path} has changed since ({keys}); to take the present one: {cancel}runner retry {id} --redefine"
        ));
    }
}

/// The present job file.
pub struct Present {
    file: JobFile,
    changed_at: Timestamp,
}

impl Present {
    /// None if the job file cannot be read.
    pub fn read(global: &Global) -> Option<Self> {
        let file = locate::job_file(global).ok()?;
        Some(Self { changed_at: changed_at(&file)?, file })
    }

    /// The keys in which the definition of a job that may run again has changed since its enqueue.
    pub fn changed_keys(&self, job: &JobRow) -> Vec<String> {
        match self.file.job(&job.spec.name) {
            // A job that is newer than the file can differ from it only by its own options.
            Some(declared)
                if job.enqueued_at <= self.changed_at
                    && may_run_again(job)
                    && belongs_to(&self.file, job, &declared.spec) =>
            {
                differences(&job.spec, &declared.spec)
            }
            _ => Vec::new(),
        }
    }
}

/// A job that succeeded or runs is left as it is.
const fn may_run_again(job: &JobRow) -> bool {
    matches!(job.state, JobState::Pending | JobState::Dead | JobState::Cancelled)
}

/// A job in a directory that the file does not speak of most likely belongs to another file.
fn belongs_to(file: &JobFile, job: &JobRow, declared: &JobSpec) -> bool {
    let of_file = file.path.parent().map(|folder| Bytes::from(folder.as_os_str()));
    let is_default = |spec: &JobSpec| of_file.as_ref() == Some(&spec.cwd);
    !job.spec.ad_hoc && (job.spec.cwd == declared.cwd || is_default(&job.spec) || !is_default(declared))
}

/// The ctime, which a copy that keeps the modification time changes too.
fn changed_at(file: &JobFile) -> Option<Timestamp> {
    let found = fs::metadata(&file.path).ok()?;
    Some(Timestamp(found.ctime().checked_mul(1_000)?.checked_add(found.ctime_nsec() / 1_000_000)?))
}

/// The keys of the job file in which two definitions differ.
fn differences(old: &JobSpec, new: &JobSpec) -> Vec<String> {
    let (old, new) = (keys(old), keys(new));
    old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

/// The values of a definition by their keys in the job file.
fn keys(spec: &JobSpec) -> Map<String, Value> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(spec) else { return Map::new() };
    if let Some(Value::Object(policy)) = keys.remove("policy") {
        keys.extend(policy);
    }
    let exit = keys.remove("exit").unwrap_or_default();
    // Columns of the job's row, which its definition leaves out.
    let columns = [
        ("queue", json!(spec.queue)),
        ("priority", json!(spec.priority)),
        ("unique_key", json!(spec.unique_key)),
    ];
    keys.extend(
        columns.into_iter().chain([("exit_codes", exit)]).map(|(key, value)| (key.to_owned(), value)),
    );
    keys
}
