//! Job definitions: each is stored once, however many jobs have it, and found again by its hash.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;

use super::error::{Result, StoreError};
use super::insert::{NewJob, unpack_args};
use super::row::{from_row, maybe, one, run, value};
use super::version::{self, Version};
use crate::model::{JobDefinition, JobLabel, PendingJob};

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

/// Reads the stored definition of a job, or the chain of a schedule: the column with this name, of a row that has
/// `needs_version`, too. Queue, priority and unique key of a job have their defaults, because they are columns of its row.
///
/// A key that this program does not know is damage, unless a newer runner has written it. Then it is passed over, because such
/// a definition is only shown: nothing is started by it.
pub(super) fn read<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    let text: String = row.get(column)?;
    let known = version::known().version();
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

/// The columns of `jobs`, without an alias, that [`pending_job`] reads.
pub(super) const PENDING_JOB: &str = "id, name, queue, attempts, label, args_nul, needs_version,
    (SELECT definition FROM job_definitions AS d WHERE d.id = definition_id) AS definition";

/// Reads a row of [`PENDING_JOB`].
pub(super) fn pending_job(row: &Row<'_>) -> Result<PendingJob> {
    let args = unpack_args(row.get_ref("args_nul")?.as_blob_or_null()?);
    let label = JobLabel::of(&read(row, "definition")?, row.get("label")?, &args);
    Ok(from_row!(row, PendingJob { id, name, label: label, queue, attempts }))
}

/// The label that tells a job from others of its name (see [`JobDefinition::shown_label`]), of a row with its `label` and
/// `args_nul`.
pub(super) fn shown_label(row: &Row<'_>, definition: &JobDefinition) -> Result<Option<String>> {
    let label: Option<String> = row.get("label")?;
    let args = unpack_args(row.get_ref("args_nul")?.as_blob_or_null()?);
    Ok(definition.shown_label(label.as_deref(), &args))
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

    pub(super) fn get(&mut self, tx: &Connection, id: i64) -> Result<Arc<JobDefinition>> {
        if let Some(definition) = self.known.get(&id) {
            return Ok(Arc::clone(definition));
        }
        // Only jobs that this program knows whole are claimed.
        let sql = "SELECT definition, ?2 AS needs_version, length(definition) AS chars FROM job_definitions
                   WHERE id = ?1";
        let known = version::known().version();
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

/// A hash of what the job does: its name, label and arguments. None if no other job does the same again: an ad hoc job is one
/// of a kind, and so is a job whose arguments are not told from others by a label.
pub(super) fn task_hash(job: &NewJob) -> Option<i64> {
    let is_repeated = !job.definition.ad_hoc && (job.label.is_some() || job.args.is_empty());
    is_repeated.then(|| {
        // None of the parts can hold a NUL.
        let label = job.label.as_deref().unwrap_or_default();
        let parts = [job.definition.name.as_bytes(), label.as_bytes()];
        let parts = parts.into_iter().chain(job.args.iter().map(|arg| arg.0.as_slice()));
        fnv1a(&parts.collect::<Vec<_>>().join(&0))
    })
}

/// The version that brought the newest key that this definition uses. Older programs leave its jobs alone.
pub(super) const fn needs_version(_definition: &JobDefinition) -> Version {
    // Every key of today came with the first version.
    Version::FIRST
}

/// FNV-1a with 64 bits. It only finds candidates, whose text is compared in full.
fn fnv1a(bytes: &[u8]) -> i64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.cast_signed()
}
