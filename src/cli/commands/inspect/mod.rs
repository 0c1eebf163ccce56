//! `runner inspect`: the screens read from the store, and then draw.

mod attempt;
mod job;
mod lists;
mod overview;
mod stats;
mod unknown_filter;

use anyhow::{Result, bail};

use crate::cli::args::{Global, Inspect};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::Output;
use crate::cli::values::JobOrAttempt;
use crate::clock;
use crate::model::Outcome;
use crate::store::{Filter, StateFilter, Store, StoreError};
use crate::text::Timestamp;

/// Rows on a screen unless `--limit` says otherwise.
const SCREENFUL: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
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
    fn parse(text: Option<&str>) -> Result<Self> {
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

    const fn is_list(self) -> bool {
        matches!(self, Self::Jobs | Self::Attempts | Self::Dead)
    }
}

/// Runs the verb.
pub fn run(global: &Global, args: &Inspect, out: &mut Output) -> Result<ExitStatus> {
    let subject = Subject::parse(args.what.as_deref())?;
    check_filters(subject, args)?;
    let now = clock::now();
    let Some(store) = locate::open_if_there(global)? else {
        return without_store(out, global, subject, args);
    };
    let (filter, limit) = (filter(subject, args, now)?, limit(args, out));
    let found = match subject {
        Subject::Overview => overview::show(out, &store, now)?,
        Subject::One(JobOrAttempt { job, attempt: None }) => job::show(out, &store, job, now)?,
        Subject::One(JobOrAttempt { job, attempt: Some(number) }) => {
            attempt::show(out, &store, job, number, now)?
        }
        Subject::Jobs => lists::jobs(out, &store, &filter, limit, now)?,
        Subject::Attempts => lists::attempts(out, &store, &filter, limit, now)?,
        Subject::Dead => lists::dead(out, &store, &filter, limit, now)?,
        Subject::Workers => overview::workers(out, &store, now)?,
        Subject::Queues => overview::queues(out, &store, args.name.as_deref(), now)?,
        Subject::Stats => stats::show(out, &store, &filter, limit, now)?,
    };
    out.flush()?;
    if subject.is_list() && !found && !out.json && !out.quiet {
        unknown_filter::warn_of(global, &store, args)?;
    }
    Ok(if args.fail_if_any && found { ExitStatus::NO } else { ExitStatus::SUCCESS })
}

/// There is no database yet: lists are empty, and a job that is named cannot be found.
fn without_store(out: &mut Output, global: &Global, subject: Subject, args: &Inspect) -> Result<ExitStatus> {
    let file = locate::store_file(global)?;
    let missing = StoreError::Missing(file.path().to_owned());
    if matches!(subject, Subject::One(_)) || args.fail_if_any {
        return Err(missing.into());
    }
    if subject == Subject::Overview {
        overview::show_empty(out, &file)?;
    } else if !out.json {
        out.line(missing.to_string())?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// Refuses filters that have no effect: the answer would be wrong.
fn check_filters(subject: Subject, args: &Inspect) -> Result<()> {
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

fn limit(args: &Inspect, out: &Output) -> usize {
    match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if out.json => usize::MAX,
        None => SCREENFUL,
    }
}

fn filter(subject: Subject, args: &Inspect, now: Timestamp) -> Result<Filter> {
    let mut filter = Filter {
        name: args.name.clone(),
        queue: args.queue.clone(),
        error_code: args.error_code.as_ref().map(ToString::to_string),
        since: args.since.map(|since| since.resolve(now)),
        dead_by_time: subject == Subject::Dead,
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

fn no_such_job(store: &Store, id: i64) -> CliError {
    let db = locate::display(store.file().path());
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}"))
        .hint("runner inspect jobs lists them")
}
