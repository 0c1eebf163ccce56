//! The timeline: a row of marks for each name, all above the same axis of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use maud::{Markup, html};

use super::words::{MAX_NAMES, job_text};
use crate::model::Outcome;
use crate::store::{Stage, TimelineAttempt};
use crate::text::{Timestamp, counted, day_time, human_duration, local_offset, local_time};

/// The length of the axis in the units of the drawing.
const UNITS: i64 = 10_000;

/// The mark of an attempt is at least this long, so that it can be seen on a telephone.
const MIN_UNITS: i64 = 45;

/// Folded marks begin and end at multiples of this, which limits the size of the page.
const GRID: i64 = 20;

/// If there are more jobs or more attempts than this, the attempts that succeeded are drawn folded.
const MAX_JOBS: usize = 5_000;
const MAX_ATTEMPTS: usize = 10_000;

/// The height of a row. Only failures take all of it, because colour alone must not tell them from successes.
const HEIGHT: i64 = 12;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// The distances that ticks may have, in minutes.
const STEPS: [i64; 15] =
    [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 10_080, 43_200, 525_600, 5_256_000];
const MAX_TICKS: i64 = 13;

/// The period that is shown.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub since: Timestamp,
    pub until: Timestamp,
}

impl Axis {
    fn x(self, at: Timestamp) -> i64 {
        let at = at.clamp(self.since, self.until).0 - self.since.0;
        at.saturating_mul(UNITS) / (self.until.0 - self.since.0).max(1)
    }

    /// The ticks: round times of the local clock, each with its label.
    fn ticks(self) -> Vec<(i64, String)> {
        let span = self.until.0 - self.since.0;
        let mut steps = STEPS.into_iter().map(|minutes| minutes * MINUTE);
        let step = steps.find(|step| span / step < MAX_TICKS).unwrap_or(span);
        let offset = |at: i64| i64::from(local_offset(Timestamp(at))) * 1_000;
        let first = (self.since.0 + offset(self.since.0)).div_euclid(step) * step + step;
        let clocks = (0..=MAX_TICKS).map(|n| first + n * step);
        // The offset must be the one at the time that local clocks show, not at the same time in UTC.
        let times = clocks.map(|clock| Timestamp(clock - offset(clock - offset(clock))));
        // `Sat 2026-11-21 00:00` is `Sat 21`; where ticks are weeks apart `11-21`, and where they are years apart `2026-11`.
        let label = |at: Timestamp| {
            let text = day_time(at);
            let part = |range| text.get(range).unwrap_or_default();
            match part(15..20) {
                _ if step > 30 * DAY => part(4..11).to_owned(),
                _ if step > DAY => part(9..14).to_owned(),
                "00:00" => format!("{} {}", part(0..3), part(12..14)),
                clock => clock.to_owned(),
            }
        };
        times.filter(|at| *at < self.until).map(|at| (self.x(at), label(at))).collect()
    }
}

/// A shape in a row: a wait or an attempt.
struct Mark {
    /// The class in `style.css`: `w` waits, `n` runs, `o` succeeded, `f` failed, `i` was cut short, `r` waits for a retry. It
    /// is one letter because a page may have thousands of marks.
    class: &'static str,
    from: i64,
    to: i64,
    /// Shown under the pointer; none if the mark is folded.
    title: Option<String>,
}

/// Which attempts are drawn folded, because there are too many: marks that overlap become one, without a title.
#[derive(Clone, Copy)]
struct Folding {
    successes: bool,
    failures: bool,
}

const fn is_failure(stage: Stage) -> bool {
    !matches!(
        stage,
        Stage::Due
            | Stage::Running
            | Stage::Ended(Outcome::Succeeded | Outcome::Cancelled | Outcome::Interrupted)
    )
}

