//! One attempt, with its output.

use anyhow::{Result, bail};

use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{Output, Style, Written, attempt_json, readable, running_attempt_json, with_output};
use crate::model::{Attempt, Status, StreamBytes, decision_text, signal};
use crate::store::{AttemptView, Store};
use crate::text::{Timestamp, human_duration, local_time, relative_time, safe_line};

pub(super) fn show(out: &mut Output, store: &Store, id: i64, number: u32, now: Timestamp) -> Result<bool> {
    let view = store.attempt_view(id, number, now)?.ok_or_else(|| locate::no_such_job(store, id))?;
    let AttemptView { mut job, ended, output } = view;
    if ended.is_none() && (number == 0 || number != job.last_attempt()) {
        bail!(
            CliError::new(ExitStatus::NOT_FOUND, format!("job {id} has no attempt {number}"))
                .hint(format!("runner inspect {id} shows those that it has"))
        );
    }
    locate::add_start(store, &mut job);
    let runs = job.spec.policy.runs();
    if out.json {
        let attempt = match &ended {
            Some(attempt) => attempt_json(&job.spec.name, attempt, runs),
            None => running_attempt_json(&job),
        };
        out.object(&with_output(attempt, &output))?;
        return Ok(true);
    }
    let heading = format!("job {id} {}, attempt {number}:", out.paint(Style::Strong, &job.spec.name));
    if let Some(attempt) = &ended {
        let outcome = out.paint_status(attempt.outcome.as_str());
        let code = attempt.error_code.as_ref().map(|code| format!(", {code}")).unwrap_or_default();
        out.line(format!("{heading} {outcome}{code}"))?;
        draw_facts(out, attempt, runs, now)?;
    } else {
        let took = human_duration(now.since(job.running_since().unwrap_or(now)));
        out.line(format!("{heading} {} for {took}", out.paint_status("running")))?;
    }
    draw_stream(out, "stdout", &output.stdout)?;
    draw_stream(out, "stderr", &output.stderr)?;
    Ok(true)
}

fn draw_facts(out: &mut Output, attempt: &Attempt, runs: u32, now: Timestamp) -> Written {
    out.fact("decision", &decision_text(attempt, runs))?;
    if let Some(started) = attempt.started_at {
        out.fact("started", &local_time(started))?;
    }
    let how = exit_text(attempt).map(|how| format!(", {how}")).unwrap_or_default();
    let finished = attempt.finished_at;
    out.fact("ended", &format!("{}, {}{how}", local_time(finished), relative_time(finished, now)))?;
    if let Some(took) = attempt.duration {
        out.fact("took", &human_duration(took))?;
    }
    if let Some(message) = &attempt.message {
        out.fact("message", &safe_line(message))?;
    }
    if attempt.leaked {
        out.fact("leaked", "a process in the background outlived it")?;
    }
    out.fact("worker", &attempt.worker_id)
}

fn draw_stream(out: &mut Output, name: &str, stream: &StreamBytes) -> Written {
    out.line("")?;
    if stream.is_empty() {
        return out.line(out.paint(Style::Faint, &format!("--- {name}: nothing")));
    }
    out.line(out.paint(Style::Faint, &format!("--- {name}")))?;
    let text = readable(stream);
    out.line(text.strip_suffix('\n').unwrap_or(&text))
}

/// How the process ended: `exit 22` or `SIGKILL`; none where it never ran or its end was not seen.
pub(super) fn exit_text(attempt: &Attempt) -> Option<String> {
    Some(match attempt.status? {
        Status::Exited(exit) => format!("exit {exit}"),
        Status::Signaled(number) => signal::name(number),
    })
}
