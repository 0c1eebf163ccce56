//! Finds the dead letters that nobody resolved, by name and error code: those that need attention, and those of which a later
//! run succeeded: a job with the same name, label and arguments.
//!
//! A million jobs may have died. So of each name and code only so many are looked at, from the end of their index, where the
//! newest of those that do the same are. The others are searched if all of these have recovered, because no number of jobs that
//! recovered may hide one that needs attention.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{Connection, Row, params_from_iter};

use super::dead_job::{DIED_AT, EXPIRED_AT, has_recovered};
use crate::model::{Attention, EXPIRED};
use crate::store::file::error::Result;
use crate::store::file::row::{all, maybe, one};
use crate::store::read::filter::{Conditions, Filter};
use crate::store::read::problem::Count;
use crate::store::write::conditions::has_expired;
use crate::store::write::same_work;
use crate::text::Timestamp;

/// At most this number of jobs of a group is read.
const MAX_COUNTED: usize = if cfg!(test) { 4 } else { 10_000 };
/// At most this number of jobs of all groups together is read, but of each group as many as an entry names.
const MAX_COUNTED_IN_ALL: usize = if cfg!(test) { 30 } else { 50_000 };

/// At most this number of groups is told apart, because nobody reads more.
const MAX_GROUPS: usize = if cfg!(test) { 3 } else { 1_000 };

/// Dead letters of one name and error code, or of all that no other group has.
#[derive(Debug, Default)]
pub struct DiedAlike {
    pub name: String,
    pub error_code: String,
    /// The row of the job file that declares them; none if it is not known, and of ad hoc jobs.
    pub job_file: Option<i64>,
    /// Those that need attention.
    pub dead: DeadJobs,
    pub recovered: DeadJobs,
}

/// Dead jobs, the last death first.
#[derive(Debug, Default)]
pub struct DeadJobs {
    pub jobs: Vec<DeadJob>,
    /// There may be more.
    pub is_more: bool,
}

#[derive(Clone, Debug)]
pub struct DeadJob {
    pub died_at: Timestamp,
    pub id: i64,
    pub label: Option<String>,
    /// None if no other job does the same.
    pub task: Option<i64>,
    definition_id: i64,
    pub job_file: Option<i64>,
    /// Definition and arguments of a job that has neither a label nor a hash.
    own_work: Option<(i64, Option<Vec<u8>>)>,
    has_recovered: bool,
}

#[derive(Debug, Default)]
pub struct DeadGroups {
    /// The newest death first.
    pub groups: Vec<DiedAlike>,
    /// The jobs of the names and codes after these.
    pub others: DiedAlike,
    /// More jobs have expired than were looked at.
    pub has_more_expired: bool,
}

impl DeadJobs {
    pub fn count(&self) -> Count {
        Count { counted: self.jobs.len() as u64, is_more: self.is_more }
    }

    /// The ids of the newest.
    pub fn ids(&self) -> Vec<i64> {
        self.jobs.iter().take(Attention::MAX_JOBS).map(|job| job.id).collect()
    }

    pub fn are_all_named(&self) -> bool {
        !self.is_more && self.jobs.len() <= Attention::MAX_JOBS
    }

    /// The newest job of each label, or else of each arguments of jobs that no other one does again. The others have neither.
    pub fn newest_of_each_label(&self) -> Vec<&DeadJob> {
        let is_told_apart = |job: &&DeadJob| job.label.is_some() || job.own_work.is_some();
        let mut seen = HashSet::new();
        let jobs = self.jobs.iter().filter(is_told_apart);
        jobs.filter(|job| seen.insert((&job.label, &job.own_work))).collect()
    }

    /// The newest of those that do the same, and those of which no other job does the work.
    pub fn newest_of_each_task(&self) -> Vec<&DeadJob> {
        let mut seen = HashSet::new();
        self.jobs.iter().filter(|job| job.task.is_none_or(|task| seen.insert(task))).collect()
    }

    fn sort(&mut self) {
        self.jobs.sort_unstable_by_key(|job| Reverse((job.died_at, job.id)));
    }
}

impl DiedAlike {
    /// Parts the group by job file. Jobs that no file declared stay with the others, if these are of one file.
    fn by_file(self) -> Vec<Self> {
        let Self { name, error_code, dead, recovered, .. } = self;
        let of_all = dead.jobs.iter().chain(&recovered.jobs).filter(|job| job.has_origin());
        let files: BTreeSet<Option<i64>> = of_all.map(|job| job.job_file).collect();
        let only = (files.len() == 1).then(|| files.first().copied().flatten());
        let mut groups: BTreeMap<Option<i64>, Self> = BTreeMap::new();
        for (of, is_dead) in [(dead, true), (recovered, false)] {
            for job in of.jobs {
                let job_file = if job.has_origin() { job.job_file } else { only.flatten() };
                let group = groups.entry(job_file).or_default();
                let jobs = if is_dead { &mut group.dead } else { &mut group.recovered };
                jobs.jobs.push(job);
                jobs.is_more |= of.is_more;
            }
        }
        let named = |(job_file, group)| Self {
            name: name.clone(),
            error_code: error_code.clone(),
            job_file,
            ..group
        };
        groups.into_iter().map(named).collect()
    }

