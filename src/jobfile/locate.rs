//! Finds the job file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::diagnostics::JobFileError;

/// The name of the job file that the search looks for.
pub const FILE_NAME: &str = "jobs.toml";

/// The job file to read: `explicit`, else `$RUNNER_FILE`, else the nearest `jobs.toml` from `current_dir` upwards, else
/// `$XDG_CONFIG_HOME/runner/jobs.toml`.
///
/// A named file need not exist: reading a missing file is the error then. The error here lists the searched places.
pub fn locate(
    explicit: Option<&Path>,
    env: &dyn Fn(&str) -> Option<OsString>,
    current_dir: &Path,
) -> Result<PathBuf, JobFileError> {
    let env = |name| env(name).filter(|value| !value.is_empty());
    if let Some(named) = explicit.map(PathBuf::from).or_else(|| env("RUNNER_FILE").map(PathBuf::from)) {
        return Ok(current_dir.join(named));
    }
    let upwards = current_dir.ancestors().map(|dir| dir.join(FILE_NAME));
    // The XDG base directory specification wants relative paths to be ignored.
    let absolute = |name| env(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let user_file = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .map(|config| config.join("runner").join(FILE_NAME));
    upwards
        .chain(user_file.clone())
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| JobFileError::Nowhere { start_dir: current_dir.to_owned(), user_file })
}
