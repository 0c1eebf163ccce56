//! Parse, run, say how it went.

use std::env;
use std::io::ErrorKind;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use super::args::{Cli, Verb};
use super::commands::{
    backup, cancel, check, completions, doctor, enqueue, explain, init, inspect, logs, man, pause, prune,
    retry, schema, wait, work,
};
use super::error::{CliError, ExitStatus, describe};
use super::{output, suggest};
use crate::text::{safe_block, show_utc};

/// Runs the command line of this process.
pub fn main() -> ExitStatus {
    if let Some(answered) = completions::answer() {
        return answered;
    }
    turn_size_limits_into_errors();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(answer) => {
            let args: Vec<_> = env::args_os().collect();
            let answer = suggest::with_tip(answer, &args);
            return match answer.print() {
                _ if answer.use_stderr() => ExitStatus::USAGE,
                // Help and version end here too, and their reader may go away.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    output::warn(&format!("could not print to standard output: {error}"));
                    ExitStatus::IO
                }
                _ => ExitStatus::SUCCESS,
            };
        }
    };
    // A panic has already printed its message.
    match panic::catch_unwind(AssertUnwindSafe(|| run(&cli))) {
        Err(_) => ExitStatus::INTERNAL,
        Ok(Ok(status)) => status,
        Ok(Err(error)) => {
            let CliError { status, message, hint } = describe(&error);
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            // The message may hold names and paths from anywhere.
            output::print_error(&safe_block(&format!("runner: {message}{hint}")));
            status
        }
    }
}

/// Turns SIGXFSZ (`ulimit -f`) into EFBIG. A handler, because jobs would inherit an ignored signal.
fn turn_size_limits_into_errors() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn parse() -> clap::error::Result<Cli> {
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
