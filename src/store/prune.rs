//! Removing finished jobs, with their history.
//!
//! In many short transactions, so that workers are never held up. A prune that is cut short leaves some jobs gone whole,
//! and the others there whole.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::error::Result;
use super::expire;
use super::gc::{self, GAP};
use super::open::Store;
use crate::model::JobState;
use crate::text::Timestamp;

/// A transaction takes no further job after this time: it commits, and others get their turn.
const HOLD: Duration = Duration::from_millis(10);

/// Jobs that one read finds.
const PAGE: usize = 1_000;

/// Which finished jobs to remove. A name or queue that is none selects all.
#[derive(Clone, Debug)]
pub struct PruneFilter {
    /// Final states.
    pub states: Vec<JobState>,
    pub name: Option<String>,
    pub queue: Option<String>,
    /// Finished at this time or before.
    pub until: Timestamp,
    /// The time of the prune.
    pub now: Timestamp,
}

/// When a finished job finished, and its id. Jobs are removed in this order.
type Position = (i64, i64);

/// The condition that no unfinished job is after a job.
const UNNEEDED: &str = "NOT EXISTS (SELECT 1 FROM dependencies AS d JOIN jobs AS j ON j.id = d.job_id
                        WHERE d.after_id = jobs.id AND j.state IN ('pending', 'running'))";

/// The same, if the waiting jobs that have expired are dead by then.
fn unneeded(filter: &PruneFilter) -> String {
    if filter.states.contains(&JobState::Dead) {
        let waits = "(j.state = 'running' OR j.state = 'pending' AND coalesce(j.expires_at > ?1, 1))";
        return UNNEEDED.replace("j.state IN ('pending', 'running')", waits);
    }
    UNNEEDED.to_owned()
}

/// The conditions of a filter besides the state.
const SELECTED: &str = "changed_at <= ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)";

impl Store {
    /// How many jobs [`Store::prune`] would remove, counting waiting jobs whose expiry nobody has recorded yet.
    pub fn count_prunable(&self, filter: &PruneFilter) -> Result<u64> {
        let PruneFilter { name, queue, until, .. } = filter;
        self.read(|tx| {
            let count = |condition: &str| -> Result<u64> {
                let sql = format!(
                    "SELECT count(*) FROM jobs WHERE {condition} AND {SELECTED} AND {}",
                    unneeded(filter)
                );
                Ok(tx.prepare_cached(&sql)?.query_row(params![until.0, name, queue], |row| row.get(0))?)
            };
            let of_state = |state: &JobState| {
                // A literal, not a parameter: the partial index needs it.
                let recorded = count(&format!("state = '{state}'"))?;
                let unrecorded = match state {
                    JobState::Dead => {
                        count("state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1")?
                    }
                    _ => 0,
                };
                Ok(recorded + unrecorded)
            };
            filter.states.iter().map(of_state).sum()
        })
    }

    /// Removes the selected jobs, the oldest of a state first, and then the definitions and workers that nothing needs any
    /// more. `go_on` is told how many jobs are gone; its `false` ends the prune. Gives how many jobs are gone in the end.
    pub fn prune(&mut self, filter: &PruneFilter, go_on: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        if filter.states.contains(&JobState::Dead) {
            while !self.write(|tx| expire::expire_due(tx, filter.until, PAGE, filter.now))?.is_empty()
                && go_on(0)
            {
                thread::sleep(GAP);
            }
        }
        let mut gone = 0;
        for state in &filter.states {
            let mut after = (i64::MIN, 0);
            loop {
                let found = self.read(|tx| page(tx, filter, *state, after))?;
                let Some(last) = found.last() else { break };
                after = *last;
                let mut left = found.as_slice();
                while !left.is_empty() {
                    let (tried, removed) =
                        self.write(|tx| remove_for_a_while(tx, left, *state, filter.until))?;
                    left = &left[tried..];
                    gone += removed;
                    if !go_on(gone) {
                        return Ok(gone);
                    }
                    thread::sleep(GAP);
                }
            }
        }
        if gone > 0 {
            gc::collect(self, filter.until, &mut || go_on(gone))?;
        }
        Ok(gone)
    }
}

/// The first selected jobs after this position.
fn page(tx: &Connection, filter: &PruneFilter, state: JobState, after: Position) -> Result<Vec<Position>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT changed_at, id FROM jobs
         WHERE state = '{state}' AND {SELECTED} AND changed_at >= ?4 AND (changed_at, id) > (?4, ?5)
         ORDER BY changed_at, id LIMIT {PAGE}"
    ))?;
    let PruneFilter { name, queue, until, .. } = filter;
    let rows = statement
        .query_map(params![until.0, name, queue, after.0, after.1], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes as many of these jobs as [`HOLD`] allows, at least one. A job that was retried since it was found stays. Gives
/// how many were tried, and how many are gone.
fn remove_for_a_while(
    tx: &Connection,
    found: &[Position],
    state: JobState,
    until: Timestamp,
) -> Result<(usize, u64)> {
    // A trigger removes the history.
    let mut delete = tx.prepare_cached(&format!(
        "DELETE FROM jobs WHERE id = ?1 AND state = ?2 AND changed_at <= ?3 AND {UNNEEDED}"
    ))?;
    let begun = Instant::now();
    let mut removed = 0;
    for (index, (_, id)) in found.iter().enumerate() {
        removed += delete.execute(params![id, state.as_str(), until.0])? as u64;
        if begun.elapsed() >= HOLD {
            return Ok((index + 1, removed));
        }
    }
    Ok((found.len(), removed))
}
