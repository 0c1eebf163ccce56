//! A worker: claims jobs from the store, runs their attempts as processes, then records and reports the results.
//!
//! One thread dispatches: it waits on its inbox, and it alone writes about jobs that run; `keep` removes ended ones on a
//! thread and a connection of its own. Each slot is a thread that runs one attempt
//! at a time, from spawn to reaped. A file lock, which the kernel releases when the worker dies, proves the worker alive.

mod changes;
mod dispatcher;
mod inbox;
mod keep;
mod options;
mod recovery;
mod registration;
mod retry_throttle;
mod run;
mod shutdown;
mod slots;
mod start_log;

use std::sync::Arc;

use anyhow::{Context, Result};

use self::run::Run;
use crate::process::{self, PassOn};
use crate::report::Reporter;
use crate::store::Store;
use crate::text::Millis;

pub use options::{Options, Summary, Until};
pub use recovery::{end_background, end_leftovers, leftovers, remove_abandoned_files};
pub use registration::{is_any_alive, liveness, started_at};
pub use run::RunTask;

/// Works until the options or a signal end the worker. Call this before any other thread is started. None if the worker
/// was to be the only one, and another one is alive.
///
/// A failing job is never an error. A `StoreError` or `io::Error` is the cause of all others.
pub fn work(store: Store, options: Options, reporter: &mut dyn Reporter) -> Result<Option<Summary>> {
    start(store, options, reporter, None)
}

/// Runs the job of this task, with what it depends on, to its end, or until a signal ends it. Call this before any other
/// thread is started. What the jobs write goes to `pass_on`, too.
pub fn run(
    store: Store,
    slots: usize,
    reporter: &mut dyn Reporter,
    task: &mut dyn RunTask,
    pass_on: Option<Arc<PassOn>>,
) -> Result<Summary> {
    let options = Options {
        slots,
        single: false,
        queues: Some(Vec::new()),
        until: Until::Drained,
        max_jobs: None,
        keep: None,
        shutdown_timeout: Millis(0),
    };
    let summary = start(store, options, reporter, Some(Run::new(task, pass_on)))?;
    Ok(summary.unwrap_or_default())
}

fn start<'a>(
    store: Store,
    options: Options,
    reporter: &'a mut dyn Reporter,
    run: Option<Run<'a>>,
) -> Result<Option<Summary>> {
    let inherited = process::reset_inherited_state();
    process::check_proc()?;
    process::check_null()?;
    process::check_pidfd()?;
    // Before the runtime opens descriptors, which are counted among those of the worker.
    let room = process::room_for(options.slots)?;
    let options = Options { slots: room.slots, ..options };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start the dispatcher")?;
    runtime.block_on(dispatcher::run(store, options, reporter, run, &inherited, room.lack))
}
