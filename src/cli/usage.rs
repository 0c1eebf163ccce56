//! The error for a command line that cannot be used: that of clap, with tips that lead on.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;
use super::error::CliError;
use crate::text::nearest;

/// The words that people who know other tools type for a verb, and the words to type here. These words are looked up before near ones,
/// because `run` is in `prune`, and `status` has the letters of `pause`.
const OTHER_VERBS: [(&[&str], &str); 13] = [
    (
        &["run", "add", "submit", "push", "new", "create", "exec"],
        "`runner enqueue NAME` puts a job on disk, and `runner work` runs it",
    ),
    (&["start", "worker", "daemon", "serve"], "`runner work` runs what was enqueued"),
    (
        &["status", "list", "ls", "ps", "show", "info", "top", "history"],
        "`runner inspect` shows what ran and what waits",
    ),
    (
        &["jobs", "queues", "schedules", "workers", "attempts", "dead", "stats"],
        "it is a list of `runner inspect`",
    ),
    (&["output", "tail", "cat", "log"], "`runner logs NAME` prints the output of a job"),
    (&["stop", "kill", "abort"], "`runner cancel NAME` ends a job"),
    (
        &["rm", "remove", "delete", "del", "clean", "clear", "purge"],
        "`runner cancel` ends a job, and `runner prune` removes finished ones",
    ),
    (&["restart", "rerun", "replay", "redo", "requeue"], "`runner retry NAME` puts a dead job back"),
    (&["ack", "dismiss"], "`runner resolve NAME` takes a dead job off the list"),
    (&["cron", "crontab", "schedule", "reload"], "`runner apply` takes over the schedules of the job file"),
    (&["validate", "lint", "test"], "`runner check` checks the job file"),
    (&["hold"], "`runner pause QUEUE` holds a queue"),
    (&["continue", "unpause"], "`runner resume QUEUE` lets a queue go on"),
];

/// Options that a verb does not have, and what to type instead.
const OTHER_OPTIONS: [(&str, &[&str], &str); 7] = [
    (
        "wait",
        &["--name"],
        "`runner wait NAME` waits for the newest job of that name, `--label TEXT` for all with a label",
    ),
    (
        "wait",
        &["--all", "--queue"],
        "`runner wait 7 8 9` waits for several jobs, `--label TEXT` for all with a label",
    ),
    ("logs", &["--tail", "--last"], "`-n 20` prints the last 20 lines"),
    ("retry", &["--all"], "`runner retry --dead` puts all dead jobs back"),
    ("resolve", &["--all"], "`runner resolve --dead` resolves all dead jobs"),
    ("cancel", &["--all"], "`--queue`, `--name` or `--label` cancels all unfinished jobs that match"),
    ("work", &["--once"], "`--until-idle` ends when nothing is due or running"),
];

/// Replaces tips of clap that lead nowhere. It would offer each unknown option behind `--`, where verbs take ids and names,
/// which never begin with a dash; only for `enqueue` that is right, as the job gets the argument then.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(typed) = text_of(&error, ContextKind::InvalidSubcommand) else { return error };
            error.remove(ContextKind::SuggestedSubcommand);
            let program = Cli::command();
            let verbs = program.get_subcommands().map(Command::get_name);
            if let Some((_, tip)) = OTHER_VERBS.iter().find(|(words, _)| words.contains(&typed.as_str())) {
                error.insert(ContextKind::Suggested, tips(tip));
            } else if let Some(near) = nearest(&typed, verbs) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near.to_owned()));
            }
        }
        ErrorKind::UnknownArgument => {
            let Some(typed) = text_of(&error, ContextKind::InvalidArg) else { return error };
            let is_verb = |verb: &str| args.iter().any(|arg| arg == verb);
            let known = OTHER_OPTIONS
                .iter()
                .find(|(verb, options, _)| is_verb(verb) && options.contains(&typed.as_str()));
            error.remove(ContextKind::Suggested);
            if is_verb("enqueue") {
                error.insert(
                    ContextKind::Suggested,
                    tips(&format!("arguments for the job go after `--`: `-- {typed}`")),
                );
            } else if let Some((.., tip)) = known {
                error.remove(ContextKind::SuggestedArg);
                error.insert(ContextKind::Suggested, tips(tip));
            }
        }
        _ => {}
    }
    error
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn tips(text: &str) -> ContextValue {
    ContextValue::StyledStrs(vec![StyledStr::from(text.to_owned())])
}

/// The message of an unusable command line, without its markup: what is wrong, and a tip or the usage.
pub fn usage_error(answer: &clap::Error) -> CliError {
    if answer.kind() == ErrorKind::MissingSubcommand {
        return CliError::usage("there is no verb").hint("runner --help lists them");
    }
    let text = answer.render().to_string();
    let joined = |part: &str| part.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = text.split("\n\n").map(joined).collect();
    let message = parts.first().map(|part| part.trim_start_matches("error: ")).unwrap_or_default();
    let tip = parts.iter().find_map(|part| part.strip_prefix("tip: "));
    let usage = parts.iter().find(|part| part.starts_with("Usage: ")).map(String::as_str);
    match tip.or(usage) {
        Some(hint) => CliError::usage(message).hint(hint),
        None => CliError::usage(message),
    }
}
