//! `--html`: a page about a period, with what needs attention, what runs and waits, a timeline, schedules, and the numbers of
//! each name.
//!
//! It has no script and fetches nothing. Because it shows text from jobs, a policy in its head makes the browser refuse
//! both.

mod attention;
mod axis;
mod bars;
#[cfg(test)]
mod contrast;
mod names;
mod schedules;
mod timeline;
mod waiting;
mod words;
mod worst;

use std::collections::BTreeSet;
use std::path::PathBuf;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use self::attention::{Card, CardDeaths, MAX_OUTPUTS, cards};
use self::axis::Axis;
pub use self::schedules::{WeekOfSchedules, last_days};
pub use self::waiting::{MAX_ROWS, UnfinishedRow, UnfinishedSection};
pub use self::words::MAX_NAMES;
use self::words::{capitalized, command, job_text, when, zone};
use self::worst::Worst;
use crate::call_target::{CallTarget, to_type};
use crate::model::{Attention, Outcome, Way};
use crate::store::{Filter, NameStats, Stage, Timeline, TimelineAttempt, WorkerStatus};
use crate::text::{Millis, Timestamp, counted, day_name};
use crate::view::advice::no_worker_and_ways;

/// The period without `--since`.
const PERIOD: Millis = Millis::from_secs(24 * 60 * 60);

/// Everything that the page shows.
pub struct Page {
    pub now: Timestamp,
    pub db: PathBuf,
    pub host: String,
    /// What the page is about, as it was asked for.
    pub filter: Filter,
    /// The dead letters that nobody resolved.
    pub dead: u64,
    pub has_database: bool,
    pub boot_id: String,
    pub workers: Vec<WorkerStatus>,
    pub attention: Vec<Attention>,
    pub cards: Vec<Card>,
    pub unfinished: Vec<UnfinishedSection>,
    pub timeline: Timeline,
    pub schedules: WeekOfSchedules,
}

/// The period that this filter asks for.
pub fn period(filter: &Filter, now: Timestamp) -> (Timestamp, Timestamp) {
    let until = filter.until.unwrap_or(now);
    (filter.since.unwrap_or(until.minus(PERIOD)).min(until), until)
}

/// The part of the period that the timeline shows.
fn timeline_axis(page: &Page, period: Axis) -> Axis {
    let times = |attempt: &TimelineAttempt| {
        [attempt.due_at, attempt.started_at, attempt.finished_at.or(Some(period.until))]
    };
    match page.filter.since {
        Some(_) => period,
        None => period.fitted(page.timeline.attempts.iter().flat_map(times).flatten()),
    }
}

/// The database, and the name, the label and the queue if the page is about one.
fn scope(page: &Page) -> Vec<String> {
    let Filter { name, label, queue, .. } = &page.filter;
    let mut scope = vec![job_text(&page.db.display().to_string())];
    scope.extend(name.as_ref().map(|name| format!("name {}", job_text(name))));
    let label_text = |label: &String| match label.as_str() {
        "" => "no label".to_owned(),
        label => format!("label {}", job_text(label)),
    };
    scope.extend(label.as_ref().map(label_text));
    scope.extend(queue.as_ref().map(|queue| format!("queue {}", job_text(queue))));
    scope
}

/// The page as HTML.
pub fn draw(page: &Page) -> String {
    markup(page).into_string()
}

fn markup(page: &Page) -> Markup {
    let now = page.now;
    let (since, until) = period(&page.filter, now);
    let axis = timeline_axis(page, Axis { since, until });
    let worst = Worst::of(&page.attention);
    let no_worker = no_worker_and_ways(None, &page.workers, CallTarget::of_this_call());
    let no_worker = no_worker.as_ref();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title(page, until)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    p.quiet { (scope(page).join(" · ")) }
                    h1 { (verdict(page, no_worker.is_some())) }
                    p.period { (when(since, now)) " – " (when(until, now)) " · times are " span.at { (zone(now)) } }
                    (workers(page, no_worker))
                    (tiles(page))
                }
                main {
                    @if !page.cards.is_empty() {
                        section { h2 { "Needs attention" } (attention::draw(&page.cards, &page.filter, now)) }
                    }
                    @if page.unfinished.iter().any(UnfinishedSection::has_lines) {
                        section { h2 { "Now" } (waiting::draw(&page.unfinished, &page.workers, now)) }
                    }
                    section {
                        h2 { "Timeline" }
                        (timeline::draw(&page.timeline, axis, now, &worst))
                    }
                    @if !page.schedules.is_empty() { section { h2 { "Schedules" } (page.schedules.draw(&page.boot_id, now, &worst)) } }
                    @if !page.timeline.stats.is_empty() { section { h2 { "Names" } (names::draw(&page.timeline.stats, &page.timeline.attempts, &worst, now)) } }
                }
                footer { "runner " (env!("CARGO_PKG_VERSION")) ", " (when(now, now)) " " span.at { (zone(now)) } }
            }
        }
    }
}

