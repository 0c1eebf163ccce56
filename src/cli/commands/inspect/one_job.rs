//! Looks up one job, or one attempt.

use anyhow::{Result, bail};

use super::query::Query;
use crate::call_target::{CallTarget, to_type};
use crate::cli::args::Global;
use crate::cli::definition_drift::differing_keys;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::find_job;
use crate::cli::own_file::OwnFiles;
use crate::cli::workers::{with_liveness, worker_statuses};
use crate::process::boot_id;
use crate::store::Store;
use crate::text::{Timestamp, local_time};
use crate::view::advice::no_worker_text;
use crate::view::json::{attempt_json, job_with_history_json, with_output};
use crate::view::terminal::Output;
use crate::view::text::job::{self, JobFacts};
use crate::view::text::schedule::{next_firing_text, times_text};

/// At most this many of the newest attempts are read.
const MAX_HISTORY: usize = 1_000;

/// Shows one job.
pub(super) fn show(out: &mut Output, global: &Global, query: &Query, id: i64) -> Result<()> {
    let Query { store, now, .. } = *query;
    let (job, attempts, output, workers) = store.at_one_moment(|| {
        let job = store.job(id, now)?;
        let last = job.as_ref().map_or(0, |job| job.attempts);
        Ok((job, store.history(id, MAX_HISTORY)?, store.output(id, last)?, store.open_workers()?))
    })?;
    let mut job = job.ok_or_else(|| find_job::no_such_job(store, id))?;
    find_job::add_start(store, &mut job);
    if out.json {
        out.object(&job_with_history_json(&job, &attempts));
        return Ok(());
    }
    let has_namesakes = job.file.is_some() && store.files_of_name(&job.definition.name)?.len() > 1;
    let own = OwnFiles::new(global).of(&job);
    let differs = own.is_ok_and(|file| !differing_keys(&file, &job).is_empty());
    let facts = JobFacts {
        job,
        has_namesakes,
        attempts,
        output,
        workers: with_liveness(store, workers)?,
        held_back: store.held_back(&[id])?,
        has_recovered: store.has_recovered(id)?,
        differs,
    };
    job::draw(out, &facts, now);
    Ok(())
}

/// Shows one attempt, with its output.
pub(super) fn show_attempt(out: &mut Output, query: &Query, id: i64, number: u32) -> Result<()> {
    let Query { store, now, .. } = *query;
    let (job, ended, output) = store
        .at_one_moment(|| Ok((store.job(id, now)?, store.attempt(id, number)?, store.output(id, number)?)))?;
    let mut job = job.ok_or_else(|| find_job::no_such_job(store, id))?;
    if ended.is_none() && (number == 0 || number != job.last_attempt()) {
        bail!(
            CliError::no_attempt(id, number)
                .hint(format!("{} shows those that it has", to_type("inspect", id)))
        );
    }
    find_job::add_start(store, &mut job);
    if out.json {
        out.object(&with_output(attempt_json(&job, ended.as_ref()), &output));
    } else {
        job::draw_one_attempt(out, &job, number, ended.as_ref(), &output, now);
    }
    Ok(())
}

/// The error for the name of a schedule that has enqueued nothing yet: it says when it fires. None if there is no such schedule.
pub(super) fn not_enqueued_yet(store: &Store, name: &str, now: Timestamp) -> Result<Option<CliError>> {
    let schedules = store.schedules()?;
    let Some(row) = schedules.iter().find(|row| row.name() == name) else { return Ok(None) };
    let schedule = format!("its schedule ({})", times_text(&row.text, row.zone.as_deref(), now));
    let when = next_firing_text(row, &boot_id(), now);
    let firing = match row.next_at {
        _ if row.is_paused() => format!("{schedule} is {when}"),
        None if row.boot_id.is_some() => format!("{schedule} fires {when}"),
        None => format!("{schedule} never fires again"),
        Some(at) => format!("{schedule} fires first at {} ({when})", local_time(at)),
    };
    let error = CliError::new(ExitStatus::NOT_FOUND, format!("there is no job named {name} yet: {firing}"));
    let next = if row.is_paused() {
        Some(format!("{} lets it go on", to_type("resume", format_args!("--schedule {name}"))))
    } else {
        no_worker_text(None, &worker_statuses(store)?, CallTarget::of_this_call())
    };
    let all = || format!("{} shows all of them", to_type("inspect", "schedules"));
    Ok(Some(error.hint(next.unwrap_or_else(all))))
}
