//! The arguments of the verbs that show jobs and their output. Their doc comments are the help.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::list_format::ListFormatArg;
use crate::cli::typed_time::PastTime;
use crate::cli::values;
use crate::model::{DeadReason, ErrorCode};
use crate::text::Millis;

#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct InspectArgs {
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
    /// Sort stats by p95, max, cpu, rss, failures or name
    #[arg(long, value_name = "KEY", hide_possible_values = true)]
    pub sort: Option<StatsOrder>,
    /// List each time of schedules within this span
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse)]
    pub next: Option<Millis>,
    /// With dead: those that were resolved
    #[arg(long)]
    pub resolved: bool,
    /// Exit 1 if anything is listed
    #[arg(long)]
    pub fail_if_any: bool,
    /// Print an HTML page of 24 h, or since --since
    #[arg(long, conflicts_with_all = ["what", "json"])]
    pub html: bool,
    /// Print metrics in the text format of Prometheus
    #[arg(long, visible_alias = "openmetrics", conflicts_with_all = ["what", "json", "html"])]
    pub prometheus: bool,
    #[command(flatten)]
    pub format: ListFormatArg,
    /// Redraw the screen as it changes, until q or Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "fail_if_any", "html", "prometheus"])]
    pub watch: bool,
}

/// The order of `inspect stats`: the largest number first, or by name.
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
pub struct LogsArgs {
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
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}
