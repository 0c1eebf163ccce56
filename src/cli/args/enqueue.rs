//! What may be typed after `enqueue`.

use std::path::PathBuf;

use clap::Args;

use super::super::options::JobOptions;
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
    /// Every job of the job file
    #[arg(long, conflicts_with_all = ["names", "command", "batch", "args"])]
    pub all: bool,
    /// Read jobs from a file, or - for standard input: one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "args"])]
    pub batch: Option<PathBuf>,
    /// Keep what comes on standard input, at most 16 MiB: every attempt reads it as its own
    #[arg(long, conflicts_with = "batch")]
    pub stdin: bool,
    #[command(flatten)]
    pub options: JobOptions,
    /// Show what would be enqueued, and enqueue nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub waiting: WaitOptions,
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
