//! Dead letters that nobody resolved, by name and label: those that need attention, and those that a later success of a job
//! with the same name, label and arguments has made good.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Row, params};

use super::dead_letters::last_words;
use super::error::Result;
use super::filter::Filter;
use super::row::{each, maybe, one, value};
use crate::model::{Attention, AttentionKind, AttentionSubject};
use crate::text::{Timestamp, clock_time, counted, shell_word};

/// The number of expired jobs, not yet recorded as dead, that are read; the others are counted to none of the names.
const MAX_EXPIRED: usize = 10_000;

/// The jobs of a group are counted up to this number, and those of all groups up to the second one, so that this stays quick
/// whatever has died.
const MAX_COUNTED: u64 = 10_000;
const MAX_COUNTED_IN_ALL: u64 = 50_000;

/// At most this number of names and labels is found, because nobody reads more.
const MAX_GROUPS: usize = 1_000;

/// For the newest deaths the last words are read; their output may be long.
const MAX_LAST_WORDS: usize = 100;

/// The last words are cut after this many characters.
const MAX_WORDS: usize = 160;

/// The condition of the index `jobs_unresolved`.
const UNRESOLVED: &str = "state = 'dead' AND resolved_at IS NULL";

/// The dead letters of one kind, of one name and label.
#[derive(Debug, Default)]
struct Letters {
    jobs: u64,
    /// There are more than were counted.
    is_more: bool,
    /// The deaths of the newest, the last first.
    newest: Vec<(Timestamp, i64)>,
}

impl Letters {
    fn add(&mut self, jobs: u64, newest: impl IntoIterator<Item = (Timestamp, i64)>) {
        self.jobs += jobs;
        self.newest.extend(newest);
        self.newest.sort_unstable_by(|a, b| b.cmp(a));
        self.newest.truncate(Attention::MAX_JOBS);
    }

    fn take(&mut self, other: Self) {
        self.is_more |= other.is_more;
        self.add(other.jobs, other.newest);
    }

    fn ids(&self) -> Vec<i64> {
        self.newest.iter().map(|(_, id)| *id).collect()
    }

    fn are_all_named(&self) -> bool {
        !self.is_more && self.jobs == self.newest.len() as u64
    }

    fn counted(&self) -> String {
        if self.is_more { format!("more than {} jobs", self.jobs) } else { counted(self.jobs, "job") }
    }
}

/// A name and a label.
type Name = (String, Option<String>);

#[derive(Debug, Default)]
struct Group {
    dead: Letters,
    superseded: Letters,
}

/// The entries about dead letters, the newest death first.
pub(super) fn attention(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<Vec<Attention>> {
    let mut reader = Reader {
        tx,
        filter,
        groups: BTreeMap::new(),
        successes: HashMap::new(),
        countable: MAX_COUNTED_IN_ALL,
    };
    reader.read_recorded()?;
    reader.read_expired(now)?;
    let mut groups: Vec<(Name, Group)> = reader.groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.dead.newest.first().copied()));
    let mut list = Vec::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for ((name, _), _) in &groups {
        *labels.entry(name).or_default() += 1;
    }
    for (index, (name, group)) in groups.iter().enumerate() {
        // Others of the name may have labels that the filter leaves out.
        let is_alone = filter.label.is_none() && labels.get(name.0.as_str()) == Some(&1);
        let which = selection(name, is_alone);
        if !group.dead.newest.is_empty() {
            list.push(dead(tx, (name, &which), group, index < MAX_LAST_WORDS, now)?);
        }
        if !group.superseded.newest.is_empty() {
            list.push(superseded((name, &which), &group.superseded, now));
        }
    }
    Ok(list)
}

struct Reader<'a> {
    tx: &'a Connection,
    filter: &'a Filter,
    groups: BTreeMap<Name, Group>,
    /// The last success of a job by its `task_hash`.
    successes: HashMap<i64, Option<Timestamp>>,
    /// The number of jobs that may still be counted.
    countable: u64,
}

