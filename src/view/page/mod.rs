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

use std::collections::BTreeMap;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::attention::Card;
use self::axis::Axis;
use self::schedules::Schedules;
use self::waiting::Waiting;
use self::words::{command, job_text, when, zone};
use super::query::Query;
use crate::cli::commands::attention::{Snapshot, headline, look};
use crate::cli::locate;
use crate::cli::status::no_firing_text;
use crate::model::{Attention, Outcome};
use crate::place::runner;
use crate::store::{Filter, NameStats, Stage, Stats, TimelineAttempt};
use crate::text::{Millis, Timestamp, counted, day_name};
use crate::view::terminal::Output;

/// The period without `--since`.
const PERIOD: Millis = Millis::from_secs(24 * 60 * 60);

/// Everything that the page shows, read before any of it is drawn.
struct Page {
    now: Timestamp,
    /// The period that was asked for.
    period: Axis,
    /// The part of it that the timeline shows.
    axis: Axis,
    /// The database, and the name and the queue if the page is about one.
    scope: Vec<String>,
    /// The dead letters that nobody resolved.
    dead: u64,
    has_database: bool,
    workers_alive: usize,
    /// Why no worker takes jobs or fires schedules; none if one does.
    no_worker: Option<String>,
    /// The headline.
    verdict: String,
    worst: Worst,
    cards: Vec<Card>,
    waiting: Vec<Waiting>,
    attempts: Vec<TimelineAttempt>,
    schedules: Schedules,
    stats: Stats,
}

/// How bad each name is: by its dead letters that need attention, then by the last of these deaths.
pub(super) struct Worst(BTreeMap<String, Rank>);

type Rank = (u64, Option<Timestamp>);

impl Worst {
    fn of(list: &[Attention]) -> Self {
        let mut names: BTreeMap<String, Rank> = BTreeMap::new();
        for subject in list.iter().filter_map(|entry| entry.subject.as_ref()) {
            let rank = names.entry(subject.name.clone()).or_default();
            *rank = (rank.0 + subject.deaths, rank.1.max(subject.last_death));
        }
        Self(names)
    }

    fn rank(&self, name: &str) -> Rank {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// Writes the page about the period of the filter.
pub(super) fn show(out: &mut Output, query: &Query) -> Result<()> {
    let page = read(query)?;
    out.line(draw(&page).into_string());
    Ok(())
}

fn read(query: &Query) -> Result<Page> {
    let Query { store, now, .. } = *query;
    let until = query.filter.until.unwrap_or(now);
    let period = Axis { since: query.filter.since.unwrap_or(until.minus(PERIOD)).min(until), until };
    let filter = Filter { since: Some(period.since), ..query.filter.clone() };
    let Snapshot { mut schedules, attention, workers, .. } = look(store, &filter, now)?;
    schedules.retain(|row| {
        filter.name.as_ref().is_none_or(|name| name == row.name())
            && filter.queue.as_ref().is_none_or(|queue| *queue == row.chain.root.definition.queue)
    });
    let (attempts, stats) = store.timeline(&filter, now)?;
    let times = |attempt: &TimelineAttempt| {
        [attempt.due_at, attempt.started_at, attempt.finished_at.or(Some(period.until))]
    };
    let axis = match query.filter.since {
        Some(_) => period,
        None => period.fitted(attempts.iter().flat_map(times).flatten()),
    };
    let worst = Worst::of(&attention);
    let list = attention.clone();
    let mut page = Page {
        now,
        period,
        axis,
        scope: scope(query),
        dead: store.count_unresolved(&filter, now)?,
        has_database: locate::is_there(store),
        workers_alive: workers.iter().filter(|worker| worker.is_living_worker()).count(),
        no_worker: no_firing_text(&workers),
        verdict: String::new(),
        cards: attention::cards(store, attention, &worst, &schedules, now)?,
        worst,
        waiting: waiting::read(store, &filter, &workers, now)?,
        attempts,
        schedules: schedules::read(store, schedules, now)?,
        stats,
    };
    page.verdict = verdict(&page, &list);
    Ok(page)
}

/// The scope of the page.
fn scope(query: &Query) -> Vec<String> {
    let Filter { name, label, queue, .. } = &query.filter;
    let mut scope = vec![job_text(&query.store.file().path().display().to_string())];
    scope.extend(name.as_ref().map(|name| format!("name {}", job_text(name))));
    let label_text = |label: &String| match label.as_str() {
        "" => "no label".to_owned(),
        label => format!("label {}", job_text(label)),
    };
    scope.extend(label.as_ref().map(label_text));
    scope.extend(queue.as_ref().map(|queue| format!("queue {}", job_text(queue))));
    scope
}

fn draw(page: &Page) -> Markup {
    let Page { now, period, axis, .. } = *page;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title(page)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    p.quiet { (page.scope.join(" · ")) }
                    h1 { (page.verdict) }
                    p { (when(period.since, now)) " – " (when(period.until, now)) " · times are " span.at { (zone(now)) } }
                    (workers(page))
                    (tiles(page))
                }
                main {
                    @if !page.cards.is_empty() {
                        section { h2 { "Needs attention" } (attention::draw(&page.cards, now)) }
                    }
                    @if !page.waiting.is_empty() { section { h2 { "Now" } (waiting::draw(&page.waiting, now)) } }
                    section {
                        h2 { "Timeline" }
                        (timeline::draw(&page.attempts, axis, now, &page.worst))
                    }
                    @if !page.schedules.is_empty() { section { h2 { "Schedules" } (page.schedules.draw(now)) } }
                    @if !page.stats.is_empty() { section { h2 { "Names" } (names::draw(page, &page.worst)) } }
                }
                footer { "runner " (env!("CARGO_PKG_VERSION")) ", " (when(now, now)) " " span.at { (zone(now)) } }
            }
        }
    }
}

