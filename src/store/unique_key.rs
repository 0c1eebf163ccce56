//! Who holds a unique key.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Result, expire};
use crate::text::Timestamp;

/// The unfinished job that holds a key.
pub(super) struct Holder {
    pub id: i64,
    /// It is waiting, and was never started.
    pub never_started: bool,
}

/// The unfinished job that holds this key; one that has expired meanwhile is recorded as such and holds nothing.
pub(super) fn holder_of_key(connection: &Connection, key: &str, now: Timestamp) -> Result<Option<Holder>> {
    let sql =
        "SELECT id, state = 'pending' AND attempts = 0, state = 'pending' AND coalesce(expires_at <= ?2, 0)
               FROM jobs WHERE unique_key = ?1 AND state IN ('pending', 'running')";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![key, now.0], |row| {
            Ok((Holder { id: row.get(0)?, never_started: row.get(1)? }, row.get(2)?))
        })
        .optional()?;
    match found {
        Some((holder, true)) => {
            expire::expire_one(connection, holder.id)?;
            Ok(None)
        }
        other => Ok(other.map(|(holder, _)| holder)),
    }
}
