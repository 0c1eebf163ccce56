//! The section "Schedules": the times, the last and the next one, and how the last seven days went.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use super::axis::days;
use super::bars::{HEIGHT, Paths};
use super::words::{job_text, table, when};
use crate::place::runner;
use crate::store::DayCounts;
use crate::text::{Timestamp, counted, day_time};
use crate::view::text::schedule::{ScheduleRow, next_firing_text, random_delay_text, shown_zone};

const DAYS: usize = 7;

/// The width of a day in the units of the drawing.
const CELL: i64 = 100;

/// The schedules, and how their last seven days went.
pub struct WeekOfSchedules {
    pub rows: Vec<ScheduleRow>,
    /// How many more there are.
    pub more: usize,
    /// When each of the days began.
    pub days: Vec<Timestamp>,
    pub daily: BTreeMap<String, Vec<DayCounts>>,
}

/// When each of the last seven days began, today last.
pub fn last_days(now: Timestamp) -> Vec<Timestamp> {
    days(now, DAYS)
}

impl WeekOfSchedules {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn draw(&self, boot_id: &str, now: Timestamp) -> Markup {
        let heads =
            [("name", ""), ("times", ""), ("last seven days", "week"), ("last", "wide"), ("next", "wide")];
        let row = |ScheduleRow { schedule: row, last_status }: &ScheduleRow| {
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
                    @if let Some(state) = last_status { " " span.bad[*state == "dead"] { (state) } }
                    @if row.skipped > 0 { @if row.last.is_some() { ", " } (row.skipped) " skipped" }
                },
                html! {
                    @if row.is_paused() { (next_firing_text(row, boot_id, now)) } @else if let Some(at) = row.next_at { (when(at, now)) } @else { (next_firing_text(row, boot_id, now)) }
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
