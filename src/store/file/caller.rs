//! The running job whose command has made this call of the program.

use rusqlite::Row;

use super::error::Result;
use super::row::from_row;

/// A running attempt, whose command has made this call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub job: i64,
    /// The number of the attempt; none if that is not known.
    pub attempt: Option<u32>,
    /// The process of this call.
    pub process: ProcessRow,
    /// Whether a process lives. The store itself looks at no process.
    pub is_alive: fn(&ProcessRow) -> bool,
}

/// A process, told apart from all others. Somebody else may have written the row, so its numbers may be no such numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    pub pid: i64,
    pub boot_id: String,
    /// When it started, in clock ticks since that boot.
    pub start_ticks: i64,
}

impl ProcessRow {
    pub fn read(row: &Row<'_>) -> Result<Self> {
        Ok(from_row!(row, Self { pid, boot_id, start_ticks }))
    }
}
