//! The words of `cancel`, `retry`, `change` and `resolve`: what was done to a job, what would be, and why one was left.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use crate::call_target::to_type;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::model::{JobState, Phase};
use crate::store::{Act, Done, JobChange, JobRow, Refusal, Store};
use crate::text::{counted, local_time, relative_time};
use crate::view::json::job_json;
use crate::view::terminal::{Output, warn};
use crate::view::text::status::{dependency_text, holds_back_text, limit_text, worker_trouble_text};

/// The error of a job that was left, with the reason.
pub fn refusal_error(jobs: &BTreeMap<i64, JobRow>, act: Act<'_>, id: i64, refusal: Refusal) -> CliError {
    let redefine = matches!(act, Act::ReplaceEnded { .. });
    let option = if redefine { " --redefine" } else { "" };
    let what = match (refusal, act) {
        (Refusal::Unknown, _) => return CliError::no_job(id, None),
        (Refusal::State(state), Act::Change(_) | Act::ReplacePending { .. }) => {
            let again = match (jobs.get(&id), state) {
                (Some(JobRow { replaced_by: Some(by), .. }), _) => format!("; job {by} has replaced it"),
                (Some(job), JobState::Dead | JobState::Cancelled) => {
                    let force = if job.definition.policy.retryable { "" } else { " --force" };
                    format!("; {} puts it back", to_type("retry", format_args!("{id}{force}")))
                }
                _ => String::new(),
            };
            format!("is {state}; only pending jobs are changed{again}")
        }
        (Refusal::State(state), Act::Resolve { .. }) => {
            format!("is {state}; only dead jobs, and those that succeeded with a warning, are resolved")
        }
        (Refusal::State(JobState::Pending), Act::ReplaceEnded { jobs: new, .. }) if new.contains_key(&id) => {
            let change = to_type("change", format_args!("{id} --redefine"));
            format!("is pending; {change} puts a new job in its place")
        }
        (Refusal::State(JobState::Pending), _)
            if !redefine && jobs.get(&id).is_some_and(|job| job.phase == Some(Phase::Blocked)) =>
        {
            let inspect = to_type("inspect", id.to_string());
            format!("is pending, and waits for other jobs; {inspect} says what gets it going")
        }
        (Refusal::State(JobState::Pending), _) if !redefine => {
            let now = to_type("change", format_args!("{id} --now"));
            format!("is pending; {now} makes it due")
        }
        (Refusal::State(state), _) => {
            let done = if redefine { "replaced" } else { "put back" };
            format!("is {state}; only dead and cancelled jobs are {done}")
        }
        (Refusal::NotRetryable, _) => {
            let forced = to_type("retry", format_args!("{id}{option} --force"));
            format!("is declared retryable = false; {forced} runs it again")
        }
        (Refusal::AdHoc, _) => {
            let instead = "cancel it, and enqueue it again as it should be";
            format!("was left: it is ad hoc, and no job file has a definition of it; {instead}")
        }
        (Refusal::Undeclared, _) => {
            let name = jobs.get(&id).map_or("it", |job| &job.definition.name);
            format!("was left: the job file does not declare {name} any more")
        }
        (Refusal::NewerLeft(newer), _) => {
            format!("was left, because job {newer}, which does the same, was left")
        }
        (Refusal::Replaced(by), _) => format!("was left: job {by} has replaced it before"),
        (Refusal::ExpiresBefore(expiry), _) => {
            let expiry = local_time(expiry);
            format!("was left: it has started before, so its expiry stays, which is {expiry}")
        }
        (Refusal::KeyTaken(owner), _) => {
            format!("was left: its unique key is held by job {owner}")
        }
    };
    CliError::new(ExitStatus::FAILED, format!("job {id} {what}"))
}

