//! The command line: one file a verb. Errors become words, a hint and an exit status in `error` alone.

mod args;
mod batch;
mod commands;
pub mod error;
mod follow;
mod locate;
#[cfg(test)]
mod no_panics;
mod options;
mod output;
mod plan;
mod poll;
mod stale_definition;
mod status_text;
mod suggest;
mod values;

use std::env;
use std::io::ErrorKind;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::model::{Bytes, Command};
use crate::text::{counted, safe_block, safe_line, show_utc};
use args::{Cli, Verb};
use commands::{
    backup, cancel, check, completions, doctor, enqueue, explain, init, inspect, logs, man, pause, prune,
    retry, schema, wait, work,
};
use error::{CliError, ExitStatus, describe};

/// Runs the command line of this process.
pub fn main() -> ExitStatus {
    if let Some(answered) = completions::answer() {
        return answered;
    }
    take_limits_as_errors();
    let cli = match as_defined() {
        Ok(cli) => cli,
        Err(answer) => {
            let args: Vec<_> = env::args_os().collect();
            let answer = suggest::with_tip(answer, &args);
            return match answer.print() {
                _ if answer.use_stderr() => ExitStatus::USAGE,
                // Help and version end here too. Whoever reads them may go away.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    output::warn(&format!("could not print to standard output: {error}"));
                    ExitStatus::IO
                }
                _ => ExitStatus::SUCCESS,
            };
        }
    };
    // A panic has said what is wrong already; its exit status is that of a defect.
    match panic::catch_unwind(AssertUnwindSafe(|| run(&cli))) {
        Err(_) => ExitStatus::INTERNAL,
        Ok(Ok(status)) => status,
        Ok(Err(error)) => {
            let CliError { status, message, hint } = describe(&error);
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            // Names and paths in it may come from anywhere.
            output::print_error(&safe_block(&format!("runner: {message}{hint}")));
            status
        }
    }
}

/// Turns SIGXFSZ (`ulimit -f`) into EFBIG. A handler, because jobs would inherit an ignored signal.
fn take_limits_as_errors() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// What was typed, by the definition of the command line.
fn as_defined() -> clap::error::Result<Cli> {
    let command = Cli::command().color(output::color_of_help(env::args_os()));
    command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches))
}

fn run(cli: &Cli) -> Result<ExitStatus> {
    let global = &cli.global;
    if global.utc {
        show_utc();
    }
    match &cli.verb {
        Verb::Init => init::run(global),
        Verb::Enqueue(asked) => enqueue::run(global, asked),
        Verb::Work(asked) => work::run(global, asked),
        Verb::Inspect(asked) => inspect::run(global, asked),
        Verb::Logs(asked) => logs::run(global, asked),
        Verb::Wait(asked) => wait::run(global, asked),
        Verb::Cancel(asked) => cancel::run(global, asked),
        Verb::Retry(asked) => retry::run(global, asked),
        Verb::Check(asked) => check::run(global, asked),
        Verb::Explain(asked) => explain::run(global, asked),
        Verb::Prune(asked) => prune::run(global, asked),
        Verb::Doctor => doctor::run(global),
        Verb::Backup(asked) => backup::run(global, asked),
        Verb::Pause(asked) => pause::run(global, asked, true),
        Verb::Resume(asked) => pause::run(global, asked, false),
        Verb::Completions(asked) => completions::run(global, asked),
        Verb::Man => man::run(global),
        Verb::Schema => schema::run(global),
    }
}

/// A command with its arguments as one would type it, for people.
fn command_line(command: &Command, args: &[Bytes]) -> String {
    let mut typed = match command {
        Command::Shell(line) => vec![line.to_text()],
        Command::Argv(words) => words.iter().map(quoted).collect(),
    };
    typed.extend(args.iter().map(quoted));
    typed.join(" ")
}

/// A command for a screen: its lines, made safe, the first few of them.
fn command_lines(command: &Command, args: &[Bytes]) -> Vec<String> {
    const MOST: usize = 8;
    let text = command_line(command, args);
    let lines: Vec<&str> = text.trim().lines().collect();
    let mut shown: Vec<String> = lines.iter().take(MOST).map(|line| safe_line(line)).collect();
    if lines.len() > MOST {
        shown.push(format!("… {}", counted(lines.len() - MOST, "more line")));
    }
    shown
}

/// A word in quotes where a shell would need them.
fn quoted(word: &Bytes) -> String {
    let text = word.to_text();
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
