//! The pages of help: one of the whole program, and the frame of each verb's own page. And the tips under the error for
//! words of other programs.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;

/// The command line with its help.
pub fn command() -> Command {
    Cli::command()
        .help_template(PROGRAM)
        .override_usage("runner VERB [OPTIONS] [ARGUMENTS]")
        .after_help(NEXT)
        .after_long_help(COMMON_OPTIONS)
        .mut_subcommands(|verb| verb.help_template(VERB))
}

/// With `NEXT` at most 24 lines, of 60 columns.
const PROGRAM: &str = "\
Durable shell commands with retries and an attempt history.
One program, one SQLite file, no daemon.

{usage-heading} {usage}

Jobs:
  enqueue  put jobs on disk, and print their ids
  work     run them, retries included
  inspect  what ran, what failed and why, what happens next
  logs     the output of a job; -f follows it
  wait     wait for jobs, and exit as they did
  cancel   cancel waiting or running jobs
When a job failed:
  explain  why a job is in its state, or what would follow
  retry    put dead or cancelled jobs back
  resolve  note that a dead job was dealt with
Setup and upkeep:
  init, check, apply        write, check, apply a job file
  pause, resume, limit      hold a queue or schedule; cap it
  prune                     remove old jobs
  doctor, backup, restore   check or copy the database
  completions, man, schema  for shells, man(1), editors{after-help}";

const NEXT: &str = "\
Go on with runner VERB --help, runner --help, runner man";

const COMMON_OPTIONS: &str = "\
Options of every verb, before or after it:
      --db PATH     the database [default: $RUNNER_DB, else
                    ~/.local/state/runner/runner.db]
      --file PATH   the job file [default: $RUNNER_FILE, else
                    the nearest jobs.toml upwards, else
                    ~/.config/runner/jobs.toml]
      --json        one JSON object a line
  -q, --quiet       say nothing on success, ids included
      --color WHEN  auto, always or never
      --utc         show times in UTC instead of local time
  -h, --help        print help
  -V, --version     print the version (before the verb)

Examples:
  runner init && runner check         start with a job file
  runner enqueue nightly-backup       a job that it declares
  runner enqueue -- tar czf a.tgz .   any command
  runner work --drain                 run all of them, then end
  runner inspect                      what came of them

runner VERB --help has the options and examples of a verb,
runner man the environment, files and exit statuses.";

/// The common options take the last line.
const VERB: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}

Also --db --file --json -q --color --utc: see runner --help";

/// The error, with a tip in place of clap's where the words are known from other programs.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let (unknown, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::ValueValidation => (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return error,
    };
    let Some(ContextValue::String(typed)) = error.get(unknown) else { return error };
    let program = Cli::command();
    let verb = args.iter().find_map(|arg| program.find_subcommand(arg)).map_or("", Command::get_name);
    if let Some(tip) = tip_for(verb, typed) {
        error.remove(suggested);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// The tip for a word that this verb does not take, or without a verb for a word that is none.
fn tip_for(verb: &str, typed: &str) -> Option<&'static str> {
    Some(match (verb, typed.split('=').next()?) {
        ("", "run" | "start") => "`runner work` runs jobs; `runner enqueue -- CMD` enqueues a command",
        ("", "add" | "submit") => "`runner enqueue NAME` enqueues a job; `runner enqueue -- CMD` any command",
        ("", "list" | "ls" | "ps" | "jobs") => {
            "`runner inspect jobs` lists jobs; `runner inspect` is the overview"
        }
        ("", "status" | "show") => "`runner inspect` is the overview; `runner inspect ID` shows one job",
        ("", "kill" | "stop") => "`runner cancel ID` cancels a job; a worker stops on SIGTERM or Ctrl-C",
        ("", "rm" | "delete") => "`runner prune --older-than 30d` removes finished jobs",
        ("", "tail" | "watch") => "`runner logs -f ID` follows the output of a job",
        ("", "rerun") => "`runner retry ID` puts a dead or cancelled job back",
        ("", "ack") => "`runner resolve ID` notes that a dead job was dealt with",
        ("", "schedule" | "schedules") => {
            "`runner inspect schedules` lists them; `runner apply` takes the job file's"
        }
        ("", "attempts" | "dead" | "queues" | "stats" | "workers") => {
            "`runner inspect WHAT` takes attempts, dead, queues, stats and workers"
        }
        ("", "unpause") => "`runner resume QUEUE` lets a queue go on",
        ("work", "-d" | "--daemon" | "--detach") => {
            "a worker stays in the foreground, for systemd or `&`; `--drain` ends it after the last job"
        }
        ("wait", "--timeout") => "write `--wait-timeout DUR`",
        ("logs", "--tail") => "write `-n N` for the last lines, or `-f` to follow them",
        ("inspect", "--dead" | "--failed") => "write `runner inspect dead`",
        ("inspect", id) if id.starts_with(|c: char| c.is_ascii_digit()) => {
            "write `runner inspect ID` for a job, `runner inspect ID.N` for an attempt"
        }
        ("pause" | "resume", "--queue") => "write the name of the queue alone: `runner pause QUEUE`",
        ("cancel", "--all") => {
            "write the ids; `runner inspect jobs --state ready,scheduled,retrying` lists what waits"
        }
        ("retry" | "resolve", "--all") => {
            "write `--dead`: every unresolved dead letter, narrowed by --name and --error-code"
        }
        ("resolve", note) if note.trim().contains(' ') => "write `--note 'TEXT'`",
        ("doctor", "--fix") => "`runner doctor` changes nothing; it says what to do",
        _ => return None,
    })
}
