//! A worker: the only place where store, processes, clock, dice and reporter meet.
//!
//! One thread dispatches: it waits for signals, timers, wake-ups and slots, and is the only one that touches the store. Each
//! slot is a thread that runs one attempt at a time, from spawn to reaped. A worker proves that it lives by a file
//! lock that the kernel releases when it dies.

mod dispatcher;
mod exchange;
mod inputs;
mod lock;
mod options;
mod pace;
mod phase;
mod presence;
mod recovery;
mod remnants;
mod running;
mod slot_table;
mod slots;
mod stdin;
mod variables;

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;

use crate::process;
use crate::report::Reporter;
use crate::store::{Store, StoreError};

pub use lock::{Liveness, liveness, started_at};
pub use options::{Options, Summary, Until};

/// Why a worker could not go on. Never because of a job that failed.
#[derive(Debug)]
pub enum WorkError {
    /// The store's trouble.
    Store(StoreError),
    /// The operating system's: what was tried, and what it said.
    Io(&'static str, io::Error),
    /// A slot's thread broke down: a defect of runner.
    Broken,
}

impl From<StoreError> for WorkError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for WorkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Io(what, error) => write!(f, "could not {what}: {error}"),
            Self::Broken => f.write_str("a slot of the worker broke down; this is a defect of runner"),
        }
    }
}

impl std::error::Error for WorkError {}

/// Works until the options or a signal say that it is enough. Call it before any other thread is started.
pub fn work(store: Store, options: Options, reporter: &mut dyn Reporter) -> Result<Summary, WorkError> {
    let inherited = process::cleanse();
    // The runtime panics where it cannot have such a pair for its signals. Whoever lacks descriptors is told so in words.
    UnixStream::pair().map(drop).map_err(|error| WorkError::Io("listen for signals", error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| WorkError::Io("start the dispatcher", error))?;
    runtime.block_on(dispatcher::run(store, options, reporter, inherited))
}
