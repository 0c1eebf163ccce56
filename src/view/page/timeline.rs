//! The timeline: a row of bars for each name, all above the same axis of time, and the same facts as a table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use maud::{Markup, html};

use super::axis::{Axis, UNITS};
use super::bars::{self, AttemptSpan, HEIGHT, Kind, Paths, TimelineBar};
use super::words::{MAX_NAMES, MAX_OPEN, command, job_text, more, names_text, zone};
use super::worst::Worst;
use crate::call_target::to_type;
use crate::store::{Stage, Timeline, TimelineAttempt};
use crate::text::{Timestamp, counted, known_duration, local_offset, local_time};
use crate::view::advice::folders::FilesOfNames;

/// The widths that a cell of the axis may have. The first one with so few bars is taken, else the last one, because that limits
/// the size of the page.
const CELLS: [i64; 3] = [50, 100, 250];
const MAX_BARS: usize = 2_000;

/// Above this number of jobs, the page says that bars stand for several, and the table has only failures.
const MAX_JOBS: usize = 5_000;

/// The most rows of the table.
const MAX_FACTS: usize = 150;

/// Waits begin and end at multiples of this, which limits the size of the page.
const GRID: i64 = 20;

/// Draws all attempts, and the jobs that are due.
pub(super) fn draw(timeline: &Timeline, axis: Axis, now: Timestamp, worst: &Worst) -> Markup {
    let known = |attempt: &TimelineAttempt| timeline.files.get(&attempt.job_file?).map(String::as_str);
    let files = FilesOfNames::of_known(timeline.attempts.iter().map(|it| (&*it.name, known(it))));
    let mut names: BTreeMap<(&str, Option<&str>), NameRow> = BTreeMap::new();
    for attempt in &timeline.attempts {
        let name = (&*attempt.name, files.file(&attempt.name, known(attempt)));
        if attempt.stage != Stage::Due {
            names.entry(name).or_default().add(attempt);
        } else if let Some(due) = attempt.due_at.filter(|due| *due < axis.until) {
            names.entry(name).or_default().add_waiting(due);
        }
    }
    let title = |(name, file): &(&str, Option<&str>)| {
        let folder = files.folder(name, *file).map(|folder| format!(", {folder}"));
        [(*name).to_owned()].into_iter().chain(folder).collect::<String>()
    };
    if names.is_empty() {
        return html! { p.quiet { "Nothing ran in this time." } };
    }
    let jobs = names.values().flat_map(|row| &row.attempts).map(|attempt| attempt.job_id);
    let jobs = jobs.collect::<BTreeSet<_>>().len();
    let mut rows: Vec<_> = names.into_iter().collect();
    rows.sort_by_key(|(name, row)| Reverse((worst.rank(name.0, name.1), row.failures, row.attempts.len())));
    let all_attempts: Vec<_> = rows.iter().flat_map(|(_, row)| row.attempts.iter().copied()).collect();
    let (mut rows, plain): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, row)| !row.only_succeeded());
    // Beside others nobody needs them. Where all went well, they are what there is to see.
    let (plain, folded) = if rows.is_empty() { (plain, Vec::new()) } else { (Vec::new(), plain) };
    rows.extend(plain);
    let left_out = rows.len().saturating_sub(MAX_NAMES);
    rows.truncate(MAX_NAMES);
    let count = |bars: &[Vec<TimelineBar>]| bars.iter().map(Vec::len).sum::<usize>();
    let mut bars: Vec<Vec<TimelineBar>> = Vec::new();
    for cell in CELLS {
        bars = rows.iter().map(|(_, row)| bars::bars(&row.spans(axis), cell)).collect();
        if count(&bars) <= MAX_BARS {
            break;
        }
    }
    let ticks = axis.ticks();
    let now_x = now_x(axis, now);
    let lanes: Vec<Markup> = rows
        .iter()
        .zip(&bars)
        .map(|((name, row), bars)| html! {
            tr role="row" {
                th role="rowheader" scope="row" { (job_text(&title(name))) " " small .bad[row.failures > 0 && worst.is_alarming(name.0, name.1)] { (row.summary()) } }
                td role="cell" { (row.picture(&title(name), bars, axis, &ticks, now_x)) }
            }
        })
        .collect();
    let (open, folded_lanes) = lanes.split_at(lanes.len().min(MAX_OPEN));
    let table = |lanes: &[Markup]| {
        html! {
            table.lines role="table" { (head(&ticks, now_x)) tbody role="rowgroup" { @for lane in lanes { (lane) } } }
        }
    };
    html! {
        (legend(&rows.iter().flat_map(|(_, row)| row.attempts.iter().copied()).collect::<Vec<_>>()))
        p.note {
            @if jobs > MAX_JOBS { "These are " (counted(jobs, "job")) ", drawn folded by name. " }
            "A bar of several attempts is split as they went. A thin line is shorter than it can be drawn."
        }
        (table(open))
        @if !folded_lanes.is_empty() {
            details.folded { summary { (counted(folded_lanes.len(), "more name")) } (table(folded_lanes)) }
        }
        (more(left_out, "more name", &to_type("inspect", "stats")))
        (only_succeeded(&folded.iter().map(|(name, _)| title(name)).collect::<Vec<_>>()))
        (facts(&all_attempts, jobs > MAX_JOBS, now))
    }
}

