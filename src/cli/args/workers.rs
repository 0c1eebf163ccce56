//! The arguments of the verbs that start workers. Their doc comments are the help.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::{help, values};
use crate::text::Millis;

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// Attempts at once [default: CPUs, at least 4]
    #[arg(short = 'j', long = "jobs", value_name = "N", value_parser = values::slots)]
    pub slots: Option<usize>,
    /// Exit 0 at once if any worker is alive
    #[arg(long)]
    pub single: bool,
    /// Only this queue; repeatable
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub queue: Vec<String>,
    /// End when no job is due, now or later
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

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct ServiceArgs {
    #[command(subcommand)]
    pub act: Option<ServiceAct>,
    /// Whose jobs the worker runs; root has to say it
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ServiceAct {
    /// Start a worker now, and after each boot
    #[command(after_help = help::SERVICE)]
    Install(ServiceInstallArgs),
    /// Undo that, exactly
    #[command(after_help = help::SERVICE)]
    Remove(ServiceRemoveArgs),
}

#[derive(Debug, Args)]
pub struct ServiceInstallArgs {
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
pub struct ServiceRemoveArgs {
    /// Only show the files and commands
    #[arg(long)]
    pub dry_run: bool,
}
