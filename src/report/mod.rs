//! How a worker reports its events: to people, as JSON, as progress on a terminal, and to a service manager.

mod event;
mod human;
mod json;
mod progress;
mod service;
mod writer;

pub use event::{Event, EventKind, Reporter};
pub use human::HumanLog;
pub use json::JsonLog;
pub use progress::ProgressLog;
pub use service::{ServiceLog, is_journal};
pub use writer::LogWriter;
