//! Two screens: one job with its definition, state and attempts, and one attempt with its output.

use super::definition::{print_command, print_policy, print_start};
use super::status::{expiry_text, holds_back_text, status_text, worker_of};
use crate::call_target::to_type;
use crate::model::{
    Attempt, AttemptOutput, JobDefinition, JobState, Outcome, ResourceUsage, Status, StreamBytes,
    decision_text, signal,
};
use crate::policy;
use crate::store::{JobRow, StuckBehind, WorkerStatus};
use crate::text::{Timestamp, counted, human_duration, local_time, relative_time, safe_line, shown_line};
use crate::view::advice::dead_list::redefine;
use crate::view::terminal::{Output, Style, readable};

/// The most attempts that are shown on a screen.
const SCREENFUL: usize = 20;

/// The most lines of output that are shown with a failure.
const LAST_LINES: usize = 3;

/// The indent of each further line about an attempt.
const INDENT: &str = "       ";

/// What is shown of a job.
pub struct JobFacts {
    pub job: JobRow,
    /// Another job file has jobs of its name, too.
    pub has_namesakes: bool,
    /// The newest ones.
    pub attempts: Vec<Attempt>,
    /// That of the last attempt.
    pub output: AttemptOutput,
    pub workers: Vec<WorkerStatus>,
    /// The jobs that wait for it.
    pub held_back: StuckBehind,
    /// A later job that does the same has succeeded.
    pub has_recovered: bool,
    /// Its definition differs from that of its job file, so that a `retry` may do the same again.
    pub differs: bool,
}

/// Draws one job.
pub fn draw(out: &mut Output, facts: &JobFacts, now: Timestamp) {
    let JobFacts { job, has_namesakes, attempts, output, workers, held_back, has_recovered, differs } = facts;
    let held_back = holds_back_text(job, held_back);
    let holds_back = held_back.is_some();
    let recovered = has_recovered.then(|| "a later run succeeded".to_owned());
    let more = expiry_text(job, now).into_iter().chain(held_back).chain(recovered);
    draw_heading(out, job, workers, more, now);
    draw_facts(out, job, job.file.as_deref().filter(|_| *has_namesakes), now);
    if !attempts.is_empty() || job.state == JobState::Running {
        out.line("");
    }
    draw_history(out, job, attempts);
    if attempts.last().is_some_and(|last| last.outcome != Outcome::Succeeded || last.warning.is_some()) {
        draw_last_lines(out, output);
    }
    if let Some(since) = job.running_since() {
        let state = if worker_of(job, workers).is_some_and(WorkerStatus::is_alive) {
            format!("{} for {}", out.paint_status("running"), human_duration(now.since(since)))
        } else {
            "its worker is dead".to_owned()
        };
        out.line(format!("  {:>3}  {}  {state}", job.last_attempt(), local_time(since)));
    }
    let has_output = !output.stdout.is_empty() || !output.stderr.is_empty();
    let next = what_to_type(job, has_output, *has_recovered, holds_back);
    if !next.is_empty() {
        out.line("");
        out.line(format!("next  {next}"));
    }
    if *differs && matches!(job.state, JobState::Dead | JobState::Cancelled) && job.replaced_by.is_none() {
        let force = if job.definition.policy.retryable { "" } else { " --force" };
        out.line(format!("      {}", redefine(&to_type("retry", format_args!("{}{force}", job.id)))));
    }
}

fn draw_heading(
    out: &mut Output,
    job: &JobRow,
    workers: &[WorkerStatus],
    more: impl Iterator<Item = String>,
    now: Timestamp,
) {
    let (name, status) =
        (out.paint(Style::Strong, &job.definition.name), out.paint_status(&job.shown_status()));
    out.line(format!("job {} {name}: {status}", job.id));
    for line in status_text(job, workers, now).into_iter().chain(more) {
        out.prose("  ", &line);
    }
    out.line("");
}

fn draw_facts(out: &mut Output, job: &JobRow, file: Option<&str>, now: Timestamp) {
    let definition = &job.definition;
    if let Some(label) = &job.label {
        out.fact("label", label);
    }
    if let Some(file) = file {
        out.fact("file", &safe_line(file));
    }
    print_command(out, definition, &job.args);
    out.line(format!("  cwd       {}", safe_line(&definition.cwd.to_text())));
    print_start(out, definition);
    out.fact("queue", &format!("{}, priority {}", definition.queue, definition.priority));
    print_policy(out, definition);
    if let Some(timeout) = definition.timeout {
        out.fact("timeout", &format!("{timeout}, then SIGTERM, {} later SIGKILL", definition.grace_period));
    }
    for (word, ids) in [("after", &job.after), ("after any", &job.after_any)] {
        if !ids.is_empty() {
            let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
            out.fact(word, &format!("job {}", ids.join(", job ")));
        }
    }
    for (key, alert) in definition.alerts() {
        out.fact(key, &alert.name);
    }
    let due = job.phase.map(|_| job.run_at);
    let times = [
        ("scheduled", job.scheduled.map(|firing| firing.at)),
        ("enqueued", Some(job.enqueued_at)),
        ("due", due),
        ("expires", job.expires_at),
    ];
    for (word, at) in times {
        if let Some(at) = at {
            out.fact(word, &format!("{}, {}", local_time(at), relative_time(at, now)));
        }
    }
    for (word, text) in
        [("key", &definition.unique_key), ("once", &job.idempotency_key), ("result", &job.result)]
    {
        if let Some(text) = text {
            out.fact(word, &safe_line(text));
        }
    }
}

