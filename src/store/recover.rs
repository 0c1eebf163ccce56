//! Recording the end of a dead worker's claims.

use rusqlite::Connection;

use super::definition::Definitions;
use super::error::{Result, StoreError};
use super::expire::DroppedJob;
use super::finish::{self, Ended, Recorded};
use super::open::Store;
use super::turn::give_back;
use super::workers;
use crate::text::Timestamp;

/// A job that a dead worker still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldClaim {
    pub job_id: i64,
    /// The number of the attempt that the job was claimed for.
    pub number: u32,
    pub claimed_at: Timestamp,
}

/// The result of a recovery, on disk.
#[derive(Debug, Default)]
pub struct Recovered {
    /// In the order of the lost attempts.
    pub recorded: Vec<Recorded>,
    /// Claims that were never started, and whose jobs had been cancelled.
    pub cancelled: Vec<DroppedJob>,
}

impl Store {
    /// The jobs that this worker holds.
    pub fn held_by(&self, worker: i64) -> Result<Vec<HeldClaim>> {
        self.read(|tx| {
            let mut statement = tx.prepare_cached(
                "SELECT id, attempts + 1, claimed_at FROM jobs WHERE state = 'running' AND worker_id = ?1 ORDER BY id",
            )?;
            let rows = statement.query_map([worker], |row| {
                Ok(HeldClaim { job_id: row.get(0)?, number: row.get(1)?, claimed_at: Timestamp(row.get(2)?) })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Records what is known of a dead worker's attempts, gives back the claims that never started, and closes
    /// the worker's row.
    ///
    /// No process of the worker may still be running. A second recovery is harmless: the fence refuses its attempts.
    pub fn recover(
        &mut self,
        definitions: &mut Definitions,
        worker: i64,
        lost: &[Ended],
        never_started: &[i64],
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Recovered> {
        self.write(|tx| {
            let mut recovered = Recovered::default();
            for ended in lost {
                let recorded = finish::finish(tx, definitions, worker, ended)?;
                if matches!(recorded, Recorded::Late { .. }) && holds(tx, worker, ended.job_id)? {
                    // The job would be found again and again.
                    return Err(StoreError::contradiction(format!(
                        "job {} is held by a dead worker, and is not as that one claimed it",
                        ended.job_id
                    )));
                }
                recovered.recorded.push(recorded);
            }
            let now = clock();
            for job_id in never_started {
                recovered.cancelled.extend(give_back(tx, worker, *job_id, now)?);
            }
            let closed = workers::close(tx, worker, now)?;
            // The index would give this worker again and again.
            let listed = "SELECT EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                         WHERE ended_at IS NULL AND id = ?1)
                          AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND worker_id = ?1)";
            if !closed && tx.query_row(listed, [worker], |row| row.get::<_, bool>(0))? {
                return Err(StoreError::contradiction(format!(
                    "an index calls worker {worker} open, its row does not"
                )));
            }
            Ok(recovered)
        })
    }
}

fn holds(tx: &Connection, worker: i64, job_id: i64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND worker_id = ?2)";
    Ok(tx.prepare_cached(sql)?.query_row([job_id, worker], |row| row.get(0))?)
}
