//! Removing finished jobs, with all that is kept of them.
//!
//! In many short transactions, so that workers are never held up. What ends it half-way leaves a file in which some jobs
//! are gone whole, and the others are there whole.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::{Result, Store, expire};
use crate::model::JobState;
use crate::text::Timestamp;

/// How long one transaction may go on taking further jobs: then it commits, and others get their turn.
const HOLD: Duration = Duration::from_millis(10);

/// Between two transactions: longer than the longest wait between two tries of a writer (see `busy`), so that whoever
/// waits comes first.
pub(super) const GAP: Duration = Duration::from_millis(3);

/// Jobs found at once.
const FOUND: usize = 1_000;

/// Which finished jobs are meant.
#[derive(Clone, Debug)]
pub struct PruneFilter {
    /// In these states, of which only final ones mean anything.
    pub states: Vec<JobState>,
    /// Of this name.
    pub name: Option<String>,
    /// In this queue.
    pub queue: Option<String>,
    /// Finished at this time or before.
    pub until: Timestamp,
}

/// How many jobs of each state that was asked for.
pub type PruneCounts = Vec<(JobState, u64)>;

/// A finished job: when it finished, and its id. Jobs are removed in this order.
type Place = (i64, i64);

/// The filters that are no state.
const WANTED: &str = "changed_at <= ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)";

impl Store {
    /// How many jobs [`Store::prune`] would remove, waiting ones included whose expiry nobody has recorded yet.
    pub fn count_prunable(&mut self, filter: &PruneFilter) -> Result<PruneCounts> {
        let PruneFilter { name, queue, until, .. } = filter;
        self.read(|tx| {
            let mut expired = tx.prepare_cached(
                "SELECT count(*) FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= ?1
                 AND changed_at <= ?1 AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR queue = ?3)",
            )?;
            let count = |state: &JobState| {
                // A word, not a parameter: else the partial index is of no use.
                let sql = format!("SELECT count(*) FROM jobs WHERE state = '{state}' AND {WANTED}");
                let found: u64 =
                    tx.prepare_cached(&sql)?.query_row(params![until.0, name, queue], |row| row.get(0))?;
                let unrecorded: u64 = match state {
                    JobState::Dead => expired.query_row(params![until.0, name, queue], |row| row.get(0))?,
                    _ => 0,
                };
                Ok((*state, found + unrecorded))
            };
            filter.states.iter().map(count).collect()
        })
    }

    /// Removes them, the oldest of a state first, and what is left of no use to anybody then. `go_on` is told how many
    /// are gone, and may say that it is enough.
    pub fn prune(&mut self, filter: &PruneFilter, go_on: &mut dyn FnMut(u64) -> bool) -> Result<PruneCounts> {
        let mut counts: PruneCounts = filter.states.iter().map(|state| (*state, 0)).collect();
        if filter.states.contains(&JobState::Dead) {
            while !self.write(|tx| expire::expire_due(tx, filter.until, FOUND))?.is_empty() && go_on(0) {
                thread::sleep(GAP);
            }
        }
        let mut gone = 0;
        for (state, count) in &mut counts {
            let mut after = (i64::MIN, 0);
            loop {
                let found = self.prunable(filter, *state, after)?;
                let Some(last) = found.last() else { break };
                after = *last;
                let mut left = found.as_slice();
                while !left.is_empty() {
                    let (looked_at, removed) = self.remove_some(left, *state, filter.until)?;
                    left = &left[looked_at..];
                    *count += removed;
                    gone += removed;
                    if !go_on(gone) {
                        return Ok(counts);
                    }
                    thread::sleep(GAP);
                }
            }
        }
        if gone > 0 {
            self.sweep(filter.until, &mut || go_on(gone))?;
        }
        Ok(counts)
    }

    /// Some of those that come after this place, in their order.
    fn prunable(&mut self, filter: &PruneFilter, state: JobState, after: Place) -> Result<Vec<Place>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT changed_at, id FROM jobs
             WHERE state = '{state}' AND {WANTED} AND changed_at >= ?4 AND (changed_at, id) > (?4, ?5)
             ORDER BY changed_at, id LIMIT {FOUND}"
        ))?;
        let PruneFilter { name, queue, until, .. } = filter;
        let rows = statement.query_map(params![until.0, name, queue, after.0, after.1], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Removes as many of these as there is time for: how many were looked at, and how many are gone.
    fn remove_some(&mut self, found: &[Place], state: JobState, until: Timestamp) -> Result<(usize, u64)> {
        self.write(|tx| {
            let begun = Instant::now();
            let mut removed = 0;
            for (index, (_, id)) in found.iter().enumerate() {
                removed += u64::from(remove_one(tx, *id, state, until)?);
                if begun.elapsed() >= HOLD {
                    return Ok((index + 1, removed));
                }
            }
            Ok((found.len(), removed))
        })
    }
}

/// Removes this job, unless it was put back or removed since it was found. What is kept of it goes by a trigger.
fn remove_one(connection: &Connection, id: i64, state: JobState, until: Timestamp) -> Result<bool> {
    let sql = "DELETE FROM jobs WHERE id = ?1 AND state = ?2 AND changed_at <= ?3";
    Ok(connection.prepare_cached(sql)?.execute(params![id, state.as_str(), until.0])? > 0)
}
