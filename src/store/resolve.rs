//! Marking dead letters that were dealt with.

use rusqlite::{Connection, params};

use super::error::Result;
use super::expire;
use super::open::Store;
use super::retry::{Answer, Refusal};
use crate::model::JobState;
use crate::text::Timestamp;

impl Store {
    /// Resolves dead jobs, each by itself, all in one transaction. A job that was resolved before keeps the time of that,
    /// and its note unless there is a new one.
    pub fn resolve(
        &mut self,
        ids: &[i64],
        note: Option<&str>,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Answer>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| resolve_one(tx, *id, note, now)).collect()
        })
    }
}

fn resolve_one(tx: &Connection, id: i64, note: Option<&str>, now: Timestamp) -> Result<Answer> {
    let job = match expire::state_at(tx, id, now)? {
        None => Err(Refusal::Unknown),
        Some(JobState::Dead) => {
            tx.prepare_cached(
                "UPDATE jobs SET resolved_at = coalesce(resolved_at, ?2), resolution = coalesce(?3, resolution)
                 WHERE id = ?1 AND state = 'dead'",
            )?
            .execute(params![id, now.0, note])?;
            Ok(id)
        }
        Some(other) => Err(Refusal::State(other)),
    };
    Ok(Answer { id, job })
}
