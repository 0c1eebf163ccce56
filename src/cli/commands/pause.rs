//! `runner pause` and `runner resume`

use anyhow::Result;
use serde_json::json;

use crate::cli::args::{Global, QueueName};
use crate::cli::error::ExitStatus;
use crate::cli::hands;
use crate::cli::locate;
use crate::cli::screen::Screen;
use crate::clock;
use crate::store::Store;
use crate::wake;
use crate::worker;

/// Pauses a queue, or resumes it.
pub fn run(global: &Global, asked: &QueueName, paused: bool) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let changed = store.set_paused(&asked.queue, paused)?;
    wake::wake_workers(&store.file().run_dir());
    if paused {
        wait_for_what_lies_in_hand(&mut store, &asked.queue)?;
    }
    let mut screen = Screen::new(global);
    if screen.json && !screen.quiet {
        screen.object(&json!({"queue": asked.queue, "paused": paused}))?;
    } else if !screen.quiet {
        let word = if paused { "paused" } else { "open" };
        let already = if changed { "" } else { " already" };
        screen.line(format!("queue {} is {word}{already}", asked.queue))?;
    }
    screen.flush()?;
    Ok(ExitStatus::SUCCESS)
}

/// Nothing of a paused queue is started any more when this returns, unless a worker is suspended.
fn wait_for_what_lies_in_hand(store: &mut Store, queue: &str) -> Result<()> {
    hands::take_from_the_dead(store)?;
    hands::wait_until(store, &mut |store| {
        for id in worker::in_hand(store)? {
            if store.job(id, clock::now())?.is_some_and(|job| job.spec.queue == queue) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}
