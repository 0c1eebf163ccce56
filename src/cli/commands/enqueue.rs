//! `runner enqueue`: options become jobs, jobs go to disk, ids are printed.

use std::io::{self, Read};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cli::args::{Enqueue, Global, WaitOptions};
use crate::cli::definition_text::command_line;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::options::JobOptions;
use crate::cli::output::{
    Bar, Output, StreamCursor, Written, attempt_json, job_json, planned_job_json, print_on_stderr, warn,
    with_output,
};
use crate::cli::plan::Planner;
use crate::cli::waiter::{Waiter, final_text};
use crate::cli::{batch, locate};
use crate::clock;
use crate::model::{Attempt, Command, JobState};
use crate::store::{After, Enqueued, JobRow, NewJob, Store, StoreError};
use crate::text::{Timestamp, counted, local_time, safe_line};
use crate::wake;

/// The most bytes of standard input that are kept; the schema refuses more.
const MAX_STDIN_BYTES: usize = 16 << 20;

/// Holders of keys that are named one by one.
const MAX_NAMED: usize = 5;

pub fn run(global: &Global, args: &Enqueue, out: &mut Output) -> Result<ExitStatus> {
    let mut jobs = plan(global, args)?;
    if args.stdin {
        let mut named = jobs.iter_mut().filter(|job| !job.is_dependency);
        let (Some(job), None) = (named.next(), named.next()) else {
            bail!(CliError::usage("--stdin is for a single job"));
        };
        job.stdin = Some(read_input()?);
        // Due times count from the end of the input.
        job.run_at = args.options.run_at(clock::now());
    }
    if args.dry_run {
        if !out.quiet {
            show_plan(out, &jobs, clock::now())?;
        }
        return Ok(ExitStatus::SUCCESS);
    }
    let mut store = locate::open_or_create(global)?;
    let mut bar = Bar::new(global, "{pos} of {len} written");
    let mut on_progress = |done| bar.set(done as u64, jobs.len() as u64);
    let enqueued = store.enqueue(&jobs, &clock::now, &mut on_progress);
    let enqueued = enqueued.map_err(|error| enqueue_failure(&store, error))?;
    drop(bar);
    store.check_path()?;
    if enqueued.iter().any(|job| job.created) {
        wake::wake_workers(&store.file().run_dir());
    }
    if !out.quiet {
        warn_of_held_keys(&store, &jobs, &enqueued)?;
    }
    print_ids(out, &store, &enqueued)?;
    if args.waiting.wait {
        let named = enqueued.iter().filter(|enqueued| !jobs[enqueued.index].is_dependency);
        let ids: Vec<_> = named.map(|enqueued| enqueued.id).collect();
        return wait(out, &mut store, &ids, args.waiting);
    }
    Ok(ExitStatus::SUCCESS)
}

/// The holder of the key may be a job of this call, which was not enqueued: its id means nothing.
fn enqueue_failure(store: &Store, error: StoreError) -> anyhow::Error {
    match &error {
        StoreError::KeyHeld { key, holder, .. } if matches!(store.job(*holder, clock::now()), Ok(None)) => {
            let what = format!("nothing was enqueued: two jobs of this call have the unique key {key:?}");
            CliError::new(ExitStatus::LATER, what).hint("--on-conflict skip takes the first for both").into()
        }
        StoreError::KeyHeld { .. } => anyhow::Error::from(error).context("nothing was enqueued"),
        _ => error.into(),
    }
}

/// Waits for the jobs, also for earlier jobs that hold a key.
fn wait(out: &mut Output, store: &mut Store, ids: &[i64], args: WaitOptions) -> Result<ExitStatus> {
    Waiter::new(args.wait_timeout, out.quiet)?.wait_for(store, ids, &mut |store, job, last| {
        // A person cancelled the job and knows; cron need not mail it.
        if job.state == JobState::Succeeded || (job.state == JobState::Cancelled && out.quiet) {
            return Ok(());
        }
        warn(&format!("{}; runner inspect {} tells more", final_text(job), job.id));
        match last {
            Some(last) if args.output_on_failure && job.state == JobState::Dead => {
                show_output(out, store, job, last)
            }
            _ => Ok(()),
        }
    })
}

/// Prints the output of the last attempt, each stream on its own.
fn show_output(out: &mut Output, store: &Store, job: &JobRow, last: &Attempt) -> Written {
    let output = store.output(last.job_id, last.number)?;
    if out.json {
        let last = attempt_json(&job.spec.name, last, job.spec.policy.runs());
        out.object(&with_output(last, &output))?;
        return out.flush();
    }
    // An attempt that could not be started has only a message.
    if let Some(message) = &last.message {
        warn(&format!("attempt {}: {}", last.number, safe_line(message)));
    }
    StreamCursor::default().print(out, &output.stdout, true)?;
    out.flush()?;
    print_on_stderr(&output.stderr)
}

/// All of standard input.
fn read_input() -> Result<Vec<u8>> {
    let mut input = Vec::new();
    let limit = MAX_STDIN_BYTES as u64 + 1;
    io::stdin().lock().take(limit).read_to_end(&mut input).context("could not read standard input")?;
    if input.len() > MAX_STDIN_BYTES {
        bail!(
            CliError::new(ExitStatus::DATA, "nothing was enqueued: standard input has more than 16 MiB")
                .hint("put it into a file, and name the file in an argument")
        );
    }
    Ok(input)
}

