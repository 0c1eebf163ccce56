//! The job files whose jobs were enqueued, each with its row. Two files may declare a job of one name; `same_work` tells their jobs
//! apart.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde_json::json;

use crate::paths;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, maybe, one, run, value};

/// Of a name at most this number of jobs is looked at, the newest first.
const MAX_JOBS: usize = 1_000;

/// A job file as a caller came to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFilePath {
    /// Canonical: this is what tells files apart.
    pub path: String,
    /// Absolute, with the links that led there.
    pub named: String,
    /// The jobs for which it declares a schedule.
    pub schedules: Vec<String>,
}

/// The row of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredFile {
    pub id: i64,
    /// The file is another one that was moved from this path, or the next release behind a link: it has taken the row over.
    pub moved_from: Option<String>,
}

impl Store {
    /// Finds or makes the row of this job file, which declares these jobs.
    ///
    /// A file that is gone is no other file. So where this one has no job yet of one of these names, it takes over all that a file
    /// which is gone and had one has left. It also takes over what came from another file by the same link, and the schedules
    /// of that which it declares, too.
    pub fn register_job_file(&mut self, file: &JobFilePath, names: &[&str]) -> Result<RegisteredFile> {
        let names: BTreeSet<&str> = names.iter().copied().collect();
        let known = "SELECT id FROM job_files WHERE path = ?1 AND (named_path IS ?2 OR ?1 = ?2)";
        let settled = self.read(|tx| match maybe(tx, known, [&file.path, &file.named], value::<i64>)? {
            Some(id) if former(tx, file, Some(id), &names)?.is_none() => Ok(Some(id)),
            _ => Ok(None),
        })?;
        if let Some(id) = settled {
            return Ok(RegisteredFile { id, moved_from: None });
        }
        self.write_work(|tx| {
            let known = maybe(tx, "SELECT id FROM job_files WHERE path = ?1", [&file.path], value::<i64>)?;
            let former = former(tx, file, known, &names)?;
            let id = match (known, &former) {
                (Some(id), Some((former, _))) => {
                    // No index leads to these jobs, and a file moves once.
                    run(tx, "UPDATE jobs SET job_file = ?2 WHERE job_file = ?1", [former, &id])?;
                    run(tx, "DELETE FROM job_files WHERE id = ?1", [former])?;
                    id
                }
                (None, Some((former, _))) => *former,
                (Some(id), None) => id,
                (None, None) => id_of(tx, &file.path)?,
            };
            let sql = "UPDATE job_files SET path = ?2, named_path = ?3 WHERE id = ?1";
            run(tx, sql, params![id, file.path, file.named])?;
            if let Some((_, path)) = former.as_ref().filter(|(_, path)| !paths::is_gone(Path::new(path))) {
                take_over_schedules(tx, path, file)?;
            }
            Ok(RegisteredFile { id, moved_from: former.map(|(_, path)| path) })
        })
    }

    /// The paths of the job files that have jobs of this name, that of the newest job first. Only the newest jobs of the name are
    /// looked at.
    pub fn files_of_name(&self, name: &str) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT f.path FROM (SELECT job_file, max(id) AS newest FROM
                 (SELECT j.id, j.job_file FROM jobs AS j INDEXED BY jobs_by_name WHERE j.name = ?1
                  ORDER BY j.id DESC LIMIT {MAX_JOBS}) GROUP BY job_file)
             JOIN job_files AS f ON f.id = job_file ORDER BY newest DESC"
        );
        self.read(|tx| all(tx, &sql, [name], value))
    }

    /// The paths of other files to which the link led by which the caller came to this one.
    pub fn files_behind_link(&self, file: &JobFilePath) -> Result<HashSet<String>> {
        let sql = "SELECT path FROM job_files WHERE named_path = ?1 AND path <> ?1 AND path <> ?2";
        Ok(self.read(|tx| all(tx, sql, [&file.named, &file.path], value))?.into_iter().collect())
    }

    /// The paths of the files of these jobs, as far as they are known.
    pub fn files_of_jobs(&self, jobs: &[i64]) -> Result<HashSet<String>> {
        let sql = "SELECT path FROM job_files WHERE id IN
                       (SELECT job_file FROM jobs WHERE id IN (SELECT value FROM json_each(?1)))";
        Ok(self.read(|tx| all(tx, sql, [json!(jobs).to_string()], value))?.into_iter().collect())
    }
}

/// Makes schedules that were applied from the release before those of the next one. What they say stays until that is applied.
fn take_over_schedules(tx: &Tx, from: &str, to: &JobFilePath) -> Result<()> {
    let sql = "UPDATE schedules SET file = ?2 WHERE file = ?1 AND name IN (SELECT value FROM json_each(?3))";
    run(tx, sql, params![from, to.path, json!(to.schedules).to_string()])?;
    Ok(())
}

/// The paths of these rows.
pub fn paths(tx: &Connection, ids: &BTreeSet<i64>) -> Result<BTreeMap<i64, String>> {
    let sql = "SELECT id, path FROM job_files WHERE id IN (SELECT value FROM json_each(?1))";
    let read = |row: &Row<'_>| Ok((row.get("id")?, row.get("path")?));
    Ok(all(tx, sql, [json!(ids).to_string()], read)?.into_iter().collect())
}

/// The path of the job file with this row id.
pub fn path(tx: &Connection, id: Option<i64>) -> Result<Option<String>> {
    maybe(tx, "SELECT path FROM job_files WHERE id = ?1", [id], value)
}

/// The row of this path, which a schedule or a caller has as its file. It is made if it is missing.
pub fn id_of(tx: &Tx, path: &str) -> Result<i64> {
    if let Some(id) = maybe(tx, "SELECT id FROM job_files WHERE path = ?1", [path], value)? {
        return Ok(id);
    }
    one(tx, "INSERT INTO job_files (path) VALUES (?1) RETURNING id", [path], value)
}

/// The row that this file, which may have one, takes over, and the path that it had.
fn former(
    tx: &Tx,
    file: &JobFilePath,
    known: Option<i64>,
    names: &BTreeSet<&str>,
) -> Result<Option<(i64, String)>> {
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>("id")?, row.get::<_, String>("path")?));
    let behind_link = "SELECT id, path FROM job_files WHERE named_path = ?1 AND path <> ?1 AND id IS NOT ?2
         ORDER BY id DESC LIMIT 1";
    if let Some(found) = maybe(tx, behind_link, params![file.named, known], read)? {
        return Ok(Some(found));
    }
    let newest = format!(
        "SELECT job_file FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 ORDER BY id DESC LIMIT {MAX_JOBS}"
    );
    let has_job = format!("SELECT EXISTS (SELECT 1 FROM ({newest}) WHERE job_file = ?2)");
    let of_name = format!("SELECT id, path FROM job_files WHERE id IN ({newest}) ORDER BY id DESC");
    for name in names {
        if one(tx, &has_job, params![name, known], value)? {
            continue;
        }
        let files = all(tx, &of_name, [name], read)?;
        if let Some(gone) = files.into_iter().find(|(_, path)| paths::is_gone(Path::new(path))) {
            return Ok(Some(gone));
        }
    }
    Ok(None)
}
