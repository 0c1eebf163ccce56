//! `runner resolve`

use anyhow::Result;

use crate::cli::args::{Global, Resolve};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, job_json, warn};
use crate::clock;
use crate::store::Refusal;

/// Marks dead letters as dealt with.
pub fn run(global: &Global, args: &Resolve, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, mut exit) = locate::job_ids(&store, &args.jobs, Named::Dead, clock::now())?;
    for answer in store.resolve(&ids, args.note.as_deref(), &clock::now)? {
        let id = answer.id;
        match answer.job {
            Ok(_) => {
                if let Some(job) = locate::find_job(&store, id, clock::now())? {
                    out.done(&job_json(&job), format!("job {id}: resolved"))?;
                }
            }
            Err(Refusal::Unknown) => {
                warn(&format!("there is no job {id}"));
                exit = ExitStatus::NOT_FOUND;
            }
            Err(refusal) => {
                let Refusal::State(state) = refusal else { continue };
                warn(&format!("job {id} is {state}; only dead jobs are resolved"));
                exit = exit.max(ExitStatus::NO);
            }
        }
    }
    Ok(exit)
}
