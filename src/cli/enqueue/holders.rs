//! A key gave a job that was there before: what whoever enqueues should know of it.

use std::io::{self, IsTerminal};

use anyhow::Result;

use super::super::output::warn;
use crate::clock;
use crate::model::JobState;
use crate::store::{Enqueued, JobRow, NewJob, Store};
use crate::text::{counted, local_time};

/// Jobs that are named one by one.
const MOST_NAMED: usize = 5;

/// Says of a holder that has failed for good that nothing will run. A doubled cron line is as it should be, and cron is told
/// nothing of it; a person who looks on is told which job has the key.
pub(super) fn tell(store: &Store, asked: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
    let mut named = 0;
    for (asked, Enqueued { id, .. }) in asked.iter().zip(enqueued).filter(|(_, job)| !job.created) {
        let Some(job) = store.job(*id, clock::now())? else { continue };
        if matches!(job.state, JobState::Dead | JobState::Cancelled) {
            let state = job.state;
            warn(&format!("job {id} has this key and is {state}; runner retry {id} puts it back"));
        } else if io::stderr().is_terminal() {
            named += 1;
            if named <= MOST_NAMED {
                warn(&held(asked, &job));
            }
        }
    }
    if named > MOST_NAMED {
        warn(&format!("nothing new: a key of {} is held, too", counted(named - MOST_NAMED, "further job")));
    }
    Ok(())
}

/// Which key it was, and where the job stands.
fn held(asked: &NewJob, job: &JobRow) -> String {
    let (kind, key) = match (&asked.idempotency_key, &asked.spec.unique_key) {
        (Some(key), _) if job.idempotency_key.as_ref() == Some(key) => ("idempotency", key.as_str()),
        (_, key) => ("unique", key.as_deref().unwrap_or_default()),
    };
    let since = if job.state.is_final() { "at" } else { "since" };
    let (id, state, at) = (job.id, job.state, local_time(job.changed_at));
    format!("nothing new: job {id} already holds the {kind} key {key:?}, {state} {since} {at}")
}
