//! Counting along: what a transaction does to the numbers of jobs, written once at its end.
//!
//! A turn or a batch moves many jobs between few places. What it moved is added up in memory, so that keeping count
//! costs a few statements a transaction and nothing a job.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use super::{Connection, Result};
use crate::model::JobState;

/// Waiting jobs are counted in buckets of 2^13 ms (8 s): of one bucket alone it may have to be looked up who is due.
pub(super) const FINE: u32 = 13;

/// And in buckets of 2^24 ms (4.7 h), so that even ten years are few rows.
pub(super) const COARSE: u32 = 24;

/// By what time a waiting job is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// By its due time, never started.
    New,
    /// By its due time, started before.
    Retry,
    /// By its expiry; these jobs are counted by their due time as well.
    Expiring,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::New, Self::Retry, Self::Expiring];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retry => "retry",
            Self::Expiring => "expiring",
        }
    }
}

/// What a waiting job is counted by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<'a> {
    pub queue: &'a str,
    pub attempts: u32,
    pub run_at: i64,
    pub expires_at: Option<i64>,
}

impl<'a> Waiting<'a> {
    /// Reads `queue`, `attempts`, `run_at` and `expires_at`, from this column on.
    pub(super) fn read(row: &'a Row, first: usize) -> Result<Self> {
        Ok(Self {
            queue: row.get_ref(first)?.as_str().map_err(rusqlite::Error::from)?,
            attempts: row.get(first + 1)?,
            run_at: row.get(first + 2)?,
            expires_at: row.get(first + 3)?,
        })
    }
}

/// What changes in one transaction.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By queue, kind and fine bucket.
    waiting: BTreeMap<String, BTreeMap<(Kind, i64), i64>>,
    /// By state and error code.
    finished: BTreeMap<(&'static str, String), i64>,
}

impl Tally {
    /// A job waits from now on.
    pub(super) fn waits(&mut self, job: Waiting) {
        self.add_waiting(job, 1);
    }

    /// A job waits no more.
    pub(super) fn leaves(&mut self, job: Waiting) {
        self.add_waiting(job, -1);
    }

    /// So many more jobs are over in this way; less than nothing where they are put back.
    pub(super) fn finished(&mut self, state: JobState, error_code: Option<&str>, number: i64) {
        let key = (state.as_str(), error_code.unwrap_or_default().to_owned());
        *self.finished.entry(key).or_default() += number;
    }

    fn add_waiting(&mut self, job: Waiting, number: i64) {
        if !self.waiting.contains_key(job.queue) {
            self.waiting.insert(job.queue.to_owned(), BTreeMap::new());
        }
        let Some(buckets) = self.waiting.get_mut(job.queue) else { return };
        let kind = if job.attempts == 0 { Kind::New } else { Kind::Retry };
        *buckets.entry((kind, job.run_at >> FINE)).or_default() += number;
        if let Some(expires_at) = job.expires_at {
            *buckets.entry((Kind::Expiring, expires_at >> FINE)).or_default() += number;
        }
    }

    /// Writes it down. To be called once, before the commit.
    pub(super) fn write(self, connection: &Connection) -> Result<()> {
        for ((state, error_code), number) in self.finished {
            if number != 0 {
                connection
                    .prepare_cached(
                        "INSERT INTO finished_counts (state, error_code, jobs) VALUES (?1, ?2, ?3)
                         ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs",
                    )?
                    .execute(params![state, error_code, number])?;
            }
        }
        for (queue, fine) in self.waiting {
            let mut buckets = BTreeMap::new();
            for ((kind, bucket), number) in fine {
                *buckets.entry((kind, FINE, bucket)).or_default() += number;
                *buckets.entry((kind, COARSE, bucket >> (COARSE - FINE))).or_default() += number;
            }
            for ((kind, width, bucket), number) in buckets {
                write_bucket(connection, kind, width, bucket, &queue, number)?;
            }
        }
        Ok(())
    }
}

/// Changes the count of one bucket. An empty one has no row: time brings new ones for ever.
fn write_bucket(
    connection: &Connection,
    kind: Kind,
    width: u32,
    bucket: i64,
    queue: &str,
    number: i64,
) -> Result<()> {
    if number == 0 {
        return Ok(());
    }
    if number < 0 {
        let emptied = connection
            .prepare_cached(
                "DELETE FROM waiting_counts
                 WHERE kind = ?1 AND width = ?2 AND bucket = ?3 AND queue = ?4 AND jobs = -?5",
            )?
            .execute(params![kind.as_str(), width, bucket, queue, number])?;
        if emptied > 0 {
            return Ok(());
        }
    }
    connection
        .prepare_cached(
            "INSERT INTO waiting_counts (kind, width, bucket, queue, jobs) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs",
        )?
        .execute(params![kind.as_str(), width, bucket, queue, number])?;
    Ok(())
}
