//! `runner man`: one page, made of what `--help` says of every verb, and of what no verb says.

use anyhow::Result;
use clap::{Arg, Command, CommandFactory};
use roff::{Inline, Roff, bold, italic, roman};

use crate::cli::args::{Cli, Global};
use crate::cli::error::ExitStatus;
use crate::cli::screen::Screen;

/// What is said between the options and the verbs.
const DESCRIPTION: [&str; 3] = [
    "runner keeps shell commands that must run later, survive a reboot, be retried sensibly and leave a history. \
     Everything lies in one SQLite file. enqueue puts a job on disk and needs no daemon; work runs what is there, \
     any number of workers on one file; inspect shows what ran, what failed and why, and what happens next.",
    "An id that enqueue printed is on disk. Two attempts of one job never overlap, even when a worker was killed \
     and its command lives on. A job that says retryable = false is started at most once; any other is started at \
     most max_attempts times, runs that runner itself interrupted not counted. Each job ends succeeded, cancelled, \
     or as a dead letter with a reason.",
    "A single command needs no job file. Jobs that are run again and again are declared in jobs.toml: runner init \
     writes a small one, runner check says what is wrong with it and what each job's retry policy comes to.",
];

/// Variables that runner reads.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("RUNNER_DB", "The database, where --db does not name one."),
    ("RUNNER_FILE", "The job file, where --file does not name one."),
    ("XDG_STATE_HOME", "Holds runner/runner.db, where nothing names a database. Default: ~/.local/state."),
    ("XDG_CONFIG_HOME", "Holds runner/jobs.toml, the last place where a job file is looked for."),
    ("NO_COLOR", "If it is set and not empty, nothing is coloured unless --color says so."),
    (
        "CLICOLOR_FORCE",
        "If it is set and not 0, everything is coloured unless NO_COLOR or --color say otherwise.",
    ),
    ("TERM", "Under dumb nothing is coloured and no progress is drawn."),
    ("TZ", "The time zone of the times that are shown, and of --at."),
    (
        "NOTIFY_SOCKET",
        "Where work tells systemd that it is ready, what it does, that it lives, and that it stops.",
    ),
    ("JOURNAL_STREAM", "Under systemd: lines of work carry a priority in place of the time."),
];

/// Variables that a job's command finds.
const OF_JOBS: [(&str, &str); 10] = [
    ("RUNNER_JOB_ID", "The id of the job."),
    ("RUNNER_JOB_NAME", "Its name."),
    ("RUNNER_ATTEMPT", "The number of this attempt, from 1."),
    ("RUNNER_MAX_ATTEMPTS", "The number of runs in a budget."),
    ("RUNNER_ATTEMPTS_LEFT", "Runs left in this budget after this one."),
    ("RUNNER_LAST_ERROR_CODE", "Why the last attempt failed; empty at first."),
    ("RUNNER_QUEUE", "The queue."),
    ("RUNNER_WORKER_ID", "The worker."),
    ("RUNNER_DB", "The database."),
    (
        "RUNNER_REPORT",
        "A file to which the command may append error_code=CODE, message=TEXT, retry_after=30s, \
         unrecoverable=true and result=TEXT, a line each.",
    ),
];

/// Files that runner reads or writes.
const FILES: [(&str, &str); 4] = [
    (
        "jobs.toml",
        "The job file: --file, else $RUNNER_FILE, else the nearest one upwards, else $XDG_CONFIG_HOME/runner/jobs.toml.",
    ),
    (
        "~/.local/state/runner/runner.db",
        "The database: --db, else $RUNNER_DB, else $XDG_STATE_HOME/runner/runner.db.",
    ),
    ("runner.db-wal, runner.db-shm", "Belong to the database; never move or remove them alone."),
    ("runner.db.run/", "Locks, sockets and report files of workers."),
];

/// Prints the page.
pub fn run(global: &Global) -> Result<ExitStatus> {
    let mut screen = Screen::new(global);
    screen.bytes(page().as_bytes())?;
    screen.flush()?;
    Ok(ExitStatus::SUCCESS)
}

fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let version = format!("runner {}", cli.get_version().unwrap_or_default());
    let mut page = Roff::new();
    // The date of a page says nothing that the version does not say better.
    page.control("TH", ["RUNNER", "1", "\"\"", &version, "User Commands"]);
    section(&mut page, "NAME");
    page.text([roman(format!("runner - {}", text(cli.get_about())))]);
    section(&mut page, "SYNOPSIS");
    page.text([bold("runner"), roman(" ["), italic("OPTIONS"), roman("] "), italic("VERB"), roman(" ...")]);
    section(&mut page, "DESCRIPTION");
    page.text([roman(DESCRIPTION[0])]);
    for paragraph in &DESCRIPTION[1..] {
        page.control("PP", []).text([roman(*paragraph)]);
    }
    section(&mut page, "OPTIONS");
    page.text([roman("They may stand before or after the verb.")]);
    cli.get_arguments().for_each(|option| argument(&mut page, option));
    section(&mut page, "VERBS");
    for verb in cli.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        describe(&mut page, verb);
    }
    section(&mut page, "ENVIRONMENT");
    terms(&mut page, &ENVIRONMENT);
    section(&mut page, "ENVIRONMENT OF JOBS");
    page.text([roman("That of the worker, what env of the job says, and:")]);
    terms(&mut page, &OF_JOBS);
    section(&mut page, "FILES");
    terms(&mut page, &FILES);
    let after = text(cli.get_after_help());
    let (examples, statuses) = after.split_once("\n\nExit status: ").unwrap_or((&after, ""));
    section(&mut page, "EXIT STATUS");
    page.text([roman(statuses.replace('\n', " "))]);
    section(&mut page, "EXAMPLES");
    verbatim(&mut page, examples.trim_start_matches("Examples:\n"));
    section(&mut page, "SEE ALSO");
    page.text([roman("crontab(5), systemd.service(5), sqlite3(1), at(1), flock(1), timeout(1)")]);
    page.to_roff()
}

/// One verb: what it does, how it is called, its options and examples.
fn describe(page: &mut Roff, verb: &mut Command) {
    page.control("SS", [verb.get_name()]);
    page.text([roman(format!("{}.", text(verb.get_about())))]);
    let usage = verb.render_usage().to_string();
    let calls: Vec<&str> = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect();
    page.control("PP", []);
    verbatim(page, &calls.join("\n"));
    verb.get_arguments()
        .filter(|argument| !argument.is_global_set() && argument.get_id() != "help")
        .for_each(|option| argument(page, option));
    page.control("PP", []);
    let after = text(verb.get_after_help());
    let mut parts = after.split("\n\n");
    let examples = parts.next().unwrap_or_default();
    page.text([roman("Examples:")]).control("PP", []);
    verbatim(page, examples.trim_start_matches("Examples:\n"));
    for part in parts {
        page.control("PP", []).text([roman(part.replace('\n', " "))]);
    }
}

/// One option or argument.
fn argument(page: &mut Roff, argument: &Arg) {
    let mut head = Vec::new();
    head.extend(argument.get_short().map(|short| bold(format!("-{short}"))));
    if let Some(long) = argument.get_long() {
        if !head.is_empty() {
            head.push(roman(", "));
        }
        head.push(bold(format!("--{long}")));
    }
    if argument.get_action().takes_values() {
        let names = argument.get_value_names().unwrap_or_default().join(" ");
        if !head.is_empty() {
            head.push(roman(" "));
        }
        head.push(italic(names));
    }
    let values = argument.get_default_values().iter().filter(|_| argument.get_action().takes_values());
    let defaults: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
    let default =
        if defaults.is_empty() { String::new() } else { format!(" [default: {}]", defaults.join(",")) };
    let help = text(argument.get_help());
    term(page, head, &format!("{}{default}", help.trim_end_matches(" (see more with '--help')")));
}

fn section(page: &mut Roff, name: &str) {
    page.control("SH", [name]);
}

fn terms(page: &mut Roff, terms: &[(&str, &str)]) {
    for (name, what) in terms {
        term(page, vec![bold(*name)], what);
    }
}

fn term(page: &mut Roff, head: Vec<Inline>, what: &str) {
    page.control("TP", []).text(head).text([roman(what)]);
}

/// Lines as they are.
fn verbatim(page: &mut Roff, lines: &str) {
    page.control("EX", []);
    for line in lines.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
}

fn text(words: Option<&impl ToString>) -> String {
    words.map(ToString::to_string).unwrap_or_default()
}