/// Names of which nothing else is to be told than that they succeeded.
fn only_succeeded(names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            p.note { (counted(names.len(), "name")) " only succeeded: " (names_text(names)) }
            (command(&to_type("inspect", "stats")))
        }
    }
}

/// Explains the colours that are there.
fn legend(attempts: &[&TimelineAttempt]) -> Markup {
    let has = |known: Kind| attempts.iter().any(|attempt| kind(attempt) == known);
    html! {
        p.legend {
            @for kind in Kind::ALL { @if has(kind) { (key(kind.class(), kind.word())) } }
            (key("w", "waited"))
            @if attempts.iter().any(|attempt| attempt.retry_at.is_some()) { (key("r", "waits for a retry")) }
        }
    }
}

/// Where this time stands on the axis, if it does.
fn now_x(axis: Axis, now: Timestamp) -> Option<i64> {
    axis.holds(now).then(|| axis.x(now).min(UNITS - 10))
}

/// The head of the table of pictures, with the labels of the axis.
fn head(ticks: &[(i64, String)], now_x: Option<i64>) -> Markup {
    let is_free = |x: i64| (300..9_700).contains(&x) && now_x.is_none_or(|now| (x - now).abs() > 1_400);
    html! {
        thead role="rowgroup" { tr role="row" {
            th role="columnheader" scope="col" { span.quiet { "name" } }
            th role="columnheader" scope="col" aria-label="time" { div.axis {
                @for (x, label) in ticks.iter().filter(|(x, _)| is_free(*x)) { span style=(left(*x)) { (label) } }
                @if let Some(x) = now_x { b style=(left(x.clamp(300, 9_700))) { "now" } }
            } }
        } }
    }
}

fn left(x: i64) -> String {
    format!("left:{}.{}%", x / 100, x % 100 / 10)
}

fn key(class: &str, word: &str) -> Markup {
    let (top, height) = if matches!(class, "w" | "r") { (40, 24) } else { (0, HEIGHT) };
    html! {
        span {
            svg viewBox="0 0 100 100" width="14" height="12" preserveAspectRatio="none" aria-hidden="true" {
                rect class=(class) y=(top) width="100" height=(height) {}
            }
            " " (word) " "
        }
    }
}

#[derive(Default)]
struct NameRow<'a> {
    attempts: Vec<&'a TimelineAttempt>,
    failures: usize,
    warnings: usize,
    waiting: usize,
    /// The due time of the job that has been waiting longest.
    waits_since: Option<Timestamp>,
}

impl<'a> NameRow<'a> {
    fn add(&mut self, attempt: &'a TimelineAttempt) {
        self.failures += usize::from(kind(attempt) == Kind::Failed);
        self.warnings += usize::from(kind(attempt) == Kind::Warned);
        self.attempts.push(attempt);
    }

