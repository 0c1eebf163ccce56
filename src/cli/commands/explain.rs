//! `runner explain`: why a job is in its state, or what a given exit would lead to.

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::cli::args::{Explain, Global};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate::{self, Named};
use crate::cli::output::{Output, Style, waits_for_json};
use crate::cli::status::{
    expiry_text, holds_back_text, next_firing_text, no_firing_text, status_text, times_text, worker_statuses,
};
use crate::cli::suggested::for_this_call;
use crate::cli::values::JobRef;
use crate::clock;
use crate::model::{
    AttemptEnd, Circumstances, DeadReason, Decision, EndCause, ErrorCode, ExitCodes, ExitRules,
    JobDefinition, Status, classify, decide, final_because, signal,
};
use crate::store::{StoredSchedule, WorkerStatus};
use crate::text::{Millis, Timestamp, human_duration, local_time};

pub fn run(global: &Global, args: &Explain, out: &mut Output) -> Result<ExitStatus> {
    match end_of(args) {
        Some(end) => {
            explain_end(out, &imagined_end(global, &args.what)?, end, args.attempt)?;
        }
        None => explain_job(out, global, &args.what)?,
    }
    Ok(ExitStatus::SUCCESS)
}

fn end_of(args: &Explain) -> Option<AttemptEnd> {
    if args.timeout {
        return Some(AttemptEnd::unseen(EndCause::TimedOut, Timestamp(0)));
    }
    let exit = args.exit.map(|exit| Status::Exited(i32::from(exit)));
    let status = exit.or(args.signal.map(Status::Signaled))?;
    Some(AttemptEnd::by_itself(status, Timestamp(0)))
}

/// A job, and when the attempt ends that is imagined.
struct ImaginedEnd {
    definition: JobDefinition,
    ends_at: Timestamp,
    expires_at: Option<Timestamp>,
}

/// Looks for the job. A name means the declared job, whose attempt ends at its due time; an id means that job, whose
/// attempt ends now.
fn imagined_end(global: &Global, what: &str) -> Result<ImaginedEnd> {
    let definition = match JobRef::parse(what).map_err(CliError::usage)? {
        JobRef::Name(name) => locate::declared_job(global, &name)?.definition,
        JobRef::Id(id) => {
            let now = clock::now();
            let job = locate::job(&locate::open(global)?, id, now)?;
            if !job.state.is_final() {
                return Ok(ImaginedEnd {
                    definition: (*job.definition).clone(),
                    ends_at: now,
                    expires_at: job.expires_at,
                });
            }
            // A finished job can end again only after `retry`, which starts its expiry anew.
            (*job.definition).clone()
        }
    };
    let expires_at = definition.expires_in.map(|span| Timestamp(0).plus(span));
    Ok(ImaginedEnd { definition, ends_at: Timestamp(0), expires_at })
}

#[derive(Debug, Default, Serialize)]
struct ExplainJson {
    error_code: Option<ErrorCode>,
    decision: String,
    dead_reason: Option<DeadReason>,
    delay_min_ms: Option<Millis>,
    delay_max_ms: Option<Millis>,
    /// Only of a blocked job.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<Vec<Value>>,
}

fn explain_end(out: &mut Output, subject: &ImaginedEnd, end: AttemptEnd, attempt: u32) -> Result<()> {
    let definition = &subject.definition;
    let max_attempts = definition.policy.max_attempts();
    if attempt > max_attempts {
        bail!(CliError::usage(format!(
            "{} has no attempt {attempt}: its budget is {max_attempts}",
            definition.name
        )));
    }
    let end = AttemptEnd { finished_at: subject.ends_at, ..end };
    // The shell ends by itself, and says with its status that a signal ended its command.
    let of_shell = match end.status {
        Some(Status::Signaled(number)) => definition.shell_status(number),
        _ => None,
    };
    let reported = of_shell.map(|status| AttemptEnd { status: Some(Status::Exited(status)), ..end.clone() });
    let verdict = Foreseen::of(subject, reported.as_ref().unwrap_or(&end), attempt);
    if out.json {
        return out.object(&ExplainJson {
            error_code: verdict.code,
            decision: verdict.sentence,
            dead_reason: verdict.decision.dead_reason(),
            delay_min_ms: verdict.window.map(|(low, _)| low),
            delay_max_ms: verdict.window.map(|(_, high)| high),
            waits_for: None,
        });
    }
    let name = out.paint(Style::Strong, &definition.name);
    let whose = if reported.is_some() { "a command of its shell is " } else { "" };
    out.line(format!("{name}, attempt {attempt} of {max_attempts}: {whose}{}", exit_words(&end)))?;
    if let Some(reported) = &reported {
        out.fact("seen as", &format!("{}, as the shell reports it", exit_words(reported)))?;
    }
    let shown = reported.as_ref().unwrap_or(&end);
    out.fact("code", &code_words(&definition.exit, shown, verdict.code.as_ref()))?;
    out.fact("decision", &verdict.sentence)?;
    if reported.is_some() {
        let own = Foreseen::of(subject, &end, attempt);
        if own.code != verdict.code {
            out.fact("else", &format!("if the signal ends the shell itself: {}", own.sentence))?;
        }
    }
    Ok(())
}

