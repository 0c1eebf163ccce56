//! `runner completions`, and the answers to the shells that run the printed script.
//!
//! The script of a shell calls runner back with [`SHELL_VARIABLE`] in the environment and the words of the command line after
//! `--`. Clap knows the verbs and options; the names, queues and ids come from the job file and the database. Whatever
//! goes wrong, a person who presses TAB sees no error.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory, FromArgMatches, ValueHint};
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete::{ArgValueCandidates, CompletionCandidate, Shell};

use crate::cli::args::{Cli, Completions, Global};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::Output;
use crate::clock;
use crate::jobfile::Declared;
use crate::model::{JobState, signal};
use crate::store::{Filter, JobRow, Overview, StateFilter, Store};
use crate::text::safe_line;

/// The variable with the name of the shell that asks.
const SHELL_VARIABLE: &str = "_RUNNER_COMPLETE";

/// A script calls runner back by name, so that a script that was kept finds a newer runner.
const PROGRAM: &str = "runner";

/// The newest ids that are offered.
const MAX_IDS: usize = 100;

/// Prints the script for a shell.
pub fn run(args: &Completions, out: &mut Output) -> Result<ExitStatus> {
    let mut script = Vec::new();
    shell(&args.shell.to_string())
        .ok_or(io::ErrorKind::Unsupported.into())
        .and_then(|shell| shell.write_registration(SHELL_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script))
        .context("could not write the completions")?;
    out.bytes(&script)?;
    if args.shell == Shell::Zsh {
        // zsh runs a file in $fpath for the first TAB itself, which needs an answer too.
        out.line("[[ ${funcstack[1]} == _runner ]] && _clap_dynamic_completer_runner \"$@\"")?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// Answers a shell that asks for candidates; none if no shell asks.
pub fn answer() -> Option<ExitStatus> {
    let name = env::var_os(SHELL_VARIABLE).filter(|shell| !shell.is_empty())?;
    // Half-typed words may trip the engine; keep the backtrace off the command line.
    panic::set_hook(Box::new(|_| {}));
    let answer = shell(name.to_str().unwrap_or_default())
        .and_then(|shell| panic::catch_unwind(AssertUnwindSafe(|| complete(shell))).ok().flatten());
    let written = answer.is_some_and(|answer| io::stdout().write_all(&answer).is_ok());
    Some(if written { ExitStatus::SUCCESS } else { ExitStatus::NO })
}

fn shell(name: &str) -> Option<&'static dyn EnvCompleter> {
    const KNOWN: Shells<'static> = Shells::builtins();
    KNOWN.0.iter().copied().find(|shell| shell.is(name))
}

fn complete(shell: &dyn EnvCompleter) -> Option<Vec<u8>> {
    let words: Vec<OsString> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    words.first()?;
    let words = joined(words);
    let mut command = command(&Arc::new(Typed::new(&words)));
    if words.last().is_none_or(|word| word.is_empty()) {
        command = without_options(command).disable_help_flag(true).disable_version_flag(true);
    }
    let mut answer = Vec::new();
    let here = env::current_dir().ok();
    shell.write_complete(&mut command, words, here.as_deref(), &mut answer).ok()?;
    Some(answer)
}

/// The command line, with the candidates for its values.
fn command(typed: &Arc<Typed>) -> Command {
    let cli = Cli::command().mut_args(|option| option.hide(false));
    // The words after `--` belong to a command.
    if typed.has("--") {
        let path = |word: Arg| if word.is_positional() { word.value_hint(ValueHint::AnyPath) } else { word };
        return cli.mut_subcommand("enqueue", |verb| verb.mut_args(path));
    }
    VALUES.iter().fold(cli, |command, (verb, argument, candidates)| {
        let typed = Arc::clone(typed);
        let words = ArgValueCandidates::new(move || candidates(&typed));
        // Not `mut_arg`, which puts the argument behind all others: positional ones have an order.
        let add = |known: Arg| if known.get_id() == argument { known.add(words.clone()) } else { known };
        command.mut_subcommand(verb, |verb| verb.mut_args(add))
    })
}

/// Options are not offered before a dash is typed.
fn without_options(command: Command) -> Command {
    let hide = |known: Arg| if known.is_positional() { known } else { known.hide(true) };
    command.mut_args(hide).mut_subcommands(without_options)
}

/// bash splits `--queue=net` into three words and has counted them. This puts a flag without effect in front, then the
/// option and its value.
fn joined(mut words: Vec<OsString>) -> Vec<OsString> {
    for at in 1..words.len() {
        if words[at] == "=" && words[at - 1].to_string_lossy().starts_with("--") {
            words[at] = "--quiet".into();
            words.swap(at - 1, at);
        }
    }
    words
}

/// The words that are typed so far. A file that they name and that cannot be read counts as empty.
struct Typed {
    words: Vec<OsString>,
    global: Global,
}

impl Typed {
    fn new(words: &[OsString]) -> Self {
        let typed = Cli::command().ignore_errors(true).try_get_matches_from(words);
        let global = typed.and_then(|typed| Global::from_arg_matches(&typed)).unwrap_or_default();
        Self { words: words.to_vec(), global }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|typed| typed == word)
    }

    fn declared(&self) -> Vec<Declared> {
        locate::job_file(&self.global).map(|file| file.jobs).unwrap_or_default()
    }

    fn overview(&self) -> Overview {
        self.store().and_then(|store| store.overview(clock::now()).ok()).unwrap_or_default()
    }

    fn store(&self) -> Option<Store> {
        locate::open_if_there(&self.global).ok().flatten()
    }
}

type Candidates = fn(&Typed) -> Vec<CompletionCandidate>;

