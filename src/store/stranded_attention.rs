//! The entries about stranded jobs in the list of what needs attention.

use std::collections::HashMap;

use rusqlite::params_from_iter;

use super::attention::MAX_NAMED;
use super::dependencies::DependencyState;
use super::error::Result;
use super::filter::Filter;
use super::open::Tx;
use super::row::{from_row, one, value};
use super::schedules::StoredSchedule;
use super::stranded::{StrandedRoot, held_back, roots};
use super::unresolved;
use crate::model::{Attention, AttentionKind};
use crate::text::{Timestamp, counted};

/// Roots that are told in one sentence, because a schedule that dies every night leaves one each night.
struct Group {
    roots: Vec<i64>,
    /// None if the root was removed.
    job: Option<DependencyState>,
    /// Counted as in [`StrandedRoot::count`].
    count: u64,
    /// The lowest ids of the jobs behind them, at most [`StrandedRoot::MAX_JOBS`].
    jobs: Vec<i64>,
    /// Jobs that do the same as those behind the roots have succeeded since.
    is_made_good: bool,
}

/// A job behind a root.
struct Held {
    name: String,
    unique_key: Option<String>,
    task_hash: Option<i64>,
    enqueued_at: Timestamp,
}

/// The entries about the jobs that only a person can get going, by the jobs at the root of their wait.
pub(super) fn attention(tx: &Tx, filter: &Filter, schedules: &[StoredSchedule]) -> Result<Vec<Attention>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut successes = HashMap::new();
    for StrandedRoot { id, job, count, jobs } in roots(tx)? {
        if !concerns(tx, filter, id, job.is_none())? {
            continue;
        }
        let is_whole = count == jobs.len() as u64;
        let is_made_good = is_whole && are_made_good(tx, id, &jobs, &mut successes)?;
        let of_kind = |group: &&mut Group| {
            group.is_made_good == is_made_good
                && group.roots.len() < Attention::MAX_JOBS
                && job.is_some()
                && group.job.as_ref().map(kind_of) == job.as_ref().map(kind_of)
        };
        match groups.iter_mut().find(of_kind) {
            Some(group) => group.roots.push(id),
            None => groups.push(Group { roots: vec![id], job, count, jobs, is_made_good }),
        }
    }
    let mut list = Vec::new();
    for mut group in groups {
        if group.roots.len() > 1 {
            let mut jobs = held_back(tx, &group.roots, false)?;
            group.count = jobs.len() as u64;
            jobs.sort_unstable();
            jobs.truncate(StrandedRoot::MAX_JOBS);
            group.jobs = jobs;
        }
        let held = group.jobs.iter().map(|id| read(tx, *id)).collect::<Result<Vec<_>>>()?;
        list.push(entry(tx, group, &held, schedules)?);
    }
    Ok(list)
}

/// Roots that agree in this are told together.
fn kind_of(job: &DependencyState) -> (&str, Option<&str>, &str) {
    (&job.name, job.label.as_deref(), word(job))
}

/// What became of a root.
fn word(job: &DependencyState) -> &str {
    if job.resolved { "resolved" } else { job.state.as_str() }
}

fn read(tx: &Tx, id: i64) -> Result<Held> {
    let sql = "SELECT name, unique_key, task_hash, enqueued_at FROM jobs WHERE id = ?1";
    one(tx, sql, [id], |row| Ok(from_row!(row, Held { name, unique_key, task_hash, enqueued_at })))
}

