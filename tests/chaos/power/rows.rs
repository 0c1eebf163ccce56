//! What a database holds, and what in it never changes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use super::promises::Start;

type Cells = Vec<Value>;

/// The rows that matter.
pub struct Rows {
    pub jobs: BTreeMap<u64, Job>,
    pub attempts: BTreeMap<Start, Cells>,
    outputs: BTreeMap<Start, Cells>,
    pub paused: Vec<String>,
}

/// A job.
pub struct Job {
    pub state: String,
    pub attempts: u32,
    pub name: String,
    /// What was fixed when it was enqueued, with its input.
    fixed: Cells,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} attempts ({})", self.state, self.attempts, self.name)
    }
}

impl Rows {
    /// Reads a database that lies here.
    pub fn read(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        let mut jobs = connection.prepare(
            "SELECT j.id, state, attempts, name, args, unique_key, idempotency_key, enqueued_at, spec, stdin
             FROM jobs AS j JOIN definitions AS d ON d.id = definition_id LEFT JOIN inputs AS i ON i.job_id = j.id",
        )?;
        let jobs = jobs.query_map((), |row| {
            let job =
                Job { state: row.get(1)?, attempts: row.get(2)?, name: row.get(3)?, fixed: cells(row, 3)? };
            Ok((row.get(0)?, job))
        })?;
        let jobs = jobs.collect::<rusqlite::Result<_>>()?;
        let by_attempt = |table: &str| -> rusqlite::Result<BTreeMap<Start, Cells>> {
            let mut rows = connection.prepare(&format!("SELECT job_id, number, * FROM {table}"))?;
            let rows = rows.query_map((), |row| Ok(((row.get(0)?, row.get(1)?), cells(row, 2)?)))?;
            rows.collect()
        };
        let mut paused = connection.prepare("SELECT name FROM queues WHERE paused")?;
        let paused = paused.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Self { jobs, attempts: by_attempt("attempts")?, outputs: by_attempt("outputs")?, paused })
    }

    /// What is here and was never there, or otherwise, in what became of the same history later.
    pub fn not_in(&self, later: &Self) -> Vec<String> {
        let mut strange = Vec::new();
        for (id, job) in &self.jobs {
            if later.jobs.get(id).is_none_or(|other| other.fixed != job.fixed) {
                strange.push(format!("job {id} was never enqueued so"));
            }
        }
        for (what, here, there) in
            [("attempt", &self.attempts, &later.attempts), ("output", &self.outputs, &later.outputs)]
        {
            for (start, cells) in here {
                if there.get(start) != Some(cells) {
                    strange.push(format!("{what} {start:?} is not what it was: {cells:?}"));
                }
            }
        }
        strange
    }
}

fn cells(row: &Row, from: usize) -> rusqlite::Result<Cells> {
    (from..row.as_ref().column_count()).map(|column| row.get(column)).collect()
}
