//! A page about a period: what needs attention, a timeline, schedules, and the numbers of each name.
//!
//! The page runs no script and fetches nothing: a policy in its head tells the browser to refuse both, whatever jobs wrote.

mod attention;
mod timeline;
mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::attention::Notice;
use self::timeline::Axis;
use self::words::{MAX_NAMES, shown, when, zone};
use crate::cli::output::{Output, Written};
use crate::cli::worker_status::with_liveness;
use crate::model::Outcome;
use crate::store::{DueJob, Filter, NameStats, ScheduleRow, Stage, Stats, Store, StoreFile, TimelineAttempt};
use crate::text::{Millis, Timestamp, counted, human_duration};

/// The period unless `--since` says otherwise: a day.
const PERIOD: Millis = Millis::from_secs(24 * 60 * 60);

/// Bars of a chart of run times.
const BARS: usize = 60;

/// Everything on the page.
#[derive(Default)]
struct Page {
    notices: Vec<Notice>,
    /// Dead letters that are not among the notices.
    more_dead: usize,
    attempts: Vec<TimelineAttempt>,
    waiting: Vec<DueJob>,
    /// With the state of the last job.
    schedules: Vec<(ScheduleRow, Option<&'static str>)>,
    stats: Stats,
}

/// Writes the page about the period of the filter. Gives false: it is no list of matches.
pub(super) fn show(out: &mut Output, store: &Store, filter: &Filter, now: Timestamp) -> Result<bool> {
    let axis = axis(filter, now);
    let filter = Filter { since: Some(axis.since), ..filter.clone() };
    let overview = store.overview(now)?;
    let workers = with_liveness(store, overview.workers.clone());
    let mut schedules = store.schedules()?;
    schedules.retain(|row| {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&filter.name, row.name()) && is(&filter.queue, &row.chain.last.spec.queue)
    });
    let mut notices = attention::hindrances(&overview, &workers, &schedules, now);
    let (letters, more_dead) = attention::dead_letters(store, &filter, now)?;
    notices.extend(letters);
    let state_of_last = |row: &ScheduleRow| -> Result<_> {
        let Some((_, id)) = row.last else { return Ok(None) };
        Ok(store.job(id, now)?.map(|job| job.status()))
    };
    let page = Page {
        notices,
        more_dead,
        attempts: store.timeline(&filter)?,
        waiting: store.due_jobs(&filter, now)?,
        schedules: schedules
            .into_iter()
            .map(|row| state_of_last(&row).map(|state| (row, state)))
            .collect::<Result<_>>()?,
        stats: store.stats(&filter, now)?,
    };
    write(out, &page, axis, &filter, store.file(), now)?;
    Ok(false)
}

/// There is no database yet.
pub(super) fn show_empty(out: &mut Output, file: &StoreFile, filter: &Filter, now: Timestamp) -> Written {
    write(out, &Page::default(), axis(filter, now), filter, file, now)
}

fn axis(filter: &Filter, now: Timestamp) -> Axis {
    let until = filter.until.unwrap_or(now);
    Axis { since: filter.since.unwrap_or(until.minus(PERIOD)).min(until), until }
}

fn write(
    out: &mut Output,
    page: &Page,
    axis: Axis,
    filter: &Filter,
    file: &StoreFile,
    now: Timestamp,
) -> Written {
    let db = shown(&file.path().display().to_string());
    let narrowed: Vec<_> = [("name", &filter.name), ("queue", &filter.queue)]
        .into_iter()
        .filter_map(|(word, value)| Some(format!("{word} {}", shown(value.as_ref()?))))
        .collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "runner, " (words::plain(axis.until)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    p.quiet { (db) @for part in narrowed { " · " (part) } }
                    h1 { (verdict(page)) }
                    p { (when(axis.since, now)) " – " (when(axis.until, now)) " · times are " (zone(now)) }
                    (tiles(page))
                }
                main {
                    @if !page.notices.is_empty() {
                        section {
                            h2 { "Needs attention" }
                            ul.notices { @for notice in &page.notices { (notice.draw()) } }
                            @if page.more_dead > 0 {
                                p.note { (counted(page.more_dead, "more dead job")) " died otherwise: " code { "runner inspect dead" } }
                            }
                        }
                    }
                    section { h2 { "Timeline" } (timeline::draw(&page.attempts, &page.waiting, axis)) }
                    @if !page.schedules.is_empty() { section { h2 { "Schedules" } (schedules(&page.schedules, now)) } }
                    @if !page.stats.is_empty() { section { h2 { "Names" } (names(page, now)) } }
                }
                footer { "runner " (env!("CARGO_PKG_VERSION")) ", " (when(now, now)) " " (zone(now)) }
            }
        }
    };
    out.line(markup.into_string())
}

