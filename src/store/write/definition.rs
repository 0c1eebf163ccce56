//! Job definitions: each is stored once, however many jobs have it, and found again by its hash. Also packs arguments.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use crate::model::{Bytes, JobDefinition, JobLabel, PendingJob};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::row::{self, each, from_row, maybe, one, run, value};
use crate::store::file::schema;
use crate::store::file::version::Version;

/// The id of the stored definition, which is added if it is new. Queue, priority and unique key are not part of it, because
/// they are columns of the job.
pub fn intern(tx: &Connection, definition: &JobDefinition) -> Result<i64> {
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

/// Reads the stored definition of a job, or the chain of a schedule, from this column. The row must have `needs_version`, too.
/// Queue, priority and unique key of a job have their defaults, because they are columns of its row.
///
/// A key that this program does not know is damage, unless a newer runner has written it. Then it is passed over, because such
/// a definition is only shown: nothing is started by it.
pub fn read<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    let text: String = row.get(column)?;
    let known = schema::known().version();
    let needs = Version(row.get("needs_version")?);
    let mut unknown = None;
    let mut json = serde_json::Deserializer::from_str(&text);
    let parsed = serde_ignored::deserialize(&mut json, |key| unknown = Some(key.to_string()));
    match parsed {
        Ok(value) if needs > known || unknown.is_none() => Ok(value),
        Err(_) if needs > known => Err(StoreError::NeedsNewer { needs, known }),
        Ok(_) => {
            let key = unknown.unwrap_or_default();
            Err(StoreError::InvalidData(format!("{column}: unknown key {key:?}")))
        }
        Err(error) => Err(StoreError::InvalidData(format!("{column}: {error}"))),
    }
}

/// Jobs whose definition is damaged, and damaged definitions that no job has. Each definition is read once, however many jobs
/// have it.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let known = schema::known().version();
    let mut unreadable = Vec::new();
    // Those that a newer program wrote are among them.
    each(tx, "SELECT id, definition, ?1 AS needs_version FROM job_definitions", [known], |row| {
        if read::<JobDefinition>(row, "definition").is_err() {
            unreadable.push(row.get::<_, i64>("id")?);
        }
        Ok(())
    })?;
    if unreadable.is_empty() {
        return Ok(Vec::new());
    }
    let jobs = "SELECT 'job ' || j.id AS which, d.definition, j.needs_version
                FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id
                WHERE j.definition_id IN (SELECT value FROM json_each(?1))";
    let unused = "SELECT 'definition ' || id AS which, definition, ?2 AS needs_version FROM job_definitions
                  WHERE id IN (SELECT value FROM json_each(?1)) AND id NOT IN (SELECT definition_id FROM jobs)";
    let ids = serde_json::json!(unreadable).to_string();
    let is_readable = |row: &Row<'_>| read::<JobDefinition>(row, "definition");
    let mut found = row::damaged(tx, jobs, [&ids], limit, is_readable)?;
    found.extend(row::damaged(tx, unused, params![ids, known], limit, is_readable)?);
    Ok(found)
}

/// The columns of `jobs`, without an alias, that [`pending_job`] reads.
pub const PENDING_JOB: &str = "id, name, queue, attempts, label, args_nul, needs_version,
    (SELECT definition FROM job_definitions AS d WHERE d.id = definition_id) AS definition";

/// Reads a row of [`PENDING_JOB`].
pub fn pending_job(row: &Row<'_>) -> Result<PendingJob> {
    let label = JobLabel::of(&read(row, "definition")?, row.get("label")?, &args(row)?);
    Ok(from_row!(row, PendingJob { id, name, label: label, queue, attempts }))
}

/// The label that tells a job from others of its name (see [`JobDefinition::shown_label`]), of a row with its `label` and
/// `args_nul`.
pub fn shown_label(row: &Row<'_>, definition: &JobDefinition) -> Result<Option<String>> {
    let label: Option<String> = row.get("label")?;
    Ok(definition.shown_label(label.as_deref(), &args(row)?))
}

/// A cache of definitions. It never gets stale, because a stored definition does not change and its id is not reused; but a
/// transaction that is undone gives back the ids of the definitions that it stored.
#[derive(Debug, Default)]
pub struct DefinitionCache {
    known: HashMap<i64, Arc<JobDefinition>>,
    /// The length of their texts.
    chars: usize,
}

impl DefinitionCache {
    /// More definitions than a job file has. The cache is limited because each ad hoc job has a definition of its own.
    const CACHE_SIZE: usize = 1_024;
    /// A definition with a long standard input has megabytes.
    const CACHE_CHARS: usize = 64 << 20;

    pub(in crate::store) fn get(&mut self, tx: &Connection, id: i64) -> Result<Arc<JobDefinition>> {
        if let Some(definition) = self.known.get(&id) {
            return Ok(Arc::clone(definition));
        }
        // Only jobs that this program knows whole are claimed.
        let sql = "SELECT definition, ?2 AS needs_version, length(definition) AS chars FROM job_definitions
                   WHERE id = ?1";
        let known = schema::known().version();
        let (definition, chars): (JobDefinition, usize) =
            one(tx, sql, params![id, known], |row| Ok((read(row, "definition")?, row.get("chars")?)))?;
        let definition = Arc::new(definition);
        if self.known.len() >= Self::CACHE_SIZE || self.chars + chars > Self::CACHE_CHARS {
            *self = Self::default();
        }
        self.chars += chars;
        self.known.insert(id, Arc::clone(&definition));
        Ok(definition)
    }
}

/// Packs arguments for storage: each ends with a NUL, which no argument can contain.
pub fn pack_args(args: &[Bytes]) -> Option<Vec<u8>> {
    if args.is_empty() {
        return None;
    }
    let mut packed = Vec::with_capacity(args.iter().map(|arg| arg.0.len() + 1).sum());
    for arg in args {
        packed.extend_from_slice(&arg.0);
        packed.push(0);
    }
    Some(packed)
}

/// Reads the arguments of a job from the column `args_nul`.
pub fn args(row: &Row<'_>) -> Result<Vec<Bytes>> {
    Ok(unpack_args(row.get_ref("args_nul")?.as_blob_or_null()?))
}

/// The reverse of [`pack_args`].
fn unpack_args(packed: Option<&[u8]>) -> Vec<Bytes> {
    let Some(closed) = packed.and_then(|bytes| bytes.strip_suffix(&[0])) else {
        return Vec::new();
    };
    closed.split(|byte| *byte == 0).map(|arg| Bytes(arg.to_vec())).collect()
}

/// FNV-1a with 64 bits. Definitions that have it in common are compared in full. What jobs do is not, because among a
/// million different tasks two have it in common once in thirty million databases.
pub fn fnv1a(bytes: &[u8]) -> i64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_also_empty_ones() {
        for args in [vec![], vec!["a"], vec!["", ""], vec!["x y", "", "z"]] {
            let args: Vec<Bytes> = args.into_iter().map(Bytes::from).collect();
            assert_eq!(unpack_args(pack_args(&args).as_deref()), args);
        }
    }
}
