//! What workers hold and have not begun: to everybody else such a job is still waiting.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::watch::Watch;
use crate::clock;
use crate::store::Store;
use crate::worker;

/// How long a worker may take to give it back. A suspended one gives nothing back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Has it shown as waiting.
pub fn look(store: &mut Store) -> Result<()> {
    let in_hand = worker::in_hand(store)?;
    store.show_as_waiting(in_hand);
    Ok(())
}

/// Has what lies in the hands of dead workers wait again, before something is done with waiting jobs.
pub fn take_from_the_dead(store: &mut Store) -> Result<()> {
    Ok(worker::take_from_the_dead(store, &clock::now)?)
}

/// Waits until workers have given back what is meant, as the answer tells after each look.
pub fn wait_until(store: &mut Store, is_given_back: &mut dyn FnMut(&Store) -> Result<bool>) -> Result<()> {
    if is_given_back(store)? {
        return Ok(());
    }
    let mut watch = Watch::begin()?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && watch.wait(store, Some(until))?.is_none() {
        look(store)?;
        if is_given_back(store)? {
            break;
        }
    }
    Ok(())
}
