//! `runner wait`

use anyhow::Result;

use crate::cli::args::{Global, Ids};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, job_json, warn};
use crate::cli::waiter::{Waiter, final_text};
use crate::clock;
use crate::model::JobState;

/// Waits for jobs and prints each when it has ended.
pub fn run(global: &Global, args: &Ids, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let mut exit = ExitStatus::SUCCESS;
    for id in &args.ids {
        if store.job(*id, clock::now())?.is_none() {
            warn(&format!("there is no job {id}"));
            exit = ExitStatus::NOT_FOUND;
        }
    }
    if exit != ExitStatus::SUCCESS {
        return Ok(exit);
    }
    Waiter::new(None, out.quiet)?.wait_for(&mut store, &args.ids, &mut |_, job, _| {
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
