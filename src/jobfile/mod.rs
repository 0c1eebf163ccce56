//! `jobs.toml`: from text to resolved definitions, or to every mistake in it.
//!
//! ```text
//! locate ─► file ─┬─► syntax      a file that is not TOML gets its syntax errors only
//!                 └─► job ─► checks ─► Declared …      a file that is TOML gets all other mistakes at once
//! ```
//!
//! `file` walks the parsed table. `shared_keys` reads the keys that `[defaults]` and a job have in common, with `retry`
//! and `backoff`; `job` reads the keys of a job alone; `queues` the limits of queues; `codes` reads the keys that name
//! error codes. `checks` compares the levels, `chains` the jobs that name each other. All of them take typed values from
//! `read`, ask `keys` about unknown keys, and record mistakes in
//! `diagnostics`.
//!
//! A new key that `[defaults]` and jobs share needs a line in `keys`, an arm in `shared_keys`, a field of
//! [`crate::model::JobSpec`], and its place in `jobs.schema.json` and `jobs.example.toml`.

mod backoff;
mod chains;
mod checks;
mod codes;
mod diagnostics;
mod file;
mod job;
mod keys;
mod locate;
mod queues;
mod read;
mod retry;
mod schedule;
mod shared_keys;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;

pub use self::diagnostics::{InvalidFile, JobFileError};
pub use self::file::JobFile;
pub use self::job::Declared;
pub use self::locate::{FILE_NAME, locate};
pub use self::suggest::near_names;

/// The small job file that `runner init` writes.
pub const STARTER: &str = include_str!("starter.toml");

/// The JSON Schema of job files, for editors. It sees shapes, not what the keys of a job mean together.
pub const SCHEMA: &str = include_str!("../../jobs.schema.json");
