//! Looks up what the overview shows.

use anyhow::Result;

use super::query::Query;
use crate::cli::commands::attention_facts::read_snapshot;
use crate::cli::find_job;
use crate::model::JobState;
use crate::store::{Filter, StateFilter, Store};
use crate::text::{Timestamp, shown_line};
use crate::view::json::overview_json;
use crate::view::terminal::Output;
use crate::view::text::overview::{self, MAX_RUNNING, RunningJobs, RunningRow};

/// Shows the overview, below the path of the database unless that stands above it already.
pub(super) fn show(out: &mut Output, query: &Query, with_path: bool) -> Result<()> {
    let Query { store, now, .. } = *query;
    let snapshot = read_snapshot(store, &Filter::default(), now)?;
    if out.json {
        out.object(&overview_json(store.file(), &snapshot, now));
        return Ok(());
    }
    let running = running_jobs(store, now)?;
    if with_path {
        overview::draw_path(out, store.file().path());
    }
    overview::draw(out, &snapshot, &running, now);
    let room = overview::room_for_names(out);
    let with_schedule = snapshot.schedules.iter().map(|row| (row.name(), &*row.file));
    let (names, all) = store.recent_names(with_schedule, room, now)?;
    overview::draw_names(out, &names, all, &snapshot.schedules, &snapshot.boot_id, now);
    Ok(())
}

fn running_jobs(store: &Store, now: Timestamp) -> Result<RunningJobs> {
    let running = Filter { states: vec![StateFilter::State(JobState::Running)], ..Filter::default() };
    let ids = store.ids(&running, now)?;
    let mut rows = Vec::new();
    for id in ids.iter().take(MAX_RUNNING) {
        let Some(mut job) = store.job(*id, now)?.filter(|job| job.state == JobState::Running) else {
            continue;
        };
        find_job::add_start(store, &mut job);
        let last_line = store.output(job.id, job.last_attempt())?.last_line();
        let last_line = last_line.as_deref().map(shown_line).unwrap_or_default();
        rows.push(RunningRow {
            usual: store.median_run_time(&job.definition.name, job.job_file)?,
            job,
            last_line,
        });
    }
    Ok(RunningJobs { rows, count: ids.len() })
}
