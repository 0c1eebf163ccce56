//! `--html`: a page about a period, with what needs attention, a timeline, schedules, and the numbers of each name.
//!
//! It has no script and fetches nothing. Because it shows text from jobs, a policy in its head makes the browser refuse
//! both.

mod attention;
mod timeline;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::timeline::Axis;
use self::words::{MAX_NAMES, job_text, when, zone};
use super::query::Query;
use crate::cli::commands::attention::{Look, alarms_text, look};
use crate::cli::output::{Output, Written};
use crate::cli::status::{next_firing_text, random_delay_text};
use crate::model::{Attention, Outcome};
use crate::store::{Filter, NameStats, Stage, Stats, StoredSchedule, TimelineAttempt};
use crate::text::{Millis, Timestamp, counted, day_time, human_duration};

/// The period without `--since`.
const PERIOD: Millis = Millis::from_secs(24 * 60 * 60);

/// The most bars of a chart of run times.
const BARS: usize = 60;

/// Everything that the page shows, read before any of it is drawn.
struct Page {
    now: Timestamp,
    axis: Axis,
    /// The database, and the name and the queue if the page is about one.
    scope: Vec<String>,
    attention: Vec<Attention>,
    attempts: Vec<TimelineAttempt>,
    /// The schedules, each with the state of its last job.
    schedules: Vec<(StoredSchedule, Option<&'static str>)>,
    stats: Stats,
}

/// Writes the page about the period of the filter.
pub(super) fn show(out: &mut Output, query: &Query) -> Written {
    let page = read(query)?;
    out.line(draw(&page).into_string())
}

fn read(query: &Query) -> Result<Page> {
    let Query { store, now, .. } = *query;
    let until = query.filter.until.unwrap_or(now);
    let axis = Axis { since: query.filter.since.unwrap_or(until.minus(PERIOD)).min(until), until };
    let filter = Filter { since: Some(axis.since), ..query.filter.clone() };
    let Look { mut schedules, attention, .. } = look(store, &filter, now)?;
    schedules.retain(|row| {
        filter.name.as_ref().is_none_or(|name| name == row.name())
            && filter.queue.as_ref().is_none_or(|queue| *queue == row.chain.root.definition.queue)
    });
    let (attempts, stats) = store.timeline(&filter, now)?;
    let with_state = |row: StoredSchedule| -> Result<_> {
        let job = row.last.map(|(_, id)| store.job(id, now)).transpose()?.flatten();
        Ok((row, job.map(|job| job.status())))
    };
    let schedules = schedules.into_iter().map(with_state).collect::<Result<_>>()?;
    let mut scope = vec![job_text(&store.file().path().display().to_string())];
    scope.extend(filter.name.map(|name| format!("name {}", job_text(&name))));
    let label = |label: String| match label.as_str() {
        "" => "no label".to_owned(),
        label => format!("label {}", job_text(label)),
    };
    scope.extend(filter.label.map(label));
    scope.extend(filter.queue.map(|queue| format!("queue {}", job_text(&queue))));
    Ok(Page { now, axis, scope, attention, attempts, schedules, stats })
}

fn draw(page: &Page) -> Markup {
    let Page { now, axis, .. } = *page;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "runner, " (day_time(axis.until)) " " (zone(axis.until)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    p.quiet { (page.scope.join(" · ")) }
                    h1 { (verdict(page)) }
                    p { (when(axis.since, now)) " – " (when(axis.until, now)) " · times are " (zone(now)) }
                    (tiles(page))
                }
                main {
                    @if !page.attention.is_empty() {
                        section { h2 { "Needs attention" } (attention::draw(&page.attention)) }
                    }
                    section { h2 { "Timeline" } (timeline::draw(&page.attempts, axis)) }
                    @if !page.schedules.is_empty() { section { h2 { "Schedules" } (schedules(page)) } }
                    @if !page.stats.is_empty() { section { h2 { "Names" } (names(page)) } }
                }
                footer { "runner " (env!("CARGO_PKG_VERSION")) ", " (when(now, now)) " " (zone(now)) }
            }
        }
    }
}

/// The headline of the page.
fn verdict(page: &Page) -> String {
    match alarms_text(&page.attention) {
        Some(needs) => needs[..1].to_uppercase() + &needs[1..],
        None if page.attempts.iter().all(|attempt| attempt.stage == Stage::Due) => {
            "Nothing ran, and nothing needs attention".to_owned()
        }
        None => "All is well".to_owned(),
    }
}

