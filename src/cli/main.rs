//! Parses, runs, and reports the result.

use std::env;
use std::io::ErrorKind;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use anyhow::Result;
use clap::FromArgMatches;
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use super::args::{Cli, Verb};
use super::commands::{
    apply, backup, cancel, check, completions, doctor, enqueue, explain, init, inspect, limit, logs, man,
    pause, prune, resolve, restore, retry, schema, wait, work,
};
use super::error::{CliError, ExitStatus, describe};
use super::help;
use super::output::{self, Output};
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
            let answer = help::with_tip(answer, &env::args_os().collect::<Vec<_>>());
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
            // The words may hold names and paths from anywhere.
            output::print_error(&safe_block(&message), hint.map(|hint| safe_block(&hint)).as_deref());
            status
        }
    }
}

/// Turns SIGXFSZ (`ulimit -f`) into EFBIG. A handler, because jobs would inherit an ignored signal.
fn turn_size_limits_into_errors() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn parse() -> clap::error::Result<Cli> {
    let command = help::command().color(output::color_of_help(env::args_os()));
    command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches))
}

fn run(cli: &Cli) -> Result<ExitStatus> {
    if cli.global.utc {
        show_utc();
    }
    let mut out = Output::new(&cli.global);
    let done = run_verb(cli, &mut out);
    // The output comes before the error message.
    let flushed = out.flush();
    let status = done?;
    flushed.map(|()| status)
}

fn run_verb(cli: &Cli, out: &mut Output) -> Result<ExitStatus> {
    let global = &cli.global;
    match &cli.verb {
        Verb::Init => init::run(global, out),
        Verb::Enqueue(args) => enqueue::run(global, args, out),
        Verb::Work(args) => work::run(global, args),
        Verb::Inspect(args) => inspect::run(global, args, out),
        Verb::Logs(args) => logs::run(global, args, out),
        Verb::Wait(args) => wait::run(global, args, out),
        Verb::Cancel(args) => cancel::run(global, args, out),
        Verb::Retry(args) => retry::run(global, args, out),
        Verb::Resolve(args) => resolve::run(global, args, out),
        Verb::Check(args) => check::run(global, args, out),
        Verb::Explain(args) => explain::run(global, args, out),
        Verb::Prune(args) => prune::run(global, args, out),
        Verb::Doctor(args) => doctor::run(global, args, out),
        Verb::Backup(args) => backup::run(global, args, out),
        Verb::Restore(args) => restore::run(global, args, out),
        Verb::Pause(args) => pause::run(global, args, true, out),
        Verb::Apply(args) => apply::run(global, args, out),
        Verb::Limit(args) => limit::run(global, args, out),
        Verb::Resume(args) => pause::run(global, args, false, out),
        Verb::Completions(args) => completions::run(args, out),
        Verb::Man => man::run(out),
        Verb::Schema => schema::run(out),
    }
}
