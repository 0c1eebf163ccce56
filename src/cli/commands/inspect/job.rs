//! One job: what it is, where it stands and why, and the story of its attempts.

use anyhow::Result;

use super::lists::ending;
use super::timeline;
use crate::cli::definition_text::{command_lines, policy_lines};
use crate::cli::locate;
use crate::cli::output::{JobJson, Output, Style, Written};
use crate::cli::status_text;
use crate::model::{Attempt, JobState, Outcome, sentence};
use crate::store::{self, JobRow, Store};
use crate::text::{Timestamp, counted, human_duration, local_time, relative_time, safe_line};

/// Attempts that are shown or printed at most, the newest.
const MOST_ATTEMPTS: usize = 1_000;

/// Attempts that a screen shows at most.
const SCREENFUL: usize = 20;

/// Lines of standard error that are shown with a failure.
const LAST_WORDS: usize = 3;

/// Before the further lines of a story.
const STORY: &str = "       ";

/// Shows a job.
pub(super) fn show(out: &mut Output, store: &mut Store, id: i64, now: Timestamp) -> Result<bool> {
    let job = locate::job(store, id, now)?.ok_or_else(|| super::no_such_job(store, id))?;
    let history = store.history(id, MOST_ATTEMPTS)?;
    if out.json {
        out.object(&JobJson::new(&job).with_history(&history))?;
        return Ok(true);
    }
    heading(out, store, &job, now)?;
    facts(out, &job, now)?;
    let runs = job.spec.policy.runs();
    if !history.is_empty() || job.state == JobState::Running {
        out.line("")?;
    }
    timeline::show(out, &job, &history, now)?;
    let hidden = history.len().saturating_sub(SCREENFUL);
    if hidden > 0 {
        out.line(format!(
            "  … {}; runner inspect attempts --name {} lists all",
            counted(hidden, "earlier attempt"),
            job.spec.name
        ))?;
    }
    for (index, attempt) in history.iter().enumerate().skip(hidden) {
        if attempt.budget_number == 1 && index > 0 && history[index - 1].next_state.is_final() {
            out.line(out.paint(Style::Faint, "       put back, with a fresh budget"))?;
        }
        story(out, attempt, runs)?;
    }
    show_last_words(out, store, history.last())?;
    if let Some(claimed) = job.attempt_started_at.or(job.claimed_at()) {
        let number = job.attempts.saturating_add(1);
        let started = local_time(claimed);
        let running = out.paint_status("running");
        out.line(format!("  {number:>3}  {started}  {running} for {}", human_duration(now.since(claimed))))?;
    }
    let next = what_to_type(&job);
    if !next.is_empty() {
        out.line("")?;
        out.line(format!("next  {next}"))?;
    }
    Ok(true)
}

fn heading(out: &mut Output, store: &Store, job: &JobRow, now: Timestamp) -> Written {
    let name = out.paint(Style::Strong, &job.spec.name);
    let status = out.paint_status(job.status());
    out.line(format!("job {} {name}: {status}", job.id))?;
    for line in status_text::status_text(store, job, now)? {
        out.prose("  ", &line)?;
    }
    out.line("")
}

fn facts(out: &mut Output, job: &JobRow, now: Timestamp) -> Written {
    let spec = &job.spec;
    // What may be copied stays whole.
    for (index, line) in command_lines(&spec.command, &job.args).into_iter().enumerate() {
        let word = if index == 0 { "command" } else { "" };
        out.line(format!("  {word:<9} {line}"))?;
    }
    out.line(format!("  cwd       {}", safe_line(&spec.cwd.to_text())))?;
    let mut fact = |word: &str, value: String| out.prose(&format!("  {word:<9} "), &value);
    fact("queue", format!("{}, priority {}", spec.queue, spec.priority))?;
    for (index, words) in policy_lines(&spec.policy).into_iter().enumerate() {
        fact(if index == 0 { "retries" } else { "" }, words)?;
    }
    if let Some(timeout) = spec.timeout {
        fact("timeout", format!("{timeout}, then SIGTERM, {} later SIGKILL", spec.grace_period))?;
    }
    fact("enqueued", format!("{}, {}", local_time(job.enqueued_at), relative_time(job.enqueued_at, now)))?;
    if job.phase.is_some() {
        fact("due", format!("{}, {}", local_time(job.run_at), relative_time(job.run_at, now)))?;
    }
    if let Some(expiry) = job.expires_at {
        fact("expires", format!("{}, {}", local_time(expiry), relative_time(expiry, now)))?;
    }
    for (word, key) in [("key", &spec.unique_key), ("once", &job.idempotency_key)] {
        if let Some(key) = key {
            fact(word, safe_line(key))?;
        }
    }
    if let Some(result) = &job.result {
        fact("result", safe_line(result))?;
    }
    Ok(())
}

