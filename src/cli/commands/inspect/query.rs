//! Reads from the command line what to show: a subject, and the filter and the limit of a list.

use anyhow::{Result, bail};

use crate::call_target::to_type;
use crate::cli::args::InspectArgs;
use crate::cli::error::CliError;
use crate::cli::suggest::lists_jobs;
use crate::model::Outcome;
use crate::store::{Filter, StateFilter, Store};
use crate::text::{Timestamp, near_names, nearest};
use crate::view::json;
use crate::view::terminal::Output;

/// The most rows on a screen without `--limit`.
const SCREENFUL: usize = 50;

/// The query of a screen: the store, and which rows of a list to show.
pub(super) struct Query<'a> {
    pub store: &'a Store,
    pub filter: Filter,
    /// Show at most this many rows.
    pub limit: usize,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Overview,
    /// A job or an attempt.
    One,
    Jobs,
    Attempts,
    Dead,
    Workers,
    Queues,
    Schedules,
    Stats,
    /// `--html`
    Page,
    /// `--prometheus`
    Metrics,
}

const LISTS: [(&str, Subject); 7] = [
    ("jobs", Subject::Jobs),
    ("attempts", Subject::Attempts),
    ("dead", Subject::Dead),
    ("workers", Subject::Workers),
    ("queues", Subject::Queues),
    ("schedules", Subject::Schedules),
    ("stats", Subject::Stats),
];

/// The words that stand for a list.
pub fn list_words() -> impl Iterator<Item = &'static str> {
    LISTS.iter().map(|(word, _)| *word)
}

