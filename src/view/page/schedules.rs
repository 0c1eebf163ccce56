//! The section "Schedules": the times, the last and the next one, and how the last seven days went.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;
use maud::{Markup, html};

use super::axis::days;
use super::bars::{HEIGHT, Paths};
use super::words::{MAX_NAMES, job_text, table, when};
use crate::cli::status::{next_firing_text, random_delay_text, shown_zone};
use crate::place::runner;
use crate::store::{DayCounts, Store, StoredSchedule};
use crate::text::{Timestamp, counted, day_time};

const DAYS: usize = 7;

/// The width of a day in the units of the drawing.
const CELL: i64 = 100;

pub(super) struct Schedules {
    /// The schedules, each with the state of its last job.
    rows: Vec<(StoredSchedule, Option<&'static str>)>,
    /// How many more there are.
    more: usize,
    days: Vec<Timestamp>,
    daily: BTreeMap<String, Vec<DayCounts>>,
}

pub(super) fn read(store: &Store, mut schedules: Vec<StoredSchedule>, now: Timestamp) -> Result<Schedules> {
    let more = schedules.len().saturating_sub(MAX_NAMES);
    schedules.truncate(MAX_NAMES);
    let days = days(now, DAYS);
    let names: Vec<&str> = schedules.iter().map(StoredSchedule::name).collect();
    let daily = store.daily(&names, &days)?;
    let with_state = |row: StoredSchedule| -> Result<_> {
        let job = row.last.map(|(_, id)| store.job(id, now)).transpose()?.flatten();
        Ok((row, job.map(|job| job.status())))
    };
    let rows = schedules.into_iter().map(with_state).collect::<Result<_>>()?;
    Ok(Schedules { rows, more, days, daily })
}

impl Schedules {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn draw(&self, now: Timestamp) -> Markup {
        let heads =
            [("name", ""), ("times", ""), ("last seven days", "week"), ("last", "wide"), ("next", "wide")];
        let row = |(row, state): &(StoredSchedule, Option<&'static str>)| {
            vec![
                html! { (job_text(row.name())) },
                html! {
                    code { (job_text(&row.text.schedule)) }
                    @if let Some(zone) = shown_zone(&row.text, row.zone.as_deref(), now) { " " (job_text(zone)) }
                    (random_delay_text(&row.text))
                },
                self.week(row.name()),
                html! {
                    @if let Some((at, id)) = row.last { (when(at, now)) ", job " (id) }
                    @if let Some(state) = state { " " span.bad[*state == "dead"] { (state) } }
                    @if row.skipped > 0 { @if row.last.is_some() { ", " } (row.skipped) " skipped" }
                },
                html! {
                    @if row.paused { "paused" } @else if let Some(at) = row.next_at { (when(at, now)) } @else { (next_firing_text(row, now)) }
                },
            ]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        html! {
            (table(&heads, &rows))
            @if self.more > 0 { p.note { (counted(self.more, "more schedule")) ": " code { (runner("inspect", "schedules")) } } }
        }
    }

    /// A cell for each day, today last, split in proportion to how its jobs ended.
    fn week(&self, name: &str) -> Markup {
        let none = vec![DayCounts::default(); DAYS];
        let counts = self.daily.get(name).unwrap_or(&none);
        let (mut paths, mut empty, mut words) = (Paths::default(), String::new(), Vec::new());
        for ((day, x), begin) in counts.iter().zip((0..).step_by(100)).zip(&self.days) {
            let DayCounts { succeeded, dead } = *day;
            let said = match (succeeded, dead) {
                (0, 0) => "none".to_owned(),
                (_, 0) => format!("{succeeded} succeeded"),
                (0, _) => format!("{dead} dead"),
                _ => format!("{succeeded} succeeded, {dead} dead"),
            };
            // `Sat 2026-11-21 00:00` is `Sat 21`.
            let text = day_time(*begin);
            let part = |range| text.get(range).unwrap_or_default();
            words.push(format!("{} {}: {said}", part(0..3), part(12..14)));
            if succeeded + dead == 0 {
                let _ = write!(empty, "M{} 90h60", x + 16);
            } else {
                paths.add(x, x + CELL, [dead, 0, 0, succeeded]);
            }
        }
        let words = words.join("; ");
        html! {
            svg.week viewBox={ "0 0 " (DAYS) "00 " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(words) {
                title { (words) }
                path.e d=(empty) {}
                @for (class, path) in paths.drawn() { path class=(class) d=(path) {} }
            }
        }
    }
}
