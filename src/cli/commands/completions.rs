//! `runner completions`: prints the script for a shell, and answers when that script asks for candidates.
//!
//! The script of a shell calls runner back with [`SHELL_VARIABLE`] in the environment and the words of the command line after
//! `--`. Clap completes verbs and options; [`candidates`] adds names, queues and ids from the job file and the database.
//! It never prints an error, because that would appear in the command line that is being typed.

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

use crate::cli::args::{Cli, CompletionsArgs, Global};
use crate::cli::commands::inspect::list_words;
use crate::cli::database;
use crate::cli::error::ExitStatus;
use crate::cli::job_file;
use crate::clock;
use crate::model::{DeadReason, JobState, signal};
use crate::store::{self, Filter, FilterColumn, JobRow, Overview, StateFilter, Store};
use crate::text::safe_line;
use crate::view::terminal::Output;

/// The environment variable in which the script passes the name of its shell.
const SHELL_VARIABLE: &str = "_RUNNER_COMPLETE";

/// The script calls runner by name, not by path, so that a script that was saved keeps working after an upgrade.
const PROGRAM: &str = "runner";

/// At most this many ids are offered, those of the newest jobs.
const MAX_IDS: usize = 100;

/// Prints the script for a shell.
pub fn run(args: &CompletionsArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut script = Vec::new();
    shell(&args.shell.to_string())
        .ok_or(io::ErrorKind::Unsupported.into())
        .and_then(|shell| shell.write_registration(SHELL_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script))
        .context("could not write the completions")?;
    out.bytes(&script);
    if args.shell == Shell::Zsh {
        // If the script is a file in $fpath, zsh runs it at the first TAB and expects that run to answer.
        out.line("[[ ${funcstack[1]} == _runner ]] && _clap_dynamic_completer_runner \"$@\"");
    }
    Ok(ExitStatus::SUCCESS)
}

/// Answers a shell that asks for candidates; `None` if this is an ordinary call.
pub fn answer() -> Option<ExitStatus> {
    let name = env::var_os(SHELL_VARIABLE).filter(|shell| !shell.is_empty())?;
    // Clap may panic on half-typed words. The message must not appear on the command line.
    panic::set_hook(Box::new(|_| {}));
    let answer = shell(name.to_str().unwrap_or_default())
        .and_then(|shell| panic::catch_unwind(AssertUnwindSafe(|| complete(shell))).ok().flatten());
    let written = answer.is_some_and(|answer| io::stdout().write_all(&answer).is_ok());
    Some(if written { ExitStatus::SUCCESS } else { ExitStatus::FAILED })
}

fn shell(name: &str) -> Option<&'static dyn EnvCompleter> {
    const KNOWN: Shells<'static> = Shells::builtins();
    KNOWN.0.iter().copied().find(|shell| shell.is(name))
}

fn complete(shell: &dyn EnvCompleter) -> Option<Vec<u8>> {
    let words: Vec<OsString> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    words.first()?;
    let words = without_equals_signs(words);
    let hides_options = words.last().is_none_or(|word| word.is_empty());
    let cli = Cli::command().disable_help_flag(hides_options).disable_version_flag(hides_options);
    let mut command = with_candidates(cli, &Arc::new(Typed::new(&words)));
    if hides_options {
        command = without_options(command);
    }
    let mut answer = Vec::new();
    let here = env::current_dir().ok();
    shell.write_complete(&mut command, words, here.as_deref(), &mut answer).ok()?;
    Some(answer)
}

/// The command line with candidates for the values of its arguments.
fn with_candidates(cli: Command, typed: &Arc<Typed>) -> Command {
    let show = |cli: Command| cli.mut_args(|known| known.hide(false));
    let mut cli = show(cli);
    // The verbs have no arguments before.
    cli.build();
    let cli = cli.mut_subcommands(show);
    // The words after `--` are a command or its arguments, most often files.
    if typed.has("--") {
        let path = |word: Arg| if word.is_positional() { word.value_hint(ValueHint::AnyPath) } else { word };
        let with_paths = |verb: Command| verb.mut_args(path);
        return cli.mut_subcommand("enqueue", with_paths).mut_subcommand("run", with_paths);
    }
    cli.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        // Not `mut_arg`, which would put the argument behind all others: positional ones have an order.
        verb.mut_args(|known| {
            let Some(candidates) = candidates(&name, known.get_id().as_str()) else { return known };
            let typed = Arc::clone(typed);
            known.add(ArgValueCandidates::new(move || candidates(&typed)))
        })
    })
}

/// Hides the options, which are offered only once a dash is typed.
fn without_options(command: Command) -> Command {
    let hide = |known: Arg| if known.is_positional() { known } else { known.hide(true) };
    command.mut_args(hide).mut_subcommands(without_options)
}

/// bash passes `--queue=net` as three words, and the index of the word to complete. This replaces the `=` by a flag without
/// effect in front of the option, so that the value follows its option and the index stays right.
fn without_equals_signs(mut words: Vec<OsString>) -> Vec<OsString> {
    for at in 1..words.len() {
        if words[at] == "=" && words[at - 1].to_string_lossy().starts_with("--") {
            words[at] = "--quiet".into();
            words.swap(at - 1, at);
        }
    }
    words
}

