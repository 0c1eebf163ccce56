//! Stores the standard output and standard error of attempts: while they run (`live_outputs`), and for good (`outputs`).

use rusqlite::{Connection, Row, named_params, params};

use crate::model::{AttemptOutput, OutputMark, StreamBytes, read_marks, write_marks};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::Store;
use crate::store::file::row::{self, maybe, run};
use crate::text::Timestamp;

/// The columns of an output, in `outputs` and in `live_outputs`.
const COLUMNS: &str = "stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted, marks";

/// The parameters for [`COLUMNS`], in the same order.
const VALUES: &str = ":stdout, :stdout_head, :stdout_omitted, :stderr, :stderr_head, :stderr_omitted, :marks";

/// What a running attempt has written so far, maybe nothing.
#[derive(Clone, Debug)]
pub struct LiveOutput {
    pub job_id: i64,
    pub number: u32,
    pub started_at: Timestamp,
    pub output: AttemptOutput,
}

impl Store {
    /// Saves what running attempts of this worker have written so far. An attempt that is no longer running is left out.
    pub fn save_live_outputs(&mut self, worker: i64, outputs: &[LiveOutput]) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO live_outputs (job_id, number, started_at, {COLUMNS})
             SELECT :job, :number, :started_at, {VALUES}
             WHERE EXISTS (SELECT 1 FROM jobs WHERE id = :job AND state = 'running' AND worker_id = :worker
                           AND attempts = :number - 1)"
        );
        self.write(|tx| {
            for LiveOutput { job_id, number, started_at, output } in outputs {
                let AttemptOutput { stdout, stderr, marks } = output;
                let params = named_params! {
                    ":job": job_id, ":number": number, ":worker": worker, ":started_at": started_at,
                    ":stdout": stdout.bytes, ":stdout_head": stdout.head, ":stdout_omitted": stdout.omitted,
                    ":stderr": stderr.bytes, ":stderr_head": stderr.head, ":stderr_omitted": stderr.omitted,
                    ":marks": stored_marks(marks),
                };
                run(tx, &sql, params)?;
            }
            Ok(())
        })
    }

    /// The number of bytes that this running attempt has written to each stream, as far as they are saved. Whoever follows
    /// the output asks for these first, because the output has changed only if they have, and takes longer to read.
    pub fn live_lengths(&self, job_id: i64, number: u32) -> Result<(u64, u64)> {
        let sql =
            "SELECT length(stdout) + stdout_omitted AS stdout, length(stderr) + stderr_omitted AS stderr
                   FROM live_outputs WHERE job_id = ?1 AND number = ?2";
        let read = |row: &Row<'_>| Ok((row.get("stdout")?, row.get("stderr")?));
        self.read(|tx| Ok(maybe(tx, sql, params![job_id, number], read)?.unwrap_or_default()))
    }

    /// The output of this attempt, or what is saved of it so far if the attempt is running. Empty if it wrote nothing.
    pub fn output(&self, job_id: i64, number: u32) -> Result<AttemptOutput> {
        self.read(|tx| of(tx, job_id, number))
    }
}

/// The body of [`Store::output`], for callers that are within a transaction.
pub fn of(tx: &Connection, job_id: i64, number: u32) -> Result<AttemptOutput> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outputs WHERE job_id = ?1 AND number = ?2
         UNION ALL SELECT {COLUMNS} FROM live_outputs WHERE job_id = ?1 AND number = ?2 LIMIT 1"
    );
    Ok(maybe(tx, &sql, params![job_id, number], read)?.unwrap_or_default())
}

/// Damaged outputs.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let which = "'the output of attempt ' || number || ' of job ' || job_id AS which";
    let of = |table| format!("SELECT {which}, {COLUMNS} FROM {table}");
    row::damaged(tx, &format!("{} UNION ALL {}", of("outputs"), of("live_outputs")), [], limit, read)
}

fn read(row: &Row<'_>) -> Result<AttemptOutput> {
    let mut output = AttemptOutput {
        stdout: StreamBytes {
            bytes: row.get("stdout")?,
            head: row.get("stdout_head")?,
            omitted: row.get("stdout_omitted")?,
        },
        stderr: StreamBytes {
            bytes: row.get("stderr")?,
            head: row.get("stderr_head")?,
            omitted: row.get("stderr_omitted")?,
        },
        marks: Vec::new(),
    };
    if let Some(marks) = row.get_ref("marks")?.as_blob_or_null()? {
        output.marks = read_marks(marks, output.lengths())
            .map_err(|error| StoreError::InvalidData(format!("marks: {error}")))?;
    }
    Ok(output)
}

/// The value of the column `marks`: null, if nothing is known.
fn stored_marks(marks: &[OutputMark]) -> Option<Vec<u8>> {
    (!marks.is_empty()).then(|| write_marks(marks).into_bytes())
}

/// Records the output of an attempt that ends now. If its worker has died, `output` is none, and what was saved while the
/// attempt ran is kept instead.
pub fn record(tx: &Connection, job_id: i64, number: u32, output: Option<&AttemptOutput>) -> Result<()> {
    match output {
        Some(AttemptOutput { stdout, stderr, marks }) if !stdout.is_empty() || !stderr.is_empty() => {
            let sql =
                format!("INSERT INTO outputs (job_id, number, {COLUMNS}) VALUES (:job, :number, {VALUES})");
            let params = named_params! {
                ":job": job_id, ":number": number,
                ":stdout": stdout.bytes, ":stdout_head": stdout.head, ":stdout_omitted": stdout.omitted,
                ":stderr": stderr.bytes, ":stderr_head": stderr.head, ":stderr_omitted": stderr.omitted,
                ":marks": stored_marks(marks),
            };
            run(tx, &sql, params)?;
        }
        Some(_) => {}
        None => {
            let sql = format!(
                "INSERT INTO outputs (job_id, number, {COLUMNS})
                 SELECT job_id, number, {COLUMNS} FROM live_outputs WHERE job_id = ?1 AND number = ?2
                 AND length(stdout) + stdout_omitted + length(stderr) + stderr_omitted > 0"
            );
            run(tx, &sql, params![job_id, number])?;
        }
    }
    run(tx, "DELETE FROM live_outputs WHERE job_id = ?1", [job_id])?;
    Ok(())
}
