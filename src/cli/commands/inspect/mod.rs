//! `runner inspect`: the screens read from the store, and then draw.

mod attempt;
mod dead;
mod html;
mod job;
mod lists;
mod openmetrics;
mod overview;
mod query;
mod schedules;
mod stats;
mod timeline;
mod unknown_filter;
mod watch;

use anyhow::Result;

use self::query::{LISTS, Query, Subject, check_filters, filter, limit};
use crate::cli::args::{Global, Inspect};
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::locate;
use crate::cli::output::Output;
use crate::cli::values::JobOrAttempt;
use crate::clock;
use crate::jobfile::near_names;
use crate::store::{Filter, Store, StoreError};
use crate::text::Timestamp;

/// Runs the verb.
pub fn run(global: &Global, args: &Inspect, out: &mut Output) -> Result<ExitStatus> {
    let subject = Subject::parse(args);
    check_filters(subject, args)?;
    let open = || locate::open_if_there(global);
    let draw = |out: &mut Output, store: Option<&Store>| draw(out, store, global, subject, args);
    if args.watch {
        return watch::watch(out, open, |out, store| draw(out, store).map(drop));
    }
    let store = open()?;
    let found = draw(out, store.as_ref())?;
    out.flush()?;
    if let Some(store) = store.filter(|_| subject.is_list() && !found && !out.json && !out.quiet) {
        unknown_filter::warn_of(global, &store, args)?;
    }
    Ok(if args.fail_if_any && found { ExitStatus::NO } else { ExitStatus::SUCCESS })
}

/// Draws what is there now. True if a list has a row.
fn draw(
    out: &mut Output,
    store: Option<&Store>,
    global: &Global,
    subject: Subject,
    args: &Inspect,
) -> Result<bool> {
    let now = clock::now();
    let filter = filter(subject, args, now)?;
    let Some(store) = store else { return without_store(out, global, subject, args, &filter, now) };
    let query = Query { store, filter, limit: limit(args, out), now };
    match subject {
        Subject::Overview => overview::show(out, store, now),
        Subject::Page => html::show(out, store, &query.filter, now),
        Subject::Metrics => openmetrics::show(out, store, now),
        Subject::One => match one(global, store, args, now)? {
            (job, None) => job::show(out, store, job, now),
            (job, Some(number)) => attempt::show(out, store, job, number, now),
        },
        Subject::Jobs => lists::jobs(out, &query),
        Subject::Attempts => lists::attempts(out, &query),
        Subject::Dead if args.resolved => lists::resolved(out, &query),
        Subject::Dead => dead::show(out, global, &query),
        Subject::Workers => overview::workers(out, store, now),
        Subject::Queues => overview::queues(out, store, args.name.as_deref(), now),
        Subject::Schedules => schedules::show(out, store, args.name.as_deref(), now),
        Subject::Stats => stats::show(out, &query),
    }
}

/// The job and the attempt that are named. A word that no job is named by is most often meant for a list.
fn one(global: &Global, store: &Store, args: &Inspect, now: Timestamp) -> Result<(i64, Option<u32>)> {
    let word = args.what.as_deref().unwrap_or_default();
    let what = JobOrAttempt::parse(word).map_err(CliError::usage)?;
    locate::job_or_attempt(global, store, &what, now).map_err(|error| {
        match near_names(word, LISTS).as_slice() {
            [] => error,
            near => {
                let CliError { status, message, .. } = describe(&error);
                CliError::new(status, message).hint(format!("did you mean {}?", near.join(" or "))).into()
            }
        }
    })
}

/// There is no database yet: lists are empty, and a job that is named cannot be found.
fn without_store(
    out: &mut Output,
    global: &Global,
    subject: Subject,
    args: &Inspect,
    filter: &Filter,
    now: Timestamp,
) -> Result<bool> {
    let file = locate::store_file(global)?;
    let missing = StoreError::Missing(file.path().to_owned());
    if subject == Subject::One || args.fail_if_any {
        return Err(missing.into());
    }
    match subject {
        Subject::Overview => overview::show_empty(out, &file)?,
        Subject::Page => html::show_empty(out, &file, filter, now)?,
        Subject::Metrics => openmetrics::show_empty(out)?,
        _ if out.json => {}
        _ => out.line(missing.to_string())?,
    }
    Ok(false)
}