/// Draws all attempts, and the jobs that are due.
pub(super) fn draw(attempts: &[TimelineAttempt], axis: Axis) -> Markup {
    let (due, attempts): (Vec<_>, Vec<_>) = attempts.iter().partition(|attempt| attempt.stage == Stage::Due);
    let mut names: BTreeMap<&str, NameRow> = BTreeMap::new();
    for attempt in &attempts {
        names.entry(&attempt.name).or_default().add(attempt);
    }
    for attempt in due {
        if let Some(due) = attempt.due_at.filter(|due| *due < axis.until) {
            names.entry(&attempt.name).or_default().add_waiting(due);
        }
    }
    let jobs = attempts.iter().map(|attempt| attempt.job_id).collect::<BTreeSet<_>>().len();
    let failures = attempts.iter().filter(|attempt| is_failure(attempt.stage)).count();
    let successes = jobs > MAX_JOBS || attempts.len() > MAX_ATTEMPTS;
    let folding = Folding { successes, failures: successes && failures > MAX_JOBS };
    let mut rows: Vec<_> = names.into_iter().collect();
    let left_out = rows.len().saturating_sub(MAX_NAMES);
    rows.sort_by_key(|(_, row)| Reverse((row.failures, row.attempts.len())));
    rows.truncate(MAX_NAMES);
    rows.sort_by_key(|(_, row)| row.begin);
    let ticks = axis.ticks();
    let jobs = counted(jobs, "job");
    html! {
        @if rows.is_empty() {
            p.quiet { "Nothing ran in this time." }
        } @else {
            p.legend {
                @for (class, word) in [("o", "succeeded"), ("f", "failed"), ("n", "running"), ("i", "cut short"), ("w", "waited"), ("r", "waits for a retry")] {
                    span { svg viewBox="0 0 14 12" width="14" height="12" aria-hidden="true" { (rect(class, 0, 14, None)) } " " (word) " " }
                }
            }
            @if folding.failures {
                p.note { "These are " (jobs) ": all are drawn folded by name, so a mark may stand for several." }
            } @else if folding.successes {
                p.note { "These are " (jobs) ": what succeeded is drawn folded by name, and each failure on its own." }
            }
            div.lines {
                div.axis aria-hidden="true" {
                    div { @for (x, label) in ticks.iter().filter(|(x, _)| (300..9_700).contains(x)) {
                        span style={ "left:" (x / 100) "." (x % 100 / 10) "%" } { (label) }
                    } }
                }
                @for (name, row) in &rows { (row.draw(name, axis, folding, &ticks)) }
            }
            @if left_out > 0 {
                p.note { (counted(left_out, "more name")) " with fewer failures and attempts left out; " code { "--name" } " shows one." }
            }
        }
    }
}

/// The row of one name.
#[derive(Default)]
struct NameRow<'a> {
    attempts: Vec<&'a TimelineAttempt>,
    failures: usize,
    waiting: usize,
    /// The due time of the job that has been waiting longest.
    waits_since: Option<Timestamp>,
    begin: Option<Timestamp>,
}

impl<'a> NameRow<'a> {
    fn add(&mut self, attempt: &'a TimelineAttempt) {
        self.failures += usize::from(is_failure(attempt.stage));
        self.begin_at(attempt.due_at.or(attempt.started_at).or(attempt.finished_at));
        self.attempts.push(attempt);
    }

    fn add_waiting(&mut self, due: Timestamp) {
        self.waiting += 1;
        self.waits_since = self.waits_since.into_iter().chain([due]).min();
        self.begin_at(Some(due));
    }

    fn begin_at(&mut self, at: Option<Timestamp>) {
        self.begin = self.begin.into_iter().chain(at).min();
    }

    fn draw(&self, name: &str, axis: Axis, folding: Folding, ticks: &[(i64, String)]) -> Markup {
        let marks = self.marks(axis, folding);
        let grid: Vec<_> = ticks.iter().map(|(x, _)| format!("M{x} 0v{HEIGHT}")).collect();
        let parts = [
            (self.attempts.len(), counted(self.attempts.len(), "attempt")),
            (self.failures, format!("{} failed", self.failures)),
            (self.waiting, format!("{} waiting", self.waiting)),
        ];
        let parts: Vec<_> =
            parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, part)| part).collect();
        let summary = parts.join(", ");
        html! {
            div.line {
                h3 { (job_text(name)) " " small .bad[self.failures > 0] { (summary) } }
                svg viewBox={ "0 0 " (UNITS) " " (HEIGHT) } height=(HEIGHT) preserveAspectRatio="none" role="img"
                    aria-label={ (job_text(name)) ": " (summary) } {
                    path.g d=(grid.concat()) {}
                    @for (class, path) in folded(&marks) { path class=(class) d=(path) {} }
                    @for mark in marks.iter().filter(|mark| mark.title.is_some()) {
                        (rect(mark.class, mark.from, mark.to, mark.title.as_deref()))
                    }
                }
            }
        }
    }

    /// All marks of the row. Failures come last, so that they are drawn on top.
    fn marks(&self, axis: Axis, folding: Folding) -> Vec<Mark> {
        let mut marks = Vec::new();
        for attempt in &self.attempts {
            add_marks(&mut marks, attempt, axis, folding);
        }
        if let Some(since) = self.waits_since {
            let title = Some(format!("{} waiting since {}", self.waiting, local_time(since)));
            marks.push(Mark { class: "w", from: axis.x(since), to: UNITS, title });
        }
        marks.sort_by_key(|mark| mark.class == "f");
        marks
    }
}

