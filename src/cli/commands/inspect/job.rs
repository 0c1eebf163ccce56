//! One job: its definition, its state and why, and the story of its attempts.

use std::ops::RangeInclusive;

use anyhow::Result;

use super::attempt::exit_text;
use crate::cli::definition_text::{print_command, print_policy};
use crate::cli::locate;
use crate::cli::output::{Output, Style, Written, job_with_history_json, last_lines};
use crate::cli::status_text::status_text;
use crate::cli::worker_status::{WorkerStatus, with_liveness};
use crate::model::{Attempt, JobState, Outcome, decision_text};
use crate::store::{JobRow, JobView, Store};
use crate::text::{Millis, Timestamp, counted, human_duration, local_time, relative_time, safe_line};

/// Attempts that are read, the newest.
const MAX_HISTORY: usize = 1_000;

/// Attempts that a screen shows.
const SCREENFUL: usize = 20;

/// Lines of output that are shown with a failure.
const LAST_LINES: usize = 3;

/// Before the further lines about an attempt.
const INDENT: &str = "       ";

pub(super) fn show(out: &mut Output, store: &Store, id: i64, now: Timestamp) -> Result<bool> {
    let view = store.job_view(id, MAX_HISTORY, now)?;
    let JobView { mut job, history, last_output, workers } =
        view.ok_or_else(|| locate::no_such_job(store, id))?;
    locate::add_start(store, &mut job);
    if out.json {
        out.object(&job_with_history_json(&job, &history))?;
        return Ok(true);
    }
    let workers = with_liveness(store, workers);
    draw_heading(out, &job, &workers, now)?;
    draw_facts(out, &job, now)?;
    if !history.is_empty() || job.state == JobState::Running {
        out.line("")?;
    }
    draw_timeline(out, &job, &history, now)?;
    draw_history(out, &job, &history)?;
    if history.last().is_some_and(|last| last.outcome != Outcome::Succeeded) {
        let (stream, lines) = last_lines(&last_output, LAST_LINES);
        lines.iter().try_for_each(|line| out.line(format!("{INDENT}{stream}: {line}")))?;
    }
    if let Some(since) = job.running_since() {
        let is_own = |worker: &&WorkerStatus| job.worker_id.as_ref() == Some(&worker.row.name);
        let state = if workers.iter().find(is_own).is_some_and(WorkerStatus::is_alive) {
            format!("{} for {}", out.paint_status("running"), human_duration(now.since(since)))
        } else {
            "its worker is dead".to_owned()
        };
        out.line(format!("  {:>3}  {}  {state}", job.last_attempt(), local_time(since)))?;
    }
    let next = what_to_type(&job);
    if !next.is_empty() {
        out.line("")?;
        out.line(format!("next  {next}"))?;
    }
    Ok(true)
}

fn draw_heading(out: &mut Output, job: &JobRow, workers: &[WorkerStatus], now: Timestamp) -> Written {
    let (name, status) = (out.paint(Style::Strong, &job.spec.name), out.paint_status(job.status()));
    out.line(format!("job {} {name}: {status}", job.id))?;
    for line in status_text(job, workers, now) {
        out.prose("  ", &line)?;
    }
    out.line("")
}

fn draw_facts(out: &mut Output, job: &JobRow, now: Timestamp) -> Written {
    let spec = &job.spec;
    print_command(out, &spec.command, &job.args)?;
    out.line(format!("  cwd       {}", safe_line(&spec.cwd.to_text())))?;
    out.fact("queue", &format!("{}, priority {}", spec.queue, spec.priority))?;
    print_policy(out, &spec.policy)?;
    if let Some(timeout) = spec.timeout {
        out.fact("timeout", &format!("{timeout}, then SIGTERM, {} later SIGKILL", spec.grace_period))?;
    }
    let due = job.phase.map(|_| job.run_at);
    for (word, at) in [("enqueued", Some(job.enqueued_at)), ("due", due), ("expires", job.expires_at)] {
        if let Some(at) = at {
            out.fact(word, &format!("{}, {}", local_time(at), relative_time(at, now)))?;
        }
    }
    for (word, text) in [("key", &spec.unique_key), ("once", &job.idempotency_key), ("result", &job.result)] {
        if let Some(text) = text {
            out.fact(word, &safe_line(text))?;
        }
    }
    Ok(())
}

