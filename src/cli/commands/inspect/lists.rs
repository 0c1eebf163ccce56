//! Looks up the rows of the lists.

use std::cmp::Reverse;

use anyhow::Result;

use super::query::Query;
use crate::cli::args::StatsOrder;
use crate::cli::commands::attention_facts::{changed_files, leftovers};
use crate::cli::find_job;
use crate::cli::suggest;
use crate::cli::workers::worker_statuses;
use crate::process::boot_id;
use crate::store::{self, Filter, JobRow, Store, StoredSchedule};
use crate::text::{Millis, Timestamp};
use crate::view::terminal::{Output, warn};
use crate::view::text::lists;
use crate::view::text::schedule::{ScheduleRow, until_text};

pub(super) fn jobs(out: &mut Output, query: &Query) -> Result<bool> {
    Ok(lists::jobs(out, selected(query)?, query.limit, query.now)?)
}

/// Lists the dead letters that were resolved, with the note of how.
pub(super) fn resolved(out: &mut Output, query: &Query) -> Result<bool> {
    Ok(lists::resolved(out, selected(query)?, query.limit, query.now)?)
}

/// The jobs that the filter selects, and one beyond the limit.
fn selected<'a>(query: &'a Query) -> Result<impl Iterator<Item = store::Result<JobRow>> + use<'a>> {
    let Query { store, filter, limit, now } = query;
    Ok(store.jobs(filter, limit.saturating_add(1), *now)?.map(|job| {
        let mut job = job?;
        find_job::add_start(store, &mut job);
        Ok(job)
    }))
}

pub(super) fn attempts(out: &mut Output, query: &Query) -> Result<bool> {
    let attempts = query.store.attempts(&query.filter, query.limit.saturating_add(1))?;
    Ok(lists::attempts(out, attempts, query.limit, query.now)?)
}

/// Lists the queues that have unfinished jobs, are paused or are limited.
pub(super) fn queues(out: &mut Output, query: &Query) -> Result<bool> {
    let mut queues = query.store.overview(query.now)?.queues;
    queues.retain(|queue| query.filter.name.as_ref().is_none_or(|name| *name == queue.name));
    Ok(lists::queues(out, &queues, query.now)?)
}

/// Lists the workers that run, and those that died and were not recovered yet.
pub(super) fn workers(out: &mut Output, query: &Query) -> Result<bool> {
    let Query { store, now, .. } = *query;
    let workers = worker_statuses(store)?;
    let leftovers = if out.json { Vec::new() } else { leftovers(store, &workers)? };
    Ok(lists::workers(out, &workers, &leftovers, now)?)
}

/// Lists schedules by name, and names those whose job file has changed since it was applied.
pub(super) fn schedules(out: &mut Output, query: &Query) -> Result<bool> {
    let Query { store, now, .. } = *query;
    let is_named = |name: &str| query.filter.name.as_ref().is_none_or(|wanted| wanted == name);
    let mut schedules = store.schedules()?;
    // All of them are compared with their files, because one that is only not listed is no difference.
    let mut changed = if out.json { Vec::new() } else { changed_files(store, &schedules, now)? };
    for file in &mut changed {
        file.schedules.retain(|name| is_named(name));
    }
    changed.retain(|file| !file.schedules.is_empty());
    schedules.retain(|row| is_named(row.name()));
    let rows = schedule_rows(store, schedules, now)?;
    Ok(lists::schedules(out, &rows, &changed, query.filter.name.is_some(), &boot_id(), now)?)
}

/// Adds to each schedule the state of the job that it last enqueued.
pub(super) fn schedule_rows(
    store: &Store,
    schedules: Vec<StoredSchedule>,
    now: Timestamp,
) -> Result<Vec<ScheduleRow>> {
    let with_status = |schedule: StoredSchedule| {
        let job = schedule.last.map(|(_, id)| store.job(id, now)).transpose()?.flatten();
        Ok(ScheduleRow { schedule, last_status: job.map(|job| job.shown_status()) })
    };
    schedules.into_iter().map(with_status).collect()
}

/// Warns of a name that no schedule has.
pub(super) fn warn_of_unknown_schedule(store: &Store, filter: &Filter) -> Result<()> {
    if let Some(name) = &filter.name {
        let schedules = store.schedules()?;
        let known = schedules.iter().map(StoredSchedule::name);
        // One that is there may have no time within the span that was asked for.
        if known.clone().all(|known| known != name) {
            warn(&suggest::unknown_text("no schedule has the name", name, known));
        }
    }
    Ok(())
}

/// Lists each time within this span at which a schedule fires, the next first.
pub(super) fn times_to_come(out: &mut Output, query: &Query, span: Millis) -> Result<bool> {
    let Query { store, now, .. } = *query;
    let mut schedules = store.schedules()?;
    schedules.retain(|row| query.filter.name.as_ref().is_none_or(|wanted| wanted == row.name()));
    let found = lists::times_to_come(out, &schedules, now.plus(span), query.limit, now)?;
    if let Some(pause) = store.pause_of_all(now)?.filter(|_| found && !out.json) {
        out.line(format!("everything is paused{}: until then none of these fires", until_text(pause, now)));
    }
    Ok(found)
}

/// Lists how often the jobs of each name and job file succeed, how long they run and how long they wait for a slot.
pub(super) fn stats(out: &mut Output, query: &Query, order: Option<StatsOrder>) -> Result<bool> {
    let mut stats = query.store.stats(&query.filter, query.now)?;
    // The sort is stable: equal numbers leave names in alphabetical order.
    let which = match order {
        None => {
            stats.sort_by_key(|of| Reverse((of.jobs(), of.attempts)));
            "busiest"
        }
        Some(StatsOrder::P95) => {
            stats.sort_by_key(|of| Reverse(of.runs.percentile(95)));
            "slowest"
        }
        Some(StatsOrder::Max) => {
            stats.sort_by_key(|of| Reverse(of.runs.max()));
            "slowest"
        }
        Some(StatsOrder::Cpu) => {
            stats.sort_by_key(|of| Reverse(of.cpu.percentile(95)));
            "largest"
        }
        Some(StatsOrder::Rss) => {
            stats.sort_by_key(|of| Reverse(of.memory.percentile(95).map(|peak| peak.bytes)));
            "largest"
        }
        Some(StatsOrder::Failures) => {
            stats.sort_by_key(|of| Reverse((of.dead, of.attempts - of.successes)));
            "worst"
        }
        Some(StatsOrder::Name) => "first",
    };
    Ok(lists::stats(out, &stats, query.limit, which, query.now)?)
}
