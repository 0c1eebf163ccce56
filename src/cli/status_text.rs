//! Why a job is in its state, and what happens next, in words.

use super::worker_status::{WorkerStatus, holder};
use crate::model::{DeadReason, ErrorCode, JobState, Phase};
use crate::store::{Awaited, AwaitedJob, Hold, JobRow};
use crate::text::{Timestamp, counted, human_duration, relative_time, safe_line};
use crate::worker::Liveness;

/// A sentence or two.
pub fn status_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Vec<String> {
    match job.state {
        JobState::Succeeded => {
            let attempts = counted(job.attempts, "attempt");
            vec![format!("done {} after {attempts}", relative_time(job.changed_at, now))]
        }
        JobState::Cancelled => vec![format!("cancelled {}", relative_time(job.changed_at, now))],
        JobState::Dead => dead(job, now),
        JobState::Running => running(job, workers, now),
        JobState::Pending if job.phase == Some(Phase::Blocked) => vec![awaited_text(job)],
        JobState::Pending => {
            let mut lines = vec![due(job, now)];
            lines.extend(blocker(job, workers, now));
            lines
        }
    }
}

/// The effect of the expiry on an unfinished job.
pub fn expiry_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let expiry = job.expires_at?;
    let when = relative_time(expiry, now);
    match job.state {
        JobState::Pending => Some(format!("it dies (expired) unless it is started by then: {when}")),
        JobState::Running if job.last_of_budget() < job.spec.policy.runs() => Some(if expiry <= now {
            format!("it is not retried: it expired {when}")
        } else {
            format!("it is not retried from its expiry on: {when}")
        }),
        _ => None,
    }
}

/// Whether an unfinished job has started, and if not, why: `job 1 has not started: no worker is running …`.
pub fn unfinished_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> String {
    let id = job.id;
    if job.state == JobState::Running {
        return match worker_trouble(job, workers) {
            None => format!("job {id} is still running"),
            Some(trouble) => format!("job {id} has started, but {trouble}"),
        };
    }
    let why = if job.phase == Some(Phase::Blocked) {
        format!("it {}", awaited_text(job))
    } else {
        blocker(job, workers, now).unwrap_or_else(|| due(job, now))
    };
    let started = if job.attempts == 0 { "has not started" } else { "has not started again" };
    format!("job {id} {started}: {why}")
}

/// Says which job a blocked job waits for, and how to go on if that job will never succeed by itself.
pub fn awaited_text(job: &JobRow) -> String {
    let id = job.id;
    match &job.awaited {
        None => "waits for other jobs".to_owned(),
        Some(Awaited { id: before, job: None }) => {
            format!("waits for job {before}, which was removed: runner cancel {id} gives up")
        }
        Some(Awaited { id: before, job: Some(AwaitedJob { name, state, retryable }) }) => {
            let waits = format!("waits for job {before} {name}, which is {state}");
            let force = if *retryable { "" } else { " --force" };
            match state {
                JobState::Pending | JobState::Running | JobState::Succeeded => waits,
                JobState::Dead | JobState::Cancelled => {
                    format!("{waits}: runner retry {before}{force} goes on, runner cancel {id} gives up")
                }
            }
        }
    }
}

fn due(job: &JobRow, now: Timestamp) -> String {
    let when = relative_time(job.run_at, now);
    if job.phase != Some(Phase::Retrying) {
        return format!("due {when}");
    }
    let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
    let (next, runs) = (job.budget_used.saturating_add(1), job.spec.policy.runs());
    format!("{last} is retried: attempt {next} of {runs} {when}")
}

