//! Reports the events of a worker: as lines for people or as JSON, on a terminal, and to systemd.
//!
//! The events are those of [`crate::model::Event`]; `cli/commands/work.rs` chooses the reporter.

mod log;
mod reporter;
mod screen;
mod systemd;
mod terminal;
mod writer;

pub use log::{HumanLog, JsonLog, words};
pub use reporter::Reporter;
pub use systemd::{SystemdNotifier, is_journal};
pub use terminal::TerminalLog;
pub use writer::LogWriter;
