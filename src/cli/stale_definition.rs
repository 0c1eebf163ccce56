//! Jobs whose definition in the job file has changed since they were enqueued.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::args::Global;
use super::locate;
use super::output::warn;
use crate::jobfile::JobFile;
use crate::model::{JobSpec, RetryPolicy};
use crate::store::JobRow;
use crate::text::{Timestamp, counted};

/// Warns of jobs that keep a definition that the job file has changed, and says how to get the present one. Silent if the
/// job file cannot be read.
pub fn warn_of_stale(global: &Global, jobs: &[JobRow]) {
    let Ok(file) = locate::job_file(global) else { return };
    let Some(changed_at) = changed_at(&file) else { return };
    let mut of_name: BTreeMap<&str, (Vec<i64>, Vec<&'static str>)> = BTreeMap::new();
    // A job that is newer than the file can differ from it only by its own options.
    for job in jobs.iter().filter(|job| job.enqueued_at <= changed_at) {
        let Some(declared) = file.job(&job.spec.name) else { continue };
        // A job with another directory most likely belongs to another file.
        if declared.spec.cwd != job.spec.cwd {
            continue;
        }
        let keys = differences(&job.spec, &declared.spec);
        if !keys.is_empty() {
            let (ids, all) = of_name.entry(&job.spec.name).or_default();
            ids.push(job.id);
            all.extend(keys);
        }
    }
    for (name, (ids, mut keys)) in of_name {
        keys.sort_unstable();
        keys.dedup();
        let subject = match ids.as_slice() {
            [id] => format!("job {id} keeps the definition that it was enqueued with"),
            ids => format!("{} of {name} keep the definition of their enqueue", counted(ids.len(), "job")),
        };
        let (keys, path) = (keys.join(", "), locate::display(&file.path));
        warn(&format!(
            "{subject}; {name} in {path} has changed since ({keys}): runner enqueue {name} takes the present one"
        ));
    }
}

/// The ctime, which a copy that keeps the modification time changes too.
fn changed_at(file: &JobFile) -> Option<Timestamp> {
    let found = fs::metadata(&file.path).ok()?;
    Some(Timestamp(found.ctime().checked_mul(1_000)?.checked_add(found.ctime_nsec() / 1_000_000)?))
}

/// The keys of the job file in which two definitions differ.
fn differences(old: &JobSpec, new: &JobSpec) -> Vec<&'static str> {
    let JobSpec { name: _, command, cwd: _, env, queue, priority, timeout, grace_period, .. } = old;
    let JobSpec { expires_in, policy, exit, output_limit, unique_key, .. } = old;
    let RetryPolicy { retryable, max_attempts, backoff, auto_retry_for, never_retry_for } = policy;
    let differs = [
        ("command", *command != new.command),
        ("env", *env != new.env),
        ("queue", *queue != new.queue),
        ("priority", *priority != new.priority),
        ("timeout", *timeout != new.timeout),
        ("grace_period", *grace_period != new.grace_period),
        ("expires_in", *expires_in != new.expires_in),
        ("retryable", *retryable != new.policy.retryable),
        ("max_attempts", *max_attempts != new.policy.max_attempts),
        ("backoff", *backoff != new.policy.backoff),
        ("auto_retry_for", *auto_retry_for != new.policy.auto_retry_for),
        ("never_retry_for", *never_retry_for != new.policy.never_retry_for),
        ("exit_codes", *exit != new.exit),
        ("output_limit", *output_limit != new.output_limit),
        ("unique_key", *unique_key != new.unique_key),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}
