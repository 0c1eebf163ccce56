//! The jobs that a call of `enqueue` or `run` makes: from its arguments to the words about what was enqueued.

use std::io::{self, Read};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::call_target::to_type;
use crate::cli::args::{EnqueueArgs, Global, RunArgs};
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::options::JobOptions;
use crate::cli::plan::{Plan, Planner};
use crate::cli::{batch, database, scheduled_runs};
use crate::clock;
use crate::model::{Command, JobDefinition, JobState};
use crate::stdio::Waiting;
use crate::store::{self, Enqueued, JobRow, NewJob, Store, StoreError};
use crate::text::{counted, local_time, safe_line, shown_path};
use crate::view::json::job_json;
use crate::view::terminal::{Output, warn};
use crate::view::text::definition::command_line;

/// Warnings name at most this many earlier jobs that hold a key, and count the others.
const MAX_NAMED: usize = 5;

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

/// Standard input, for the job to read.
fn read_input() -> Result<Vec<u8>> {
    let mut input = Vec::new();
    let limit = JobDefinition::MAX_STDIN as u64 + 1;
    Waiting(io::stdin()).take(limit).read_to_end(&mut input).context("could not read standard input")?;
    if input.len() > JobDefinition::MAX_STDIN {
        bail!(
            CliError::new(ExitStatus::DATA, "nothing was enqueued: standard input has more than 16 MiB")
                .hint("put it into a file, and name the file in an argument")
        );
    }
    Ok(input)
}

/// The jobs that a command line asks for.
pub fn plan(global: &Global, verb: &'static str, args: &EnqueueArgs) -> Result<Plan> {
    let mut plan = without_input(global, verb, args)?;
    if args.stdin {
        let mut named = plan.jobs.iter_mut().filter(|job| !job.is_dependency);
        let (Some(job), None) = (named.next(), named.next()) else {
            bail!(CliError::for_one_job("--stdin"));
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
    if args.names.is_empty() && !args.all && options.command.is_none() {
        options.command = options.args.take().map(Command::Argv);
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
    if names.len() > 1 && options.args.is_some() {
        bail!(CliError::usage("arguments after -- go to a single job, and several are named"));
    }
    check_keys(&options, names.len() == 1)?;
    planner.declared_jobs(names, &options)
}

/// Refuses keys for several jobs, because only one job can hold a key.
fn check_keys(options: &JobOptions, single: bool) -> Result<()> {
    for (option, given) in [
        ("--unique-key", options.values.unique_key.is_some()),
        ("--idempotency-key", options.idempotency_key.is_some()),
    ] {
        if given && !single {
            bail!(CliError::for_one_job(option));
        }
    }
    Ok(())
}

/// Warns about earlier jobs that hold a key, because their ids are printed in place of new ones.
pub fn warn_of_held_keys(store: &Store, wanted: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
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
    if let Some(by) = job.replaced_by {
        return format!("nothing new: job {id} has this key, and job {by} has taken its place");
    }
    if matches!(state, JobState::Dead | JobState::Cancelled) {
        let retry = to_type("retry", id);
        return format!("nothing new: job {id} has this key and is {state}; {retry} puts it back");
    }
    format!("nothing new: job {id} already holds the {kind} key {key:?}, {state} {since} {at}")
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
