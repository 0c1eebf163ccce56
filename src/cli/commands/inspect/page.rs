//! Looks up what the page shows.

use anyhow::Result;

use super::lists::schedule_rows;
use super::query::Query;
use crate::cli::commands::attention_facts::read_snapshot;
use crate::cli::locate;
use crate::store::{Filter, Store, StoredSchedule, UnfinishedJobs};
use crate::text::Timestamp;
use crate::view::page::{
    self, Card, CardDeaths, MAX_NAMES, MAX_OUTPUTS, MAX_ROWS, Page, UnfinishedRow, UnfinishedSection,
    WeekOfSchedules,
};
use crate::view::snapshot::Snapshot;
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
        card.add_deaths(deaths(store, card, index < MAX_OUTPUTS)?);
    }
    let (attempts, stats) = store.timeline(&filter, now)?;
    Ok(Page {
        now,
        db: store.file().path().to_owned(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        filter: query.filter.clone(),
        dead: store.count_unresolved(&filter, now)?,
        has_database: locate::is_there(store),
        boot_id,
        workers,
        attention,
        cards,
        unfinished: unfinished(store, &filter, now)?,
        attempts,
        schedules: week_of(store, schedules, now)?,
        stats,
    })
}

fn deaths(store: &Store, card: &Card, with_output: bool) -> Result<CardDeaths> {
    let ids = card.dead_jobs();
    let deaths = store.deaths(&ids)?;
    let name = card.name().filter(|_| !ids.is_empty());
    let last = deaths.first().filter(|death| with_output && death.number > 0);
    Ok(CardDeaths {
        first: name.map(|name| store.first_unresolved_death(name)).transpose()?.flatten(),
        output: last.map(|death| store.output(death.job_id, death.number)).transpose()?,
        deaths,
    })
}

fn unfinished(store: &Store, filter: &Filter, now: Timestamp) -> Result<Vec<UnfinishedSection>> {
    let mut found = Vec::new();
    for UnfinishedJobs { status, count, ids } in store.unfinished(filter, MAX_ROWS, now)? {
        let mut rows = Vec::new();
        for id in ids {
            if let Some(job) = store.job(id, now)? {
                let stuck = job.waits_for.iter().find(|unmet| unmet.is_stuck);
                let stuck: Vec<i64> = stuck.map(|unmet| unmet.id).into_iter().collect();
                rows.push(UnfinishedRow { job, death: store.deaths(&stuck)?.pop() });
            }
        }
        found.push(UnfinishedSection { status, count, rows });
    }
    Ok(found)
}

fn week_of(store: &Store, mut schedules: Vec<StoredSchedule>, now: Timestamp) -> Result<WeekOfSchedules> {
    let more = schedules.len().saturating_sub(MAX_NAMES);
    schedules.truncate(MAX_NAMES);
    let days = page::last_days(now);
    let names: Vec<&str> = schedules.iter().map(StoredSchedule::name).collect();
    let ended = store.scheduled_days(&names, &days)?;
    Ok(WeekOfSchedules { rows: schedule_rows(store, schedules, now)?, more, days, ended })
}
