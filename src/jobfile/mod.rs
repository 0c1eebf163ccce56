//! Reads `jobs.toml`: its text becomes resolved definitions, or a list of all its mistakes.
//!
//! `locate` finds the file, and `file` walks the parsed table; a file that is not TOML gets its syntax errors only. `job_table`
//! reads `[jobs.NAME]`. The values of a job and of `[defaults]` are a [`crate::model::JobLayer`], which `layer` reads in the
//! forms that the table of keys names, with `retry` for the retry policy; `codes` reads the keys that name error codes. Then
//! `checks` looks for values that contradict each other. All of them take typed values from `read`, ask `unknown` about
//! unknown keys (`keys` knows ours, `hints` those of other programs, `foreign_times` their schedules), and record mistakes in `diagnostics`.
//!
//! `check` notes what is no mistake, but not what its author may think: `newer_toml` finds what other readers refuse, and `traps`
//! what only a shell would expand, and pipes, with `pipes`.
//!
//! A new key of a job needs
//!
//! * a row of the table in `model/keys.rs`. From there it may stand in the file, and has its place in every layer. `since_minor N`
//!   (of a row with its own field) keeps older workers from jobs that use it; the first key of version 1.N brings a step in
//!   `store/file/schema.rs`, which may be empty, and the number in `schema.sql`. `shown` names what `check` and `inspect ID` say of it;
//! * a field of [`crate::model::JobDefinition`] with its default;
//! * its effect, which for a command is in `process/spawn.rs`;
//! * its description and examples in `jobs.schema.json`, which tests try; `UPDATE_SCHEMA=1 cargo test --lib jobfile` writes where
//!   in the schema it may stand;
//! * as a flag and a key of a line of a batch, a row in `cli/options.rs`; if the help only names it, its name at the end of
//!   `VERB_OF_A_JOB` in `cli/help.rs`;
//! * if no other key has such a value, a function for `parsed` in its row, or one of [`crate::model::ReadForm`], which `layer` and
//!   `cli/option_value.rs` implement;
//! * if other programs have it under another name, that in `text/foreign_words.toml`;
//! * a row in `docs/job-file.md`, a test of its effect, and a line in `CHANGELOG.md`.
//!
//! A key of a schedule needs the row, the schema and the docs as well. Its field is one of [`crate::model::ScheduleText`]:
//! `declare` in `job_table` fills it, `check_schedule` there knows without what it has no effect, `store/write/schedules.rs` keeps
//! it in a column of `schema.sql`, `view/text/` and `view/json.rs` show it.

mod checks;
mod codes;
mod diagnostics;
mod file;
mod foreign_times;
mod hints;
mod job_table;
mod keys;
mod layer;
mod locate;
mod newer_toml;
mod pipes;
mod read;
mod retry;
#[cfg(test)]
mod tests;
mod traps;
mod unknown;

pub use self::diagnostics::{InvalidFile, JobFileError, PlacedMistake};
pub use self::file::JobFile;
pub use self::job_table::Declared;
pub use self::locate::{FILE_NAME, check_found, locate};
pub use self::newer_toml::NewerToml;

/// The small job file that `runner init` writes.
pub const STARTER: &str = include_str!("starter.toml");

/// The JSON Schema of job files, for editors. It checks the form of each value, and few contradictions between
/// keys.
pub const SCHEMA: &str = include_str!("../../jobs.schema.json");
