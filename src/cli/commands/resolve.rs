//! `runner resolve`

use anyhow::Result;

use crate::cli::args::{Global, Resolve};
use crate::cli::error::ExitStatus;
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, job_json, warn};
use crate::cli::values::JobRef;
use crate::clock;
use crate::store::Refusal;

/// Marks dead letters as dealt with.
pub fn run(global: &Global, args: &Resolve, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (ids, mut exit) = if args.which.dead {
        let jobs = locate::dead_letters(&store, &args.which, clock::now())?;
        if jobs.is_empty() && !out.quiet {
            warn("no dead letter is selected");
        }
        (jobs.iter().map(|job| job.id).collect(), ExitStatus::SUCCESS)
    } else {
        locate::job_ids(global, &store, &args.which.jobs, Named::Dead, clock::now())?
    };
    for answer in store.resolve(&ids, args.note.as_deref(), &clock::now)? {
        let id = answer.id;
        match answer.job {
            Ok(_) => {
                if let Some(job) = locate::find_job(&store, id, clock::now())? {
                    out.done(&job_json(&job), format!("job {id}: resolved"))?;
                }
            }
            // Another call was faster.
            Err(_) if args.which.dead => {}
            Err(Refusal::Unknown) => {
                warn(&format!("there is no job {id}"));
                exit = ExitStatus::NOT_FOUND;
            }
            Err(Refusal::State(state)) => {
                warn(&format!("job {id} is {state}; only dead jobs are resolved"));
                exit = exit.max(ExitStatus::NO);
            }
            Err(_) => {}
        }
    }
    if let ([JobRef::Id(_), words @ ..], [_]) = (args.which.jobs.as_slice(), ids.as_slice())
        && !words.is_empty()
    {
        let words: Vec<_> = words.iter().map(JobRef::to_string).collect();
        warn(&format!("if this is a note, write --note '{}'", words.join(" ")));
    }
    Ok(exit)
}
