//! One turn of a worker: record what ended, drop what expired, claim what is due. One transaction, one sync.

use super::claim::{self, Claim};
use super::definition::Definitions;
use super::expire::{self, Expired};
use super::finish::{self, Ended, Recorded};
use super::queues::{self, Backlog};
use super::{Result, Store};
use crate::model::Timestamp;

/// Expired jobs recorded in one turn; the rest waits for the next.
const MOST_EXPIRED: usize = 1_000;

/// What a worker wants of one turn.
#[derive(Debug)]
pub struct Errand<'a> {
    /// The row id of the worker.
    pub worker: i64,
    /// The queues it looks at; none: all.
    pub queues: Option<&'a [String]>,
    /// Attempts that ended.
    pub ended: &'a [Ended],
    /// Claims that were not and will not be started: they go back as if they had never been made.
    pub give_back: &'a [i64],
    /// How many jobs it can start.
    pub want: usize,
}

/// What a turn did. It is on disk.
#[derive(Debug, Default)]
pub struct Turn {
    /// In the order of [`Errand::ended`].
    pub recorded: Vec<Recorded>,
    /// Jobs that died waiting.
    pub expired: Vec<Expired>,
    /// Jobs to start now.
    pub claims: Vec<Claim>,
    /// What is left.
    pub backlog: Backlog,
    /// Running jobs of this worker that are to be ended.
    pub cancels: Vec<i64>,
}

impl Store {
    /// Runs one turn. The clock is read when it is this worker's turn to write.
    pub fn turn(
        &mut self,
        definitions: &mut Definitions,
        errand: &Errand,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Turn> {
        self.write(|tx| {
            let mut turn = Turn::default();
            for ended in errand.ended {
                turn.recorded.push(finish::finish(tx, definitions, errand.worker, ended)?);
            }
            let now = clock();
            for job_id in errand.give_back {
                give_back(tx, errand.worker, *job_id, now)?;
            }
            turn.expired = expire::expire_due(tx, now, MOST_EXPIRED)?;
            turn.claims = claim::claim(tx, definitions, errand.worker, errand.queues, errand.want, now)?;
            turn.backlog = queues::backlog(tx, errand.queues, now)?;
            turn.cancels = cancels(tx, errand.worker)?;
            Ok(turn)
        })
    }
}

/// Undoes a claim that was never started. A cancel that came meanwhile takes effect.
pub(super) fn give_back(
    connection: &rusqlite::Connection,
    worker: i64,
    job_id: i64,
    now: Timestamp,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE jobs SET state = iif(cancel_requested_at IS NULL, 'pending', 'cancelled'), worker_id = NULL,
                             changed_at = ?3
             WHERE id = ?1 AND state = 'running' AND worker_id = ?2",
        )?
        .execute(rusqlite::params![job_id, worker, now.0])?;
    Ok(())
}

fn cancels(connection: &rusqlite::Connection, worker: i64) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM jobs WHERE state = 'running' AND worker_id = ?1 AND cancel_requested_at IS NOT NULL",
    )?;
    let rows = statement.query_map([worker], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
