//! Finds the job that an id or a name stands for.

use anyhow::Result;

use super::error::{CliError, ExitStatus, print_error};
use super::namesakes::say_which;
use super::suggest;
use super::values::{JobOrAttempt, JobRef};
use crate::call_target::to_type;
use crate::model::JobState;
use crate::store::{Filter, JobRow, StateFilter, Store};
use crate::text::{Timestamp, listed};
use crate::worker;

/// The jobs that count when a name is looked up, of which the newest is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    Any,
    Dead,
    /// Dead ones, else those that succeeded with a warning. One that nobody resolved goes before the others.
    Resolvable,
    /// Jobs of which an attempt has started.
    Started,
    /// The one that is pending or running. If there are several, none of them is meant.
    Unfinished,
}

/// The id of the job that is meant. A typed id is returned as it is, and the caller finds out whether such a job exists. Says, unless
/// `quiet`, of which project the job is where several have jobs of the name.
pub fn job_id(
    store: &Store,
    job: &JobRef,
    candidates: Candidates,
    now: Timestamp,
    quiet: bool,
) -> Result<i64> {
    let name = match job {
        JobRef::Id(id) => return Ok(*id),
        JobRef::Name(name) => name,
    };
    let of_states = |states: &[JobState]| {
        let states = states.iter().copied().map(StateFilter::State).collect();
        Filter { states, name: Some(name.clone()), ..Filter::default() }
    };
    let newest = |filter: &Filter, counts: fn(&JobRow) -> bool| -> Result<Option<JobRow>> {
        let mut jobs = store.jobs(filter, usize::MAX, now)?;
        Ok(jobs.find(|job| job.as_ref().is_ok_and(counts) || job.is_err()).transpose()?)
    };
    let (found, missing) = match candidates {
        Candidates::Any => (newest(&of_states(&[]), |_| true)?, ""),
        Candidates::Dead => (newest(&of_states(&[JobState::Dead]), |_| true)?, "is dead"),
        Candidates::Resolvable => {
            let warned = Filter { states: vec![StateFilter::Warned], ..of_states(&[]) };
            let is_open = |job: &JobRow| job.resolved_at.is_none();
            let mut found = None;
            for counts in [is_open as fn(&JobRow) -> bool, |_| true] {
                for filter in [&of_states(&[JobState::Dead]), &warned] {
                    if found.is_none() {
                        found = newest(filter, counts)?;
                    }
                }
            }
            (found, "is dead, or was warned")
        }
        Candidates::Started => (newest(&of_states(&[]), |job| job.last_attempt() > 0)?, "has started"),
        Candidates::Unfinished => {
            let unfinished = of_states(&[JobState::Pending, JobState::Running]);
            let ids = store.unfinished_ids(&unfinished, now)?;
            if ids.len() > 1 {
                if !quiet {
                    say_which(store, name, &ids)?;
                }
                return Err(several_unfinished(name, &ids).into());
            }
            (newest(&unfinished, |_| true)?, "is unfinished")
        }
    };
    if let Some(job) = found {
        if !quiet {
            say_which(store, name, &[job.id])?;
        }
        return Ok(job.id);
    }
    Err(match newest(&of_states(&[]), |_| true)? {
        Some(JobRow { id, state, .. }) => {
            let what = format!("no job named {name} {missing}; the newest, job {id}, is {state}");
            let next = match (candidates, state) {
                (Candidates::Dead, JobState::Cancelled) => format!("{} puts it back", to_type("retry", id)),
                (Candidates::Started, JobState::Pending) => {
                    format!("{} waits for it", to_type("logs", format_args!("-f {id}")))
                }
                (Candidates::Unfinished, _) => format!("{} shows it", to_type("inspect", id)),
                _ => format!("{} says why", to_type("inspect", id)),
            };
            CliError::new(ExitStatus::NOT_FOUND, what)
                .hint(format!("{next}; to name another job, give its id"))
        }
        None => suggest::no_job_named(store, name)?,
    }
    .into())
}

/// The error for a name that would have to mean one unfinished job.
fn several_unfinished(name: &str, ids: &[i64]) -> CliError {
    /// Beyond this many, the ids are counted instead of listed.
    const MAX_IDS: usize = 10;
    let what =
        format!("{} jobs named {name} are unfinished: {}; all were left", ids.len(), listed(ids, MAX_IDS));
    CliError::new(ExitStatus::FAILED, what)
        .hint(format!("give the ids of those that are meant, or --name {name} for all"))
}

/// The ids of the jobs that are meant, and the exit status. For a name without such a job this prints an error, and goes on
/// with the others.
pub fn job_ids(
    store: &Store,
    jobs: &[JobRef],
    candidates: Candidates,
    now: Timestamp,
    quiet: bool,
) -> Result<(Vec<i64>, ExitStatus)> {
    let mut exit = ExitStatus::SUCCESS;
    let mut ids = Vec::with_capacity(jobs.len());
    for job in jobs {
        match job_id(store, job, candidates, now, quiet).map_err(anyhow::Error::downcast::<CliError>) {
            Ok(id) => ids.push(id),
            Err(Ok(error)) => {
                print_error(&error);
                exit = exit.max(error.status);
            }
            Err(Err(other)) => return Err(other),
        }
    }
    Ok((ids, exit))
}

/// The job and the attempt that are meant. A job whose whole name is `NAME.N` wins over attempt N of job NAME.
pub fn job_or_attempt(
    store: &Store,
    what: &JobOrAttempt,
    candidates: Candidates,
    now: Timestamp,
    quiet: bool,
) -> Result<(i64, Option<u32>)> {
    let found = job_id(store, &what.job, candidates, now, quiet);
    if let (Err(_), Some(JobOrAttempt { job, attempt })) = (&found, what.as_attempt_of_name())
        && job_id(store, &what.job, Candidates::Any, now, true).is_err()
        && let Ok(id) = job_id(store, &job, candidates, now, quiet)
    {
        return Ok((id, attempt));
    }
    Ok((found?, what.attempt))
}

/// The job with this id, with the start of its running attempt.
pub fn job(store: &Store, id: i64, now: Timestamp) -> Result<JobRow> {
    job_if_there(store, id, now)?.ok_or_else(|| no_such_job(store, id).into())
}

/// The same as [`job`], for a job that may have been removed in the meantime.
pub fn job_if_there(store: &Store, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
    let mut job = store.job(id, now)?;
    if let Some(job) = &mut job {
        add_start(store, job);
    }
    Ok(job)
}

/// The error for an id that no job has.
pub fn no_such_job(store: &Store, id: i64) -> CliError {
    CliError::no_job(id, Some(store.file().path())).hint(suggest::lists_jobs())
}

/// Adds the start of the running attempt. It comes from the start log of the worker, because the worker writes it to the
/// database a second later.
pub fn add_start(store: &Store, job: &mut JobRow) {
    if let Some(worker) = &job.worker_id
        && let Some(number) = job.attempts.checked_add(1)
        && let Some(at) = worker::started_at(&store.file().run_dir(), worker, job.id, number)
    {
        job.set_attempt_start(at);
    }
}
