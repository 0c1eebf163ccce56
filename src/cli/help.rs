//! The pages of help: one of the whole program, and the frame of each verb's own page.

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
  init, check      write a small job file; check one
  pause, resume    hold a queue; let it go on
  prune            remove old jobs
  doctor, backup   check the database; copy it
  completions, man, schema   for shells, man(1), editors{after-help}";

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
