//! A wall clock that was set back must not stretch a wait.

use rusqlite::params;

use super::error::Result;
use super::open::Store;
use crate::text::Timestamp;

/// A time on record that is this far in the future shows that the clock was set back. Less may be two processes that
/// read the clock at once.
const SLACK_MS: i64 = 1_000;

impl Store {
    /// Makes waits that would begin in the future begin now: waits of retries, of jobs without a due time of their own,
    /// and of queues with a rate. Gives the number of waits moved.
    ///
    /// Call this when a worker starts, when the worker sees that the clock was set back, and now and then while jobs
    /// come and end: the clock may step twice between two polls. The newest thousand jobs, all attempts and all queues show
    /// whether there is anything to do.
    pub fn follow_clock_step(&mut self, now: Timestamp) -> Result<usize> {
        let future = now.0.saturating_add(SLACK_MS);
        let stepped = self.read(|tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM attempts WHERE finished_at > ?1)
                           OR EXISTS (SELECT 1 FROM (SELECT enqueued_at FROM jobs ORDER BY id DESC LIMIT 1000)
                                      WHERE enqueued_at > ?1)
                           OR EXISTS (SELECT 1 FROM queues WHERE last_start_at > ?1)";
            Ok(tx.prepare_cached(sql)?.query_row([future], |row| row.get::<_, bool>(0))?)
        })?;
        if !stepped {
            return Ok(0);
        }
        self.write(|tx| {
            let sql = "UPDATE jobs SET run_at = ?1 + (run_at - changed_at), changed_at = ?1
                       WHERE state = 'pending' AND changed_at > ?2 AND (attempts > 0 OR run_at <= changed_at)";
            let jobs = tx.prepare_cached(sql)?.execute(params![now.0, future])?;
            let sql = "UPDATE queues SET last_start_at = ?1 WHERE last_start_at > ?2";
            Ok(jobs + tx.prepare_cached(sql)?.execute(params![now.0, future])?)
        })
    }
}
