//! `runner pause` and `runner resume`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, Paused};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{Output, warn};
use crate::clock;
use crate::jobfile::near_names;
use crate::store::{FilterColumn, Store};
use crate::wake;

/// Pauses a queue or a schedule, or resumes it.
pub fn run(global: &Global, args: &Paused, paused: bool, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    if let Some(queue) = args.queue.as_ref().filter(|_| !out.quiet) {
        warn_of_unknown(global, &store, queue, paused)?;
    }
    let (kind, name, changed) = match (&args.queue, &args.schedule) {
        (Some(queue), _) => ("queue", queue, store.set_paused(queue, paused)?),
        (None, Some(schedule)) => {
            let changed = store.pause_schedule(schedule, paused, &clock::now)?.ok_or_else(|| {
                CliError::new(ExitStatus::NOT_FOUND, format!("there is no schedule {schedule}"))
                    .hint("runner inspect schedules lists them; runner apply takes them from the job file")
            })?;
            ("schedule", schedule, changed)
        }
        (None, None) => unreachable!("clap asks for one of both"),
    };
    wake::wake_workers(&store.file().run_dir());
    let word = if paused { "paused" } else { "open" };
    let already = if changed { "" } else { " already" };
    out.done(&json!({ kind: name, "paused": paused }), format!("{kind} {name} is {word}{already}"))?;
    Ok(ExitStatus::SUCCESS)
}

/// Says that nothing has a queue of this name, and which schedule may be meant.
fn warn_of_unknown(global: &Global, store: &Store, queue: &str, paused: bool) -> Result<()> {
    let schedules = store.schedules()?;
    let mut known = store.distinct_values(FilterColumn::Queue)?;
    known.extend(locate::declared_values(global, FilterColumn::Queue));
    let links = schedules.iter().flat_map(|row| row.chain.before.iter().chain([&row.chain.last]));
    known.extend(links.map(|link| link.spec.queue.clone()));
    if known.iter().any(|name| name == queue) {
        return Ok(());
    }
    let schedule = schedules.iter().find(|row| row.name() == queue && row.paused != paused);
    let near = near_names(queue, known.iter().map(String::as_str));
    warn(&match (schedule, near.as_slice()) {
        (Some(_), _) if paused => {
            format!("the schedule {queue} goes on; runner pause --schedule {queue} holds it")
        }
        (Some(_), _) => {
            format!("the schedule {queue} stays paused; runner resume --schedule {queue} ends that")
        }
        (None, []) => format!("no job is in queue {queue}"),
        (None, near) => format!("no job is in queue {queue}; did you mean {}?", near.join(" or ")),
    });
    Ok(())
}