fn draw_history(out: &mut Output, job: &JobRow, history: &[Attempt]) -> Written {
    let hidden = history.len().saturating_sub(SCREENFUL);
    if hidden > 0 {
        let earlier = counted(hidden, "earlier attempt");
        out.line(format!("  … {earlier}; runner inspect attempts --name {} lists all", job.spec.name))?;
    }
    for (index, attempt) in history.iter().enumerate().skip(hidden) {
        if attempt.budget_number == 1 && index > 0 && history[index - 1].next_state.is_final() {
            out.line(out.paint(Style::Faint, &format!("{INDENT}put back, with a fresh budget")))?;
        }
        draw_attempt(out, attempt, job.spec.policy.runs())?;
    }
    Ok(())
}

/// Draws one line for the exit, one for the decision, and one for the message.
fn draw_attempt(out: &mut Output, attempt: &Attempt, runs: u32) -> Written {
    let started = match attempt.started_at {
        Some(at) => local_time(at),
        None if attempt.outcome == Outcome::SpawnFailed => local_time(attempt.finished_at),
        None => "not known to start ".to_owned(),
    };
    let took = attempt.duration.map(human_duration).unwrap_or_default();
    let exit = exit_summary(attempt);
    let exit = match attempt.outcome {
        Outcome::Succeeded => out.paint(Style::Good, &exit),
        Outcome::Interrupted | Outcome::Cancelled => exit,
        _ => out.paint(Style::Bad, &exit),
    };
    let code = attempt.error_code.as_ref().map(|code| format!(" -> {code}")).unwrap_or_default();
    let leaked = if attempt.leaked { ", leaked a process" } else { "" };
    let number = format!("  {:>3}  ", attempt.number);
    out.prose(&number, &format!("{started}  {took:>7}  {exit}{code}{leaked}"))?;
    if attempt.next_state != JobState::Succeeded {
        out.prose(INDENT, &decision_text(attempt, runs))?;
    }
    if let Some(message) = &attempt.message {
        out.aside(INDENT, &safe_line(message))?;
    }
    Ok(())
}

/// Runner's action on the attempt, and the exit of its process.
fn exit_summary(attempt: &Attempt) -> String {
    let stopped = match attempt.outcome {
        Outcome::Succeeded | Outcome::Failed => None,
        Outcome::TimedOut => Some("timed out".to_owned()),
        Outcome::SpawnFailed => Some("not started".to_owned()),
        Outcome::WorkerCrashed => Some("worker died".to_owned()),
        Outcome::Interrupted => Some("worker stopped".to_owned()),
        Outcome::Cancelled => Some("cancelled".to_owned()),
    };
    stopped.into_iter().chain(exit_text(attempt)).collect::<Vec<_>>().join(", ")
}

/// The commands that help with a job in this state.
fn what_to_type(job: &JobRow) -> String {
    let id = job.id;
    let logs = (job.last_attempt() > 0).then(|| format!("runner logs {id}"));
    let change = match job.state {
        JobState::Dead | JobState::Cancelled if job.spec.policy.retryable => {
            Some(format!("runner retry {id}"))
        }
        JobState::Dead | JobState::Cancelled => Some(format!("runner retry {id} --force")),
        JobState::Pending if job.next_retry_at().is_some() => Some(format!("runner retry {id} --now")),
        JobState::Running => Some(format!("runner cancel {id}")),
        JobState::Pending | JobState::Succeeded => None,
    };
    logs.into_iter().chain(change).collect::<Vec<_>>().join("   ")
}

/// Attempts that the timeline shows, the newest: more would push the story off the screen.
const MAX_BARS: usize = 8;

/// Columns of a bar. Below the first nothing could be seen, beyond the second nothing more.
const BAR_WIDTHS: RangeInclusive<usize> = 20..=66;

/// One attempt on the timeline: its wait, then its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    number: u32,
    waits_from: Timestamp,
    /// The end of the wait, if it has not begun.
    runs_from: Timestamp,
    /// The end of the run, or now.
    until: Timestamp,
    style: Style,
}

