//! Jobs that a call has waited for: how they ended in words, in JSON and as an exit status.

use anyhow::Result;
use serde_json::{Value, json};

use crate::call_target::to_type;
use crate::cli::error::{ExitStatus, describe, print_error};
use crate::clock;
use crate::model::{Attempt, JobState, Outcome, OutputStream, SpawnFailure, Status};
use crate::store::{JobRow, Store};
use crate::text::{local_time, shown_line};
use crate::view::json::{attempt_json, job_json, with_output};
use crate::view::terminal::{Output, OutputCursor, OutputForm, warn};

/// At most this number of the jobs that a stuck one waits for is told.
const MAX_STUCK: usize = 5;

/// The status of a call that has waited for jobs. Where its own output could not be written, that is told, and the status of a job
/// that failed counts all the same.
pub fn status_of_waited(out: &mut Output, status: ExitStatus) -> ExitStatus {
    let Err(error) = out.flush() else { return status };
    let mut error = describe(&error);
    if status != ExitStatus::SUCCESS {
        error.status = status;
    }
    print_error(&error);
    error.status
}

/// Says in one line how a job ended.
pub fn final_text(job: &JobRow) -> String {
    final_line(job, &job.shown_status())
}

/// [`final_text`] with this word for the state.
pub fn final_line(job: &JobRow, status: &str) -> String {
    let title = job.title();
    let why = match (&job.error_code, job.dead_reason) {
        (Some(code), Some(reason)) => format!(", {code}: {}", reason.because_of(code.as_str())),
        _ => String::new(),
    };
    format!("job {} {title}: {status}{why}", job.id)
}

/// The exit status of `wait` for a single job: that of its command, as `timeout` and a shell would give it.
pub fn exit_status_of_job(job: &JobRow, last: Option<&Attempt>) -> ExitStatus {
    if job.state == JobState::Succeeded {
        return ExitStatus::SUCCESS;
    }
    // A cancel ends a job whatever its last attempt did.
    let own =
        last.filter(|_| job.state == JobState::Dead).and_then(|last| match (last.outcome, last.status) {
            (Outcome::TimedOut, _) => Some(ExitStatus(124)),
            (Outcome::SpawnFailed, _) => match last.spawn_failure {
                Some(SpawnFailure::NotFound) => Some(ExitStatus(127)),
                Some(SpawnFailure::NotExecutable) | None => Some(ExitStatus(126)),
            },
            (_, Some(Status::Exited(code))) => u8::try_from(code).ok().map(ExitStatus),
            (_, Some(Status::Signaled(signal))) => Some(ExitStatus::of_signal(signal)),
            (_, None) => None,
        });
    own.filter(|status| *status != ExitStatus::SUCCESS).unwrap_or(ExitStatus::FAILED)
}

/// Reports a job that has ended, or that only a person can get going. A success without a warning is silent, but with `--json`.
pub fn report_final(
    out: &mut Output,
    store: &Store,
    job: &JobRow,
    last: Option<&Attempt>,
    created: bool,
    with_its_output: bool,
) -> Result<()> {
    let is_plain_success = job.state == JobState::Succeeded && job.warning.is_none();
    if out.json && !(out.quiet && is_plain_success) {
        out.object(&waited_json(store, job, last, created)?);
        out.send();
    }
    if is_plain_success {
        return Ok(());
    }
    // Why such a job cannot go on was told when that was seen.
    if !job.is_stuck() {
        tell(out, job, last, "");
    }
    if with_its_output && !out.json {
        show_output(out, store, job, last)?;
    }
    // Such a job has not run: what went wrong is told by the jobs that it waits for.
    let stuck = job.waits_for.iter().filter(|unmet| job.is_stuck() && unmet.is_stuck);
    for unmet in stuck.take(MAX_STUCK) {
        if let Some(before) = store.job(unmet.id, clock::now())? {
            let last = store.attempt(before.id, before.attempts)?;
            let at = before.finished_at().map(|at| format!(", at {}", local_time(at))).unwrap_or_default();
            tell(out, &before, last.as_ref(), &at);
            if with_its_output {
                show_output(out, store, &before, last.as_ref())?;
            }
        }
    }
    Ok(())
}

/// Tells of a dependency that has succeeded with a warning.
pub fn report_warned(out: &mut Output, store: &Store, job: &JobRow) -> Result<()> {
    let last = store.attempt(job.id, job.attempts)?;
    tell(out, job, last.as_ref(), "");
    if out.quiet && !out.json {
        show_output(out, store, job, last.as_ref())?;
    }
    Ok(())
}

/// Prints a job and nothing else, with `--json`.
pub fn print_waited(out: &mut Output, store: &Store, job: &JobRow, created: bool) -> Result<()> {
    if out.json {
        out.object(&waited_json(store, job, store.attempt(job.id, job.attempts)?.as_ref(), created)?);
    }
    Ok(())
}

/// A job with its last attempt, output included.
pub fn waited_json(store: &Store, job: &JobRow, last: Option<&Attempt>, created: bool) -> Result<Value> {
    let mut object = job_json(job);
    object["created"] = json!(created);
    let attempt = last.map(|last| -> Result<_> {
        Ok(with_output(attempt_json(job, Some(last)), &store.output(last.job_id, last.number)?))
    });
    object["attempt"] = json!(attempt.transpose()?);
    Ok(object)
}

/// Says that a job did not succeed, or did with a warning, and what its last attempt reported, such as the program that is not
/// there. `at` says when, if that may have been another night.
fn tell(out: &mut Output, job: &JobRow, last: Option<&Attempt>, at: &str) {
    out.send();
    warn(&format!("{}{at}; {} tells more", final_text(job), to_type("inspect", job.id)));
    let last = last.filter(|_| needs_words(job) && !out.json);
    if let Some((number, message)) = last.and_then(|last| last.message.as_ref().map(|it| (last.number, it))) {
        warn(&format!("attempt {number}: {}", shown_line(message)));
    }
}

/// Whether the job is dead, was cancelled, or succeeded with a warning.
const fn needs_words(job: &JobRow) -> bool {
    matches!(job.state, JobState::Dead | JobState::Cancelled) || job.warning.is_some()
}

/// Prints what the last attempt of such a job wrote, if that is asked for, each stream to the same stream of this program.
fn show_output(out: &mut Output, store: &Store, job: &JobRow, last: Option<&Attempt>) -> Result<()> {
    let Some(last) = last.filter(|_| needs_words(job)) else { return Ok(()) };
    let output = store.output(last.job_id, last.number)?;
    if out.json {
        out.object(&with_output(attempt_json(job, Some(last)), &output));
        out.send();
        return Ok(());
    }
    let [mut stdout, stderr] = OutputStream::BOTH
        .map(|stream| OutputCursor::new(OutputForm { only: Some(stream), timestamps: false }));
    stdout.print(out, &output, true);
    out.send();
    stderr.print_on_stderr(&output);
    Ok(())
}
