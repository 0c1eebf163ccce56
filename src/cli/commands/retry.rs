//! `runner retry`

use anyhow::Result;

use crate::cli::args::{Global, Retry};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, job_json, warn};
use crate::cli::stale_definition;
use crate::clock;
use crate::model::JobState;
use crate::store::{Answer, Filter, JobRow, Refusal, Store};
use crate::text::{Timestamp, counted};
use crate::wake;

/// Dead letters read at once: a long read would hold up a checkpoint.
const PAGE: usize = 500;

/// Replays dead and cancelled jobs, or makes waiting ones due.
pub fn run(global: &Global, args: &Retry, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let ids = if args.dead { dead_letters(&store, args, clock::now())? } else { args.ids.clone() };
    let answers = if args.now {
        store.make_due(&ids, &clock::now)?
    } else {
        store.retry(&ids, args.force, &clock::now)?
    };
    wake::wake_workers(&store.file().run_dir());
    let what = if args.now { "due now" } else { "pending again, due now" };
    let mut jobs = Vec::new();
    for id in answers.iter().filter_map(|answer| answer.job.ok()) {
        jobs.extend(locate::find_job(&store, id, clock::now())?);
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
            warn_of_skipped(&answers);
        }
        return Ok(ExitStatus::SUCCESS);
    }
    Ok(warn_of_refused(&answers, args.now))
}

/// The unresolved dead letters that the filters select, oldest first.
fn dead_letters(store: &Store, args: &Retry, now: Timestamp) -> Result<Vec<i64>> {
    let filter = Filter {
        name: args.name.clone(),
        error_code: args.error_code.as_ref().map(ToString::to_string),
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
    let mut ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Names every job that was left, with the reason.
fn warn_of_refused(answers: &[Answer], now: bool) -> ExitStatus {
    let mut exit = ExitStatus::SUCCESS;
    for Answer { id, job } in answers {
        let Err(refusal) = *job else { continue };
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
fn warn_of_skipped(answers: &[Answer]) {
    let count =
        |wanted: fn(Refusal) -> bool| answers.iter().filter(|answer| answer.job.is_err_and(wanted)).count();
    let not_retryable = count(|refusal| refusal == Refusal::NotRetryable);
    let taken = count(|refusal| matches!(refusal, Refusal::KeyTaken(_)));
    if answers.is_empty() {
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
