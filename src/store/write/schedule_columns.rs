//! The columns of schedules whose meaning depends on the version that wrote the row.

use rusqlite::Row;

use super::needs_version;
use crate::store::file::error::{Result, StoreError};
use crate::store::file::version::Version;

/// The lines of a schedule, of a row with `schedule`, `schedule_lines` and `needs_version`.
pub(super) fn read_lines(row: &Row<'_>) -> Result<Vec<String>> {
    let all: Option<String> = if has_columns_of_1_2(row)? { row.get("schedule_lines")? } else { None };
    match all {
        Some(all) => serde_json::from_str(&all)
            .map_err(|why| StoreError::InvalidData(format!("the lines of a schedule are {all}: {why}"))),
        None => Ok(vec![row.get("schedule")?]),
    }
}

/// Whether the columns count that version 1.2 brought. An older program that has applied the schedule anew left them as they were.
pub(super) fn has_columns_of_1_2(row: &Row<'_>) -> Result<bool> {
    Ok(Version(row.get("needs_version")?) >= needs_version::OF_SCHEDULE_COLUMNS)
}
