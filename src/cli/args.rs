//! The arguments of every verb. Their doc comments are the help.
#![expect(clippy::doc_markdown, reason = "these comments are the help, where backticks would be shown")]

use std::path::PathBuf;

use clap::{Args, ColorChoice, Command, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::help;
use super::options::JobOptions;
use super::typed_time::{At, PastTime};
use super::values::{self, JobRef};
use crate::model::{DeadReason, ErrorCode, JobState, Rate};
use crate::text::{Millis, Timestamp};

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

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a small commented jobs.toml in this folder, or one with the jobs of a crontab; never over an existing one
    #[command(after_help = help::INIT)]
    Init(Init),
    /// Run a job here, to its end, retries included
    #[command(after_help = help::RUN, override_usage = help::RUN_USAGE)]
    Run(Box<Run>),
    /// Put jobs on disk, all or none, and print their ids
    #[command(after_help = help::ENQUEUE, override_usage = help::ENQUEUE_USAGE)]
    Enqueue(Box<Enqueue>),
    /// Run jobs, until told to stop
    #[command(after_help = help::WORK)]
    Work(Work),
    /// Show what ran, what failed and why, and what happens next
    #[command(after_help = help::INSPECT)]
    Inspect(Inspect),
    /// Print the output of a job
    #[command(after_help = help::LOGS)]
    Logs(Logs),
    /// Wait until jobs have ended, and print them; exit 0 if all succeeded
    #[command(after_help = help::WAIT)]
    Wait(Wait),
    /// Cancel jobs: a pending one at once; a running one is asked to end
    #[command(after_help = help::CANCEL, override_usage = help::CANCEL_USAGE)]
    Cancel(Cancel),
    /// Put dead or cancelled jobs back, with a fresh budget of attempts
    #[command(after_help = help::RETRY, override_usage = help::RETRY_USAGE)]
    Retry(Retry),
    /// Change pending jobs: due time, priority, queue, or all to the present job file
    #[command(after_help = help::CHANGE, override_usage = help::CHANGE_USAGE)]
    Change(Change),
    /// Mark dead letters as dealt with: they stay in the history
    #[command(after_help = help::RESOLVE, override_usage = help::RESOLVE_USAGE)]
    Resolve(Resolve),
    /// Check a job file, and show each job's retry policy, or what would follow an exit
    #[command(after_help = help::CHECK, override_usage = help::CHECK_USAGE)]
    Check(Check),
    /// Check the database and its workers; exit 1 if something is wrong
    #[command(after_help = help::DOCTOR)]
    Doctor(Doctor),
    /// Take the schedules and queue limits of the job file into the database
    #[command(after_help = help::APPLY)]
    Apply(Apply),
    /// Copy the database while workers go on, never over an existing file
    #[command(after_help = "Examples:\n  runner backup runner-$(date +%F).db")]
    Backup(Backup),
    /// Replace the database by a copy, and keep the old one beside it
    #[command(after_help = help::RESTORE)]
    Restore(Restore),
    /// Remove finished jobs, with their attempts and output
    #[command(after_help = help::PRUNE, override_usage = help::PRUNE_USAGE)]
    Prune(Prune),
    /// Pause a queue, a schedule or everything: nothing more starts from it
    #[command(after_help = help::PAUSE, override_usage = "runner pause [OPTIONS] <QUEUE|--schedule NAME|--all>")]
    Pause(Pause),
    /// Resume a paused queue or schedule, or end the pause of everything
    #[command(after_help = help::RESUME)]
    Resume(Paused),
    /// Limit what a queue runs and starts, or show its limits
    #[command(after_help = help::LIMIT)]
    Limit(Limit),
    /// Keep a worker running on this machine, or show what does
    #[command(after_help = help::SERVICE)]
    Service(Service),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(Completions),
    /// Print the manual page
    #[command(after_help = help::MAN)]
    Man,
    /// Print the JSON Schema of the job file
    #[command(after_help = help::SCHEMA)]
    Schema,
}

#[derive(Debug, Default, Args)]
pub struct Init {
    /// Take over a crontab: without a value that of crontab -l, else a file or - (standard input)
    #[arg(long, value_name = "FILE")]
    #[expect(clippy::option_option, reason = "the option may stand without a value")]
    pub from_crontab: Option<Option<PathBuf>>,
    /// The crontab names a user in each line, as /etc/crontab and /etc/cron.d/* do, which are known by their paths
    #[arg(long, requires = "from_crontab")]
    pub system: bool,
}

