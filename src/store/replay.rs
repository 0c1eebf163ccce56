//! Putting dead and cancelled jobs back, and making waiting ones due.

use rusqlite::{Connection, OptionalExtension, params};

use super::unique_key::holder_of_key;
use super::{Result, Store, definition, expire};
use crate::model::JobState;
use crate::text::Timestamp;

/// Why a job was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such job.
    Unknown,
    /// It is in this state, and only dead and cancelled jobs are replayed.
    State(JobState),
    /// It is not retryable; `--force` runs it again all the same.
    NotRetryable,
    /// This unfinished job holds its unique key.
    KeyTaken(i64),
}

/// The answer for one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The id that was asked for.
    pub id: i64,
    /// None where it was done.
    pub refusal: Option<Refusal>,
}

impl Store {
    /// Replays these jobs: a fresh budget, the same id, definition and history. Each by itself, all in one transaction.
    pub fn replay(
        &mut self,
        ids: &[i64],
        force: bool,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Replayed>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| Ok(Replayed { id: *id, refusal: replay_one(tx, *id, force, now)? })).collect()
        })
    }

    /// Replays every dead letter that the filters select, oldest first.
    pub fn replay_dead(
        &mut self,
        name: Option<&str>,
        error_code: Option<&str>,
        force: bool,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Vec<Replayed>> {
        self.write(|tx| {
            let now = clock();
            expire::expire_due(tx, now, usize::MAX >> 1)?;
            let sql = "SELECT id FROM jobs WHERE state = 'dead' AND (?1 IS NULL OR name = ?1)
                       AND (?2 IS NULL OR error_code = ?2) ORDER BY id";
            let ids = tx
                .prepare(sql)?
                .query_map(params![name, error_code], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()?;
            ids.into_iter().map(|id| Ok(Replayed { id, refusal: replay_one(tx, id, force, now)? })).collect()
        })
    }

    /// Makes waiting jobs due at once. Budget and numbers stay.
    pub fn make_due(&mut self, ids: &[i64], clock: &dyn Fn() -> Timestamp) -> Result<Vec<Replayed>> {
        self.write(|tx| {
            let now = clock();
            ids.iter().map(|id| Ok(Replayed { id: *id, refusal: make_one_due(tx, *id, now)? })).collect()
        })
    }
}

struct Found {
    state: JobState,
    expired: bool,
    definition: String,
    unique_key: Option<String>,
}

fn find(connection: &Connection, id: i64, now: Timestamp) -> Result<Option<Found>> {
    let sql = "SELECT j.state, j.unique_key, d.spec, j.state = 'pending' AND coalesce(j.expires_at <= ?2, 0)
               FROM jobs AS j JOIN definitions AS d ON d.id = j.definition_id WHERE j.id = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![id, now.0], |row| {
            let state: String = row.get(0)?;
            Ok(Found {
                state: JobState::parse(&state).unwrap_or(JobState::Running),
                unique_key: row.get(1)?,
                definition: row.get(2)?,
                expired: row.get(3)?,
            })
        })
        .optional()?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    if found.expired {
        expire::expire_one(connection, id)?;
        found.state = JobState::Dead;
    }
    Ok(Some(found))
}

fn replay_one(connection: &Connection, id: i64, force: bool, now: Timestamp) -> Result<Option<Refusal>> {
    let Some(found) = find(connection, id, now)? else {
        return Ok(Some(Refusal::Unknown));
    };
    if !matches!(found.state, JobState::Dead | JobState::Cancelled) {
        return Ok(Some(Refusal::State(found.state)));
    }
    let spec = definition::parse(&found.definition)?;
    if !spec.policy.retryable && !force {
        return Ok(Some(Refusal::NotRetryable));
    }
    if let Some(key) = &found.unique_key
        && let Some(holder) = holder_of_key(connection, key, now)?
    {
        return Ok(Some(Refusal::KeyTaken(holder.id)));
    }
    let expires_at = spec.expires_in.map(|span| now.plus(span).0);
    connection
        .prepare_cached(
            "UPDATE jobs SET state = 'pending', run_at = ?2, changed_at = ?2, expires_at = ?3, budget_used = 0,
                             error_code = NULL, dead_reason = NULL, cancel_requested_at = NULL
             WHERE id = ?1 AND state IN ('dead', 'cancelled')",
        )?
        .execute(params![id, now.0, expires_at])?;
    Ok(None)
}

fn make_one_due(connection: &Connection, id: i64, now: Timestamp) -> Result<Option<Refusal>> {
    let Some(found) = find(connection, id, now)? else {
        return Ok(Some(Refusal::Unknown));
    };
    if found.state != JobState::Pending {
        return Ok(Some(Refusal::State(found.state)));
    }
    connection
        .prepare_cached("UPDATE jobs SET run_at = min(run_at, ?2) WHERE id = ?1 AND state = 'pending'")?
        .execute(params![id, now.0])?;
    Ok(None)
}