    fn add_waiting(&mut self, due: Timestamp) {
        self.waiting += 1;
        self.waits_since = self.waits_since.into_iter().chain([due]).min();
    }

    fn only_succeeded(&self) -> bool {
        let succeeded = |attempt: &&TimelineAttempt| kind(attempt) == Kind::Succeeded;
        self.waiting == 0 && self.attempts.iter().all(succeeded)
    }

    /// The jobs of which an attempt failed and a later one succeeded.
    fn recovered(&self) -> usize {
        let of = |kinds: &[Kind]| {
            let attempts = self.attempts.iter().filter(|attempt| kinds.contains(&kind(attempt)));
            attempts.map(|attempt| attempt.job_id).collect::<BTreeSet<_>>()
        };
        of(&[Kind::Failed]).intersection(&of(&[Kind::Succeeded, Kind::Warned])).count()
    }

    fn summary(&self) -> String {
        let parts = [
            (self.attempts.len(), counted(self.attempts.len(), "attempt")),
            (self.failures, format!("{} failed", self.failures)),
            (self.warnings, format!("{} with a warning", self.warnings)),
            (self.recovered(), format!("{} recovered", self.recovered())),
            (self.waiting, format!("{} waiting", self.waiting)),
        ];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, part)| part);
        parts.collect::<Vec<_>>().join(", ")
    }

    fn spans(&self, axis: Axis) -> Vec<AttemptSpan> {
        let span = |attempt: &&TimelineAttempt| {
            let (start, end) = times(attempt, axis);
            AttemptSpan { from: axis.x(start), to: axis.x(end) }
        };
        self.attempts.iter().map(span).collect()
    }

    fn picture(
        &self,
        name: &str,
        bars: &[TimelineBar],
        axis: Axis,
        ticks: &[(i64, String)],
        now: Option<i64>,
    ) -> Markup {
        let grid: Vec<_> = ticks.iter().map(|(x, _)| format!("M{x} 0v{HEIGHT}")).collect();
        let mut paths = Paths::default();
        for bar in bars {
            let attempts = bar.attempts.iter().filter_map(|index| self.attempts.get(*index));
            paths.add(bar.from, bar.to, bars::count(attempts.map(|attempt| kind(attempt))));
        }
        html! {
            svg viewBox={ "0 0 " (UNITS) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ (job_text(name)) ": " (self.summary()) } {
                path.g d=(grid.concat()) {}
                @for (class, path) in self.waits(axis, now) { path class=(class) d=(path) {} }
                @for (class, path) in paths.drawn() { path class=(class) d=(path) {} }
                @if let Some(x) = now { path.now d={ "M" (x) " 0v" (HEIGHT) } {} }
            }
        }
    }

    /// The paths of all waits, with their classes: for a start, and for a retry. What still waits has waited until now.
    fn waits(&self, axis: Axis, now: Option<i64>) -> Vec<(&'static str, String)> {
        let mut waits: [(&str, Vec<(i64, i64)>); 2] = [("w", Vec::new()), ("r", Vec::new())];
        let [(_, due), (_, retries)] = &mut waits;
        for attempt in &self.attempts {
            let (start, end) = times(attempt, axis);
            due.extend(attempt.due_at.map(|at| (axis.x(at), axis.x(start))));
            retries.extend(attempt.retry_at.map(|at| (axis.x(end), axis.x(at))));
        }
        due.extend(self.waits_since.map(|since| (axis.x(since), now.unwrap_or(UNITS))));
        let path = |(class, spans)| (class, wait_path(spans));
        waits.into_iter().map(path).filter(|(_, path)| !path.is_empty()).collect()
    }
}

