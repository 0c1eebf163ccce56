//! `runner retry`

use anyhow::Result;

use crate::cli::args::{Global, Retry};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, job_json, warn};
use crate::cli::stale_definition;
use crate::clock;
use crate::model::{ErrorCode, JobState};
use crate::store::{Refusal, Retried};
use crate::text::counted;
use crate::wake;

/// Replays dead and cancelled jobs, or makes waiting ones due.
pub fn run(global: &Global, args: &Retry, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let done = if args.now {
        store.make_due(&args.ids, &clock::now)?
    } else if args.dead {
        let (name, code) = (args.name.as_deref(), args.error_code.as_ref().map(ErrorCode::as_str));
        store.retry_dead(name, code, args.force, &clock::now)?
    } else {
        store.retry(&args.ids, args.force, &clock::now)?
    };
    wake::wake_workers(&store.file().run_dir());
    let what = if args.now { "due now" } else { "pending again, due now" };
    let mut jobs = Vec::new();
    for each in done.iter().filter(|each| each.refusal.is_none()) {
        jobs.extend(locate::find_job(&store, each.id, clock::now())?);
    }
    for job in &jobs {
        out.done(&job_json(job), format!("job {}: {what}", job.id))?;
    }
    out.flush()?;
    if !out.quiet {
        stale_definition::warn_of_stale(global, &jobs);
    }
    if args.dead {
        if !out.quiet {
            warn_of_skipped(&done);
        }
        return Ok(ExitStatus::SUCCESS);
    }
    Ok(warn_of_refused(&done, args.now))
}

/// Names every job that was left, with the reason.
fn warn_of_refused(done: &[Retried], now: bool) -> ExitStatus {
    let mut exit = ExitStatus::SUCCESS;
    for each in done {
        let Some(refusal) = each.refusal else { continue };
        let id = each.id;
        let words = match refusal {
            Refusal::Unknown => format!("there is no job {id}"),
            Refusal::State(state) if now => {
                format!("job {id} is {state}; only a waiting job can be made due")
            }
            Refusal::State(JobState::Pending) => {
                format!("job {id} is waiting; runner retry {id} --now makes it due")
            }
            Refusal::State(state) => {
                format!("job {id} is {state}; only dead and cancelled jobs are put back")
            }
            Refusal::NotRetryable => {
                format!("job {id} is declared retryable = false; runner retry {id} --force runs it again")
            }
            Refusal::KeyTaken(holder) => format!("job {id} was left: its unique key is held by job {holder}"),
        };
        warn(&words);
        // An unknown id outweighs a job that was left as it is.
        exit = if refusal == Refusal::Unknown { ExitStatus::NOT_FOUND } else { exit.max(ExitStatus::NO) };
    }
    exit
}

/// Counts the jobs that `--dead` left: they were not named one by one.
fn warn_of_skipped(done: &[Retried]) {
    let count =
        |wanted: fn(Refusal) -> bool| done.iter().filter(|each| each.refusal.is_some_and(wanted)).count();
    let not_retryable = count(|refusal| refusal == Refusal::NotRetryable);
    let taken = count(|refusal| matches!(refusal, Refusal::KeyTaken(_)));
    if done.is_empty() {
        warn("no dead letter is selected");
    }
    if not_retryable > 0 {
        let jobs = counted(not_retryable, "job");
        warn(&format!("left {jobs} declared retryable = false; see --force"));
    }
    if taken > 0 {
        let jobs = counted(taken, "job");
        warn(&format!("left {jobs} whose unique key is held by an unfinished job"));
    }
}
