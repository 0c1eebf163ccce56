//! Stuck jobs by the jobs at the root of their wait: which these are, whom they keep, and what needs attention of that. The rule
//! is in `write/stuck.rs`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Row, params, params_from_iter};

use super::deaths::dead_job::{DIED_AT, EXPIRED_AT};
use super::deaths::obstacle::retry_obstacle;
use super::filter::Filter;
use super::problem::{AttentionEntry, Count, Problem, RootEnd, Stuck};
use crate::model::Attention;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{one, value};
use crate::store::write::job_files;
use crate::store::write::same_work::later_success;
use crate::store::write::stuck::{self, edge_blocks, ended_without_success, waits};

/// The jobs that are stuck behind some dead or cancelled jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckBehind {
    /// [`StuckBehind::MAX_COUNT`] + 1 stands for any number above that.
    pub count: usize,
    /// The names of the first [`Attention::MAX_JOBS`] of them, each once.
    pub names: Vec<String>,
}

impl StuckBehind {
    /// Counting stops here, so that it stays quick whatever waits.
    pub const MAX_COUNT: usize = 10_000;
}

/// At most this number of names has an entry, because nobody reads more.
const MAX_GROUPS: usize = if cfg!(test) { 3 } else { 1_000 };

/// This number of roots is looked at, the newest first. The others are counted, up to the same number.
const MAX_ROOTS: usize = if cfg!(test) { 5 } else { 10_000 };

/// One command retries at most this number of roots.
const MAX_RETRIED: usize = 50;

/// A million jobs may wait for one that is well, and none of them is stuck. So of the edges to unfinished jobs the search reads
/// one in this number. When it meets the same job a second time, it leaves the other edges of that job out, by a new statement
/// that begins with the next job.
const SAMPLE: u32 = if cfg!(test) { 2 } else { 64 };