/// The decision that would follow an end of an attempt.
struct Foreseen {
    /// None for a success.
    code: Option<ErrorCode>,
    decision: Decision,
    /// The shortest and the longest delay until the retry.
    window: Option<(Millis, Millis)>,
    sentence: String,
}

impl Foreseen {
    fn of(subject: &ImaginedEnd, end: &AttemptEnd, attempt: u32) -> Self {
        let definition = &subject.definition;
        let max_attempts = definition.policy.max_attempts();
        let verdict = classify(&definition.exit, end);
        let circumstances = Circumstances {
            attempt_in_budget: attempt,
            cancel_requested: false,
            expires_at: subject.expires_at,
            jitter_sample: 0.5,
        };
        let decision = decide(&definition.policy, end, &verdict, circumstances);
        let window = match decision {
            Decision::Retry { nominal, .. } => Some(definition.policy.backoff.window(nominal)),
            _ => None,
        };
        let code = verdict.code.as_ref().map_or("success", ErrorCode::as_str);
        let sentence = match (decision, window) {
            (Decision::Succeeded, _) => "succeeded".to_owned(),
            (Decision::Dead(reason), _) => {
                format!("{code} is final: {}", final_because(reason, attempt, max_attempts))
            }
            (_, window) => {
                let (low, high) = window.unwrap_or_default();
                let span = if low == high { String::new() } else { format!(" to {}", human_duration(high)) };
                format!(
                    "{code} is retried: attempt {} of {max_attempts} in {}{span}",
                    attempt + 1,
                    human_duration(low)
                )
            }
        };
        Self { code: verdict.code, decision, window, sentence }
    }
}

fn exit_words(end: &AttemptEnd) -> String {
    match end.status {
        Some(Status::Exited(status)) => format!("exit status {status}"),
        Some(Status::Signaled(number)) if number > signal::MAX_NAMED => format!("killed by signal {number}"),
        Some(Status::Signaled(number)) => format!("killed by {}", signal::name(number)),
        None => "exceeds its timeout".to_owned(),
    }
}

/// The error code, and which rule gave it.
fn code_words(rules: &ExitRules, end: &AttemptEnd, code: Option<&ErrorCode>) -> String {
    let Some(code) = code else {
        return "none: it is one of success_exit_codes".to_owned();
    };
    let Some(status) = end.status.filter(|_| end.cause.is_none()) else {
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

/// Says when a schedule fires that has enqueued nothing yet.
fn explain_schedule(
    out: &mut Output,
    row: &StoredSchedule,
    workers: &[WorkerStatus],
    now: Timestamp,
) -> Result<()> {
    let (name, times) = (row.name(), times_text(&row.text, row.zone.as_deref(), now));
    let mut lines = vec![match row.next_at {
        _ if row.paused => {
            let resume = for_this_call(format!("runner resume --schedule {name}"));
            format!("its schedule ({times}) is paused; {resume} lets it go on")
        }
        None if row.boot_id.is_some() => {
            format!("its schedule ({times}) fires {}", next_firing_text(row, now))
        }
        None => format!("its schedule ({times}) never fires again"),
        Some(at) => {
            let when = next_firing_text(row, now);
            format!("its schedule ({times}) fires first at {} ({when})", local_time(at))
        }
    }];
    lines.extend(no_firing_text(workers).filter(|_| !row.paused));
    if out.json {
        return out.object(&ExplainJson { decision: lines.join("; "), ..ExplainJson::default() });
    }
    out.line(format!("{}: not enqueued yet", out.paint(Style::Strong, name)))?;
    lines.iter().try_for_each(|line| out.prose("  ", line))
}

fn explain_job(out: &mut Output, global: &Global, what: &str) -> Result<()> {
    let now = clock::now();
    let store = locate::open(global)?;
    let which = JobRef::parse(what).map_err(CliError::usage)?;
    let id = match locate::job_id(&store, &which, Named::Any, now) {
        Ok(id) => id,
        Err(error) => {
            let schedules = store.schedules()?;
            let Some(row) = schedules.iter().find(|row| row.name() == what) else { return Err(error) };
            return explain_schedule(out, row, &worker_statuses(&store)?, now);
        }
    };
    let job = locate::job(&store, id, now)?;
    let mut lines = status_text(&job, &worker_statuses(&store)?, now);
    lines.extend(expiry_text(&job, now));
    lines.extend(holds_back_text(&store, &job)?);
    if out.json {
        let wait = job.next_retry_at().map(|at| at.since(now));
        return out.object(&ExplainJson {
            error_code: job.error_code.clone().or_else(|| job.last_error_code.clone()),
            decision: lines.join("; "),
            dead_reason: job.dead_reason,
            delay_min_ms: wait,
            delay_max_ms: wait,
            waits_for: waits_for_json(&job),
        });
    }
    let name = out.paint(Style::Strong, &job.definition.name);
    out.line(format!("job {id} {name}: {}", out.paint_status(job.status())))?;
    for line in lines {
        out.prose("  ", &line)?;
    }
    Ok(())
}
