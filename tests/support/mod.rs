//! The bench that every suite works on: a folder, a job file, the real program in a cleared environment.

mod bed;
mod call;
mod poll;
#[cfg(target_os = "linux")]
pub mod preload;
mod processes;
mod redact;
mod session;
mod sql;
mod terminal;
mod worker;

pub use bed::Bed;
pub use call::{Call, Ran};
pub use poll::{eventually, soon, wait_until};
pub use processes::{is_alive, signal};
pub use redact::{assert_screen, redacted};
pub use session::Session;
pub use sql::Sql;
pub use worker::Worker;

pub use rustix::process::Signal;
pub use serde_json::{Value, json};
