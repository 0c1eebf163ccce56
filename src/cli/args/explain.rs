//! What may be typed after `runner explain`.

use clap::Args;

use super::super::values;

/// `explain`
#[derive(Debug, Args)]
pub struct Explain {
    /// A job of the job file, or the id of a job
    #[arg(value_name = "NAME|ID")]
    pub what: String,
    /// It exits with this status
    #[arg(long, value_name = "N", group = "ending", value_parser = clap::value_parser!(u8))]
    pub exit: Option<u8>,
    /// It is killed by this signal
    #[arg(long, value_name = "S", group = "ending", value_parser = values::signal)]
    pub signal: Option<i32>,
    /// It outlives its timeout
    #[arg(long, group = "ending")]
    pub timeout: bool,
    /// After this many attempts of the budget
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: u32,
}

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  runner explain push-metrics --exit 22
  runner explain push-metrics --signal SIGKILL --attempt 3
  runner explain push-metrics --timeout
  runner explain 7                  why job 7 is in its state, and what happens next";
