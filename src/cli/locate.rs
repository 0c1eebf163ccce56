//! Finds the database and the job file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::args::{Global, Selection};
use super::error::{CliError, ExitStatus};
use super::output::print_error;
use super::values::{JobOrAttempt, JobRef};
use crate::jobfile::{self, Declared, JobFile, near_names};
use crate::model::JobState;
use crate::model::check_name;
use crate::store::{self, Filter, FilterColumn, JobRow, StateFilter, Store, StoreError, StoreFile};
use crate::text::{Timestamp, local_time, relative_time};
use crate::worker;

/// The database file, whether it exists or not.
pub fn store_file(global: &Global) -> Result<StoreFile> {
    let path = store::locate(global.db.as_deref(), &|name| std::env::var_os(name)).ok_or_else(|| {
        CliError::new(
            ExitStatus::NOT_FOUND,
            "the database has no directory: $HOME is not set to an absolute path",
        )
        .hint("name one with --db PATH or $RUNNER_DB")
    })?;
    Ok(StoreFile::new(&path)?)
}

/// Opens the database, and creates it where there is none.
pub fn open_or_create(global: &Global) -> Result<Store> {
    Ok(Store::open_or_create(store_file(global)?)?)
}

/// Opens the database; none where there is none yet.
pub fn open_if_there(global: &Global) -> Result<Option<Store>> {
    match Store::open(store_file(global)?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the database; an error where there is none.
pub fn open(global: &Global) -> Result<Store> {
    Ok(Store::open(store_file(global)?)?)
}

/// The jobs that a name may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Any,
    Dead,
}

/// The id that this stands for: an id itself, whether a job has it or not; a name for the newest such job of that name.
pub fn job_id(global: &Global, store: &Store, job: &JobRef, named: Named, now: Timestamp) -> Result<i64> {
    let name = match job {
        JobRef::Id(id) => return Ok(*id),
        JobRef::Name(name) => name,
    };
    let newest = |states: &[JobState]| -> Result<Option<JobRow>> {
        let states = states.iter().copied().map(StateFilter::State).collect();
        let filter = Filter { states, name: Some(name.clone()), ..Filter::default() };
        Ok(store.jobs_page(&filter, None, 1, now)?.0.pop())
    };
    let states: &[JobState] = if named == Named::Dead { &[JobState::Dead] } else { &[] };
    if let Some(job) = newest(states)? {
        return Ok(job.id);
    }
    Err(match newest(&[])? {
        Some(JobRow { id, state, .. }) => {
            let what = format!("no job named {name} is dead; the newest, job {id}, is {state}");
            CliError::new(ExitStatus::NOT_FOUND, what)
                .hint(format!("runner explain {id} says why; to name another job, give its id"))
        }
        None => no_job_named(global, store, name, now)?,
    }
    .into())
}

/// The ids that these stand for. A name that no such job has is warned of, and gives the exit status.
pub fn job_ids(
    global: &Global,
    store: &Store,
    jobs: &[JobRef],
    named: Named,
    now: Timestamp,
) -> Result<(Vec<i64>, ExitStatus)> {
    let mut exit = ExitStatus::SUCCESS;
    let mut ids = Vec::with_capacity(jobs.len());
    for job in jobs {
        match job_id(global, store, job, named, now).map_err(anyhow::Error::downcast::<CliError>) {
            Ok(id) => ids.push(id),
            Err(Ok(CliError { status, message, hint })) => {
                print_error(&message, hint.as_deref());
                exit = status;
            }
            Err(Err(other)) => return Err(other),
        }
    }
    Ok((ids, exit))
}

/// The unresolved dead letters that the filters select, oldest first.
pub fn dead_letters(store: &Store, which: &Selection, now: Timestamp) -> Result<Vec<JobRow>> {
    /// Read at once: a long read would hold up a checkpoint.
    const PAGE: usize = 500;
    let filter = Filter {
        name: which.name.clone(),
        error_code: which.error_code.as_ref().map(ToString::to_string),
        dead_by_time: true,
        resolved: Some(false),
        ..Filter::default()
    };
    let (mut jobs, mut last): (Vec<JobRow>, _) = (Vec::new(), None);
    loop {
        let (page, next) = store.jobs_page(&filter, last, PAGE, now)?;
        jobs.extend(page);
        if next.is_none() {
            break;
        }
        last = next;
    }
    jobs.sort_unstable_by_key(|job| job.id);
    Ok(jobs)
}

/// The job and the attempt that this stands for. A whole name goes before `NAME.N`.
pub fn job_or_attempt(
    global: &Global,
    store: &Store,
    what: &JobOrAttempt,
    now: Timestamp,
) -> Result<(i64, Option<u32>)> {
    let found = job_id(global, store, &what.job, Named::Any, now);
    if let (Err(_), Some(JobOrAttempt { job, attempt })) = (&found, what.as_attempt_of_name())
        && let Ok(id) = job_id(global, store, &job, Named::Any, now)
    {
        return Ok((id, attempt));
    }
    Ok((found?, what.attempt))
}

fn no_job_named(global: &Global, store: &Store, name: &str, now: Timestamp) -> Result<CliError> {
    let db = display(store.file().path());
    let failure = CliError::new(ExitStatus::NOT_FOUND, format!("there is no job named {name} in {db}"));
    if let Ok(JobOrAttempt { job: JobRef::Id(id), attempt: Some(_) }) = JobOrAttempt::parse(name) {
        return Ok(failure.hint(format!("{name} would be an attempt; write the id of its job, {id}")));
    }
    if let Some(hint) = not_enqueued_yet(global, store, name, now)? {
        return Ok(failure.hint(hint));
    }
    let known = store.distinct_values(FilterColumn::Name)?;
    Ok(match near_names(name, known.iter().map(String::as_str)).as_slice() {
        [] => failure.hint("runner inspect jobs lists them"),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    })
}

/// Names the schedule or the command that enqueues the first job of this name.
fn not_enqueued_yet(global: &Global, store: &Store, name: &str, now: Timestamp) -> Result<Option<String>> {
    let is_declared = || declared_job(global, name).is_ok();
    let Some(row) = store.schedules()?.into_iter().find(|row| row.name() == name) else {
        return Ok(is_declared().then(|| format!("runner enqueue {name} enqueues it")));
    };
    Ok(match row.next_at {
        _ if row.paused => Some(format!("its schedule is paused; runner resume --schedule {name} ends that")),
        Some(at) => {
            let (at, span) = (local_time(at), relative_time(at, now));
            Some(format!("its schedule fires next {at} ({span}), if a worker runs"))
        }
        None => Some("its schedule never comes again".to_owned()),
    })
}

/// The values that the job file declares, where there is one that can be read.
pub fn declared_values(global: &Global, column: FilterColumn) -> Vec<String> {
    let Ok(file) = job_file(global) else { return Vec::new() };
    let specs = file.jobs.iter().map(|job| &job.spec);
    match column {
        FilterColumn::Name => specs.map(|spec| spec.name.clone()).collect(),
        FilterColumn::Queue => specs.map(|spec| &spec.queue).chain(file.queues.keys()).cloned().collect(),
        FilterColumn::ErrorCode => Vec::new(),
    }
}

/// The job of this id, with the start of an attempt that runs now.
pub fn job(store: &Store, id: i64, now: Timestamp) -> Result<JobRow> {
    find_job(store, id, now)?.ok_or_else(|| no_such_job(store, id).into())
}

/// [`job`], where it may have been removed in the meantime.
pub fn find_job(store: &Store, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
    let mut job = store.job(id, now)?;
    if let Some(job) = &mut job {
        add_start(store, job);
    }
    Ok(job)
}

/// The error for an id that no job has.
pub fn no_such_job(store: &Store, id: i64) -> CliError {
    let db = display(store.file().path());
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}"))
        .hint("runner inspect jobs lists them")
}

