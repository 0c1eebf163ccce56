//! The section "Schedules": the times, the last and the next one, and how the last seven days went.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use super::axis::days;
use super::bars::{HEIGHT, Paths};
use super::words::{job_text, more, table, when};
use super::worst::Worst;
use crate::call_target::to_type;
use crate::store::{DayCounts, ScheduledDays, StoredSchedule};
use crate::text::{Millis, Timestamp, counted, day_time};
use crate::view::text::schedule::{ScheduleRow, next_firing_text, random_delay_text, shown_zone};

const DAYS: usize = 7;

/// The width of a day in the units of the drawing.
const CELL: i64 = 100;

/// Times of at most this many characters stay on a line.
const MAX_WHOLE: usize = 20;

/// The times of a day that are looked at, of a schedule that fires all the time.
const MAX_TIMES: usize = 300;

/// A worker has this long, besides the random delay, until a time counts as one that did not run.
const PATIENCE: Millis = Millis(2 * 60_000);

/// The schedules, and how their last seven days went.
pub struct WeekOfSchedules {
    pub rows: Vec<ScheduleRow>,
    /// How many more there are.
    pub more: usize,
    /// When each of the days began.
    pub days: Vec<Timestamp>,
    /// By name.
    pub ended: BTreeMap<String, ScheduledDays>,
}

/// When each of the last seven days began, today last.
pub fn last_days(now: Timestamp) -> Vec<Timestamp> {
    days(now, DAYS)
}

impl WeekOfSchedules {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn draw(&self, boot_id: &str, now: Timestamp, worst: &Worst) -> Markup {
        let heads =
            [("name", ""), ("times", ""), ("last seven days", "week"), ("last", "wide"), ("next", "wide")];
        let row = |ScheduleRow { schedule: row, last_status }: &ScheduleRow| {
            vec![
                html! { (job_text(row.name())) },
                html! {
                    // A browser breaks lines at blanks. A long list of times has to break somewhere.
                    @for (index, line) in row.text.lines.iter().enumerate() {
                        @if index > 0 { "; " }
                        code.at[line.len() <= MAX_WHOLE] { (job_text(line)) }
                    }
                    @if let Some(zone) = shown_zone(&row.text, row.zone.as_deref(), now) { " " (job_text(zone)) }
                    (random_delay_text(&row.text))
                },
                self.week(row, now),
                html! {
                    @if let Some((at, id)) = row.last { (when(at, now)) ", job " (id) }
                    @if let Some(state) = last_status { " " span.bad[state == "dead" && worst.is_alarming(row.name(), Some(&row.file))].warned[state.contains(", ")] { (state) } }
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
            (more(self.more, "more schedule", &to_type("inspect", "schedules")))
        }
    }

    /// A cell for each day, today last, split in proportion to how the jobs of its times went. Where a time was due and has no
    /// job it has a border.
    fn week(&self, row: &StoredSchedule, now: Timestamp) -> Markup {
        let none = ScheduledDays { days: vec![DayCounts::default(); DAYS], known_since: None };
        let ended = self.ended.get(row.name()).unwrap_or(&none);
        let missed = self.missed(row, ended, now);
        let (mut paths, mut empty, mut borders, mut words) =
            (Paths::default(), String::new(), String::new(), Vec::new());
        let mut dates = Vec::new();
        for (((day, missed), x), begin) in
            ended.days.iter().zip(&missed).zip((0..).step_by(100)).zip(&self.days)
        {
            let DayCounts { succeeded, warned, dead, cancelled, unfinished } = *day;
            let counts = [
                (succeeded, "succeeded"),
                (warned, "of these with a warning"),
                (dead, "dead"),
                (cancelled, "cancelled"),
                (unfinished, "unfinished"),
                (*missed, "did not run"),
            ];
            let said = counts.iter().filter(|(count, _)| *count > 0);
            let said: Vec<_> = said.map(|(count, what)| format!("{count} {what}")).collect();
            let said = if said.is_empty() { "none".to_owned() } else { said.join(", ") };
            // `Sat 2026-11-21 00:00` is `Sat 21`.
            let text = day_time(*begin);
            let part = |from, to| text.get(from..to).unwrap_or_default().to_owned();
            words.push(format!("{} {}: {said}", part(0, 3), part(12, 14)));
            dates.push(part(12, 14));
            if succeeded + dead + cancelled + unfinished > 0 {
                paths.add(x, x + CELL, [dead, warned, unfinished, cancelled, succeeded - warned]);
            } else if *missed == 0 {
                let _ = write!(empty, "M{} 90h60", x + 16);
            }
            if *missed > 0 {
                let _ = write!(borders, "M{} 10h{w}v{h}h-{w}z", x + 8, w = CELL - 24, h = HEIGHT - 20);
            }
        }
        let words = words.join("; ");
        let missed: usize = missed.iter().sum();
        html! {
            svg.week viewBox={ "0 0 " (DAYS) "00 " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(words) {
                title { (words) }
                path.e d=(empty) {}
                @for (class, path) in paths.drawn() { path class=(class) d=(path) {} }
                @if !borders.is_empty() { path.m d=(borders) {} }
            }
            span.dates aria-hidden="true" { @for date in dates { i { (date) } } }
            @if missed > 0 { span.missed { (counted(missed, "time")) " did not run" } }
        }
    }

    /// How many times of each day were due and have no job. Nothing is said of days before the schedule was as it is, and of those
    /// whose jobs may have been removed.
    fn missed(&self, row: &StoredSchedule, ended: &ScheduledDays, now: Timestamp) -> Vec<usize> {
        let Ok(times) = row.times() else { return vec![0; DAYS] };
        let known_since = ended.known_since.map_or(row.applied_at, |since| since.max(row.applied_at));
        let delay = row.text.random_delay.unwrap_or(Millis(0));
        let until = now.minus(PATIENCE).minus(delay);
        let ends = self.days.iter().skip(1).copied().chain([now]);
        let count = |(begin, (end, day)): (&Timestamp, (Timestamp, &DayCounts))| {
            let from = Timestamp(begin.0 - 1).max(known_since);
            let due = times.upcoming(from).take_while(|at| *at < end.min(until)).take(MAX_TIMES).count();
            let DayCounts { succeeded, dead, cancelled, unfinished, .. } = *day;
            let brought = succeeded + dead + cancelled + unfinished;
            let missed = due.saturating_sub(brought);
            // Where the times of an interval lay before its last one is not known, so that one of them says nothing.
            let is_certain = times.goes_by_clocks() && due < MAX_TIMES || brought == 0 && missed > 1;
            if is_certain { missed } else { 0 }
        };
        self.days.iter().zip(ends.zip(&ended.days)).map(count).collect()
    }
}
