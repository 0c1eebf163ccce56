//! The section "Names": the numbers of each name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::words::{MAX_NAMES, MAX_OPEN, job_text, more, when, whole_table};
use super::worst::Worst;
use crate::call_target::to_type;
use crate::model::{MemoryPeak, Outcome};
use crate::store::{NameStats, Stage, TimelineAttempt};
use crate::text::{Millis, Timestamp, counted, known_duration};
use crate::view::advice::folders::FilesOfNames;

/// A run is slow if it took this many times the median …
const SLOW: u64 = 2;
/// … of at least this number of runs …
const MIN_RUNS: usize = 5;
/// … and at least this long.
const MIN_SLOW: Millis = Millis::from_secs(1);

/// The numbers of each name and job file, the worst first.
pub(super) fn draw(
    stats: &[NameStats],
    attempts: &[TimelineAttempt],
    worst: &Worst,
    now: Timestamp,
) -> Markup {
    let mut successes: BTreeMap<(&str, Option<i64>), Vec<Millis>> = BTreeMap::new();
    for attempt in attempts.iter().filter(|it| it.stage == Stage::Ended(Outcome::Succeeded)) {
        successes.entry((&attempt.name, attempt.job_file)).or_default().extend(attempt.duration);
    }
    let files = FilesOfNames::of(stats.iter().map(|of| (&*of.name, of.file.as_deref())));
    let mut rows: Vec<_> = stats.iter().collect();
    rows.sort_by_key(|stats| {
        Reverse((worst.rank(&stats.name, stats.file.as_deref()), stats.dead, stats.jobs(), stats.attempts))
    });
    let left_out = rows.len().saturating_sub(MAX_NAMES);
    rows.truncate(MAX_NAMES);
    let row = |stats: &NameStats| {
        let name = &stats.name;
        let file = stats.file.as_deref();
        let folder = files.folder(name, file);
        let is_slow = successes.get(&(name, stats.job_file)).is_some_and(|spans| is_slow(spans));
        let memory = |peak: MemoryPeak| peak.to_string();
        vec![
            html! { (job_text(name)) @if let Some(folder) = folder { ", " (job_text(&folder)) } },
            html! {
                (stats.succeeded)
                @if stats.warnings > 0 { ", " span.warned { (stats.warnings) " with a warning" } }
            },
            html! { span.bad[stats.dead > 0 && worst.is_alarming(name, file)] { (stats.dead) } },
            html! { (known_duration(stats.runs.percentile(50))) },
            html! { (known_duration(stats.runs.max())) },
            html! { (known_duration(stats.cpu.percentile(95))) },
            html! { (stats.memory.percentile(95).map(memory).unwrap_or_default()) },
            html! {
                @if is_slow { span.new { "the last run took twice as long as usual" } " " }
                @if let Some((at, code)) = &stats.last_failure { (when(*at, now)) " " span.code.bad[worst.is_alarming(name, file)] { (job_text(code)) } }
            },
        ]
    };
    let rows: Vec<_> = rows.into_iter().map(row).collect();
    let heads = [
        ("name", ""),
        ("succeeded", "number"),
        ("dead", "number"),
        ("half within", "number"),
        ("longest", "number"),
        ("CPU p95", "number"),
        ("memory p95", "number"),
        ("last failure", "wide"),
    ];
    html! {
        // A long table is folded: what went wrong stands above, too.
        @if rows.len() > MAX_OPEN {
            details.folded { summary { (counted(rows.len(), "name")) } (whole_table(&heads, &rows)) }
        } @else {
            (whole_table(&heads, &rows))
        }
        (more(left_out, "more name", &to_type("inspect", "stats")))
    }
}

/// Whether the last success took at least twice as long as half of those before it.
fn is_slow(successes: &[Millis]) -> bool {
    let Some((last, before)) = successes.split_last().filter(|(_, before)| before.len() >= MIN_RUNS) else {
        return false;
    };
    let mut before = before.to_vec();
    before.sort_unstable();
    let usual = before.get(before.len() / 2).copied().unwrap_or_default();
    *last >= MIN_SLOW && last.0 >= usual.0.saturating_mul(SLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(spans: &[u64]) -> Vec<Millis> {
        spans.iter().map(|span| Millis(*span)).collect()
    }

    #[test]
    fn a_last_run_of_twice_the_usual_time_is_slow() {
        assert!(is_slow(&runs(&[1_000, 1_100, 900, 1_000, 1_000, 2_200])));
        assert!(!is_slow(&runs(&[1_000, 1_100, 900, 1_000, 1_000, 1_900])));
        assert!(!is_slow(&runs(&[1_000, 2_200])));
        assert!(!is_slow(&runs(&[1, 1, 1, 1, 1, 20])));
    }
}
