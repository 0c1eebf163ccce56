//! The numbers of one name as JSON.

use serde::Serialize;

use super::time;
use crate::store::NameStats;
use crate::text::Millis;

/// The numbers of one name.
#[derive(Debug, Serialize)]
pub struct StatsJson {
    name: String,
    /// Jobs that have ended: the sum of the three that follow.
    jobs: u64,
    succeeded: u64,
    dead: u64,
    cancelled: u64,
    /// Of those that were not called off; null where there is none.
    success_rate: Option<f64>,
    attempts: u64,
    attempts_per_success: Option<f64>,
    run_p50_ms: Option<Millis>,
    run_p95_ms: Option<Millis>,
    run_max_ms: Option<Millis>,
    wait_p50_ms: Option<Millis>,
    wait_p95_ms: Option<Millis>,
    wait_max_ms: Option<Millis>,
    last_failure_at: Option<String>,
    last_error_code: Option<String>,
}

impl StatsJson {
    /// These numbers.
    pub fn new(name: &str, stats: &NameStats) -> Self {
        let (runs, waits) = (&stats.runs, &stats.waits);
        Self {
            name: name.to_owned(),
            jobs: stats.jobs(),
            succeeded: stats.succeeded,
            dead: stats.dead,
            cancelled: stats.cancelled,
            success_rate: stats.success_rate().map(|rate| rounded(rate, 10_000.0)),
            attempts: stats.attempts,
            attempts_per_success: stats.attempts_per_success().map(|ratio| rounded(ratio, 100.0)),
            run_p50_ms: runs.percentile(50),
            run_p95_ms: runs.percentile(95),
            run_max_ms: runs.max(),
            wait_p50_ms: waits.percentile(50),
            wait_p95_ms: waits.percentile(95),
            wait_max_ms: waits.max(),
            last_failure_at: time(stats.last_failure.as_ref().map(|(at, _)| *at)),
            last_error_code: stats.last_failure.as_ref().map(|(_, code)| code.clone()),
        }
    }
}

/// Further digits would say nothing.
fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}