impl Reader<'_> {
    /// The last success of a job that does the same; none for a job that no other one makes good.
    fn last_success(&mut self, task_hash: Option<i64>) -> Result<Option<Timestamp>> {
        let Some(hash) = task_hash else { return Ok(None) };
        if let Some(known) = self.successes.get(&hash) {
            return Ok(*known);
        }
        let sql = "SELECT max(changed_at) FROM jobs INDEXED BY jobs_succeeded
                   WHERE state = 'succeeded' AND task_hash IS NOT NULL AND task_hash = ?1";
        let found = one(self.tx, sql, [hash], value)?;
        self.successes.insert(hash, found);
        Ok(found)
    }

    /// Reads the dead jobs along their index. It seeks from one group of jobs that do the same to the next, because a million
    /// jobs may have died alike.
    fn read_recorded(&mut self) -> Result<()> {
        let mut last = String::new();
        while let Some(name) = self.next_name(&last)?
            && self.groups.len() < MAX_GROUPS
        {
            let mut label: Option<Name> = None;
            while let Some(next) = self.next_label(&name, label.as_ref())?
                && self.groups.len() < MAX_GROUPS
            {
                self.read_name(&next)?;
                label = Some(next);
            }
            last = name;
        }
        Ok(())
    }

    fn next_name(&self, last: &str) -> Result<Option<String>> {
        let wanted = self.filter.name.as_ref().filter(|name| name.as_str() > last);
        let sql = format!(
            "SELECT name FROM jobs INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND name > ?1 ORDER BY name LIMIT 1"
        );
        match (&self.filter.name, wanted) {
            (None, _) => maybe(self.tx, &sql, [last], value),
            (Some(_), wanted) => Ok(wanted.cloned()),
        }
    }

    /// The name with the label after this one, among its dead jobs. Jobs without a label come first.
    fn next_label(&self, name: &str, last: Option<&Name>) -> Result<Option<Name>> {
        let select =
            format!("SELECT label FROM jobs INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND name = ?1");
        let read = |row: &Row<'_>| Ok((name.to_owned(), row.get("label")?));
        if let Some(wanted) = &self.filter.label {
            let wanted = Some(wanted).filter(|label| !label.is_empty());
            return match last {
                None => maybe(self.tx, &(select + " AND label IS ?2 LIMIT 1"), params![name, wanted], read),
                Some(_) => Ok(None),
            };
        }
        match last {
            None => maybe(self.tx, &(select + " ORDER BY label LIMIT 1"), [name], read),
            // No label is empty.
            Some((_, last)) => {
                let last = last.as_deref().unwrap_or_default();
                maybe(self.tx, &(select + " AND label > ?2 ORDER BY label LIMIT 1"), [name, last], read)
            }
        }
    }

    /// Reads the dead jobs of a name and label.
    fn read_name(&mut self, name: &Name) -> Result<()> {
        let select = format!(
            "SELECT task_hash FROM jobs INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND name = ?1 AND label IS ?2"
        );
        let first = select.clone() + " ORDER BY task_hash LIMIT 1";
        let mut next = maybe(self.tx, &first, params![name.0, name.1], value::<Option<i64>>)?;
        let after = select + " AND task_hash > ?3 ORDER BY task_hash LIMIT 1";
        while let Some(hash) = next {
            let success = self.last_success(hash)?;
            let since = success.unwrap_or(Timestamp(i64::MIN));
            let dead = self.letters(name, hash, since, true)?;
            let superseded = match success {
                Some(success) => self.letters(name, hash, success, false)?,
                None => Letters::default(),
            };
            let group = self.groups.entry(name.clone()).or_default();
            group.dead.take(dead);
            group.superseded.take(superseded);
            let last = hash.unwrap_or(i64::MIN);
            next = maybe(self.tx, &after, params![name.0, name.1, last], value)?;
        }
        Ok(())
    }

    /// The dead letters of a group that died at or after a success, or before it.
    fn letters(
        &mut self,
        name: &Name,
        hash: Option<i64>,
        success: Timestamp,
        is_after: bool,
    ) -> Result<Letters> {
        let newest = self.newest(name, hash, success, is_after)?;
        let mut letters = Letters { jobs: newest.len() as u64, is_more: false, newest };
        if letters.newest.len() < Attention::MAX_JOBS || self.countable == 0 {
            letters.is_more = letters.newest.len() == Attention::MAX_JOBS;
            return Ok(letters);
        }
        let most = self.countable.min(MAX_COUNTED);
        let sql = format!("SELECT count(*) FROM ({} LIMIT ?6)", self.of_group("1", is_after));
        let (name, label) = name;
        let values = params![name, label, hash, success, self.filter.queue, most + 1];
        let counted: u64 = one(self.tx, &sql, values, value)?;
        self.countable -= counted.min(most);
        letters.is_more = counted > most;
        letters.jobs = counted.min(most).max(letters.jobs);
        Ok(letters)
    }

    /// Restricts a query to the jobs of a group that died at or after a success, or before it.
    fn of_group(&self, columns: &str, is_after: bool) -> String {
        let and_queue = if self.filter.queue.is_some() { "queue = ?5" } else { "?5 IS NULL" };
        let comparison = if is_after { ">=" } else { "<" };
        format!(
            "SELECT {columns} FROM jobs INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND name = ?1 AND label IS ?2
             AND task_hash IS ?3 AND changed_at {comparison} ?4 AND {and_queue}"
        )
    }

    fn newest(
        &self,
        (name, label): &Name,
        hash: Option<i64>,
        success: Timestamp,
        is_after: bool,
    ) -> Result<Vec<(Timestamp, i64)>> {
        let sql = self.of_group("changed_at, id", is_after) + " ORDER BY changed_at DESC, id DESC LIMIT ?6";
        let mut found = Vec::new();
        let values = params![name, label, hash, success, self.filter.queue, Attention::MAX_JOBS];
        each(self.tx, &sql, values, |row| {
            found.push((row.get("changed_at")?, row.get("id")?));
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the jobs that have expired, and that nobody has recorded as dead yet.
    fn read_expired(&mut self, now: Timestamp) -> Result<()> {
        let sql = "SELECT id, name, label, task_hash, max(expires_at, changed_at) AS died_at, queue
                   FROM jobs INDEXED BY jobs_expiring
                   WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
                   ORDER BY expires_at DESC LIMIT ?2";
        let mut expired = Vec::new();
        each(self.tx, sql, params![now, MAX_EXPIRED + 1], |row| {
            let name: Name = (row.get("name")?, row.get("label")?);
            let queue: String = row.get("queue")?;
            let died: (Timestamp, i64) = (row.get("died_at")?, row.get("id")?);
            expired.push((name, queue, row.get::<_, Option<i64>>("task_hash")?, died));
            Ok(())
        })?;
        let is_more = expired.len() > MAX_EXPIRED;
        for (name, queue, hash, died) in expired {
            let is_wanted = self.filter.name.as_ref().is_none_or(|wanted| *wanted == name.0)
                && self.filter.wants_label(name.1.as_deref())
                && self.filter.queue.as_ref().is_none_or(|wanted| *wanted == queue);
            if !is_wanted {
                continue;
            }
            let is_superseded = self.last_success(hash)?.is_some_and(|success| died.0 < success);
            let group = self.groups.entry(name).or_default();
            let letters = if is_superseded { &mut group.superseded } else { &mut group.dead };
            letters.is_more |= is_more;
            letters.add(1, [died]);
        }
        Ok(())
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
    let label = shell_word(label.as_deref().unwrap_or_default());
    format!("--name {name} --label {label}")
}

/// The ids as a command takes them, in their order.
fn joined(ids: &[i64]) -> String {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn superseded((name, which): (&Name, &str), letters: &Letters, now: Timestamp) -> Attention {
    let (jobs, who) = (letters.counted(), shown(name));
    let last = letters.newest.first().map(|(at, _)| clock_time(*at, now)).unwrap_or_default();
    let message =
        format!("{jobs} of {who} died, the last {last}, and one that does the same has succeeded since");
    let command = if letters.are_all_named() {
        format!("runner resolve {}", joined(&letters.ids()))
    } else {
        format!("runner resolve --dead --superseded {which}")
    };
    Attention {
        kind: AttentionKind::Superseded,
        alarm: false,
        message,
        command: Some(command),
        jobs: letters.ids(),
        subject: Some(AttentionSubject::of(&name.0)),
    }
}

fn dead(
    tx: &Connection,
    (name, selection): (&Name, &str),
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
    // `retry --dead` would take the ones that were made good, too.
    let (command, other) = match retry_obstacle(tx, &ids)? {
        None if letters.are_all_named() || group.superseded.jobs == 0 => {
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
    let message = if letters.jobs == 1 && !letters.is_more {
        format!("{who} died {when}, {code}{words}{logs}; {other}")
    } else {
        format!("{} of {who} died, the last {when}, {code}{words}{logs}; {other}", letters.counted())
    };
    let subject = AttentionSubject { name: name.0.clone(), deaths: letters.jobs, last_death: Some(died_at) };
    let kind = AttentionKind::Dead;
    Ok(Attention { kind, alarm: true, message, command: Some(command), jobs: ids, subject: Some(subject) })
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
pub(super) enum RetryObstacle {
    /// One is not retryable.
    NeedsForce,
    /// Two of them need the same key.
    SharedKey,
    /// An unfinished job holds the key of one.
    HeldKey,
}

/// None if `retry` would take all of these dead jobs.
pub(super) fn retry_obstacle(tx: &Connection, ids: &[i64]) -> Result<Option<RetryObstacle>> {
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
