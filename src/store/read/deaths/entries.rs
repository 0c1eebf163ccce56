//! The entries about dead letters that nobody resolved, by name and error code.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params_from_iter};

use super::dead_job::{LAST_RUN, LAST_WORDS, MESSAGE_ALONE, last_words};
use super::groups::{self, DeadGroups, DeadJob, DeadJobs, DiedAlike};
use super::obstacle::retry_obstacle;
use crate::model::Attention;
use crate::store::file::error::Result;
use crate::store::file::open::Tx;
use crate::store::file::row::{all, maybe, one, value};
use crate::store::read::filter::Filter;
use crate::store::read::problem::{AttentionEntry, Dead, DeadLetters, Problem, RetryObstacle, SameWork};
use crate::store::write::same_work::task;
use crate::store::write::{definition, job_files, stuck};
use crate::text::Timestamp;

/// For the newest deaths the last words are read; their output may be long.
const MAX_LAST_WORDS: usize = 100;

/// One run may do for several dead letters, unless other jobs wait for an older one. At most this number of older ones of a name is
/// looked at, because a million may have died.
const MAX_OLDER: usize = 100;

/// The number of labels that are named.
const MAX_LABELS: usize = 3;

/// The entries about dead letters, the newest death first.
pub fn attention(tx: &Tx, filter: &Filter, now: Timestamp) -> Result<Vec<AttentionEntry>> {
    let DeadGroups { groups, others, has_more_expired } = groups::read(tx, filter, now)?;
    let reader = Unresolved { tx, filter, names: of_names(&groups) };
    let mut list = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if let Some(newest) = group.dead.jobs.first() {
            list.push(reader.dead(group, newest, index < MAX_LAST_WORDS)?);
        }
        if let Some(newest) = group.recovered.jobs.first() {
            let letters = reader.letters(group, &group.recovered, newest)?;
            list.push(Problem::Recovered(letters).note().about(group.recovered.ids()));
        }
    }
    if has_more_expired || !others.dead.jobs.is_empty() {
        let newest = others.dead.jobs.first().map(|job| job.died_at);
        list.push(
            Problem::OtherDead { count: others.dead.count(), last: newest }.alarm().about(others.dead.ids()),
        );
    }
    if let Some(newest) = others.recovered.jobs.first() {
        let is_all = filter.name.is_none() && filter.label.is_none() && filter.queue.is_none();
        let count = others.recovered.count();
        let problem = Problem::OtherRecovered { count, last: newest.died_at, is_all };
        list.push(problem.note().about(others.recovered.ids()));
    }
    Ok(list)
}

/// What is known of all dead letters of a name that were read.
struct OfName {
    /// The hash of what they do; none if they differ, or if no other job does the same.
    task: Option<i64>,
    /// The rows of the files that declare them. If these are several, the name does not tell which are meant.
    files: HashSet<Option<i64>>,
}

fn of_names(groups: &[DiedAlike]) -> HashMap<&str, OfName> {
    let mut names: HashMap<&str, OfName> = HashMap::new();
    for group in groups {
        for job in group.dead.jobs.iter().chain(&group.recovered.jobs) {
            let first = || OfName { task: job.task, files: HashSet::new() };
            let known = names.entry(&group.name).or_insert_with(first);
            known.task = known.task.filter(|known| job.task == Some(*known));
            known.files.extend(job.has_origin().then_some(job.job_file));
        }
    }
    names
}

struct Unresolved<'a> {
    tx: &'a Tx<'a>,
    filter: &'a Filter,
    names: HashMap<&'a str, OfName>,
}