/// Whether a job that does the same has succeeded for each of these jobs, since it was enqueued and its root ended.
fn are_made_good(
    tx: &Tx,
    root: i64,
    jobs: &[i64],
    successes: &mut HashMap<i64, Option<Timestamp>>,
) -> Result<bool> {
    let ended: Option<Timestamp> = one(tx, "SELECT max(changed_at) FROM jobs WHERE id = ?1", [root], value)?;
    for id in jobs {
        let job = read(tx, *id)?;
        let since = job.enqueued_at.max(ended.unwrap_or(job.enqueued_at));
        let success = unresolved::last_success(tx, job.task_hash, successes)?;
        if success.is_none_or(|success| success <= since) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn entry(tx: &Tx, group: Group, held: &[Held], schedules: &[StoredSchedule]) -> Result<Attention> {
    let Group { roots, job, count, jobs, is_made_good } = group;
    let shown: Vec<String> =
        jobs.iter().zip(held).take(MAX_NAMED).map(|(id, job)| format!("{id} {}", job.name)).collect();
    let more = if jobs.len() > shown.len() { ", …" } else { "" };
    let counted = if count > StrandedRoot::MAX_COUNT as u64 {
        format!("more than {} jobs", StrandedRoot::MAX_COUNT)
    } else {
        counted(count, "job")
    };
    let ids = roots.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let (noun, verb, holds) = if roots.len() == 1 { ("job", "is", "holds") } else { ("jobs", "are", "hold") };
    let what = format!("{holds} back {counted}: {}{more}", shown.join(", "));
    let who = format!("{noun} {}", ids.replace(' ', ", "));
    let cancel = (count <= jobs.len() as u64).then(|| {
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        format!("runner cancel {}", ids.join(" "))
    });
    let skipped = skipped(held, schedules);
    let Some(job) = job else {
        let message = format!("{who} was removed and {what}{skipped}");
        return Ok(of(AttentionKind::Stranded, message, cancel, jobs));
    };
    let label = job.label.as_ref().map(|label| format!(" [{label}]")).unwrap_or_default();
    let what = format!("{who} {}{label}, which {verb} {}, {what}", job.name, word(&job));
    if is_made_good {
        let message = format!("{what}; what does the same has succeeded since");
        return Ok(Attention { alarm: false, ..of(AttentionKind::Superseded, message, cancel, jobs) });
    }
    let (message, command) = if unresolved::retry_obstacle(tx, &roots)?.is_none() {
        let gives_up = cancel.map(|line| format!("; {line} gives up")).unwrap_or_default();
        (what + &skipped + &gives_up, Some(format!("runner retry {ids}")))
    } else {
        let newest = roots.last().copied().unwrap_or_default();
        (format!("{what}{skipped}; runner retry {newest} --force goes on, if its key is free"), cancel)
    };
    Ok(of(AttentionKind::Stranded, message, command, jobs))
}

fn of(kind: AttentionKind, message: String, command: Option<String>, jobs: Vec<i64>) -> Attention {
    Attention { kind, alarm: true, message, command, jobs }
}

/// Names the schedules that do not fire meanwhile, because one of the jobs holds the key of theirs.
fn skipped(held: &[Held], schedules: &[StoredSchedule]) -> String {
    let is_held = |row: &&StoredSchedule| {
        let key = row.chain.root.definition.unique_key.as_ref();
        key.is_some() && held.iter().any(|job| job.unique_key.as_ref() == key)
    };
    let names: Vec<&str> = schedules.iter().filter(is_held).map(StoredSchedule::name).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(", whose key keeps schedule {} from firing", names.join(", ")),
    }
}

/// Whether the filter selects the root, or one of the jobs that are stranded behind it.
fn concerns(tx: &Tx, filter: &Filter, root: i64, is_removed: bool) -> Result<bool> {
    if filter.name.is_none() && filter.queue.is_none() && filter.label.is_none() {
        return Ok(true);
    }
    let mut ids = held_back(tx, &[root], is_removed)?;
    ids.push(root);
    let mut wanted = filter.narrowed(tx.now);
    wanted.and("j.id IN (SELECT value FROM json_each({}))", serde_json::json!(ids).to_string());
    let sql = format!("SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE {})", wanted.sql);
    one(tx, &sql, params_from_iter(wanted.values), value)
}
