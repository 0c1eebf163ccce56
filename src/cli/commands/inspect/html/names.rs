//! The section "Names": the numbers of each name, with a chart of its run times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::bars::{self, HEIGHT, Kind, Paths};
use super::words::{MAX_NAMES, job_text, span, table, when};
use super::{Page, Worst};
use crate::cli::suggested::for_this_call;
use crate::model::{MemoryPeak, Outcome};
use crate::store::{NameStats, Stage};
use crate::text::{Millis, counted};

/// The most bars of a chart of run times, and the width of one in the units of the drawing.
const BARS: usize = 30;
const BAR: i64 = 40;

/// A run is slow if it took this many times as long as the half of all runs, of at least so many, and at least so long.
const SLOW: u64 = 2;
const MIN_RUNS: usize = 5;
const MIN_SLOW: Millis = Millis::from_secs(1);

/// The numbers of each name, the worst first.
pub(super) fn draw(page: &Page, worst: &Worst) -> Markup {
    let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
    for attempt in &page.attempts {
        if let (Some(span), Some(kind), Stage::Ended(_)) =
            (attempt.duration, Kind::of(attempt.stage), attempt.stage)
        {
            let is_whole = attempt.stage == Stage::Ended(Outcome::Succeeded);
            runs.entry(&attempt.name).or_default().push(Run { span, kind, is_whole });
        }
    }
    let mut rows: Vec<_> = page.stats.iter().collect();
    rows.sort_by_key(|(name, stats)| Reverse((worst.rank(name), stats.dead, stats.jobs(), stats.attempts)));
    let more = rows.len().saturating_sub(MAX_NAMES);
    rows.truncate(MAX_NAMES);
    let row = |(name, stats): (&String, &NameStats)| {
        let runs = runs.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let memory = |peak: MemoryPeak| peak.to_string();
        vec![
            html! { (job_text(name)) },
            html! { (stats.succeeded) },
            html! { span.bad[stats.dead > 0] { (stats.dead) } },
            chart(runs),
            html! { (span(stats.runs.percentile(50))) },
            html! { (span(stats.runs.max())) },
            html! { (span(stats.cpu.percentile(95))) },
            html! { (stats.memory.percentile(95).map(memory).unwrap_or_default()) },
            html! {
                @if is_slow(runs) { span.new { "the last run took twice as long as usual" } " " }
                @if let Some((at, code)) = &stats.last_failure { (when(*at, page.now)) " " span.code { (job_text(code)) } }
            },
        ]
    };
    let rows: Vec<_> = rows.into_iter().map(row).collect();
    let heads = [
        ("name", ""),
        ("succeeded", "number"),
        ("dead", "number"),
        ("run times", "wide"),
        ("half within", "number"),
        ("longest", "number"),
        ("CPU p95", "number"),
        ("memory p95", "number"),
        ("last failure", "wide"),
    ];
    html! {
        (table(&heads, &rows))
        @if more > 0 { p.note { (counted(more, "more name")) ": " code { (for_this_call("runner inspect stats")) } } }
    }
}

/// An ended attempt.
#[derive(Clone, Copy)]
struct Run {
    span: Millis,
    kind: Kind,
    is_whole: bool,
}

/// Whether the last success took at least twice as long as half of those before it.
fn is_slow(runs: &[Run]) -> bool {
    let mut spans: Vec<u64> = runs.iter().filter(|run| run.is_whole).map(|run| run.span.0).collect();
    let Some(last) = spans.pop().filter(|_| spans.len() >= MIN_RUNS) else { return false };
    spans.sort_unstable();
    let usual = spans.get(spans.len() / 2).copied().unwrap_or_default();
    last >= MIN_SLOW.0 && last >= usual.saturating_mul(SLOW)
}

/// A bar for each run time, in their order. If there are many, several share a bar, as high as the longest of them, and split
/// in proportion to how they went.
fn chart(runs: &[Run]) -> Markup {
    let longest = runs.iter().map(|run| run.span.0).max().unwrap_or(0).max(1);
    let mut paths = Paths::default();
    let chunks: Vec<_> = runs.chunks(runs.len().div_ceil(BARS).max(1)).collect();
    for (some, x) in chunks.iter().zip((0..).step_by(usize::try_from(BAR).unwrap_or(1))) {
        let span = some.iter().map(|run| run.span.0).max().unwrap_or(0);
        let height = i64::try_from(span.saturating_mul(100) / longest).unwrap_or(HEIGHT).clamp(4, HEIGHT);
        paths.add(x, x + BAR, height, bars::count(some.iter().map(|run| run.kind)));
    }
    let width = i64::try_from(chunks.len().max(12)).unwrap_or(BAR) * BAR;
    html! {
        @if !chunks.is_empty() {
            svg.runs viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ "the run times of " (counted(runs.len(), "attempt")) " in their order" } {
                @for (class, path) in paths.drawn() { path class=(class) d=(path) {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(spans: &[u64]) -> Vec<Run> {
        let run = |span: &u64| Run { span: Millis(*span), kind: Kind::Succeeded, is_whole: true };
        spans.iter().map(run).collect()
    }

    #[test]
    fn a_last_run_of_twice_the_usual_time_is_slow() {
        assert!(is_slow(&runs(&[1_000, 1_100, 900, 1_000, 1_000, 2_200])));
        assert!(!is_slow(&runs(&[1_000, 1_100, 900, 1_000, 1_000, 1_900])));
        assert!(!is_slow(&runs(&[1_000, 2_200])));
        assert!(!is_slow(&runs(&[1, 1, 1, 1, 1, 20])));
    }
}