/// A path of thin lines. Lines that overlap become one, and short ones are left out.
fn wait_path(mut spans: Vec<(i64, i64)>) -> String {
    let (top, height) = (HEIGHT * 2 / 5, HEIGHT / 5);
    spans.retain(|(from, to)| to - from >= GRID);
    spans.sort_unstable();
    let mut path = String::new();
    let mut spans = spans.into_iter().map(|(from, to)| (from / GRID * GRID, to / GRID * GRID)).peekable();
    while let Some((from, mut to)) = spans.next() {
        while let Some((_, end)) = spans.next_if(|(next, _)| *next <= to) {
            to = to.max(end);
        }
        let _ = write!(path, "M{from} {top}h{}v{height}H{from}", to - from);
    }
    path
}

fn kind(attempt: &TimelineAttempt) -> Kind {
    Kind::of(attempt.stage, attempt.warning.is_some()).unwrap_or(Kind::Running)
}

/// When an attempt began and ended. One that runs goes on to the end of the axis.
fn times(attempt: &TimelineAttempt, axis: Axis) -> (Timestamp, Timestamp) {
    let end = attempt.finished_at.unwrap_or(axis.until);
    (attempt.started_at.unwrap_or(end).min(end), end)
}

/// How an attempt went: `failed EXIT_1`.
fn outcome(attempt: &TimelineAttempt) -> String {
    let code = attempt.error_code.as_deref().map(job_text);
    match (attempt.stage, code) {
        (Stage::Expired, _) => "not started in time".to_owned(),
        (Stage::Ended(outcome), None) => match &attempt.warning {
            Some(warning) => format!("{outcome}, {}", job_text(&warning.as_warning())),
            None => outcome.to_string(),
        },
        (Stage::Ended(outcome), Some(code)) if !outcome.is_failure() => {
            if outcome.as_str().eq_ignore_ascii_case(&code) {
                outcome.to_string()
            } else {
                format!("{outcome} {code}")
            }
        }
        (_, Some(code)) => format!("failed {code}"),
        (_, None) => kind(attempt).word().to_owned(),
    }
}

fn began(attempt: &TimelineAttempt) -> Option<Timestamp> {
    attempt.started_at.or(attempt.finished_at)
}

/// A local time to the second, with its zone where that is not the one of the page.
fn to_the_second(at: Timestamp, page: Timestamp) -> Markup {
    html! {
        @for part in local_time(at).split(' ') { span.at { (part) } " " }
        @if local_offset(at) != local_offset(page) { span.at { (zone(at)) } }
    }
}

/// The class of the words for this kind, where they have one.
fn class(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Failed => Some("bad"),
        Kind::Warned => Some("warned"),
        _ => None,
    }
}

/// The facts of the picture as a table: failures and warnings before others, the newest first, as many as
/// there is room for.
fn facts(all: &[&TimelineAttempt], is_folded: bool, now: Timestamp) -> Markup {
    let mut shown: Vec<_> =
        all.iter().copied().filter(|attempt| !is_folded || class(kind(attempt)).is_some()).collect();
    shown.sort_by_key(|attempt| {
        Reverse((kind(attempt) == Kind::Failed, class(kind(attempt)).is_some(), began(attempt)))
    });
    shown.truncate(MAX_FACTS);
    shown.sort_by_key(|attempt| Reverse((began(attempt), attempt.job_id, attempt.number)));
    let left_out = all.len() - shown.len();
    html! {
        details {
            summary { "The same as a table" }
            table.facts {
                thead { tr { th scope="col" { "attempt" } th scope="col" { "name" } th scope="col" { "began" } th scope="col" { "how it went" } } }
                tbody {
                    @for attempt in shown {
                        tr {
                            th scope="row" { (attempt.job_id) "." (attempt.number) }
                            td { (job_text(&attempt.name)) }
                            td { @if let Some(at) = began(attempt) { (to_the_second(at, now)) } }
                            td class=[class(kind(attempt))] {
                                (outcome(attempt)) @if attempt.duration.is_some() { " " span.at { "after " (known_duration(attempt.duration)) } }
                            }
                        }
                    }
                }
            }
            (more(left_out, "more attempt", &to_type("inspect", "attempts")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_overlap_are_one_line() {
        assert_eq!(
            wait_path(vec![(100, 205), (200, 300), (0, 10), (500, 540)]),
            "M100 40h200v20H100M500 40h40v20H500"
        );
    }
}
