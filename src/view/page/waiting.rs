//! The section "Now": the jobs that run, and those that wait, with what they wait for.

use maud::{Markup, html};

use super::words::{command, job_text, table, when};
use crate::model::{ErrorCode, JobState, Phase};
use crate::place::runner;
use crate::store::{Death, JobRow, WorkerStatus};
use crate::text::{Timestamp, counted};
use crate::view::text::status::{dependency_text, status_text};

/// The most jobs of a kind that have a row.
pub const MAX_ROWS: usize = 10;

/// The unfinished jobs of one status.
pub struct UnfinishedSection {
    pub status: &'static str,
    pub count: u64,
    /// The first [`MAX_ROWS`].
    pub rows: Vec<UnfinishedRow>,
}

pub struct UnfinishedRow {
    pub job: JobRow,
    /// How the job died that this one waits for in vain, if it does.
    pub death: Option<Death>,
}

/// Says how far a job is, or why it waits.
fn what(UnfinishedRow { job, death }: &UnfinishedRow, workers: &[WorkerStatus], now: Timestamp) -> String {
    let max_attempts = job.definition.policy.max_attempts();
    let next = job.attempts_used.saturating_add(1);
    if job.phase == Some(Phase::Blocked) {
        let text = dependency_text(job);
        return match death.as_ref().filter(|death| !death.last_words.is_empty()) {
            Some(death) => format!("{text}; job {} died because: {}", death.job_id, death.last_words),
            None => text,
        };
    }
    let mut parts = Vec::new();
    if job.state == JobState::Running {
        parts.push(format!("attempt {next} of {max_attempts}"));
    } else if job.phase == Some(Phase::Retrying) {
        let last = job.last_error_code.as_ref().map_or("its last attempt", ErrorCode::as_str);
        parts.push(format!("attempt {next} of {max_attempts}, after {last}"));
    }
    // The first sentence has times that are told from now, and now is over when somebody reads the page.
    parts.extend(status_text(job, workers, now).into_iter().skip(1));
    parts.join("; ")
}

pub(super) fn draw(all: &[UnfinishedSection], workers: &[WorkerStatus], now: Timestamp) -> Markup {
    let heads = [("job", ""), ("state", "at"), ("since or due", ""), ("what it does or waits for", "wide")];
    let row = |status: &'static str, row: &UnfinishedRow| {
        let job = &row.job;
        vec![
            html! { span.at { (job.id) } " " (job_text(&job.title())) },
            html! { span.at { (status) } },
            when(job.running_since().unwrap_or(job.run_at), now),
            html! { (job_text(&what(row, workers, now))) },
        ]
    };
    let rows: Vec<_> = all.iter().flat_map(|of| of.rows.iter().map(|line| row(of.status, line))).collect();
    html! {
        (table(&heads, &rows))
        @for of in all.iter().filter(|of| of.count > of.rows.len() as u64) {
            p.note { (counted(of.count - of.rows.len() as u64, "more job")) " " (of.status) ":" }
            (command(&runner("inspect", format_args!("jobs --state {}", of.status))))
        }
    }
}
