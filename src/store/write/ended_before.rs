//! The last attempts of jobs, by whose marks the processes are found that they have left in the background.

use std::os::unix::ffi::OsStrExt;

use rusqlite::{Row, params};

use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::all;
use crate::store::file::version::Version;

/// An attempt that has ended, and what its processes are found by.
#[derive(Clone, Debug)]
pub struct EndedBefore {
    pub job_id: i64,
    pub number: u32,
    /// The secret of its worker, and the version of that one's program.
    pub mark: String,
    pub version: Version,
}

/// The last attempts of jobs, as SQL: what [`EndedBefore::read`] takes, of a job `j` and its worker `w`.
pub const LAST_ATTEMPTS: &str = "SELECT j.id AS job_id, a.number, w.mark, w.version
    FROM jobs AS j JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts JOIN workers AS w ON w.id = a.worker_id";

impl EndedBefore {
    pub fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            job_id: row.get("job_id")?,
            number: row.get("number")?,
            mark: row.get("mark")?,
            version: Version(row.get("version")?),
        })
    }
}

impl Store {
    /// The last ended attempts of these jobs, as far as they were started in this boot, by workers of this database.
    pub fn ended_before(&self, jobs: &[i64], boot_id: &str) -> Result<Vec<EndedBefore>> {
        let sql = format!(
            "{LAST_ATTEMPTS} WHERE j.id IN (SELECT value FROM json_each(?1)) AND w.boot_id = ?2 AND w.db_path = ?3
             AND a.started_at IS NOT NULL"
        );
        let path = self.file().path().as_os_str().as_bytes().to_vec();
        let ids = serde_json::json!(jobs).to_string();
        self.read(|tx| all(tx, &sql, params![ids, boot_id, path], EndedBefore::read))
    }
}
