//! The attempts of a job as bars on one scale.

use std::ops::RangeInclusive;

use crate::cli::output::{Output, Style, Written};
use crate::model::{Attempt, JobState, Outcome};
use crate::store::JobRow;
use crate::text::{Millis, Timestamp, human_duration, local_time};

/// Attempts that are shown, the newest: more would push the story off the screen.
const MAX_BARS: usize = 8;

/// Columns of a bar. Below the first nothing could be seen, beyond the second nothing more.
const BAR_WIDTHS: RangeInclusive<usize> = 20..=66;

/// Before a bar: the number of its attempt.
const MARGIN: usize = 7;

/// A wait, or the time until a replay, is drawn at most this many times as long as the longest run: it would squeeze the
/// runs.
const MAX_WAIT: u64 = 4;

/// Shorter runs are allowed to be squeezed: only the waits between them are worth a look.
const WORTH_A_LOOK: Millis = Millis(1_000);

/// One attempt: its wait, then its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bar {
    number: u32,
    /// Before the wait, while the job was dead or cancelled.
    idle: Millis,
    wait: Millis,
    /// None if the run has not begun.
    run: Option<Millis>,
    style: Style,
}

/// The columns of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cells {
    blank: usize,
    wait: usize,
    run: usize,
    /// Drawn shorter than it was.
    idle_cut: bool,
    wait_cut: bool,
}

/// Draws, on a terminal, a bar for each attempt where there is more than one to compare.
pub(super) fn draw_timeline(out: &mut Output, job: &JobRow, history: &[Attempt], now: Timestamp) -> Written {
    let width = out.width().saturating_sub(MARGIN + 1).min(*BAR_WIDTHS.end());
    let mut bars = bars(job, history, now);
    if !out.is_terminal() || width < *BAR_WIDTHS.start() || bars.len() < 2 {
        return Ok(());
    }
    let hidden: Vec<_> = bars.drain(..bars.len().saturating_sub(MAX_BARS)).collect();
    let from = hidden.iter().fold(job.enqueued_at, |at, bar| at.plus(bar.length()));
    let all = Millis(bars.iter().map(|bar| bar.length().0).sum());
    let drawn = cells(&bars, width);
    let [waits, runs] = if out.ascii_only() { ['.', '#'] } else { ['░', '█'] };
    let cut = if drawn.iter().any(|cells| cells.idle_cut || cells.wait_cut) { ", ~ cut short" } else { "" };
    let (all, from) = (human_duration(all), local_time(from));
    out.prose("  time      ", &format!("{all} from {from}: {waits} waits, {runs} runs{cut}"))?;
    for (bar, cells) in bars.iter().zip(drawn) {
        let blank = marked(' ', cells.blank, cells.idle_cut.then(|| cells.blank.saturating_sub(1)));
        let waited = marked(waits, cells.wait, cells.wait_cut.then_some(cells.wait / 2));
        let (waited, ran) = (out.paint(Style::Faint, &waited), runs.to_string().repeat(cells.run));
        out.line(format!("  {:>3}  {blank}{waited}{}", bar.number, out.paint(bar.style, &ran)))?;
    }
    out.line("")
}

/// So many of these characters, one of them replaced by the mark of a cut.
fn marked(of: char, length: usize, mark_at: Option<usize>) -> String {
    (0..length).map(|at| if Some(at) == mark_at { '~' } else { of }).collect()
}

impl Bar {
    fn length(&self) -> Millis {
        Millis(self.idle.0 + self.wait.0 + self.run.unwrap_or_default().0)
    }
}

