//! What a worker tells while it works: one type of event, several small reporters.

mod canvas;
mod event;
mod journal;
mod json;
mod progress;
mod service;
mod spool;
mod text;

pub use canvas::Canvas;
pub use event::{Event, EventKind};
pub use journal::leads_to_journal;
pub use json::JsonLog;
pub use progress::ProgressLog;
pub use service::ServiceLog;
pub use spool::Spool;
pub use text::TextLog;

use std::io::{self, Write};

/// Takes what a worker tells, in order.
pub trait Reporter {
    /// Something has happened; it is on disk already.
    fn tell(&mut self, event: &Event);

    /// Does it show how much is left?
    fn wants_remaining(&self) -> bool {
        false
    }

    /// So many jobs wait or run.
    fn remaining(&mut self, _unfinished: u64) {}

    /// The worker lives, about once a second; it can count the jobs that wait or run.
    fn beat(&mut self, _count_unfinished: &dyn Fn() -> Option<u64>) {}
}

/// Says on standard error what has no place in a log.
fn say_apart(words: &str) {
    let _ = io::stderr().write_all(format!("runner: {words}\n").as_bytes());
}
