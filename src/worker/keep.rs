//! `work --keep`: a thread that removes succeeded and cancelled jobs once they are old enough.
//!
//! It has a connection of its own and removes few jobs in one transaction, so that a claim hardly waits for it. It may end
//! with the process at any moment: each job is either there whole or gone whole.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;
use crate::store::{PruneFilter, Result, Store};
use crate::text::Millis;

/// How often it looks for jobs that have become old enough.
const INTERVAL: Duration = Duration::from_mins(1);

/// Jobs that one transaction removes: beside a million others that takes a few milliseconds.
const CHUNK: usize = 20;

/// The pause after a transaction is this many times as long as that took, so that others mostly find the database free.
const PAUSE: u32 = 2;

/// How often it looks for definitions and workers that nothing needs any more: that reads every job.
const UNUSED_INTERVAL: Duration = Duration::from_hours(1);

/// How often it has to fail in a row before it is said, because a database may be busy or full for a while.
const FAILURES: u32 = 5;

/// The thread, which goes on until this is dropped.
pub(super) struct Keeper {
    is_stopped: Arc<AtomicBool>,
}

impl Keeper {
    /// Removes what ended longer ago than `keep`, through `store`, a connection of its own. `on_trouble` takes the words for a failure that lasts.
    pub(super) fn start(
        store: Store,
        keep: Millis,
        on_trouble: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut removal = Removal { keep, store, is_stopped: Arc::clone(&is_stopped), unused_since: None };
        thread::Builder::new().name("keep".to_owned()).spawn(move || {
            let mut failures = 0;
            while !removal.is_stopped.load(Ordering::Relaxed) {
                match removal.round() {
                    Ok(()) => failures = 0,
                    Err(error) => {
                        failures += 1;
                        if failures == FAILURES || failures == 1 && !error.is_passing() {
                            on_trouble(format!("old jobs cannot be removed: {error}"));
                        }
                    }
                }
                thread::park_timeout(INTERVAL);
            }
        })?;
        Ok(Self { is_stopped })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nobody waits for the thread: it may be waiting for a busy database itself.
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

struct Removal {
    keep: Millis,
    store: Store,
    is_stopped: Arc<AtomicBool>,
    /// When it removed the first job since it last looked for what nothing needs any more.
    unused_since: Option<Instant>,
}

impl Removal {
    fn round(&mut self) -> Result<()> {
        let states = PruneFilter::DEFAULT_STATES.to_vec();
        let until = clock::now().minus(self.keep);
        let filter = PruneFilter { states, name: None, queue: None, until };
        let is_stopped = Arc::clone(&self.is_stopped);
        let mut began = Instant::now();
        let mut go_on = |_| {
            thread::sleep(began.elapsed() * PAUSE);
            began = Instant::now();
            !is_stopped.load(Ordering::Relaxed)
        };
        if self.store.remove_finished(&filter, CHUNK, &mut go_on)? > 0 {
            self.unused_since.get_or_insert_with(Instant::now);
        }
        if self.unused_since.is_some_and(|since| since.elapsed() >= UNUSED_INTERVAL) {
            self.store.remove_unused(until, &mut || go_on(0))?;
            self.unused_since = None;
        }
        Ok(())
    }
}
