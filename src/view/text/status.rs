//! The state of a job in words: why it is in this state, what happens next, and how its worker is.

use super::schedule::until_text;
use crate::call_target::{CallTarget, to_type};
use crate::model::{DeadReason, ErrorCode, JobState, Phase, Way, retried_text};
use crate::store::{
    DependencyState, JobRow, Liveness, QueueHold, StuckBehind, UnmetDependency, WorkerStatus,
};
use crate::text::{Timestamp, counted, human_duration, relative_time, safe_line, shown_line};
use crate::view::advice;

const ASKED_TO_END: &str = "it has been asked to end, and will be cancelled";

/// The worker that runs this job.
pub fn worker_of<'a>(job: &JobRow, workers: &'a [WorkerStatus]) -> Option<&'a WorkerStatus> {
    workers.iter().find(|worker| job.worker_id.as_ref() == Some(&worker.row.name))
}

/// Says why a job is in its state, and what happens next.
pub fn status_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Vec<String> {
    match job.state {
        JobState::Succeeded => {
            let attempts = counted(job.attempts, "attempt");
            let mut lines = vec![format!("done {} after {attempts}", relative_time(job.changed_at, now))];
            if let Some(warning) = &job.warning {
                lines.push(format!("it is a success with a warning: {}", warning.as_warning()));
                lines.extend(job.last_message.as_deref().map(shown_line));
                lines.extend(resolution_text(job, now));
            }
            lines
        }
        JobState::Cancelled => {
            let replaced = job.replaced_by.map(|by| format!(": replaced by job {by}")).unwrap_or_default();
            vec![format!("cancelled {}{replaced}", relative_time(job.changed_at, now))]
        }
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

/// Says what keeps an unfinished job, or how its worker is, without what people can do about it.
pub fn obstacle_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<String> {
    if job.state == JobState::Running {
        let trouble = worker_trouble(job, workers).map(|(what, _)| what);
        let is_asked = job.cancel_requested_at.is_some();
        return if is_asked { Some(and(ASKED_TO_END, trouble)) } else { trouble };
    }
    if job.phase == Some(Phase::Blocked) {
        return Some(format!("waits for {}", dependencies_text(job).as_deref().unwrap_or("other jobs")));
    }
    hold(job, workers, now).map(|(what, _)| what)
}

/// Both as one sentence.
fn and(one: &str, other: Option<String>) -> String {
    other.map_or_else(|| one.to_owned(), |other| format!("{one}; {other}"))
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

/// The number of dependencies of a job that are named, and that one command retries.
const MAX_NAMED: usize = 10;

/// Says which jobs a blocked job waits for, and how to go on if one of them will not end by itself.
pub fn dependency_text(job: &JobRow) -> String {
    let Some(named) = dependencies_text(job) else { return "waits for other jobs".to_owned() };
    let id = job.id;
    let holder = job.waits_for.iter().find_map(|unmet| unmet.job.as_ref()?.key_holder);
    let when = holder.map(|id| format!(" once job {id}, which holds its key, has ended")).unwrap_or_default();
    let mut ways: Vec<_> =
        retry_text(job).map(|retry| format!("{retry} goes on{when}")).into_iter().collect();
    ways.extend(
        job.paused_queues().iter().map(|queue| format!("{} opens queue {queue}", to_type("resume", queue))),
    );
    ways.extend(job.is_stuck().then(|| format!("{} gives up", to_type("cancel", id))));
    let colon = if ways.is_empty() { "" } else { ": " };
    format!("waits for {named}{colon}{}", ways.join(", "))
}

/// Says what an expired job waited for if it was blocked until then, and which command comes before its replay.
pub fn blocked_expiry_text(job: &JobRow) -> Option<String> {
    let named = dependencies_text(job).filter(|_| job.dead_reason == Some(DeadReason::Expired))?;
    let retry = retry_text(job).map(|retry| format!(": {retry} comes first")).unwrap_or_default();
    Some(format!("it was blocked until it expired: it waited for {named}{retry}"))
}

/// Names what a job waits for: `job 1 load, which is dead, and for job 3 clean, which is running`; none if that is nothing.
fn dependencies_text(job: &JobRow) -> Option<String> {
    let text = |unmet: &UnmetDependency| match &unmet.job {
        None => format!("job {}, which was removed", unmet.id),
        Some(DependencyState { name, state: JobState::Succeeded, .. }) => {
            format!("job {} {name}, which has succeeded since", unmet.id)
        }
        Some(DependencyState { name, paused_queue: Some(queue), .. }) => {
            format!("job {} {name}, whose queue {queue} is paused", unmet.id)
        }
        Some(DependencyState { name, state, .. }) => format!("job {} {name}, which is {state}", unmet.id),
    };
    let mut named: Vec<_> = job.waits_for.iter().take(MAX_NAMED).map(text).collect();
    if job.waits_for.len() > MAX_NAMED {
        named.push(format!("{} more", job.waits_for.len() - MAX_NAMED));
    }
    Some(match named.split_last()? {
        (only, []) => only.clone(),
        (last, others) => format!("{}, and for {last}", others.join(", for ")),
    })
}

/// The command that puts back the dead and cancelled jobs that a job waits for; none if there is none, or if that would not get
/// the job going, because a job that was removed cannot be retried.
fn retry_text(job: &JobRow) -> Option<String> {
    let stuck: Vec<_> = job.waits_for.iter().filter(|unmet| unmet.is_stuck).collect();
    let states: Vec<_> = stuck.iter().map(|unmet| unmet.job.as_ref()).collect::<Option<_>>()?;
    if states.is_empty() || states.len() > MAX_NAMED {
        return None;
    }
    let force = if states.iter().all(|state| state.retryable) { "" } else { " --force" };
    let ids: Vec<_> = stuck.iter().map(|unmet| unmet.id.to_string()).collect();
    Some(to_type("retry", ids.join(" ") + force))
}

/// Names the jobs that a dead or cancelled job keeps from going on; none if it keeps none.
pub fn holds_back_text(job: &JobRow, held_back: &StuckBehind) -> Option<String> {
    let jobs = advice::dead_list::held_back_text(held_back)
        .filter(|_| matches!(job.state, JobState::Dead | JobState::Cancelled))?;
    Some(format!("holds back {jobs}"))
}

fn due_text(job: &JobRow, now: Timestamp) -> String {
    let when = relative_time(job.run_at, now);
    if job.phase != Some(Phase::Retrying) {
        return format!("due {when}");
    }
    let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
    retried_text(last, job.attempts_used, job.definition.policy.max_attempts(), &when)
}

/// Says why a job may wait for ever although it is not stuck, with the queue that this is about, and whether that queue is
/// paused. If it is not, no worker serves it.
pub fn long_wait_text(
    job: &JobRow,
    workers: &[WorkerStatus],
    now: Timestamp,
) -> Option<((String, bool), String)> {
    let queue = &job.definition.queue;
    if let Some(paused) = paused_text(job, now) {
        return Some(((queue.clone(), true), paused));
    }
    if let Some(paused) = job.paused_queues().first() {
        return Some((((*paused).clone(), true), format!("it {}", dependency_text(job))));
    }
    Some(((queue.clone(), false), advice::nobody_text(job, workers, CallTarget::of_this_call())?))
}

/// Says that the queue of a job or everything is paused.
fn paused_text(job: &JobRow, now: Timestamp) -> Option<String> {
    paused(job, now).map(advice::sentence)
}

/// Says how the worker with this pid is stopped, and what becomes of its jobs.
pub fn stop_text(pid: i32) -> String {
    format!("kill {pid} stops it, and interrupts what has not ended by its --shutdown-timeout")
}

/// Says what is paused, and what ends that.
fn paused(job: &JobRow, now: Timestamp) -> Option<(String, Vec<Way>)> {
    let queue = &job.definition.queue;
    let (what, pause, way) = match job.queue_hold? {
        QueueHold::AllPaused(pause) => {
            ("everything".to_owned(), pause, Way::new(to_type("resume", "--all"), "ends that"))
        }
        QueueHold::Paused(pause) => {
            (format!("queue {queue}"), pause, Way::new(to_type("resume", queue), "opens it"))
        }
        _ => return None,
    };
    Some((format!("{what} is paused{}", until_text(pause, now)), vec![way]))
}

/// Says what keeps a pending job that waits for no other one, and what people can do about that: a pause, or that nobody starts
/// it, even if it is not due yet; else the limit of its queue.
fn hold(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<(String, Vec<Way>)> {
    let nobody = || advice::nobody_and_ways(job, workers, CallTarget::of_this_call());
    let limit = || limit_text(job, now).filter(|_| job.phase == Some(Phase::Ready));
    paused(job, now).or_else(nobody).or_else(|| Some((limit()?, Vec::new())))
}

/// Says why a pending job would not start even if it were due, and why a job that is due has not started.
fn blocker_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<String> {
    let queue = &job.definition.queue;
    let slot = || {
        if job.run_worker_id.is_some() {
            return "the run that it is for starts it".to_owned();
        }
        let takers = || workers.iter().filter(|worker| worker.takes_from(queue));
        let slots: u64 = takers().map(|worker| worker.row.slots as u64).sum();
        let running: u64 = takers().map(|worker| worker.row.running).sum();
        let busy = if running >= slots {
            let busy = if slots == 1 { "the only one is".to_owned() } else { format!("all {slots} are") };
            format!("; {busy} busy, {} shows with what", to_type("inspect", "jobs --state running"))
        } else {
            String::new()
        };
        format!("it starts as soon as a worker has a free slot for queue {queue}{busy}")
    };
    let hold = hold(job, workers, now).map(advice::sentence);
    hold.or_else(|| (job.phase == Some(Phase::Ready)).then(slot))
}

/// Says which pause or limit of its queue holds the job back.
pub fn limit_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let Some(limit) = reached_limit_text(job) else { return paused_text(job, now) };
    let next = match job.queue_hold?.next_start() {
        None => "its next job starts when an attempt ends".to_owned(),
        Some(next) => format!("its next job starts {}", relative_time(next, now)),
    };
    Some(format!("{limit}; {next}"))
}

/// Says which limit of its queue holds the job back, without a time, so that the words stay the same while it does.
pub fn reached_limit_text(job: &JobRow) -> Option<String> {
    let limit = job.queue_hold?.limit()?;
    Some(format!("{}: {limit}", advice::at_limit(&format!("queue {}", job.definition.queue))))
}

/// Says that a job of somebody else is waited for, and that nobody runs it, if that is so.
pub fn waits_for_others_text(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Option<String> {
    if job.state.is_final() {
        return None;
    }
    let why = if job.state == JobState::Running {
        worker_trouble_text(job, workers)
    } else {
        long_wait_text(job, workers, now).map(|(_, why)| why)
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("waiting for job {} {}, which is {}{why}", job.id, job.title(), job.status()))
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
        lines.push(ASKED_TO_END.to_owned());
    }
    lines.extend(worker_trouble_text(job, workers));
    lines
}

/// Says what is wrong with the worker of a running job; none if the worker is well, or the job does not run.
pub fn worker_trouble_text(job: &JobRow, workers: &[WorkerStatus]) -> Option<String> {
    worker_trouble(job, workers).map(|(what, next)| and(&what, next))
}

/// Says what is wrong with the worker of a running job, and what comes of it.
fn worker_trouble(job: &JobRow, workers: &[WorkerStatus]) -> Option<(String, Option<String>)> {
    if job.state != JobState::Running {
        return None;
    }
    let worker = worker_of(job, workers);
    match worker.map(|worker| (worker.liveness, &worker.row.db)) {
        Some((Liveness::Alive, _)) => None,
        Some((Liveness::Suspended, _)) => {
            Some(("its worker is suspended: timeouts and cancels wait for it".to_owned(), None))
        }
        Some((Liveness::OfOriginal, original)) => {
            let original = safe_line(&original.display().to_string());
            let work = to_type("work", "");
            let next =
                format!("the next {work} records the attempt here as lost and leaves its processes alone");
            Some((format!("its worker works on {original}, of which this database is a copy"), Some(next)))
        }
        Some((Liveness::Dead, _)) if worker.is_some_and(|worker| worker.row.leftover_since.is_some()) => {
            let what = "its worker died, and what is left of the attempt could not be ended".to_owned();
            Some((what, Some(format!("{} shows it", to_type("inspect", "workers")))))
        }
        Some((Liveness::Dead, _)) | None => {
            let next = format!("the next {} ends what is left of the attempt", to_type("work", ""));
            Some(("its worker died".to_owned(), Some(next)))
        }
    }
}

fn dead_text(job: &JobRow, now: Timestamp) -> Vec<String> {
    let reason = job.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
    let code = job.error_code.as_ref().map_or("", ErrorCode::as_str);
    let (because, when) = (reason.because_of(code), relative_time(job.changed_at, now));
    let mut lines = vec![format!("{code}, {reason}: {because}, {when}")];
    lines.extend(blocked_expiry_text(job));
    lines.extend(job.last_message.as_deref().map(shown_line));
    lines.extend(resolution_text(job, now));
    lines
}

/// Says when the job was resolved, with the note that was left then.
fn resolution_text(job: &JobRow, now: Timestamp) -> Option<String> {
    let when = relative_time(job.resolved_at?, now);
    let note = job.resolution.as_deref().map(|note| format!(": {}", safe_line(note))).unwrap_or_default();
    Some(format!("resolved {when}{note}"))
}
