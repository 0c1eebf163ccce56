//! What the kernel could never execute is refused before it is on disk.

use super::super::failure::Failure;
use crate::model::{Bytes, Command, JobSpec};

/// The longest single argument or variable, its closing NUL included: `MAX_ARG_STRLEN`, 32 pages, `execve(2)`.
const LONGEST: usize = 128 * 1024;

/// Looks at every string that the command would be started with.
pub(super) fn check(spec: &JobSpec, args: &[Bytes]) -> Result<(), Failure> {
    let command = match &spec.command {
        Command::Shell(line) => std::slice::from_ref(line),
        Command::Argv(words) => words.as_slice(),
    };
    for text in command {
        check_one("argument", text, text.0.len() + 1)?;
    }
    check_args(args)?;
    for (key, value) in &spec.env {
        check_one("variable", key, key.0.len() + value.0.len() + 2)?;
    }
    Ok(())
}

/// Looks at what is appended to the command.
pub(super) fn check_args(args: &[Bytes]) -> Result<(), Failure> {
    args.iter().try_for_each(|text| check_one("argument", text, text.0.len() + 1))
}

fn check_one(what: &str, text: &Bytes, length: usize) -> Result<(), Failure> {
    let has_nul = text.0.contains(&0);
    if length <= LONGEST && !has_nul {
        return Ok(());
    }
    let start: String = text.to_text().chars().take(30).collect();
    if has_nul {
        return Err(Failure::usage(format!(
            "the {what} {start:?} … holds a NUL byte, and no command can be given one"
        )));
    }
    Err(Failure::usage(format!(
        "the {what} {start:?} … has {length} bytes, and the kernel takes at most {LONGEST}"
    ))
    .hint("put the data into a file and pass its name"))
}
