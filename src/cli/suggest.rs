//! Verbs and options of other programs, and their equivalents here. Slips of the fingers are clap's business.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error, with a tip in place of clap's where the word is known from another program.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => verb(context(ContextKind::InvalidSubcommand)),
        ErrorKind::UnknownArgument => {
            let word = context(ContextKind::InvalidArg);
            let verb =
                args.iter().find_map(|arg| arg.to_str().filter(|arg| matches!(*arg, "enqueue" | "work")));
            verb.and_then(|verb| option(verb, word.split('=').next().unwrap_or(word)))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
            error.remove(kind);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

fn verb(typed: &str) -> Option<&'static str> {
    Some(match typed {
        "run" | "start" => "`runner work` runs jobs; `runner enqueue -- CMD` enqueues a command",
        "add" | "submit" => "`runner enqueue NAME` enqueues a job; `runner enqueue -- CMD` any command",
        "list" | "ls" => "`runner inspect jobs` lists jobs; `runner inspect` is the overview",
        "status" => "`runner inspect` is the overview; `runner inspect ID` shows one job",
        "kill" | "stop" => "`runner cancel ID` cancels a job; a worker stops on SIGTERM or Ctrl-C",
        "rm" | "delete" => "`runner prune --older-than 30d` removes finished jobs",
        "tail" => "`runner logs -f ID` follows the output of a job",
        "rerun" => "`runner retry ID` puts a dead or cancelled job back",
        _ => return None,
    })
}

fn option(verb: &str, typed: &str) -> Option<&'static str> {
    Some(match (verb, typed) {
        ("enqueue", "--retry" | "--retries" | "--max-retries") => {
            "write `--max-attempts N`: the number counts every run, the first included"
        }
        ("enqueue", "--retry-delay") => "write `--backoff DUR`",
        ("enqueue", "--delay") => "write `--in DUR`, or `--at TIME`",
        ("enqueue", "--cron" | "--schedule" | "--every") => "let cron run `runner enqueue`",
        ("enqueue", "--command" | "--cmd") => "write `-c 'LINE'`, or `-- CMD ARG...`",
        ("enqueue", "--ttl") => "write `--expires-in DUR`",
        ("work", "--concurrency" | "--parallel" | "--workers" | "--slots") => "write `-j N`",
        ("work", "--once") => "write `--until-idle`",
        _ => return None,
    })
}
