//! `runner cancel`

use super::args::{Global, Ids};
use super::failure::{Failure, status};
use super::json_rows::JobJson;
use super::place;
use super::say::say;
use super::screen::Screen;
use crate::clock;
use crate::store::CancelOutcome;
use crate::wake;

/// Cancels waiting jobs and asks running ones to end.
pub fn run(global: &Global, asked: &Ids) -> Result<u8, Failure> {
    let mut store = place::open(global)?;
    let done = store.cancel(&asked.ids, &clock::now)?;
    wake::wake_workers(&store.file().run_dir());
    let mut screen = Screen::new(global);
    let mut exit = 0;
    for each in done {
        let id = each.id;
        let words = match each.outcome {
            CancelOutcome::Unknown => {
                say(&format!("there is no job {id}"));
                exit = status::NOT_FOUND;
                continue;
            }
            CancelOutcome::Cancelled => format!("job {id}: cancelled"),
            CancelOutcome::Requested => {
                format!("job {id}: running, asked to end; runner inspect {id} shows when it has")
            }
            CancelOutcome::Finished(state) => format!("job {id}: {state} before, left as it is"),
        };
        if screen.json {
            if let Some(job) = place::job(&store, id, clock::now())? {
                screen.object(&JobJson::new(&job))?;
            }
        } else if !screen.quiet {
            screen.line(words)?;
        }
    }
    screen.flush()?;
    Ok(exit)
}