/// The numbers of the period that are not zero.
fn tiles(page: &Page) -> Markup {
    let sum = |part: fn(&NameStats) -> u64| page.stats.values().map(part).sum::<u64>();
    let count = |is: fn(&TimelineAttempt) -> bool| page.attempts.iter().filter(|a| is(a)).count() as u64;
    let tiles = [
        ("o", sum(|of| of.succeeded), "succeeded"),
        ("f", sum(|of| of.dead), "dead"),
        ("i", sum(|of| of.cancelled), "cancelled"),
        ("r", count(|a| a.retry_at.is_some() && a.stage != Stage::Ended(Outcome::Interrupted)), "retried"),
        ("n", count(|a| a.stage == Stage::Running), "running"),
        ("w", count(|a| a.stage == Stage::Due), "waiting"),
    ];
    html! {
        ul.tiles {
            @for (class, number, word) in tiles.into_iter().filter(|(_, number, _)| *number > 0) {
                li class=(class) { b { (number) } " " (word) }
            }
        }
    }
}

fn schedules(page: &Page) -> Markup {
    html! {
        table.wide {
            thead { tr { th { "name" } th { "times" } th { "last" } th { "next" } } }
            tbody {
                @for (row, state) in &page.schedules {
                    tr {
                        th scope="row" { (job_text(row.name())) }
                        td data-head="times" {
                            code { (job_text(&row.text.schedule)) }
                            @if let Some(zone) = &row.text.timezone { " " (job_text(zone)) }
                            (random_delay_text(&row.text))
                        }
                        td data-head="last" {
                            @if let Some((at, id)) = row.last { (when(at, page.now)) ", job " (id) }
                            @if let Some(state) = state { " " span.bad[*state == "dead"] { (state) } }
                            @if row.skipped > 0 { @if row.last.is_some() { ", " } (row.skipped) " skipped" }
                        }
                        td data-head="next" {
                            @if row.paused { "paused" } @else if let Some(at) = row.next_at { (when(at, page.now)) } @else { (next_firing_text(row, page.now)) }
                        }
                    }
                }
            }
        }
    }
}

/// The numbers of each name, the busiest first.
fn names(page: &Page) -> Markup {
    let mut runs: BTreeMap<&str, Vec<(u64, bool)>> = BTreeMap::new();
    for attempt in &page.attempts {
        if let (Some(span), Stage::Ended(outcome)) = (attempt.duration, attempt.stage) {
            runs.entry(&attempt.name).or_default().push((span.0, outcome == Outcome::Succeeded));
        }
    }
    let mut rows: Vec<_> = page.stats.iter().collect();
    rows.sort_by_key(|(_, stats)| Reverse((stats.jobs(), stats.attempts)));
    rows.truncate(MAX_NAMES);
    let span = |span: Option<Millis>| span.map(human_duration).unwrap_or_default();
    html! {
        table {
            thead { tr {
                th { "name" } th.number { "succeeded" } th.number { "dead" } th { "run times" }
                th.number { "half within" } th.number { "longest" } th { "last failure" }
            } }
            tbody {
                @for (name, stats) in rows {
                    tr {
                        th scope="row" { (job_text(name)) }
                        td.number data-head="succeeded" { (stats.succeeded) }
                        td.number data-head="dead" { span.bad[stats.dead > 0] { (stats.dead) } }
                        td.wide data-head="run times" { (chart(runs.get(name.as_str()).map_or(&[], Vec::as_slice))) }
                        td.number data-head="half within" { (span(stats.runs.percentile(50))) }
                        td.number data-head="longest" { (span(stats.runs.max())) }
                        td.wide data-head="last failure" {
                            @if let Some((at, code)) = &stats.last_failure { (when(*at, page.now)) " " span.code { (job_text(code)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A bar for each run time, in their order. If there are many, several share a bar, as high as the longest of them.
fn chart(runs: &[(u64, bool)]) -> Markup {
    const HEIGHT: u64 = 100;
    let longest = runs.iter().map(|(span, _)| *span).max().unwrap_or(0).max(1);
    let bars: Vec<_> = runs
        .chunks(runs.len().div_ceil(BARS).max(1))
        .map(|some| {
            let height = some.iter().map(|(span, _)| span * HEIGHT / longest).max().unwrap_or(0).max(4);
            (if some.iter().all(|(_, succeeded)| *succeeded) { "o" } else { "f" }, height)
        })
        .collect();
    html! {
        @if !bars.is_empty() {
            svg.runs viewBox={ "0 0 " (bars.len().max(12) * 10) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ "the run times of " (counted(runs.len(), "attempt")) " in their order" } {
                @for (index, (class, height)) in bars.iter().enumerate() {
                    rect class=(class) x=(index * 10) y=(HEIGHT - height) width="8" height=(height) {}
                }
            }
        }
    }
}
