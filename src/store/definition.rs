//! Job definitions: each is stored once, however many jobs have it, and found again by its hash.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::error::{Result, StoreError};
use super::row::{maybe, one, run, value};
use crate::model::JobDefinition;

/// Gives the id of the row with this definition, without what the row of a job has as columns. Adds the row if there is
/// none.
pub(super) fn intern(tx: &Connection, definition: &JobDefinition) -> Result<i64> {
    let text = serde_json::to_string(&definition.without_columns())
        .map_err(|error| StoreError::InvalidData(error.to_string()))?;
    let hash = fnv1a(text.as_bytes());
    let known = "SELECT id FROM job_definitions WHERE hash = ?1 AND definition = ?2";
    if let Some(id) = maybe(tx, known, params![hash, text], value)? {
        return Ok(id);
    }
    run(tx, "INSERT INTO job_definitions (hash, definition) VALUES (?1, ?2)", params![hash, text])?;
    Ok(tx.last_insert_rowid())
}

/// Reads a stored definition. Queue, priority and unique key have their defaults: those of a job are columns of its row.
pub(super) fn parse(text: &str) -> Result<JobDefinition> {
    serde_json::from_str(text).map_err(|error| StoreError::InvalidData(format!("a definition: {error}")))
}

/// A cache of definitions. It never gets stale, because a stored definition does not change and its id is not reused.
#[derive(Debug, Default)]
pub struct DefinitionCache {
    known: HashMap<i64, Arc<JobDefinition>>,
}

impl DefinitionCache {
    /// More definitions than a job file has. The cache is limited because each ad hoc job has a definition of its own.
    const CACHE_SIZE: usize = 1_024;

    pub(super) fn get(&mut self, tx: &Connection, id: i64) -> Result<Arc<JobDefinition>> {
        if let Some(definition) = self.known.get(&id) {
            return Ok(Arc::clone(definition));
        }
        let text: String = one(tx, "SELECT definition FROM job_definitions WHERE id = ?1", [id], value)?;
        let definition = Arc::new(parse(&text)?);
        if self.known.len() >= Self::CACHE_SIZE {
            self.known.clear();
        }
        self.known.insert(id, Arc::clone(&definition));
        Ok(definition)
    }
}

/// FNV-1a with 64 bits. It only finds candidates, whose text is compared in full.
fn fnv1a(bytes: &[u8]) -> i64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.cast_signed()
}
