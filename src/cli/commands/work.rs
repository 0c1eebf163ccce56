//! `runner work`: passes the options to the worker, chooses the form of its log, and turns its summary into an exit
//! status.

use std::collections::BTreeSet;
use std::io;
use std::num::NonZero;
use std::thread;

use anyhow::{Result, bail};

use crate::call_target::to_type;
use crate::cli::args::{Global, LogFormat, WorkArgs};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::inside;
use crate::clock;
use crate::model::Event;
use crate::report::{HumanLog, JsonLog, LogWriter, Reporter, SystemdNotifier, TerminalLog, is_journal};
use crate::stdio::Waiting;
use crate::store::{QueueRow, Store};
use crate::text::{counted, local_time, relative_time};
use crate::view::terminal;
use crate::worker::{self, Options, Summary, Until};

/// Runs a worker until its options or a signal end it.
pub fn run(global: &Global, args: &WorkArgs) -> Result<ExitStatus> {
    let mut store = database::open_or_create(global)?;
    inside::recognize(&mut store)?;
    let options = Options {
        slots: args.slots.unwrap_or_else(default_slots),
        single: args.single,
        queues: (!args.queue.is_empty())
            .then(|| BTreeSet::from_iter(args.queue.clone()).into_iter().collect()),
        until: match (args.drain, args.until_idle) {
            (true, _) => Until::Drained,
            (_, true) => Until::Idle,
            _ => Until::Stopped,
        },
        max_jobs: args.max_jobs,
        keep: args.keep,
        shutdown_timeout: args.shutdown_timeout,
    };
    let bounded = options.is_bounded();
    let (until, queues) = (options.until, options.queues.clone());
    let env = |name: &str| std::env::var_os(name);
    let mut reporter = SystemdNotifier::around(reporter(global, args), &env);
    if store.file().is_put_aside() {
        let text =
            "restore has put this database aside: its jobs may run in the one that took its place, too";
        reporter.report(clock::now(), &Event::Notice(text.to_owned()));
    }
    if let Some(job) = store.calling_job().filter(|_| until != Until::Stopped && !global.quiet) {
        let text = format!(
            "this worker is part of job {job}: it waits neither for that nor for what waits for that"
        );
        reporter.report(clock::now(), &Event::Notice(text));
    }
    if until == Until::Drained && !args.single && args.max_jobs.is_none() && !global.quiet {
        note_due_later(&store, queues.as_deref(), reporter.as_mut());
    }
    let Some(summary) = worker::work(store, options, reporter.as_mut())? else {
        if !global.quiet {
            terminal::warn(&format!(
                "a worker of this database is alive already; {} shows it",
                to_type("inspect", "workers")
            ));
        }
        return Ok(ExitStatus::SUCCESS);
    };
    if summary.stopped_by.is_none() && !global.quiet {
        note_paused_queues(global, until, queues.as_deref(), reporter.as_mut());
    }
    let status = exit_status(summary, bounded);
    if status == ExitStatus::SUCCESS && summary.unreadable > 0 && summary.stopped_by.is_none() {
        let jobs = counted(summary.unreadable, "job");
        let hint = format!(
            "{} names what is damaged, and {} puts a backup in the database's place",
            to_type("doctor", ""),
            to_type("restore", "FILE")
        );
        bail!(CliError::new(ExitStatus::IO, format!("left {jobs} alone that cannot be read")).hint(hint));
    }
    Ok(status)
}

/// The number of attempts at once where nobody gives one. A crontab starts everything at once, so a machine with one CPU
/// gets some slots, too.
pub fn default_slots() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).max(4)
}

/// Says that a drain waits for jobs that are due later, because that may take a night.
fn note_due_later(store: &Store, queues: Option<&[String]>, reporter: &mut dyn Reporter) {
    let now = clock::now();
    let Ok(overview) = store.overview(now) else { return };
    let is_taken =
        |queue: &QueueRow| !queue.is_paused() && queues.is_none_or(|queues| queues.contains(&queue.name));
    let taken = overview.queues.iter().filter(|queue| is_taken(queue));
    let later: u64 = taken.map(|queue| queue.counts.scheduled + queue.counts.retrying).sum();
    if later > 0 {
        // The time may be that of a queue that is left alone.
        let next = overview.next_run_at.filter(|_| overview.queues.iter().all(is_taken));
        let next = next.map(|at| format!(", the next at {} ({})", local_time(at), relative_time(at, now)));
        let text = format!(
            "this drain waits for {} due later{}; --until-idle does not",
            counted(later, "job"),
            next.unwrap_or_default()
        );
        reporter.report(now, &Event::Notice(text));
    }
}

/// Reports the jobs that `--drain` or `--until-idle` left in paused queues. If they cannot be read this says nothing,
/// because the work itself is done.
fn note_paused_queues(global: &Global, until: Until, queues: Option<&[String]>, reporter: &mut dyn Reporter) {
    let found = || database::open(global).ok()?.overview(clock::now()).ok();
    let Some(overview) = (until != Until::Stopped).then(found).flatten() else { return };
    for QueueRow { name, pause, pause_of_all, counts, .. } in overview.queues {
        let later = if until == Until::Drained { counts.scheduled + counts.retrying } else { 0 };
        let left = counts.ready + later;
        if pause.or(pause_of_all).is_none()
            || left == 0
            || queues.is_some_and(|queues| !queues.contains(&name))
        {
            continue;
        }
        let wait = if left == 1 { "waits" } else { "wait" };
        let (why, resume) = match pause {
            Some(_) => ("which is paused", format!("{} opens it", to_type("resume", &name))),
            None => ("as everything is paused", format!("{} ends that", to_type("resume", "--all"))),
        };
        let text = format!("{} still {wait} in queue {name}, {why}; {resume}", counted(left, "job"));
        reporter.report(clock::now(), &Event::Notice(text));
    }
}

fn exit_status(summary: Summary, bounded: bool) -> ExitStatus {
    match summary.stopped_by {
        Some(signal) if bounded => ExitStatus::of_signal(signal),
        None if bounded && summary.dead + summary.stuck > 0 => ExitStatus::FAILED,
        _ => ExitStatus::SUCCESS,
    }
}

fn reporter(global: &Global, args: &WorkArgs) -> Box<dyn Reporter> {
    let stderr = || LogWriter::new(Waiting(io::stderr()));
    let journal = || is_journal(io::stderr(), std::env::var_os("JOURNAL_STREAM").as_deref());
    let format = if global.json && !global.quiet { LogFormat::Json } else { args.log };
    match format {
        LogFormat::Json => {
            Box::new(JsonLog::new(LogWriter::new(Waiting(io::stdout())), stderr(), global.json))
        }
        LogFormat::Text if global.quiet && global.json => Box::new(HumanLog::quiet_as_json(stderr())),
        LogFormat::Text if global.quiet => Box::new(HumanLog::quiet(stderr())),
        LogFormat::Text if terminal::can_draw() => {
            let log = TerminalLog::new(terminal::painter_of_stderr(global.color));
            let has_end = args.drain || args.until_idle;
            Box::new(if has_end { log.with_bar(terminal::ascii_only()) } else { log })
        }
        LogFormat::Text if journal() => Box::new(HumanLog::for_journal(stderr())),
        LogFormat::Text => Box::new(HumanLog::new(stderr())),
    }
}
