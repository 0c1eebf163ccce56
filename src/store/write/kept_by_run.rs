//! Which jobs a living `run` keeps for itself.

use rusqlite::{Connection, params};

use super::conditions::is_ready;
use super::limits::{QueueCapacity, QueueHold};
use crate::store::file::error::Result;
use crate::store::file::row::{maybe, one, value};

/// A condition on `jobs`: no living `run` keeps the job for itself. The row of one that died stays open until its claims are
/// recovered.
pub const NOT_OF_A_RUN: &str = "id NOT IN (SELECT kept.id FROM workers AS w INDEXED BY workers_open
     CROSS JOIN jobs AS kept INDEXED BY jobs_of_runs ON kept.run_worker_id = w.id AND kept.state = 'pending'
     WHERE w.ended_at IS NULL AND w.leftover_since IS NULL)";

/// Whether the worker of `j.run_worker_id` still keeps the job for itself.
pub const IS_KEPT: &str = "EXISTS (SELECT 1 FROM workers AS w
     WHERE w.id = j.run_worker_id AND w.ended_at IS NULL AND w.leftover_since IS NULL)";

/// The `run` that still keeps this job for itself.
pub fn keeper(tx: &Connection, job: i64) -> Result<Option<i64>> {
    let sql = format!("SELECT j.run_worker_id FROM jobs AS j WHERE j.id = ?1 AND {IS_KEPT}");
    maybe(tx, &sql, [job], value)
}

/// Whether one of these queues, which were full, has a place for a due job of a living `run`.
pub fn is_place_freed(tx: &Connection, capacity: &QueueCapacity, full: &[String]) -> Result<bool> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM jobs AS j INDEXED BY jobs_of_runs
                        WHERE j.run_worker_id IS NOT NULL AND j.queue = ?1 AND {} AND {IS_KEPT})",
        is_ready("j", "?2")
    );
    for queue in full.iter().filter(|queue| !is_full(capacity, queue)) {
        if one(tx, &sql, params![queue, capacity.now], value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub fn is_full(capacity: &QueueCapacity, queue: &str) -> bool {
    matches!(capacity.queue_hold(queue), Some(QueueHold::Full(_)))
}
