//! The state of jobs and workers in words: why a job is in its state, what happens next, and how its worker is.

use anyhow::Result;

use crate::model::{DeadReason, ErrorCode, JobState, Phase};
use crate::store::{
    BlockReason, DependencyState, JobRow, Liveness, NoWorker, Store, StoredSchedule, StrandedRoot,
    UnmetDependency, Worker, WorkerStatus,
};
use crate::text::{Millis, Timestamp, counted, human_duration, relative_time, safe_line};
use crate::worker::liveness;

/// A schedule is overdue if no worker has fired it within this time.
const LATE: Millis = Millis::from_secs(5);

/// When a schedule fires next: `in 9h 52m`, `overdue 1m 31s`, `paused`, `never`.
pub fn next_firing_text(row: &StoredSchedule, now: Timestamp) -> String {
    match row.next_at {
        _ if row.paused => "paused".to_owned(),
        None => "never".to_owned(),
        Some(at) if at.plus(LATE) < now => format!("overdue {}", human_duration(now.since(at))),
        Some(at) => relative_time(at, now),
    }
}

/// The worker that runs this job.
pub fn worker_of<'a>(job: &JobRow, workers: &'a [WorkerStatus]) -> Option<&'a WorkerStatus> {
    workers.iter().find(|worker| job.worker_id.as_ref() == Some(&worker.row.name))
}

/// Every worker that runs, or that died and was not recovered yet.
pub fn worker_statuses(store: &Store) -> Result<Vec<WorkerStatus>> {
    Ok(with_liveness(store, store.open_workers()?))
}

/// Looks at the lock of each worker to tell whether it is alive.
pub fn with_liveness(store: &Store, workers: Vec<Worker>) -> Vec<WorkerStatus> {
    let status = |row| WorkerStatus { liveness: liveness(store.file(), &row), row };
    workers.into_iter().map(status).collect()
}

/// Says why a job is in its state, and what happens next.
pub fn status_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Vec<String> {
    match job.state {
        JobState::Succeeded => {
            let attempts = counted(job.attempts, "attempt");
            vec![format!("done {} after {attempts}", relative_time(job.changed_at, now))]
        }
        JobState::Cancelled => vec![format!("cancelled {}", relative_time(job.changed_at, now))],
        JobState::Dead => dead_text(job, now),
        JobState::Running => running_text(job, workers, now),
        JobState::Pending if job.phase == Some(Phase::Blocked) => vec![dependency_text(job)],
        JobState::Pending => {
            let mut lines = vec![due_text(job, now)];
            lines.extend(blocker_text(job, workers, now));
            lines
        }
    }
}

/// Says what happens to an unfinished job when it expires; none if nothing does.
pub fn expiry_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let expiry = job.expires_at?;
    let when = relative_time(expiry, now);
    match job.state {
        JobState::Pending => Some(format!("it dies (expired) unless it is started by then: {when}")),
        JobState::Running if job.last_of_budget() < job.definition.policy.max_attempts() => {
            Some(if expiry <= now {
                format!("it is not retried: it expired {when}")
            } else {
                format!("it is not retried from its expiry on: {when}")
            })
        }
        _ => None,
    }
}

/// Says whether an unfinished job has started, and if not, why: `job 1 has not started: no worker is running …`.
pub fn unfinished_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> String {
    let id = job.id;
    if job.state == JobState::Running {
        return match worker_trouble_text(job, workers) {
            None => format!("job {id} is still running"),
            Some(trouble) => format!("job {id} has started, but {trouble}"),
        };
    }
    let why = if job.phase == Some(Phase::Blocked) {
        format!("it {}", dependency_text(job))
    } else {
        blocker_text(job, workers, now).unwrap_or_else(|| due_text(job, now))
    };
    let started = if job.attempts == 0 { "has not started" } else { "has not started again" };
    format!("job {id} {started}: {why}")
}

/// Says which jobs a blocked job waits for, and how to go on if one of them will not end by itself.
pub fn dependency_text(job: &JobRow) -> String {
    /// So many jobs are named.
    const NAMED: usize = 10;
    let id = job.id;
    let text = |unmet: &UnmetDependency| match &unmet.job {
        None => format!("job {}, which was removed", unmet.id),
        Some(DependencyState { name, state, .. }) => format!("job {} {name}, which is {state}", unmet.id),
    };
    let mut named: Vec<_> = job.waits_for.iter().take(NAMED).map(text).collect();
    if job.waits_for.len() > NAMED {
        named.push(format!("{} more", job.waits_for.len() - NAMED));
    }
    let waits = match named.split_last() {
        None => return "waits for other jobs".to_owned(),
        Some((only, [])) => format!("waits for {only}"),
        Some((last, others)) => format!("waits for {}, and for {last}", others.join(", for ")),
    };
    let stuck: Vec<_> = job.waits_for.iter().filter(|unmet| unmet.is_stuck()).collect();
    if stuck.is_empty() {
        return waits;
    }
    // A removed job cannot be retried, and a retry of the others alone would not get this job going.
    let states: Option<Vec<_>> = stuck.iter().map(|unmet| unmet.job.as_ref()).collect();
    let Some(states) = states.filter(|states| states.len() <= NAMED) else {
        return format!("{waits}: runner cancel {id} gives up");
    };
    let force = if states.iter().all(|state| state.retryable) { "" } else { " --force" };
    let ids: Vec<_> = stuck.iter().map(|unmet| unmet.id.to_string()).collect();
    format!("{waits}: runner retry {}{force} goes on, runner cancel {id} gives up", ids.join(" "))
}

