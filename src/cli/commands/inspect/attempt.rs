//! One attempt, with its output.

use anyhow::{Result, bail};

use super::lists::ending;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{AttemptJson, Output, Style, Written, readable};
use crate::model::{Attempt, JobState, sentence};
use crate::store::{Store, StreamBytes};
use crate::text::{Timestamp, human_duration, local_time, relative_time, safe_line};

/// Shows an attempt.
pub(super) fn show(
    out: &mut Output,
    store: &mut Store,
    id: i64,
    number: u32,
    now: Timestamp,
) -> Result<bool> {
    let job = locate::job(store, id, now)?.ok_or_else(|| super::no_such_job(store, id))?;
    let runs = job.spec.policy.runs();
    let ended = store.attempt(id, number)?;
    let runs_now = job.state == JobState::Running && number == job.attempts.saturating_add(1);
    if ended.is_none() && !runs_now {
        bail!(
            CliError::new(ExitStatus::NOT_FOUND, format!("job {id} has no attempt {number}"))
                .hint(format!("runner inspect {id} shows those that it has"))
        );
    }
    let output = store.output(id, number)?;
    if out.json {
        let json =
            ended.as_ref().map_or_else(|| AttemptJson::running(&job), |ended| AttemptJson::new(ended, runs));
        out.object(&json.with_output(&output))?;
        return Ok(true);
    }
    let name = out.paint(Style::Strong, &job.spec.name);
    if let Some(attempt) = &ended {
        let outcome = out.paint_status(attempt.outcome.as_str());
        let code = attempt.error_code.as_ref().map(|code| format!(", {code}")).unwrap_or_default();
        out.line(format!("job {id} {name}, attempt {number}: {outcome}{code}"))?;
        facts(out, attempt, runs, now)?;
    } else {
        let running = out.paint_status("running");
        let since = job
            .attempt_started_at
            .or(job.claimed_at())
            .map(|at| format!(" for {}", human_duration(now.since(at))))
            .unwrap_or_default();
        out.line(format!("job {id} {name}, attempt {number}: {running}{since}"))?;
    }
    stream(out, "stdout", &output.stdout)?;
    stream(out, "stderr", &output.stderr)?;
    Ok(true)
}

fn facts(out: &mut Output, attempt: &Attempt, runs: u32, now: Timestamp) -> Written {
    let mut fact = |word: &str, value: &str| out.prose(&format!("  {word:<9} "), value);
    fact("decision", &sentence(attempt, runs))?;
    if let Some(started) = attempt.started_at {
        fact("started", &local_time(started))?;
    }
    let how = match ending(attempt).as_str() {
        "" => String::new(),
        ending => format!(", {ending}"),
    };
    let finished = attempt.finished_at;
    fact("ended", &format!("{}, {}{how}", local_time(finished), relative_time(finished, now)))?;
    if let Some(took) = attempt.duration {
        fact("took", &human_duration(took))?;
    }
    if let Some(message) = &attempt.message {
        fact("message", &safe_line(message))?;
    }
    if attempt.leaked {
        fact("leaked", "a process in the background outlived it")?;
    }
    fact("worker", &attempt.worker_id)
}

fn stream(out: &mut Output, name: &str, stream: &StreamBytes) -> Written {
    out.line("")?;
    if stream.bytes.is_empty() && stream.omitted == 0 {
        return out.line(out.paint(Style::Faint, &format!("--- {name}: nothing")));
    }
    out.line(out.paint(Style::Faint, &format!("--- {name}")))?;
    let text = readable(stream);
    out.line(text.strip_suffix('\n').unwrap_or(&text))
}
