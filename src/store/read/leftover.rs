//! Processes of a dead worker's attempts that could not be ended. Whoever looks finds them, because the database does not have
//! them.

use rusqlite::{Connection, params_from_iter};

use super::filter::Filter;
use super::problem::{AttentionEntry, LeftProcess, Problem};
use crate::model::Attention;
use crate::store::file::error::Result;
use crate::store::file::row::{all, value};
use crate::store::write::workers::WorkerStatus;
use crate::text::{Millis, Timestamp};

/// Processes that could not be ended for as long as this are an alarm.
const LEFTOVER: Millis = Millis::from_secs(60);

/// The living processes of a dead worker's attempts, which could not be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// The id of the worker's row.
    pub worker: i64,
    /// Its jobs of which processes are left.
    pub jobs: Vec<i64>,
    pub processes: Vec<LeftProcess>,
}

/// An entry for each dead worker of which processes could not be ended for a while.
pub fn attention(
    tx: &Connection,
    leftovers: &[Leftovers],
    workers: &[WorkerStatus],
    filter: &Filter,
    now: Timestamp,
) -> Result<Vec<AttentionEntry>> {
    let mut list = Vec::new();
    for left in leftovers {
        let worker = workers.iter().find(|worker| worker.row.id == left.worker);
        let since = worker.and_then(|worker| Some((worker.row.pid, worker.row.leftover_since?)));
        let Some((pid, since)) = since.filter(|(_, since)| now.since(*since) >= LEFTOVER) else { continue };
        let mut wanted = filter.narrowed(now);
        wanted.and("j.id IN (SELECT value FROM json_each({}))", serde_json::json!(left.jobs).to_string());
        let sql = format!(
            "SELECT j.id FROM jobs AS j WHERE {} ORDER BY j.id LIMIT {}",
            wanted.sql,
            Attention::MAX_JOBS
        );
        let jobs: Vec<i64> = all(tx, &sql, params_from_iter(wanted.values), value)?;
        if jobs.is_empty() {
            continue;
        }
        let processes = left.processes.clone();
        list.push(Problem::Leftover { pid, since, processes }.alarm().about(jobs));
    }
    Ok(list)
}
