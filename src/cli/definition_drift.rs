//! Compares the definition that a job was enqueued with with the present job file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::args::Global;
use super::own_file::OwnFiles;
use crate::call_target::to_type;
use crate::jobfile::JobFile;
use crate::model::{JobDefinition, JobState};
use crate::store::JobRow;
use crate::text::{counted, shown_path};
use crate::view::terminal::warn;

/// Jobs of a name, and the keys in which their definitions differ from that of the file.
type DifferingJobs<'a> = (Vec<&'a JobRow>, Vec<String>);

/// Warns about jobs that are about to run with another definition than that of the job file, and says how to get
/// the present one. Silent if the job file cannot be read.
pub fn warn_of_differing<'a>(global: &Global, jobs: impl Iterator<Item = &'a JobRow>, dry_run: bool) {
    /// More jobs are named by their common name.
    const MAX_IDS: usize = 10;
    let files = OwnFiles::new(global);
    let mut of_name: BTreeMap<(PathBuf, &str), DifferingJobs<'_>> = BTreeMap::new();
    for job in jobs {
        let Ok(file) = files.of(job) else { continue };
        let keys = differing_keys(&file, job);
        if !keys.is_empty() {
            let (stale, all) = of_name.entry((file.path.clone(), &job.definition.name)).or_default();
            stale.push(job);
            all.extend(keys);
        }
    }
    for ((path, name), (stale, mut keys)) in of_name {
        keys.sort_unstable();
        keys.dedup();
        let subject = match stale.as_slice() {
            [job] => format!("job {} keeps the definition of its enqueue", job.id),
            jobs => format!("{} of {name} keep the definition of their enqueue", counted(jobs.len(), "job")),
        };
        // After a real `retry` these jobs are pending.
        let is_dead = dry_run && stale.iter().all(|job| job.state.is_final());
        let (verb, all) = if is_dead { ("retry", "--dead --name") } else { ("change", "--name") };
        let mut ids: Vec<i64> = stale.iter().map(|job| job.id).collect();
        ids.sort_unstable();
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        let which = if ids.len() > MAX_IDS { format!("{all} {name}") } else { ids.join(" ") };
        let take = to_type(verb, format_args!("{which} --redefine"));
        let (keys, path) = (keys.join(", "), shown_path(&path));
        warn(&format!("{subject}; {name} in {path} differs ({keys}); to take the present one: {take}"));
    }
}

/// The keys in which the definition of a job that may run again differs from that of its file.
pub fn differing_keys(file: &JobFile, job: &JobRow) -> Vec<String> {
    match file.job(&job.definition.name) {
        Some(declared) if !job.definition.ad_hoc && may_run_again(job) => {
            let mut present = declared.definition.clone();
            present.keep_alert_variables(&job.definition);
            differences(&job.definition, &present)
        }
        _ => Vec::new(),
    }
}

/// Whether the job may still be started with the definition of its enqueue.
const fn may_run_again(job: &JobRow) -> bool {
    matches!(job.state, JobState::Pending | JobState::Dead | JobState::Cancelled)
}

/// The keys of the job file in which two definitions differ.
fn differences(old: &JobDefinition, new: &JobDefinition) -> Vec<String> {
    let (old, new) = (keys(old), keys(new));
    old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

/// The values of a definition by the keys of the job file that set them. The fields of the two tables in it have other names.
fn keys(definition: &JobDefinition) -> Map<String, Value> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(definition) else { return Map::new() };
    if let Some(Value::Object(policy)) = keys.remove("policy") {
        keys.extend(policy);
    }
    if let Some(Value::Object(mut exit)) = keys.remove("exit") {
        let codes = ["job", "file"].map(|of| exit.remove(of).unwrap_or_default());
        keys.insert("exit_codes".to_owned(), codes.into());
        let names = ["success_exit_codes", "warning_exit_codes", "default_error_code"];
        let values = ["success", "warning", "default"].map(|field| exit.remove(field).unwrap_or_default());
        keys.extend(names.map(str::to_owned).into_iter().zip(values));
    }
    keys
}
