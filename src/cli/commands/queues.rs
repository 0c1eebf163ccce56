//! `runner pause` and `runner resume` for queues and schedules, and `runner limit` for queues. The limits in a job file
//! are set by `runner apply`.

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, Limit, Paused};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{Output, queue_json, warn};
use crate::clock;
use crate::model::Limits;
use crate::store::{FilterColumn, LimitChange, QueueRow, Store};
use crate::text::near_names;

/// Pauses a queue or a schedule, or resumes it.
pub fn set_paused(global: &Global, args: &Paused, paused: bool, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    if let Some(queue) = args.queue.as_ref().filter(|_| !out.quiet) {
        warn_of_unknown(global, &store, queue, paused)?;
    }
    let (kind, name, changed) = match (&args.queue, &args.schedule) {
        (Some(queue), _) => ("queue", queue, store.set_paused(queue, paused)?),
        (None, Some(schedule)) => {
            let changed = store.pause_schedule(schedule, paused)?.ok_or_else(|| {
                CliError::new(ExitStatus::NOT_FOUND, format!("there is no schedule {schedule}"))
                    .hint("runner inspect schedules lists them; runner apply takes them from the job file")
            })?;
            ("schedule", schedule, changed)
        }
        (None, None) => unreachable!("clap asks for one of both"),
    };
    let word = if paused { "paused" } else { "open" };
    let already = if changed { "" } else { " already" };
    out.done(&json!({ kind: name, "paused": paused }), format!("{kind} {name} is {word}{already}"))?;
    Ok(ExitStatus::SUCCESS)
}

/// Warns that no job has a queue of this name, and suggests a near name or the schedule of that name.
fn warn_of_unknown(global: &Global, store: &Store, queue: &str, paused: bool) -> Result<()> {
    let schedules = store.schedules()?;
    let mut known = store.distinct_values(FilterColumn::Queue)?;
    known.extend(locate::declared_values(global, FilterColumn::Queue));
    let links = schedules.iter().flat_map(|row| row.chain.links());
    known.extend(links.map(|link| link.definition.queue.clone()));
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

/// Sets the limits of a queue by hand, or shows them.
pub fn limit(global: &Global, args: &Limit, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let given = Limits { max_running: args.max_running, rate: args.rate };
    if args.none || !given.is_none() {
        let change = if args.none { LimitChange::Lift } else { LimitChange::Set(given) };
        store.change_limits(&args.queue, change)?;
    }
    let queues = store.overview(clock::now())?.queues;
    let row = queues.into_iter().find(|row| row.name == args.queue);
    let row = row.unwrap_or_else(|| QueueRow { name: args.queue.clone(), ..QueueRow::default() });
    let QueueRow { name, limits, counts, .. } = &row;
    let words = format!("queue {name}: {limits}; {} running, {} ready", counts.running, counts.ready);
    out.done(&queue_json(&row), words)?;
    Ok(ExitStatus::SUCCESS)
}
