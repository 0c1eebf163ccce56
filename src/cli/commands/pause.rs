//! `runner pause` and `runner resume`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, QueueName};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::Output;
use crate::wake;

/// Pauses a queue, or resumes it.
pub fn run(global: &Global, args: &QueueName, paused: bool, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let changed = store.set_paused(&args.queue, paused)?;
    wake::wake_workers(&store.file().run_dir());
    let word = if paused { "paused" } else { "open" };
    let already = if changed { "" } else { " already" };
    let words = format!("queue {} is {word}{already}", args.queue);
    out.done(&json!({ "queue": args.queue, "paused": paused }), words)?;
    Ok(ExitStatus::SUCCESS)
}