/// Names the jobs that a dead or cancelled job keeps from going on; none if it keeps none.
pub fn holds_back_text(store: &Store, job: &JobRow) -> Result<Option<String>> {
    if !matches!(job.state, JobState::Dead | JobState::Cancelled) {
        return Ok(None);
    }
    let (count, names) = store.held_back(job.id)?;
    if count == 0 {
        return Ok(None);
    }
    let more = if count > names.len() { ", …" } else { "" };
    let jobs = if count > StrandedRoot::MAX_COUNT {
        format!("more than {} jobs", StrandedRoot::MAX_COUNT)
    } else {
        counted(count, "job")
    };
    Ok(Some(format!("holds back {jobs}: {}{more}", names.join(", "))))
}

fn due_text(job: &JobRow, now: Timestamp) -> String {
    let when = relative_time(job.run_at, now);
    if job.phase != Some(Phase::Retrying) {
        return format!("due {when}");
    }
    let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
    let (next, max_attempts) = (job.attempts_used.saturating_add(1), job.definition.policy.max_attempts());
    format!("{last} is retried: attempt {next} of {max_attempts} {when}")
}

/// Says why a pending job would not start even if it were due, and why a job that is due has not started.
fn blocker_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<String> {
    let queue = &job.definition.queue;
    if job.block_reason == Some(BlockReason::Paused) {
        return Some(format!("queue {queue} is paused; runner resume {queue} opens it"));
    }
    if let Some(why) = no_worker_text(queue, workers) {
        return Some(why);
    }
    let slot = || format!("it starts as soon as a worker has a free slot for queue {queue}");
    (job.phase == Some(Phase::Ready)).then(|| limit_text(job, now).unwrap_or_else(slot))
}

/// Says which limit of its queue holds the job back.
fn limit_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let queue = &job.definition.queue;
    match job.block_reason? {
        BlockReason::Paused => None,
        BlockReason::Full(most) => Some(format!(
            "queue {queue} is at its limit: max_running {most}; the next job starts when an attempt ends"
        )),
        BlockReason::Paced(rate, next) => {
            let when = relative_time(next, now);
            Some(format!("queue {queue} is at its limit: rate {rate}; its next start is {when}"))
        }
    }
}

/// Says why no worker starts the jobs of this queue, and what to do about it; none if one does.
pub fn no_worker_text(queue: &str, workers: &[WorkerStatus]) -> Option<String> {
    NoWorker::of(queue, workers).map(|NoWorker { why, command, effect }| format!("{why}; {command} {effect}"))
}

/// Says why no worker fires schedules, and what to do about it; none if one does. Any worker fires all of them.
pub fn no_firing_text(workers: &[WorkerStatus]) -> Option<String> {
    if workers.iter().any(WorkerStatus::takes_jobs) {
        return None;
    }
    let suspended = workers.iter().find(|worker| worker.liveness == Liveness::Suspended);
    Some(match suspended {
        Some(worker) => format!("the only worker is suspended; kill -CONT {} lets it go on", worker.row.pid),
        None if workers.iter().any(WorkerStatus::is_alive) => {
            "the only worker is stopping; runner work starts another".to_owned()
        }
        None => "no worker is running; runner work starts one".to_owned(),
    })
}

fn running_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Vec<String> {
    let worker = job.worker_id.as_deref().unwrap_or("unknown");
    let attempt = format!("attempt {} of {}", job.last_of_budget(), job.definition.policy.max_attempts());
    let since = job.running_since().unwrap_or(now);
    let mut lines = vec![if worker_of(job, workers).is_some_and(WorkerStatus::is_alive) {
        format!("{attempt} has taken {} so far, in worker {worker}", human_duration(now.since(since)))
    } else {
        format!("{attempt} started {} in worker {worker}", relative_time(since, now))
    }];
    if job.cancel_requested_at.is_some() {
        lines.push("it has been asked to end, and will be cancelled".to_owned());
    }
    lines.extend(worker_trouble_text(job, workers));
    lines
}

/// Says what is wrong with the worker of a running job; none if the worker is well, or the job does not run.
pub fn worker_trouble_text(job: &JobRow, workers: &[WorkerStatus]) -> Option<String> {
    if job.state != JobState::Running {
        return None;
    }
    match worker_of(job, workers).map(|worker| (worker.liveness, &worker.row.db)) {
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

fn dead_text(job: &JobRow, now: Timestamp) -> Vec<String> {
    let reason = job.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
    let code = job.error_code.as_ref().map_or("", ErrorCode::as_str);
    let (because, when) = (reason.because(), relative_time(job.changed_at, now));
    let mut lines = vec![format!("{code}, {reason}: {because}, {when}")];
    lines.extend(job.last_message.as_deref().map(safe_line));
    lines.extend(resolution_text(job, now));
    lines
}

/// Says when the job was resolved, with the note that was left then.
fn resolution_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let when = relative_time(job.resolved_at?, now);
    let note = job.resolution.as_deref().map(|note| format!(": {}", safe_line(note))).unwrap_or_default();
    Some(format!("resolved {when}{note}"))
}