/// Prints what was done to the job with this id, which was `before`. `job` is that job after the act, or the job that has replaced
/// it.
pub fn show_done(
    out: &mut Output,
    store: &Store,
    act: Act<'_>,
    (id, before): (i64, Option<&JobRow>),
    done: Done,
    job: &JobRow,
) -> Result<()> {
    let title = job.title();
    let words = match (act, done) {
        (_, Done::ReplacedBy(new)) => new.to_string(),
        (_, Done::ResolvedFor(by)) => format!("job {id} {title}: resolved, because job {by} does its work"),
        (_, Done::AskedToEnd) => match worker_trouble_text(job, &worker_statuses(store)?) {
            None => {
                let inspect = to_type("inspect", id);
                format!("job {id} {title}: running, asked to end; {inspect} shows when it has")
            }
            Some(trouble) => format!("job {id} {title}: running, asked to end, but {trouble}"),
        },
        (Act::Cancel, _) => format!("job {id} {title}: cancelled"),
        (Act::Resolve { note }, _) => {
            let is_again = before.is_some_and(|before| before.resolved_at.is_some());
            let resolved = match note {
                _ if !is_again => "resolved",
                Some(_) => "resolved before, the note is changed",
                None => "resolved before, left as it is",
            };
            format!("job {id} {title}: {resolved}")
        }
        (Act::Change(change), _) => {
            format!("job {id} {title}: {}{}", changed_text(change, job), waits_on_text(job))
        }
        (Act::Retry { .. } | Act::ReplaceEnded { .. } | Act::ReplacePending { .. }, _) => {
            format!("job {id} {title}: pending again, due now")
        }
    };
    let held_back = match (act, done) {
        (Act::Cancel | Act::Resolve { .. }, _) | (_, Done::ResolvedFor(_)) => {
            holds_back_text(job, &store.held_back(&[job.id])?)
        }
        _ => None,
    };
    out.done(&job_json(job), held_back.map_or(words.clone(), |held| format!("{words}; it {held}")));
    Ok(())
}

/// Prints what would be done to `job`. `new` is the job as it would be then.
pub fn show_planned(out: &mut Output, act: Act<'_>, done: Done, job: &JobRow, new: &JobRow) {
    let (id, title) = (job.id, job.title());
    match act {
        _ if matches!(done, Done::ResolvedFor(_)) => out.done(
            &job_json(job),
            format!("would resolve job {id} {title}, because a newer one does its work"),
        ),
        Act::ReplaceEnded { .. } | Act::ReplacePending { .. } => {
            let mut new = job_json(new);
            new["id"] = json!(null);
            out.done(&new, format!("would replace job {id} {title}"));
        }
        Act::Change(change) => {
            out.done(&job_json(new), format!("job {id} {title} would be {}", changed_text(change, new)));
        }
        _ => out.done(&job_json(job), format!("would put job {id} {title} back")),
    }
}

/// The values that a change has given to this job.
fn changed_text(change: &JobChange, job: &JobRow) -> String {
    let now = clock::now();
    let due = change.due.map(|_| match job.run_at {
        at if at <= now => "due now".to_owned(),
        at => format!("due {} ({})", local_time(at), relative_time(at, now)),
    });
    let priority = change.priority.map(|priority| format!("priority {priority}"));
    let queue = change.queue.as_ref().map(|queue| format!("in queue {queue}"));
    [due, priority, queue].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The reason why the changed job does not start, apart from its due time.
fn waits_on_text(job: &JobRow) -> String {
    let why = if job.phase == Some(Phase::Blocked) {
        Some(dependency_text(job))
    } else {
        limit_text(job, clock::now())
    };
    why.map(|why| format!("; it {why}")).unwrap_or_default()
}

/// Counts the refused jobs by reason. This is for filters, where nobody has named the jobs one by one.
pub fn warn_of_skipped(refused: &[(i64, Refusal)]) {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, refusal) in refused {
        let reason = match refusal {
            Refusal::NotRetryable => "declared retryable = false; see --force",
            Refusal::KeyTaken(_) => "whose unique key is held by an unfinished job",
            Refusal::AdHoc => "that no job file declared",
            Refusal::Undeclared => "whose name the job file does not declare any more",
            Refusal::NewerLeft(_) => "because a newer one, which does the same, was left",
            // Somebody else changed the job after it was selected. `change`, which meets the last one, names each job.
            Refusal::Unknown | Refusal::State(_) | Refusal::Replaced(_) | Refusal::ExpiresBefore(_) => {
                continue;
            }
        };
        *left.entry(reason).or_default() += 1;
    }
    for (reason, jobs) in left {
        warn(&format!("left {} {reason}", counted(jobs, "job")));
    }
}
