//! `runner explain`: what would happen after an exit, or why a job is in its state.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::cli::args::{Explain, Global};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, Style};
use crate::cli::status_text;
use crate::cli::values::JobRef;
use crate::cli::worker_status::worker_statuses;
use crate::clock;
use crate::model::{
    Circumstances, DeadReason, Decision, ErrorCode, Exit, ExitCodes, ExitRules, JobSpec, SelfReport, Status,
    StopReason, classify, decide, final_because, signal,
};
use crate::text::{Millis, Timestamp, human_duration};

pub fn run(global: &Global, args: &Explain, out: &mut Output) -> Result<ExitStatus> {
    match exit_of(args) {
        Some(exit) => {
            explain_exit(out, &subject(global, &args.what)?, exit, args.attempt)?;
        }
        None => explain_job(out, global, &args.what)?,
    }
    Ok(ExitStatus::SUCCESS)
}

fn exit_of(args: &Explain) -> Option<Exit> {
    if args.timeout {
        return Some(Exit::unseen(StopReason::TimedOut));
    }
    let exit = args.exit.map(|exit| Status::Exited(i32::from(exit)));
    exit.or(args.signal.map(Status::Signaled)).map(Exit::by_itself)
}

/// A job with an imagined exit.
struct Subject {
    spec: JobSpec,
    ends_at: Timestamp,
    expires_at: Option<Timestamp>,
}

/// The declared job of this name, as if it ended at its due time; or the job with this id, as if it ended now.
fn subject(global: &Global, what: &str) -> Result<Subject> {
    let spec = match JobRef::parse(what).map_err(CliError::usage)? {
        JobRef::Name(name) => locate::declared_job(global, &name)?.spec,
        JobRef::Id(id) => {
            let now = clock::now();
            let job = locate::job(&locate::open(global)?, id, now)?;
            if !job.state.is_final() {
                return Ok(Subject { spec: (*job.spec).clone(), ends_at: now, expires_at: job.expires_at });
            }
            // A finished job could end only after a replay, from which its expiry counts anew.
            (*job.spec).clone()
        }
    };
    let expires_at = spec.expires_in.map(|span| Timestamp(0).plus(span));
    Ok(Subject { spec, ends_at: Timestamp(0), expires_at })
}

#[derive(Debug, Serialize)]
struct ExplainJson {
    error_code: Option<ErrorCode>,
    decision: String,
    dead_reason: Option<DeadReason>,
    delay_min_ms: Option<Millis>,
    delay_max_ms: Option<Millis>,
}

fn explain_exit(out: &mut Output, subject: &Subject, exit: Exit, attempt: u32) -> Result<()> {
    let spec = &subject.spec;
    let runs = spec.policy.runs();
    if attempt > runs {
        bail!(CliError::usage(format!("{} has no attempt {attempt}: its budget is {runs}", spec.name)));
    }
    let verdict = classify(&spec.exit, exit, None);
    let circumstances = Circumstances {
        budget_number: attempt,
        cancel_requested: false,
        expires_at: subject.expires_at,
        finished_at: subject.ends_at,
        roll: 0.5,
    };
    let decision = decide(&spec.policy, &verdict, &SelfReport::default(), circumstances);
    let window = match decision {
        Decision::Retry { nominal, .. } => Some(spec.policy.backoff.window(nominal)),
        _ => None,
    };
    let code = verdict.code.as_ref().map_or("success", ErrorCode::as_str);
    let sentence = match (decision, window) {
        (Decision::Succeeded, _) => "succeeded".to_owned(),
        (Decision::Dead(reason), _) => {
            format!("{code} is final: {}", final_because(reason, attempt, runs))
        }
        (_, window) => {
            let (low, high) = window.unwrap_or_default();
            let span = if low == high { String::new() } else { format!(" to {}", human_duration(high)) };
            format!("{code} is retried: attempt {} of {runs} in {}{span}", attempt + 1, human_duration(low))
        }
    };
    if out.json {
        return out.object(&ExplainJson {
            error_code: verdict.code,
            decision: sentence,
            dead_reason: decision.dead_reason(),
            delay_min_ms: window.map(|(low, _)| low),
            delay_max_ms: window.map(|(_, high)| high),
        });
    }
    let name = out.paint(Style::Strong, &spec.name);
    out.line(format!("{name}, attempt {attempt} of {runs}: {}", exit_words(exit)))?;
    out.fact("code", &code_words(&spec.exit, exit, verdict.code.as_ref()))?;
    out.fact("decision", &sentence)
}

fn exit_words(exit: Exit) -> String {
    match exit.status {
        Some(Status::Exited(status)) => format!("exit status {status}"),
        Some(Status::Signaled(number)) if number > signal::MAX_NAMED => format!("killed by signal {number}"),
        Some(Status::Signaled(number)) => format!("killed by {}", signal::name(number)),
        None => "exceeds its timeout".to_owned(),
    }
}

/// The code, and the rule that gave it.
fn code_words(rules: &ExitRules, exit: Exit, code: Option<&ErrorCode>) -> String {
    let Some(code) = code else {
        return "none: it is one of success_exit_codes".to_owned();
    };
    let Some(status) = exit.status.filter(|_| exit.stop_reason.is_none()) else {
        return format!("{code}, which runner gives itself");
    };
    let from = |codes: &ExitCodes| match status {
        Status::Exited(status) => codes.for_exit(status).is_some(),
        Status::Signaled(number) => codes.for_signal(number).is_some(),
    };
    let rule = if from(&rules.job) {
        "from the job's exit_codes"
    } else if from(&rules.file) {
        "from the file's exit_codes"
    } else if rules.default.is_some() {
        "the default_error_code"
    } else {
        "as nothing maps it"
    };
    format!("{code}, {rule}")
}

/// A job that was never enqueued can only be asked about an ending.
fn hint_at_endings(global: &Global, what: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<CliError>() {
        Ok(error) if locate::declared_job(global, what).is_ok() => {
            let enqueue = error.hint.clone().map(|hint| hint + "; ").unwrap_or_default();
            error.hint(format!("{enqueue}runner explain {what} --exit N says what would follow")).into()
        }
        Ok(error) => error.into(),
        Err(other) => other,
    }
}

fn explain_job(out: &mut Output, global: &Global, what: &str) -> Result<()> {
    let now = clock::now();
    let store = locate::open(global)?;
    let id = locate::job_id(global, &store, &JobRef::parse(what).map_err(CliError::usage)?, Named::Any, now)
        .map_err(|error| hint_at_endings(global, what, error))?;
    let job = locate::job(&store, id, now)?;
    let mut lines = status_text::status_text(&job, &worker_statuses(&store)?, now);
    lines.extend(status_text::expiry_text(&job, now));
    if out.json {
        let wait = job.next_retry_at().map(|at| at.since(now));
        return out.object(&ExplainJson {
            error_code: job.error_code.clone().or_else(|| job.last_error_code.clone()),
            decision: lines.join("; "),
            dead_reason: job.dead_reason,
            delay_min_ms: wait,
            delay_max_ms: wait,
        });
    }
    let name = out.paint(Style::Strong, &job.spec.name);
    out.line(format!("job {id} {name}: {}", out.paint_status(job.status())))?;
    for line in lines {
        out.prose("  ", &line)?;
    }
    Ok(())
}
