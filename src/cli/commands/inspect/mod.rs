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
use crate::store::{AttemptFilter, JobFilter, StateFilter, StatsFilter, Store, StoreError};
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
pub fn run(global: &Global, asked: &Inspect) -> Result<ExitStatus> {
    let subject = Subject::parse(asked.what.as_deref())?;
    check_filters(subject, asked)?;
    let now = clock::now();
    let mut out = Output::new(global);
    let Some(store) = locate::open_if_there(global)? else {
        return without_store(&mut out, global, subject, asked);
    };
    let limit = limit(asked, &out);
    let found = match subject {
        Subject::Overview => overview::show(&mut out, &store, now)?,
        Subject::One(JobOrAttempt { job, attempt: None }) => job::show(&mut out, &store, job, now)?,
        Subject::One(JobOrAttempt { job, attempt: Some(number) }) => {
            attempt::show(&mut out, &store, job, number, now)?
        }
        Subject::Jobs => lists::jobs(&mut out, &store, &job_filter(asked, now)?, limit, now)?,
        Subject::Attempts => lists::attempts(&mut out, &store, &attempt_filter(asked, now)?, limit, now)?,
        Subject::Dead => {
            let filter = JobFilter { dead_by_time: true, ..job_filter(asked, now)? };
            lists::dead(&mut out, &store, &filter, limit, now)?
        }
        Subject::Workers => overview::workers(&mut out, &store, now)?,
        Subject::Queues => overview::queues(&mut out, &store, asked.name.as_deref(), now)?,
        Subject::Stats => stats::show(&mut out, &store, &stats_filter(asked, now), limit, now)?,
    };
    out.flush()?;
    if subject.is_list() && !found && !out.json && !out.quiet {
        unknown_filter::warn_of(global, &store, asked)?;
    }
    Ok(if asked.fail_if_any && found { ExitStatus::NO } else { ExitStatus::SUCCESS })
}

/// There is no database yet: lists are empty, and a job that is named cannot be found.
fn without_store(out: &mut Output, global: &Global, subject: Subject, asked: &Inspect) -> Result<ExitStatus> {
    let file = locate::store_file(global)?;
    let missing = StoreError::Missing(file.path().to_owned());
    if matches!(subject, Subject::One(_)) || asked.fail_if_any {
        return Err(missing.into());
    }
    if subject == Subject::Overview {
        overview::show_empty(out, &file)?;
    } else if !out.json {
        out.line(missing.to_string())?;
    }
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}

/// Refuses filters that have no effect: the answer would be wrong.
fn check_filters(subject: Subject, asked: &Inspect) -> Result<()> {
    let list = subject.is_list();
    let rows = list || subject == Subject::Stats;
    let any = rows || matches!(subject, Subject::Workers | Subject::Queues);
    let given = [
        ("--state", !asked.state.is_empty(), matches!(subject, Subject::Jobs | Subject::Attempts)),
        ("--name", asked.name.is_some(), rows || subject == Subject::Queues),
        ("--queue", asked.queue.is_some(), rows),
        ("--error-code", asked.error_code.is_some(), list),
        ("--since", asked.since.is_some(), rows),
        ("--limit", asked.limit.is_some(), rows),
        ("--fail-if-any", asked.fail_if_any, any),
    ];
    match given.iter().find(|(_, given, allowed)| *given && !allowed) {
        Some((option, ..)) => bail!(
            CliError::usage(format!("{option} has no effect here"))
                .hint("it narrows the lists: jobs, attempts, dead, stats")
        ),
        None => Ok(()),
    }
}

fn limit(asked: &Inspect, out: &Output) -> usize {
    match asked.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if out.json => usize::MAX,
        None => SCREENFUL,
    }
}

fn job_filter(asked: &Inspect, now: Timestamp) -> Result<JobFilter> {
    let parse = |word: &String| {
        StateFilter::parse(word).ok_or_else(|| {
            let words: Vec<_> = StateFilter::words().collect();
            CliError::usage(format!("there is no state {word:?}"))
                .hint(format!("states are {}", words.join(", ")))
        })
    };
    Ok(JobFilter {
        states: asked.state.iter().map(parse).collect::<Result<_, _>>()?,
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        error_code: asked.error_code.as_ref().map(ToString::to_string),
        since: asked.since.map(|since| since.resolve(now)),
        dead_by_time: false,
    })
}

fn attempt_filter(asked: &Inspect, now: Timestamp) -> Result<AttemptFilter> {
    let parse = |word: &String| {
        Outcome::parse(word).ok_or_else(|| {
            let words: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
            CliError::usage(format!("attempts have no outcome {word:?}"))
                .hint(format!("with attempts --state takes {}", words.join(", ")))
        })
    };
    Ok(AttemptFilter {
        outcomes: asked.state.iter().map(parse).collect::<Result<_, _>>()?,
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        error_code: asked.error_code.as_ref().map(ToString::to_string),
        since: asked.since.map(|since| since.resolve(now)),
    })
}

fn stats_filter(asked: &Inspect, now: Timestamp) -> StatsFilter {
    StatsFilter {
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        since: asked.since.map(|since| since.resolve(now)),
    }
}

fn no_such_job(store: &Store, id: i64) -> CliError {
    let db = locate::display(store.file().path());
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}"))
        .hint("runner inspect jobs lists them")
}
