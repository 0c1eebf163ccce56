//! Finds the dead letters that nobody resolved, by name and label: those that need attention, and those of which a later
//! run succeeded: a job with the same name, label and arguments.
//!
//! A million jobs may have died, each with a label of its own. So only the first groups are read in full. Behind them the
//! search goes through all others and counts those that need attention, because none of these may be hidden by any number
//! of which a later run succeeded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Row, ToSql, params};

use super::dead_jobs::{DeadJobs, DeadOfName, MAX_BEYOND, Name};
use super::filter::Filter;
use crate::model::Attention;
use crate::store::file::error::Result;
use crate::store::file::row::{each, find, maybe, one, value};
use crate::text::Timestamp;

/// The number of expired jobs, not yet recorded as dead, that are read.
const MAX_EXPIRED: usize = if cfg!(test) { 4 } else { 10_000 };

/// The jobs of a group are counted up to this number, and those of all groups up to the second one, so that this stays quick
/// whatever has died.
const MAX_COUNTED: u64 = 10_000;
const MAX_COUNTED_IN_ALL: u64 = 50_000;

/// At most this number of groups is read in full, and at most this number of names and labels is named, because nobody reads
/// more.
const MAX_GROUPS: usize = if cfg!(test) { 3 } else { 1_000 };

/// Once it counts no more of what recovered, the search reads one in this number of it. If two of those died alike, a
/// million more may have done so, and the search goes on behind them by a new statement.
const SAMPLE: u32 = if cfg!(test) { 2 } else { 64 };

/// The condition of the index `jobs_unresolved`.
const UNRESOLVED: &str = "state = 'dead' AND resolved_at IS NULL";

/// What was found.
#[derive(Debug, Default)]
pub struct DeadGroups {
    /// The newest death first, and then those that recovered.
    pub named: Vec<(Name, DeadOfName)>,
    /// The jobs of all other names and labels; none if there are none.
    pub others: Option<DeadOfName>,
    /// Not every group was read in full: others of a name may have other labels.
    pub is_cut: bool,
}

/// Reads the groups of which this filter selects jobs.
pub fn read(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<DeadGroups> {
    let mut reader = DeadCounter {
        tx,
        filter,
        groups: BTreeMap::new(),
        dead: 0,
        read: 0,
        others: DeadOfName::default(),
        successes: HashMap::new(),
        countable: MAX_COUNTED_IN_ALL,
    };
    let cut_at = reader.read_recorded()?;
    let mut is_cut = cut_at.is_some();
    if let Some(task) = cut_at {
        reader.search(task)?;
    }
    is_cut |= reader.read_expired(now)?;
    let DeadCounter { groups, mut others, .. } = reader;
    let mut named: Vec<(Name, DeadOfName)> = groups.into_iter().collect();
    named.sort_by_key(|(_, group)| Reverse(group.dead.newest.first().copied()));
    for (_, group) in named.split_off(named.len().min(MAX_GROUPS)) {
        is_cut = true;
        others.dead.take_unnamed(group.dead);
        others.recovered.take_unnamed(group.recovered);
    }
    let has_others = !others.dead.is_empty() || !others.recovered.is_empty();
    Ok(DeadGroups { named, others: has_others.then_some(others), is_cut })
}

/// Jobs that do the same: name, label and hash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Task(Name, Option<i64>);

/// Where the search goes on.
#[derive(Clone, Debug)]
enum From {
    /// With those of the task that died at or after this time.
    Within(Task, Timestamp),
    /// With the tasks of the same name and label after this one.
    Task(Task),
    /// With the labels of the same name after this one.
    Label(Name),
    /// With the names after this one.
    Name(String),
}

impl From {
    /// What comes after all of this; none if the filter selects nothing there, or that was the end.
    fn next(self, filter: &Filter) -> Option<Self> {
        match self {
            Self::Within(task, _) => Some(Self::Task(task)),
            Self::Task(Task(name, _)) => Some(Self::Label(name)),
            Self::Label((name, _)) if filter.name.is_none() => Some(Self::Name(name)),
            Self::Label(_) | Self::Name(_) => None,
        }
    }
}

struct DeadCounter<'a> {
    tx: &'a Connection,
    filter: &'a Filter,
    groups: BTreeMap<Name, DeadOfName>,
    /// The number of these groups that need attention.
    dead: usize,
    /// The number of tasks that were read in full.
    read: usize,
    /// The jobs of groups that are not named.
    others: DeadOfName,
    /// The last success of a job by its `task_hash`.
    successes: HashMap<i64, Option<Timestamp>>,
    /// The number of jobs that may still be counted.
    countable: u64,
}