/// A title fit for a subject line: `2 dead, 126 ok · nas · Sun 22 Nov`.
fn title(page: &Page) -> String {
    let succeeded: u64 = page.stats.values().map(|of| of.succeeded).sum();
    let host = job_text(&rustix::system::uname().nodename().to_string_lossy());
    if !page.has_database {
        return format!("no database · {host} · {}", day_name(page.period.until));
    }
    format!("{} dead, {succeeded} ok · {host} · {}", page.dead, day_name(page.period.until))
}

/// The headline of the page.
fn verdict(page: &Page, attention: &[Attention]) -> String {
    let has_plans = !page.waiting.is_empty() || !page.schedules.is_empty();
    let nothing_ran = page.attempts.iter().all(|attempt| attempt.stage == Stage::Due);
    match headline(attention) {
        _ if !page.has_database => "There is no database yet".to_owned(),
        Some(needs) => needs[..1].to_uppercase() + &needs[1..],
        None if has_plans && page.no_worker.is_some() => "No worker is running".to_owned(),
        None if nothing_ran => "Nothing ran, and nothing needs attention".to_owned(),
        None => "All is well".to_owned(),
    }
}

/// Whether a worker is running, and what starts one where something waits for it.
fn workers(page: &Page) -> Markup {
    let alive = page.workers_alive;
    html! {
        @match &page.no_worker {
            _ if !page.has_database => { p { "Nothing was enqueued yet. This makes the database:" } (command(&runner("enqueue", "-- echo hello"))) }
            Some(why) => p { (job_text(&(why[..1].to_uppercase() + &why[1..]))) },
            None if alive == 1 => p { "A worker is running" },
            None => p { (counted(alive, "worker")) " are running" },
        }
    }
}

/// The numbers that are not zero: of the dead letters as in the title, of the period, and of what runs and waits now.
fn tiles(page: &Page) -> Markup {
    let sum = |part: fn(&NameStats) -> u64| page.stats.values().map(part).sum::<u64>();
    let count = |is: fn(&TimelineAttempt) -> bool| page.attempts.iter().filter(|a| is(a)).count() as u64;
    let mut tiles = vec![
        ("f", page.dead, "dead"),
        ("o", sum(|of| of.succeeded), "succeeded"),
        ("i", sum(|of| of.cancelled), "cancelled"),
        ("r", count(|a| a.retry_at.is_some() && a.stage != Stage::Ended(Outcome::Interrupted)), "retried"),
    ];
    tiles.extend(page.waiting.iter().map(|of| {
        let class = match of.status {
            "running" => "n",
            "retrying" => "r",
            _ => "w",
        };
        (class, of.count, of.status)
    }));
    html! {
        ul.tiles {
            @for (class, number, word) in tiles.into_iter().filter(|(_, number, _)| *number > 0) {
                li class=(class) { b { (number) } " " (word) }
            }
        }
    }
}
