//! `jobs.toml`: from text to resolved definitions, or to every mistake in it.
//!
//! ```text
//! locate ─► read ─► document ─► Declared …      what the file says, if it says nothing wrong
//!             │       ▲    │
//!             └► recover ──┴► mistake ─► draw   otherwise every mistake, each with its line and a caret
//! ```
//!
//! `recover` takes a file whose syntax is broken apart: `statements` says where each part ends, `syntax` what is wrong
//! with it, `meant` what it was to name, and `doubt` keeps others from being blamed for what is missing.
//!
//! `document` walks the parsed file: `level` reads the keys that `[defaults]` and a job share (with `retries`,
//! `backoff` and `strategy`), `job` the others (with `exits`); `lists` looks at the whole when it is resolved. `keys` and `foreign`
//! know what to say of a key that there is not, `value` of a value that cannot be.

mod backoff;
mod document;
mod doubt;
mod draw;
mod exits;
mod foreign;
mod job;
mod keys;
mod level;
mod lines;
mod lists;
mod locate;
mod meant;
mod mistake;
mod near;
mod read;
mod recover;
mod retries;
mod statements;
mod strategy;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

use std::path::{self, Path, PathBuf};

use toml::de::DeTable;

use self::document::Document;
use self::mistake::Found;
use crate::model::{JobSpec, PolicyLayer};

pub use self::foreign::{counts_retries, our_key};
pub use self::locate::{FILE_NAME, locate};
pub use self::mistake::Mistakes;
pub use self::near::near as near_names;
pub use self::read::JobFileError;

/// The small job file that `runner init` writes.
pub const STARTER: &str = include_str!("starter.toml");

/// The JSON Schema of job files, for editors. It sees shapes, not what the keys of a job mean together.
pub const SCHEMA: &str = include_str!("../../jobs.schema.json");

/// A job file without a mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Where it was read, absolute.
    pub path: PathBuf,
    /// Its jobs, in the order of the file.
    pub jobs: Vec<Declared>,
}

/// One job of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its definition, with `[defaults]` and what is built in.
    pub spec: JobSpec,
    /// What it is for, in the words of its author.
    pub description: Option<String>,
    /// What the job says about retries, then what `[defaults]` says: for [`crate::model::RetryPolicy::resolve`], with
    /// the options of `enqueue` put in front.
    pub layers: [PolicyLayer; 2],
}

impl JobFile {
    /// Reads the job file at `path`.
    pub fn read(path: &Path) -> Result<Self, JobFileError> {
        let path = path::absolute(path)
            .map_err(|error| JobFileError::Unreadable { path: path.to_owned(), error })?;
        let text = read::text_of(&path)?;
        Ok(Self::parse(&path, &text)?)
    }

    /// Resolves `text` as if it had been read at `path`, which is absolute: paths in it are relative to its directory.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Mistakes> {
        let mut found = Found::default();
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut jobs = Vec::new();
        if errors.is_empty() {
            let document = Document::read(table.get_ref(), &mut found);
            jobs = document.declare(path.parent().unwrap_or(path));
        } else {
            recover::check(text, &mut found);
        }
        syntax::check_start(text, &mut found);
        if found.is_empty() {
            let path = path.to_owned();
            Ok(Self { path, jobs })
        } else {
            Err(Mistakes::new(path, text, found))
        }
    }

    /// The job of this name.
    pub fn job(&self, name: &str) -> Option<&Declared> {
        self.jobs.iter().find(|job| job.spec.name == name)
    }

    /// The names near a misspelt one, the nearest first, at most three.
    pub fn near(&self, name: &str) -> Vec<&str> {
        near::near(name, self.jobs.iter().map(|job| job.spec.name.as_str()))
    }
}
