//! `runner pause` and `runner resume` for queues and schedules, and `runner limit` for queues. The limits in a job file
//! are set by `runner apply`.

use anyhow::{Result, bail};
use serde_json::json;

use crate::cli::args::{Global, Limit, Paused};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::clock;
use crate::model::Limits;
use crate::place::runner;
use crate::process::boot_id;
use crate::store::{FilterColumn, LimitChange, QueueRow, Store, StoredSchedule};
use crate::text::near_names;
use crate::view::json::queue_fields;
use crate::view::terminal::{Output, warn};

/// Pauses a queue or a schedule, or resumes it.
pub fn set_paused(global: &Global, args: &Paused, paused: bool, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open_to_write(global)?;
    if let Some(queue) = &args.queue {
        check_queue(global, &store, queue, paused, out.quiet)?;
    }
    let (kind, name, changed) = match (&args.queue, &args.schedule) {
        (Some(queue), _) => ("queue", queue, store.set_paused(queue, paused)?),
        (None, Some(schedule)) => {
            let changed = store.pause_schedule(schedule, paused, &boot_id())?;
            ("schedule", schedule, changed.ok_or_else(|| no_schedule(global, &store, schedule, paused))?)
        }
        (None, None) => unreachable!("clap asks for one of both"),
    };
    let word = if paused { "paused" } else { "open" };
    let already = if changed { "" } else { " already" };
    out.done(&json!({ kind: name, "paused": paused }), format!("{kind} {name} is {word}{already}"));
    Ok(ExitStatus::SUCCESS)
}

/// The error for a schedule that there is not, which may be meant as a queue.
fn no_schedule(global: &Global, store: &Store, name: &str, paused: bool) -> CliError {
    let error = CliError::new(ExitStatus::NOT_FOUND, format!("there is no schedule {name}"));
    let verb = if paused { "pause" } else { "resume" };
    if known_queues(global, store).is_ok_and(|queues| queues.iter().any(|queue| queue == name)) {
        return error.hint(format!("{name} is a queue: runner {verb} {name}"));
    }
    let schedules = store.schedules().unwrap_or_default();
    match near_names(name, schedules.iter().map(StoredSchedule::name)).as_slice() {
        [] => error.hint(format!(
            "{} lists them; {} takes them from the job file",
            runner("inspect", "schedules"),
            runner("apply", "")
        )),
        near => error.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// The queues that have jobs, limits or a pause, and those that the job file or a schedule names.
fn known_queues(global: &Global, store: &Store) -> Result<Vec<String>> {
    let mut known = store.distinct_values(FilterColumn::Queue)?;
    known.extend(locate::declared_values(global, FilterColumn::Queue));
    let schedules = store.schedules()?;
    let links = schedules.iter().flat_map(|row| row.chain.links());
    known.extend(links.map(|link| link.definition.queue.clone()));
    Ok(known)
}

/// Refuses a name that no queue has and a schedule has, because the schedule would go on as before. Warns if nothing has
/// the name, and suggests a near one.
fn check_queue(global: &Global, store: &Store, name: &str, paused: bool, quiet: bool) -> Result<()> {
    let known = known_queues(global, store)?;
    if known.iter().any(|queue| queue == name) {
        return Ok(());
    }
    if store.schedules()?.iter().any(|row| row.name() == name) {
        let verb = if paused { "pause" } else { "resume" };
        bail!(
            CliError::new(ExitStatus::NOT_FOUND, format!("no job is in queue {name}, which is a schedule"))
                .hint(format!("runner {verb} --schedule {name}"))
        );
    }
    let near = near_names(name, known.iter().map(String::as_str)).join(" or ");
    let suggestion = if near.is_empty() { near } else { format!("; did you mean {near}?") };
    if !quiet {
        warn(&format!("no job is in queue {name}{suggestion}"));
    }
    Ok(())
}

/// Sets the limits of a queue by hand, or shows them.
pub fn limit(global: &Global, args: &Limit, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open_to_write(global)?;
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
    out.done(&queue_fields("queue", &row), words);
    Ok(ExitStatus::SUCCESS)
}
