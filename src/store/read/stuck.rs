//! Stuck jobs: blocked jobs that only a person can get going, because a job that they depend on, directly or through other
//! blocked jobs, is dead, was cancelled or was removed.
//!
//! The search goes forward, from the jobs that somebody waits for to the jobs that wait, because a million jobs may wait
//! for one that is well.

use std::collections::HashSet;

use rusqlite::{params, params_from_iter};

use super::filter::Filter;
use super::problem::{Count, Found, Problem, Stuck};
use super::unresolved;
use crate::model::Attention;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, maybe, one, value};
use crate::store::write::dependencies::{self, DependencyState};

/// A job that is dead, cancelled or removed, and the jobs that are stuck behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckRoot {
    pub id: i64,
    /// None if the job was removed.
    pub job: Option<DependencyState>,
    /// The number of stuck jobs. [`StuckRoot::MAX_COUNT`] + 1 stands for any number above that.
    pub count: u64,
    /// The lowest ids of them, at most [`StuckRoot::MAX_JOBS`].
    pub jobs: Vec<i64>,
}

impl StuckRoot {
    /// Counting stops here, so that it stays quick whatever waits.
    pub const MAX_COUNT: usize = 10_000;
    /// The number of jobs that are named.
    pub const MAX_JOBS: usize = 20;
}

/// The jobs that are stuck behind some dead or cancelled jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// Counted as in [`StuckRoot::count`].
    pub count: usize,
    /// The names of the first [`StuckRoot::MAX_JOBS`] of them, each once.
    pub names: Vec<String>,
}

/// At most this number of roots has an entry, because nobody reads more.
const MAX_ROOTS: usize = if cfg!(test) { 3 } else { 1_000 };

/// With a filter, this number of roots is searched for those that it selects. The others are counted, up to the same number.
const MAX_SEARCHED: usize = if cfg!(test) { 5 } else { 10_000 };

/// The search reads one in this number of the dependents of unfinished jobs. If two of those wait for the same job, a million
/// more may do so, and the search goes on with the next job by a new statement.
const SAMPLE: u32 = if cfg!(test) { 2 } else { 64 };

impl Store {
    /// All jobs with stuck jobs behind them, by id. A job that has expired counts as dead, even if nobody has recorded that
    /// yet.
    pub fn stuck(&self) -> Result<Vec<StuckRoot>> {
        self.read(|tx| {
            let mut found = Vec::new();
            each_root(tx, |id| {
                found.push(root(tx, id)?);
                Ok(true)
            })?;
            Ok(found)
        })
    }

