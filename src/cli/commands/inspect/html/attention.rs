//! The section "Needs attention": whatever keeps jobs from running, and dead letters.

use std::cmp::Reverse;

use anyhow::Result;
use maud::{Markup, html};

use super::super::dead::joined;
use super::words::{commands, job_text, when};
use crate::cli::status::WorkerStatus;
use crate::model::{MISSED_AFTER, job_title};
use crate::store::{DeadGroup, DeadRow, Filter, Overview, Store, StoredSchedule};
use crate::text::{Timestamp, counted, shell_word};

/// The page shows at most this many rows of dead letters that died alike.
const MAX_LETTERS: usize = 30;

/// Something that needs attention, and the commands that help.
pub(super) struct Notice {
    heading: Markup,
    /// The last line of the job's output.
    last_words: String,
    details: Markup,
    commands: Vec<String>,
}

impl Notice {
    pub(super) fn draw(&self) -> Markup {
        html! {
            li {
                h3 { (self.heading) }
                @if !self.last_words.is_empty() { blockquote { (job_text(&self.last_words)) } }
                p { (self.details) }
                (commands(&self.commands))
            }
        }
    }
}

/// The unresolved dead letters, newest first, with jobs that died alike in one notice; and the number of jobs that are in
/// none of the notices.
pub(super) fn dead_letters(store: &Store, filter: &Filter, now: Timestamp) -> Result<(Vec<Notice>, u64)> {
    let filter = Filter { since: None, until: None, resolved: Some(false), ..filter.clone() };
    let groups = store.dead_letters(&filter, MAX_LETTERS, now)?;
    let all: u64 = groups.iter().map(|group| group.jobs).sum();
    let rows = groups.into_iter().flat_map(|DeadGroup { error_code, rows, .. }| {
        rows.into_iter().map(move |row| (error_code.clone(), row))
    });
    let mut rows: Vec<(String, DeadRow)> = rows.collect();
    rows.sort_by_key(|(_, row)| Reverse((row.last_death, row.newest())));
    rows.truncate(MAX_LETTERS);
    let beyond = all - rows.iter().map(|(_, row)| row.jobs).sum::<u64>();
    let letters = rows.into_iter().map(|(code, row)| {
        let newest = row.newest();
        let labels = Some(row.shown_labels()).filter(|labels| !labels.is_empty());
        let job = store.job(newest, now)?;
        let runs = job.as_ref().map_or(0, |job| job.attempts);
        let force = job.as_ref().is_some_and(|job| !job.definition.policy.retryable);
        let reason = job
            .and_then(|job| job.dead_reason)
            .map_or_else(String::new, |reason| reason.to_string().replace('_', " "));
        let commands = letter_commands(
            &code,
            &row,
            filter.label.as_deref(),
            runs > 0,
            if force { " --force" } else { "" },
        );
        Ok(Notice {
            heading: html! {
                b { (job_text(&job_title(&row.name, labels.as_deref()))) } " " span.code { (job_text(&code)) }
                @if row.jobs > 1 { " " span.times { "×" (row.jobs) } }
            },
            last_words: row.last_words,
            details: html! {
                @if row.jobs > 1 {
                    (counted(row.jobs, "job")) ", the first " (when(row.first_death, now)) ", the last "
                } @else {
                    "job " (newest) ", "
                }
                (when(row.last_death, now)) ". " (counted(runs, "run")) ": " (reason) "."
            },
            commands,
        })
    });
    Ok((letters.collect::<Result<_>>()?, beyond))
}

/// The commands that help with dead letters: `logs`, `retry` and `resolve`.
fn letter_commands(
    code: &str,
    row: &DeadRow,
    label: Option<&str>,
    has_log: bool,
    force: &str,
) -> Vec<String> {
    let name = &row.name;
    let label = label.map(|label| format!(" --label {}", shell_word(label))).unwrap_or_default();
    let mut lines = Vec::new();
    if has_log {
        lines.push(format!("runner logs {}", row.newest()));
    }
    if let Some(ids) = row.all_ids() {
        let ids = joined(ids);
        lines.push(format!("runner retry {ids}{force}"));
        lines.push(format!("runner resolve {ids}"));
    } else {
        lines.push(format!("runner inspect dead --name {name} --error-code {code}{label}"));
        lines.push(format!("runner retry --dead --name {name} --error-code {code}{label}{force}"));
    }
    lines
}

/// What keeps jobs from running: no worker, paused queues, and schedules that do not fire.
pub(super) fn obstacles(
    overview: &Overview,
    workers: &[WorkerStatus],
    schedules: &[StoredSchedule],
    now: Timestamp,
) -> Vec<Notice> {
    let notice = |heading: String, details: Markup, command: String| Notice {
        heading: html! { (job_text(&heading)) },
        last_words: String::new(),
        details,
        commands: vec![command],
    };
    let mut notices = Vec::new();
    let waiting = overview.counts.unfinished();
    let alive = workers.iter().any(WorkerStatus::is_alive);
    let fires = schedules.iter().filter(|row| !row.paused && row.next_at.is_some()).count();
    if !alive && (waiting > 0 || fires > 0) {
        let details = html! {
            @if waiting > 0 { (counted(waiting, "job")) " unfinished. " }
            @if let Some(due) = overview.oldest_due_at { "The oldest has been due since " (when(due, now)) ". " }
            @if fires > 0 { (counted(fires, "schedule")) " without a worker to fire." }
        };
        notices.push(notice("No worker is running".to_owned(), details, "runner work".to_owned()));
    }
    for queue in &overview.queues {
        let (name, jobs) = (&queue.name, counted(queue.counts.unfinished(), "job"));
        if queue.paused {
            let details = html! { (jobs) " in it." };
            notices.push(notice(format!("Queue {name} is paused"), details, format!("runner resume {name}")));
        } else if alive && queue.counts.ready > 0 && !workers.iter().any(|worker| worker.takes_from(name)) {
            let details = html! { (jobs) " in it." };
            let heading = format!("No worker takes jobs of queue {name}");
            notices.push(notice(heading, details, format!("runner work --queue {name}")));
        }
    }
    for row in schedules {
        let name = row.name();
        match row.next_at {
            _ if row.paused => notices.push(notice(
                format!("Schedule {name} is paused"),
                html! { "Its times pass without a run." },
                format!("runner resume --schedule {name}"),
            )),
            Some(due) if due.plus(MISSED_AFTER) < now => notices.push(notice(
                format!("Schedule {name} has missed its time"),
                html! { "It was due " (when(due, now)) ", and no worker has fired it." },
                "runner work".to_owned(),
            )),
            None => notices.push(notice(
                format!("Schedule {name} never comes again"),
                html! { "It has no next time." },
                "runner inspect schedules".to_owned(),
            )),
            Some(_) => {}
        }
    }
    notices
}
