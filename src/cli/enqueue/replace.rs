//! `--on-conflict replace`, where the job in the way lies in the hand of a worker that has not begun it.

use std::time::{Duration, Instant};

use super::super::failure::Failure;
use super::super::hands;
use crate::store::{EnqueueError, Enqueued, NewJob, OnConflict, Store};

/// How long it is tried. A worker begins what it has at hand within a tenth of a second, or gives it back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Enqueues the jobs by this call, again if a job in the way was claimed and not begun: nobody sees that it is claimed, and
/// what has never started can be replaced.
pub(super) fn enqueue(
    store: &mut Store,
    jobs: &[NewJob],
    call: &mut dyn FnMut(&mut Store) -> Result<Vec<Enqueued>, EnqueueError>,
) -> Result<Vec<Enqueued>, Failure> {
    if jobs.iter().any(|job| job.on_conflict == OnConflict::Replace) {
        hands::take_from_the_dead(store)?;
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let holder = match call(store) {
            Err(EnqueueError::Conflict { holder, started: true, .. }) if Instant::now() < until => holder,
            done => return Ok(done?),
        };
        hands::look(store)?;
        if !store.is_in_hand(holder) {
            // It has begun; or it was given back at this moment, or is over, and then it is no longer in the way.
            return Ok(call(store)?);
        }
        hands::wait_until(store, &mut |store| Ok(!store.is_in_hand(holder)))?;
    }
}
