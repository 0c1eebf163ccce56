//! One change to the machine.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Stdio;

use thiserror::Error;

use super::ask;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Write {
        path: PathBuf,
        text: String,
    },
    /// A file, and its folder if nothing else is in there.
    Remove {
        path: PathBuf,
    },
    Run {
        command: Vec<String>,
    },
    /// The command takes this text as the new crontab, which differs from the old one in a line.
    Crontab {
        command: Vec<String>,
        text: Vec<u8>,
        removed: Option<String>,
        added: Option<String>,
    },
}

/// Why a step failed.
#[derive(Debug, Error)]
pub enum ServiceError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("could not run {command}: {error}")]
    NoProgram { command: String, error: io::Error },
    #[error("{command} failed{}{said}", if said.is_empty() { "" } else { ": " })]
    Command { command: String, said: String },
}

impl Step {
    /// Takes the step.
    ///
    /// # Errors
    ///
    /// If a file cannot be written or removed, or a command cannot be run or fails.
    pub fn take(&self) -> Result<(), ServiceError> {
        let file = |path: &PathBuf, done: io::Result<()>| {
            done.map_err(|error| ServiceError::File { path: path.clone(), error })
        };
        match self {
            Self::Write { path, text } => {
                let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
                file(path, folder.and_then(|()| fs::write(path, text)))
            }
            Self::Remove { path } => {
                file(path, fs::remove_file(path))?;
                // It fails where something else is in the folder, which stays then.
                let _ = path.parent().map(fs::remove_dir);
                Ok(())
            }
            Self::Run { command } => run(command, b""),
            Self::Crontab { command, text, .. } => run(command, text),
        }
    }
}

fn run(words: &[String], input: &[u8]) -> Result<(), ServiceError> {
    let command = words.join(" ");
    let failed = |error| ServiceError::NoProgram { command: command.clone(), error };
    let mut child = ask::command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // A command that does not read tells by its status whether that is bad.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    Err(ServiceError::Command { command, said: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}
