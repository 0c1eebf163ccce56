//! `runner prune`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, Prune};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Bar, Output, warn};
use crate::cli::poll::Poller;
use crate::clock;
use crate::model::JobState;
use crate::store::PruneFilter;
use crate::text::counted;
use crate::wake;

/// Removed where no state is named: a dead letter is kept until `--state dead`.
const DEFAULT_STATES: [JobState; 2] = [JobState::Succeeded, JobState::Cancelled];

/// Removes finished jobs, or says which would go.
pub fn run(global: &Global, args: &Prune, out: &mut Output) -> Result<ExitStatus> {
    let Some(mut store) = locate::open_if_there(global)? else {
        let file = locate::store_file(global)?;
        let words = format!("there is no database yet at {}", locate::display(file.path()));
        out.done(&json!({ "removed": 0 }), words)?;
        return Ok(ExitStatus::SUCCESS);
    };
    let filter = filter(args);
    if args.dry_run {
        let jobs = store.count_prunable(&filter)?;
        out.done(&json!({ "removed": jobs }), format!("would remove {}", counted(jobs, "job")))?;
        return Ok(ExitStatus::SUCCESS);
    }
    let poller = Poller::start()?;
    let mut bar = Bar::new(global, "{pos} of {len} removed");
    let all = if bar.is_visible() { store.count_prunable(&filter)? } else { 0 };
    let jobs = store.prune(&filter, &mut |gone| {
        bar.set(gone, all);
        poller.stopped().is_none()
    })?;
    drop(bar);
    // It records expiries, and an alert may be due.
    wake::wake_workers(&store.file().run_dir());
    out.done(&json!({ "removed": jobs }), format!("removed {}", counted(jobs, "job")))?;
    if let Some(exit) = poller.stopped() {
        warn("stopped before all was done; prune again to go on");
        return Ok(exit);
    }
    Ok(ExitStatus::SUCCESS)
}

fn filter(args: &Prune) -> PruneFilter {
    let now = clock::now();
    let states = if args.state.is_empty() { &DEFAULT_STATES[..] } else { &args.state };
    PruneFilter {
        states: JobState::ALL.iter().copied().filter(|state| states.contains(state)).collect(),
        name: args.name.clone(),
        queue: args.queue.clone(),
        until: now.minus(args.older_than.unwrap_or_default()),
        now,
    }
}
