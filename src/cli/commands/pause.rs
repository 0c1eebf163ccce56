//! `runner pause` and `runner resume`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, Paused};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::Output;
use crate::clock;
use crate::wake;

/// Pauses a queue or a schedule, or resumes it.
pub fn run(global: &Global, args: &Paused, paused: bool, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let (kind, name, changed) = match (&args.queue, &args.schedule) {
        (Some(queue), _) => ("queue", queue, store.set_paused(queue, paused)?),
        (None, Some(schedule)) => {
            let changed = store.pause_schedule(schedule, paused, &clock::now)?.ok_or_else(|| {
                CliError::new(ExitStatus::NOT_FOUND, format!("there is no schedule {schedule}"))
                    .hint("runner inspect schedules lists them; runner apply takes them from the job file")
            })?;
            ("schedule", schedule, changed)
        }
        (None, None) => unreachable!("clap asks for one of both"),
    };
    wake::wake_workers(&store.file().run_dir());
    let word = if paused { "paused" } else { "open" };
    let already = if changed { "" } else { " already" };
    out.done(&json!({ kind: name, "paused": paused }), format!("{kind} {name} is {word}{already}"))?;
    Ok(ExitStatus::SUCCESS)
}
