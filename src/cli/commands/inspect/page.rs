//! Looks up what the page shows.

use anyhow::Result;

use super::dead::meaning_of_last;
use super::lists::schedule_rows;
use super::query::Query;
use crate::cli::commands::attention_facts::read_snapshot;
use crate::cli::database;
use crate::cli::find_job;
use crate::model::{JobState, Phase};
use crate::store::{Filter, JobRow, Store, StoredSchedule, UnfinishedJobs};
use crate::text::{Timestamp, shown_line};
use crate::view::page::{
    self, Card, CardDeaths, MAX_NAMES, MAX_OUTPUTS, MAX_ROWS, Page, UnfinishedRow, UnfinishedSection,
    WeekOfSchedules,
};
use crate::view::snapshot::{self, Snapshot};
use crate::view::terminal::Output;

/// Writes the page about the period of the filter.
pub(super) fn show(out: &mut Output, query: &Query) -> Result<()> {
    out.line(page::draw(&read(query)?));
    Ok(())
}

fn read(query: &Query) -> Result<Page> {
    let Query { store, now, .. } = *query;
    let (since, _) = page::period(&query.filter, now);
    let filter = Filter { since: Some(since), ..query.filter.clone() };
    let Snapshot { mut schedules, attention, workers, boot_id, .. } = read_snapshot(store, &filter, now)?;
    schedules.retain(|row| {
        filter.name.as_ref().is_none_or(|name| name == row.name())
            && filter.queue.as_ref().is_none_or(|queue| *queue == row.chain.root.definition.queue)
    });
    let mut cards = page::cards(&attention, &schedules, now);
    for (index, card) in cards.iter_mut().take(MAX_NAMES).enumerate() {
        card.add_deaths(deaths(store, card, index < MAX_OUTPUTS, now)?);
    }
    Ok(Page {
        now,
        db: store.file().path().to_owned(),
        host: snapshot::host(),
        filter: query.filter.clone(),
        dead: store.count_unresolved(&filter, now)?,
        has_database: database::is_there(store),
        boot_id,
        workers,
        attention,
        cards,
        unfinished: unfinished(store, &filter, now)?,
        timeline: store.timeline(&filter, now)?,
        schedules: week_of(store, schedules, now)?,
    })
}

fn deaths(store: &Store, card: &Card, with_output: bool, now: Timestamp) -> Result<CardDeaths> {
    let ids = card.dead_jobs();
    let deaths = store.deaths(&ids)?;
    let name = card.name().filter(|_| !ids.is_empty());
    let last = deaths.first().filter(|death| with_output && death.number > 0);
    Ok(CardDeaths {
        first: name.map(|name| store.first_unresolved_death(name, card.file())).transpose()?.flatten(),
        output: last.map(|death| store.output(death.job_id, death.number)).transpose()?,
        deaths,
        meanings: meanings(store, card, now)?,
    })
}

/// The meanings of the exit statuses of the newest jobs of its entries, with their ids.
fn meanings(store: &Store, card: &Card, now: Timestamp) -> Result<Vec<(i64, String)>> {
    let mut found = Vec::new();
    for id in card.newest_jobs() {
        if let Some(job) = store.job(id, now)? {
            found.extend(meaning_of_last(store, &job)?.map(|meaning| (id, meaning)));
        }
    }
    Ok(found)
}

fn unfinished(store: &Store, filter: &Filter, now: Timestamp) -> Result<Vec<UnfinishedSection>> {
    let mut found = Vec::new();
    for UnfinishedJobs { status, count, ids } in store.unfinished(filter, MAX_ROWS, now)? {
        let left_out = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(ids.len());
        let mut rows = Vec::new();
        for id in ids {
            if let Some(mut job) = store.job(id, now)?.filter(|job| !job.is_stuck()) {
                find_job::add_start(store, &mut job);
                let is_running = job.state == JobState::Running;
                let output = is_running.then(|| store.output(job.id, job.last_attempt())).transpose()?;
                let last_line = output.and_then(|output| output.last_line()).as_deref().map(shown_line);
                rows.push(UnfinishedRow { begins_at: begins_at(store, &job, now)?, job, last_line });
            }
        }
        found.push(UnfinishedSection { status, count, left_out, rows });
    }
    Ok(found)
}

/// When the last of the jobs is due that a blocked job waits for, of those that have not begun.
fn begins_at(store: &Store, job: &JobRow, now: Timestamp) -> Result<Option<Timestamp>> {
    let mut last = None;
    for unmet in &job.waits_for {
        let first = store.job(unmet.id, now)?.filter(|first| first.phase == Some(Phase::Scheduled));
        last = last.max(first.map(|first| first.run_at));
    }
    Ok(last)
}

fn week_of(store: &Store, mut schedules: Vec<StoredSchedule>, now: Timestamp) -> Result<WeekOfSchedules> {
    let more = schedules.len().saturating_sub(MAX_NAMES);
    schedules.truncate(MAX_NAMES);
    let days = page::last_days(now);
    let names: Vec<&str> = schedules.iter().map(StoredSchedule::name).collect();
    let ended = store.scheduled_days(&names, &days, now)?;
    Ok(WeekOfSchedules { rows: schedule_rows(store, schedules, now)?, more, days, ended })
}
