//! What ended attempts left in the background, for the next attempt of their job in this worker.
//!
//! Only in memory: another worker finds what still carries the variables of the attempt, and that is nearly all.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::process::Identity;

/// Jobs that are remembered; more than any sensible number of daemons.
const MOST: usize = 1_024;

/// Processes by the job whose attempt left them.
#[derive(Debug, Default)]
pub(super) struct Remnants(Mutex<HashMap<i64, Vec<Identity>>>);

impl Remnants {
    /// Remembers them. Most jobs have no further attempt, so those of whom nothing is left are forgotten now and then.
    pub(super) fn keep(&self, job_id: i64, processes: Vec<Identity>) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.len() >= MOST {
            jobs.retain(|_, processes| processes.iter().any(Identity::is_alive));
        }
        if jobs.len() < MOST {
            jobs.insert(job_id, processes);
        }
    }

    /// What is known of this job, for its next attempt, which ends them.
    pub(super) fn take(&self, job_id: i64) -> Vec<Identity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&job_id).unwrap_or_default()
    }
}
