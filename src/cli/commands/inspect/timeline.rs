//! A look at how a job spent its time: a bar for each attempt, its wait and its run, all on one scale.

use crate::cli::output::{Output, Style, Written};
use crate::model::{Attempt, JobState, Outcome};
use crate::store::JobRow;
use crate::text::{Millis, Timestamp, human_duration, local_time};

/// Attempts that are drawn at most, the newest: more would push the story off the out.
const MOST_BARS: usize = 8;

/// Before a bar stands the number of the attempt, as before its story.
const INDENT: usize = 7;

/// Columns of a bar. Below the first nothing could be seen, beyond the second nothing more.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=66;

/// One attempt on the scale: its wait, then its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    number: u32,
    /// When the wait began; none where the job did not wait for this attempt before it was put back.
    waits_from: Timestamp,
    /// When the run began; at the end of the wait if it has not.
    runs_from: Timestamp,
    /// When the run ended, or now.
    until: Timestamp,
    tone: Style,
}

/// Draws it on a terminal, where there is more than one attempt to compare.
pub(super) fn show(out: &mut Output, job: &JobRow, history: &[Attempt], now: Timestamp) -> Written {
    let width = out.width().saturating_sub(INDENT + 1).min(*WIDTHS.end());
    let mut spans = spans(job, history, now);
    if !out.is_terminal() || width < *WIDTHS.start() || spans.len() < 2 {
        return Ok(());
    }
    spans.drain(..spans.len().saturating_sub(MOST_BARS));
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(()) };
    let (from, until) = (first.waits_from, last.until);
    let [waits, runs] = if out.ascii_only() { ['.', '#'] } else { ['░', '█'] };
    let legend = format!(
        "{} from {}: {waits} waits, {runs} runs",
        human_duration(until.since(from)),
        local_time(from)
    );
    out.prose("  time      ", &legend)?;
    for span in &spans {
        let (blank, wait, run) = cells(span, from, until, width);
        let waited = out.paint(Style::Faint, &waits.to_string().repeat(wait));
        let ran = out.paint(span.tone, &runs.to_string().repeat(run));
        out.line(format!("  {:>3}  {}{waited}{ran}", span.number, " ".repeat(blank)))?;
    }
    out.line("")
}

/// What is known of the times of each attempt, the one that runs or is waited for included.
fn spans(job: &JobRow, history: &[Attempt], now: Timestamp) -> Vec<Span> {
    let mut spans = Vec::with_capacity(history.len() + 1);
    // Clocks may have been set: no attempt begins before the one before it has ended.
    let mut free = job.enqueued_at;
    for attempt in history {
        let until = attempt.finished_at.max(free);
        let began = attempt.started_at.or(attempt.duration.map(|span| before(until, span))).unwrap_or(until);
        let tone = match attempt.outcome {
            Outcome::Succeeded => Style::Good,
            Outcome::Interrupted | Outcome::Cancelled => Style::Warn,
            _ => Style::Bad,
        };
        spans.push(Span {
            number: attempt.number,
            waits_from: free,
            runs_from: began.clamp(free, until),
            until,
            tone,
        });
        // A dead job waits for nobody: what comes after it was put back then at the earliest.
        free = until;
    }
    for at in 1..spans.len() {
        if history[at - 1].next_state.is_final() {
            spans[at].waits_from = spans[at].runs_from;
        }
    }
    let number = job.attempts.saturating_add(1);
    match job.state {
        JobState::Running => {
            let began = job.attempt_started_at.or(job.claimed_at()).unwrap_or(now).clamp(free, now.max(free));
            let until = now.max(began);
            spans.push(Span { number, waits_from: free, runs_from: began, until, tone: Style::Busy });
        }
        JobState::Pending if job.attempts > 0 => {
            let due = job.run_at.max(now).max(free);
            spans.push(Span { number, waits_from: free, runs_from: due, until: due, tone: Style::Busy });
        }
        _ => {}
    }
    spans
}

fn before(at: Timestamp, span: Millis) -> Timestamp {
    Timestamp(at.0.saturating_sub_unsigned(span.0))
}

/// Columns that are blank, that wait, that run. What took any time is seen.
fn cells(span: &Span, from: Timestamp, until: Timestamp, width: usize) -> (usize, usize, usize) {
    let all = u128::from(until.since(from).0.max(1));
    let place = |at: Timestamp| {
        let passed = u128::from(at.since(from).0) * width as u128;
        usize::try_from((passed + all / 2) / all).unwrap_or(width).min(width)
    };
    let (mut blank, mut begins, mut ends) =
        (place(span.waits_from), place(span.runs_from), place(span.until));
    let has_run = span.until > span.runs_from || span.tone != Style::Busy;
    if has_run && begins == ends {
        // The scale is too coarse for it: it takes a column of its own, within the width.
        begins = begins.min(width - 1);
        ends = begins + 1;
        blank = blank.min(begins);
    }
    (blank, begins - blank, ends - begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(waits_from: i64, runs_from: i64, until: i64) -> Span {
        let at = Timestamp;
        Span {
            number: 1,
            waits_from: at(waits_from),
            runs_from: at(runs_from),
            until: at(until),
            tone: Style::Good,
        }
    }

    #[test]
    fn a_bar_is_to_scale_and_what_took_any_time_is_seen() {
        let of = |span: Span| cells(&span, Timestamp(1_000), Timestamp(2_000), 20);
        assert_eq!(of(span(1_000, 1_500, 2_000)), (0, 10, 10));
        assert_eq!(of(span(1_500, 1_750, 1_800)), (10, 5, 1));
        assert_eq!(of(span(1_000, 1_001, 1_002)), (0, 0, 1));
        assert_eq!(of(span(1_990, 1_999, 2_000)), (19, 0, 1), "it stays within the width");
        let waits = Span { tone: Style::Busy, ..span(1_500, 2_000, 2_000) };
        assert_eq!(of(waits), (10, 10, 0), "what has not started has not run");
        assert_eq!(cells(&span(5, 5, 5), Timestamp(5), Timestamp(5), 20), (0, 0, 1));
    }
}
