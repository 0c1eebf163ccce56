//! The verbs, and the options of all of them. The doc comments are the help.
#![expect(clippy::doc_markdown, reason = "these comments are the help, where backticks would be shown")]

mod acts;
mod database;
mod job_file;
mod list_format;
mod new_jobs;
mod pause_limit;
mod views;
mod workers;

use std::path::PathBuf;

use clap::{Args, ColorChoice, Command, CommandFactory, Parser, Subcommand};

pub use self::acts::{ChangeArgs, ResolveArgs, RetryArgs, Selection, Unfinished};
pub use self::database::{BackupArgs, DoctorArgs, PruneArgs, RestoreArgs};
pub use self::job_file::{ApplyArgs, CheckArgs, InitArgs};
pub use self::new_jobs::{EnqueueArgs, RunArgs, WaitArgs, WaitOptions};
pub use self::pause_limit::{LimitArgs, PauseArgs, Paused};
pub use self::views::{CompletionsArgs, InspectArgs, LogsArgs, StatsOrder};
pub use self::workers::{LogFormat, ServiceAct, ServiceArgs, ServiceInstallArgs, WorkArgs};
use super::help;

/// Durable shell-command jobs with retries and an attempt history: one binary, one SQLite file, no daemon.
#[derive(Debug, Parser)]
#[command(name = "runner", version, max_term_width = 80)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// The command line with its pages of help.
pub fn command() -> Command {
    help::with_help(Cli::command())
}

/// The options of every verb. They are hidden here, because `help` lists them once for all verbs.
#[derive(Debug, Default, Args)]
pub struct Global {
    /// The database [default: $RUNNER_DB, else runner/runner.db in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The job file [default: $RUNNER_FILE, else the nearest jobs.toml upwards, else in $XDG_CONFIG_HOME/runner]
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long, global = true, hide = true)]
    pub json: bool,
    /// Say nothing on success, ids included
    #[arg(short, long, global = true, hide = true)]
    pub quiet: bool,
    /// Colour the output: auto, always or never; auto looks at NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM
    #[arg(long, global = true, hide = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Show times in UTC instead of local time
    #[arg(long, global = true, hide = true)]
    pub utc: bool,
}

// Only the verb that is called gets its arguments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    /// Write a small commented jobs.toml in this folder, or one with the jobs of a crontab; never over an existing one
    #[command(after_help = help::INIT)]
    Init(InitArgs),
    /// Run a job here, to its end, retries included
    #[command(after_help = help::RUN, override_usage = help::RUN_USAGE)]
    Run(Box<RunArgs>),
    /// Put jobs on disk, all or none, and print their ids
    #[command(after_help = help::ENQUEUE, override_usage = help::ENQUEUE_USAGE)]
    Enqueue(Box<EnqueueArgs>),
    /// Run jobs, until told to stop
    #[command(after_help = help::WORK)]
    Work(WorkArgs),
    /// Show what ran, what failed and why, and what happens next
    #[command(after_help = help::INSPECT)]
    Inspect(InspectArgs),
    /// Print the output of a job
    #[command(after_help = help::LOGS)]
    Logs(LogsArgs),
    /// Wait until jobs have ended, and print them; exit 0 if all succeeded
    #[command(after_help = help::WAIT)]
    Wait(WaitArgs),
    /// Cancel jobs: a pending one at once; a running one is asked to end
    #[command(after_help = help::CANCEL, override_usage = help::CANCEL_USAGE)]
    Cancel(Unfinished),
    /// Put dead or cancelled jobs back, with a fresh budget of attempts
    #[command(after_help = help::RETRY, override_usage = help::RETRY_USAGE)]
    Retry(RetryArgs),
    /// Change pending jobs: due time, priority, queue, or all to the present job file
    #[command(after_help = help::CHANGE, override_usage = help::CHANGE_USAGE)]
    Change(ChangeArgs),
    /// Mark deaths and warnings as dealt with: they stay in the history
    #[command(after_help = help::RESOLVE, override_usage = help::RESOLVE_USAGE)]
    Resolve(ResolveArgs),
    /// Check a job file, and show each job's retry policy, or what would follow an exit
    #[command(after_help = help::CHECK, override_usage = help::CHECK_USAGE)]
    Check(CheckArgs),
    /// Check the database and its workers; exit 1 if something is wrong
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Take the schedules and queue limits of the job file into the database
    #[command(after_help = help::APPLY)]
    Apply(ApplyArgs),
    /// Copy the database while workers go on, never over an existing file
    #[command(after_help = "Examples:\n  runner backup runner-$(date +%F).db")]
    Backup(BackupArgs),
    /// Replace the database by a copy, and keep the old one beside it
    #[command(after_help = help::RESTORE)]
    Restore(RestoreArgs),
    /// Remove finished jobs, with their attempts and output
    #[command(after_help = help::PRUNE, override_usage = help::PRUNE_USAGE)]
    Prune(PruneArgs),
    /// Pause a queue, a schedule or everything: nothing more starts from it
    #[command(after_help = help::PAUSE, override_usage = "runner pause [OPTIONS] <QUEUE|--schedule NAME|--all>")]
    Pause(PauseArgs),
    /// Resume a paused queue or schedule, or end the pause of everything
    #[command(after_help = help::RESUME)]
    Resume(Paused),
    /// Limit what a queue runs and starts, or show its limits
    #[command(after_help = help::LIMIT)]
    Limit(LimitArgs),
    /// Keep a worker running on this machine, or show what does
    #[command(after_help = help::SERVICE)]
    Service(ServiceArgs),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(after_help = help::MAN)]
    Man,
    /// Print the JSON Schema of the job file
    #[command(after_help = help::SCHEMA)]
    Schema,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;
    use crate::text::mutated;

    const WORDS: [&str; 16] = [
        "enqueue", "inspect", "retry", "check", "--", "-c", "-q", "--db", "--in", "5m", "--state", "dead,on",
        "7.2", "A=b", "-j2", "--exit=3",
    ];

    #[test]
    fn a_verb_gets_its_arguments_when_it_is_called_and_keeps_its_description() {
        let listed = Cli::command();
        let mut built = listed.clone();
        built.build();
        for verb in listed.get_subcommands() {
            assert_eq!(verb.get_arguments().count(), 0, "{}", verb.get_name());
            let full = built.find_subcommand(verb.get_name()).expect("the verb");
            assert_eq!(full.get_about().map(ToString::to_string), verb.get_about().map(ToString::to_string));
        }
    }

    proptest! {
        #[test]
        fn no_words_panic(words in prop::collection::vec(mutated(&WORDS), 0..7)) {
            let line = std::iter::once("runner".to_owned()).chain(words);
            if let Err(answer) = Cli::try_parse_from(line) {
                assert!(!answer.to_string().is_empty());
            }
        }
    }
}
