//! The overview as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::store::Counts;

/// The overview.
#[derive(Debug, Serialize)]
pub struct OverviewJson {
    /// The path of the database.
    pub db: String,
    /// All jobs by where they stand.
    pub counts: CountsJson,
    /// Queues with unfinished jobs, and paused ones.
    pub queues: Vec<QueueJson>,
    /// Workers that have neither stopped nor been buried.
    pub workers: Vec<WorkerJson>,
    /// Dead jobs by their code.
    pub dead_by_error_code: BTreeMap<String, u64>,
    /// The earliest due time in the future.
    pub next_run_at: Option<String>,
    /// The earliest due time among ready jobs.
    pub oldest_due_at: Option<String>,
}

/// Jobs by where they stand.
#[derive(Debug, Serialize)]
pub struct CountsJson {
    ready: u64,
    scheduled: u64,
    retrying: u64,
    running: u64,
    succeeded: u64,
    dead: u64,
    cancelled: u64,
}

impl From<Counts> for CountsJson {
    fn from(counts: Counts) -> Self {
        let Counts { ready, scheduled, retrying, running, succeeded, dead, cancelled } = counts;
        Self { ready, scheduled, retrying, running, succeeded, dead, cancelled }
    }
}

/// A queue.
#[derive(Debug, Serialize)]
pub struct QueueJson {
    /// Its name.
    pub name: String,
    /// Nothing is claimed from it.
    pub paused: bool,
    /// Due.
    pub ready: u64,
    /// Due in the future, never started.
    pub scheduled: u64,
    /// Due in the future, started before.
    pub retrying: u64,
    /// Claimed.
    pub running: u64,
}

/// A worker.
#[derive(Debug, Serialize)]
pub struct WorkerJson {
    /// Its random id.
    pub id: String,
    /// Its process.
    pub pid: i32,
    /// It holds its lock.
    pub alive: bool,
    /// When it started.
    pub started_at: String,
    /// Attempts at once.
    pub slots: usize,
    /// The jobs that it runs.
    pub running: u64,
    /// The queues it looks at; null: all.
    pub queues: Option<Vec<String>>,
}