/// Adds the start of the attempt that runs now, which only its worker knows.
pub fn add_start(store: &Store, job: &mut JobRow) {
    if let Some(worker) = &job.worker_id
        && let Some(number) = job.attempts.checked_add(1)
        && let Some(at) = worker::started_at(&store.file().run_dir(), worker, job.id, number)
    {
        job.set_attempt_start(at);
    }
}

/// The job file at this path, else the one of every verb.
pub fn named_job_file(global: &Global, path: Option<&Path>) -> Result<JobFile> {
    match path {
        Some(path) => Ok(JobFile::read(path)?),
        None => job_file(global),
    }
}

pub fn job_file_path(global: &Global) -> Result<PathBuf> {
    Ok(jobfile::locate(global.file.as_deref(), &|name| std::env::var_os(name), &current_dir()?)?)
}

pub fn job_file(global: &Global) -> Result<JobFile> {
    Ok(JobFile::read(&job_file_path(global)?)?)
}

/// The job that the job file declares under this name.
pub fn declared_job(global: &Global, name: &str) -> Result<Declared> {
    let file = job_file(global)?;
    Ok(file.job(name).ok_or_else(|| not_declared(&file, name))?.clone())
}

pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().context("could not find the current directory")
}

/// The error for a name that the job file lacks: which file was read, and near names.
pub fn not_declared(file: &JobFile, name: &str) -> CliError {
    let failure =
        CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {name:?} in {}", display(&file.path)));
    match file.near(name).as_slice() {
        _ if name.contains(char::is_whitespace) => {
            failure.hint(format!("write a command as -c '{name}', or -- {name}"))
        }
        [] if file.jobs.is_empty() => failure.hint("the file declares no job"),
        [] => match check_name(name) {
            Err(why) => failure.hint(why),
            Ok(()) => failure.hint("runner check lists its jobs; runner enqueue -- CMD takes any command"),
        },
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// A path, safe for a terminal.
pub fn display(path: &Path) -> String {
    crate::text::safe_line(&path.display().to_string())
}
