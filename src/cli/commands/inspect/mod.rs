//! `runner inspect`: one file a out.

mod attempt;
mod dead;
mod job;
mod lists;
mod overview;
mod queues;
mod stats;
mod timeline;
mod unknown;
mod workers;

pub use workers::{Seen, look as look_at_workers};

use anyhow::{Result, bail};

use crate::cli::args::{Global, Inspect};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::Output;
use crate::cli::values::JobOrAttempt;
use crate::clock;
use crate::model::{JobState, Outcome};
use crate::store::{AttemptFilter, JobFilter, StateFilter, StatsFilter, Store};
use crate::text::Timestamp;

/// How many rows a screen shows where nothing else is asked for.
const SCREENFUL: usize = 50;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    Overview,
    One(JobOrAttempt),
    Jobs,
    Attempts,
    Dead,
    Workers,
    Queues,
    Stats,
}

impl EventKind {
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
    let what = EventKind::parse(asked.what.as_deref())?;
    check_filters(what, asked)?;
    let now = clock::now();
    let mut out = Output::new(global);
    let Some(mut store) = locate::open_if_there(global)? else {
        return without_store(&mut out, global, what, asked);
    };
    let limit = limit(asked, &out);
    let found = match what {
        EventKind::Overview => overview::show(&mut out, &mut store, now)?,
        EventKind::One(JobOrAttempt { job, attempt: None }) => job::show(&mut out, &mut store, job, now)?,
        EventKind::One(JobOrAttempt { job, attempt: Some(number) }) => {
            attempt::show(&mut out, &mut store, job, number, now)?
        }
        EventKind::Jobs => lists::jobs(&mut out, &mut store, &job_filter(asked, now)?, limit, now)?,
        EventKind::Attempts => {
            lists::attempts(&mut out, &mut store, &attempt_filter(asked, now)?, limit, now)?
        }
        EventKind::Dead => {
            let states = vec![StateFilter::State(JobState::Dead)];
            let filter = JobFilter { states, by_end: true, ..job_filter(asked, now)? };
            dead::show(&mut out, &mut store, &filter, limit, now)?
        }
        EventKind::Workers => workers::show(&mut out, &mut store, now)?,
        EventKind::Stats => stats::show(&mut out, &mut store, &stats_filter(asked, now), limit, now)?,
        EventKind::Queues => queues::show(&mut out, &mut store, asked.name.as_deref(), now)?,
    };
    out.flush()?;
    if what.is_list() && !found && !out.json && !out.quiet {
        unknown::tell(global, &store, asked)?;
    }
    Ok(if asked.fail_if_any && found { ExitStatus::NO } else { ExitStatus::SUCCESS })
}

/// There is no database yet: nothing is listed, and what is named cannot be found.
fn without_store(out: &mut Output, global: &Global, what: EventKind, asked: &Inspect) -> Result<ExitStatus> {
    let file = locate::store_file(global)?;
    let missing = crate::store::StoreError::Missing(file.path().to_owned());
    if matches!(what, EventKind::One(_)) || asked.fail_if_any {
        return Err(missing.into());
    }
    if what == EventKind::Overview {
        overview::show_empty(out, &file)?;
    } else if !out.json {
        out.line(missing.to_string())?;
    }
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}

/// A filter without effect would be a wrong answer.
fn check_filters(what: EventKind, asked: &Inspect) -> Result<()> {
    let (list, rows) = (what.is_list(), what.is_list() || what == EventKind::Stats);
    let given = [
        ("--state", !asked.state.is_empty(), matches!(what, EventKind::Jobs | EventKind::Attempts)),
        ("--name", asked.name.is_some(), rows || what == EventKind::Queues),
        ("--queue", asked.queue.is_some(), rows),
        ("--error-code", asked.error_code.is_some(), list),
        ("--since", asked.since.is_some(), rows),
        ("--limit", asked.limit.is_some(), rows),
        ("--fail-if-any", asked.fail_if_any, rows || matches!(what, EventKind::Workers | EventKind::Queues)),
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
        by_end: false,
    })
}

fn stats_filter(asked: &Inspect, now: Timestamp) -> StatsFilter {
    StatsFilter {
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        since: asked.since.map(|since| since.resolve(now)),
    }
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

/// A job that is named must be there.
fn no_such_job(store: &Store, id: i64) -> CliError {
    let db = locate::display(store.file().path());
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}"))
        .hint("runner inspect jobs lists them")
}