/// The known times of each attempt, and of the attempt that runs or comes next, from the enqueue on.
fn bars(job: &JobRow, history: &[Attempt], now: Timestamp) -> Vec<Bar> {
    let mut bars = Vec::with_capacity(history.len() + 1);
    let (mut free, mut was_final) = (job.enqueued_at, false);
    for attempt in history {
        // Clocks may have been set: no attempt begins before the one before it has ended.
        let until = attempt.finished_at.max(free);
        let began = attempt.started_at.or(attempt.duration.map(|span| before(until, span))).unwrap_or(until);
        let began = began.clamp(free, until);
        // A dead job waits for nothing: it was put back at some time before this attempt.
        let gap = began.since(free);
        let (idle, wait) = if was_final { (gap, Millis(0)) } else { (Millis(0), gap) };
        let style = match attempt.outcome {
            Outcome::Succeeded => Style::Good,
            Outcome::Interrupted | Outcome::Cancelled => Style::Warn,
            _ => Style::Bad,
        };
        bars.push(Bar { number: attempt.number, idle, wait, run: Some(until.since(began)), style });
        (free, was_final) = (until, attempt.next_state.is_final());
    }
    let next = match job.state {
        JobState::Running => {
            let began = job.running_since().unwrap_or(now).clamp(free, now.max(free));
            Some((began, Some(now.since(began))))
        }
        JobState::Pending if job.attempts > 0 => Some((job.run_at.max(now).max(free), None)),
        _ => None,
    };
    bars.extend(next.map(|(began, run)| Bar {
        number: job.attempts.saturating_add(1),
        idle: Millis(0),
        wait: began.since(free),
        run,
        style: Style::Busy,
    }));
    bars
}

fn before(at: Timestamp, span: Millis) -> Timestamp {
    Timestamp(at.0.saturating_sub_unsigned(span.0))
}

/// The columns of these bars, to scale but for long waits. A run takes a column at least.
fn cells(bars: &[Bar], width: usize) -> Vec<Cells> {
    let longest = bars.iter().filter_map(|bar| bar.run).max().filter(|run| *run >= WORTH_A_LOOK);
    let max_wait = longest.map_or(u64::MAX, |run| run.0.saturating_mul(MAX_WAIT));
    let drawn = |bar: &Bar| {
        [bar.idle.0.min(max_wait), bar.wait.0.min(max_wait), bar.run.unwrap_or_default().0].map(u128::from)
    };
    let all = bars.iter().flat_map(drawn).sum::<u128>().max(1);
    let column =
        |passed: u128| usize::try_from((passed * width as u128 + all / 2) / all).unwrap_or(width).min(width);
    let mut passed = 0;
    let mut cells = Vec::with_capacity(bars.len());
    for bar in bars {
        let [idle, wait, run] = drawn(bar);
        let mut blank = column(passed + idle);
        let mut begins = column(passed + idle + wait);
        passed += idle + wait + run;
        let mut ends = column(passed);
        if bar.run.is_some() && begins == ends {
            begins = begins.min(width - 1);
            ends = begins + 1;
            blank = blank.min(begins);
        }
        cells.push(Cells {
            blank,
            wait: begins - blank,
            run: ends - begins,
            idle_cut: bar.idle.0 > max_wait,
            wait_cut: bar.wait.0 > max_wait,
        });
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bars of these waits and runs, and their columns of 20.
    fn drawn(times: &[(u64, u64)]) -> Vec<(usize, usize, usize, bool)> {
        let bar = |(wait, run): &(u64, u64)| Bar {
            number: 1,
            idle: Millis(0),
            wait: Millis(*wait),
            run: Some(Millis(*run)),
            style: Style::Good,
        };
        let bars: Vec<_> = times.iter().map(bar).collect();
        cells(&bars, 20).iter().map(|cells| (cells.blank, cells.wait, cells.run, cells.wait_cut)).collect()
    }

    #[test]
    fn a_bar_is_to_scale_and_a_run_takes_a_column_at_least() {
        assert_eq!(drawn(&[(500, 500)]), [(0, 10, 10, false)]);
        assert_eq!(drawn(&[(1, 1), (498, 500)]), [(0, 0, 1, false), (0, 10, 10, false)]);
        assert_eq!(drawn(&[(500, 499), (0, 1)]), [(0, 10, 10, false), (19, 0, 1, false)]);
        assert_eq!(drawn(&[(0, 0)]), [(0, 0, 1, false)]);
    }

    #[test]
    fn a_long_wait_does_not_squeeze_the_runs() {
        assert_eq!(drawn(&[(0, 1_000), (86_400_000, 1_000)]), [(0, 0, 3, false), (3, 14, 3, true)]);
        assert_eq!(drawn(&[(0, 1), (19_998, 1)]), [(0, 0, 1, false), (0, 19, 1, false)], "nothing to see");
    }
}