impl Unresolved<'_> {
    fn dead(&self, group: &DiedAlike, newest: &DeadJob, with_words: bool) -> Result<AttentionEntry> {
        let dead = &group.dead;
        let LastRun { words, has_output } = last_run(self.tx, newest.id, with_words)?;
        let (same_work, obstacle) = self.one_run_for(group)?;
        let problem = Problem::Dead(Dead {
            letters: self.letters(group, dead, newest)?,
            newest: newest.id,
            words,
            has_output,
            same_work,
            obstacle,
            has_recovered: !group.recovered.jobs.is_empty(),
        });
        Ok(problem.alarm().about(dead.ids()))
    }

    /// Which of these dead letters one run would do for, and why `retry` would not take those that are to run again then.
    fn one_run_for(&self, group: &DiedAlike) -> Result<(SameWork, Option<RetryObstacle>)> {
        let dead = &group.dead;
        if self.has_several_files(&group.name) {
            return Ok((SameWork::None, retry_obstacle(self.tx, &dead.ids())?));
        }
        let (same_work, to_run, older) = if let Some(last) = self.last_of_same_work(&group.name)? {
            (SameWork::AllOfName, vec![last], self.older_of_name(&group.name, last)?)
        } else {
            let newest: Vec<i64> = dead.newest_of_each_task().iter().map(|job| job.id).collect();
            let known: HashSet<&i64> = newest.iter().collect();
            let older = dead.jobs.iter().map(|job| job.id).filter(|id| !known.contains(id));
            let older: Vec<i64> = older.take(MAX_OLDER).collect();
            let same_work = if older.is_empty() { SameWork::None } else { SameWork::Some };
            (same_work, newest.into_iter().take(Attention::MAX_JOBS).collect(), older)
        };
        // Whoever waits for an older one goes on only if that one runs again, which it cannot beside another of its key.
        if !stuck::behind(self.tx, &older, false, 1)?.is_empty() {
            let obstacle = retry_obstacle(self.tx, &dead.ids())?;
            if obstacle != Some(RetryObstacle::SharedKey) {
                return Ok((SameWork::None, obstacle));
            }
        }
        Ok((same_work, retry_obstacle(self.tx, &to_run)?))
    }

    fn letters(&self, group: &DiedAlike, jobs: &DeadJobs, newest: &DeadJob) -> Result<DeadLetters> {
        let labelled = jobs.newest_of_each_label();
        let mut newest_labels = Vec::new();
        for job in labelled.iter().take(MAX_LABELS) {
            newest_labels.extend(self.shown_label(job)?);
        }
        Ok(DeadLetters {
            name: group.name.clone(),
            error_code: group.error_code.clone(),
            count: jobs.count(),
            last: newest.died_at,
            newest_labels,
            labels: labelled.len() as u64,
            wanted_label: self.filter.label.clone(),
            are_all_named: jobs.are_all_named(),
            file: job_files::path(self.tx, group.job_file)?,
            has_several_files: self.has_several_files(&group.name),
        })
    }

    fn has_several_files(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|of_name| of_name.files.len() > 1)
    }

    fn shown_label(&self, job: &DeadJob) -> Result<Option<String>> {
        if job.label.is_some() {
            return Ok(job.label.clone());
        }
        let sql = "SELECT j.label, j.args_nul, j.needs_version, d.definition
                   FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1";
        one(self.tx, sql, [job.id], |row| definition::shown_label(row, &definition::read(row, "definition")?))
    }

    /// The newest of the dead letters of this name, which all do the same, without the last one.
    fn older_of_name(&self, name: &str, last: i64) -> Result<Vec<i64>> {
        let mut wanted = self.filter.narrowed(Timestamp(0));
        wanted.and("j.name = {}", name.to_owned());
        wanted.and("j.id <> {}", last);
        let sql = format!(
            "SELECT j.id FROM jobs AS j INDEXED BY jobs_unresolved
             WHERE j.state = 'dead' AND j.resolved_at IS NULL AND {}
             ORDER BY j.name DESC, j.label DESC, j.task_hash DESC, j.changed_at DESC LIMIT {MAX_OLDER}",
            wanted.sql
        );
        all(self.tx, &sql, params_from_iter(&wanted.values), value)
    }

    /// The last of several dead letters of this name that all do the same; none if they do not. The commands know no queue.
    fn last_of_same_work(&self, name: &str) -> Result<Option<i64>> {
        let read = self.names.get(name).and_then(|of_name| of_name.task);
        let Some(hash) = read.filter(|_| self.filter.queue.is_none()) else { return Ok(None) };
        // Jobs of which no other one does the work have no hash, and come first.
        let mut wanted = self.filter.narrowed(Timestamp(0));
        wanted.and("j.name = {}", name.to_owned());
        let end = |order: &str| -> Result<Option<(i64, Option<i64>)>> {
            let sql = format!(
                "SELECT j.id, {} AS task FROM jobs AS j INDEXED BY jobs_unresolved
                 WHERE j.state = 'dead' AND j.resolved_at IS NULL AND {}
                 ORDER BY j.name {order}, j.label {order}, j.task_hash {order}, j.changed_at {order} LIMIT 1",
                task("j"),
                wanted.sql
            );
            maybe(self.tx, &sql, params_from_iter(&wanted.values), |row| {
                Ok((row.get("id")?, row.get("task")?))
            })
        };
        let (Some(first), Some(last)) = (end("ASC")?, end("DESC")?) else { return Ok(None) };
        Ok((first != last && first.1 == Some(hash) && last.1 == Some(hash)).then_some(last.0))
    }
}

/// How the last run of a job ended.
pub struct LastRun {
    pub words: String,
    pub has_output: bool,
}

pub fn last_run(tx: &Connection, id: i64, with_words: bool) -> Result<LastRun> {
    let words = if with_words { LAST_WORDS } else { MESSAGE_ALONE };
    let sql = format!(
        "SELECT o.job_id IS NOT NULL AS has_output, {words} FROM jobs AS j {LAST_RUN} WHERE j.id = ?1"
    );
    one(tx, &sql, [id], |row| Ok(LastRun { words: last_words(tx, row)?, has_output: row.get("has_output")? }))
}