fn draw_history(out: &mut Output, job: &JobRow, history: &[Attempt]) {
    let hidden = history.len().saturating_sub(SCREENFUL);
    if hidden > 0 {
        let earlier = counted(hidden, "earlier attempt");
        let all = to_type("inspect", format_args!("attempts --name {}", job.definition.name));
        out.line(format!("  … {earlier}; {all} lists all"));
    }
    for (index, attempt) in history.iter().enumerate().skip(hidden) {
        if attempt.attempt_in_budget == 1 && index > 0 && history[index - 1].next_state.is_final() {
            out.line(out.paint(Style::Faint, &format!("{INDENT}put back, with a fresh budget")));
        }
        let is_told_below = history.get(index + 1).is_some_and(|next| next.status == attempt.status);
        draw_attempt(out, attempt, &job.definition, !is_told_below);
    }
}

/// Draws the last lines of standard error, or of standard output if the job said nothing on standard error.
fn draw_last_lines(out: &mut Output, output: &AttemptOutput) {
    let (stream, lines) = output.last_lines(LAST_LINES);
    for line in lines {
        out.line(format!("{INDENT}{}: {line}", stream.name()));
    }
}

/// Draws a line for the exit, one for the decision, one for what the status means, and one for the message.
fn draw_attempt(out: &mut Output, attempt: &Attempt, definition: &JobDefinition, with_meaning: bool) {
    let started = match attempt.started_at {
        Some(at) => local_time(at),
        None if attempt.outcome == Outcome::SpawnFailed => local_time(attempt.finished_at),
        None => "not known to start ".to_owned(),
    };
    let took = attempt.duration.map(human_duration).unwrap_or_default();
    let exit = exit_summary(attempt);
    let exit = match attempt.outcome {
        Outcome::Succeeded if attempt.warning.is_some() => out.paint(Style::Warn, &exit),
        Outcome::Succeeded => out.paint(Style::Good, &exit),
        Outcome::Interrupted | Outcome::Cancelled => exit,
        _ => out.paint(Style::Bad, &exit),
    };
    let code = attempt.error_code.as_ref().map(|code| format!(" -> {code}")).unwrap_or_default();
    let leaked = if attempt.output_held_open { ", leaked a process" } else { "" };
    let number = format!("  {:>3}  ", attempt.number);
    out.prose(&number, &format!("{started}  {took:>7}  {exit}{code}{leaked}"));
    if attempt.next_state != JobState::Succeeded {
        out.prose(INDENT, &decision_text(attempt, definition.policy.max_attempts()));
    }
    if let Some(meaning) = shell_words(attempt, definition) {
        out.prose(INDENT, &meaning);
    }
    if let Some(meaning) = policy::meaning_of_attempt(definition, attempt).filter(|_| with_meaning) {
        out.prose(INDENT, &meaning);
    }
    if let Some(ResourceUsage { cpu, memory }) = attempt.usage.filter(ResourceUsage::is_notable) {
        out.aside(INDENT, &format!("cpu {}, memory {memory}", human_duration(cpu)));
    }
    if let Some(message) = &attempt.message {
        out.aside(INDENT, &shown_line(message));
    }
}

/// Why the attempt ended, unless it ended by itself, and how its process exited.
fn exit_summary(attempt: &Attempt) -> String {
    let stopped = match attempt.outcome {
        // The exit status stands beside the name that it has.
        Outcome::Succeeded if let Some(warning) = &attempt.warning => {
            let has_name = warning.as_exit().is_none();
            Some(if has_name { attempt.shown_outcome() } else { attempt.outcome.to_string() })
        }
        Outcome::Succeeded | Outcome::Failed => None,
        Outcome::TimedOut => Some("timed out".to_owned()),
        Outcome::SpawnFailed => Some("not started".to_owned()),
        Outcome::WorkerCrashed => Some("worker died".to_owned()),
        Outcome::Interrupted => Some("worker stopped".to_owned()),
        Outcome::Cancelled => Some("cancelled".to_owned()),
    };
    stopped.into_iter().chain(exit_text(attempt)).collect::<Vec<_>>().join(", ")
}

/// What the shell means by the exit status of a failed attempt, if it speaks of a signal.
fn shell_words(attempt: &Attempt, definition: &JobDefinition) -> Option<String> {
    let Some(Status::Exited(status)) = attempt.status.filter(|_| attempt.outcome == Outcome::Failed) else {
        return None;
    };
    let number = definition.reported_signal(status)?;
    let name = if number > signal::MAX_NAMED { format!("signal {number}") } else { signal::name(number) };
    let often = if name == "SIGKILL" { ", often for lack of memory" } else { "" };
    Some(format!("{status}: the shell says that {name} ended a command{often}"))
}