/// The command line as it is typed so far. A database or job file that cannot be read counts as empty.
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

    fn overview(&self) -> Overview {
        self.store().and_then(|store| store.overview(clock::now()).ok()).unwrap_or_default()
    }

    fn store(&self) -> Option<Store> {
        database::open_if_there(&self.global).ok().flatten()
    }
}

type Candidates = fn(&Typed) -> Vec<CompletionCandidate>;

/// The function that finds the candidates for an argument of a verb; `None` if clap knows them itself.
fn candidates(verb: &str, argument: &str) -> Option<Candidates> {
    use StateFilter::{State, Warned};
    const UNFINISHED: &[StateFilter] = &[State(JobState::Pending), State(JobState::Running)];
    Some(match (verb, argument) {
        ("enqueue" | "run", "name") => return None,
        ("enqueue" | "run", "names") | (_, "name") => declared,
        ("enqueue" | "run", "on_conflict") => |_| words(["skip", "replace", "error"]),
        ("enqueue" | "run", "after" | "after_any") => |typed| jobs(typed, &[]),
        ("check", "signal") => |_| words((1..=31).map(signal::name)),
        ("inspect", "what") => |typed| words(list_words()).into_iter().chain(jobs(typed, &[])).collect(),
        ("inspect", "dead_reason") => |_| words(DeadReason::ALL.iter().map(|reason| reason.as_str())),
        ("inspect", "state") => |_| words(StateFilter::words()),
        ("logs", "which") => |typed| jobs(typed, &[]),
        ("pause", "queue") => |typed| words(&queue_names(typed) - &paused(typed)),
        ("pause", "schedule") => |typed| words(schedules(typed, false)),
        ("prune", "state") => |_| words(["succeeded", "cancelled", "dead"]),
        ("resolve", "jobs") => |typed| jobs(typed, &[State(JobState::Dead), Warned]),
        ("resume", "queue") => |typed| words(paused(typed)),
        ("resume", "schedule") => |typed| words(schedules(typed, true)),
        ("change", "jobs") => |typed| jobs(typed, &[State(JobState::Pending)]),
        ("retry", "jobs") => |typed| jobs(typed, &[State(JobState::Dead), State(JobState::Cancelled)]),
        ("wait" | "cancel", "jobs") => |typed| jobs(typed, UNFINISHED),
        (_, "queue" | "to_queue") => |typed| words(queue_names(typed)),
        (_, "error_code") => |typed| words(typed.overview().dead_by_error_code.into_keys()),
        _ => return None,
    })
}

fn words<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Vec<CompletionCandidate> {
    words.into_iter().map(|word| CompletionCandidate::new(word.into())).collect()
}

fn with_help(word: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(safe_line(help).into()))
}

fn declared(typed: &Typed) -> Vec<CompletionCandidate> {
    let jobs = job_file::read(&typed.global).map(|file| file.jobs).unwrap_or_default();
    jobs.iter()
        .map(|job| with_help(&job.definition.name, job.description.as_deref().unwrap_or("a job")))
        .collect()
}

/// The queues of the job file and of the database.
fn queue_names(typed: &Typed) -> BTreeSet<String> {
    let declared = job_file::declared_values(&typed.global, FilterColumn::Queue).into_iter();
    declared.chain(typed.overview().queues.into_iter().map(|queue| queue.name)).collect()
}

fn paused(typed: &Typed) -> BTreeSet<String> {
    typed
        .overview()
        .queues
        .into_iter()
        .filter(|queue| queue.pause.is_some())
        .map(|queue| queue.name)
        .collect()
}

/// The schedules that are paused, or those that are not.
fn schedules(typed: &Typed, paused: bool) -> Vec<String> {
    let rows = typed.store().and_then(|store| store.schedules().ok()).unwrap_or_default();
    rows.into_iter().filter(|row| row.is_paused() == paused).map(|row| row.name().to_owned()).collect()
}

/// The newest jobs in these states, or in any.
fn newest(typed: &Typed, states: &[StateFilter]) -> Vec<JobRow> {
    let filter = Filter { states: states.to_vec(), ..Filter::default() };
    let read = |store: Store| -> Option<Vec<JobRow>> {
        store.jobs(&filter, MAX_IDS, clock::now()).ok()?.collect::<store::Result<_>>().ok()
    };
    typed.store().and_then(read).unwrap_or_default()
}

/// The ids of the newest jobs in these states, or in any, and then their names.
fn jobs(typed: &Typed, states: &[StateFilter]) -> Vec<CompletionCandidate> {
    let jobs = newest(typed, states);
    let id = |job: &JobRow| {
        with_help(&job.id.to_string(), &format!("{}, {}", job.definition.name, job.shown_status()))
    };
    let mut names = BTreeMap::new();
    for job in &jobs {
        names.entry(&job.definition.name).or_insert(job.id);
    }
    let name = |(name, id): (&String, i64)| with_help(name, &format!("job {id}"));
    jobs.iter().map(id).chain(names.into_iter().map(name)).collect()
}
