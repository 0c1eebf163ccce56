//! Definitions: stored once, found again by hash.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::error::{Result, StoreError};
use crate::model::JobSpec;

/// The id of this definition's row, which is created if there is none.
pub(super) fn intern(tx: &Connection, spec: &JobSpec) -> Result<i64> {
    let text = serde_json::to_string(spec).map_err(|error| StoreError::InvalidData(error.to_string()))?;
    let hash = fnv1a(text.as_bytes());
    let found = tx
        .prepare_cached("SELECT id FROM definitions WHERE hash = ?1 AND spec = ?2")?
        .query_row(params![hash, text], |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    tx.prepare_cached("INSERT INTO definitions (hash, spec) VALUES (?1, ?2)")?
        .execute(params![hash, text])?;
    Ok(tx.last_insert_rowid())
}

/// Reads a stored definition. Queue, priority and key are columns of the job and keep their defaults here.
pub(super) fn parse(text: &str) -> Result<JobSpec> {
    serde_json::from_str(text).map_err(|error| StoreError::InvalidData(format!("a definition: {error}")))
}

/// A cache of definitions, which never change.
#[derive(Debug, Default)]
pub struct Definitions {
    known: HashMap<i64, Arc<JobSpec>>,
}

impl Definitions {
    /// More than a job file declares. Each ad hoc job has a definition of its own, and these must not pile up in memory.
    const CACHE_SIZE: usize = 1_024;

    pub(super) fn get(&mut self, tx: &Connection, id: i64) -> Result<Arc<JobSpec>> {
        if let Some(spec) = self.known.get(&id) {
            return Ok(Arc::clone(spec));
        }
        let text: String = tx
            .prepare_cached("SELECT spec FROM definitions WHERE id = ?1")?
            .query_row([id], |row| row.get(0))?;
        let spec = Arc::new(parse(&text)?);
        if self.known.len() >= Self::CACHE_SIZE {
            self.known.clear();
        }
        self.known.insert(id, Arc::clone(&spec));
        Ok(spec)
    }
}

/// FNV-1a, 64 bits: finds candidates, which are compared in full.
fn fnv1a(bytes: &[u8]) -> i64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.cast_signed()
}