/// The commands that make sense for a job in this state.
fn what_to_type(job: &JobRow, has_output: bool, has_recovered: bool, holds_back: bool) -> String {
    let (id, unresolved) = (job.id, job.resolved_at.is_none());
    let follow = if job.state == JobState::Running { " -f" } else { "" };
    let logs =
        (has_output || job.state == JobState::Running).then(|| to_type("logs", format_args!("{id}{follow}")));
    let change = match job.state {
        // Another job does its work, and a retry would do that once more.
        _ if job.replaced_by.is_some() => job.replaced_by.map(|by| to_type("inspect", by)),
        // A job that waits for this one is only helped by a success of this one.
        JobState::Dead if has_recovered && !holds_back => unresolved.then(|| to_type("resolve", id)),
        JobState::Dead | JobState::Cancelled if job.definition.policy.retryable => Some(to_type("retry", id)),
        JobState::Dead | JobState::Cancelled => {
            let retry = to_type("retry", format_args!("{id} --force"));
            // What must not be done twice may have been done.
            let is_first = job.state == JobState::Dead && unresolved && !holds_back;
            Some(if is_first { format!("{}   {retry}", to_type("resolve", id)) } else { retry })
        }
        JobState::Pending if job.next_retry_at().is_some() => {
            Some(to_type("change", format_args!("{id} --now")))
        }
        JobState::Running => Some(to_type("cancel", id)),
        JobState::Succeeded if job.warning.is_some() && unresolved => Some(to_type("resolve", id)),
        JobState::Pending | JobState::Succeeded => None,
    };
    logs.into_iter().chain(change).collect::<Vec<_>>().join("   ")
}

/// Draws one attempt, which has not ended if `ended` is none, with its output.
pub fn draw_one_attempt(
    out: &mut Output,
    job: &JobRow,
    number: u32,
    ended: Option<&Attempt>,
    output: &AttemptOutput,
    now: Timestamp,
) {
    let name = out.paint(Style::Strong, &job.definition.name);
    let heading = format!("job {} {name}, attempt {number}:", job.id);
    if let Some(attempt) = ended {
        let outcome = out.paint_status(&attempt.shown_outcome());
        let code = attempt.error_code.as_ref().map(|code| format!(", {code}")).unwrap_or_default();
        out.line(format!("{heading} {outcome}{code}"));
        draw_attempt_facts(out, attempt, &job.definition, now);
    } else {
        let took = human_duration(now.since(job.running_since().unwrap_or(now)));
        out.line(format!("{heading} {} for {took}", out.paint_status("running")));
    }
    draw_stream(out, "stdout", &output.stdout);
    draw_stream(out, "stderr", &output.stderr);
}

fn draw_attempt_facts(out: &mut Output, attempt: &Attempt, definition: &JobDefinition, now: Timestamp) {
    out.fact("decision", &decision_text(attempt, definition.policy.max_attempts()));
    if let Some(started) = attempt.started_at {
        out.fact("started", &local_time(started));
    }
    let how = exit_text(attempt).map(|how| format!(", {how}")).unwrap_or_default();
    let finished = attempt.finished_at;
    out.fact("ended", &format!("{}, {}{how}", local_time(finished), relative_time(finished, now)));
    let of_table = policy::meaning_of_attempt(definition, attempt);
    for meaning in shell_words(attempt, definition).into_iter().chain(of_table) {
        out.fact("", &meaning);
    }
    if let Some(took) = attempt.duration {
        out.fact("took", &human_duration(took));
    }
    if let Some(ResourceUsage { cpu, memory }) = attempt.usage {
        out.fact("cpu", &human_duration(cpu));
        out.fact("memory", &memory.to_string());
    }
    if let Some(message) = &attempt.message {
        out.fact("message", &shown_line(message));
    }
    if attempt.output_held_open {
        out.fact("leaked", "a process in the background outlived it");
    }
    out.fact("worker", attempt.worker_id.as_deref().unwrap_or("unknown"));
}

fn draw_stream(out: &mut Output, name: &str, stream: &StreamBytes) {
    out.line("");
    if stream.is_empty() {
        return out.line(out.paint(Style::Faint, &format!("--- {name}: nothing")));
    }
    out.line(out.paint(Style::Faint, &format!("--- {name}")));
    let text = readable(stream);
    out.line(text.strip_suffix('\n').unwrap_or(&text));
}

/// How the process exited: `exit 22` or `SIGKILL`; none if it was never started, or if no worker saw it exit.
pub(super) fn exit_text(attempt: &Attempt) -> Option<String> {
    Some(match attempt.status? {
        Status::Exited(exit) => format!("exit {exit}"),
        Status::Signaled(number) => signal::name(number),
    })
}
