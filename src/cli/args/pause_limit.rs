//! The arguments of `pause`, `resume` and `limit`. Their doc comments are the help.

use clap::Args;

use crate::cli::typed_time::At;
use crate::cli::values;
use crate::model::{Limits, Rate};
use crate::text::Millis;

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
pub struct PauseArgs {
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
pub struct LimitArgs {
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

impl LimitArgs {
    /// The limits that are given.
    pub fn limits(&self) -> Limits {
        Limits { max_running: self.max_running, rate: self.rate }
    }
}