/// Whether no later run of the job `j`, which died at this time, succeeded.
fn is_dead(died_at: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM jobs AS s INDEXED BY jobs_succeeded WHERE s.state = 'succeeded'
                     AND s.task_hash IS NOT NULL AND s.task_hash = j.task_hash AND s.changed_at > {died_at})"
    )
}

/// The conditions of the filter on `jobs AS j`, with its queue as `?5` and its label as `?6`. Its name is where the search
/// goes.
fn narrowed(filter: &Filter) -> &'static str {
    match (filter.queue.as_ref(), filter.label.as_deref()) {
        (None, None) => "?5 IS NULL AND ?6 IS NULL",
        (Some(_), None) => "j.queue = ?5 AND ?6 IS NULL",
        (None, Some("")) => "?5 IS NULL AND j.label IS NULL AND ?6 = ''",
        (Some(_), Some("")) => "j.queue = ?5 AND j.label IS NULL AND ?6 = ''",
        (None, Some(_)) => "?5 IS NULL AND j.label = ?6",
        (Some(_), Some(_)) => "j.queue = ?5 AND j.label = ?6",
    }
}

impl DeadCounter<'_> {
    /// The last success of a job that does the same; none for a job of which no other one does the work.
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
    /// jobs may have died alike. Returns the last task, if there may be more.
    fn read_recorded(&mut self) -> Result<Option<Task>> {
        let mut last = String::new();
        while let Some(name) = self.next_name(&last)? {
            let mut label: Option<Name> = None;
            while let Some(next) = self.next_label(&name, label.as_ref())? {
                if let Some(cut_at) = self.read_name(&next)? {
                    return Ok(Some(cut_at));
                }
                label = Some(next);
            }
            last = name;
        }
        Ok(None)
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

    /// Reads the dead jobs of a name and label. Returns the last task if no more may be read in full.
    fn read_name(&mut self, name: &Name) -> Result<Option<Task>> {
        let select = format!(
            "SELECT task_hash FROM jobs INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND name = ?1 AND label IS ?2"
        );
        let first = select.clone() + " ORDER BY task_hash LIMIT 1";
        let mut next = maybe(self.tx, &first, params![name.0, name.1], value::<Option<i64>>)?;
        let after = select + " AND task_hash > ?3 ORDER BY task_hash LIMIT 1";
        while let Some(hash) = next {
            let task = Task(name.clone(), hash);
            self.read_task(&task)?;
            if self.read >= MAX_GROUPS {
                return Ok(Some(task));
            }
            let last = hash.unwrap_or(i64::MIN);
            next = maybe(self.tx, &after, params![name.0, name.1, last], value)?;
        }
        Ok(None)
    }

    fn read_task(&mut self, Task(name, hash): &Task) -> Result<()> {
        self.read += 1;
        let success = self.last_success(*hash)?;
        let since = success.unwrap_or(Timestamp(i64::MIN));
        let dead = self.dead_jobs(name, *hash, since, true)?;
        let recovered = match success {
            Some(success) => self.dead_jobs(name, *hash, success, false)?,
            None => DeadJobs::default(),
        };
        if dead.jobs > 0 || recovered.jobs > 0 {
            let group = self.groups.entry(name.clone()).or_default();
            self.dead += usize::from(group.dead.jobs == 0 && dead.jobs > 0);
            group.dead.take(dead);
            group.recovered.take(recovered);
        }
        Ok(())
    }

    /// Goes through all jobs after this task. Those that need attention are named while there is room, and then counted.
    fn search(&mut self, task: Task) -> Result<()> {
        // In KiB. Otherwise the successes, which it seeks in no order, are read from the file again and again.
        self.tx.execute_batch("PRAGMA cache_size = -16384")?;
        let mut next = Some(From::Task(task));
        while let Some(from) = next {
            next = match self.search_from(&from)? {
                None => from.next(self.filter),
                Some(_) if self.others.dead.is_more => None,
                goes_on => goes_on,
            };
        }
        Ok(())
    }

    /// Reads jobs from there on. Returns where the search goes on; none if there is no job left of this name and label, or of
    /// this name, or at all, as `from` says.
    fn search_from(&mut self, from: &From) -> Result<Option<From>> {
        let only_dead = self.others.recovered.is_more;
        let (name, label, hash, since): (&String, Option<&String>, Option<i64>, Option<Timestamp>);
        let place = match from {
            From::Within(Task(of, task), at) => {
                (name, label, hash, since) = (&of.0, of.1.as_ref(), *task, Some(*at));
                "j.name = ?1 AND j.label IS ?2 AND j.task_hash IS ?3 AND j.changed_at >= ?4"
            }
            From::Task(Task(of, task)) => {
                (name, label, hash, since) = (&of.0, of.1.as_ref(), Some(task.unwrap_or(i64::MIN)), None);
                "j.name = ?1 AND j.label IS ?2 AND j.task_hash > ?3 AND ?4 IS NULL"
            }
            // No label is empty.
            From::Label(of) => {
                static NONE: String = String::new();
                (name, label, hash, since) = (&of.0, Some(of.1.as_ref().unwrap_or(&NONE)), None, None);
                "j.name = ?1 AND j.label > ?2 AND ?3 IS NULL AND ?4 IS NULL"
            }
            From::Name(of) => {
                (name, label, hash, since) = (of, None, None, None);
                "j.name > ?1 AND ?2 IS NULL AND ?3 IS NULL AND ?4 IS NULL"
            }
        };
        let is_dead = is_dead("j.changed_at");
        let sample = if only_dead { format!("({is_dead} OR j.id % {SAMPLE} = 0)") } else { "1".to_owned() };
        let filter = self.filter;
        let wanted = narrowed(filter);
        let sql = format!(
            "SELECT j.id, j.name, j.label, j.task_hash, j.changed_at, {is_dead} AS is_dead
             FROM jobs AS j INDEXED BY jobs_unresolved WHERE {UNRESOLVED} AND {place} AND {sample} AND {wanted}
             ORDER BY j.name, j.label, j.task_hash, j.changed_at"
        );
        let values = params![name, label, hash, since, filter.queue, filter.label];
        let mut last: Option<Task> = None;
        // Of the last task, those that recovered.
        let mut recovered = DeadJobs::default();
        let goes_on = find(self.tx, &sql, values, |row| {
            let task = Task((row.get("name")?, row.get("label")?), row.get("task_hash")?);
            let died: (Timestamp, i64) = (row.get("changed_at")?, row.get("id")?);
            let is_repeated = last.as_ref() == Some(&task);
            if !is_repeated {
                self.others.recovered.take_unnamed(std::mem::take(&mut recovered));
            }
            if row.get("is_dead")? {
                if self.has_room() {
                    // That reads those that recovered, too.
                    recovered = DeadJobs::default();
                    self.read_task(&task)?;
                    return Ok(Some(From::Task(task)));
                }
                self.others.dead.take_unnamed(DeadJobs::of(died));
                if self.others.dead.is_more {
                    return Ok(Some(From::Task(task)));
                }
            } else if only_dead {
                if is_repeated && let Some(success) = self.last_success(task.1)? {
                    return Ok(Some(From::Within(task, success)));
                }
            } else {
                recovered.take_unnamed(DeadJobs::of(died));
                if recovered.is_more || recovered.jobs + self.others.recovered.jobs > MAX_BEYOND {
                    return Ok(Some(From::Within(task, died.0)));
                }
            }
            last = Some(task);
            Ok(None)
        })?;
        self.others.recovered.take_unnamed(recovered);
        Ok(goes_on)
    }

    /// Whether one more task may be read in full, and its name and label be named.
    fn has_room(&self) -> bool {
        self.dead < MAX_GROUPS && self.read < 2 * MAX_GROUPS
    }

    /// The dead letters of a group that died at or after a success, or before it.
    fn dead_jobs(
        &mut self,
        name: &Name,
        hash: Option<i64>,
        success: Timestamp,
        is_after: bool,
    ) -> Result<DeadJobs> {
        let newest = self.newest(name, hash, success, is_after)?;
        let mut dead_jobs = DeadJobs { jobs: newest.len() as u64, is_more: false, newest };
        if dead_jobs.newest.len() < Attention::MAX_JOBS || self.countable == 0 {
            dead_jobs.is_more = dead_jobs.newest.len() == Attention::MAX_JOBS;
            return Ok(dead_jobs);
        }
        let most = self.countable.min(MAX_COUNTED);
        let sql = format!("SELECT count(*) FROM ({} LIMIT ?6)", self.of_group("1", is_after));
        let (name, label) = name;
        let values = params![name, label, hash, success, self.filter.queue, most + 1];
        let counted: u64 = one(self.tx, &sql, values, value)?;
        self.countable -= counted.min(most);
        dead_jobs.is_more = counted > most;
        dead_jobs.jobs = counted.min(most).max(dead_jobs.jobs);
        Ok(dead_jobs)
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

    /// Reads the jobs that have expired, and that nobody has recorded as dead yet: those that need attention first. True if
    /// there are more.
    fn read_expired(&mut self, now: Timestamp) -> Result<bool> {
        let mut is_cut = false;
        for finds_dead in [true, false] {
            let died_at = "max(j.expires_at, j.changed_at)";
            let is_dead = is_dead(died_at);
            let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
            let wanted = self.filter.narrowed(now);
            // Of those that recovered only the newest are looked at, because there may be none among a million others.
            let (condition, most) =
                if finds_dead { (is_dead.as_str(), MAX_EXPIRED + 1) } else { ("1", MAX_EXPIRED) };
            let sql = format!(
                "SELECT j.id, j.name, j.label, {died_at} AS died_at, {is_dead} AS is_dead FROM jobs AS j INDEXED BY jobs_expiring
                 WHERE {expired} AND {} AND {condition} ORDER BY j.expires_at DESC LIMIT {most}",
                wanted.sql
            );
            let mut found = Vec::new();
            let values: Vec<&dyn ToSql> = wanted.values.iter().map(|value| value as &dyn ToSql).collect();
            each(self.tx, &sql, values.as_slice(), |row| {
                let name: Name = (row.get("name")?, row.get("label")?);
                if row.get::<_, bool>("is_dead")? == finds_dead {
                    found.push((name, (row.get("died_at")?, row.get("id")?)));
                }
                Ok(())
            })?;
            let is_more = found.len() > MAX_EXPIRED;
            is_cut |= is_more;
            for (name, died) in found.into_iter().take(MAX_EXPIRED) {
                let group = self.groups.entry(name).or_default();
                let dead_jobs = if finds_dead { &mut group.dead } else { &mut group.recovered };
                dead_jobs.is_more |= is_more;
                dead_jobs.add(1, [died]);
            }
            if finds_dead {
                self.others.dead.is_more |= is_more;
            }
        }
        Ok(is_cut)
    }
}
