//! Reports the events of a worker: as lines for people or as JSON, on a terminal, and to systemd.
//!
//! The events are those of [`crate::model::Event`]; `cli/commands/work.rs` chooses the reporter.

mod log;
mod screen;
mod systemd;
mod terminal;
mod writer;

use crate::model::Event;
use crate::text::Timestamp;

pub use log::{HumanLog, JsonLog, words};
pub use systemd::{SystemdNotifier, is_journal};
pub use terminal::TerminalLog;
pub use writer::LogWriter;

/// Receives the events of a worker in their order. A change is on disk before its event is reported.
pub trait Reporter {
    fn report(&mut self, time: Timestamp, event: &Event);

    /// Whether this reporter uses heartbeats. For each, the worker counts the unfinished jobs.
    fn wants_heartbeats(&self) -> bool {
        false
    }
}
