//! `runner enqueue`: what was typed becomes jobs, the jobs go to disk, their ids are printed.
//!
//! Straight-line code that starts no runtime: cron runs it thousands of times.

mod adhoc;
mod batch;
mod fields;
mod holders;
#[cfg(test)]
mod no_panics;
mod object;
mod overrides;
mod stdin;
mod too_long;

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde_json::json;

use super::args::{Enqueue, Global, WaitOptions};
use super::commands::wait::{self, Waiting};
use super::error::{CliError, ExitStatus};
use super::locate;
use super::output::{AttemptJson, Bar, JobJson, Output, StreamCursor, Written, print_on_stderr, warn};
use crate::clock;
use crate::jobfile::{Declared, JobFile};
use crate::model::{Attempt, Bytes, JobState};
use crate::store::{Enqueued, NewJob, Store, StoreError};
use crate::text::{Timestamp, local_time, safe_line};
use crate::wake;
use overrides::Overrides;

/// Runs the verb.
pub fn run(global: &Global, asked: &Enqueue) -> Result<ExitStatus> {
    let mut jobs = jobs(global, asked)?;
    if asked.stdin {
        jobs = vec![with_input(global, asked, jobs)?];
    }
    let mut out = Output::new(global);
    if asked.dry_run {
        if !out.quiet {
            show_plan(&mut out, &jobs, clock::now())?;
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
        holders::tell(&store, &jobs, &enqueued)?;
    }
    print_ids(&mut out, &store, &enqueued)?;
    if asked.waiting.wait {
        return wait(&mut out, &mut store, &enqueued, asked.waiting);
    }
    Ok(ExitStatus::SUCCESS)
}

/// The job that holds the key may be one of this call: it was not enqueued, so its id means nothing.
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

/// Waits for the jobs, also for those that a key gave.
fn wait(
    out: &mut Output,
    store: &mut Store,
    enqueued: &[Enqueued],
    asked: WaitOptions,
) -> Result<ExitStatus> {
    let ids: Vec<_> = enqueued.iter().map(|job| job.id).collect();
    let waiting = Waiting { timeout: asked.wait_timeout, quiet: out.quiet };
    waiting.wait_for(store, &ids, &mut |store, job, last| {
        // Whoever called it off knows, and cron need not mail it.
        if job.state == JobState::Succeeded || (job.state == JobState::Cancelled && out.quiet) {
            return Ok(());
        }
        warn(&format!("{}; runner inspect {} tells more", wait::words(job), job.id));
        match last {
            Some(last) if asked.output_on_failure && job.state == JobState::Dead => {
                show_output(out, store, last, job.spec.policy.runs())
            }
            _ => Ok(()),
        }
    })
}

/// What the last attempt of a job wrote, each stream where a command would have written it.
fn show_output(out: &mut Output, store: &mut Store, last: &Attempt, runs: u32) -> Written {
    let output = store.output(last.job_id, last.number)?;
    if out.json {
        out.object(&AttemptJson::new(last, runs).with_output(&output))?;
        return out.flush();
    }
    // What could not be started has written nothing: this is all there is.
    if let Some(message) = &last.message {
        warn(&format!("attempt {}: {}", last.number, safe_line(message)));
    }
    StreamCursor::default().print(out, &output.stdout, true)?;
    out.flush()?;
    print_on_stderr(&output.stderr)
}

/// The job that is planned, with what comes on standard input. Whatever is wrong with it was found before.
fn with_input(global: &Global, asked: &Enqueue, planned: Vec<NewJob>) -> Result<NewJob> {
    let single = |jobs: Vec<NewJob>| {
        <[NewJob; 1]>::try_from(jobs).map_err(|_| CliError::usage("--stdin is for a single job"))
    };
    single(planned)?;
    let input = stdin::capture()?;
    // It may have been long in coming; due times count from when it is there.
    let [job] = single(jobs(global, asked)?)?;
    Ok(NewJob { stdin: Some(input), ..job })
}

/// The jobs that are asked for. What is wrong with the command line is told before any input is waited for.
fn jobs(global: &Global, asked: &Enqueue) -> Result<Vec<NewJob>> {
    let options = Overrides::from_options(&asked.options).map_err(CliError::usage)?;
    if let Some(path) = &asked.batch {
        options.check_single(false)?;
        let lines = batch::read_text(path)?;
        return batch::read(global, lines, &options, asked.name.as_deref(), clock::now());
    }
    let now = clock::now();
    let is_ad_hoc = asked.line.is_some() || (asked.names.is_empty() && !asked.args.is_empty());
    if !is_ad_hoc && let Some(name) = &asked.name {
        bail!(
            CliError::usage(format!("--name {name} names an ad hoc job, and there is none"))
                .hint("write the command after --, or as -c 'LINE'")
        );
    }
    let args: Vec<Bytes> = asked.args.iter().map(|arg| Bytes::from(arg.as_os_str())).collect();
    if is_ad_hoc {
        let job = adhoc::job(asked.line.as_deref(), args, asked.name.as_deref(), &options, now)?;
        return Ok(vec![job]);
    }
    if asked.names.is_empty() && !asked.all {
        bail!(
            CliError::usage("there is nothing to enqueue: no name, no command")
                .hint("runner enqueue NAME, runner enqueue -- CMD, or runner enqueue --help")
        );
    }
    if asked.names.len() > 1 && !args.is_empty() {
        bail!(CliError::usage("arguments after -- go to a single job, and several are named"));
    }
    declared(&locate::job_file(global)?, asked, &args, &options, now)
}

fn declared(
    file: &JobFile,
    asked: &Enqueue,
    args: &[Bytes],
    options: &Overrides,
    now: Timestamp,
) -> Result<Vec<NewJob>> {
    let chosen: Vec<&Declared> = if asked.all {
        file.jobs.iter().collect()
    } else {
        let find = |name: &String| file.job(name).ok_or_else(|| locate::no_such_job(file, name));
        asked.names.iter().map(find).collect::<Result<_, _>>()?
    };
    if chosen.is_empty() {
        bail!(CliError::new(
            ExitStatus::DATA,
            format!("there is nothing to enqueue: {} declares no job", locate::display(&file.path)),
        ));
    }
    options.check_single(chosen.len() == 1)?;
    chosen.into_iter().map(|job| options.declared(job, args.to_vec(), now)).collect()
}

/// The ids are the answer: if they cannot be printed, they are said on standard error, for the jobs are on disk.
fn print_ids(out: &mut Output, store: &Store, enqueued: &[Enqueued]) -> Written {
    if out.quiet || enqueued.is_empty() {
        return Ok(());
    }
    let mut lines = String::new();
    for job in enqueued {
        if !lines.is_empty() {
            lines.push('\n');
        }
        if out.json {
            lines += &json_line(store, *job)?;
        } else {
            let _ = write!(lines, "{}", job.id); // a string has room for all
        }
    }
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
    let job = locate::job(store, enqueued.id, clock::now())?;
    let mut object = serde_json::to_value(job.as_ref().map(JobJson::new)).unwrap_or_default();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("created".to_owned(), json!(enqueued.created));
    }
    Ok(object.to_string())
}

/// What `--dry-run` shows.
fn show_plan(out: &mut Output, jobs: &[NewJob], now: Timestamp) -> Written {
    for job in jobs {
        if out.json {
            out.object(&JobJson::planned(job, now))?;
            continue;
        }
        let due = job.run_at.filter(|at| *at > now).map_or_else(|| "at once".to_owned(), local_time);
        let runs = job.spec.policy.runs();
        let plural = if runs == 1 { "run" } else { "runs" };
        out.line(format!(
            "would enqueue {}: {}; queue {}, priority {}, due {due}, at most {runs} {plural}",
            job.spec.name,
            safe_line(&super::command_line(&job.spec.command, &job.args)),
            job.spec.queue,
            job.spec.priority,
        ))?;
    }
    out.flush()
}
