//! The arguments of the verbs that act on jobs. Their doc comments are the help.

use clap::Args;

use crate::cli::typed_time::At;
use crate::cli::values::{self, JobRef};
use crate::model::ErrorCode;
use crate::store::{Due, Filter};
use crate::text::{Millis, Timestamp};

// Jobs, or the unfinished ones that filters select.
#[derive(Debug, Args)]
pub struct Unfinished {
    /// Jobs; a name stands for its one unfinished job
    #[arg(value_name = "ID|NAME", required_unless_present_any = ["name", "label", "queue"], value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// All unfinished jobs of this name
    #[arg(long, conflicts_with = "jobs")]
    pub name: Option<String>,
    /// All unfinished jobs with this label; '' for those without one
    #[arg(long, conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// All unfinished jobs of this queue
    #[arg(long, conflicts_with = "jobs")]
    pub queue: Option<String>,
}

impl Unfinished {
    /// What the options select.
    pub fn filter(&self) -> Filter {
        let Self { name, label, queue, .. } = self;
        Filter { name: name.clone(), label: label.clone(), queue: queue.clone(), ..Filter::default() }
    }
}

// Jobs, or the dead letters that filters select.
#[derive(Debug, Default, Args)]
pub struct Selection {
    /// Jobs; a name stands for the newest dead job of that name
    #[arg(value_name = "ID|NAME", required_unless_present = "dead", value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// Every unresolved dead letter that the filters select
    #[arg(long, conflicts_with = "jobs")]
    pub dead: bool,
    /// With --dead: only jobs of this name
    #[arg(long, requires = "dead", conflicts_with = "jobs")]
    pub name: Option<String>,
    /// With --dead: only with this error code
    #[arg(long, requires = "dead", conflicts_with = "jobs", value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// With --dead: only with this label
    #[arg(long, requires = "dead", conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    #[command(flatten)]
    pub which: Selection,
    #[command(flatten)]
    pub how: HowToRetry,
    /// With --dead: of equal jobs retry only the newest
    #[arg(long, requires = "dead", conflicts_with = "jobs")]
    pub latest: bool,
    /// Show what would be put back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct HowToRetry {
    /// Also retry jobs that are declared retryable = false
    #[arg(long)]
    pub force: bool,
    /// As a new job, with the file's present definition
    #[arg(long)]
    pub redefine: bool,
}

#[derive(Debug, Args)]
pub struct ChangeArgs {
    #[command(flatten)]
    pub which: Unfinished,
    #[command(flatten)]
    pub what: WhatToChange,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct WhatToChange {
    /// Due now
    #[arg(long, conflicts_with_all = ["delay", "at"])]
    pub now: bool,
    /// Due after this time
    #[arg(long = "in", value_name = "DUR", allow_hyphen_values = true, value_parser = Millis::parse, conflicts_with = "at")]
    pub delay: Option<Millis>,
    /// Due at this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = At::parse)]
    #[arg(help = "Due at this time: HH:MM, 'YYYY-MM-DD HH:MM[:SS]' or RFC 3339")]
    pub at: Option<At>,
    /// -1000 to 1000, higher first
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::priority)]
    pub priority: Option<i32>,
    /// Into this queue
    #[arg(long, value_name = "QUEUE", value_parser = values::name)]
    pub to_queue: Option<String>,
    /// As new jobs, with the file's present definition; their places are kept
    #[arg(long, conflicts_with_all = ["now", "delay", "at", "priority", "to_queue"])]
    pub redefine: bool,
}

impl WhatToChange {
    /// When the job is due from now on, if these options say so.
    pub fn due(&self, now: Timestamp) -> Option<Due> {
        let now_or_in = if self.now { Some(Due::Now) } else { self.delay.map(Due::In) };
        now_or_in.or(self.at.map(|at| Due::At(at.resolve(now))))
    }
}

#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// Jobs; a name stands for its newest dead one, else warned one
    #[arg(value_name = "ID|NAME", required_unless_present = "by_filter", value_parser = JobRef::parse)]
    pub jobs: Vec<JobRef>,
    /// Every unresolved dead letter that the filters select
    #[arg(long, conflicts_with = "jobs", group = "by_filter")]
    pub dead: bool,
    /// Every unresolved success with a warning
    #[arg(long, conflicts_with = "jobs", group = "by_filter")]
    pub warned: bool,
    /// With --dead or --warned: only jobs of this name
    #[arg(long, requires = "by_filter", conflicts_with = "jobs")]
    pub name: Option<String>,
    /// With --dead: only with this error code
    #[arg(long, requires = "dead", conflicts_with_all = ["jobs", "warned"], value_name = "CODE", value_parser = ErrorCode::parse)]
    pub error_code: Option<ErrorCode>,
    /// With --dead or --warned: only with this label
    #[arg(long, requires = "by_filter", conflicts_with = "jobs", value_name = "TEXT", value_parser = values::selected_label)]
    pub label: Option<String>,
    /// With --dead: only if a later run succeeded
    #[arg(long, requires = "dead", conflicts_with_all = ["jobs", "warned"])]
    pub recovered: bool,
    /// A note on how it was dealt with
    #[arg(long, value_name = "TEXT", value_parser = values::nonempty)]
    pub note: Option<String>,
}
