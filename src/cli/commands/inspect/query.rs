//! From the command line to a query: a subject, and the filter and limit of a list.

use anyhow::{Result, bail};

use crate::cli::args::Inspect;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::values::JobOrAttempt;
use crate::model::Outcome;
use crate::store::{Filter, StateFilter, Store};
use crate::text::Timestamp;

/// Rows on a screen unless `--limit` says otherwise.
const SCREENFUL: usize = 50;

/// The wanted list.
pub(super) struct Query<'a> {
    pub store: &'a Store,
    pub filter: Filter,
    /// Rows at most.
    pub limit: usize,
    pub now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Overview,
    One(JobOrAttempt),
    Jobs,
    Attempts,
    Dead,
    Workers,
    Queues,
    Stats,
}

impl Subject {
    pub(super) fn parse(text: Option<&str>) -> Result<Self> {
        Ok(match text {
            None => Self::Overview,
            Some("jobs") => Self::Jobs,
            Some("attempts") => Self::Attempts,
            Some("dead") => Self::Dead,
            Some("workers") => Self::Workers,
            Some("queues") => Self::Queues,
            Some("stats") => Self::Stats,
            Some(other) => Self::One(JobOrAttempt::parse(other).map_err(|_| {
                let hint = "runner inspect takes an ID, ID.N, jobs, attempts, dead, workers, queues or stats; nothing for the overview";
                CliError::usage(format!("there is nothing called {other:?} to inspect")).hint(hint)
            })?),
        })
    }

    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Jobs | Self::Attempts | Self::Dead)
    }
}

/// Refuses filters that have no effect: the answer would be wrong.
pub(super) fn check_filters(subject: Subject, args: &Inspect) -> Result<()> {
    let list = subject.is_list();
    let rows = list || subject == Subject::Stats;
    let any = rows || matches!(subject, Subject::Workers | Subject::Queues);
    let given = [
        ("--state", !args.state.is_empty(), matches!(subject, Subject::Jobs | Subject::Attempts)),
        ("--name", args.name.is_some(), rows || subject == Subject::Queues),
        ("--queue", args.queue.is_some(), rows),
        ("--error-code", args.error_code.is_some(), list),
        ("--since", args.since.is_some(), rows),
        ("--limit", args.limit.is_some(), rows),
        ("--resolved", args.resolved, subject == Subject::Dead),
        ("--fail-if-any", args.fail_if_any, any),
    ];
    match given.iter().find(|(_, given, allowed)| *given && !allowed) {
        Some((option, ..)) => bail!(
            CliError::usage(format!("{option} has no effect here"))
                .hint("it narrows the lists: jobs, attempts, dead, stats")
        ),
        None => Ok(()),
    }
}

pub(super) fn limit(args: &Inspect, out: &Output) -> usize {
    match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if out.json => usize::MAX,
        None => SCREENFUL,
    }
}

pub(super) fn filter(subject: Subject, args: &Inspect, now: Timestamp) -> Result<Filter> {
    let mut filter = Filter {
        name: args.name.clone(),
        queue: args.queue.clone(),
        error_code: args.error_code.as_ref().map(ToString::to_string),
        since: args.since.map(|since| since.resolve(now)),
        dead_by_time: subject == Subject::Dead,
        resolved: (subject == Subject::Dead).then_some(args.resolved),
        ..Filter::default()
    };
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
    if subject == Subject::Attempts {
        let words: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
        return CliError::usage(format!("attempts have no outcome {word:?}"))
            .hint(format!("with attempts --state takes {}", words.join(", ")));
    }
    let words: Vec<_> = StateFilter::words().collect();
    CliError::usage(format!("there is no state {word:?}")).hint(format!("states are {}", words.join(", ")))
}
