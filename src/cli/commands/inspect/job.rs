//! One job: its definition, its state and why, and the story of its attempts.

use anyhow::Result;

use super::attempt::exit_text;
use super::timeline::draw_timeline;
use crate::cli::definition_text::{print_command, print_policy};
use crate::cli::locate;
use crate::cli::output::{Output, Style, Written, job_with_history_json, last_lines};
use crate::cli::status_text::status_text;
use crate::cli::worker_status::{WorkerStatus, holder, with_liveness};
use crate::model::{Attempt, JobState, Outcome, decision_text};
use crate::store::{JobRow, JobView, Store};
use crate::text::{Timestamp, counted, human_duration, local_time, relative_time, safe_line};

/// Attempts that are read, the newest.
const MAX_HISTORY: usize = 1_000;

/// Attempts that a screen shows.
const SCREENFUL: usize = 20;

/// Lines of output that are shown with a failure.
const LAST_LINES: usize = 3;

/// Before the further lines about an attempt.
pub(super) const INDENT: &str = "       ";

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
        let state = if holder(&job, &workers).is_some_and(WorkerStatus::is_alive) {
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
    print_command(out, spec, &job.args)?;
    out.line(format!("  cwd       {}", safe_line(&spec.cwd.to_text())))?;
    out.fact("queue", &format!("{}, priority {}", spec.queue, spec.priority))?;
    print_policy(out, &spec.policy)?;
    if let Some(timeout) = spec.timeout {
        out.fact("timeout", &format!("{timeout}, then SIGTERM, {} later SIGKILL", spec.grace_period))?;
    }
    if !job.after.is_empty() {
        let ids: Vec<_> = job.after.iter().map(ToString::to_string).collect();
        out.fact("after", &format!("job {}", ids.join(", job ")))?;
    }
    if let Some(alert) = &spec.on_dead {
        out.fact("on_dead", alert.name())?;
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
    let follow = if job.state == JobState::Running { " -f" } else { "" };
    let logs = (job.last_attempt() > 0).then(|| format!("runner logs {id}{follow}"));
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
