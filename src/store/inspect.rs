//! Single jobs, read back.

use rusqlite::{OptionalExtension, params};

use super::job_row::{COLUMNS, JobRow, TABLES};
use super::{Result, Store};
use crate::text::Timestamp;

impl Store {
    /// One job as it is to be seen at `now`.
    pub fn job(&self, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE j.id = ?1"))?
            .query_row(params![id], |row| JobRow::read(row, now))
            .optional()?)
    }
}
