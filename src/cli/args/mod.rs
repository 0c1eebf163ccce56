//! What may be typed. What it means is each verb's own business.
#![expect(clippy::doc_markdown, reason = "these comments are the help, where backticks would be shown")]

mod enqueue;
mod examples;
mod explain;
mod print;
mod prune;

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use enqueue::{ENQUEUE_EXAMPLES, ENQUEUE_USAGE};
pub use enqueue::{Enqueue, WaitOptions};
use examples::{INSPECT_EXAMPLES, LOGS_EXAMPLES, RETRY_EXAMPLES, WAIT_EXAMPLES, WORK_EXAMPLES};
use explain::EXPLAIN_EXAMPLES;
pub use explain::Explain;
use print::{COMPLETIONS_EXAMPLES, MAN_EXAMPLES, SCHEMA_EXAMPLES};
pub use print::{Completions, Shell};
use prune::PRUNE_EXAMPLES;
pub use prune::Prune;

use super::values;
use crate::model::ErrorCode;
use crate::text::{Millis, Since};

/// Durable shell-command jobs with retries and an attempt history: one binary, one SQLite file, no daemon.
#[derive(Debug, Parser)]
#[command(name = "runner", version, max_term_width = 100)]
#[command(after_help = "\
Examples:
  runner init                       write a small jobs.toml to start from
  runner enqueue nightly-backup     put a declared job on disk; prints its id
  runner enqueue -- tar czf a.tgz . put any command on disk
  runner work --drain               run what is there, retries included, then end
  runner inspect                    what ran, what failed and why, what happens next

Exit status: 0 done, 1 the answer is no, 2 usage, 65 job file or input invalid, 66 not found, 70 internal error,
73 would overwrite, 74 I/O error, 75 try again later, 76 database from a newer runner, 77 permission.")]
pub struct Cli {
    /// Options that stand before or after the verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The heading of the options of every verb: they come after the verb's own.
const EVERY: &str = "Options of every verb";

/// Options of every verb.
#[derive(Debug, Default, Args)]
pub struct Global {
    /// The database [default: $RUNNER_DB, else runner/runner.db in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, global = true, help_heading = EVERY, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The job file [default: $RUNNER_FILE, else the nearest jobs.toml upwards, else in $XDG_CONFIG_HOME/runner]
    #[arg(long, global = true, help_heading = EVERY, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long, global = true, help_heading = EVERY)]
    pub json: bool,
    /// Say nothing on success, ids included
    #[arg(short, long, global = true, help_heading = EVERY)]
    pub quiet: bool,
    /// Colour the output: auto, always or never; auto looks at NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM
    #[arg(long, global = true, help_heading = EVERY, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub color: ColorChoice,
    /// Show times in UTC instead of local time
    #[arg(long, global = true, help_heading = EVERY)]
    pub utc: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a small commented jobs.toml in this folder, never over an existing one
    #[command(after_help = "Examples:\n  runner init\n  runner init && runner check")]
    Init,
    /// Put jobs on disk, all or none, and print their ids
    #[command(after_help = ENQUEUE_EXAMPLES, override_usage = ENQUEUE_USAGE)]
    Enqueue(Box<Enqueue>),
    /// Run jobs, until told to stop
    #[command(after_help = WORK_EXAMPLES)]
    Work(Work),
    /// Show what ran, what failed and why, and what happens next
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// Print what a job wrote
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(Logs),
    /// Wait until jobs have ended, and print them; exit 0 if all succeeded
    #[command(after_help = WAIT_EXAMPLES)]
    Wait(Ids),
    /// Call jobs off: a waiting one at once, a running one is asked to end
    #[command(after_help = "Examples:\n  runner cancel 7\n  runner cancel 7 8 9")]
    Cancel(Ids),
    /// Put dead or cancelled jobs back, with a fresh budget of attempts
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(Retry),
    /// Check a job file, and show each job's retry policy and waits
    #[command(after_help = "Examples:\n  runner check\n  runner check deploy/jobs.toml --json")]
    Check(Check),
    /// Say what would happen after an ending, or why a job is where it is
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Check the database: paths, permissions, workers, and every invariant; exit 1 if something is wrong
    #[command(after_help = "Examples:\n  runner doctor\n  runner doctor --json")]
    Doctor,
    /// Copy the database while workers go on, never over an existing file
    #[command(
        after_help = "Examples:\n  runner backup runner-$(date +%F).db\n\nTo restore a copy: stop the workers, remove the -wal and -shm files beside the\ndatabase, and put the copy in its place."
    )]
    Backup(Backup),
    /// Remove finished jobs, with their attempts and output
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune(Prune),
    /// Claim nothing more from a queue
    #[command(after_help = "Examples:\n  runner pause net")]
    Pause(QueueName),
    /// Claim from a paused queue again
    #[command(after_help = "Examples:\n  runner resume net")]
    Resume(QueueName),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man,
    /// Print the JSON Schema of the job file
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
}

