//! What every suite works with: a folder, a job file, the real program in a cleared environment.

mod assert;
mod background;
mod browser;
mod call;
pub mod fixture;
pub mod poll;
mod processes;
mod redact;
mod sandbox;
mod session;
mod sql;
mod terminal;

pub use assert::assert_fields;
pub use background::Background;
pub use browser::browse;
pub use call::{Call, Finished};
pub use poll::{eventually, wait_until};
pub use processes::{is_alive, signal};
pub use redact::{assert_screen, redacted};
pub use sandbox::Sandbox;
pub use session::Session;
pub use sql::Sql;

pub use rustix::process::Signal;
pub use serde_json::{Value, json};