/// Verb, argument, and its candidates.
const VALUES: [(&str, &str, Candidates); 29] = [
    ("enqueue", "names", declared),
    ("enqueue", "queue", queues),
    ("enqueue", "on_conflict", |_| words(["skip", "replace", "error"])),
    ("enqueue", "after", |typed| {
        let is_id = |word: &CompletionCandidate| word.get_value().as_encoded_bytes()[0].is_ascii_digit();
        jobs(typed, &[]).into_iter().filter(is_id).collect()
    }),
    ("work", "queue", queues),
    ("inspect", "what", |typed| {
        let lists = ["jobs", "attempts", "dead", "workers", "queues", "schedules", "stats"];
        words(lists).into_iter().chain(jobs(typed, &[])).collect()
    }),
    ("inspect", "state", |_| words(StateFilter::words())),
    ("inspect", "name", declared),
    ("inspect", "queue", queues),
    ("inspect", "error_code", dead_codes),
    ("logs", "which", |typed| jobs(typed, &[])),
    ("wait", "jobs", |typed| jobs(typed, &[JobState::Pending, JobState::Running])),
    ("cancel", "jobs", |typed| jobs(typed, &[JobState::Pending, JobState::Running])),
    ("retry", "jobs", |typed| {
        let waiting: &[JobState] = &[JobState::Pending];
        jobs(typed, if typed.has("--now") { waiting } else { &[JobState::Dead, JobState::Cancelled] })
    }),
    ("resolve", "jobs", |typed| jobs(typed, &[JobState::Dead])),
    ("retry", "name", declared),
    ("retry", "error_code", dead_codes),
    ("resolve", "name", declared),
    ("resolve", "error_code", dead_codes),
    ("explain", "what", |typed| {
        let mut all: Vec<_> = declared(typed).into_iter().chain(jobs(typed, &[])).collect();
        let mut seen = BTreeSet::new();
        all.retain(|candidate| seen.insert(candidate.get_value().to_owned()));
        all
    }),
    ("explain", "signal", |_| words((1..=31).map(signal::name))),
    ("prune", "state", |_| words(["succeeded", "cancelled", "dead"])),
    ("prune", "name", declared),
    ("prune", "queue", queues),
    ("pause", "queue", |typed| words(&queue_names(typed) - &paused(typed))),
    ("limit", "queue", queues),
    ("resume", "queue", |typed| words(paused(typed))),
    ("pause", "schedule", |typed| words(schedules(typed, false))),
    ("resume", "schedule", |typed| words(schedules(typed, true))),
];

fn words<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Vec<CompletionCandidate> {
    words.into_iter().map(|word| CompletionCandidate::new(word.into())).collect()
}

fn with_help(word: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(safe_line(help).into()))
}

fn declared(typed: &Typed) -> Vec<CompletionCandidate> {
    let jobs = typed.declared();
    jobs.iter().map(|job| with_help(&job.spec.name, job.description.as_deref().unwrap_or("a job"))).collect()
}

fn queues(typed: &Typed) -> Vec<CompletionCandidate> {
    words(queue_names(typed))
}

/// The queues of the job file and of the database.
fn queue_names(typed: &Typed) -> BTreeSet<String> {
    let file = locate::job_file(&typed.global).ok();
    let (jobs, limited) = file.map(|file| (file.jobs, file.queues)).unwrap_or_default();
    let declared = jobs.into_iter().map(|job| job.spec.queue).chain(limited.into_keys());
    declared.chain(typed.overview().queues.into_iter().map(|queue| queue.name)).collect()
}

fn paused(typed: &Typed) -> BTreeSet<String> {
    typed.overview().queues.into_iter().filter(|queue| queue.paused).map(|queue| queue.name).collect()
}

/// The schedules that are paused, or that are not.
fn schedules(typed: &Typed, paused: bool) -> Vec<String> {
    let rows = typed.store().and_then(|store| store.schedules().ok()).unwrap_or_default();
    rows.into_iter().filter(|row| row.paused == paused).map(|row| row.name().to_owned()).collect()
}

fn dead_codes(typed: &Typed) -> Vec<CompletionCandidate> {
    words(typed.overview().dead_by_error_code.into_keys())
}

/// The ids of jobs in these states, or in any, the newest first, and then their names.
fn jobs(typed: &Typed, states: &[JobState]) -> Vec<CompletionCandidate> {
    let states = states.iter().copied().map(StateFilter::State).collect();
    let filter = Filter { states, ..Filter::default() };
    let read = |store: Store| store.jobs_page(&filter, None, MAX_IDS, clock::now()).ok();
    let (jobs, _) = typed.store().and_then(read).unwrap_or_default();
    let id = |job: &JobRow| with_help(&job.id.to_string(), &format!("{}, {}", job.spec.name, job.status()));
    let mut names = BTreeMap::new();
    for job in &jobs {
        names.entry(&job.spec.name).or_insert(job.id);
    }
    let name = |(name, id): (&String, i64)| with_help(name, &format!("job {id}"));
    jobs.iter().map(id).chain(names.into_iter().map(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_argument_exists() {
        let command = command(&Arc::new(Typed::new(&[])));
        for (verb, argument, _) in VALUES {
            let verb = command.find_subcommand(verb).unwrap_or_else(|| panic!("no verb {verb}"));
            let named = verb.get_arguments().find(|known| known.get_id() == argument);
            let named = named.unwrap_or_else(|| panic!("{} has no {argument}", verb.get_name()));
            assert!(named.get::<ArgValueCandidates>().is_some(), "{} {argument}", verb.get_name());
        }
        command.debug_assert();
    }
}