/// The whole page in a line.
fn verdict(page: &Page) -> String {
    match page.notices.len() + usize::from(page.more_dead > 0) {
        0 if page.attempts.is_empty() => "Nothing ran, and nothing needs attention".to_owned(),
        0 => "All is well".to_owned(),
        1 => "One thing needs attention".to_owned(),
        things => format!("{things} things need attention"),
    }
}

/// The period in numbers; none of what did not happen.
fn tiles(page: &Page) -> Markup {
    let sum = |part: fn(&NameStats) -> u64| page.stats.values().map(part).sum::<u64>();
    let count = |is: fn(&TimelineAttempt) -> bool| page.attempts.iter().filter(|a| is(a)).count() as u64;
    let tiles = [
        ("o", sum(|of| of.succeeded), "succeeded"),
        ("f", sum(|of| of.dead), "dead"),
        ("i", sum(|of| of.cancelled), "cancelled"),
        ("r", count(|a| a.retry_at.is_some() && a.stage != Stage::Ended(Outcome::Interrupted)), "retried"),
        ("n", count(|a| a.stage == Stage::Running), "running"),
        ("w", page.waiting.len() as u64, "waiting"),
    ];
    html! {
        ul.tiles {
            @for (class, number, word) in tiles.into_iter().filter(|(_, number, _)| *number > 0) {
                li class=(class) { b { (number) } " " (word) }
            }
        }
    }
}

fn schedules(rows: &[(ScheduleRow, Option<&'static str>)], now: Timestamp) -> Markup {
    html! {
        table.wide {
            thead { tr { th { "name" } th { "times" } th { "last" } th { "next" } } }
            tbody {
                @for (row, state) in rows {
                    tr {
                        th scope="row" { (shown(row.name())) }
                        td data-head="times" {
                            code { (shown(&row.text.schedule)) }
                            @if let Some(zone) = &row.text.timezone { " " (shown(zone)) }
                        }
                        td data-head="last" {
                            @if let Some((at, id)) = row.last { (when(at, now)) ", job " (id) }
                            @if let Some(state) = state { " " span.bad[*state == "dead"] { (state) } }
                            @if row.skipped > 0 { ", " (row.skipped) " skipped" }
                        }
                        td data-head="next" {
                            @if row.paused { "paused" } @else if let Some(at) = row.next_at { (when(at, now)) } @else { "never" }
                        }
                    }
                }
            }
        }
    }
}

/// The numbers of each name, the busiest first.
fn names(page: &Page, now: Timestamp) -> Markup {
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
                        th scope="row" { (shown(name)) }
                        td.number data-head="succeeded" { (stats.succeeded) }
                        td.number data-head="dead" { span.bad[stats.dead > 0] { (stats.dead) } }
                        td.wide data-head="run times" { (chart(runs.get(name.as_str()).map_or(&[], Vec::as_slice))) }
                        td.number data-head="half within" { (span(stats.runs.percentile(50))) }
                        td.number data-head="longest" { (span(stats.runs.max())) }
                        td.wide data-head="last failure" {
                            @if let Some((at, code)) = &stats.last_failure { (when(*at, now)) " " span.code { (shown(code)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Run times in their order, a bar each; many share a bar, which is as high as the longest of them.
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
