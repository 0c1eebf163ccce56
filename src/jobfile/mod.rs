//! Reads `jobs.toml`: its text becomes resolved definitions, or a list of all its mistakes.
//!
//! `locate` finds the file, and `file` walks the parsed table; a file that is not TOML gets its syntax errors only.
//! `job` reads `[jobs.NAME]`, and the keys that jobs share with `[defaults]`, with `retry` for the retry policy and
//! `codes` for the keys that name error codes. Then `checks` looks for values that contradict each other. All of them
//! take typed values from `read`, ask `keys` about unknown keys (`hints` knows those
//! of other programs), and record mistakes in `diagnostics`.
//!
//! A new key of a job needs a line in `keys`, an arm in `job`, a field of [`crate::model::JobDefinition`], and its
//! place in `jobs.schema.json` and `jobs.example.toml`.

mod checks;
mod codes;
mod diagnostics;
mod file;
mod hints;
mod job;
mod keys;
mod locate;
mod read;
mod retry;
#[cfg(test)]
mod tests;

pub use self::diagnostics::{InvalidFile, JobFileError, PlacedMistake};
pub use self::file::JobFile;
pub use self::job::Declared;
pub use self::locate::{FILE_NAME, locate};

/// The small job file that `runner init` writes.
pub const STARTER: &str = include_str!("starter.toml");

/// The JSON Schema of job files, for editors. It checks the form of each value, not contradictions between keys.
pub const SCHEMA: &str = include_str!("../../jobs.schema.json");
