//! What the exit statuses of known tools mean, and what a policy makes of them. The facts are `exit_statuses.toml`, which
//! `tests/statuses/run` measures with the tools themselves.

mod line;
mod table;
mod treatment;
mod whose;
mod wrappers;

pub use table::StatusKind;
pub use treatment::{Foreseen, KnownStatus, Then, known_statuses, notes};
pub use whose::{meaning, meaning_of_attempt};
