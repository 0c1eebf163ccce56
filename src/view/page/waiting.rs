//! The section "Now": the jobs that run, and those that wait, with what they wait for.

use anyhow::Result;
use maud::{Markup, html};

use super::words::{command, job_text, table, when};
use crate::cli::status::{dependency_text, status_text};
use crate::model::{ErrorCode, JobState, Phase};
use crate::place::runner;
use crate::store::{Filter, JobRow, Store, UnfinishedJobs, WorkerStatus};
use crate::text::{Timestamp, counted};

/// The most jobs of a kind that have a row.
const MAX_ROWS: usize = 10;

/// The jobs of one kind: how many there are, and the rows of the first ones.
pub(super) struct Waiting {
    pub status: &'static str,
    pub count: u64,
    rows: Vec<Row>,
}

struct Row {
    id: i64,
    title: String,
    /// The start of what runs, else the due time.
    at: Timestamp,
    what: String,
}

pub(super) fn read(
    store: &Store,
    filter: &Filter,
    workers: &[WorkerStatus],
    now: Timestamp,
) -> Result<Vec<Waiting>> {
    let mut found = Vec::new();
    for UnfinishedJobs { status, count, ids } in store.unfinished(filter, MAX_ROWS, now)? {
        let mut rows = Vec::new();
        for id in ids {
            if let Some(job) = store.job(id, now)? {
                let what = what(store, &job, workers, now)?;
                let at = job.running_since().unwrap_or(job.run_at);
                rows.push(Row { id, title: job.title(), at, what });
            }
        }
        found.push(Waiting { status, count, rows });
    }
    Ok(found)
}

/// Says how far a job is, or why it waits.
fn what(store: &Store, job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Result<String> {
    let max_attempts = job.definition.policy.max_attempts();
    let next = job.attempts_used.saturating_add(1);
    if job.phase == Some(Phase::Blocked) {
        let mut text = dependency_text(job);
        let stuck = job.waits_for.iter().filter(|unmet| unmet.is_stuck());
        let ids: Vec<i64> = stuck.take(1).map(|unmet| unmet.id).collect();
        for death in store.deaths(&ids)?.into_iter().filter(|death| !death.last_words.is_empty()) {
            text = format!("{text}; job {} died because: {}", death.job_id, death.last_words);
        }
        return Ok(text);
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
    Ok(parts.join("; "))
}

pub(super) fn draw(all: &[Waiting], now: Timestamp) -> Markup {
    let heads = [("job", ""), ("state", "at"), ("since or due", ""), ("what it does or waits for", "wide")];
    let row = |status: &'static str, row: &Row| {
        vec![
            html! { span.at { (row.id) } " " (job_text(&row.title)) },
            html! { span.at { (status) } },
            when(row.at, now),
            html! { (job_text(&row.what)) },
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
