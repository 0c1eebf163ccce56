//! Whether `retry` takes dead jobs.

use rusqlite::Connection;

use crate::store::file::error::Result;
use crate::store::file::row::one;
use crate::store::read::problem::RetryObstacle;
use crate::store::write::conditions::KEY_HOLDER;

/// None if `retry` would take all of these dead jobs.
pub fn retry_obstacle(tx: &Connection, ids: &[i64]) -> Result<Option<RetryObstacle>> {
    let sql = format!(
        "SELECT j.unique_key, coalesce(d.definition ->> '$.policy.retryable', 1) AS retryable,
                EXISTS (SELECT 1 FROM {KEY_HOLDER}) AS is_held
         FROM jobs AS j LEFT JOIN job_definitions AS d ON d.id = j.definition_id WHERE j.id = ?1"
    );
    let mut keys = Vec::new();
    for id in ids {
        let (key, retryable, is_held): (Option<String>, bool, bool) = one(tx, &sql, [id], |row| {
            Ok((row.get("unique_key")?, row.get("retryable")?, row.get("is_held")?))
        })?;
        if is_held {
            return Ok(Some(RetryObstacle::HeldKey));
        }
        if !retryable {
            return Ok(Some(RetryObstacle::NeedsForce));
        }
        if let Some(key) = key {
            if keys.contains(&key) {
                return Ok(Some(RetryObstacle::SharedKey));
            }
            keys.push(key);
        }
    }
    Ok(None)
}