    /// The jobs that are stuck behind these dead or cancelled jobs.
    pub fn held_back(&self, ids: &[i64]) -> Result<HeldBack> {
        self.read(|tx| {
            let jobs = held_back(tx, ids, false)?;
            let mut names = Vec::new();
            for id in jobs.iter().take(StuckRoot::MAX_JOBS) {
                let name: String = one(tx, "SELECT name FROM jobs WHERE id = ?1", [id], value)?;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Ok(HeldBack { count: jobs.len(), names })
        })
    }
}

/// The stuck jobs behind this one.
fn root(tx: &Tx, id: i64) -> Result<StuckRoot> {
    let job = dependencies::state(tx, id)?;
    let mut jobs = held_back(tx, &[id], job.is_none())?;
    let count = jobs.len() as u64;
    jobs.sort_unstable();
    jobs.truncate(StuckRoot::MAX_JOBS);
    Ok(StuckRoot { id, job, count, jobs })
}

/// Hands the id of each job with stuck jobs behind it to `take`, by id, until that gives false.
fn each_root(tx: &Tx, mut take: impl FnMut(i64) -> Result<bool>) -> Result<()> {
    // Any end of a root lets a dependent of the other kind go on, unless there will be none.
    let sql = format!(
        "SELECT d.dependency_id, {HAS_ENDED} AS has_ended FROM dependencies AS d LEFT JOIN jobs AS j ON j.id = d.dependency_id
         WHERE d.dependency_id > ?1 AND NOT d.met
           AND CASE WHEN {HAS_ENDED} THEN (d.kind = 'success' OR j.id IS NULL)
                      AND EXISTS (SELECT 1 FROM jobs WHERE id = d.job_id AND state = 'pending' AND coalesce(expires_at > ?2, 1))
                    ELSE d.job_id % {SAMPLE} = 0 END
         ORDER BY d.dependency_id"
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut last = 0;
    loop {
        let mut rows = statement.query(params![last, tx.now])?;
        loop {
            let Some(row) = rows.next()? else { return Ok(()) };
            let id: i64 = row.get("dependency_id")?;
            if id == last {
                break;
            }
            last = id;
            if row.get("has_ended")? && !take(id)? {
                return Ok(());
            }
        }
    }
}

/// Whether the job `j` is dead, cancelled or removed at `?2`.
const HAS_ENDED: &str = "(j.id IS NULL OR j.state = 'dead' OR j.state = 'cancelled'
                          OR (j.state = 'pending' AND coalesce(j.expires_at <= ?2, 0)))";

/// The blocked jobs that depend on these jobs, directly or through others, the direct ones first: at most one more than
/// [`StuckRoot::MAX_COUNT`].
fn held_back(tx: &Tx, roots: &[i64], are_removed: bool) -> Result<Vec<i64>> {
    // Any end of a root lets a dependent of the other kind go on, unless there will be none.
    let sql = "SELECT j.id FROM dependencies AS d JOIN jobs AS j ON j.id = d.job_id
               WHERE d.dependency_id = ?1 AND NOT d.met AND (d.kind = 'success' OR ?2)
                     AND j.state = 'pending' AND coalesce(j.expires_at > ?3, 1) LIMIT ?4";
    let most = StuckRoot::MAX_COUNT + 1;
    let dependents = |id: i64, is_removed: bool| -> Result<Vec<i64>> {
        all(tx, sql, params![id, is_removed, tx.now, most], value)
    };
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for root in roots {
        if found.len() < most {
            found.extend(dependents(*root, are_removed)?.into_iter().filter(|id| known.insert(*id)));
        }
    }
    let mut next = 0;
    while let Some(id) = found.get(next).copied().filter(|_| found.len() < most) {
        next += 1;
        found.extend(dependents(id, false)?.into_iter().filter(|id| known.insert(*id)));
    }
    found.truncate(most);
    Ok(found)
}

/// The entries about jobs that only a person can get going, by the job at the root of their wait.
pub fn attention(tx: &Tx, filter: &Filter) -> Result<Vec<Found>> {
    let mut list = Vec::new();
    let (mut searched, mut others) = (0, Vec::new());
    each_root(tx, |id| {
        searched += 1;
        if list.len() >= MAX_ROOTS || searched > MAX_SEARCHED {
            others.push(id);
        } else if concerns(tx, filter, id)? {
            list.push(found(tx, root(tx, id)?)?);
        }
        Ok(others.len() <= MAX_SEARCHED)
    })?;
    if !others.is_empty() {
        let counted = others.len().min(MAX_SEARCHED) as u64;
        let count = Count { counted, is_more: others.len() > MAX_SEARCHED };
        others.truncate(Attention::MAX_JOBS);
        list.push(Problem::OtherStuck(count).alarm().about(others));
    }
    Ok(list)
}

fn found(tx: &Tx, StuckRoot { id, job, count, jobs }: StuckRoot) -> Result<Found> {
    let name = |id: &i64| one(tx, "SELECT name FROM jobs WHERE id = ?1", [id], value);
    let names: Vec<String> = jobs.iter().take(Attention::MAX_NAMED).map(name).collect::<Result<_>>()?;
    let most = StuckRoot::MAX_COUNT as u64;
    let count = Count { counted: count.min(most), is_more: count > most };
    let succeeded_since = succeeded_since(tx, id)?;
    let obstacle = match job {
        Some(_) => unresolved::retry_obstacle(tx, &[id])?,
        None => None,
    };
    let problem = Problem::Stuck(Stuck { root: id, job, count, names, obstacle, succeeded_since });
    Ok(if succeeded_since.is_none() { problem.alarm() } else { problem.note() }.about(jobs))
}

/// The newest job that does the same as this root and has succeeded since it ended: a later night of the same chain went well,
/// so nobody has to be woken for the jobs behind this one.
fn succeeded_since(tx: &Tx, root: i64) -> Result<Option<i64>> {
    let ended = "iif(r.state = 'pending', max(r.expires_at, r.changed_at), r.changed_at)";
    let sql = format!(
        "SELECT s.id FROM jobs AS r JOIN jobs AS s INDEXED BY jobs_succeeded
             ON s.task_hash = r.task_hash AND s.state = 'succeeded' AND s.task_hash IS NOT NULL AND s.changed_at > {ended}
         WHERE r.id = ?1 ORDER BY s.changed_at DESC LIMIT 1"
    );
    maybe(tx, &sql, [root], value)
}

/// Whether the filter selects the root, or one of the jobs that are stuck behind it.
fn concerns(tx: &Tx, filter: &Filter, root: i64) -> Result<bool> {
    if filter.name.is_none() && filter.queue.is_none() && filter.label.is_none() {
        return Ok(true);
    }
    let mut ids = held_back(tx, &[root], dependencies::state(tx, root)?.is_none())?;
    if ids.len() > StuckRoot::MAX_COUNT {
        // One of those that were not counted may be selected.
        return Ok(true);
    }
    ids.push(root);
    let mut wanted = filter.narrowed(tx.now);
    wanted.and("j.id IN (SELECT value FROM json_each({}))", serde_json::json!(ids).to_string());
    let sql = format!("SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE {})", wanted.sql);
    one(tx, &sql, params_from_iter(wanted.values), value)
}