/// The reason, besides its due time, that a waiting job has not started.
fn blocker(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<String> {
    let queue = &job.spec.queue;
    if job.hold == Some(Hold::Paused) {
        return Some(format!("queue {queue} is paused; runner resume {queue} opens it"));
    }
    if let Some(why) = no_worker(queue, workers) {
        return Some(why);
    }
    let slot = || format!("it starts as soon as a worker has a free slot for queue {queue}");
    (job.phase == Some(Phase::Ready)).then(|| limit_text(job, now).unwrap_or_else(slot))
}

/// The limit that holds a job back.
fn limit_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let queue = &job.spec.queue;
    match job.hold? {
        Hold::Paused => None,
        Hold::Full(most) => Some(format!(
            "queue {queue} is at its limit: max_running {most}; the next job starts when an attempt ends"
        )),
        Hold::Paced(rate, next) => {
            let when = relative_time(next, now);
            Some(format!("queue {queue} is at its limit: rate {rate}; its next start is {when}"))
        }
    }
}

/// Why nothing starts the jobs of this queue, and what to do; none if a worker takes them.
pub fn no_worker(queue: &str, workers: &[WorkerStatus]) -> Option<String> {
    let mut serving = workers.iter().filter(|worker| worker.serves(queue));
    let (what, next) = match serving.clone().find(|worker| worker.liveness == Liveness::Suspended) {
        _ if serving.clone().any(|worker| worker.takes_from(queue)) => return None,
        Some(suspended) => ("suspended", format!("kill -CONT {} lets it go on", suspended.row.pid)),
        None if serving.next().is_some() => ("stopping", "runner work starts another".to_owned()),
        None => {
            return Some(format!("no worker is running for queue {queue}; runner work starts one"));
        }
    };
    Some(format!("the worker of queue {queue} is {what} and starts nothing; {next}"))
}

fn running(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Vec<String> {
    let worker = job.worker_id.as_deref().unwrap_or("unknown");
    let run = format!("run {} of {}", job.last_of_budget(), job.spec.policy.runs());
    let since = job.running_since().unwrap_or(now);
    let mut lines = vec![if holder(job, workers).is_some_and(WorkerStatus::is_alive) {
        format!("{run} has taken {} so far, in worker {worker}", human_duration(now.since(since)))
    } else {
        format!("{run} started {} in worker {worker}", relative_time(since, now))
    }];
    if job.cancel_requested_at.is_some() {
        lines.push("it has been asked to end, and will be cancelled".to_owned());
    }
    lines.extend(worker_trouble(job, workers));
    lines
}

/// The trouble with the worker of a job; none if it is alive and well, or the job does not run.
pub fn worker_trouble(job: &JobRow, workers: &[WorkerStatus]) -> Option<String> {
    if job.state != JobState::Running {
        return None;
    }
    match holder(job, workers).map(|worker| (worker.liveness, &worker.row.db)) {
        Some((Liveness::Alive, _)) => None,
        Some((Liveness::Suspended, _)) => {
            Some("its worker is suspended: timeouts and cancels wait for it".to_owned())
        }
        Some((Liveness::OfOriginal, original)) => Some(format!(
            "its worker works on {}, of which this database is a copy; the next runner work records the attempt \
             here as lost and leaves its processes alone",
            safe_line(&original.display().to_string()),
        )),
        Some((Liveness::Dead, _)) | None => {
            Some("its worker died; the next runner work ends what is left of the attempt".to_owned())
        }
    }
}

fn dead(job: &JobRow, now: Timestamp) -> Vec<String> {
    let reason = job.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
    let code = job.error_code.as_ref().map_or("", ErrorCode::as_str);
    let (because, when) = (reason.because(), relative_time(job.changed_at, now));
    let mut lines = vec![format!("{code}, {reason}: {because}, {when}")];
    lines.extend(job.last_message.as_deref().map(safe_line));
    lines.extend(resolution(job, now));
    lines
}

/// When the job was resolved, and the note about that.
fn resolution(job: &JobRow, now: Timestamp) -> Option<String> {
    let when = relative_time(job.resolved_at?, now);
    let note = job.resolution.as_deref().map(|note| format!(": {}", safe_line(note))).unwrap_or_default();
    Some(format!("resolved {when}{note}"))
}