impl Store {
    /// The jobs that are stuck behind these dead or cancelled jobs.
    pub fn held_back(&self, ids: &[i64]) -> Result<StuckBehind> {
        self.read(|tx| {
            let jobs = held_back(tx, ids, false)?;
            let mut names = Vec::new();
            for id in jobs.iter().take(Attention::MAX_JOBS) {
                let name: String = one(tx, "SELECT name FROM jobs WHERE id = ?1", [id], value)?;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Ok(StuckBehind { count: jobs.len(), names })
        })
    }
}

/// A job with stuck jobs behind it, while these are grouped.
pub struct Root {
    pub id: i64,
    /// None if it was removed.
    name: Option<String>,
    /// The row of its job file.
    job_file: Option<i64>,
    end: RootEnd,
    /// The newest success that makes it good: a later night of the same chain went well, so nobody has to be woken for the jobs
    /// behind this one.
    succeeded_since: Option<i64>,
}

/// Hands each job with stuck jobs behind it to `take`, the newest first, until that gives false.
pub fn each_root(tx: &Tx, mut take: impl FnMut(Root) -> Result<bool>) -> Result<()> {
    let (ended_without_success, waits) = (ended_without_success(), waits());
    let sql = format!(
        "SELECT d.dependency_id, {ended_without_success} AS ended_without_success, j.name, j.job_file, j.resolved_at IS NOT NULL AS is_resolved,
                j.state = 'cancelled' AS is_cancelled, {} AS succeeded_since
         FROM dependencies AS d LEFT JOIN jobs AS j ON j.id = d.dependency_id
         WHERE d.dependency_id < ?1 AND NOT d.met
           AND CASE WHEN {ended_without_success} THEN {} AND EXISTS (SELECT 1 FROM jobs AS w WHERE w.id = d.job_id AND {waits})
                    ELSE d.job_id % {SAMPLE} = 0 END
         ORDER BY d.dependency_id DESC",
        later_success(&format!("iif(j.state = 'pending', {EXPIRED_AT}, {DIED_AT})")),
        edge_blocks("j.id IS NULL")
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut last = i64::MAX;
    loop {
        let mut rows = statement.query(params![last, tx.now])?;
        loop {
            let Some(row) = rows.next()? else { return Ok(()) };
            let id: i64 = row.get("dependency_id")?;
            if id == last {
                break;
            }
            last = id;
            if row.get("ended_without_success")? && !take(Root::read(row, id)?)? {
                return Ok(());
            }
        }
    }
}

impl Root {
    fn read(row: &Row<'_>, id: i64) -> Result<Self> {
        let name: Option<String> = row.get("name")?;
        let end = if name.is_none() {
            RootEnd::Removed
        } else if row.get("is_resolved")? {
            RootEnd::Resolved
        } else if row.get("is_cancelled")? {
            RootEnd::Cancelled
        } else {
            RootEnd::Dead
        };
        Ok(Self {
            id,
            name,
            job_file: row.get("job_file")?,
            end,
            succeeded_since: row.get("succeeded_since")?,
        })
    }
}

/// The jobs that are stuck behind these: at most one more than [`StuckBehind::MAX_COUNT`].
pub fn held_back(tx: &Tx, roots: &[i64], are_removed: bool) -> Result<Vec<i64>> {
    stuck::behind(tx, roots, are_removed, StuckBehind::MAX_COUNT + 1)
}

/// The entries about jobs that only a person can get going, by the name and job file of the jobs at the root of
/// their wait.
pub fn attention(tx: &Tx, filter: &Filter) -> Result<Vec<AttentionEntry>> {
    let mut groups: Vec<Vec<Root>> = Vec::new();
    let mut index: HashMap<(Option<String>, Option<i64>, bool), usize> = HashMap::new();
    let (mut seen, mut others) = (0, Vec::new());
    let mut is_other_alarm = false;
    each_root(tx, |root| {
        seen += 1;
        let is_alarm = root.succeeded_since.is_none();
        if seen > MAX_ROOTS {
            is_other_alarm |= is_alarm;
            others.push(root.id);
        } else if concerns(tx, filter, &root)? {
            match index.entry((root.name.clone(), root.job_file, is_alarm)) {
                Entry::Occupied(at) => groups[*at.get()].push(root),
                Entry::Vacant(at) if groups.len() < MAX_GROUPS => {
                    at.insert(groups.len());
                    groups.push(vec![root]);
                }
                Entry::Vacant(_) => {
                    is_other_alarm |= is_alarm;
                    others.push(root.id);
                }
            }
        }
        // Until one of them is an alarm, the next one may be.
        Ok(others.len() <= MAX_ROOTS || !is_other_alarm)
    })?;
    let mut list: Vec<AttentionEntry> =
        groups.into_iter().map(|roots| found(tx, &roots)).collect::<Result<_>>()?;
    if !others.is_empty() {
        let counted = others.len().min(MAX_ROOTS) as u64;
        let problem = Problem::OtherStuck(Count { counted, is_more: others.len() > MAX_ROOTS });
        others.truncate(Attention::MAX_JOBS);
        list.push(if is_other_alarm { problem.alarm() } else { problem.note() }.about(others));
    }
    Ok(list)
}

/// The entry about the jobs behind these roots of one name and job file.
fn found(tx: &Tx, roots: &[Root]) -> Result<AttentionEntry> {
    let name = roots.first().and_then(|root| root.name.clone());
    let succeeded_since = roots.first().and_then(|root| root.succeeded_since);
    let all_ids: Vec<i64> = roots.iter().map(|root| root.id).collect();
    let mut jobs = held_back(tx, &all_ids, name.is_none())?;
    let most = StuckBehind::MAX_COUNT;
    let count = Count { counted: jobs.len().min(most) as u64, is_more: jobs.len() > most };
    jobs.sort_unstable();
    jobs.truncate(Attention::MAX_JOBS);
    let name_of = |id: &i64| one(tx, "SELECT name FROM jobs WHERE id = ?1", [id], value);
    let names: Vec<String> = jobs.iter().take(Attention::MAX_NAMED).map(name_of).collect::<Result<_>>()?;
    let mut ends: Vec<RootEnd> = roots.iter().map(|root| root.end).collect();
    ends.sort_unstable();
    ends.dedup();
    let ids: Vec<i64> = all_ids.iter().copied().take(MAX_RETRIED).collect();
    let obstacle = if name.is_some() { retry_obstacle(tx, &ids)? } else { None };
    let undone = format!(
        "SELECT EXISTS (SELECT 1 FROM json_each(?1) JOIN jobs AS j ON j.id = value WHERE {} IS NULL)",
        later_success("j.enqueued_at")
    );
    let is_done_by_others = succeeded_since.is_some()
        && count.counted <= jobs.len() as u64
        && !one(tx, &undone, [serde_json::json!(jobs).to_string()], value::<bool>)?;
    let file = job_files::path(tx, roots.first().and_then(|root| root.job_file))?;
    let roots = roots.len() as u64;
    let problem = Problem::Stuck(Stuck {
        name,
        file,
        roots,
        newest_roots: ids,
        ends,
        count,
        names,
        obstacle,
        succeeded_since,
        is_done_by_others,
    });
    Ok(if succeeded_since.is_none() { problem.alarm() } else { problem.note() }.about(jobs))
}

/// Whether the filter selects the root, or one of the jobs that are stuck behind it.
fn concerns(tx: &Tx, filter: &Filter, root: &Root) -> Result<bool> {
    if filter.name.is_none() && filter.queue.is_none() && filter.label.is_none() {
        return Ok(true);
    }
    let mut ids = held_back(tx, &[root.id], root.name.is_none())?;
    if ids.len() > StuckBehind::MAX_COUNT {
        // One of those that were not counted may be selected.
        return Ok(true);
    }
    ids.push(root.id);
    let mut wanted = filter.narrowed(tx.now);
    wanted.and("j.id IN (SELECT value FROM json_each({}))", serde_json::json!(ids).to_string());
    let sql = format!("SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE {})", wanted.sql);
    one(tx, &sql, params_from_iter(wanted.values), value)
}
