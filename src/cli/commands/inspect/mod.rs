//! `runner inspect`: chooses the screen, and draws it once or, with `--watch`, again and again. The other files look up what
//! a screen shows; `view` draws it.

mod dead;
mod lists;
mod metrics;
mod one_job;
mod overview;
mod page;
mod query;
mod watch;

use anyhow::{Result, bail};

pub use self::query::list_words;
use self::query::{Query, Subject, check_filters, filter, limit};
use crate::cli::args::{Global, InspectArgs};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::find_job::{self, Candidates};
use crate::cli::suggest;
use crate::cli::values::JobOrAttempt;
use crate::clock;
use crate::store::{Store, StoreError};
use crate::view;
use crate::view::terminal::Output;

pub fn run(global: &Global, args: &InspectArgs, out: &mut Output) -> Result<ExitStatus> {
    let subject = Subject::parse(args);
    check_filters(subject, args)?;
    let open = || database::open_if_there(global);
    let draw = |out: &mut Output, store: Option<&Store>| draw(out, store, global, subject, args);
    if args.watch {
        let file = database::store_file(global)?;
        let draw = |out: &mut Output, store: Option<&Store>| {
            watch::draw_heading(out, &file, clock::now());
            draw(out, store).map(drop)
        };
        let keep = if subject == Subject::One { watch::Keep::Ends } else { watch::Keep::Start };
        return watch::watch(out, open, draw, keep);
    }
    let store = open()?;
    if let Some((format, columns)) = args.format.0.zip(subject.columns(args)) {
        out.begin_list(format, columns);
    }
    let found = draw(out, store.as_ref())?;
    out.flush()?;
    if let Some(store) = store.filter(|_| !found && !out.quiet) {
        let filter = filter(subject, args, clock::now())?;
        match subject {
            Subject::Schedules => lists::warn_of_unknown_schedule(&store, &filter)?,
            _ if subject.lists_jobs_or_attempts() || subject == Subject::Stats => {
                suggest::warn_of_unknown_values(global, &store, &filter)?;
            }
            _ => {}
        }
    }
    Ok(if args.fail_if_any && found { ExitStatus::FAILED } else { ExitStatus::SUCCESS })
}

/// Draws the subject as it is now. True if it is a list that has a row.
fn draw(
    out: &mut Output,
    store: Option<&Store>,
    global: &Global,
    subject: Subject,
    args: &InspectArgs,
) -> Result<bool> {
    let now = clock::now();
    let filter = filter(subject, args, now)?;
    let Some(store) = store else { return without_store(out, global, subject, args) };
    let query = Query { store, filter, limit: limit(args, out), now };
    match subject {
        Subject::Jobs => return lists::jobs(out, &query),
        Subject::Attempts => return lists::attempts(out, &query),
        Subject::Dead if out.json => return dead::print_json(out, &query),
        Subject::Dead if args.resolved => return lists::resolved(out, &query),
        Subject::Dead => return dead::show(out, global, &query),
        Subject::Workers => return lists::workers(out, &query),
        Subject::Queues => return lists::queues(out, &query),
        Subject::Schedules if let Some(span) = args.next => return lists::times_to_come(out, &query, span),
        Subject::Schedules => return lists::schedules(out, &query),
        Subject::Stats => return lists::stats(out, &query, args.sort),
        Subject::Overview => overview::show(out, &query, !args.watch)?,
        Subject::Page => page::show(out, &query)?,
        Subject::Metrics => metrics::show(out, &query)?,
        Subject::One => {
            let name = args.what.as_deref().unwrap_or_default();
            let what = JobOrAttempt::parse(name).map_err(CliError::usage)?;
            // The screen of a watch is drawn again and again.
            let quiet = out.quiet || args.watch;
            let found = match find_job::job_or_attempt(store, &what, Candidates::Any, now, quiet) {
                Ok(found) => found,
                Err(error) => match one_job::not_enqueued_yet(store, name, now)? {
                    Some(error) => bail!(error),
                    None => return Err(query::or_a_list(error, args)),
                },
            };
            match found {
                (id, None) => one_job::show(out, global, &query, id)?,
                (id, Some(number)) => one_job::show_attempt(out, &query, id, number)?,
            }
        }
    }
    Ok(false)
}

/// Draws the subject where there is no database yet: lists are empty, and a named job cannot be found.
fn without_store(out: &mut Output, global: &Global, subject: Subject, args: &InspectArgs) -> Result<bool> {
    let file = database::store_file(global)?;
    let missing = StoreError::Missing(file.path().to_owned());
    if subject == Subject::One || args.fail_if_any {
        return Err(missing.into());
    }
    match subject {
        Subject::Overview if !out.json => view::text::overview::draw_empty(out, file.path()),
        Subject::Overview | Subject::Page => {
            let empty = database::open_to_rehearse(global)?;
            return draw(out, Some(&empty), global, subject, args);
        }
        Subject::Metrics => view::metrics::draw_none(out, file.path()),
        _ if out.json => {}
        _ => out.line(missing.to_string()),
    }
    Ok(false)
}