    fn add(&mut self, jobs: Vec<DeadJob>) {
        for job in jobs {
            if job.has_recovered { &mut self.recovered } else { &mut self.dead }.jobs.push(job);
        }
    }
}

/// Reads the groups of the jobs that this filter selects.
pub fn read(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<DeadGroups> {
    let mut reader = DeadReader { tx, filter, now, countable: MAX_COUNTED_IN_ALL };
    let mut groups: BTreeMap<(String, String), DiedAlike> = BTreeMap::new();
    let mut others = DiedAlike::default();
    let mut last = (String::new(), String::new());
    while let Some(next) = reader.next_group(&last)? {
        if groups.len() == MAX_GROUPS {
            others = reader.read_recorded(&reader.after(&last))?;
            break;
        }
        groups.insert(next.clone(), reader.read_recorded(&reader.of_group(&next))?);
        last = next;
    }
    let (expired, has_more_expired) = reader.read_expired()?;
    for (name, job) in expired {
        let group = groups.entry((name, EXPIRED.to_owned())).or_default();
        group.add(vec![job]);
    }
    let named = |((name, error_code), group)| DiedAlike { name, error_code, ..group }.by_file();
    forget_alerts(tx, groups.values_mut().chain([&mut others]))?;
    let mut groups: Vec<DiedAlike> = groups.into_iter().flat_map(named).collect();
    for group in groups.iter_mut().chain([&mut others]) {
        group.dead.sort();
        group.recovered.sort();
        let may_be_more = has_more_expired && group.error_code == EXPIRED;
        group.dead.is_more |= may_be_more && !group.dead.jobs.is_empty();
        group.recovered.is_more |= may_be_more && !group.recovered.jobs.is_empty();
    }
    groups.sort_by_key(|group| Reverse(group.dead.jobs.first().map(|job| job.died_at)));
    Ok(DeadGroups { groups, others, has_more_expired })
}

/// Leaves alerts without a task: none of them does the work of another.
fn forget_alerts<'g>(tx: &Connection, groups: impl Iterator<Item = &'g mut DiedAlike>) -> Result<()> {
    let jobs = groups.flat_map(|group| group.dead.jobs.iter_mut().chain(&mut group.recovered.jobs));
    let jobs: Vec<&mut DeadJob> = jobs.filter(|job| job.task.is_some()).collect();
    let alerts = same_work::alerts(tx, &jobs.iter().map(|job| job.definition_id).collect())?;
    for job in jobs {
        job.task = job.task.filter(|_| !alerts.contains(&job.definition_id));
    }
    Ok(())
}

struct DeadReader<'a> {
    tx: &'a Connection,
    filter: &'a Filter,
    now: Timestamp,
    /// The number of jobs that may still be looked at.
    countable: usize,
}

/// The recorded dead letters along their index. SQLite looks for the condition of a partial index in the text of the query.
const RECORDED: &str =
    "jobs AS j INDEXED BY jobs_unresolved_by_code WHERE j.state = 'dead' AND j.resolved_at IS NULL";