/// The jobs of this command line.
fn plan(global: &Global, args: &Enqueue) -> Result<Vec<NewJob>> {
    let mut options = args.options.clone();
    options.check()?;
    if let Some(path) = &args.batch {
        check_keys(&options, false)?;
        return batch::read(global, path, &options);
    }
    let planner = Planner::new(global, clock::now());
    if args.names.is_empty() && !args.all && options.command.is_none() && !options.args.is_empty() {
        options.command = Some(Command::Argv(std::mem::take(&mut options.args)));
    }
    if options.command.is_some() {
        return Ok(vec![planner.job(Arc::new(planner.spec(&[&options])?), &[&options])?]);
    }
    if let Some(name) = &options.name {
        bail!(
            CliError::usage(format!("--name {name} names an ad hoc job, and there is none"))
                .hint("write the command after --, or as -c 'LINE'")
        );
    }
    let names = if args.all {
        planner.file()?.jobs.iter().map(|job| job.spec.name.clone()).collect()
    } else {
        args.names.clone()
    };
    if names.is_empty() && args.all {
        let file = locate::display(&planner.file()?.path);
        bail!(CliError::new(
            ExitStatus::DATA,
            format!("there is nothing to enqueue: {file} declares no job")
        ));
    }
    if names.is_empty() {
        bail!(
            CliError::usage("there is nothing to enqueue: no name, no command")
                .hint("runner enqueue NAME, runner enqueue -- CMD, or runner enqueue --help")
        );
    }
    if names.len() > 1 && !options.args.is_empty() {
        bail!(CliError::usage("arguments after -- go to a single job, and several are named"));
    }
    check_keys(&options, names.len() == 1)?;
    planner.declared_jobs(names, &options)
}

/// A key belongs to one job.
fn check_keys(options: &JobOptions, single: bool) -> Result<()> {
    for (option, given) in [
        ("--unique-key", options.unique_key.is_some()),
        ("--idempotency-key", options.idempotency_key.is_some()),
    ] {
        if given && !single {
            bail!(CliError::usage(format!("{option} is for a single job")));
        }
    }
    Ok(())
}

/// Warns of earlier jobs that hold a key, whose ids are printed in place of new ones.
fn warn_of_held_keys(store: &Store, args: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
    let mut held = 0;
    for Enqueued { index, id, .. } in enqueued.iter().filter(|job| !job.created) {
        let Some(job) = store.job(*id, clock::now())? else { continue };
        held += 1;
        if held <= MAX_NAMED {
            warn(&held_key(&args[*index], &job));
        }
    }
    if held > MAX_NAMED {
        warn(&format!("nothing new: the keys of {} are held, too", counted(held - MAX_NAMED, "further job")));
    }
    Ok(())
}

fn held_key(args: &NewJob, job: &JobRow) -> String {
    let (kind, key) = match (&args.idempotency_key, &args.spec.unique_key) {
        (Some(key), _) if job.idempotency_key.as_ref() == Some(key) => ("idempotency", key.as_str()),
        (_, key) => ("unique", key.as_deref().unwrap_or_default()),
    };
    let since = if job.state.is_final() { "at" } else { "since" };
    let (id, state, at) = (job.id, job.state, local_time(job.changed_at));
    if matches!(state, JobState::Dead | JobState::Cancelled) {
        return format!("nothing new: job {id} has this key and is {state}; runner retry {id} puts it back");
    }
    format!("nothing new: job {id} already holds the {kind} key {key:?}, {state} {since} {at}")
}

/// Prints the ids, on standard error if standard output fails: the jobs are on disk.
fn print_ids(out: &mut Output, store: &Store, enqueued: &[Enqueued]) -> Written {
    if out.quiet || enqueued.is_empty() {
        return Ok(());
    }
    let line = |job: &Enqueued| if out.json { json_line(store, *job) } else { Ok(job.id.to_string()) };
    let lines = enqueued.iter().map(line).collect::<Result<Vec<_>>>()?.join("\n");
    if let Err(error) = out.must_line(&lines) {
        let ids: Vec<_> = enqueued.iter().map(|job| job.id.to_string()).collect();
        bail!(
            CliError::new(ExitStatus::IO, format!("could not print to standard output: {error}"))
                .hint(format!("the jobs are on disk; their ids: {}", ids.join(" ")))
        );
    }
    Ok(())
}

fn json_line(store: &Store, enqueued: Enqueued) -> Result<String> {
    let job = locate::find_job(store, enqueued.id, clock::now())?;
    let mut object = job.as_ref().map_or_else(|| json!({}), job_json);
    object["created"] = json!(enqueued.created);
    Ok(object.to_string())
}

fn show_plan(out: &mut Output, jobs: &[NewJob], now: Timestamp) -> Written {
    for job in jobs {
        if out.json {
            out.object(&planned_job_json(job, now))?;
            continue;
        }
        let due = job.run_at.filter(|at| *at > now).map_or_else(|| "at once".to_owned(), local_time);
        let attempts = counted(job.spec.policy.runs(), "attempt");
        let after: Vec<String> = job
            .after
            .iter()
            .map(|after| match *after {
                After::Job(id) => format!("job {id}"),
                After::InCall(index) => jobs[index].spec.name.clone(),
            })
            .collect();
        let after = if after.is_empty() { after.join("") } else { format!(", after {}", after.join(", ")) };
        out.line(format!(
            "would enqueue {}: {}; queue {}, priority {}, due {due}, at most {attempts}{after}",
            job.spec.name,
            safe_line(&command_line(&job.spec.command, &job.args)),
            job.spec.queue,
            job.spec.priority,
        ))?;
    }
    out.flush()
}
