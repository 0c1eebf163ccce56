//! `runner check NAME --exit N`: the decision that would follow if an attempt of a declared job ended in this way.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::call_target::to_type;
use crate::cli::args::{CheckArgs, Global};
use crate::cli::error::CliError;
use crate::cli::values::JobRef;
use crate::cli::{job_file, suggest};
use crate::model::{
    AttemptEnd, DeadReason, Decision, EndCause, ErrorCode, ExitCodes, ExitRules, JobDefinition, Status,
    Verdict, death_text, retried_text, signal, success_text,
};
use crate::policy::{self, Foreseen};
use crate::text::{Millis, Timestamp};
use crate::view::terminal::{Output, Style};

/// The imagined end of an attempt; none if the command line has none.
pub fn imagined(args: &CheckArgs) -> Option<AttemptEnd> {
    if args.timeout {
        return Some(AttemptEnd::unseen(EndCause::TimedOut, Timestamp(0)));
    }
    let exit = args.exit.map(|exit| Status::Exited(i32::from(exit)));
    let status = exit.or(args.signal.map(Status::Signaled))?;
    Some(AttemptEnd::by_itself(status, Timestamp(0)))
}

#[derive(Debug, Serialize)]
struct EndingJson<'a> {
    error_code: Option<&'a ErrorCode>,
    warning: Option<&'a ErrorCode>,
    meaning: Option<String>,
    decision: &'a str,
    dead_reason: Option<DeadReason>,
    delay_min_ms: Option<Millis>,
    delay_max_ms: Option<Millis>,
}

/// Shows what would follow.
pub fn show(global: &Global, args: &CheckArgs, end: &AttemptEnd, out: &mut Output) -> Result<()> {
    let Some(what) = &args.what else {
        bail!(CliError::usage("the end of which job?").hint(to_type("check", "NAME --exit N")));
    };
    let name = name(&what.to_string_lossy())?;
    let file = job_file::read(global)?;
    let definition =
        &file.job(&name).ok_or_else(|| suggest::not_declared(&file, "enqueue", &name))?.definition;
    if args.timeout && definition.timeout.is_none() {
        bail!(
            CliError::usage(format!(
                "{} has no timeout, so none of its attempts can exceed one",
                definition.name
            ))
            .hint("timeout = \"10m\" in the job file would give it one")
        );
    }
    let (attempt, max_attempts) = (args.attempt, definition.policy.max_attempts());
    if attempt > max_attempts {
        bail!(CliError::usage(format!(
            "{} has no attempt {attempt}: its budget is {max_attempts}",
            definition.name
        )));
    }
    // The shell ends by itself, and says with its status that a signal ended its command.
    let of_shell = match end.status {
        Some(Status::Signaled(number)) => definition.shell_status(number),
        _ => None,
    };
    let reported = of_shell.map(|status| AttemptEnd { status: Some(Status::Exited(status)), ..end.clone() });
    let foreseen = Foreseen::of(definition, reported.as_ref().unwrap_or(end), attempt);
    let Foreseen { verdict, decision } = &foreseen;
    let (window, sentence) =
        (delay_window(definition, &foreseen), decision_sentence(definition, &foreseen, attempt));
    if out.quiet {
        return Ok(());
    }
    let meaning = match end.status {
        Some(Status::Exited(status)) => policy::meaning(definition, status),
        _ => None,
    };
    if out.json {
        out.object(&EndingJson {
            error_code: verdict.code.as_ref(),
            warning: verdict.warning.as_ref(),
            meaning,
            decision: &sentence,
            dead_reason: decision.dead_reason(),
            delay_min_ms: window.map(|(low, _)| low),
            delay_max_ms: window.map(|(_, high)| high),
        });
        return Ok(());
    }
    let name = out.paint(Style::Strong, &definition.name);
    let whose = if reported.is_some() { "a command of its shell is " } else { "" };
    out.line(format!("{name}, attempt {attempt} of {max_attempts}: {whose}{}", exit_words(end)));
    if let Some(reported) = &reported {
        out.fact("seen as", &format!("{}, as the shell reports it", exit_words(reported)));
    }
    let shown = reported.as_ref().unwrap_or(end);
    out.fact("code", &code_words(&definition.exit, shown, verdict));
    if let Some(meaning) = meaning {
        out.fact("means", &meaning);
    }
    out.fact("decision", &sentence);
    if reported.is_some() {
        let own = Foreseen::of(definition, end, attempt);
        if own.verdict != *verdict {
            let sentence = decision_sentence(definition, &own, attempt);
            out.fact("else", &format!("if the signal ends the shell itself: {sentence}"));
        }
    }
    Ok(())
}

/// The name of a job. Ids are refused, because what is queued may have another definition than the job file.
pub fn name(typed: &str) -> Result<String, CliError> {
    match JobRef::parse(typed).map_err(CliError::usage)? {
        JobRef::Name(name) => Ok(name),
        JobRef::Id(id) => {
            let hint =
                format!("give the name of the job; {} says why job {id} is as it is", to_type("inspect", id));
            Err(CliError::usage(format!("{id} is an id, and check looks at the jobs of a job file"))
                .hint(hint))
        }
    }
}

/// The shortest and the longest delay until the retry; none if there is none.
fn delay_window(definition: &JobDefinition, foreseen: &Foreseen) -> Option<(Millis, Millis)> {
    let Decision::Retry { nominal, .. } = foreseen.decision else { return None };
    Some(definition.policy.backoff.window(nominal))
}

fn decision_sentence(definition: &JobDefinition, foreseen: &Foreseen, attempt: u32) -> String {
    let max_attempts = definition.policy.max_attempts();
    let code = foreseen.verdict.code.as_ref().map_or("success", ErrorCode::as_str);
    match foreseen.decision {
        Decision::Succeeded => success_text(foreseen.verdict.warning.as_ref()),
        Decision::Dead(reason) => death_text(code, reason, attempt, max_attempts),
        Decision::Retry { .. } | Decision::Cancelled => {
            let (low, high) = delay_window(definition, foreseen).unwrap_or_default();
            let span = if low == high { String::new() } else { format!(" to {high}") };
            retried_text(code, attempt, max_attempts, &format!("in {low}{span}"))
        }
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

/// The error code, or the name of the warning, and which rule gave it.
fn code_words(rules: &ExitRules, end: &AttemptEnd, verdict: &Verdict) -> String {
    let Some(code) = verdict.code.as_ref().or(verdict.warning.as_ref()) else {
        return "none: it is one of success_exit_codes".to_owned();
    };
    let is_warning = verdict.warning.is_some();
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
    } else if rules.default.is_some() && !is_warning {
        "the default_error_code"
    } else {
        "as nothing maps it"
    };
    let code = if is_warning {
        format!("none: it is one of warning_exit_codes, and named {code}")
    } else {
        code.to_string()
    };
    format!("{code}, {rule}")
}