#[derive(Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "dry_run is the name of an option")]
pub struct Run {
    /// A job of the job file
    #[arg(value_name = "NAME", num_args = 0..=1)]
    pub names: Vec<String>,
    /// Keep standard input, at most 16 MiB
    #[arg(long)]
    pub stdin: bool,
    /// Only show what would be run
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub options: JobOptions,
}

#[derive(Debug, Default, Args)]
pub struct Enqueue {
    /// Jobs of the job file
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Every job of the job file but alerts (on_dead)
    #[arg(long, conflicts_with_all = ["names", "command", "batch", "args"])]
    pub all: bool,
    /// One JSON object a line, from a file or - (standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "args", "command"])]
    pub batch: Option<PathBuf>,
    /// Keep standard input, at most 16 MiB
    #[arg(long, conflicts_with = "batch")]
    pub stdin: bool,
    /// Only show what would be enqueued
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub waiting: WaitOptions,
    #[command(flatten)]
    pub options: JobOptions,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WaitOptions {
    /// Wait for the job, and exit as it did
    #[arg(long)]
    pub wait: bool,
    /// Wait no longer than this; then exit 75, and the job goes on
    #[arg(long, value_name = "DUR", requires = "wait", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub wait_timeout: Option<Millis>,
    /// If the job dies, print its last output
    #[arg(long, requires = "wait")]
    pub output_on_failure: bool,
}

#[derive(Debug, Args)]
pub struct Work {
    /// Attempts at once [default: CPUs, at least 4]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = values::slots)]
    pub slots: Option<usize>,
    /// Exit 0 at once if any worker is alive
    #[arg(long)]
    pub single: bool,
    /// Only this queue; repeatable
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub queue: Vec<String>,
    /// End when no job is pending or running
    #[arg(long, conflicts_with = "until_idle")]
    pub drain: bool,
    /// End when no job is due or running
    #[arg(long)]
    pub until_idle: bool,
    /// End after this many attempts were started
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_jobs: Option<u64>,
    /// Remove jobs that ended longer ago, not dead ones
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::age)]
    pub keep: Option<Millis>,
    /// Time for running attempts to end at a stop
    #[arg(long, value_name = "DUR", default_value = "30s", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub shutdown_timeout: Millis,
    /// text (stderr) or json (stdout)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub log: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct Inspect {
    /// ID, NAME, or jobs, attempts, dead, workers, queues, schedules, stats
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    /// Only in this state or phase, or with this outcome
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    pub state: Vec<String>,
    /// Only jobs of this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only in this queue
    #[arg(long)]
    pub queue: Option<String>,
    /// Only with this label; '' for those without
    #[arg(long, value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// Only with this error code
    #[arg(long, value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// Only jobs that died of this, such as expired
    #[arg(long, value_name = "REASON", value_parser = values::dead_reason)]
    pub dead_reason: Option<DeadReason>,
    /// Changed since then: 1h, 14:30, 2026-11-20, today
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true, value_parser = PastTime::parse)]
    pub since: Option<PastTime>,
    /// Changed before then
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true, value_parser = PastTime::parse)]
    pub until: Option<PastTime>,
    /// Rows to show; 0: all, as with --json [default: 50]
    #[arg(long, value_name = "N", value_parser = values::count)]
    pub limit: Option<usize>,
    /// Of stats: p95, max, cpu, rss, failures, name
    #[arg(long, value_name = "KEY", hide_possible_values = true)]
    pub sort: Option<StatsOrder>,
    /// Of schedules: each time within this span
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub next: Option<Millis>,
    /// With dead: those that were resolved
    #[arg(long)]
    pub resolved: bool,
    /// Exit 1 if anything is listed
    #[arg(long)]
    pub fail_if_any: bool,
    /// Print an HTML page about the last 24 h, or since --since
    #[arg(long, conflicts_with_all = ["what", "json"])]
    pub html: bool,
    /// Print metrics for Prometheus
    #[arg(long, conflicts_with_all = ["what", "json", "html"])]
    pub openmetrics: bool,
    /// Redraw the screen as it changes, until q or Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "fail_if_any", "html", "openmetrics"])]
    pub watch: bool,
}

