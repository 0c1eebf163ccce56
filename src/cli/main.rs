//! Parses the command line, runs its verb, and turns the result into an exit status.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::{self, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use clap::FromArgMatches;
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use super::args::{self, Cli};
use super::commands::{self, completions};
use super::error::{CliError, ExitStatus, describe, not_printed, print_error};
use super::raw_args::RawArgs;
use super::{accounts, usage};
use crate::call_target::CallTarget;
use crate::process::{close_on_exec, read_held_output};
use crate::stdio::Waiting;
use crate::store::StoreFile;
use crate::text::{self, show_utc};
use crate::view::terminal::{self, Output};

/// Runs the command line of this process.
pub fn main() -> ExitStatus {
    if let Some(done) = read_held_output() {
        return if done.is_ok() { ExitStatus::SUCCESS } else { ExitStatus::FAILED };
    }
    if let Some(answered) = completions::answer() {
        return answered;
    }
    close_on_exec();
    turn_size_limits_into_errors();
    place_named_by(&RawArgs::of_this_call()).set_for_this_call();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(answer) => return print_answer(answer),
    };
    match panic::catch_unwind(AssertUnwindSafe(|| run(&cli))) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => say(&describe(&error)),
        // The panic has already printed its message.
        Err(_) => ExitStatus::INTERNAL,
    }
}

/// The place that these arguments name. They are looked at before they are parsed, because a command line that cannot be used
/// gets commands to type, too.
fn place_named_by(args: &RawArgs) -> CallTarget {
    let path = |option| args.value(option).map(PathBuf::from);
    let absolute = |path: PathBuf| path::absolute(&path).unwrap_or(path);
    let resolved = |path: PathBuf| match StoreFile::new(&path) {
        Ok(file) => file.path().to_owned(),
        Err(_) => absolute(path),
    };
    let (db, file) = (path("--db").map(resolved), path("--file").map(absolute));
    CallTarget::new(db.as_deref(), file.as_deref()).of_root(accounts::is_root_itself())
}

/// Makes a write beyond `ulimit -f` fail with EFBIG: SIGXFSZ would end the program. The signal gets a handler and is
/// not ignored, because jobs would inherit that.
fn turn_size_limits_into_errors() {
    // Without the handler runner goes on as other programs do.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn parse() -> clap::error::Result<Cli> {
    let mut command = args::command().color(RawArgs::of_this_call().color());
    let matches = command.try_get_matches_from_mut(env::args_os());
    // It has thousands of parts, and the process ends soon.
    mem::forget(command);
    matches.and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Prints the help, the version or a usage error, which clap returns in place of arguments.
fn print_answer(answer: clap::Error) -> ExitStatus {
    let args: Vec<_> = env::args_os().collect();
    let answer = usage::with_tip(answer, &args);
    if answer.use_stderr() && RawArgs::of_this_call().has("--json") {
        terminal::print_errors_as_json();
        return say(&usage::usage_error(&answer));
    }
    // clap repeats what was typed as it is. Where nothing in it could harm, its answer keeps its colours.
    let is_safe = args.iter().all(|arg| arg.to_string_lossy().chars().all(text::is_safe));
    let printed = if is_safe { answer.print() } else { print_plainly(&answer) };
    match printed {
        _ if answer.use_stderr() => ExitStatus::USAGE,
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            terminal::warn(&not_printed(&error));
            ExitStatus::IO
        }
        _ => ExitStatus::SUCCESS,
    }
}

/// Prints an answer without colours, and with escapes for what steers a terminal.
fn print_plainly(answer: &clap::Error) -> io::Result<()> {
    let words = text::safe_block(&answer.render().to_string());
    if answer.use_stderr() {
        Waiting(io::stderr()).write_all(words.as_bytes())
    } else {
        Waiting(io::stdout()).write_all(words.as_bytes())
    }
}

fn run(cli: &Cli) -> Result<ExitStatus> {
    if cli.global.utc {
        show_utc();
    }
    if cli.global.json {
        terminal::print_errors_as_json();
    }
    let mut out = Output::new(cli.global.json, cli.global.quiet, cli.global.color);
    let done = commands::run(cli, &mut out);
    // The output is flushed first, so that the error message comes after it.
    let flushed = out.flush();
    let status = done?;
    flushed.map(|()| status)
}

fn say(error: &CliError) -> ExitStatus {
    print_error(error);
    error.status
}
