//! `runner pause` and `runner resume` for queues, schedules and everything, and `runner limit` for queues. The limits in a job file
//! are set by `runner apply`.

use anyhow::{Result, bail};
use serde_json::json;

use crate::call_target::to_type;
use crate::cli::args::{Global, LimitArgs, PauseArgs, Paused};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::job_file;
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::model::Pause;
use crate::process::boot_id;
use crate::store::{FilterColumn, LimitChange, QueueRow, Store, StoredSchedule, Version, WorkerStatus};
use crate::text::{did_you_mean, local_time, meant, option};
use crate::view::json::queue_fields;
use crate::view::terminal::{Output, warn};
use crate::view::text::schedule::until_text;
use crate::view::text::status::stop_text;

/// Pauses a queue, a schedule or everything.
pub fn pause(global: &Global, args: &PauseArgs, out: &mut Output) -> Result<ExitStatus> {
    let now = clock::now();
    let pause = match (args.span, args.until) {
        (Some(span), _) => Pause::For(now, span),
        (None, Some(until)) => Pause::Until(until.resolve(now)),
        (None, None) => Pause::UntilResumed,
    };
    if let Some(end) = pause.ends_at().filter(|end| *end <= now) {
        let what = format!("the pause would end at {}, which has passed", local_time(end));
        bail!(CliError::new(ExitStatus::USAGE, what).hint("--for 2h, or --until with a time to come"));
    }
    set_pause(global, &args.what, Some(pause), out)
}

/// Resumes a queue or a schedule, or ends the pause of everything.
pub fn resume(global: &Global, args: &Paused, out: &mut Output) -> Result<ExitStatus> {
    set_pause(global, args, None, out)
}

fn set_pause(global: &Global, args: &Paused, pause: Option<Pause>, out: &mut Output) -> Result<ExitStatus> {
    let mut store = database::open_to_write(global)?;
    let paused = pause.is_some();
    if args.all && paused || pause.is_some_and(|pause| pause.ends_at().is_some()) {
        refuse_older_worker(&store)?;
    }
    if let Some(queue) = &args.queue {
        check_queue(global, &store, queue, paused, out.quiet)?;
    }
    let (object, what, changed) = if let Some(queue) = &args.queue {
        let changed = store.pause_queue(queue, pause)?;
        (json!({ "queue": queue, "paused": paused }), format!("queue {queue}"), changed)
    } else if let Some(schedule) = &args.schedule {
        let changed = store.pause_schedule(schedule, pause, &boot_id())?;
        let changed = changed.ok_or_else(|| no_schedule(global, &store, schedule, paused))?;
        (json!({ "schedule": schedule, "paused": paused }), format!("schedule {schedule}"), changed)
    } else {
        (json!({ "all": true, "paused": paused }), "everything".to_owned(), store.pause_all(pause)?)
    };
    let until = pause.map(|pause| until_text(pause, clock::now())).unwrap_or_default();
    let state = match pause {
        Some(_) if changed => format!("paused{until}"),
        Some(_) => format!("paused{until} already"),
        None if args.all => "no longer paused as a whole; what was paused by itself still is".to_owned(),
        None if changed => "no longer paused".to_owned(),
        None => "not paused".to_owned(),
    };
    out.done(&object, format!("{what} is {state}"));
    Ok(ExitStatus::SUCCESS)
}

/// A worker of version 1.0 would go on in a pause of everything, and would never end a pause that has an end.
fn refuse_older_worker(store: &Store) -> Result<()> {
    let workers = worker_statuses(store)?;
    let older = workers.iter().find(|worker| worker.is_alive() && worker.row.version == Version::FIRST);
    let Some(WorkerStatus { row, .. }) = older else { return Ok(()) };
    let what = format!(
        "a worker of version {} runs (pid {}), which does not know such a pause",
        row.version, row.pid
    );
    let hint = format!("{}; then start the new one", stop_text(row.pid));
    bail!(CliError::new(ExitStatus::LATER, what).hint(hint))
}

/// The error for a schedule that there is not, which may be meant as a queue.
fn no_schedule(global: &Global, store: &Store, name: &str, paused: bool) -> CliError {
    let error = CliError::new(ExitStatus::NOT_FOUND, format!("there is no schedule {name}"));
    let verb = if paused { "pause" } else { "resume" };
    if known_queues(global, store).is_ok_and(|queues| queues.iter().any(|queue| queue == name)) {
        return error.hint(format!("{name} is a queue: {}", to_type(verb, name)));
    }
    let schedules = store.schedules().unwrap_or_default();
    error.hint(meant(name, schedules.iter().map(StoredSchedule::name)).unwrap_or_else(|| {
        let (inspect, apply) = (to_type("inspect", "schedules"), to_type("apply", ""));
        format!("{inspect} lists them; {apply} takes them from the job file")
    }))
}

/// The queues that have jobs, limits or a pause, and those that the job file or a schedule names.
fn known_queues(global: &Global, store: &Store) -> Result<Vec<String>> {
    let mut known = store.distinct_values(FilterColumn::Queue)?;
    known.extend(job_file::declared_values(global, FilterColumn::Queue));
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
                .hint(to_type(verb, option("--schedule", name)))
        );
    }
    if !quiet {
        let suggestion = did_you_mean(name, known.iter().map(String::as_str));
        warn(&format!("no job is in queue {name}{suggestion}"));
    }
    Ok(())
}

/// Sets the limits of a queue by hand, or shows them.
pub fn limit(global: &Global, args: &LimitArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut store = database::open_to_write(global)?;
    let given = args.limits();
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
