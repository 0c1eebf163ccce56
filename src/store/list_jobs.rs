//! Lists of jobs, newest first, a page at a time: no read lasts long enough to hold up a checkpoint.
//!
//! By id, or, where only jobs that are over are asked for, by when they ended. A page is found first, by the index that
//! has least to go through, and then read.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::candidates;
use super::filter::{Conditions, JobFilter, StateFilter};
use super::job_row::{COLUMNS, JobRow, TABLES};
use super::{Result, Store, StoreError};
use crate::model::{EXPIRED, JobState};
use crate::text::Timestamp;

/// So many candidates are gathered and sorted rather than sought in a walk over all jobs: some tens of milliseconds.
pub(super) const GATHERED: i64 = 20_000;

/// Where a page of jobs ended: the next one comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobCursor {
    /// When the last job of the page ended, or 0 in a list by id.
    pub(super) time: i64,
    /// Its id.
    pub(super) id: i64,
}

/// The newest jobs come first.
const FIRST: JobCursor = JobCursor { time: i64::MAX, id: i64::MAX };

impl Store {
    /// Up to `limit` jobs that come after `last`, newest first, and where the next page begins; none after the last page.
    pub fn jobs_page(
        &mut self,
        filter: &JobFilter,
        last: Option<JobCursor>,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<JobRow>, Option<JobCursor>)> {
        self.read(|tx| {
            let after = last.unwrap_or(FIRST);
            let page = match final_states(filter) {
                Some(states) => by_end(tx, filter, &states, after, limit, now)?,
                None => by_id(tx, filter, after.id, limit, now)?,
            };
            // Where a table or an index is out of order page would follow page for ever.
            if !page.iter().all(|place| last.is_none_or(|last| *place < last)) {
                return Err(StoreError::contradiction("a table or an index of jobs is out of order"));
            }
            let mut read = tx.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE j.id = ?1"))?;
            let jobs = page.iter().map(|place| read.query_row([place.id], |row| JobRow::read(row, now)));
            let jobs = jobs.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((jobs, page.last().copied().filter(|_| page.len() == limit)))
        })
    }
}

/// The states that are listed, where all of them are final. A code is one of dead jobs alone.
fn final_states(filter: &JobFilter) -> Option<Vec<JobState>> {
    if !filter.by_end {
        return None;
    }
    let states: Vec<JobState> = filter
        .states
        .iter()
        .filter_map(|state| match state {
            StateFilter::State(state) if state.is_final() => Some(*state),
            _ => None,
        })
        .collect();
    if filter.error_code.is_some() {
        let dead = filter.states.is_empty() || states.contains(&JobState::Dead);
        return Some(if dead { vec![JobState::Dead] } else { Vec::new() });
    }
    (!states.is_empty() && states.len() == filter.states.len()).then_some(states)
}

/// Jobs that are over, by when they ended. One whose expiry nobody has recorded ended when it expired.
fn by_end(
    connection: &Connection,
    filter: &JobFilter,
    states: &[JobState],
    after: JobCursor,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let mut page = Vec::new();
    let conditions = |time: &str| {
        let mut wanted = filter.conditions(now);
        wanted.and(&format!("{time} <= {{}}"), after.time);
        let (at, id) = (wanted.values.len(), wanted.values.len() + 1);
        wanted.and(&format!("({time}, j.id) < (?{at}, ?{id})"), after.id);
        wanted
    };
    let few_of_that_name = match &filter.name {
        Some(name) => at_most(connection, "FROM jobs WHERE name = ?1", name)?,
        None => false,
    };
    if few_of_that_name {
        let time = "iif(j.state = 'pending', j.expires_at, j.changed_at)";
        page = run(connection, "jobs AS j INDEXED BY jobs_by_name", time, &conditions(time), limit)?;
        page.retain(|_| !states.is_empty());
        return Ok(page);
    }
    for state in states {
        let mut wanted = conditions("j.changed_at");
        wanted.and_sql(&format!("j.state = '{state}'"));
        let index = match &filter.error_code {
            Some(code) => {
                wanted.and("j.error_code = {}", code.clone());
                "jobs_dead"
            }
            None => "jobs_finished",
        };
        page.extend(run(
            connection,
            &format!("jobs AS j INDEXED BY {index}"),
            "j.changed_at",
            &wanted,
            limit,
        )?);
    }
    if states.contains(&JobState::Dead) && filter.error_code.as_deref().is_none_or(|code| code == EXPIRED) {
        let mut wanted = conditions("j.expires_at");
        wanted.and("j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= {}", now.0);
        page.extend(run(connection, "jobs AS j INDEXED BY jobs_expiring", "j.expires_at", &wanted, limit)?);
    }
    page.sort_unstable_by(|a, b| b.cmp(a));
    page.truncate(limit);
    Ok(page)
}

/// Jobs by id.
fn by_id(
    connection: &Connection,
    filter: &JobFilter,
    before: i64,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let mut wanted = filter.conditions(now);
    wanted.and("j.id < {}", before);
    if filter.name.is_some() {
        return run(connection, "jobs AS j INDEXED BY jobs_by_name", "0", &wanted, limit);
    }
    let is_narrow = !filter.states.is_empty() || filter.error_code.is_some() || filter.since.is_some();
    if is_narrow && let Some(parts) = candidates::few(connection, filter, now)? {
        let mut page = Vec::new();
        for (table, condition) in parts {
            let mut part = wanted.clone();
            part.and_sql(&condition);
            page.extend(run(connection, &table, "0", &part, limit)?);
        }
        page.sort_unstable_by(|a, b| b.cmp(a));
        page.dedup();
        page.truncate(limit);
        return Ok(page);
    }
    run(connection, "jobs AS j NOT INDEXED", "0", &wanted, limit)
}

/// The first `limit` places in this table, the last time first, then the last id.
fn run(
    connection: &Connection,
    table: &str,
    time: &str,
    wanted: &Conditions,
    limit: usize,
) -> Result<Vec<JobCursor>> {
    let order = if time == "0" { "j.id DESC".to_owned() } else { format!("{time} DESC, j.id DESC") };
    let sql = format!("SELECT {time}, j.id FROM {table} WHERE {} ORDER BY {order} LIMIT {limit}", wanted.sql);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(&wanted.values), |row| {
        Ok(JobCursor { time: row.get(0)?, id: row.get(1)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Are there so few rows of this value that they can be gathered?
pub(super) fn at_most(connection: &Connection, rows: &str, value: &str) -> Result<bool> {
    let sql = format!("SELECT 1 {rows} LIMIT 1 OFFSET {GATHERED}");
    let more = connection.prepare_cached(&sql)?.query_row(params![value], |_| Ok(())).optional()?;
    Ok(more.is_none())
}
