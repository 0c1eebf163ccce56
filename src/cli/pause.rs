//! `runner pause` and `runner resume`

use serde_json::json;

use super::args::{Global, QueueName};
use super::failure::Failure;
use super::place;
use super::screen::Screen;
use crate::wake;

/// Pauses a queue, or resumes it.
pub fn run(global: &Global, asked: &QueueName, paused: bool) -> Result<u8, Failure> {
    let mut store = place::open(global)?;
    let changed = store.set_paused(&asked.queue, paused)?;
    wake::wake_workers(&store.file().run_dir());
    let mut screen = Screen::new(global);
    if screen.json {
        screen.object(&json!({"queue": asked.queue, "paused": paused}))?;
    } else if !screen.quiet {
        let word = if paused { "paused" } else { "open" };
        let already = if changed { "" } else { " already" };
        screen.line(format!("queue {} is {word}{already}", asked.queue))?;
    }
    screen.flush()?;
    Ok(0)
}
