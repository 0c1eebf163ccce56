//! The arguments of `backup`, `restore`, `doctor` and `prune`. Their doc comments are the help.

use std::path::PathBuf;

use clap::Args;

use crate::cli::values;
use crate::model::JobState;
use crate::text::Millis;

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub target: PathBuf,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Exit 1 also if anything needs attention, such as dead letters, or due jobs that no worker takes
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The copy to restore; it is not changed
    #[arg(value_name = "FILE")]
    pub source: PathBuf,
}

#[derive(Debug, Args)]
pub struct PruneArgs {
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
