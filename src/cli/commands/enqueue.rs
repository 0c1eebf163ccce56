//! `runner enqueue`: puts jobs on disk, prints their ids, and waits for them if that is asked for.

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};
use serde_json::json;

use crate::call_target::{CallTarget, to_type};
use crate::cli::args::{EnqueueArgs, Global, WaitOptions};
use crate::cli::commands::ended_jobs::{print_waited, report_final, status_of_waited, waited_json};
use crate::cli::commands::new_jobs::{failure, plan, rehearse, warn_of_held_keys, warn_of_unused_arguments};
use crate::cli::commands::wait::Waiter;
use crate::cli::error::{CliError, ExitStatus, not_printed};
use crate::cli::workers::worker_statuses;
use crate::cli::{database, find_job, inside, scheduled_runs};
use crate::clock;
use crate::model::JobState;
use crate::process::is_stdout_closed;
use crate::store::{Enqueued, NewJob, Store};
use crate::view::advice::no_worker_text;
use crate::view::json::job_json;
use crate::view::terminal::{Bar, Output, warn};

pub fn run(global: &Global, args: &EnqueueArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut plan = plan(global, "enqueue", args)?;
    if args.dry_run {
        return rehearse(global, &mut plan, out);
    }
    let mut store = database::open_or_create(global)?;
    let mut bar = Bar::new(global.quiet, "{pos} of {len} written");
    // Together, because a call that enqueues nothing takes no jobs over either.
    let done = store.together(|store| {
        let moved = plan.register(store, global.quiet)?;
        let all = plan.jobs.len() as u64;
        Ok((moved, store.enqueue(&plan.jobs, &mut |written| bar.set(written as u64, all))?))
    });
    let (moved, enqueued) = done.map_err(|error| failure(&store, &plan, error))?;
    drop(bar);
    if let Some(moved) = moved {
        warn(&moved);
    }
    let jobs = &plan.jobs;
    store.check_path()?;
    if !out.quiet {
        warn_of_held_keys(&store, jobs, &enqueued)?;
        scheduled_runs::tell(&store, jobs, &enqueued)?;
        warn_of_unused_arguments(jobs);
    }
    // With `--wait` a program gets the jobs once they are final.
    if !(args.waiting.wait && out.json) {
        print_ids(out, &store, &enqueued)?;
    }
    if args.waiting.wait {
        let named = enqueued.iter().filter(|enqueued| !jobs[enqueued.index].is_dependency);
        let named: Vec<_> = named.copied().collect();
        return wait(out, &mut store, &named, args.waiting);
    }
    if !out.quiet && io::stderr().is_terminal() {
        note_no_worker(&store, jobs, &enqueued)?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// Says that nothing starts the new jobs, because who types a command expects it to run.
fn note_no_worker(store: &Store, jobs: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
    let workers = worker_statuses(store)?;
    let mut new = enqueued.iter().filter(|job| job.created).map(|job| &jobs[job.index]);
    let why =
        new.find_map(|job| no_worker_text(Some(&job.definition.queue), &workers, CallTarget::of_this_call()));
    if let Some(why) = why {
        let run = to_type("run", "");
        warn(&format!("{why}; {run} in place of {} needs none", to_type("enqueue", "")));
    }
    Ok(())
}

/// Waits for the jobs, or for the earlier jobs that hold their keys, and warns about each that did not succeed. With `--json`
/// each is printed with its last attempt, also where the wait is given up.
fn wait(out: &mut Output, store: &mut Store, jobs: &[Enqueued], args: WaitOptions) -> Result<ExitStatus> {
    let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
    let mut printed: Vec<i64> = Vec::new();
    inside::recognize(store)?;
    let wait = Waiter::new(args.wait_timeout, out.quiet)?.for_new_jobs();
    let waited = wait.wait_for(store, &ids, &mut |store, job, last| {
        printed.push(job.id);
        let created = jobs.iter().any(|it| it.id == job.id && it.created);
        let is_cancelled = job.state == JobState::Cancelled;
        // With --quiet a cancelled job is not reported, because cron would send mail about what somebody did on
        // purpose.
        if is_cancelled && out.quiet {
            return print_waited(out, store, job, created);
        }
        report_final(out, store, job, last, created, args.output_on_failure && !is_cancelled)
    });
    if out.json && waited.is_err() {
        for job in jobs.iter().filter(|job| !printed.contains(&job.id)) {
            if let Some(row) = find_job::job_if_there(store, job.id, clock::now())? {
                let last = store.attempt(row.id, row.attempts)?;
                out.object(&waited_json(store, &row, last.as_ref(), job.created)?);
            }
        }
    }
    waited.map(|status| status_of_waited(out, status))
}

/// Prints the ids. If standard output fails, they go to standard error, because the jobs are on disk all the same.
fn print_ids(out: &mut Output, store: &Store, enqueued: &[Enqueued]) -> Result<()> {
    let enqueued: Vec<&Enqueued> = enqueued.iter().filter(|job| !job.is_scheduled_run()).collect();
    if out.quiet || enqueued.is_empty() {
        return Ok(());
    }
    let line = |job: &&Enqueued| if out.json { json_line(store, **job) } else { Ok(job.id.to_string()) };
    let lines = enqueued.iter().map(line).collect::<Result<Vec<_>>>()?.join("\n");
    let printed =
        if is_stdout_closed() { Err(io::Error::other("it is closed")) } else { out.must_line(&lines) };
    if let Err(error) = printed {
        let ids: Vec<_> = enqueued.iter().map(|job| job.id.to_string()).collect();
        bail!(
            CliError::new(ExitStatus::IO, not_printed(&error))
                .hint(format!("the jobs are on disk; their ids: {}", ids.join(" ")))
        );
    }
    Ok(())
}

fn json_line(store: &Store, enqueued: Enqueued) -> Result<String> {
    let job = find_job::job_if_there(store, enqueued.id, clock::now())?;
    let mut object = job.as_ref().map_or_else(|| json!({}), job_json);
    object["created"] = json!(enqueued.created);
    Ok(object.to_string())
}