/// What a list of numbers by name begins with: the largest, but for the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsOrder {
    P95,
    Max,
    Cpu,
    Rss,
    Failures,
    Name,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct Logs {
    /// A job (its last attempt), or one attempt of it
    #[arg(value_name = "ID|NAME[.N]", value_parser = values::JobOrAttempt::parse)]
    pub which: values::JobOrAttempt,
    /// Only standard output
    #[arg(long, conflicts_with = "stderr")]
    pub stdout: bool,
    /// Only standard error
    #[arg(long)]
    pub stderr: bool,
    /// Follow the output, through retries, until the job has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Before each line the time at which it was read
    #[arg(short, long, conflicts_with = "json")]
    pub timestamps: bool,
    /// Only the last lines of each stream
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count)]
    pub lines: Option<usize>,
}

#[derive(Debug, Args)]
pub struct Cancel {
    /// Jobs; a name stands for its one unfinished job
    #[arg(value_name = "ID|NAME", required_unless_present_any = ["name", "label", "queue"], value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// All unfinished jobs of this name
    #[arg(long, conflicts_with = "jobs")]
    pub name: Option<String>,
    /// All unfinished jobs with this label; '' for those without one
    #[arg(long, conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// All unfinished jobs of this queue
    #[arg(long, conflicts_with = "jobs")]
    pub queue: Option<String>,
}

#[derive(Debug, Args)]
pub struct Wait {
    /// Jobs; a name stands for the newest job of that name
    #[arg(value_name = "ID|NAME", required_unless_present = "label", value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// All jobs with this label, but for resolved ones
    #[arg(long, value_name = "TEXT", conflicts_with = "jobs", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// Wait no longer; then exit 75, and the jobs go on
    #[arg(long = "wait-timeout", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub timeout: Option<Millis>,
}

/// Jobs, or the dead letters that filters select.
#[derive(Debug, Default, Args)]
pub struct Selection {
    /// Jobs; a name stands for the newest dead job of that name
    #[arg(value_name = "ID|NAME", required_unless_present = "dead", value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// Every unresolved dead letter that the filters select
    #[arg(long, conflicts_with = "jobs")]
    pub dead: bool,
    /// With --dead: only jobs of this name
    #[arg(long, requires = "dead", conflicts_with = "jobs")]
    pub name: Option<String>,
    /// With --dead: only with this error code
    #[arg(long, requires = "dead", conflicts_with = "jobs", value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// With --dead: only with this label
    #[arg(long, requires = "dead", conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
}

#[derive(Debug, Args)]
pub struct Retry {
    #[command(flatten)]
    pub which: Selection,
    #[command(flatten)]
    pub how: HowToRetry,
    /// With --dead: of equal jobs retry only the newest
    #[arg(long, requires = "dead", conflicts_with = "jobs")]
    pub latest: bool,
    /// Show what would be put back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct HowToRetry {
    /// Also retry jobs that are declared retryable = false
    #[arg(long)]
    pub force: bool,
    /// As a new job, with the file's present definition
    #[arg(long)]
    pub redefine: bool,
}

#[derive(Debug, Args)]
pub struct Change {
    /// Jobs; a name stands for its one unfinished job
    #[arg(value_name = "ID|NAME", required_unless_present_any = ["name", "label", "queue"], value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// All pending jobs of this name
    #[arg(long, conflicts_with = "jobs")]
    pub name: Option<String>,
    /// All pending jobs with this label; '' for those without one
    #[arg(long, conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// All pending jobs of this queue
    #[arg(long, conflicts_with = "jobs")]
    pub queue: Option<String>,
    #[command(flatten)]
    pub what: WhatToChange,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct WhatToChange {
    /// Due now
    #[arg(long, conflicts_with_all = ["delay", "at"])]
    pub now: bool,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "Due at this time: HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")]
    pub at: Option<At>,
    /// -1000 to 1000, higher first
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    pub priority: Option<i32>,
    /// Into this queue
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub to_queue: Option<String>,
    /// As new jobs, with the file's present definition; their places are kept
    #[arg(long, conflicts_with_all = ["now", "delay", "at", "priority", "to_queue"])]
    pub redefine: bool,
}

impl WhatToChange {
    /// The new due time, if there is one.
    pub fn run_at(&self, now: Timestamp) -> Option<Timestamp> {
        let now_or_in = if self.now { Some(Millis(0)) } else { self.delay };
        now_or_in.map(|delay| now.plus(delay)).or(self.at.map(|at| at.resolve(now)))
    }
}

