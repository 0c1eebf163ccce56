//! What is to be started, and how.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use crate::model::{self, Bytes, JobSpec};
use crate::text::Timestamp;

use super::{Identity, Mark};

/// What is to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The command, its directory and variables, and the limits it runs under.
    pub spec: &'a JobSpec,
    /// Appended to the command: as further elements, or as `$1`, `$2` … of a shell line.
    pub args: &'a [Bytes],
    /// What the command reads on its standard input, from the file's present offset on; none: nothing.
    pub stdin: Option<&'a File>,
    /// `RUNNER_*`: laid over `spec.env`, which is laid over the worker's own environment.
    pub vars: Vec<(OsString, OsString)>,
    /// What strays are recognised by. Its variables are set whatever `vars` says.
    pub mark: Mark,
    /// `$RUNNER_REPORT`, which is set likewise: read at the end, and removed.
    pub report: &'a Path,
    /// From then on it is not started, by the wall clock.
    pub not_from: Option<Timestamp>,
    /// Earlier attempts of this job: what they left in the background is ended before the start.
    pub predecessors: &'a [Mark],
    /// Processes that are known to be the last of these attempts', though they may carry no mark.
    pub remnants: &'a [Identity],
}

impl Launch<'_> {
    /// The program as it is written: what an error message names.
    pub(super) fn program(&self) -> &OsStr {
        match &self.spec.command {
            model::Command::Shell(_) => OsStr::new("/bin/sh"),
            model::Command::Argv(argv) => argv.first().map_or(OsStr::new(""), Bytes::as_os_str),
        }
    }

    /// Would a shell take its line for options? It does so with what begins like one also behind `-c`.
    pub(super) fn looks_like_an_option(&self) -> bool {
        matches!(&self.spec.command, model::Command::Shell(line) if matches!(line.0.first(), Some(b'-' | b'+')))
    }

    /// The `PATH` in which a program without a slash is looked for.
    pub(super) fn path(&self) -> Option<OsString> {
        let own = self.spec.env.get(&Bytes::from("PATH"));
        own.map(|path| path.as_os_str().to_owned()).or_else(|| std::env::var_os("PATH"))
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
