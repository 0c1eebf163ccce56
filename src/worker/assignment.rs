//! One assignment of a slot: from the claim to the end of its attempt.
//!
//! If the worker is killed, a recovery concludes from the start log: before [`StartLog::starting`] the claim was never
//! started, after it the claim may have started, after [`StartLog::started`] the process is known. The record stays until
//! the end is committed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::inbox::Event;
use super::start_log::StartLog;
use crate::clock;
use crate::model::{ErrorCode, Exit, SelfReport, SpawnFailure, StopReason};
use crate::process::{self, AttemptTag, Control, Launch, Progress, SpawnError};
use crate::store::{Claim, Ended, Output};
use crate::text::{Millis, rfc3339_with_offset};

pub(super) struct Assignment {
    pub claim: Arc<Claim>,
    /// Taken out of the claim, which is kept until the attempt has ended.
    pub stdin: Option<Vec<u8>>,
    pub control: Control,
}

/// Shared by all slots.
pub(super) struct Context {
    pub worker_id: String,
    pub db: PathBuf,
    pub reports: PathBuf,
    pub start_log: StartLog,
    pub inbox: UnboundedSender<Event>,
}

/// Runs the attempt and returns its last event, which ends the claim or gives it back.
pub(super) fn run(context: &Context, slot: usize, assignment: Assignment) -> Event {
    match attempt(context, slot, assignment) {
        Ok(ended) => Event::Ended { slot, ended: Box::new(ended) },
        Err(shortage) => Event::NotStarted { slot, shortage: shortage.map(|error| error.to_string()) },
    }
}

/// An error gives the claim back, uncounted: a shortage of the machine, or none if the attempt may no longer start.
fn attempt(context: &Context, slot: usize, assignment: Assignment) -> Result<Ended, Option<io::Error>> {
    let Assignment { claim, stdin, control } = assignment;
    let (job_id, number) = (claim.job_id, claim.number);
    let report = context.reports.join(format!("{job_id}.{number}"));
    let stdin = make_folder(&context.reports).and_then(|()| {
        let file = |bytes: Vec<u8>| unnamed_file(&report.with_added_extension("stdin"), &bytes);
        stdin.map(file).transpose()
    });
    let stdin = match stdin {
        Ok(stdin) => stdin,
        // A disk that fails to keep the input is no fault of the job.
        Err(error) if process::is_shortage(&error) || process::is_disk_error(&error) => {
            return Err(Some(error));
        }
        Err(error) => {
            let message = format!("cannot use {}: {error}", context.reports.display());
            return Ok(spawn_failed(&claim, SpawnFailure::NotExecutable, message));
        }
    };
    let tag = |worker_id: &String, attempt| AttemptTag { worker_id: worker_id.clone(), job_id, attempt };
    let earlier: Vec<_> = claim.last_worker.iter().map(|worker| tag(worker, number - 1)).collect();
    // In its queue the job expires, or its cancel takes effect.
    if !end_earlier(context, &claim, &control, &earlier) || !control.begin() {
        return Err(None);
    }
    context.start_log.starting(slot, job_id, number).map_err(Some)?;
    let started_at = clock::now();
    let mut launch = Launch {
        spec: &claim.spec,
        args: &claim.args,
        stdin,
        vars: variables(&claim, context),
        tag: tag(&context.worker_id, number),
        report: &report,
    };
    let child = match process::spawn(&mut launch) {
        Ok(child) => child,
        Err(SpawnError::Shortage(error)) => {
            let _ = context.start_log.clear(slot);
            return Err(Some(error));
        }
        Err(SpawnError::Failed(failure, message)) => return Ok(spawn_failed(&claim, failure, message)),
    };
    let process = child.identity();
    // A failure is ignored: without this record a recovery finds the process by its tag.
    let _ = context.start_log.started(slot, job_id, number, process, started_at);
    let send = |event| {
        let _ = context.inbox.send(event);
    };
    send(Event::Started { slot, pid: process.pid });
    let result = process::supervise(child, &claim.spec, launch.tag, &report, &control, &mut |progress| {
        send(match progress {
            Progress::Output { stdout, stderr } => {
                Event::Output { job_id, number, output: Output { stdout, stderr } }
            }
            Progress::Notice(text) => Event::Notice { job_id, text },
        });
    });
    let exit = result.exit;
    Ok(Ended {
        report: result.report,
        started_at: Some(started_at),
        // An unseen end has no duration.
        duration: (exit.stop_reason.is_some() || exit.status.is_some()).then_some(result.duration),
        leaked: result.leaked,
        output: Some(Output { stdout: result.stdout, stderr: result.stderr }),
        ..ended(&claim, exit)
    })
}

fn end_earlier(context: &Context, claim: &Claim, control: &Control, tags: &[AttemptTag]) -> bool {
    let left = claim.expires_at.map(|at| at.since(clock::now()));
    // A time beyond the range of the clock is never.
    let start_before = left.and_then(|left| Instant::now().checked_add(left.into()));
    let notice = &mut |text| {
        let _ = context.inbox.send(Event::Notice { job_id: claim.job_id, text });
    };
    process::end_earlier_attempts(tags, claim.spec.grace_period.into(), start_before, control, notice)
}

fn spawn_failed(claim: &Claim, failure: SpawnFailure, message: String) -> Ended {
    let exit = Exit::unseen(StopReason::SpawnFailed);
    Ended { spawn_failure: Some(failure), message: Some(message), ..ended(claim, exit) }
}

/// An attempt that ended now; everything else is at its default.
fn ended(claim: &Claim, exit: Exit) -> Ended {
    Ended {
        job_id: claim.job_id,
        number: claim.number,
        exit,
        report: SelfReport::default(),
        message: None,
        started_at: None,
        finished_at: clock::now(),
        duration: Some(Millis(0)),
        leaked: false,
        spawn_failure: None,
        output: Some(Output::default()),
        roll: rand::random(),
    }
}

/// Creates the folder again if a job or a cleaner of old files has removed it.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { DirBuilder::new().recursive(true).mode(0o700).create(path) }
}

/// A file without a name that holds these bytes, open for reading. `path` is used for a moment.
fn unnamed_file(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let _ = fs::remove_file(path);
    let mut writer = File::options().create_new(true).write(true).mode(0o600).open(path)?;
    let reader = File::open(path);
    // A file without a name is gone with the attempt, however that ends. One that keeps its name goes with the folder.
    let _ = fs::remove_file(path);
    writer.write_all(bytes)?;
    reader
}

/// The variables for the command, besides those of the report and the tag.
fn variables(claim: &Claim, context: &Context) -> Vec<(OsString, OsString)> {
    let runs = claim.spec.policy.runs();
    let last = claim.last_error_code.as_ref().map_or("", ErrorCode::as_str);
    let text = |name: &str, value: String| (OsString::from(name), OsString::from(value));
    let scheduled = claim.scheduled.map(|scheduled| rfc3339_with_offset(scheduled.at, scheduled.offset));
    let mut variables = vec![
        text("RUNNER_JOB_NAME", claim.spec.name.clone()),
        text("RUNNER_MAX_ATTEMPTS", runs.to_string()),
        text("RUNNER_ATTEMPTS_LEFT", runs.saturating_sub(claim.budget_number).to_string()),
        text("RUNNER_LAST_ERROR_CODE", last.to_owned()),
        text("RUNNER_QUEUE", claim.queue.clone()),
        (OsString::from("RUNNER_DB"), context.db.as_os_str().to_owned()),
    ];
    variables.extend(scheduled.map(|time| text("RUNNER_SCHEDULED_FOR", time)));
    variables
}
