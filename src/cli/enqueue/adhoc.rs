//! Jobs that no file declares: a command after `--`, or a line after `-c`.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, bail};

use super::super::error::CliError;
use super::super::locate;
use super::overrides::Overrides;
use crate::model::{Bytes, Command, JobSpec, RetryPolicy, Strategy, check_name};
use crate::store::NewJob;
use crate::text::Timestamp;

/// The name where none can be made from the command.
const NAMELESS: &str = "adhoc";

/// An ad hoc job: it runs once unless the options say otherwise, in the caller's directory.
pub(super) fn job(
    line: Option<&OsStr>,
    args: Vec<Bytes>,
    name: Option<&str>,
    options: &Overrides,
    now: Timestamp,
) -> Result<NewJob> {
    let (command, args) = match line {
        Some(line) => (Command::Shell(Bytes::from(line)), args),
        None => (Command::Argv(args), Vec::new()),
    };
    new_job(command, args, name, &cwd()?, options, now)
}

/// Where an ad hoc job runs: the caller's directory.
pub(super) fn cwd() -> Result<Bytes> {
    Ok(Bytes::from(locate::current_dir()?.as_os_str()))
}

/// The same, from a command that is already told apart, in the directory `cwd`.
pub(super) fn new_job(
    command: Command,
    args: Vec<Bytes>,
    name: Option<&str>,
    cwd: &Bytes,
    options: &Overrides,
    now: Timestamp,
) -> Result<NewJob> {
    let is_empty = match &command {
        Command::Shell(line) => line.0.iter().all(u8::is_ascii_whitespace),
        Command::Argv(words) => words.first().is_none_or(|program| program.0.is_empty()),
    };
    if is_empty {
        bail!(CliError::usage("the command is empty"));
    }
    let policies = options.policies();
    let backoff = policies.iter().find_map(|level| level.backoff.as_ref());
    let is_list = backoff.is_some_and(|backoff| matches!(backoff.strategy, Strategy::List { .. }));
    let has_runs = policies.iter().any(|level| level.max_attempts.is_some());
    if backoff.is_some() && !is_list && !has_runs {
        bail!(
            CliError::usage("--backoff has no effect on an ad hoc job, which runs once")
                .hint("add --max-attempts N")
        );
    }
    let once = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let name = name.map_or_else(|| name_of(&command), str::to_owned);
    let mut spec = JobSpec::new(&name, command, cwd.clone());
    spec.policy = RetryPolicy::resolve(&policies, &[], &once);
    options.finish(spec, args, now)
}

/// The name of the program that the command starts, as far as it can serve as a name.
fn name_of(command: &Command) -> String {
    let first = match command {
        Command::Shell(line) => line.to_text().split_whitespace().next().unwrap_or_default().to_owned(),
        Command::Argv(argv) => argv.first().map(Bytes::to_text).unwrap_or_default(),
    };
    let program = Path::new(&first).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if check_name(&program).is_ok() { program.into_owned() } else { NAMELESS.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_from_the_program() {
        for (line, name) in
            [("/usr/bin/tar czf x", "tar"), ("$(date)", "adhoc"), ("A=1 make", "adhoc"), ("-x", "adhoc")]
        {
            assert_eq!(name_of(&Command::Shell(Bytes::from(line))), name);
        }
    }
}
