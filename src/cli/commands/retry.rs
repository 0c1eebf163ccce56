//! `runner retry`

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, Retry};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, Written, job_json, warn};
use crate::cli::plan::Planner;
use crate::cli::stale_definition;
use crate::clock;
use crate::model::JobState;
use crate::store::{self, Answer, JobRow, Refusal, Replacement, Store};
use crate::text::{Timestamp, counted};
use crate::wake;

/// Replays dead and cancelled jobs, replaces them, or makes waiting ones due.
pub fn run(global: &Global, args: &Retry, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, jobs, missing) = selected(global, &store, args, clock::now())?;
    if !out.quiet && !args.how.redefine {
        stale_definition::warn_of_stale(global, &jobs, args.dry_run);
    }
    let retry = |store: &mut Store| -> Result<_> {
        let answers = if args.how.redefine {
            store.redefine(&replacements(global, &ids, &jobs)?, args.how.force, &clock::now)?
        } else if args.how.now {
            store.make_due(&ids, &clock::now)?
        } else {
            store.retry(&ids, args.how.force, &clock::now)?
        };
        let mut changed = Vec::new();
        for Answer { id, job } in &answers {
            let Ok(new) = job else { continue };
            changed.extend(locate::find_job(store, *new, clock::now())?.map(|job| (*id, job)));
        }
        Ok((answers, changed))
    };
    let (answers, changed) = if args.dry_run {
        store.rehearse(retry)??
    } else {
        let done = retry(&mut store)?;
        wake::wake_workers(&store.file().run_dir());
        done
    };
    for (id, job) in &changed {
        // Nothing is done yet: the job stays as it is.
        let now = jobs.iter().find(|job| args.dry_run && !args.how.redefine && job.id == *id);
        show(out, args, *id, now.unwrap_or(job))?;
    }
    out.flush()?;
    if args.dry_run && !out.quiet && changed.len() > 1 {
        warn(&format!("{} would change; nothing is done yet", counted(changed.len(), "job")));
    }
    if args.which.dead {
        if !out.quiet {
            warn_of_skipped(&answers);
        }
        return Ok(ExitStatus::SUCCESS);
    }
    Ok(warn_of_refused(&answers, args, &jobs).max(missing))
}

/// Prints a job that was put back, made due or enqueued in place of the job with this id; or that would be.
fn show(out: &mut Output, args: &Retry, id: i64, job: &JobRow) -> Written {
    let mut json = job_json(job);
    let name = &job.spec.name;
    let words = match (args.dry_run, args.how.redefine, args.how.now) {
        (false, true, _) => job.id.to_string(),
        (false, _, true) => format!("job {id}: due now"),
        (false, ..) => format!("job {id}: pending again, due now"),
        (true, true, _) => {
            json["id"] = json!(null);
            format!("would replace job {id} {name}")
        }
        (true, _, true) => format!("would make job {id} {name} due now"),
        (true, ..) => format!("would put job {id} {name} back"),
    };
    out.done(&json, words)
}

/// The ids that are to be retried, the jobs that have them, and the exit status for names that no such job has.
fn selected(
    global: &Global,
    store: &Store,
    args: &Retry,
    now: Timestamp,
) -> Result<(Vec<i64>, Vec<JobRow>, ExitStatus)> {
    if args.which.dead {
        let jobs = locate::dead_letters(store, &args.which, now)?;
        return Ok((jobs.iter().map(|job| job.id).collect(), jobs, ExitStatus::SUCCESS));
    }
    let named = if args.how.now { Named::Any } else { Named::Dead };
    let (ids, missing) = locate::job_ids(global, store, &args.which.jobs, named, now)?;
    let jobs = ids.iter().map(|id| store.job(*id, now)).collect::<store::Result<Vec<_>>>()?;
    Ok((ids, jobs.into_iter().flatten().collect(), missing))
}

/// For each id the job that is to take its place.
fn replacements(global: &Global, ids: &[i64], jobs: &[JobRow]) -> Result<Vec<Replacement>> {
    let planner = Planner::new(global, clock::now());
    let jobs: BTreeMap<i64, &JobRow> = jobs.iter().map(|job| (job.id, job)).collect();
    let replacement = |id: &i64| match jobs.get(id) {
        Some(job) => planner.replacement(job),
        None => Ok(Replacement { id: *id, job: None }),
    };
    ids.iter().map(replacement).collect()
}

/// Names every job that was left, with the reason.
fn warn_of_refused(answers: &[Answer], args: &Retry, jobs: &[JobRow]) -> ExitStatus {
    let (put_back, redefine) = if args.how.redefine { ("replaced", " --redefine") } else { ("put back", "") };
    let mut exit = ExitStatus::SUCCESS;
    for Answer { id, job } in answers {
        let Err(refusal) = *job else { continue };
        let words = match refusal {
            Refusal::Unknown => format!("there is no job {id}"),
            Refusal::State(state) if args.how.now => {
                format!("job {id} is {state}; only a waiting job can be made due")
            }
            Refusal::State(JobState::Pending) if args.how.redefine => {
                format!("job {id} is waiting; runner cancel {id}, then runner retry {id} --redefine")
            }
            Refusal::State(JobState::Pending) => {
                format!("job {id} is waiting; runner retry {id} --now makes it due")
            }
            Refusal::State(state) => {
                format!("job {id} is {state}; only dead and cancelled jobs are {put_back}")
            }
            Refusal::NotRetryable => {
                format!(
                    "job {id} is declared retryable = false; runner retry {id}{redefine} --force runs it again"
                )
            }
            Refusal::AdHoc => {
                format!("job {id} was left: it is ad hoc, and no job file has a definition of it")
            }
            Refusal::Undeclared => {
                let name = jobs.iter().find(|job| job.id == *id).map_or("it", |job| &job.spec.name);
                format!("job {id} was left: the job file does not declare {name} any more")
            }
            Refusal::Replaced(by) => format!("job {id} was left: job {by} has replaced it before"),
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
    if answers.is_empty() {
        warn("no dead letter is selected");
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for refusal in answers.iter().filter_map(|answer| answer.job.err()) {
        let reason = match refusal {
            Refusal::NotRetryable => "declared retryable = false; see --force",
            Refusal::KeyTaken(_) => "whose unique key is held by an unfinished job",
            Refusal::AdHoc => "that no job file declared",
            Refusal::Undeclared => "whose name the job file does not declare any more",
            // Another call was faster.
            Refusal::Unknown | Refusal::State(_) | Refusal::Replaced(_) => continue,
        };
        *left.entry(reason).or_default() += 1;
    }
    for (reason, jobs) in left {
        warn(&format!("left {} {reason}", counted(jobs, "job")));
    }
}
