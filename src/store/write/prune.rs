//! Removing finished jobs with their history, and then the definitions and workers that nothing needs any more. At its
//! end nothing of them is left in the log or in an abandoned draft of a copy; in the file `secure_delete` overwrites them.
//!
//! Each transaction deletes a chunk, so that workers are never held up for long. A prune that is cut short leaves every job
//! either gone whole or there whole.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde_json::json;

use super::conditions::{has_expired, is_unfinished, is_unfinished_at};
use super::expire;
use super::same_work::{UNRESOLVED, may_make_good};
use crate::model::JobState;
use crate::store::file::connection::wait_fairly;
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, maybe, one, run, value};
use crate::store::file::store_file::Draft;
use crate::text::Timestamp;

/// Rows that one transaction deletes or changes.
pub const CHUNK: usize = 500;

/// The pause between two transactions. It is longer than a waiting writer pauses between two tries (see
/// `wait_fairly`), so that the other writer comes first.
pub const GAP: Duration = Duration::from_millis(3);

/// How long to wait for other processes that read what is in the log. Those of runner itself take less than a second.
const READERS: Duration = Duration::from_secs(3);

/// Which finished jobs to remove; without a name or a queue those of all.
#[derive(Clone, Debug)]
pub struct PruneFilter {
    /// Final states.
    pub states: Vec<JobState>,
    pub name: Option<String>,
    pub queue: Option<String>,
    /// Only jobs that finished at this time or before.
    pub until: Timestamp,
}

impl PruneFilter {
    /// The states of what is removed where nobody names others.
    pub const DEFAULT_STATES: [JobState; 2] = [JobState::Succeeded, JobState::Cancelled];
}

/// The jobs that a prune leaves, because unfinished jobs are after them or have taken their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub jobs: u64,
    /// The first of them.
    pub id: i64,
    /// An unfinished job that is after that one, or has taken its place.
    pub dependent: i64,
    pub dependent_name: String,
    pub is_in_its_place: bool,
}

/// When a job finished, and its id. Jobs are removed in this order.
type Position = (i64, i64);

/// The condition that no unfinished job depends on the job with this alias, and that none has taken its place while it waited:
/// calls that wait for the one find the other by it. `unfinished` is the condition on `jobs AS w` for that.
fn unneeded(job: &str, unfinished: &str) -> String {
    format!(
        "(NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN jobs AS w ON w.id = d.job_id
                      WHERE d.dependency_id = {job}.id AND {unfinished})
          AND ({job}.state <> 'cancelled' OR {job}.replaced_by IS NULL
               OR NOT EXISTS (SELECT 1 FROM jobs AS w WHERE w.id = {job}.replaced_by AND {unfinished})))"
    )
}

/// The conditions of a filter besides the state.
const SELECTED: &str = "changed_at <= ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)";

impl Store {
    /// How many jobs [`Store::prune`] would remove. Counts pending jobs whose expiry nobody has recorded yet.
    pub fn count_prunable(&self, filter: &PruneFilter) -> Result<u64> {
        let condition =
            format!("{} AND NOT {}", unneeded("jobs", &unfinished(filter)), makes_good_what_stays(filter));
        self.read(|tx| Ok(count(tx, filter, &condition)?.0))
    }

    /// How many of the selected jobs [`Store::prune`] leaves because unresolved deaths are good only because of them.
    pub fn kept_for_deaths(&self, filter: &PruneFilter) -> Result<u64> {
        let condition =
            format!("{} AND {}", unneeded("jobs", &unfinished(filter)), makes_good_what_stays(filter));
        self.read(|tx| Ok(count(tx, filter, &condition)?.0))
    }

    /// The selected jobs that [`Store::prune`] leaves, because unfinished jobs are after them or have taken their place; none if there
    /// are none.
    pub fn kept_for_others(&self, filter: &PruneFilter) -> Result<Option<Kept>> {
        let unfinished = unfinished(filter);
        self.read(|tx| {
            let (jobs, first) = count(tx, filter, &format!("NOT {}", unneeded("jobs", &unfinished)))?;
            let Some(id) = first else { return Ok(None) };
            let sql = format!(
                "SELECT w.id, w.name, d.is_in_its_place
                 FROM (SELECT job_id, 0 AS is_in_its_place FROM dependencies WHERE dependency_id = ?2 UNION ALL
                       SELECT replaced_by, 1 FROM jobs WHERE id = ?2 AND state = 'cancelled') AS d
                 JOIN jobs AS w ON w.id = d.job_id
                 WHERE ?1 IS NOT NULL AND {unfinished} ORDER BY d.is_in_its_place, w.id LIMIT 1"
            );
            maybe(tx, &sql, params![filter.until, id], |row| {
                let (dependent, dependent_name) = (row.get("id")?, row.get("name")?);
                let is_in_its_place = row.get("is_in_its_place")?;
                Ok(Kept { jobs, id, dependent, dependent_name, is_in_its_place })
            })
        })
    }