/// Draws, on a terminal, a bar for each attempt, all on one scale, where there is more than one to compare.
fn draw_timeline(out: &mut Output, job: &JobRow, history: &[Attempt], now: Timestamp) -> Written {
    let width = out.width().saturating_sub(INDENT.len() + 1).min(*BAR_WIDTHS.end());
    let mut spans = spans(job, history, now);
    if !out.is_terminal() || width < *BAR_WIDTHS.start() || spans.len() < 2 {
        return Ok(());
    }
    spans.drain(..spans.len().saturating_sub(MAX_BARS));
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(()) };
    let (from, until) = (first.waits_from, last.until);
    let [waits, runs] = if out.ascii_only() { ['.', '#'] } else { ['░', '█'] };
    let (all, since) = (human_duration(until.since(from)), local_time(from));
    out.prose("  time      ", &format!("{all} from {since}: {waits} waits, {runs} runs"))?;
    for span in &spans {
        let (blank, wait, run) = cells(span, from, until, width);
        let waited = out.paint(Style::Faint, &waits.to_string().repeat(wait));
        let ran = out.paint(span.style, &runs.to_string().repeat(run));
        out.line(format!("  {:>3}  {}{waited}{ran}", span.number, " ".repeat(blank)))?;
    }
    out.line("")
}

/// The known times of each attempt, and of the attempt that runs or comes next.
fn spans(job: &JobRow, history: &[Attempt], now: Timestamp) -> Vec<Span> {
    let mut spans = Vec::with_capacity(history.len() + 1);
    // Clocks may have been set: no attempt begins before the one before it has ended.
    let mut free = job.enqueued_at;
    let mut was_final = false;
    for attempt in history {
        let until = attempt.finished_at.max(free);
        let began = attempt.started_at.or(attempt.duration.map(|span| before(until, span))).unwrap_or(until);
        let runs_from = began.clamp(free, until);
        // A dead job waits for nothing: it was put back at some time before this attempt.
        let waits_from = if was_final { runs_from } else { free };
        let style = match attempt.outcome {
            Outcome::Succeeded => Style::Good,
            Outcome::Interrupted | Outcome::Cancelled => Style::Warn,
            _ => Style::Bad,
        };
        spans.push(Span { number: attempt.number, waits_from, runs_from, until, style });
        (free, was_final) = (until, attempt.next_state.is_final());
    }
    let number = job.attempts.saturating_add(1);
    let last = match job.state {
        JobState::Running => {
            let began = job.running_since().unwrap_or(now).clamp(free, now.max(free));
            Some((began, now.max(began)))
        }
        JobState::Pending if job.attempts > 0 => {
            let due = job.run_at.max(now).max(free);
            Some((due, due))
        }
        _ => None,
    };
    let last = last.map(|(runs_from, until)| Span {
        number,
        waits_from: free,
        runs_from,
        until,
        style: Style::Busy,
    });
    spans.extend(last);
    spans
}

fn before(at: Timestamp, span: Millis) -> Timestamp {
    Timestamp(at.0.saturating_sub_unsigned(span.0))
}

/// Columns that are blank, that wait, that run. A run takes a column at least.
fn cells(span: &Span, from: Timestamp, until: Timestamp, width: usize) -> (usize, usize, usize) {
    let all = u128::from(until.since(from).0.max(1));
    let column = |at: Timestamp| {
        let passed = u128::from(at.since(from).0) * width as u128;
        usize::try_from((passed + all / 2) / all).unwrap_or(width).min(width)
    };
    let (mut blank, mut begins, mut ends) =
        (column(span.waits_from), column(span.runs_from), column(span.until));
    let has_run = span.until > span.runs_from || span.style != Style::Busy;
    if has_run && begins == ends {
        begins = begins.min(width - 1);
        ends = begins + 1;
        blank = blank.min(begins);
    }
    (blank, begins - blank, ends - begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_to_scale_and_a_run_takes_a_column_at_least() {
        let span = |waits_from, runs_from, until, style| Span {
            number: 1,
            waits_from: Timestamp(waits_from),
            runs_from: Timestamp(runs_from),
            until: Timestamp(until),
            style,
        };
        for (span, expected) in [
            (span(1_000, 1_500, 2_000, Style::Good), (0, 10, 10)),
            (span(1_500, 1_750, 1_800, Style::Good), (10, 5, 1)),
            (span(1_000, 1_001, 1_002, Style::Good), (0, 0, 1)),
            (span(1_990, 1_999, 2_000, Style::Good), (19, 0, 1)),
            (span(1_500, 2_000, 2_000, Style::Busy), (10, 10, 0)),
        ] {
            assert_eq!(cells(&span, Timestamp(1_000), Timestamp(2_000), 20), expected, "{span:?}");
        }
        let moment = span(5, 5, 5, Style::Good);
        assert_eq!(cells(&moment, Timestamp(5), Timestamp(5), 20), (0, 0, 1));
    }
}
