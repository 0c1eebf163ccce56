//! `work --keep`: a thread that removes succeeded and cancelled jobs once they are old enough.
//!
//! It has a connection of its own and removes few jobs in one transaction, so that a claim hardly waits for it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
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

/// How long it goes on where the worker has done what it was to do: a worker that cron starts each minute would else remove no more
/// than one transaction does.
const LAST_ROUND: Duration = Duration::from_secs(1);

/// The thread, which goes on until this is dropped. Drop it before the worker's own connection: the last one to close empties the log.
pub(super) struct Keeper {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    /// When the thread is to end.
    end: Mutex<Option<Instant>>,
    /// Held while the thread is within a transaction.
    transaction: Mutex<()>,
}

impl Keeper {
    /// Removes what ended longer ago than `keep`, through `store`, a connection of its own. `on_trouble` takes the words for a
    /// failure that lasts.
    pub(super) fn start(
        store: Store,
        keep: Millis,
        on_trouble: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let mut removal = Removal { keep, store, state: Arc::clone(&state), unused_since: None };
        let thread = thread::Builder::new().name("keep".to_owned()).spawn(move || {
            let mut failures = 0;
            loop {
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
                if lock(&removal.state.end).is_some() {
                    break;
                }
            }
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Keeps the thread out of its transactions until the guard is dropped, so that the process can be stopped: within one it would
    /// keep every other process from writing.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.state.transaction)
    }

    /// The thread goes on for up to [`LAST_ROUND`] before it ends: call this where the worker ends by itself.
    pub(super) fn finish(&self) {
        *lock(&self.state.end) = Some(Instant::now() + LAST_ROUND);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        lock(&self.state.end).get_or_insert_with(Instant::now);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic has been reported.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Removal {
    keep: Millis,
    store: Store,
    state: Arc<State>,
    /// When it removed the first job since it last looked for what nothing needs any more.
    unused_since: Option<Instant>,
}

impl Removal {
    fn round(&mut self) -> Result<()> {
        let states = PruneFilter::DEFAULT_STATES.to_vec();
        let until = clock::now().minus(self.keep);
        let filter = PruneFilter { states, name: None, queue: None, until };
        let state = Arc::clone(&self.state);
        let mut held = Some(lock(&state.transaction));
        let mut began = Instant::now();
        let mut go_on = |_| {
            drop(held.take());
            thread::sleep(began.elapsed() * PAUSE);
            held = Some(lock(&state.transaction));
            began = Instant::now();
            lock(&state.end).is_none_or(|end| began < end)
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