    /// Removes the selected jobs, of each state the oldest first, and returns their number. `go_on` is called between two
    /// transactions with the number so far; if it returns false, the prune ends.
    pub fn prune(&mut self, filter: &PruneFilter, go_on: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        if filter.states.contains(&JobState::Dead) {
            while self.write_work(|tx| expire_chunk(tx, filter.until))? > 0 && go_on(0) {
                thread::sleep(GAP);
            }
        }
        let gone = self.remove_finished(filter, CHUNK, go_on)?;
        // Also if no job was found, because an earlier prune may have been cut short before this.
        self.remove_unused(filter.until, &mut || go_on(gone))?;
        Ok(gone)
    }

    /// Removes the selected jobs as [`Store::prune`] does, so many in one transaction, and nothing else.
    pub fn remove_finished(
        &mut self,
        filter: &PruneFilter,
        chunk: usize,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let mut gone = 0;
        // Dead ones go first, because a success that makes one of them good stays while that one does.
        let (dead, others): (Vec<JobState>, Vec<JobState>) =
            filter.states.iter().partition(|state| **state == JobState::Dead);
        for state in dead.into_iter().chain(others) {
            // A job may have been retried since it was found. A trigger removes the history of a job with it. Without NOT
            // INDEXED SQLite looks through all jobs of the state for these few.
            let delete = format!(
                "DELETE FROM jobs NOT INDEXED WHERE id IN (SELECT value FROM json_each(?1))
                 AND state = '{state}' AND changed_at <= ?2 AND {} AND NOT {}",
                unneeded("jobs", &is_unfinished("w")),
                may_make_good(&[UNRESOLVED.to_owned()])
            );
            let mut last = (i64::MIN, 0);
            loop {
                // The search is no part of the write, because it may pass over many jobs of other names.
                let found = self.read(|tx| page(tx, filter, state, last, chunk))?;
                let Some(newest) = found.last() else { break };
                last = *newest;
                let ids = json!(found.iter().map(|(_, id)| id).collect::<Vec<_>>()).to_string();
                gone += self.write(|tx| run(tx, &delete, params![ids, filter.until]))? as u64;
                if !go_on(gone) {
                    return Ok(gone);
                }
                thread::sleep(GAP);
            }
        }
        Ok(gone)
    }

