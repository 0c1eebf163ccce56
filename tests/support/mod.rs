//! The tools of every suite: a folder, a job file, the real program in a cleared environment.

pub mod background;
mod call;
mod sandbox;
mod screen;
mod terminal;
pub mod versions;

pub use background::{Background, eventually, is_alive, signal, wait_until};
pub use call::{Call, Finished};
pub use sandbox::{MANY_KINDS, NOBODY, Sandbox, Sql, chain, is_root, many_kinds};
pub use screen::{assert_fields, assert_screen, browse, page_text, redacted};
pub use terminal::{Session, Terminal};

pub use rustix::process::Signal;
pub use serde_json::{Value, json};