impl DeadReader<'_> {
    fn of_group(&self, (name, error_code): &(String, String)) -> Conditions {
        let mut wanted = self.filter.narrowed(self.now);
        wanted.and("j.name = {}", name.clone());
        wanted.and("j.error_code = {}", error_code.clone());
        wanted
    }

    /// The jobs of the names and codes after these.
    fn after(&self, (name, error_code): &(String, String)) -> Conditions {
        let mut wanted = self.filter.narrowed(self.now);
        wanted.and_pair("(j.name, j.error_code) > ({}, {})", name.clone(), error_code.clone());
        wanted
    }

    /// The next code of the same name, or else the first one of the next name: a comparison of both at once would walk over all jobs of the name.
    fn next_group(&self, (name, error_code): &(String, String)) -> Result<Option<(String, String)>> {
        let mut of_name = self.filter.narrowed(self.now);
        of_name.and("j.name = {}", name.clone());
        of_name.and("j.error_code > {}", error_code.clone());
        let mut of_next_name = self.filter.narrowed(self.now);
        of_next_name.and("j.name > {}", name.clone());
        for wanted in [of_name, of_next_name] {
            let sql = format!(
                "SELECT j.name, j.error_code FROM {RECORDED} AND {} ORDER BY j.name, j.error_code LIMIT 1",
                wanted.sql
            );
            let next = maybe(self.tx, &sql, params_from_iter(&wanted.values), |row| {
                Ok((row.get("name")?, row.get("error_code")?))
            })?;
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    fn read_recorded(&mut self, wanted: &Conditions) -> Result<DiedAlike> {
        let most = self.countable.clamp(Attention::MAX_JOBS.min(MAX_COUNTED), MAX_COUNTED);
        let (jobs, is_more) = self.last_along_index(wanted, "1", most)?;
        self.countable = self.countable.saturating_sub(jobs.len());
        let mut group = DiedAlike::default();
        group.add(jobs);
        if group.recovered.jobs.is_empty() {
            group.dead.is_more = is_more;
        } else if is_more {
            group.recovered.is_more = true;
            let needs_attention = format!("NOT {}", has_recovered(DIED_AT));
            (group.dead.jobs, group.dead.is_more) = self.last_along_index(wanted, &needs_attention, most)?;
        }
        if group.dead.is_more
            && let Some(last) = self.last_death(wanted)?
            && !last.has_recovered
            && group.dead.jobs.iter().all(|job| job.id != last.id)
        {
            // Another one goes, so that there are still as many as were counted.
            group.dead.jobs.pop();
            group.dead.jobs.push(last);
        }
        Ok(group)
    }

    /// Reads along the index from its end. True if there are more.
    fn last_along_index(
        &self,
        wanted: &Conditions,
        condition: &str,
        most: usize,
    ) -> Result<(Vec<DeadJob>, bool)> {
        let sql = format!(
            "SELECT {} FROM {RECORDED} AND {} AND {condition}
             ORDER BY j.name DESC, j.error_code DESC, j.label DESC, j.task_hash DESC, j.changed_at DESC LIMIT {}",
            columns(DIED_AT),
            wanted.sql,
            most + 1
        );
        let mut jobs = all(self.tx, &sql, params_from_iter(&wanted.values), DeadJob::read)?;
        let is_more = jobs.len() > most;
        jobs.truncate(most);
        Ok((jobs, is_more))
    }

    /// The job that died last, which may have recovered.
    fn last_death(&self, wanted: &Conditions) -> Result<Option<DeadJob>> {
        let sql = format!("SELECT max(j.changed_at), j.id FROM {RECORDED} AND {}", wanted.sql);
        let id: Option<i64> = one(self.tx, &sql, params_from_iter(&wanted.values), |row| Ok(row.get("id")?))?;
        let sql = format!("SELECT {} FROM jobs AS j WHERE j.id = ?1", columns(DIED_AT));
        maybe(self.tx, &sql, [id], DeadJob::read)
    }

    /// The jobs that have expired, and that nobody has recorded as dead yet, with their names; and whether there are more.
    fn read_expired(&self) -> Result<(Vec<(String, DeadJob)>, bool)> {
        let wanted = self.filter.narrowed(self.now);
        // Of those that recovered only the newest are looked at, because there may be none among a million others.
        let read = |condition: &str, limit: usize| {
            let sql = format!(
                "SELECT j.name, {} FROM jobs AS j INDEXED BY jobs_expiring
                 WHERE {} AND {} AND {condition}
                 ORDER BY j.expires_at DESC LIMIT {limit}",
                columns(EXPIRED_AT),
                has_expired("j", "?1"),
                wanted.sql
            );
            all(self.tx, &sql, params_from_iter(&wanted.values), |row| {
                Ok((row.get("name")?, DeadJob::read(row)?))
            })
        };
        let mut found: Vec<(String, DeadJob)> = read("1", MAX_COUNTED)?;
        found.retain(|(_, job)| job.has_recovered);
        let mut dead = read(&format!("NOT {}", has_recovered(EXPIRED_AT)), MAX_COUNTED + 1)?;
        let is_more = dead.len() > MAX_COUNTED;
        dead.truncate(MAX_COUNTED);
        found.extend(dead);
        Ok((found, is_more))
    }
}

/// The columns that [`DeadJob::read`] takes, of a job `j` that died at this time. Those of its own work are not in the index.
fn columns(died_at: &str) -> String {
    format!(
        "j.id, {died_at} AS died_at, j.label, j.task_hash, j.definition_id, j.job_file,
         iif(j.label IS NULL AND j.task_hash IS NULL, j.args_nul, NULL) AS own_args,
         {} AS has_recovered",
        has_recovered(died_at)
    )
}

impl DeadJob {
    /// Whether a job file declares it, known or not. Of a job that is one of a kind and has no file it does not matter.
    pub fn has_origin(&self) -> bool {
        self.job_file.is_some() || self.task.is_some()
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        let (label, task): (Option<String>, Option<i64>) = (row.get("label")?, row.get("task_hash")?);
        let definition_id = row.get("definition_id")?;
        let has_own_work = label.is_none() && task.is_none();
        let own_args = row.get("own_args")?;
        Ok(Self {
            died_at: row.get("died_at")?,
            id: row.get("id")?,
            label,
            task,
            definition_id,
            job_file: row.get("job_file")?,
            own_work: has_own_work.then_some((definition_id, own_args)),
            has_recovered: row.get("has_recovered")?,
        })
    }
}
