//! `runner wait`

use anyhow::Result;

use crate::cli::args::{Global, Wait};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, job_json, warn};
use crate::cli::waiter::{Waiter, final_text};
use crate::clock;
use crate::model::JobState;

/// Waits for jobs and prints each when it has ended.
pub fn run(global: &Global, args: &Wait, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, mut exit) = locate::job_ids(global, &store, &args.which.jobs, Named::Any, clock::now())?;
    for id in &ids {
        if store.job(*id, clock::now())?.is_none() {
            warn(&format!("there is no job {id}"));
            exit = ExitStatus::NOT_FOUND;
        }
    }
    if exit != ExitStatus::SUCCESS {
        return Ok(exit);
    }
    Waiter::new(args.wait_timeout, out.quiet)?.wait_for(&mut store, &ids, &mut |_, job, _| {
        if out.quiet && job.state == JobState::Succeeded {
            return Ok(());
        }
        if out.json {
            out.object(&job_json(job))?;
        } else {
            out.line(final_text(job))?;
        }
        out.flush()
    })
}
