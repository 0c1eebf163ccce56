//! Jobs, attempts and the overview as JSON: the field names and their order are the contract's, section 7.

mod attempt;
mod job;
mod overview;
mod stats;

use crate::text::{Timestamp, rfc3339};

pub use attempt::AttemptJson;
pub use job::JobJson;
pub use overview::{OverviewJson, QueueJson, WorkerJson};
pub use stats::StatsJson;

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(rfc3339)
}
