//! What the kernel could never execute is refused before it is on disk.

use anyhow::{Result, bail};

use super::super::error::CliError;
use crate::model::{Bytes, Command, JobSpec, LONGEST_STRING};

/// What all of them may have together, in bytes, with a pointer to each: three quarters of 8 MiB, `execve(2)`. Of a machine
/// with a small stack it is less; that shows when the command is started.
const MOST: usize = 6 << 20;

const POINTER: usize = size_of::<*const u8>();

/// Looks at every string that the command would be started with.
pub(super) fn check(spec: &JobSpec, args: &[Bytes]) -> Result<()> {
    let command = match &spec.command {
        Command::Shell(line) => std::slice::from_ref(line),
        Command::Argv(words) => words.as_slice(),
    };
    let mut all = check_all(command)? + check_all(args)?;
    for (key, value) in &spec.env {
        let length = key.0.len() + value.0.len() + 2;
        check_one("variable", key, length)?;
        all += length + POINTER;
    }
    check_sum(all)
}

/// Looks at what is appended to the command.
pub(super) fn check_args(args: &[Bytes]) -> Result<()> {
    check_sum(check_all(args)?)
}

/// How much they take.
fn check_all(texts: &[Bytes]) -> Result<usize> {
    let mut all = 0;
    for text in texts {
        let length = text.0.len() + 1;
        check_one("argument", text, length)?;
        all += length + POINTER;
    }
    Ok(all)
}

fn check_sum(all: usize) -> Result<()> {
    if all <= MOST {
        return Ok(());
    }
    let what =
        format!("the arguments and variables have {all} bytes together, and the kernel takes at most {MOST}");
    bail!(CliError::usage(what).hint("put the data into a file and pass its name, or --stdin"))
}

fn check_one(what: &str, text: &Bytes, length: usize) -> Result<()> {
    let has_nul = text.0.contains(&0);
    if length <= LONGEST_STRING && !has_nul {
        return Ok(());
    }
    let start: String = text.to_text().chars().take(30).collect();
    if has_nul {
        bail!(CliError::usage(format!(
            "the {what} {start:?} … holds a NUL byte, and no command can be given one"
        )));
    }
    bail!(
        CliError::usage(format!(
            "the {what} {start:?} … has {length} bytes, and the kernel takes at most {LONGEST_STRING}"
        ))
        .hint("put the data into a file and pass its name")
    )
}