#[derive(Debug, Args)]
pub struct Resolve {
    #[command(flatten)]
    pub which: Selection,
    /// With --dead: only if a later run succeeded
    #[arg(long, requires = "dead", conflicts_with = "jobs")]
    pub recovered: bool,
    /// A note on how it was dealt with
    #[arg(long, value_name = "TEXT", value_parser = values::nonempty)]
    pub note: Option<String>,
}

#[derive(Debug, Args)]
pub struct Check {
    /// The job file [default: as for every verb]; with --exit, --signal or --timeout the name of a job in it
    #[arg(value_name = "FILE|NAME")]
    pub what: Option<PathBuf>,
    /// What if an attempt of this job exits with this status?
    #[arg(long, value_name = "N", group = "ending", allow_negative_numbers = true, value_parser = values::exit_status)]
    pub exit: Option<u8>,
    /// What if it is killed by this signal?
    #[arg(long, value_name = "S", group = "ending", value_parser = values::fatal_signal)]
    pub signal: Option<i32>,
    /// What if it exceeds its timeout?
    #[arg(long, group = "ending")]
    pub timeout: bool,
    /// As the K-th attempt of the budget
    #[arg(long, value_name = "K", requires = "ending", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: u32,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub target: PathBuf,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Exit 1 also if anything needs attention, such as dead letters, or due jobs that no worker takes
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct Restore {
    /// The copy to restore; it is not changed
    #[arg(value_name = "FILE")]
    pub source: PathBuf,
}

#[derive(Debug, Args)]
pub struct Apply {
    /// The job file [default: as for every verb]
    #[arg(value_name = "FILE")]
    pub path: Option<PathBuf>,
    /// Also take over schedules that another file had applied
    #[arg(long)]
    pub take_over: bool,
    /// Remove all that the file had applied; it need not exist
    #[arg(long, conflicts_with = "take_over")]
    pub none: bool,
    /// Only print what would change
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Paused {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = values::name)]
    pub queue: Option<String>,
    /// The schedule of the job with this name
    #[arg(long, value_name = "NAME", value_parser = values::name)]
    pub schedule: Option<String>,
    /// Everything, as if no worker were running
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Pause {
    #[command(flatten)]
    pub what: Paused,
    /// It ends by itself after this time
    #[arg(long = "for", value_name = "DUR", allow_hyphen_values = true, conflicts_with = "until", value_parser = Millis::parse)]
    pub span: Option<Millis>,
    /// It ends by itself then.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "It ends by itself then: HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")]
    pub until: Option<At>,
}

#[derive(Debug, Args)]
pub struct Limit {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = values::name)]
    pub queue: String,
    /// At most this many attempts at once
    #[arg(long, value_name = "N", value_parser = values::max_running)]
    pub max_running: Option<u32>,
    /// At most this many starts: 10/s, 30/m or 100/h
    #[arg(long, value_name = "R", value_parser = Rate::parse)]
    pub rate: Option<Rate>,
    /// Remove both limits
    #[arg(long, conflicts_with_all = ["max_running", "rate"])]
    pub none: bool,
}

#[derive(Debug, Args)]
pub struct Prune {
    /// Finished at least this long ago (30d); required
    #[arg(long, value_name = "DUR", required_unless_present = "dry_run", allow_hyphen_values = true, value_parser = values::age)]
    pub older_than: Option<Millis>,
    /// succeeded, cancelled or dead [default: the first two]
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = values::finished_state)]
    pub state: Vec<JobState>,
    /// Only jobs of this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only in this queue
    #[arg(long)]
    pub queue: Option<String>,
    /// Only say how many jobs would be removed
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct Service {
    #[command(subcommand)]
    pub act: Option<ServiceAct>,
    /// Whose jobs the worker runs; root has to say it
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ServiceAct {
    /// Start a worker now, and after each boot
    Install(ServiceInstall),
    /// Undo that, exactly
    Remove(ServiceRemove),
}

#[derive(Debug, Args)]
pub struct ServiceInstall {
    /// Attempts at once [default: CPUs, at least 4]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = values::slots)]
    pub slots: Option<usize>,
    /// Remove jobs that ended longer ago, not dead ones
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::age)]
    pub keep: Option<Millis>,
    /// Only show the files and commands
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct ServiceRemove {
    /// Only show the files and commands
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
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
