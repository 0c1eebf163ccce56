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
use crate::store::{PruneCounts, PruneFilter};
use crate::text::{Timestamp, counted};
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
        let counts = store.count_prunable(&filter)?;
        out.done(&json!({ "removed": sum(&counts) }), words("would remove", &counts, args))?;
        return Ok(ExitStatus::SUCCESS);
    }
    let poller = Poller::start()?;
    let mut bar = Bar::new(global, "{pos} of {len} removed");
    let all = if bar.is_visible() { sum(&store.count_prunable(&filter)?) } else { 0 };
    let counts = store.prune(&filter, &mut |gone| {
        bar.set(gone, all);
        poller.stopped().is_none()
    })?;
    drop(bar);
    // It records expiries, and an alert may be due.
    wake::wake_workers(&store.file().run_dir());
    out.done(&json!({ "removed": sum(&counts) }), words("removed", &counts, args))?;
    if let Some(exit) = poller.stopped() {
        warn("stopped before all was done; prune again to go on");
        return Ok(exit);
    }
    Ok(ExitStatus::SUCCESS)
}

fn filter(args: &Prune) -> PruneFilter {
    let now = clock::now();
    let age = args.older_than.map_or(0, |span| span.0);
    let mut states: Vec<JobState> = Vec::new();
    for state in if args.state.is_empty() { &DEFAULT_STATES[..] } else { &args.state } {
        if !states.contains(state) {
            states.push(*state);
        }
    }
    PruneFilter {
        states,
        name: args.name.clone(),
        queue: args.queue.clone(),
        until: Timestamp(now.0.saturating_sub_unsigned(age)),
        now,
    }
}

fn sum(counts: &PruneCounts) -> u64 {
    counts.iter().map(|(_, number)| number).sum()
}

/// `removed 5 jobs: 4 succeeded, 1 cancelled`
fn words(done: &str, counts: &PruneCounts, args: &Prune) -> String {
    let all = sum(counts);
    if all == 0 {
        let states: Vec<_> = counts.iter().map(|(state, _)| state.as_str()).collect();
        let age = args.older_than.map(|span| format!(" {span} ago or earlier")).unwrap_or_default();
        return format!("nothing to remove: no {} job finished{age}", states.join(" or "));
    }
    let each: Vec<_> = counts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(state, number)| format!("{number} {state}"))
        .collect();
    format!("{done} {}: {}", counted(all, "job"), each.join(", "))
}
