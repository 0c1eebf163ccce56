//! The output of attempts.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::Result;
use super::open::Store;
use crate::model::StreamBytes;

/// The kept output of both streams of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Output {
    pub stdout: StreamBytes,
    pub stderr: StreamBytes,
}

impl Store {
    /// Saves what running attempts have written so far: job, number, output. Attempts that have ended are passed over.
    pub fn save_live_outputs(&mut self, worker: i64, outputs: &[(i64, u32, Output)]) -> Result<()> {
        self.write(|tx| {
            let mut statement = tx.prepare_cached(
                "INSERT OR REPLACE INTO live_outputs SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
                 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'running' AND worker_id = ?9
                               AND attempts = ?2 - 1)",
            )?;
            for (job_id, number, Output { stdout, stderr }) in outputs {
                statement.execute(params![
                    job_id,
                    number,
                    stdout.bytes,
                    stdout.head,
                    stdout.omitted,
                    stderr.bytes,
                    stderr.head,
                    stderr.omitted,
                    worker
                ])?;
            }
            Ok(())
        })
    }

    /// The number of bytes that this running attempt has written to each stream, as far as they are saved. The output
    /// changes only with these numbers, and takes longer to read.
    pub fn live_lengths(&self, job_id: i64, number: u32) -> Result<(u64, u64)> {
        let sql = "SELECT length(stdout) + stdout_omitted, length(stderr) + stderr_omitted
                   FROM live_outputs WHERE job_id = ?1 AND number = ?2";
        self.read(|tx| {
            let mut statement = tx.prepare_cached(sql)?;
            let found = statement.query_row(params![job_id, number], |row| Ok((row.get(0)?, row.get(1)?)));
            Ok(found.optional()?.unwrap_or_default())
        })
    }

    /// The output of this attempt: kept, or saved so far. Empty where the attempt wrote nothing.
    pub fn output(&self, job_id: i64, number: u32) -> Result<Output> {
        let columns = "stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted";
        let sql = format!(
            "SELECT {columns} FROM outputs WHERE job_id = ?1 AND number = ?2
             UNION ALL SELECT {columns} FROM live_outputs WHERE job_id = ?1 AND number = ?2 LIMIT 1"
        );
        self.read(|tx| {
            let mut statement = tx.prepare_cached(&sql)?;
            Ok(statement.query_row(params![job_id, number], from_row).optional()?.unwrap_or_default())
        })
    }
}

fn from_row(row: &Row) -> rusqlite::Result<Output> {
    Ok(Output {
        stdout: StreamBytes { bytes: row.get(0)?, head: row.get(1)?, omitted: row.get(2)? },
        stderr: StreamBytes { bytes: row.get(3)?, head: row.get(4)?, omitted: row.get(5)? },
    })
}

/// Records the output of an attempt that ends now. Without one, the output saved while the attempt ran
/// is all there is.
pub(super) fn record(tx: &Connection, job_id: i64, number: u32, output: Option<&Output>) -> Result<()> {
    match output {
        Some(Output { stdout, stderr }) if !stdout.is_empty() || !stderr.is_empty() => {
            tx.prepare_cached("INSERT INTO outputs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(
                params![
                    job_id,
                    number,
                    stdout.bytes,
                    stdout.head,
                    stdout.omitted,
                    stderr.bytes,
                    stderr.head,
                    stderr.omitted
                ],
            )?;
        }
        Some(_) => {}
        None => {
            tx.prepare_cached(
                "INSERT INTO outputs SELECT * FROM live_outputs WHERE job_id = ?1 AND number = ?2",
            )?
            .execute(params![job_id, number])?;
        }
    }
    tx.prepare_cached("DELETE FROM live_outputs WHERE job_id = ?1")?.execute([job_id])?;
    Ok(())
}
