//! Everything that needs attention: dead letters, and whatever keeps jobs from running.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use maud::{Markup, html};

use super::words::{commands, shown, when};
use crate::cli::worker_status::WorkerStatus;
use crate::model::MISSED_AFTER;
use crate::store::{Filter, Overview, ScheduleRow, Store};
use crate::text::{Timestamp, counted};

/// Dead letters, folded, that the page shows.
const MAX_LETTERS: usize = 30;

/// Ids that a command names.
const MAX_IDS: usize = 10;

/// Something to look at.
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
                @if !self.last_words.is_empty() { blockquote { (shown(&self.last_words)) } }
                p { (self.details) }
                (commands(&self.commands))
            }
        }
    }
}

/// Jobs of one name that died with the same code and last words, the newest first.
#[derive(Default)]
struct Fold {
    jobs: usize,
    /// The newest of them.
    ids: Vec<i64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// The dead letters that are not resolved, the newest first, and how many jobs and folds there are beyond these.
pub(super) fn dead_letters(store: &Store, filter: &Filter, now: Timestamp) -> Result<(Vec<Notice>, usize)> {
    let mut folds: BTreeMap<(String, String, String), Fold> = BTreeMap::new();
    let filter = Filter { since: None, until: None, resolved: Some(false), ..filter.clone() };
    store.for_each_dead_letter(&filter, now, |letter| {
        let fold = folds.entry((letter.name, letter.error_code, shown(&letter.last_words))).or_default();
        fold.jobs += 1;
        fold.first = Some(letter.died_at);
        fold.last.get_or_insert(letter.died_at);
        if fold.ids.len() < MAX_IDS {
            fold.ids.push(letter.id);
        }
    })?;
    let mut folds: Vec<_> = folds.into_iter().collect();
    folds.sort_by_key(|(_, fold)| Reverse(fold.ids.first().map(|newest| (fold.last, *newest))));
    let beyond = folds.iter().skip(MAX_LETTERS).map(|(_, fold)| fold.jobs).sum();
    folds.truncate(MAX_LETTERS);
    let letters = folds.into_iter().map(|((name, code, last_words), fold)| {
        let newest = fold.ids.first().copied().unwrap_or_default();
        let job = store.job(newest, now)?;
        let runs = job.as_ref().map_or(0, |job| job.attempts);
        let force = job.as_ref().is_some_and(|job| !job.spec.policy.retryable);
        let reason = job.and_then(|job| job.dead_reason).map_or_else(String::new, |reason| reason.to_string().replace('_', " "));
        let commands = letter_commands(&name, &code, &fold, runs > 0, if force { " --force" } else { "" });
        Ok(Notice {
            heading: html! {
                b { (shown(&name)) } " " span.code { (shown(&code)) }
                @if fold.jobs > 1 { " " span.times { "×" (fold.jobs) } }
            },
            last_words,
            details: html! {
                @if fold.jobs > 1 {
                    (counted(fold.jobs, "job")) ", the first " @if let Some(at) = fold.first { (when(at, now)) } ", the last "
                } @else {
                    "job " (newest) ", "
                }
                @if let Some(at) = fold.last { (when(at, now)) } ". " (counted(runs, "run")) ": " (reason) "."
            },
            commands,
        })
    });
    Ok((letters.collect::<Result<_>>()?, beyond))
}

/// The commands to type: `logs`, `retry` and `resolve`.
fn letter_commands(name: &str, code: &str, fold: &Fold, has_log: bool, force: &str) -> Vec<String> {
    let ids = fold.ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    if let Some(newest) = fold.ids.first().filter(|_| has_log) {
        lines.push(format!("runner logs {newest}"));
    }
    if fold.jobs <= fold.ids.len() {
        lines.push(format!("runner retry {ids}{force}"));
        lines.push(format!("runner resolve {ids}"));
    } else {
        lines.push(format!("runner inspect dead --name {name} --error-code {code}"));
        lines.push(format!("runner retry --dead --name {name} --error-code {code}{force}"));
    }
    lines
}

/// Causes that keep jobs from running: no worker, paused queues, and schedules that do not fire.
pub(super) fn hindrances(
    overview: &Overview,
    workers: &[WorkerStatus],
    schedules: &[ScheduleRow],
    now: Timestamp,
) -> Vec<Notice> {
    let notice = |heading: String, details: Markup, command: String| Notice {
        heading: html! { (shown(&heading)) },
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
