//! The arguments of the verbs for the job file. Their doc comments are the help.

use std::path::PathBuf;

use clap::Args;

use crate::cli::values;

#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// Take over a crontab: without a value that of crontab -l, else a file or - (standard input)
    #[arg(long, value_name = "FILE")]
    #[expect(clippy::option_option, reason = "the option may stand without a value")]
    pub from_crontab: Option<Option<PathBuf>>,
    /// The crontab names a user in each line, as /etc/crontab and /etc/cron.d/* do, which are known by their paths
    #[arg(long, requires = "from_crontab")]
    pub system: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The job file [default: as for every verb], or a job in it
    #[arg(value_name = "FILE|NAME")]
    pub what: Option<PathBuf>,
    /// Say what follows an attempt that exits with this status
    #[arg(long, value_name = "N", group = "ending", allow_negative_numbers = true, value_parser = values::exit_status)]
    pub exit: Option<u8>,
    /// The same for one that is killed by this signal
    #[arg(long, value_name = "S", group = "ending", value_parser = values::fatal_signal)]
    pub signal: Option<i32>,
    /// The same for one that exceeds its timeout
    #[arg(long, group = "ending")]
    pub timeout: bool,
    /// As the K-th attempt of the budget
    #[arg(long, value_name = "K", requires = "ending", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: u32,
}

#[derive(Debug, Args)]
pub struct ApplyArgs {
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
