//! The section "Now": the jobs that run, with the last line that they wrote, and those that wait, with what they wait for. A job that
//! waits in vain stands on the card of the one that died.

use maud::{Markup, html};

use super::words::{job_text, more, table, when};
use crate::call_target::to_type;
use crate::model::{ErrorCode, JobState, Phase};
use crate::store::{JobRow, WorkerStatus};
use crate::text::Timestamp;
use crate::view::text::status::obstacle_text;

/// The most jobs of a kind that have a row.
pub const MAX_ROWS: usize = 10;

/// The unfinished jobs of one status.
pub struct UnfinishedSection {
    pub status: &'static str,
    pub count: u64,
    /// How many are neither in a row nor on a card.
    pub left_out: usize,
    /// The jobs among the first [`MAX_ROWS`] that do not wait in vain.
    pub rows: Vec<UnfinishedRow>,
}

impl UnfinishedSection {
    /// Whether anything is shown of these jobs here: those that wait in vain stand on a card.
    pub(super) fn has_lines(&self) -> bool {
        self.left_out > 0 || !self.rows.is_empty()
    }
}

pub struct UnfinishedRow {
    pub job: JobRow,
    /// The last line that a running job wrote, as a screen shows it.
    pub last_line: Option<String>,
    /// When the last of the jobs is due that a blocked one waits for, if nobody has begun with them.
    pub begins_at: Option<Timestamp>,
}

/// Says how far a job is, or why it waits.
fn what(job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> String {
    let max_attempts = job.definition.policy.max_attempts();
    let next = job.attempts_used.saturating_add(1);
    let attempt = if job.state == JobState::Running {
        Some(format!("attempt {next} of {max_attempts}"))
    } else if job.phase == Some(Phase::Retrying) {
        let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
        Some(format!("attempt {next} of {max_attempts}, after {last}"))
    } else {
        None
    };
    attempt.into_iter().chain(obstacle_text(job, workers, now)).collect::<Vec<_>>().join("; ")
}

pub(super) fn draw(all: &[UnfinishedSection], workers: &[WorkerStatus], now: Timestamp) -> Markup {
    let heads =
        [("job", ""), ("state", "at"), ("since or due", ""), ("what it does or waits for", "wide what")];
    let row = |status: &'static str, UnfinishedRow { job, last_line, begins_at }: &UnfinishedRow| {
        vec![
            html! { span.at { (job.id) } " " (job_text(&job.title())) },
            html! { span.at { (status) } },
            when(job.running_since().or(*begins_at).unwrap_or(job.run_at), now),
            html! {
                (job_text(&what(job, workers, now)))
                @if let Some(line) = last_line { ": " code { (job_text(line)) } }
            },
        ]
    };
    let rows: Vec<_> = all.iter().flat_map(|of| of.rows.iter().map(|line| row(of.status, line))).collect();
    html! {
        @if !rows.is_empty() { (table(&heads, &rows)) }
        @for of in all {
            (more(
                of.left_out,
                &format!("more {} job", of.status),
                &to_type("inspect", format_args!("jobs --state {}", of.status)),
            ))
        }
    }
}
