//! `runner cancel`

use anyhow::Result;

use crate::cli::args::{Global, Jobs};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, job_json, warn};
use crate::cli::worker_status::{WorkerStatus, holder, worker_statuses};
use crate::clock;
use crate::store::{CancelOutcome, Store};
use crate::wake;
use crate::worker::Liveness;

/// Cancels waiting jobs and asks running ones to end.
pub fn run(global: &Global, args: &Jobs, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, mut exit) = locate::job_ids(&store, &args.jobs, Named::Any, clock::now())?;
    let done = store.cancel(&ids, &clock::now)?;
    wake::wake_workers(&store.file().run_dir());
    for each in done {
        let id = each.id;
        let words = match each.outcome {
            CancelOutcome::Unknown => {
                warn(&format!("there is no job {id}"));
                exit = ExitStatus::NOT_FOUND;
                continue;
            }
            CancelOutcome::Cancelled => format!("job {id}: cancelled"),
            CancelOutcome::Requested => cancel_requested(&store, id)?,
            CancelOutcome::Finished(state) => format!("job {id}: {state} before, left as it is"),
        };
        if let Some(job) = locate::find_job(&store, id, clock::now())? {
            out.done(&job_json(&job), words)?;
        }
    }
    Ok(exit)
}

/// Says how a running job will end: its worker ends it, if the worker is alive.
fn cancel_requested(store: &Store, id: i64) -> Result<String> {
    let workers = worker_statuses(store)?;
    let next =
        if workers.iter().any(WorkerStatus::is_alive) { "a running worker" } else { "the next runner work" };
    let job = store.job(id, clock::now())?;
    let holder = job.as_ref().and_then(|job| holder(job, &workers));
    Ok(match holder.map(|worker| worker.liveness) {
        Some(Liveness::Dead) => {
            format!("job {id}: asked to end, but its worker is dead: {next} ends what is left of it")
        }
        Some(Liveness::OfOriginal) => format!(
            "job {id}: it was running when this database was copied: {next} records it here as cancelled"
        ),
        Some(Liveness::Suspended) => {
            format!(
                "job {id}: running, asked to end, but its worker is suspended: the job goes on until that does"
            )
        }
        Some(Liveness::Alive) | None => {
            format!("job {id}: running, asked to end; runner inspect {id} shows when it has")
        }
    })
}
