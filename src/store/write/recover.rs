//! The repairs that a worker makes: it recovers dead workers, and it shortens waits that became too long because the clock
//! was set back.

use rusqlite::{Connection, Row, params};

use super::definition::DefinitionCache;
use super::far_times::SLACK;
use super::finish::{self, EndedAttempt};
use super::turn::release_claim;
use super::workers;
use crate::model::Event;
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, from_row, one, run, value};
use crate::store::file::schema::{self, version_of};
use crate::store::file::version::Version;
use crate::text::Timestamp;

/// A running job of a worker that is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanedClaim {
    pub job_id: i64,
    /// The number of the attempt that the job was claimed for.
    pub number: u32,
    pub claimed_at: Timestamp,
    /// The attempt started for certain, because its output was saved while it ran.
    pub has_started: bool,
    /// When it started, if that was saved with the output; programs of version 1.0 did not.
    pub started_at: Option<Timestamp>,
}

impl Store {
    /// The jobs that this worker holds, without those that only a newer runner knows.
    pub fn held_by(&self, worker: i64) -> Result<Vec<OrphanedClaim>> {
        self.read(|tx| held_by(tx, worker, schema::known().version()))
    }

    /// Records the lost attempts of a dead worker, releases its claims that were never started, and closes its row.
    ///
    /// The caller has made sure that no process of the worker's attempts is left. Returns what changed: that each attempt
    /// was lost and what was decided about its job, then which jobs were cancelled before they started. A second recovery
    /// does no harm, because the fence in `finish` refuses its attempts.
    pub fn recover(
        &mut self,
        definitions: &mut DefinitionCache,
        worker: i64,
        lost: &[EndedAttempt],
        never_started: &[i64],
    ) -> Result<Vec<Event>> {
        self.write_work(|tx| {
            let mut events = Vec::new();
            for ended in lost {
                if let Some(recorded) = finish::finish(tx, definitions, worker, ended)? {
                    events.push(Event::lost(&recorded));
                    events.push(Event::AttemptEnded(recorded.into()));
                } else if holds(tx, worker, ended.job_id)? {
                    // Otherwise every worker would find the job again and again.
                    return Err(StoreError::contradiction(format!(
                        "job {} is held by a dead worker, and is not as that one claimed it",
                        ended.job_id
                    )));
                }
            }
            for job_id in never_started {
                events.extend(release_claim(tx, worker, *job_id)?);
            }
            let closed = workers::close(tx, worker)?;
            // Otherwise the index would list this worker again and again.
            let listed = "SELECT EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                         WHERE ended_at IS NULL AND id = ?1)
                          AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND worker_id = ?1)";
            if !closed && one(tx, listed, [worker], value::<bool>)? {
                return Err(StoreError::contradiction(format!(
                    "an index calls worker {worker} open, its row does not"
                )));
            }
            Ok(events)
        })
    }

    /// Rebases waits after the clock was set back: those of retries, of jobs without a due time of their own, and of queues
    /// with a rate, but no due time that a person has named since. Otherwise they would last longer by as much as the clock was set
    /// back. Gives how many were rebased.
    ///
    /// A worker calls this when it starts, when it sees that the clock was set back, and whenever the database has changed,
    /// because the clock may step twice between two polls. Times in the future among the newest thousand jobs, the attempts
    /// and the queues show that there is something to do.
    pub fn rebase_after_clock_step(&mut self) -> Result<usize> {
        let future = |tx: &Tx| tx.now.plus(SLACK);
        let stepped = self.read(|tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM attempts WHERE finished_at > ?1)
                           OR EXISTS (SELECT 1 FROM (SELECT enqueued_at FROM jobs ORDER BY id DESC LIMIT 1000)
                                      WHERE enqueued_at > ?1)
                           OR EXISTS (SELECT 1 FROM queues WHERE last_start_at > ?1)";
            one(tx, sql, [future(tx)], value::<bool>)
        })?;
        if !stepped {
            return Ok(0);
        }
        self.write(|tx| {
            let sql = "UPDATE jobs SET run_at = ?1 + (run_at - changed_at), changed_at = ?1
                       WHERE state = 'pending' AND changed_at > ?2 AND (attempts > 0 OR run_at <= changed_at)
                         AND (due_from IS NOT run_at OR due_delay_ms IS NOT NULL)";
            let jobs = run(tx, sql, params![tx.now, future(tx)])?;
            let sql = "UPDATE queues SET last_start_at = ?1 WHERE last_start_at > ?2";
            Ok(jobs + run(tx, sql, params![tx.now, future(tx)])?)
        })
    }
}

/// The jobs that this worker holds, and that need no newer version than this.
pub fn held_by(tx: &Connection, worker: i64, known: Version) -> Result<Vec<OrphanedClaim>> {
    let started_at = if version_of(tx)? >= Version(1_001) { "o.started_at" } else { "NULL" };
    let sql = format!(
        "SELECT j.id AS job_id, j.attempts + 1 AS number, j.claimed_at, o.job_id IS NOT NULL AS has_started,
                {started_at} AS started_at
         FROM jobs AS j LEFT JOIN live_outputs AS o ON o.job_id = j.id AND o.number = j.attempts + 1
         WHERE j.state = 'running' AND j.worker_id = ?1 AND j.needs_version <= ?2 ORDER BY j.id"
    );
    let read = |row: &Row<'_>| {
        Ok(from_row!(row, OrphanedClaim { job_id, number, claimed_at, has_started, started_at }))
    };
    all(tx, &sql, params![worker, known], read)
}

fn holds(tx: &Connection, worker: i64, job_id: i64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND worker_id = ?2)";
    one(tx, sql, [job_id, worker], value)
}
