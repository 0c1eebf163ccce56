//! The entries about successes with a warning that nobody resolved, and after which none of the same work came without one: by name
//! and warning, and by job file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params_from_iter};

use super::deaths::entries::{LastRun, last_run};
use super::filter::{Conditions, Filter, OPEN_WARNING};
use super::problem::{AttentionEntry, Count, OtherWarned, Problem, Warned};
use crate::model::{Attention, ErrorCode};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::Tx;
use crate::store::file::row::{all, from_row, maybe};
use crate::store::write::job_files;
use crate::store::write::same_work::later_success_without_warning;
use crate::text::Timestamp;

/// At most this number of jobs of a name and warning is read: each asks for a success after all those before it.
const MAX_COUNTED: usize = if cfg!(test) { 4 } else { 500 };

/// The search for them ends after this number of jobs, because a million may have been warned that nobody resolved, each with a
/// later success without a warning.
const MAX_LOOKED_AT: usize = 20_000;

/// At most this number of names and warnings has an entry, because nobody reads more.
const MAX_GROUPS: usize = if cfg!(test) { 3 } else { 1_000 };

/// The number of labels that are named.
const MAX_LABELS: usize = 3;

struct WarnedJob {
    id: i64,
    warned_at: Timestamp,
    label: Option<String>,
    job_file: Option<i64>,
}

/// The name of jobs and of their warning.
type Group = (String, String);

/// The jobs of a group that one job file declares, the newest first.
struct WarnedAlike {
    name: String,
    warning: String,
    job_file: Option<i64>,
    jobs: Vec<WarnedJob>,
    is_more: bool,
}

/// The entries, the newest warning first.
pub fn attention(tx: &Tx, filter: &Filter) -> Result<Vec<AttentionEntry>> {
    let mut found: Vec<WarnedAlike> = Vec::new();
    let mut last = Group::default();
    for _ in 0..MAX_GROUPS {
        let Some(group) = next_group(tx, filter, &last)? else { break };
        let (jobs, is_more) = read(tx, filter, &group)?;
        found.extend(by_file(jobs).into_iter().map(|(job_file, jobs)| {
            let (name, warning) = group.clone();
            WarnedAlike { name, warning, job_file, jobs, is_more }
        }));
        last = group;
    }
    found.sort_by_key(|alike| Reverse(alike.jobs.first().map(|job| job.warned_at)));
    found.iter().filter_map(|alike| entry(tx, filter, alike, &found).transpose()).collect()
}

/// The entry about these jobs, which are among all these; none if there are none.
fn entry(
    tx: &Tx,
    filter: &Filter,
    alike: &WarnedAlike,
    all: &[WarnedAlike],
) -> Result<Option<AttentionEntry>> {
    let Some(newest) = alike.jobs.first() else { return Ok(None) };
    let LastRun { words, has_output } = last_run(tx, newest.id, true)?;
    let exit =
        "SELECT a.exit_code FROM jobs AS j JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
                WHERE j.id = ?1";
    let mut labels: Vec<String> = Vec::new();
    for label in alike.jobs.iter().filter_map(|job| job.label.as_ref()) {
        if labels.len() <= MAX_LABELS && !labels.contains(label) {
            labels.push(label.clone());
        }
    }
    let has_more_labels = labels.len() > MAX_LABELS;
    labels.truncate(MAX_LABELS);
    let of_name = || all.iter().filter(|other| other.name == alike.name);
    let others = match of_name().count() {
        1 => OtherWarned::None,
        _ if of_name().all(|other| other.job_file == alike.job_file) => OtherWarned::OfSameFile,
        _ => OtherWarned::OfOtherFiles,
    };
    let problem = Problem::Warned(Warned {
        name: alike.name.clone(),
        warning: ErrorCode::parse(&alike.warning).map_err(StoreError::InvalidData)?,
        status: maybe(tx, exit, [newest.id], |row| Ok(row.get("exit_code")?))?.flatten(),
        count: Count { counted: alike.jobs.len() as u64, is_more: alike.is_more },
        last: newest.warned_at,
        newest: newest.id,
        words,
        has_output,
        labels,
        has_more_labels,
        wanted_label: filter.label.clone(),
        file: job_files::path(tx, alike.job_file)?,
        others,
    });
    let ids = alike.jobs.iter().take(Attention::MAX_JOBS).map(|job| job.id).collect();
    Ok(Some(problem.note().about(ids)))
}

/// The next warning of the same name, or else the first one of the next name.
fn next_group(tx: &Connection, filter: &Filter, (name, warning): &Group) -> Result<Option<Group>> {
    let mut of_name = filter.narrowed(Timestamp(0));
    of_name.and_pair("j.name = {} AND j.warning > {}", name.clone(), warning.clone());
    let mut of_next_name = filter.narrowed(Timestamp(0));
    of_next_name.and("j.name > {}", name.clone());
    for wanted in [of_name, of_next_name] {
        let sql = format!(
            "SELECT j.name, j.warning FROM jobs AS j INDEXED BY jobs_warned
             WHERE {OPEN_WARNING} AND {} ORDER BY j.name, j.warning LIMIT 1",
            wanted.sql
        );
        let next = maybe(tx, &sql, params_from_iter(&wanted.values), |row| {
            Ok((row.get("name")?, row.get("warning")?))
        })?;
        if next.is_some() {
            return Ok(next);
        }
    }
    Ok(None)
}

/// The jobs of a group, the newest of each work first. True if there are more.
fn read(tx: &Connection, filter: &Filter, (name, warning): &Group) -> Result<(Vec<WarnedJob>, bool)> {
    let mut wanted: Conditions = filter.narrowed(Timestamp(0));
    wanted.and_pair("j.name = {} AND j.warning = {}", name.clone(), warning.clone());
    let sql = format!(
        "SELECT j.id, j.changed_at AS warned_at, j.label, j.job_file
         FROM (SELECT j.id FROM jobs AS j INDEXED BY jobs_warned WHERE {OPEN_WARNING} AND {}
               ORDER BY j.name DESC, j.warning DESC, j.label DESC, j.task_hash DESC, j.changed_at DESC
               LIMIT {MAX_LOOKED_AT}) AS newest
         CROSS JOIN jobs AS j ON j.id = newest.id WHERE {} IS NULL LIMIT {}",
        wanted.sql,
        later_success_without_warning(),
        MAX_COUNTED + 1
    );
    let read = |row: &Row<'_>| Ok(from_row!(row, WarnedJob { id, warned_at, label, job_file }));
    let mut jobs = all(tx, &sql, params_from_iter(&wanted.values), read)?;
    let is_more = jobs.len() > MAX_COUNTED;
    jobs.truncate(MAX_COUNTED);
    Ok((jobs, is_more))
}

/// The jobs of each job file, the newest first. What no file declares stays with the others, if these are of one file.
fn by_file(jobs: Vec<WarnedJob>) -> BTreeMap<Option<i64>, Vec<WarnedJob>> {
    let files: BTreeSet<i64> = jobs.iter().filter_map(|job| job.job_file).collect();
    let only = files.first().copied().filter(|_| files.len() == 1);
    let mut groups: BTreeMap<Option<i64>, Vec<WarnedJob>> = BTreeMap::new();
    for job in jobs {
        groups.entry(job.job_file.or(only)).or_default().push(job);
    }
    for jobs in groups.values_mut() {
        jobs.sort_unstable_by_key(|job| Reverse((job.warned_at, job.id)));
    }
    groups
}
