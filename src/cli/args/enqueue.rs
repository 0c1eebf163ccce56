//! What may be typed after `enqueue`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::super::values;
use crate::model::{Backoff, CodePattern, Jitter};
use crate::store::OnConflict;
use crate::text::Millis;

pub(super) const ENQUEUE_USAGE: &str = "runner enqueue [OPTIONS] NAME... [-- ARG...]
       runner enqueue [OPTIONS] --all
       runner enqueue [OPTIONS] -- CMD [ARG...]
       runner enqueue [OPTIONS] -c 'LINE' [-- ARG...]
       runner enqueue [OPTIONS] --batch FILE";

pub(super) const ENQUEUE_EXAMPLES: &str = "\
Examples:
  runner enqueue nightly-backup
  runner enqueue report --in 10m --priority 5 -- --month 2026-11
  runner enqueue --max-attempts 5 --backoff exponential:2s -- curl -fsS https://api.example/ping
  runner enqueue -c 'pg_dump shop | gzip > shop.sql.gz' --name dump --timeout 30m
  mysqldump shop | runner enqueue upload --stdin                   every attempt reads what came in
  runner enqueue nightly --idempotency-key nightly-$(date +%F)     a doubled cron line enqueues once
  runner enqueue report --wait --output-on-failure -q              from cron: mails only if it fails for good
  generate-jobs | runner enqueue --batch -                         one JSON object a line, all or none

Without --max-attempts an ad hoc job runs once. --backoff takes 30s (constant), 5s,1m,10m (list),
exponential:INITIAL[:MULTIPLIER[:MAX]] or linear:DELAY[:MAX].";

/// `enqueue`
#[derive(Debug, Default, Args)]
pub struct Enqueue {
    /// Jobs of the job file
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// With a name: appended to its command. Without: the command to run
    #[arg(last = true, value_name = "ARG")]
    pub args: Vec<OsString>,
    /// Every job of the job file
    #[arg(long, conflicts_with_all = ["names", "line", "batch", "args"])]
    pub all: bool,
    /// An ad hoc job: a line for /bin/sh
    #[arg(short = 'c', value_name = "LINE", conflicts_with_all = ["names", "batch"])]
    pub line: Option<OsString>,
    /// The name of an ad hoc job [default: from its command]
    #[arg(long, value_name = "NAME", value_parser = values::name)]
    pub name: Option<String>,
    /// Read jobs from a file, or - for standard input: one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "args"])]
    pub batch: Option<PathBuf>,
    /// Keep what comes on standard input, at most 16 MiB: every attempt reads it as its own
    #[arg(long, conflicts_with = "batch")]
    pub stdin: bool,
    /// Show what would be enqueued, and enqueue nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Whether it is waited for.
    #[command(flatten)]
    pub waiting: WaitOptions,
    /// What the job is to be.
    #[command(flatten)]
    pub options: JobOptions,
}

/// Options for whoever wants to know how it ends.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WaitOptions {
    /// Wait until it has ended, and exit as it did
    #[arg(long)]
    pub wait: bool,
    /// Wait no longer than this; then exit 75, and the job goes on
    #[arg(long, value_name = "DUR", requires = "wait", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub wait_timeout: Option<Millis>,
    /// If it fails for good, print what its last attempt wrote
    #[arg(long, requires = "wait")]
    pub output_on_failure: bool,
}

/// Options that override a definition for one job.
#[derive(Clone, Debug, Default, Args)]
pub struct JobOptions {
    /// The queue it waits in
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub queue: Option<String>,
    /// Higher first, -1000 to 1000
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    pub priority: Option<i32>,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = values::At::parse)]
    #[arg(help = "Due at this time: RFC 3339, 'YYYY-MM-DD HH:MM[:SS]' or HH:MM (local, the next)")]
    pub at: Option<values::At>,
    /// The total number of runs, the first included
    #[arg(long, value_name = "N", value_parser = values::max_attempts)]
    pub max_attempts: Option<u32>,
    /// false: exactly one run
    #[arg(long, value_name = "BOOL")]
    pub retryable: Option<bool>,
    /// The waits between runs
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, value_parser = values::backoff)]
    pub backoff: Option<Backoff>,
    /// How far waits may vary: true, false, a fraction 0 to 1, or a duration
    #[arg(long, value_name = "J", allow_hyphen_values = true, value_parser = values::jitter)]
    pub jitter: Option<Jitter>,
    /// Retry only these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    /// Never retry these error codes
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = CodePattern::parse)]
    pub never_retry_for: Option<Vec<CodePattern>>,
    /// The longest that one attempt may take
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    pub timeout: Option<Millis>,
    /// Between SIGTERM and SIGKILL
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub grace_period: Option<Millis>,
    /// Not started, and not retried, this long after it is first due
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = values::above_zero)]
    pub expires_in: Option<Millis>,
    /// A variable for its environment; repeatable
    #[arg(long, value_name = "K=V")]
    pub env: Vec<OsString>,
    /// The directory it runs in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// At most one unfinished job may hold this key
    #[arg(long, value_name = "K", value_parser = values::key)]
    pub unique_key: Option<String>,
    /// What to do where the unique key is held
    #[arg(long, value_name = "skip|replace|error", value_parser = values::on_conflict)]
    pub on_conflict: Option<OnConflict>,
    /// Never enqueue twice with this key, also after the first job has finished
    #[arg(long, value_name = "K", value_parser = values::key)]
    pub idempotency_key: Option<String>,
}
