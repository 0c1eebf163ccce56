//! Numbers for monitoring that no screen shows.

use super::error::Result;
use super::open::Store;
use super::overview::Counts;
use crate::text::Timestamp;

impl Store {
    /// The finished jobs by queue. Reads all jobs: a quarter of a second for a million.
    pub fn finished_by_queue(&self) -> Result<Vec<(String, Counts)>> {
        self.autocommit(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT queue, sum(state = 'succeeded'), sum(state = 'dead' AND resolved_at IS NULL),
                        sum(state = 'dead' AND resolved_at IS NOT NULL), sum(state = 'cancelled')
                 FROM jobs NOT INDEXED GROUP BY queue",
            )?;
            let rows = statement.query_map([], |row| {
                let (succeeded, dead, resolved, cancelled) =
                    (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
                Ok((row.get(0)?, Counts { succeeded, dead, resolved, cancelled, ..Counts::default() }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The earliest due time of a ready job, by queue.
    pub fn oldest_due_by_queue(&self, now: Timestamp) -> Result<Vec<(String, Timestamp)>> {
        self.autocommit(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT queue, min(run_at) FROM jobs
                 WHERE state = 'pending' AND waiting_for = 0 AND run_at <= ?1 AND coalesce(expires_at > ?1, 1) GROUP BY queue",
            )?;
            let rows = statement.query_map([now.0], |row| Ok((row.get(0)?, Timestamp(row.get(1)?))))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
