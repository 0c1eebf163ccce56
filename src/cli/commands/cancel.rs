//! `runner cancel`

use anyhow::Result;

use crate::cli::args::{Global, Jobs};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, job_json, warn};
use crate::cli::status_text::worker_trouble;
use crate::cli::worker_status::worker_statuses;
use crate::clock;
use crate::store::CancelOutcome;
use crate::wake;

/// Cancels waiting jobs and asks running ones to end.
pub fn run(global: &Global, args: &Jobs, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, mut exit) = locate::job_ids(global, &store, &args.jobs, Named::Any, clock::now())?;
    let done = store.cancel(&ids, &clock::now)?;
    wake::wake_workers(&store.file().run_dir());
    let workers = worker_statuses(&store)?;
    for each in done {
        let id = each.id;
        let words = match each.outcome {
            CancelOutcome::Unknown => {
                warn(&format!("there is no job {id}"));
                exit = ExitStatus::NOT_FOUND;
                continue;
            }
            CancelOutcome::Cancelled => format!("job {id}: cancelled"),
            CancelOutcome::Requested => format!("job {id}: running, asked to end"),
            CancelOutcome::Finished(state) => format!("job {id}: {state} before, left as it is"),
        };
        let Some(job) = locate::find_job(&store, id, clock::now())? else { continue };
        let next = match (each.outcome, worker_trouble(&job, &workers)) {
            (CancelOutcome::Requested, None) => format!("; runner inspect {id} shows when it has"),
            (CancelOutcome::Requested, Some(trouble)) => format!(", but {trouble}"),
            _ => String::new(),
        };
        out.done(&job_json(&job), words + &next)?;
    }
    Ok(exit)
}
