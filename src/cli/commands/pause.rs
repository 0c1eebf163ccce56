//! `runner pause` and `runner resume`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, QueueName};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::Output;
use crate::wake;

/// Pauses a queue, or resumes it.
pub fn run(global: &Global, asked: &QueueName, paused: bool) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let changed = store.set_paused(&asked.queue, paused)?;
    wake::wake_workers(&store.file().run_dir());
    let mut out = Output::new(global);
    if out.json && !out.quiet {
        out.object(&json!({"queue": asked.queue, "paused": paused}))?;
    } else if !out.quiet {
        let word = if paused { "paused" } else { "open" };
        let already = if changed { "" } else { " already" };
        out.line(format!("queue {} is {word}{already}", asked.queue))?;
    }
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}
