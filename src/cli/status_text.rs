//! Why a job is in its state, and what happens next, in words.

use anyhow::Result;

use super::commands::inspect::{Seen, look_at_workers};
use crate::model::{DeadReason, ErrorCode, JobState, Phase};
use crate::store::{JobRow, Store};
use crate::text::{Timestamp, human_duration, relative_time, safe_line};
use crate::worker::Liveness;

/// Why a job is in its state, and what happens next: a sentence or two.
pub fn status_text(store: &Store, job: &JobRow, now: Timestamp) -> Result<Vec<String>> {
    let runs = job.spec.policy.runs();
    let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
    let mut lines = match (job.state, job.phase) {
        (JobState::Succeeded, _) => {
            let plural = if job.attempts == 1 { "attempt" } else { "attempts" };
            vec![format!("done {} after {} {plural}", relative_time(job.changed_at, now), job.attempts)]
        }
        (JobState::Cancelled, _) => vec![format!("called off {}", relative_time(job.changed_at, now))],
        (JobState::Dead, _) => dead(job, now),
        (JobState::Running, _) => running(store, job, now)?,
        (JobState::Pending, Some(Phase::Retrying)) => {
            vec![format!(
                "{last} is retried: attempt {} of {runs} {}",
                job.budget_used.saturating_add(1),
                relative_time(job.run_at, now)
            )]
        }
        (JobState::Pending, _) => vec![format!("due {}", relative_time(job.run_at, now))],
    };
    if job.state == JobState::Pending {
        lines.extend(what_holds_it(store, job)?);
    }
    Ok(lines)
}

/// What the expiry of an unfinished job does to it.
pub fn expiry_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let expiry = job.expires_at?;
    let when = relative_time(expiry, now);
    match job.state {
        JobState::Pending => Some(format!("it dies (expired) unless it is started by then: {when}")),
        JobState::Running if job.budget_used.saturating_add(1) < job.spec.policy.runs() => {
            Some(if expiry <= now {
                format!("it is not retried: it expired {when}")
            } else {
                format!("it is not retried from its expiry on: {when}")
            })
        }
        _ => None,
    }
}

fn running(store: &Store, job: &JobRow, now: Timestamp) -> Result<Vec<String>> {
    let worker = job.worker_id.as_deref().unwrap_or("unknown");
    let mut lines = vec![format!(
        "attempt {} of {} has been running for {} in worker {worker}",
        job.budget_used.saturating_add(1),
        job.spec.policy.runs(),
        human_duration(now.since(job.attempt_started_at.unwrap_or(job.changed_at))),
    )];
    if job.cancel_requested_at.is_some() {
        lines.push("it has been asked to end, and will be cancelled".to_owned());
    }
    match look_at_workers(store)?.iter().find(|seen| seen.name() == worker).map(Seen::liveness) {
        Some(Liveness::Alive) => {}
        Some(Liveness::Suspended) => {
            lines.push("that worker is suspended: timeouts and cancels wait for it".to_owned());
        }
        Some(Liveness::Dead) | None => {
            lines.push("that worker died; the next runner work ends what is left of the attempt".to_owned());
        }
    }
    Ok(lines)
}

/// What a waiting job waits for besides its due time.
fn what_holds_it(store: &Store, job: &JobRow) -> Result<Option<String>> {
    let queue = &job.spec.queue;
    if job.paused {
        return Ok(Some(format!("queue {queue} is paused; runner resume {queue} opens it")));
    }
    if !look_at_workers(store)?.iter().any(|worker| worker.takes_from(queue)) {
        return Ok(Some(format!("no worker is running for queue {queue}; runner work starts one")));
    }
    let ready = job.phase == Some(Phase::Ready);
    Ok(ready.then(|| format!("it starts as soon as a worker has a free slot for queue {queue}")))
}

fn dead(job: &JobRow, now: Timestamp) -> Vec<String> {
    let reason = job.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
    let code = job.error_code.as_ref().map_or("", ErrorCode::as_str);
    let because = match reason {
        DeadReason::AttemptsExhausted if job.budget_used == 1 => "its only run failed".to_owned(),
        DeadReason::AttemptsExhausted => format!("all {} runs of its budget failed", job.budget_used),
        DeadReason::Expired if job.attempts == 0 => "no worker started it before it expired".to_owned(),
        other => other.because().to_owned(),
    };
    let mut lines = vec![format!("{code}, {reason}: {because}, {}", relative_time(job.changed_at, now))];
    if let Some(message) = &job.last_message {
        lines.push(safe_line(message));
    }
    lines
}
