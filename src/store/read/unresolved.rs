//! Dead letters that nobody resolved, by name and label: those that need attention, and those of which a later run succeeded: a
//! job with the same name, label and arguments.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::dead_groups::{self, DeadGroups};
use super::dead_letters::last_words;
use super::filter::Filter;
use super::letters::{Group, Letters, Name};
use crate::model::{Attention, AttentionKind, AttentionSubject};
use crate::store::file::error::Result;
use crate::store::file::row::{maybe, one, value};
use crate::text::{Timestamp, clock_time, option};

/// For the newest deaths the last words are read; their output may be long.
const MAX_LAST_WORDS: usize = 100;

/// The last words are cut after this many characters.
const MAX_WORDS: usize = 160;

/// The entries about dead letters, the newest death first.
pub fn attention(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<Vec<Attention>> {
    let DeadGroups { named: groups, others, is_cut } = dead_groups::read(tx, filter, now)?;
    let mut list = Vec::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for ((name, _), _) in &groups {
        *labels.entry(name).or_default() += 1;
    }
    for (index, (name, group)) in groups.iter().enumerate() {
        // Others of the name may have labels that the filter leaves out, or that were not read.
        let is_alone = !is_cut && filter.label.is_none() && labels.get(name.0.as_str()) == Some(&1);
        let which = selection(name, is_alone);
        if !group.dead.newest.is_empty() {
            let (tells, is_one_task) =
                (index < MAX_LAST_WORDS, is_one_task(tx, filter, name, is_alone, group)?);
            list.push(dead(tx, (name, &which, is_one_task), group, tells, now)?);
        }
        if !group.recovered.newest.is_empty() {
            list.push(recovered((name, &which), &group.recovered, now));
        }
    }
    if let Some(Group { dead, recovered }) = others {
        let dead = Some(dead).filter(|letters| !letters.is_empty());
        list.extend(dead.map(|letters| other_dead(&letters, now)));
        let recovered = Some(recovered).filter(|letters| !letters.is_empty());
        list.extend(recovered.map(|letters| other_recovered(&letters, filter, now)));
    }
    Ok(list)
}

/// The entry about dead letters that no other entry is about.
fn other_dead(letters: &Letters, now: Timestamp) -> Attention {
    let look = "runner inspect dead lists all";
    let message = match letters.newest.first() {
        Some((at, _)) => {
            format!("besides these, {} died, the last {}; {look}", letters.counted(), clock_time(*at, now))
        }
        None => format!("so many jobs have expired that others may have died, too; {look}"),
    };
    let kind = AttentionKind::Dead;
    Attention { kind, alarm: true, message, own_from: 0, command: None, jobs: letters.ids(), subject: None }
}

/// The entry about dead letters of which a later run succeeded, and that no other entry is about.
fn other_recovered(letters: &Letters, filter: &Filter, now: Timestamp) -> Attention {
    let last = letters.newest.first().map(|(at, _)| clock_time(*at, now)).unwrap_or_default();
    let message = format!(
        "besides these, {} died, the last {last}, and one that does the same has succeeded since",
        letters.counted()
    );
    // With a filter, that would resolve more than this entry is about.
    let is_about_all = filter.name.is_none() && filter.label.is_none() && filter.queue.is_none();
    Attention {
        kind: AttentionKind::Recovered,
        alarm: false,
        // It may name a label, and names no command.
        own_from: message.len(),
        message,
        command: is_about_all.then(|| "runner resolve --dead --recovered".to_owned()),
        jobs: letters.ids(),
        subject: None,
    }
}

/// A name with its label, as a sentence has it.
fn shown((name, label): &Name) -> String {
    label.as_ref().map_or_else(|| name.clone(), |label| format!("{name} [{label}]"))
}

/// The options that select a name, and its label if others of the name have another one.
fn selection((name, label): &Name, is_alone: bool) -> String {
    if is_alone {
        return format!("--name {name}");
    }
    format!("--name {name} {}", option("--label", label.as_deref().unwrap_or_default()))
}

/// The ids as a command takes them, in their order.
fn joined(ids: &[i64]) -> String {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn recovered((name, which): (&Name, &str), letters: &Letters, now: Timestamp) -> Attention {
    let (jobs, who) = (letters.counted(), shown(name));
    let last = letters.newest.first().map(|(at, _)| clock_time(*at, now)).unwrap_or_default();
    let message =
        format!("{jobs} of {who} died, the last {last}, and one that does the same has succeeded since");
    let command = if letters.are_all_named() {
        format!("runner resolve {}", joined(&letters.ids()))
    } else {
        format!("runner resolve --dead --recovered {which}")
    };
    Attention {
        kind: AttentionKind::Recovered,
        alarm: false,
        // It may name a label, and names no command.
        own_from: message.len(),
        message,
        command: Some(command),
        jobs: letters.ids(),
        subject: Some(AttentionSubject::of(&name.0)),
    }
}

/// Whether the command for this name, or for this name and label, selects several dead letters that all do the same.
fn is_one_task(
    tx: &Connection,
    filter: &Filter,
    (name, label): &Name,
    is_alone: bool,
    Group { dead, .. }: &Group,
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
    (name, selection, is_one_task): (&Name, &str, bool),
    group: &Group,
    with_words: bool,
    now: Timestamp,
) -> Result<Attention> {
    let letters = &group.dead;
    let (died_at, newest) = letters.newest.first().copied().unwrap_or((now, 0));
    let (who, when) = (shown(name), clock_time(died_at, now));
    let Last { code, words, has_run } = last(tx, newest, with_words)?;
    let words = if words.is_empty() { String::new() } else { format!(": {}", cut(words)) };
    let ids = letters.ids();
    let which = if letters.are_all_named() { joined(&ids) } else { format!("--dead {selection}") };
    let resolve = format!("runner resolve {which}");
    let latest = format!("runner retry --dead {selection} --latest");
    // Of those that do the same only the newest is to run again.
    let to_run = if is_one_task { ids.iter().copied().max().into_iter().collect() } else { ids.clone() };
    // `retry --dead` would take the ones that recovered, too.
    let (command, other) = match retry_obstacle(tx, &to_run)? {
        None if is_one_task => (
            latest,
            format!("one run does for all; runner resolve --dead {selection} if that was dealt with"),
        ),
        Some(RetryObstacle::NeedsForce) if is_one_task => {
            (resolve, format!("{latest} --force runs the newest again and resolves the others"))
        }
        None if letters.are_all_named() || group.recovered.jobs == 0 => {
            // A sentence with many ids is hard to read, and the command below it has them, too.
            let instead = if ids.len() > Attention::MAX_NAMED {
                "runner resolve in place of retry,"
            } else {
                resolve.as_str()
            };
            (format!("runner retry {which}"), format!("{instead} if that was dealt with"))
        }
        None | Some(RetryObstacle::SharedKey) => {
            (resolve, format!("runner retry {newest} runs the newest again"))
        }
        Some(RetryObstacle::NeedsForce) => (resolve, format!("runner retry {newest} --force runs it again")),
        Some(RetryObstacle::HeldKey) => (resolve, "an unfinished job holds its key".to_owned()),
    };
    let logs = if has_run { format!("; runner logs {newest} shows more") } else { String::new() };
    let died = if letters.jobs == 1 && !letters.is_more {
        format!("{who} died {when}, {code}{words}")
    } else {
        format!("{} of {who} died, the last {when}, {code}{words}", letters.counted())
    };
    let (message, own_from) = (format!("{died}{logs}; {other}"), died.len());
    let subject = AttentionSubject { name: name.0.clone(), deaths: letters.jobs, last_death: Some(died_at) };
    let kind = AttentionKind::Dead;
    let (command, subject) = (Some(command), Some(subject));
    Ok(Attention { kind, alarm: true, message, own_from, command, jobs: ids, subject })
}

/// The text, cut if it is long.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_WORDS) {
        text.truncate(end);
        text.push('…');
    }
    text
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

/// A reason why `retry` would not take all of some dead jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryObstacle {
    /// One is not retryable.
    NeedsForce,
    /// Two of them need the same key.
    SharedKey,
    /// An unfinished job holds the key of one.
    HeldKey,
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