/// `work`
#[derive(Debug, Args)]
pub struct Work {
    /// Attempts at once [default: the number of CPUs]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = values::slots)]
    pub slots: Option<usize>,
    /// Only this queue; repeatable
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub queue: Vec<String>,
    /// End when no job is pending or running: waits out retries and schedules
    #[arg(long, conflicts_with = "until_idle")]
    pub drain: bool,
    /// End when no job is due or running
    #[arg(long)]
    pub until_idle: bool,
    /// End after this many attempts were started
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_jobs: Option<u64>,
    /// How long running attempts may go on after a signal to stop
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub shutdown_timeout: Millis,
    /// text goes to standard error, json to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log: LogFormat,
}

/// The form of a worker's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// `inspect`
#[derive(Debug, Default, Args)]
pub struct Inspect {
    /// ID, ID.N, jobs, attempts, dead, workers, queues or stats [default: the overview]
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    /// Only in this state: also ready, scheduled, retrying; for attempts also an outcome. Repeatable
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    pub state: Vec<String>,
    /// Only jobs of this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only in this queue
    #[arg(long)]
    pub queue: Option<String>,
    /// Only with this error code
    #[arg(long, value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// Only what changed since: 1h, 14:30, 'YYYY-MM-DD HH:MM', a date (its midnight here), today or yesterday
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true, value_parser = Since::parse)]
    pub since: Option<Since>,
    /// At most this many; 0 for all [default: 50, all with --json]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Exit 1 if anything is listed
    #[arg(long)]
    pub fail_if_any: bool,
}

/// `logs`
#[derive(Debug, Args)]
pub struct Logs {
    /// A job (its last attempt), or one attempt of it
    #[arg(value_name = "ID[.N]", value_parser = values::JobOrAttempt::parse)]
    pub which: values::JobOrAttempt,
    /// Only standard output
    #[arg(long, conflicts_with = "stderr")]
    pub stdout: bool,
    /// Only standard error
    #[arg(long)]
    pub stderr: bool,
    /// Go on as it writes, through its retries, until it has ended for good
    #[arg(short, long)]
    pub follow: bool,
    /// Only the last lines of each stream; with -f of what is there at first
    #[arg(short = 'n', long, value_name = "N")]
    pub lines: Option<usize>,
}

/// Verbs that take ids alone.
#[derive(Debug, Args)]
pub struct Ids {
    /// Ids of jobs
    #[arg(value_name = "ID", required = true, value_parser = values::id)]
    pub ids: Vec<i64>,
}

/// `retry`
#[derive(Debug, Args)]
pub struct Retry {
    /// Ids of jobs
    #[arg(value_name = "ID", required_unless_present = "dead", value_parser = values::id)]
    pub ids: Vec<i64>,
    /// Every dead letter that the filters select
    #[arg(long, conflicts_with = "ids")]
    pub dead: bool,
    /// With --dead: only jobs of this name
    #[arg(long, requires = "dead", conflicts_with = "ids")]
    pub name: Option<String>,
    /// With --dead: only with this error code
    #[arg(long, requires = "dead", conflicts_with = "ids", value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// Also jobs that are declared retryable = false
    #[arg(long, conflicts_with = "now")]
    pub force: bool,
    /// Make waiting jobs due at once; budget and numbers stay
    #[arg(long, conflicts_with = "dead")]
    pub now: bool,
}

/// `check`
#[derive(Debug, Args)]
pub struct Check {
    /// The job file [default: as for every verb]
    #[arg(value_name = "FILE")]
    pub path: Option<PathBuf>,
}

/// `backup`
#[derive(Debug, Args)]
pub struct Backup {
    /// The copy
    #[arg(value_name = "FILE")]
    pub target: PathBuf,
}

/// `pause` and `resume`
#[derive(Debug, Args)]
pub struct QueueName {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = values::name)]
    pub queue: String,
}