    /// Removes abandoned drafts, copies the log into the file and cuts it to nothing. `go_on` says whether to go on. False if
    /// another process reads an older state of the database all the time, so that removed rows can still be found.
    pub fn erase_removed(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        Draft::remove_abandoned(self.file())?;
        // SQLite would keep writers out for as long as it waits for readers, so the waiting is done here.
        self.connection.busy_timeout(Duration::ZERO)?;
        let began = Instant::now();
        let is_busy: Result<bool> = loop {
            let is_busy = self.autocommit(|connection| {
                one(connection, "PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get("busy")?))
            });
            if !matches!(is_busy, Ok(true)) || began.elapsed() >= READERS || !go_on() {
                break is_busy;
            }
            thread::sleep(GAP);
        };
        wait_fairly(&mut self.connection)?;
        Ok(!is_busy?)
    }

    /// Removes unused definitions, and unused workers that ended at this time or before. `go_on` says whether to go on.
    ///
    /// No index leads from a definition to its jobs or from a worker to its attempts, because each enqueue and each finish
    /// would pay for it. So one read finds the unused rows, and short transactions remove them.
    pub fn remove_unused(&mut self, until: Timestamp, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
        let (definitions, workers, newest_job): (Vec<i64>, Vec<i64>, i64) = self.read(|tx| {
            let definitions =
                "SELECT id FROM job_definitions WHERE id NOT IN (SELECT definition_id FROM jobs)";
            // An unused worker stays unused, because one that has ended records no attempt.
            let workers =
                "SELECT id FROM workers WHERE ended_at <= ?1 AND id NOT IN (SELECT worker_id FROM attempts)";
            let newest_job = one(tx, "SELECT coalesce(max(id), 0) FROM jobs", [], value)?;
            Ok((all(tx, definitions, [], value)?, all(tx, workers, [until], value)?, newest_job))
        })?;
        // An enqueue finds definitions by their text, and may have used one of these since.
        let delete_definitions = format!(
            "DELETE FROM job_definitions WHERE id IN (SELECT value FROM json_each(?1))
             AND id NOT IN (SELECT definition_id FROM jobs WHERE id > {newest_job})"
        );
        let delete_workers = "DELETE FROM workers WHERE id IN (SELECT value FROM json_each(?1))";
        for (ids, delete) in [(definitions, delete_definitions.as_str()), (workers, delete_workers)] {
            for chunk in ids.chunks(CHUNK) {
                if !go_on() {
                    return Ok(());
                }
                self.write(|tx| run(tx, delete, [json!(chunk).to_string()]))?;
                thread::sleep(GAP);
            }
        }
        Ok(())
    }
}

/// Records a chunk of the expiries up to this time, and returns their number.
fn expire_chunk(tx: &Tx, until: Timestamp) -> Result<usize> {
    let (expired, mut unreadable) = expire::expire_due(tx, until, CHUNK, &[])?;
    match unreadable.pop() {
        Some(job) => Err(StoreError::InvalidData(job.why)),
        None => Ok(expired.len()),
    }
}

/// The condition that a job makes a death good that [`Store::prune`] does not remove by this filter.
fn makes_good_what_stays(filter: &PruneFilter) -> String {
    if !filter.states.contains(&JobState::Dead) {
        return may_make_good(&[UNRESOLVED.to_owned()]);
    }
    // It records what has expired first.
    let expired = format!("jobs AS j INDEXED BY jobs_expiring WHERE {}", has_expired("j", "?1"));
    let goes = format!("{SELECTED} AND {}", unneeded("j", &is_unfinished_at("w", "?1")));
    may_make_good(&[UNRESOLVED, &expired].map(|deaths| format!("{deaths} AND NOT ({goes})")))
}

/// What counts as unfinished for this filter: a prune of dead jobs first records what has expired.
fn unfinished(filter: &PruneFilter) -> String {
    if filter.states.contains(&JobState::Dead) { is_unfinished_at("w", "?1") } else { is_unfinished("w") }
}

/// How many selected jobs meet a condition, and the lowest id of them. Includes pending jobs whose expiry nobody has recorded
/// yet, if dead ones are selected.
fn count(tx: &Connection, filter: &PruneFilter, condition: &str) -> Result<(u64, Option<i64>)> {
    let PruneFilter { name, queue, until, .. } = filter;
    // SQLite uses the partial index only if the state is a literal.
    let mut kinds: Vec<String> = filter.states.iter().map(|state| format!("state = '{state}'")).collect();
    if filter.states.contains(&JobState::Dead) {
        kinds.push(has_expired("jobs", "?1"));
    }
    let (mut jobs, mut first) = (0, None);
    for kind in kinds {
        let sql = format!(
            "SELECT count(*) AS jobs, min(id) AS first FROM jobs WHERE {kind} AND {SELECTED} AND {condition}"
        );
        let found: (u64, Option<i64>) =
            one(tx, &sql, params![until, name, queue], |row| Ok((row.get("jobs")?, row.get("first")?)))?;
        jobs += found.0;
        first = first.into_iter().chain(found.1).min();
    }
    Ok((jobs, first))
}

/// The next chunk of selected jobs.
fn page(
    tx: &Connection,
    filter: &PruneFilter,
    state: JobState,
    last: Position,
    limit: usize,
) -> Result<Vec<Position>> {
    let sql = format!(
        "SELECT changed_at, id FROM jobs
         WHERE state = '{state}' AND {SELECTED} AND changed_at >= ?4 AND (changed_at, id) > (?4, ?5)
         ORDER BY changed_at, id LIMIT {limit}"
    );
    let PruneFilter { name, queue, until, .. } = filter;
    let values = params![until, name, queue, last.0, last.1];
    all(tx, &sql, values, |row| Ok((row.get("changed_at")?, row.get("id")?)))
}