/// Two lines an attempt: how it went, and what was decided.
fn story(out: &mut Output, attempt: &Attempt, runs: u32) -> Written {
    let started = match attempt.started_at {
        Some(at) => local_time(at),
        None if attempt.outcome == Outcome::SpawnFailed => local_time(attempt.finished_at),
        None => "not known to start ".to_owned(),
    };
    let took = attempt.duration.map(human_duration).unwrap_or_default();
    let code = attempt.error_code.as_ref().map(ToString::to_string);
    let how = how_it_ended(attempt);
    let code = code.map(|code| format!(" -> {code}")).unwrap_or_default();
    let leaked = if attempt.leaked { ", leaked a process" } else { "" };
    let how = match attempt.outcome {
        Outcome::Succeeded => out.paint(Style::Good, &how),
        Outcome::Interrupted | Outcome::Cancelled => how,
        _ => out.paint(Style::Bad, &how),
    };
    out.prose(&format!("  {:>3}  ", attempt.number), &format!("{started}  {took:>7}  {how}{code}{leaked}"))?;
    if attempt.next_state != JobState::Succeeded {
        out.prose(STORY, &sentence(attempt, runs))?;
    }
    if let Some(message) = &attempt.message {
        out.aside(STORY, &safe_line(message))?;
    }
    Ok(())
}

/// What runner had a hand in, and what the process did.
fn how_it_ended(attempt: &Attempt) -> String {
    let cut = match attempt.outcome {
        Outcome::Succeeded | Outcome::Failed => return ending(attempt),
        Outcome::TimedOut => "timed out",
        Outcome::SpawnFailed => "not started",
        Outcome::WorkerCrashed => "worker died",
        Outcome::Interrupted => "worker stopped",
        Outcome::Cancelled => "cancelled",
    };
    match ending(attempt) {
        nothing if nothing.is_empty() => cut.to_owned(),
        ending => format!("{cut}, {ending}"),
    }
}

/// The last lines that the last attempt wrote, where it failed: often they say why.
fn show_last_words(out: &mut Output, store: &mut Store, last: Option<&Attempt>) -> Written {
    let Some(failed) = last.filter(|last| last.outcome != Outcome::Succeeded) else { return Ok(()) };
    let (stream, lines) = last_words(&store.output(failed.job_id, failed.number)?, LAST_WORDS);
    for line in lines {
        out.line(format!("       {stream}: {line}"))?;
    }
    Ok(())
}

/// The last lines of standard error, or of standard output where there are none: with the name of the stream.
pub(super) fn last_words(output: &store::Output, most: usize) -> (&'static str, Vec<String>) {
    match last_lines(&output.stderr.bytes, most) {
        none if none.is_empty() => ("stdout", last_lines(&output.stdout.bytes, most)),
        lines => ("stderr", lines),
    }
}

/// The last lines of a stream that are not blank, made safe.
fn last_lines(bytes: &[u8], most: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<_> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(most).collect();
    lines.reverse();
    lines.into_iter().map(safe_line).collect()
}

/// The commands that help with a job in this state.
fn what_to_type(job: &JobRow) -> String {
    let id = job.id;
    let mut commands = Vec::new();
    if job.attempts > 0 || job.state == JobState::Running {
        commands.push(format!("runner logs {id}"));
    }
    match job.state {
        JobState::Dead | JobState::Cancelled if job.spec.policy.retryable => {
            commands.push(format!("runner retry {id}"));
        }
        JobState::Dead | JobState::Cancelled => commands.push(format!("runner retry {id} --force")),
        JobState::Pending if job.next_retry_at().is_some() => {
            commands.push(format!("runner retry {id} --now"));
        }
        JobState::Running => commands.push(format!("runner cancel {id}")),
        JobState::Pending | JobState::Succeeded => {}
    }
    commands.join("   ")
}
