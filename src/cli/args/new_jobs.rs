//! The arguments of the verbs that put jobs on disk, run one, and wait for them. Their doc comments are the help.
#![expect(clippy::doc_markdown, reason = "these comments are the help, where backticks would be shown")]

use std::path::PathBuf;

use clap::Args;

use crate::cli::help;
use crate::cli::options::JobOptions;
use crate::cli::values::{self, JobRef};
use crate::text::Millis;

#[derive(Debug, Default, Args)]
#[command(mut_args(help::hide_from_run))]
pub struct RunArgs {
    /// A job of the job file
    #[arg(value_name = "NAME", num_args = 0..=1)]
    pub names: Vec<String>,
    /// Pass on standard input, at most 16 MiB; else it is not read
    #[arg(long)]
    pub stdin: bool,
    /// Only show what would be run
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub options: JobOptions,
}

#[derive(Debug, Default, Args)]
#[command(mut_args(help::hide_rare))]
pub struct EnqueueArgs {
    /// Jobs of the job file
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Every job of the job file but alerts (on_dead)
    #[arg(long, conflicts_with_all = ["names", "command", "batch", "args"])]
    pub all: bool,
    /// One JSON object a line, from a file or -
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
    /// Wait no longer; then exit 75, and the job goes on
    #[arg(long, value_name = "DUR", requires = "wait", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub wait_timeout: Option<Millis>,
    /// If the job dies, print its last output
    #[arg(long, requires = "wait")]
    pub output_on_failure: bool,
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Jobs; a name stands for the newest job of that name
    #[arg(value_name = "ID|NAME", required_unless_present_any = ["name", "label"], value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// All jobs of this name, but for resolved ones
    #[arg(long, conflicts_with = "jobs")]
    pub name: Option<String>,
    /// All jobs with this label, but for resolved ones
    #[arg(long, value_name = "TEXT", conflicts_with = "jobs", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// Wait no longer; then exit 75, and the jobs go on
    #[arg(long = "wait-timeout", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub timeout: Option<Millis>,
}