/// A title fit for a subject line: `2 dead, 126 ok · nas · Sun 22 Nov`.
fn title(page: &Page, until: Timestamp) -> String {
    let succeeded: u64 = page.timeline.stats.iter().map(|of| of.succeeded).sum();
    let host = job_text(&page.host);
    // A period that ends at midnight is about the day before.
    let day = day_name(until.minus(Millis(1)));
    if !page.has_database {
        return format!("no database · {host} · {day}");
    }
    format!("{} dead, {succeeded} ok · {host} · {day}", page.dead)
}

/// The headline of the page.
fn verdict(page: &Page, no_worker: bool) -> String {
    let has_plans = !page.unfinished.is_empty() || !page.schedules.is_empty();
    let nothing_ran = page.timeline.attempts.iter().all(|attempt| attempt.stage == Stage::Due);
    // As many as there are cards, which have all entries of a name.
    let notes = page.cards.iter().map(Card::notes).sum::<usize>();
    match (page.cards.iter().filter(|card| card.is_alarm()).count(), notes) {
        _ if !page.has_database => "There is no database yet".to_owned(),
        (1, _) => "One thing needs attention".to_owned(),
        (alarms @ 2.., _) => format!("{alarms} things need attention"),
        (0, notes @ 1..) => format!("No alarm, {}", counted(notes, "note")),
        (0, 0) if has_plans && no_worker => "No worker is running".to_owned(),
        (0, 0) if nothing_ran => "Nothing ran, and nothing needs attention".to_owned(),
        (0, 0) => "All is well".to_owned(),
    }
}

/// Whether a worker is running, and what starts one where something waits for it.
fn workers(page: &Page, no_worker: Option<&(String, Vec<Way>)>) -> Markup {
    let alive = page.workers.iter().filter(|worker| worker.is_living_worker()).count();
    let is_on_card =
        |way: &Way| page.attention.iter().any(|entry| entry.command.as_ref() == Some(&way.command));
    html! {
        @match no_worker {
            _ if !page.has_database => { p { "Nothing was enqueued yet. This makes the database:" } (command(&to_type("enqueue", "-- echo hello"))) }
            Some((why, ways)) => {
                p { (job_text(&capitalized(why))) }
                @for way in ways.iter().filter(|way| !is_on_card(way)) { p.note { (capitalized(&way.purpose)) ":" } (command(&way.command)) }
            }
            None if alive == 1 => p { "A worker is running" },
            None => p { (counted(alive, "worker")) " are running" },
        }
    }
}

/// The numbers that are not zero: of the jobs that ended in the period, as the table of names has them, and of those that are there
/// now, with the dead letters of the title.
fn tiles(page: &Page) -> Markup {
    let sum = |part: fn(&NameStats) -> u64| page.timeline.stats.iter().map(part).sum::<u64>();
    let was_retried =
        |it: &&TimelineAttempt| it.retry_at.is_some() && it.stage != Stage::Ended(Outcome::Interrupted);
    let retried: BTreeSet<i64> =
        page.timeline.attempts.iter().filter(was_retried).map(|it| it.job_id).collect();
    let ended = [
        ("f", sum(|of| of.dead), "dead"),
        ("o", sum(|of| of.succeeded), "succeeded"),
        ("i", sum(|of| of.cancelled), "cancelled"),
        ("r", retried.len() as u64, "retried"),
    ];
    let unfinished = page.unfinished.iter().map(|of| {
        let class = match of.status {
            "running" => "n",
            "retrying" => "r",
            _ => "w",
        };
        (class, of.count, of.status)
    });
    let now = [("f", page.dead, "dead and not resolved")].into_iter().chain(unfinished);
    html! { (tile_row("In this time:", ended)) (tile_row("Now:", now)) }
}

/// The tiles whose numbers are not zero, if there are any.
fn tile_row(caption: &str, tiles: impl IntoIterator<Item = (&'static str, u64, &'static str)>) -> Markup {
    let tiles: Vec<_> = tiles.into_iter().filter(|(_, number, _)| *number > 0).collect();
    html! {
        @if !tiles.is_empty() {
            ul.tiles {
                li.caption { (caption) }
                @for (class, number, word) in tiles { li class=(class) { b { (number) } " " (word) } }
            }
        }
    }
}
