//! Dead letters that nobody resolved, by name and label: those that need attention, and those of which a later run succeeded: a
//! job with the same name, label and arguments.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::dead_groups::{self, DeadGroups};
use super::dead_jobs::{self, DeadJobs, Name};
use super::dead_letters::last_words;
use super::filter::Filter;
use super::problem::{Dead, Found, Group, Problem, RetryObstacle};
use crate::store::file::error::Result;
use crate::store::file::row::{maybe, one, value};
use crate::text::Timestamp;

/// For the newest deaths the last words are read; their output may be long.
const MAX_LAST_WORDS: usize = 100;

/// The entries about dead letters, the newest death first.
pub fn attention(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<Vec<Found>> {
    let DeadGroups { named: groups, others, is_cut } = dead_groups::read(tx, filter, now)?;
    let mut list = Vec::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for ((name, _), _) in &groups {
        *labels.entry(name).or_default() += 1;
    }
    for (index, (name, group)) in groups.iter().enumerate() {
        // Others of the name may have labels that the filter leaves out, or that were not read.
        let is_alone = !is_cut && filter.label.is_none() && labels.get(name.0.as_str()) == Some(&1);
        if !group.dead.newest.is_empty() {
            let is_one_task = is_one_task(tx, filter, name, is_alone, group)?;
            list.push(dead(tx, (name, is_alone, is_one_task), group, index < MAX_LAST_WORDS, now)?);
        }
        if let Some((last, _)) = group.recovered.newest.first() {
            let (count, jobs) = (group.recovered.count(), group.recovered.ids());
            let group = selected(name, is_alone, &group.recovered);
            list.push(Problem::Recovered { group, count, last: *last }.note().about(jobs));
        }
    }
    if let Some(dead_jobs::DeadOfName { dead, recovered }) = others {
        if !dead.is_empty() {
            let newest = dead.newest.first().map(|(at, _)| *at);
            list.push(Problem::OtherDead { count: dead.count(), last: newest }.alarm().about(dead.ids()));
        }
        if let Some((last, _)) = recovered.newest.first() {
            let is_all = filter.name.is_none() && filter.label.is_none() && filter.queue.is_none();
            let problem = Problem::OtherRecovered { count: recovered.count(), last: *last, is_all };
            list.push(problem.note().about(recovered.ids()));
        }
    }
    Ok(list)
}

fn selected((name, label): &Name, is_alone: bool, dead_jobs: &DeadJobs) -> Group {
    Group { name: name.clone(), label: label.clone(), is_alone, are_all_named: dead_jobs.are_all_named() }
}

/// Whether the command for this name, or for this name and label, selects several dead letters that all do the same.
fn is_one_task(
    tx: &Connection,
    filter: &Filter,
    (name, label): &Name,
    is_alone: bool,
    dead_jobs::DeadOfName { dead, .. }: &dead_jobs::DeadOfName,
) -> Result<bool> {
    // The commands know no queue.
    if filter.queue.is_some() || dead.jobs < 2 {
        return Ok(false);
    }
    // The first and the last one along the index. Jobs of which no other one does the work have no hash, and come first.
    let of_label = if is_alone { "?2 IS ?2" } else { "label IS ?2" };
    let end = |order: &str| -> Result<Option<(Option<String>, Option<i64>)>> {
        let sql = format!(
            "SELECT label, task_hash FROM jobs INDEXED BY jobs_unresolved
             WHERE state = 'dead' AND resolved_at IS NULL AND name = ?1 AND {of_label}
             ORDER BY label {order}, task_hash {order} LIMIT 1"
        );
        maybe(tx, &sql, params![name, label], |row| Ok((row.get("label")?, row.get("task_hash")?)))
    };
    let (first, last) = (end("ASC")?, end("DESC")?);
    // Those that have expired, and are not recorded as dead yet, are not in that index.
    let hash = |id: &i64| one(tx, "SELECT task_hash FROM jobs WHERE id = ?1", [id], value::<Option<i64>>);
    let mut hashes = dead.ids().iter().map(hash).collect::<Result<Vec<_>>>()?;
    hashes.extend(first.iter().chain(&last).map(|(_, hash)| *hash));
    Ok(first == last && hashes.iter().all(|hash| hash.is_some() && *hash == hashes[0]))
}

fn dead(
    tx: &Connection,
    (name, is_alone, is_one_task): (&Name, bool, bool),
    group: &dead_jobs::DeadOfName,
    with_words: bool,
    now: Timestamp,
) -> Result<Found> {
    let dead_jobs = &group.dead;
    let (died_at, newest) = dead_jobs.newest.first().copied().unwrap_or((now, 0));
    let Last { code, words, has_run } = last(tx, newest, with_words)?;
    let ids = dead_jobs.ids();
    // Of those that do the same only the newest is to run again.
    let to_run = if is_one_task { ids.iter().copied().max().into_iter().collect() } else { ids.clone() };
    let problem = Problem::Dead(Dead {
        group: selected(name, is_alone, dead_jobs),
        count: dead_jobs.count(),
        newest,
        died_at,
        code,
        words,
        has_run,
        is_one_task,
        obstacle: retry_obstacle(tx, &to_run)?,
        has_recovered: group.recovered.jobs > 0,
    });
    Ok(problem.alarm().about(ids))
}

/// How a dead job ended.
struct Last {
    code: String,
    words: String,
    has_run: bool,
}

fn last(tx: &Connection, id: i64, with_words: bool) -> Result<Last> {
    let sql = "SELECT coalesce(j.error_code, 'EXPIRED') AS error_code, j.attempts, a.message,
                      iif(?2 AND a.message IS NULL, o.stderr, NULL) AS stderr,
                      iif(?2 AND a.message IS NULL AND length(o.stderr) = 0, o.stdout, NULL) AS stdout
               FROM jobs AS j LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
               LEFT JOIN outputs AS o ON o.job_id = j.id AND o.number = j.attempts WHERE j.id = ?1";
    one(tx, sql, params![id, with_words], |row| {
        Ok(Last {
            code: row.get("error_code")?,
            words: last_words(row)?,
            has_run: row.get::<_, u32>("attempts")? > 0,
        })
    })
}

/// None if `retry` would take all of these dead jobs.
pub fn retry_obstacle(tx: &Connection, ids: &[i64]) -> Result<Option<RetryObstacle>> {
    let mut keys = Vec::new();
    for id in ids {
        let sql = "SELECT j.unique_key, coalesce(d.definition ->> '$.policy.retryable', 1) AS retryable,
                          EXISTS (SELECT 1 FROM jobs AS h WHERE h.unique_key = j.unique_key AND h.unique_key IS NOT NULL
                                  AND h.state IN ('pending', 'running') AND h.id <> j.id) AS is_held
                   FROM jobs AS j LEFT JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1";
        let (key, retryable, is_held): (Option<String>, bool, bool) = one(tx, sql, [id], |row| {
            Ok((row.get("unique_key")?, row.get("retryable")?, row.get("is_held")?))
        })?;
        if is_held {
            return Ok(Some(RetryObstacle::HeldKey));
        }
        if !retryable {
            return Ok(Some(RetryObstacle::NeedsForce));
        }
        if let Some(key) = key {
            if keys.contains(&key) {
                return Ok(Some(RetryObstacle::SharedKey));
            }
            keys.push(key);
        }
    }
    Ok(None)
}
