//! `--on-conflict`, where the job in the way is not what it seems: it lies in the hand of a worker that has not begun it, or
//! is one of the same call.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::super::error::{CliError, ExitStatus};
use super::super::hands;
use crate::clock;
use crate::store::{EnqueueError, Enqueued, NewJob, OnConflict, Store};

/// How long it is tried. A worker begins what it has at hand within a tenth of a second, or gives it back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Enqueues the jobs by this call, again if a job in the way was claimed and not begun: nobody sees that it is claimed, and
/// what has never started can be replaced.
pub(super) fn enqueue(
    store: &mut Store,
    jobs: &[NewJob],
    call: &mut dyn FnMut(&mut Store) -> Result<Vec<Enqueued>, EnqueueError>,
) -> Result<Vec<Enqueued>> {
    if jobs.iter().any(|job| job.on_conflict == OnConflict::Replace) {
        hands::take_from_the_dead(store)?;
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let holder = match call(store) {
            Err(EnqueueError::Conflict { holder, started: true, .. }) if Instant::now() < until => holder,
            Err(error) => return Err(told(store, error)),
            Ok(done) => return Ok(done),
        };
        hands::look(store)?;
        if !store.is_in_hand(holder) {
            // It has begun; or it was given back at this moment, or is over, and then it is no longer in the way.
            return call(store).map_err(|error| told(store, error));
        }
        hands::wait_until(store, &mut |store| Ok(!store.is_in_hand(holder)))?;
    }
}

/// The job in the way may be one of the call itself: it has not come to be, and nothing can be told of it.
fn told(store: &Store, error: EnqueueError) -> anyhow::Error {
    match &error {
        EnqueueError::Conflict { key, holder, .. }
            if matches!(store.job(*holder, clock::now()), Ok(None)) =>
        {
            let what = format!("nothing was enqueued: two jobs of this call have the unique key {key:?}");
            CliError::new(ExitStatus::LATER, what).hint("--on-conflict skip takes the first for both").into()
        }
        EnqueueError::Conflict { .. } => anyhow::Error::from(error).context("nothing was enqueued"),
        EnqueueError::Store(_) => error.into(),
    }
}