/// Adds the marks of an attempt: its wait, the attempt itself, and the wait for the retry after it.
fn add_marks(marks: &mut Vec<Mark>, attempt: &TimelineAttempt, axis: Axis, folding: Folding) {
    let end = attempt.finished_at.unwrap_or(axis.until);
    let start = attempt.started_at.unwrap_or(end).min(end);
    let fold = if is_failure(attempt.stage) { folding.failures } else { folding.successes };
    let (class, word) = match attempt.stage {
        Stage::Running => ("n", "running"),
        Stage::Due => ("w", "waiting"),
        Stage::Ended(Outcome::Succeeded) => ("o", "succeeded"),
        Stage::Ended(outcome @ (Outcome::Cancelled | Outcome::Interrupted)) => ("i", outcome.as_str()),
        Stage::Ended(_) => ("f", "failed"),
        Stage::Expired => ("f", "not started in time"),
    };
    let title = || {
        let code = attempt.error_code.as_deref().filter(|_| class == "f");
        let code = code.map(|code| format!(" {}", job_text(code))).unwrap_or_default();
        let ran = attempt.duration.map(|span| format!(" after {}", human_duration(span))).unwrap_or_default();
        format!("{}.{} {word}{code}{ran}, {}", attempt.job_id, attempt.number, local_time(start))
    };
    let mut mark = |class, from: Timestamp, to: Timestamp, least, title| {
        let (from, to) = (axis.x(from).min(UNITS - least), axis.x(to));
        if to - from >= GRID || least > 0 {
            marks.push(Mark { class, from, to: to.max(from + least), title });
        }
    };
    let part = |word: &str| (!fold).then(|| format!("{}.{} {word}", attempt.job_id, attempt.number));
    if let Some(due) = attempt.due_at.filter(|due| *due < start) {
        mark("w", due, start, 0, part("waited"));
    }
    mark(class, start, end, MIN_UNITS, (!fold).then(title));
    if let Some(retry) = attempt.retry_at {
        mark("r", end, retry, 0, part("waits for a retry"));
    }
}

/// The paths of the folded marks, one for each class. Marks that overlap become one.
fn folded(marks: &[Mark]) -> Vec<(&'static str, String)> {
    let mut classes: BTreeMap<&'static str, Vec<(i64, i64)>> = BTreeMap::new();
    for mark in marks.iter().filter(|mark| mark.title.is_none()) {
        let (from, to) = (mark.from / GRID * GRID, (mark.to + GRID - 1) / GRID * GRID);
        classes.entry(mark.class).or_default().push((from, to));
    }
    let mut paths = Vec::new();
    // Later shapes are drawn on top, so attempts hide waits, and failures hide other attempts.
    for class in ["w", "r", "i", "o", "n", "f"] {
        let Some(mut spans) = classes.remove(class) else { continue };
        spans.sort_unstable();
        let (top, height) = shape(class);
        let mut path = String::new();
        let mut spans = spans.into_iter().peekable();
        while let Some((from, mut to)) = spans.next() {
            while let Some((_, end)) = spans.next_if(|(next, _)| *next <= to) {
                to = to.max(end);
            }
            let _ = write!(path, "M{from} {top}h{}v{height}H{from}z", to - from);
        }
        paths.push((class, path));
    }
    paths
}

/// The top and the height of a mark.
fn shape(class: &str) -> (i64, i64) {
    match class {
        "w" | "r" => (5, 2),
        "f" => (0, HEIGHT),
        _ => (2, 8),
    }
}

fn rect(class: &str, from: i64, to: i64, title: Option<&str>) -> Markup {
    let (top, height) = shape(class);
    html! {
        rect class=(class) x=(from) y=(top) width=(to - from) height=(height) {
            @if let Some(title) = title { title { (title) } }
        }
    }
}
