//! Why nobody starts jobs or fires schedules, and the command that changes it.

use crate::place::Place;
use crate::store::{JobRow, Liveness, NoWorker, WorkerStatus, no_worker};

/// Says why no worker starts the jobs of this queue, and what to do about it; none if one does. Without a queue it is about
/// schedules, which any worker fires.
pub fn no_worker_text(queue: Option<&str>, workers: &[WorkerStatus], place: &Place) -> Option<String> {
    let why = no_worker(queue, workers)?;
    let advice = match why {
        NoWorker::NoneRuns => start_text(place),
        NoWorker::Suspended(_) => format!("{} lets it go on", command(why, place)),
        NoWorker::Stopping => format!("{} starts another", command(why, place)),
    };
    Some(format!("{}; {advice}", reason(queue, why)))
}

/// Says why nobody starts a pending job, and what to do about it; none if a worker does, or the `run` that it is for.
pub fn nobody_text(job: &JobRow, workers: &[WorkerStatus], place: &Place) -> Option<String> {
    let run = workers.iter().find(|worker| Some(worker.row.id) == job.run_worker_id);
    match run.map(|run| (run.liveness, run.row.pid)) {
        Some((Liveness::Alive, _)) => None,
        Some((Liveness::Suspended, pid)) => {
            let command = continue_command(pid);
            Some(format!("the run that it is for is suspended; {command} lets it go on"))
        }
        Some((Liveness::Dead | Liveness::OfOriginal, pid)) => Some(format!(
            "the run that it is for (pid {pid}) died; {} goes on with it, and so does the next run of it",
            place.runner("work", "")
        )),
        None => no_worker_text(Some(&job.definition.queue), workers, place),
    }
}

/// Says that no worker runs, what does not happen therefore, and what starts one.
pub fn nothing_until_worker(what: &str, place: &Place) -> String {
    format!("{}, so nothing {what}; {}", reason(None, NoWorker::NoneRuns), start_text(place))
}

/// What starts a worker where none runs: for now, and for good.
fn start_text(place: &Place) -> String {
    format!("{} starts one, {} one for good", place.runner("work", ""), command(NoWorker::NoneRuns, place))
}

pub(super) fn reason(queue: Option<&str>, why: NoWorker) -> String {
    match (why, queue) {
        (NoWorker::NoneRuns, None) => "no worker is running".to_owned(),
        (NoWorker::NoneRuns, Some(queue)) => format!("no worker is running for queue {queue}"),
        (NoWorker::Suspended(_), None) => "the only worker is suspended".to_owned(),
        (NoWorker::Suspended(_), Some(queue)) => {
            format!("the worker of queue {queue} is suspended and starts nothing")
        }
        (NoWorker::Stopping, None) => "the only worker is stopping".to_owned(),
        (NoWorker::Stopping, Some(queue)) => {
            format!("the worker of queue {queue} is stopping and starts nothing")
        }
    }
}

pub(super) fn command(why: NoWorker, place: &Place) -> String {
    match why {
        NoWorker::Suspended(pid) => continue_command(pid),
        NoWorker::NoneRuns => place.runner("service", "install"),
        NoWorker::Stopping => place.runner("work", ""),
    }
}

pub(super) fn continue_command(pid: i32) -> String {
    format!("kill -CONT {pid}")
}
