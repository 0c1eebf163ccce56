//! Why nobody starts jobs or fires schedules, and the command that changes it.

use crate::call_target::CallTarget;
use crate::model::Way;
use crate::store::{JobRow, Liveness, NoWorker, WorkerStatus, no_worker};

/// Says why no worker starts the jobs of this queue, and what to do about it; none if one does. Without a queue it is about
/// schedules, which any worker fires.
pub fn no_worker_text(queue: Option<&str>, workers: &[WorkerStatus], place: &CallTarget) -> Option<String> {
    no_worker_and_ways(queue, workers, place).map(sentence)
}

/// [`no_worker_text`] in parts: why, and what people can do.
pub fn no_worker_and_ways(
    queue: Option<&str>,
    workers: &[WorkerStatus],
    place: &CallTarget,
) -> Option<(String, Vec<Way>)> {
    let why = no_worker(queue, workers)?;
    let ways = match why {
        NoWorker::NoneRuns => start(workers, place),
        NoWorker::Suspended(_) | NoWorker::SuspendedRun(_) => {
            vec![Way::new(command(why, place), "lets it go on")]
        }
        NoWorker::Stopping => vec![Way::new(command(why, place), "starts another")],
    };
    Some((reason(queue, why), ways))
}

/// A fact and what people can do about it, as one sentence.
pub fn sentence((why, ways): (String, Vec<Way>)) -> String {
    if ways.is_empty() {
        return why;
    }
    let ways: Vec<String> = ways.into_iter().map(|way| way.sentence).collect();
    format!("{why}; {}", ways.join(", "))
}

/// Says why nobody starts a pending job, and what to do about it; none if a worker does, or the `run` that it is for.
pub fn nobody_text(job: &JobRow, workers: &[WorkerStatus], place: &CallTarget) -> Option<String> {
    nobody_and_ways(job, workers, place).map(sentence)
}

/// [`nobody_text`] in parts: why, and what people can do.
pub fn nobody_and_ways(
    job: &JobRow,
    workers: &[WorkerStatus],
    place: &CallTarget,
) -> Option<(String, Vec<Way>)> {
    let run = workers.iter().find(|worker| Some(worker.row.id) == job.run_worker_id);
    match run.map(|run| (run.liveness, run.row.pid)) {
        Some((Liveness::Alive, _)) => None,
        Some((Liveness::Suspended, pid)) => {
            let way = Way::new(continue_command(pid), "lets it go on");
            Some(("the run that it is for is suspended".to_owned(), vec![way]))
        }
        Some((Liveness::Dead | Liveness::OfOriginal, pid)) => {
            let way = "goes on with it, and so does the next run of it";
            let way = Way::new(place.to_type("work", ""), way);
            Some((format!("the run that it is for (pid {pid}) died"), vec![way]))
        }
        None => no_worker_and_ways(Some(&job.definition.queue), workers, place)
            .or_else(|| too_old(job, workers, place)),
    }
}

/// Says so where each worker that takes the queue of this job is older than the job.
fn too_old(job: &JobRow, workers: &[WorkerStatus], place: &CallTarget) -> Option<(String, Vec<Way>)> {
    let queue = &job.definition.queue;
    let is_started = workers.iter().any(|worker| worker.would_start(queue, job.needs_version));
    let takers = workers.iter().filter(|worker| worker.takes_from(queue));
    let pids: Vec<i32> = takers.map(|worker| worker.row.pid).collect();
    let why =
        format!("the workers of queue {queue} are older than the job needs, and have {TO_BE_RESTARTED}");
    (!is_started).then(|| (why, restart(&pids, place)))
}

/// Said of a worker of an older program. Nothing tells what started it.
pub(super) const TO_BE_RESTARTED: &str = "to be restarted, a unit by systemctl restart";

/// The commands that put a new worker in the place of these, where no unit does. Without the first it would run beside them.
pub(super) fn restart(pids: &[i32], place: &CallTarget) -> Vec<Way> {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let kill = format!("kill {}", pids.join(" "));
    vec![
        Way::new(kill, "ends one that was started otherwise"),
        Way::new(place.to_type("work", ""), "starts the new one then, unless cron does"),
    ]
}

/// Says that no worker runs, what does not happen therefore, and what starts one.
pub fn nothing_until_worker(what: &str, workers: &[WorkerStatus], place: &CallTarget) -> String {
    let why = format!("{}, so nothing {what}", reason(None, NoWorker::NoneRuns));
    sentence((why, start(workers, place)))
}

/// Says it where a worker is to be started. Nothing tells whether the original is still in use.
pub(super) const IN_COPY: &str = "in this copy it does again what the original does";

/// The commands that start a worker where none runs: for now, and for good. A copy of a database gets none for good.
fn start(workers: &[WorkerStatus], place: &CallTarget) -> Vec<Way> {
    if workers.iter().any(WorkerStatus::is_of_original) {
        return vec![Way::new(place.to_type("work", ""), &format!("starts one, but {IN_COPY}"))];
    }
    let for_good = command(NoWorker::NoneRuns, place);
    let sentence = format!("{for_good} one for good");
    let for_good = Way::new(for_good, "starts one for good").said(sentence);
    vec![Way::new(place.to_type("work", ""), "starts one"), for_good]
}

pub(super) fn reason(queue: Option<&str>, why: NoWorker) -> String {
    match (why, queue) {
        (NoWorker::NoneRuns, None) => "no worker is running".to_owned(),
        (NoWorker::NoneRuns, Some(queue)) => format!("no worker is running for queue {queue}"),
        (NoWorker::Suspended(_), None) => "the only worker is suspended".to_owned(),
        (NoWorker::Suspended(_), Some(queue)) => {
            format!("the worker of queue {queue} is suspended and starts nothing")
        }
        (NoWorker::SuspendedRun(pid), _) => {
            format!("the run (pid {pid}) that was called for this is suspended")
        }
        (NoWorker::Stopping, None) => "the only worker is stopping".to_owned(),
        (NoWorker::Stopping, Some(queue)) => {
            format!("the worker of queue {queue} is stopping and starts nothing")
        }
    }
}

pub(super) fn command(why: NoWorker, place: &CallTarget) -> String {
    match why {
        NoWorker::Suspended(pid) | NoWorker::SuspendedRun(pid) => continue_command(pid),
        NoWorker::NoneRuns => place.service_install(),
        NoWorker::Stopping => place.to_type("work", ""),
    }
}

pub(super) fn continue_command(pid: i32) -> String {
    format!("kill -CONT {pid}")
}
