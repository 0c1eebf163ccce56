//! `runner completions`, and the answers to the shells that run what it prints.
//!
//! The script of a shell calls runner back with [`ASKED`] in the environment and the words of the command line after
//! `--`. What may follow is known from the definition of the command line ([`Cli`]), and for some words from the job
//! file and the database. Whatever goes wrong, a person who presses TAB is told nothing.

mod candidates;
mod source;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::ArgValueCandidates;
use clap_complete::env::{EnvCompleter, Shells};

use crate::cli::args::{Cli, Completions, Global, Shell};
use crate::cli::error::ExitStatus;
use crate::cli::output::Output;
use source::Source;

/// The variable with the name of the shell that asks.
const ASKED: &str = "_RUNNER_COMPLETE";

/// What is called back: by name, so that a script that was kept finds a newer runner.
const PROGRAM: &str = "runner";

/// Prints the script for a shell.
pub fn run(global: &Global, asked: &Completions) -> Result<ExitStatus> {
    let mut script = Vec::new();
    shell(asked.shell.name())
        .ok_or(io::ErrorKind::Unsupported.into())
        .and_then(|shell| shell.write_registration(ASKED, PROGRAM, PROGRAM, PROGRAM, &mut script))
        .context("could not write the completions")?;
    let mut out = Output::new(global);
    out.bytes(&script)?;
    if asked.shell == Shell::Zsh {
        // A file in $fpath is run for the first TAB itself, which is to be answered too.
        out.line("[[ ${funcstack[1]} == _runner ]] && _clap_dynamic_completer_runner \"$@\"")?;
    }
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}

/// Answers a shell that asks what may follow; none if nobody asks.
pub fn answer() -> Option<ExitStatus> {
    let asking = env::var_os(ASKED).filter(|shell| !shell.is_empty())?;
    // Words that somebody typed half may trip the engine; a trace in the middle of a line helps nobody.
    panic::set_hook(Box::new(|_| {}));
    let answer = shell(asking.to_str().unwrap_or_default())
        .and_then(|shell| panic::catch_unwind(AssertUnwindSafe(|| completed(shell))).ok().flatten());
    let written = answer.is_some_and(|answer| io::stdout().write_all(&answer).is_ok());
    Some(if written { ExitStatus::SUCCESS } else { ExitStatus::NO })
}

fn shell(name: &str) -> Option<&'static dyn EnvCompleter> {
    const KNOWN: Shells<'static> = Shells::builtins();
    KNOWN.0.iter().copied().find(|shell| shell.is(name))
}

/// What a shell is told.
fn completed(shell: &dyn EnvCompleter) -> Option<Vec<u8>> {
    let words: Vec<OsString> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    words.first()?;
    let mut command = command(&Arc::new(Source::of(&words)));
    if words.last().is_none_or(|word| word.is_empty()) {
        command = without_options(command).disable_help_flag(true).disable_version_flag(true);
    }
    let mut answer = Vec::new();
    shell
        .write_complete(&mut command, joined(words), env::current_dir().ok().as_deref(), &mut answer)
        .ok()?;
    Some(answer)
}

/// The command line, with what its words may be.
fn command(source: &Arc<Source>) -> Command {
    // What stands after `--` belongs to a command.
    if source.says("--") {
        let path = |word: Arg| if word.is_positional() { word.value_hint(ValueHint::AnyPath) } else { word };
        return Cli::command().mut_subcommand("enqueue", |verb| verb.mut_args(path));
    }
    candidates::KNOWN.iter().fold(Cli::command(), |command, (verb, argument, candidates)| {
        let source = Arc::clone(source);
        let words = ArgValueCandidates::new(move || candidates(&source));
        // Not `mut_arg`, which puts the argument behind all others: positional ones have an order.
        let add = |known: Arg| if known.get_id() == argument { known.add(words.clone()) } else { known };
        command.mut_subcommand(verb, |verb| verb.mut_args(add))
    })
}

/// Where anything else can stand, options are not offered before a dash is typed.
fn without_options(command: Command) -> Command {
    let hide = |known: Arg| if known.is_positional() { known } else { known.hide(true) };
    command.mut_args(hide).mut_subcommands(without_options)
}

/// bash takes `--queue=net` apart into three words. As many are given back, for the shell has counted them: a flag
/// without effect on what may follow, the option, and its value.
fn joined(mut words: Vec<OsString>) -> Vec<OsString> {
    for at in 1..words.len() {
        if words[at] == "=" && words[at - 1].to_string_lossy().starts_with("--") {
            words[at] = "--quiet".into();
            words.swap(at - 1, at);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_argument_is_one() {
        let command = command(&Arc::new(Source::of(&[])));
        for (verb, argument, _) in candidates::KNOWN {
            let verb = command.find_subcommand(verb).unwrap_or_else(|| panic!("no verb {verb}"));
            let named = verb.get_arguments().find(|known| known.get_id() == argument);
            let named = named.unwrap_or_else(|| panic!("{} has no {argument}", verb.get_name()));
            assert!(named.get::<ArgValueCandidates>().is_some(), "{} {argument}", verb.get_name());
        }
        command.debug_assert();
    }
}
