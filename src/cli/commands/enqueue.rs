//! `runner enqueue`: makes jobs of names and options (`plan`, `batch`), puts them on disk, and prints their ids.

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::call_target::{CallTarget, to_type};
use crate::cli::args::{EnqueueArgs, Global, RunArgs, WaitOptions};
use crate::cli::batch;
use crate::cli::commands::wait::{Waiter, final_text, status_of_waited};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::find_job;
use crate::cli::inside;
use crate::cli::options::JobOptions;
use crate::cli::plan::{Plan, Planner};
use crate::cli::scheduled_runs;
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::model::{Attempt, Command, JobDefinition, JobState, OutputStream};
use crate::process::is_stdout_closed;
use crate::store::{self, Enqueued, JobRow, NewJob, Store, StoreError};
use crate::text::{counted, local_time, safe_line, shown_line, shown_path};
use crate::view::advice::no_worker_text;
use crate::view::json::{attempt_json, job_json, with_output};
use crate::view::terminal::{Bar, Output, OutputCursor, OutputForm, warn};
use crate::view::text::definition::command_line;

/// Warnings name at most this many earlier jobs that hold a key, and count the others.
const MAX_NAMED: usize = 5;

pub fn run(global: &Global, args: &EnqueueArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut plan = plan(global, "enqueue", args)?;
    if args.dry_run {
        return rehearse(global, &mut plan, out);
    }
    let mut store = database::open_or_create(global)?;
    if let Some(moved) = plan.register(&mut store, global.quiet)? {
        warn(&moved);
    }
    let jobs = &plan.jobs;
    let mut bar = Bar::new(global.quiet, "{pos} of {len} written");
    let mut on_progress = |done| bar.set(done as u64, jobs.len() as u64);
    let enqueued = store.enqueue(jobs, &mut on_progress);
    let enqueued = enqueued.map_err(|error| failure(&store, &plan, error))?;
    drop(bar);
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

/// The error of a failed enqueue. If the owner of the key is another job of this call, its id is not shown, because the
/// whole call was rolled back and no job has that id.
pub fn failure(store: &Store, plan: &Plan, error: StoreError) -> anyhow::Error {
    let (StoreError::KeyHeld { holder: owner, index, .. }
    | StoreError::KeyOfNamesake { holder: owner, index, .. }
    | StoreError::KeyOfOtherWork { first: owner, index, .. }
    | StoreError::NoDependency { id: owner, index }) = &error
    else {
        return error.into();
    };
    let what = format!("nothing was enqueued: {}", plan.place(*index));
    match (store.job(*owner, clock::now()), &error) {
        (Ok(None), StoreError::KeyHeld { key, .. }) => {
            let what = format!("{what}two jobs of this call have the unique key {key:?}");
            CliError::new(ExitStatus::LATER, what).hint("--on-conflict skip takes the first for both").into()
        }
        (Ok(None), StoreError::KeyOfOtherWork { key, difference, .. }) => {
            let what = format!(
                "{what}two jobs of this call have the idempotency key {key:?} and do different work ({difference})"
            );
            CliError::new(ExitStatus::DATA, what).hint("give each a key of its own").into()
        }
        _ => {
            let described = describe(&error.into());
            CliError { message: format!("{what}{}", described.message), ..described }.into()
        }
    }
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

/// Reports a job that has ended, or that only a person can get going. A success without a warning is silent, but with `--json`.
pub fn report_final(
    out: &mut Output,
    store: &Store,
    job: &JobRow,
    last: Option<&Attempt>,
    created: bool,
    with_its_output: bool,
) -> Result<()> {
    let is_plain_success = job.state == JobState::Succeeded && job.warning.is_none();
    if out.json && !(out.quiet && is_plain_success) {
        out.object(&waited_json(store, job, last, created)?);
        out.send();
    }
    if is_plain_success {
        return Ok(());
    }
    // Why such a job cannot go on was told when that was seen.
    if !job.is_stuck() {
        tell(out, job, last, "");
    }
    if with_its_output && !out.json {
        show_output(out, store, job, last)?;
    }
    // Such a job has not run: what went wrong is told by the jobs that it waits for.
    let stuck = job.waits_for.iter().filter(|unmet| job.is_stuck() && unmet.is_stuck);
    for unmet in stuck.take(MAX_NAMED) {
        if let Some(before) = store.job(unmet.id, clock::now())? {
            let last = store.attempt(before.id, before.attempts)?;
            let at = before.finished_at().map(|at| format!(", at {}", local_time(at))).unwrap_or_default();
            tell(out, &before, last.as_ref(), &at);
            if with_its_output {
                show_output(out, store, &before, last.as_ref())?;
            }
        }
    }
    Ok(())
}

/// Tells of a dependency that has succeeded with a warning.
pub fn report_warned(out: &mut Output, store: &Store, job: &JobRow) -> Result<()> {
    let last = store.attempt(job.id, job.attempts)?;
    tell(out, job, last.as_ref(), "");
    if out.quiet && !out.json {
        show_output(out, store, job, last.as_ref())?;
    }
    Ok(())
}

/// Prints a job and nothing else, with `--json`.
pub fn print_waited(out: &mut Output, store: &Store, job: &JobRow, created: bool) -> Result<()> {
    if out.json {
        out.object(&waited_json(store, job, store.attempt(job.id, job.attempts)?.as_ref(), created)?);
    }
    Ok(())
}

/// A job with its last attempt, output included.
fn waited_json(store: &Store, job: &JobRow, last: Option<&Attempt>, created: bool) -> Result<Value> {
    let mut object = job_json(job);
    object["created"] = json!(created);
    let attempt = last.map(|last| -> Result<_> {
        Ok(with_output(attempt_json(job, Some(last)), &store.output(last.job_id, last.number)?))
    });
    object["attempt"] = json!(attempt.transpose()?);
    Ok(object)
}

/// Says that a job did not succeed, or did with a warning, and what its last attempt reported, such as the program that is not
/// there. `at` says when, if that may have been another night.
fn tell(out: &mut Output, job: &JobRow, last: Option<&Attempt>, at: &str) {
    out.send();
    warn(&format!("{}{at}; {} tells more", final_text(job), to_type("inspect", job.id)));
    let last = last.filter(|_| has_words(job) && !out.json);
    if let Some((number, message)) = last.and_then(|last| last.message.as_ref().map(|it| (last.number, it))) {
        warn(&format!("attempt {number}: {}", shown_line(message)));
    }
}

/// Whether it has ended, and not as it was to.
const fn has_words(job: &JobRow) -> bool {
    matches!(job.state, JobState::Dead | JobState::Cancelled) || job.warning.is_some()
}

/// Prints what the last attempt of such a job wrote, if that is asked for, each stream to the same stream of this program.
fn show_output(out: &mut Output, store: &Store, job: &JobRow, last: Option<&Attempt>) -> Result<()> {
    let Some(last) = last.filter(|_| has_words(job)) else { return Ok(()) };
    let output = store.output(last.job_id, last.number)?;
    if out.json {
        out.object(&with_output(attempt_json(job, Some(last)), &output));
        out.send();
        return Ok(());
    }
    let [mut stdout, stderr] = OutputStream::BOTH
        .map(|stream| OutputCursor::new(OutputForm { only: Some(stream), timestamps: false }));
    stdout.print(out, &output, true);
    out.send();
    stderr.print_on_stderr(&output);
    Ok(())
}

/// Standard input, for the job to read.
fn read_input() -> Result<Vec<u8>> {
    let mut input = Vec::new();
    let limit = JobDefinition::MAX_STDIN as u64 + 1;
    io::stdin().lock().take(limit).read_to_end(&mut input).context("could not read standard input")?;
    if input.len() > JobDefinition::MAX_STDIN {
        bail!(
            CliError::new(ExitStatus::DATA, "nothing was enqueued: standard input has more than 16 MiB")
                .hint("put it into a file, and name the file in an argument")
        );
    }
    Ok(input)
}

/// The jobs that a command line asks for.
fn plan(global: &Global, verb: &'static str, args: &EnqueueArgs) -> Result<Plan> {
    let mut plan = without_input(global, verb, args)?;
    if args.stdin {
        let mut named = plan.jobs.iter_mut().filter(|job| !job.is_dependency);
        let (Some(job), None) = (named.next(), named.next()) else {
            bail!(CliError::usage("--stdin is for a single job"));
        };
        job.stdin = Some(read_input()?);
    }
    Ok(plan)
}

/// The job of a `run`, with its dependencies.
pub fn plan_of_run(global: &Global, args: &RunArgs) -> Result<Plan> {
    let (names, options) = (args.names.clone(), args.options.clone());
    plan(global, "run", &EnqueueArgs { names, stdin: args.stdin, options, ..EnqueueArgs::default() })
}

fn without_input(global: &Global, verb: &'static str, args: &EnqueueArgs) -> Result<Plan> {
    let mut options = args.options.clone();
    options.check()?;
    if let Some(path) = &args.batch {
        check_keys(&options, false)?;
        return batch::read(global, path, &options);
    }
    let planner = Planner::new(global, verb, clock::now());
    if args.names.is_empty() && !args.all && options.command.is_none() && !options.args.is_empty() {
        options.command = Some(Command::Argv(std::mem::take(&mut options.args)));
    }
    if options.command.is_some() {
        let mut plan = Plan::default();
        planner.add(&mut plan, Arc::new(planner.definition(&[&options])?), &[&options])?;
        return Ok(plan);
    }
    if let Some(name) = &options.name {
        bail!(
            CliError::usage(format!("--name {name} names an ad hoc job, and there is none"))
                .hint("write the command after --, or as -c 'LINE'")
        );
    }
    let names = if args.all {
        planner.file()?.all_but_alerts().map(|job| job.definition.name.clone()).collect()
    } else {
        args.names.clone()
    };
    if names.is_empty() && args.all {
        let file = planner.file()?;
        let what = if file.jobs.is_empty() { "no job" } else { "no job but alerts" };
        let path = shown_path(&file.path);
        bail!(CliError::new(
            ExitStatus::DATA,
            format!("there is nothing to enqueue: {path} declares {what}")
        ));
    }
    if names.is_empty() {
        bail!(CliError::usage("there is nothing to enqueue: no name, no command").hint(format!(
            "{}, {}, or {}",
            to_type(verb, "NAME"),
            to_type(verb, "-- CMD"),
            to_type(verb, "--help")
        )));
    }
    if names.len() > 1 && !options.args.is_empty() {
        bail!(CliError::usage("arguments after -- go to a single job, and several are named"));
    }
    check_keys(&options, names.len() == 1)?;
    planner.declared_jobs(names, &options)
}

/// Refuses keys for several jobs, because only one job can hold a key.
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

/// Warns about earlier jobs that hold a key, because their ids are printed in place of new ones.
fn warn_of_held_keys(store: &Store, wanted: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
    let mut held = 0;
    for Enqueued { index, id, .. } in enqueued.iter().filter(|job| !job.created && !job.is_scheduled_run()) {
        let Some(job) = store.job(*id, clock::now())? else { continue };
        held += 1;
        if held <= MAX_NAMED {
            warn(&held_key(&wanted[*index], &job));
        }
    }
    if held > MAX_NAMED {
        warn(&format!("nothing new: the keys of {} are held, too", counted(held - MAX_NAMED, "further job")));
    }
    Ok(())
}

/// Warns of arguments that no one looks at, because their job would seem to succeed without them.
pub fn warn_of_unused_arguments(jobs: &[NewJob]) {
    let mut names: Vec<&str> = Vec::new();
    for job in jobs.iter().filter(|job| !job.args.is_empty()) {
        let name = job.definition.name.as_str();
        if !names.contains(&name) && !job.definition.command.uses_arguments() {
            names.push(name);
        }
    }
    for name in names.iter().take(MAX_NAMED) {
        warn(&format!(
            "{name} takes no notice of its arguments: a command that is a string gets them as \"$@\" or $1; an array gets them at its end"
        ));
    }
}

pub fn held_key(wanted: &NewJob, job: &JobRow) -> String {
    let (kind, key) = match (&wanted.idempotency_key, &wanted.definition.unique_key) {
        (Some(key), _) if job.idempotency_key.as_ref() == Some(key) => ("idempotency", key.as_str()),
        (_, key) => ("unique", key.as_deref().unwrap_or_default()),
    };
    let since = if job.state.is_final() { "at" } else { "since" };
    let (id, state, at) = (job.id, job.state, local_time(job.changed_at));
    if matches!(state, JobState::Dead | JobState::Cancelled) {
        let retry = to_type("retry", id);
        return format!("nothing new: job {id} has this key and is {state}; {retry} puts it back");
    }
    format!("nothing new: job {id} already holds the {kind} key {key:?}, {state} {since} {at}")
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
            CliError::new(ExitStatus::IO, format!("could not print to standard output: {error}"))
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

/// Enqueues the jobs in a transaction that is rolled back, and shows those that would be new.
pub fn rehearse(global: &Global, plan: &mut Plan, out: &mut Output) -> Result<ExitStatus> {
    let mut store = database::open_to_rehearse(global)?;
    let planned = store.rehearse(|store| {
        plan.register(store, true)?;
        let enqueued = store.enqueue(&plan.jobs, &mut |_| {})?;
        let rows = enqueued.iter().filter(|job| job.created).map(|job| store.job(job.id, clock::now()));
        let rows = rows.collect::<store::Result<Vec<_>>>()?;
        Ok((enqueued, rows.into_iter().flatten().collect::<Vec<_>>()))
    })?;
    let (enqueued, rows) = planned.map_err(|error| failure(&store, plan, error))?;
    let jobs = &plan.jobs;
    if out.quiet {
        return Ok(ExitStatus::SUCCESS);
    }
    for row in &rows {
        show_planned(out, row, &rows);
    }
    out.flush()?;
    warn_of_held_keys(&store, jobs, &enqueued)?;
    scheduled_runs::tell(&store, jobs, &enqueued)?;
    warn_of_unused_arguments(jobs);
    Ok(ExitStatus::SUCCESS)
}

/// Shows a job that would be enqueued. `planned` has all of them, for the names of its dependencies: ids from a
/// transaction that is rolled back mean nothing.
fn show_planned(out: &mut Output, job: &JobRow, planned: &[JobRow]) {
    let name_of = |id: i64| planned.iter().find(|other| other.id == id).map(|other| &other.definition.name);
    if out.json {
        let mut json = job_json(job);
        json["id"] = json!(null);
        json["enqueued_at"] = json!(null);
        for (key, ids) in [("after", &job.after), ("after_any", &job.after_any)] {
            json[key] = ids.iter().filter(|id| name_of(**id).is_none()).copied().collect();
        }
        for dependency in json["waits_for"].as_array_mut().into_iter().flatten() {
            if dependency["job_id"].as_i64().is_some_and(|id| name_of(id).is_some()) {
                dependency["job_id"] = json!(null);
            }
        }
        return out.object(&json);
    }
    let is_late = job.run_at > job.enqueued_at;
    let due = if is_late { local_time(job.run_at) } else { "at once".to_owned() };
    let attempts = counted(job.definition.policy.max_attempts(), "attempt");
    let mut after = Vec::new();
    for (word, ids) in [("after", &job.after), ("after any end of", &job.after_any)] {
        let names = ids.iter().map(|id| name_of(*id).map_or_else(|| format!("job {id}"), String::clone));
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            after.push(format!(", {word} {}", names.join(", ")));
        }
    }
    let after = after.concat();
    let label = job.label.as_ref().map(|label| format!("label {label}, ")).unwrap_or_default();
    out.line(format!(
        "would enqueue {}: {}; {label}queue {}, priority {}, due {due}, at most {attempts}{after}",
        job.definition.name,
        safe_line(&command_line(&job.definition.command, &job.args)),
        job.definition.queue,
        job.definition.priority,
    ));
}