/// Adds to the error for a name that no job has, and that is like none, the list that may be meant.
pub(super) fn or_a_list(error: anyhow::Error, args: &InspectArgs) -> anyhow::Error {
    let what = args.what.as_deref().unwrap_or_default();
    let list = nearest(what, list_words());
    let state =
        StateFilter::words().find(|state| *state == what).or_else(|| state_meant(what).map(|meant| meant[0]));
    let meant = match (state, list) {
        (Some("dead"), _) => "dead".to_owned(),
        (Some(state), _) => format!("jobs --state {state}"),
        (None, Some(list)) => list.to_owned(),
        (None, None) => return error,
    };
    match error.downcast::<CliError>() {
        Ok(error) if error.hint.as_ref() == Some(&lists_jobs()) => {
            error.hint(format!("did you mean {}?", to_type("inspect", meant))).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// The states that other programs call so.
fn state_meant(word: &str) -> Option<&'static [&'static str]> {
    Some(match word {
        "failed" | "failure" | "error" | "errored" | "crashed" => &["dead", "retrying"],
        "discarded" | "killed" => &["dead"],
        "queued" | "waiting" | "enqueued" | "new" | "todo" => &["pending"],
        "available" | "due" => &["ready"],
        "done" | "finished" | "completed" | "complete" | "success" | "successful" | "ok" => &["succeeded"],
        "active" | "started" | "executing" | "in_progress" | "busy" => &["running"],
        "delayed" | "stashed" | "future" | "later" => &["scheduled"],
        "retryable" | "retry" => &["retrying"],
        "canceled" | "aborted" | "removed" => &["cancelled"],
        _ => return None,
    })
}

impl Subject {
    pub(super) fn parse(args: &InspectArgs) -> Self {
        match args.what.as_deref() {
            None if args.html => Self::Page,
            None if args.prometheus => Self::Metrics,
            None => Self::Overview,
            Some(what) => LISTS.iter().find(|(word, _)| *word == what).map_or(Self::One, |(_, list)| *list),
        }
    }

    /// The columns of its CSV, if it has one.
    pub(super) fn columns(self, args: &InspectArgs) -> Option<Vec<String>> {
        Some(match self {
            Self::Jobs => json::job_columns(),
            Self::Dead => json::dead_letter_columns(),
            Self::Attempts => json::attempt_columns(),
            Self::Stats => json::stats_columns(),
            Self::Schedules if args.next.is_some() => json::time_to_come_columns(),
            Self::Schedules => json::schedule_columns(),
            Self::Overview | Self::One | Self::Workers | Self::Queues | Self::Page | Self::Metrics => {
                return None;
            }
        })
    }

    pub(super) const fn lists_jobs_or_attempts(self) -> bool {
        matches!(self, Self::Jobs | Self::Attempts | Self::Dead)
    }
}

/// Refuses a filter that has no effect here, because the answer would look as if it were filtered.
pub(super) fn check_filters(subject: Subject, args: &InspectArgs) -> Result<()> {
    use Subject::{Attempts, Dead, Jobs, Page, Queues, Schedules, Stats, Workers};
    let is = |subjects: &[Subject]| subjects.contains(&subject);
    let lists_jobs = subject.lists_jobs_or_attempts();
    let has_limit = lists_jobs || is(&[Stats]);
    let has_period = has_limit || is(&[Page]);
    let of_period = "jobs, attempts, dead, stats and --html";
    let of_state = format!("jobs and attempts, as in {}", to_type("inspect", "jobs --state running"));
    let of_name = "jobs, attempts, dead, stats, queues, schedules and --html";
    let of_limit = "jobs, attempts, dead, stats and schedules --next";
    let format = args.format.0.map_or_else(String::new, |format| format!("--{}", format.name));
    let of_format = "jobs, attempts, dead, stats and schedules";
    // Each option: whether it is given, whether it has an effect here, and where it has.
    let options = [
        ("--state", !args.state.is_empty(), is(&[Jobs, Attempts]), of_state.as_str()),
        ("--name", args.name.is_some(), has_period || is(&[Queues, Schedules]), of_name),
        ("--queue", args.queue.is_some(), has_period, of_period),
        ("--label", args.label.is_some(), has_period, of_period),
        ("--error-code", args.error_code.is_some(), lists_jobs, "jobs, attempts and dead"),
        ("--dead-reason", args.dead_reason.is_some(), is(&[Jobs, Dead]), "jobs and dead"),
        ("--sort", args.sort.is_some(), is(&[Stats]), "stats"),
        ("--next", args.next.is_some(), is(&[Schedules]), "schedules"),
        ("--since", args.since.is_some(), has_period, of_period),
        ("--until", args.until.is_some(), has_period, of_period),
        ("--limit", args.limit.is_some(), has_limit || args.next.is_some(), of_limit),
        ("--resolved", args.resolved, is(&[Dead]), "dead"),
        (format.as_str(), args.format.0.is_some(), subject.columns(args).is_some(), of_format),
    ];
    if let Some((option, .., place)) = options.iter().find(|(_, given, allowed, _)| *given && !allowed) {
        bail!(CliError::usage(format!("{option} has no effect here")).hint(format!("it goes with {place}")));
    }
    if args.fail_if_any && !has_limit && !is(&[Workers, Queues, Schedules]) {
        bail!(CliError::usage("--fail-if-any has no effect here: it asks whether a list has a row").hint(
            format!(
                "{} fails if anything needs attention; {} if a job is dead",
                to_type("doctor", "--strict -q"),
                to_type("inspect", "dead --fail-if-any")
            )
        ))
    }
    Ok(())
}

pub(super) fn limit(args: &InspectArgs, out: &Output) -> usize {
    match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if out.json => usize::MAX,
        None => SCREENFUL,
    }
}

pub(super) fn filter(subject: Subject, args: &InspectArgs, now: Timestamp) -> Result<Filter> {
    let mut filter = Filter {
        name: args.name.clone(),
        queue: args.queue.clone(),
        label: args.label.clone(),
        error_code: args.error_code.as_ref().map(ToString::to_string),
        dead_reason: args.dead_reason,
        since: args.since.map(|since| since.resolve(now)),
        until: args.until.map(|until| until.resolve(now)),
        dead_by_time: subject == Subject::Dead,
        resolved: (subject == Subject::Dead).then_some(args.resolved),
        ..Filter::default()
    };
    if filter.since.zip(filter.until).is_some_and(|(since, until)| until <= since) {
        bail!(
            CliError::usage("--until is not later than --since: nothing lies between")
                .hint("both take a time, or how long ago: --since 2h --until 1h")
        );
    }
    for word in &args.state {
        let known = if subject == Subject::Attempts {
            Outcome::parse(word).map(|outcome| filter.outcomes.push(outcome))
        } else {
            StateFilter::parse(word).map(|state| filter.states.push(state))
        };
        if known.is_none() {
            bail!(unknown_state(subject, word));
        }
    }
    Ok(filter)
}

fn unknown_state(subject: Subject, word: &str) -> CliError {
    let attempts = subject == Subject::Attempts;
    let known: Vec<_> = if attempts {
        Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect()
    } else {
        StateFilter::words().collect()
    };
    let message = if attempts {
        format!("attempts have no outcome {word:?}")
    } else {
        format!("there is no state {word:?}")
    };
    let meant = match state_meant(word).filter(|_| !attempts) {
        Some(states) => states.join(" or "),
        None => near_names(word, known.iter().copied()).join(" or "),
    };
    let did_you_mean = if meant.is_empty() { meant } else { format!("; did you mean {meant}?") };
    let list = if attempts { "with attempts --state takes" } else { "states are" };
    CliError::usage(message + &did_you_mean).hint(format!("{list} {}", known.join(", ")))
}
