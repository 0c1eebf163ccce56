//! What may be typed after `runner prune`.

use clap::Args;

use super::super::values;
use crate::model::JobState;
use crate::text::Millis;

/// `prune`
#[derive(Debug, Args)]
pub struct Prune {
    /// Only what finished at least this long ago: 30d
    #[arg(long, value_name = "DUR", required_unless_present = "dry_run", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub older_than: Option<Millis>,
    /// In this state: succeeded, cancelled or dead. Repeatable [default: succeeded and cancelled]
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = values::finished_state)]
    pub state: Vec<JobState>,
    /// Only jobs of this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only in this queue
    #[arg(long)]
    pub queue: Option<String>,
    /// Only say how many would go
    #[arg(long)]
    pub dry_run: bool,
}

pub(super) const PRUNE_EXAMPLES: &str = "\
Examples:
  runner prune --older-than 30d     what succeeded or was cancelled: for cron
  runner prune --dry-run            how many could go
  runner prune --older-than 1d --state succeeded --name push-metrics
  runner prune --older-than 90d --state dead       dead letters go only when they are named

A job goes with its attempts, output and input, and its idempotency key may be given out again. Workers go on \
meanwhile; Ctrl-C ends it between two jobs, and the next prune goes on.
The file does not shrink: the space is used again. To give it back to the disk, stop the workers and type \
sqlite3 FILE VACUUM.";
