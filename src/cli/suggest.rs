//! Says that there is no such thing, and suggests what may have been meant.

use anyhow::Result;

use super::args::Global;
use super::error::{CliError, ExitStatus, describe};
use super::job_file::declared_values;
use super::values::{JobOrAttempt, JobRef};
use crate::call_target::to_type;
use crate::jobfile::{JobFile, JobFileError};
use crate::model::check_name;
use crate::store::{Filter, FilterColumn, Store};
use crate::text::{meant, near_names, safe_line, shell_word};
use crate::view::terminal::warn;

/// The hint for a name that is like none that a job has.
pub fn lists_jobs() -> String {
    format!("{} lists them", to_type("inspect", "jobs"))
}

/// The error for a name that no job has.
pub fn no_job_named(store: &Store, name: &str) -> Result<CliError> {
    let failure = CliError::no_job(format_args!("named {name}"), Some(store.file().path()));
    if let Ok(JobOrAttempt { job: JobRef::Id(id), attempt: Some(_) }) = JobOrAttempt::parse(name) {
        return Ok(failure.hint(format!("{name} would be an attempt; write the id of its job, {id}")));
    }
    let known = store.distinct_values(FilterColumn::Name)?;
    Ok(failure.hint(meant(name, known.iter().map(String::as_str)).unwrap_or_else(lists_jobs)))
}

/// Says that there is no such thing in what this filter selects, and warns of values that no job has.
pub fn warn_of_nothing(global: &Global, store: &Store, what: &str, filter: &Filter) -> Result<()> {
    warn(&nothing_text(what, filter));
    warn_of_unknown_values(global, store, filter)
}

/// The error for a name, a label or both of which there is no job.
pub fn no_job_selected(global: &Global, store: &Store, filter: &Filter) -> Result<CliError> {
    if let (Some(name), None) = (&filter.name, &filter.label) {
        return no_job_named(store, name);
    }
    let failure = CliError::new(ExitStatus::NOT_FOUND, nothing_text("job", filter));
    let unknown = unknown_values(global, store, filter)?;
    let hint = if filter.name.is_none() || unknown.is_empty() { lists_jobs() } else { unknown.join("; ") };
    Ok(failure.hint(hint))
}

/// Says in a line that there is no such thing in what this filter selects.
pub fn nothing_text(what: &str, filter: &Filter) -> String {
    let Filter { name, error_code, label, queue, recovered, .. } = filter;
    let label = match label.as_deref() {
        Some("") => Some(" without a label".to_owned()),
        label => label.map(|label| format!(" with the label {label}")),
    };
    let parts = [
        name.as_ref().map(|name| format!(" of the name {name}")),
        error_code.as_ref().map(|code| format!(" with the code {code}")),
        label,
        queue.as_ref().map(|queue| format!(" in the queue {queue}")),
        recovered.then(|| " of which a later run succeeded".to_owned()),
    ];
    let parts: String = parts.into_iter().flatten().collect();
    safe_line(&format!("there is no {what}{parts}"))
}

/// Warns of each filter whose value no job has, because that is mostly a typing error, and suggests names like it.
pub fn warn_of_unknown_values(global: &Global, store: &Store, filter: &Filter) -> Result<()> {
    for words in unknown_values(global, store, filter)? {
        warn(&words);
    }
    Ok(())
}

/// Names each filter whose value no job has, with names like it.
fn unknown_values(global: &Global, store: &Store, filter: &Filter) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for (column, value, words) in [
        (FilterColumn::Name, &filter.name, "no job has the name"),
        (FilterColumn::Queue, &filter.queue, "no job is in the queue"),
        (FilterColumn::ErrorCode, &filter.error_code, "nothing has ended with the code"),
    ] {
        let Some(value) = value else { continue };
        let mut known = store.distinct_values(column)?;
        if known.contains(value) {
            continue;
        }
        known.extend(declared_values(global, column));
        unknown.push(unknown_text(words, value, known.iter().map(String::as_str)));
    }
    // There may be a label for each job, so no near one is looked for.
    if let Some(label) = filter.label.as_ref().filter(|label| !label.is_empty())
        && !store.knows_label(label)?
    {
        unknown.push(safe_line(&format!("no job has the label {label}")));
    }
    Ok(unknown)
}

/// Says in these words that nothing has this value, and suggests known ones like it.
pub fn unknown_text<'k>(words: &str, value: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = near_names(value, known);
    let suggestion = match near.as_slice() {
        [] => String::new(),
        // The job file declares the value, but no job has it yet.
        [first, ..] if *first == value => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    safe_line(&format!("{words} {value}{suggestion}"))
}

/// How to call this verb with this text, which stands in the place of a name, as a command; none if it may well be a name.
fn call_of_command(verb: &str, text: &str) -> Option<String> {
    let needs_shell = text.contains(|c: char| "|&;<>()$`\\\"'*?[]#~={}!\n".contains(c));
    if needs_shell {
        Some(to_type(verb, format_args!("-c {}", shell_word(text))))
    } else if text.contains(char::is_whitespace) || text.contains('/') {
        Some(to_type(verb, format_args!("-- {}", text.trim())))
    } else {
        None
    }
}

/// Adds to the error that there is no job file how this verb takes this text as a command, which needs none.
pub fn without_job_file(error: anyhow::Error, verb: &str, typed: &str) -> anyhow::Error {
    if !matches!(error.downcast_ref(), Some(JobFileError::Nowhere { .. })) {
        return error;
    }
    let hint = match call_of_command(verb, typed) {
        Some(call) => {
            format!(
                "to {verb} it as a command, type: {call}; `{}` writes a job file here",
                to_type("init", "")
            )
        }
        None => format!(
            "`{}` writes one here, and `--file PATH` or $RUNNER_FILE names another; a command needs none: {}",
            to_type("init", ""),
            to_type(verb, format_args!("-- {}", shell_word(typed)))
        ),
    };
    describe(&error).hint(hint).into()
}

/// The error for a name that the job file does not declare. It names the file that was read, and near names.
pub fn not_declared(file: &JobFile, verb: &str, name: &str) -> CliError {
    let failure = CliError::no_job(format_args!("{name:?}"), Some(&file.path));
    let declared = file.jobs.iter().map(|job| job.definition.name.as_str());
    if let Some(call) = call_of_command(verb, name) {
        return failure.hint(format!("to {verb} it as a command, type: {call}"));
    }
    failure.hint(match (meant(name, declared), check_name(name)) {
        (Some(meant), _) => meant,
        (None, _) if file.jobs.is_empty() => "the file declares no job".to_owned(),
        (None, Err(why)) => why,
        (None, Ok(())) => {
            format!("{} lists its jobs; {} takes any command", to_type("check", ""), to_type(verb, "-- CMD"))
        }
    })
}
