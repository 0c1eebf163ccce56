//! Lists of jobs, newest first, a page at a time: a long read would hold up a checkpoint.
//!
//! The places of a page are found first, by the index that has least to go through. Then its jobs are read.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::filter::{Conditions, Filter, StateFilter};
use super::job::{COLUMNS, JobRow, TABLES};
use super::{Result, Store, StoreError};
use crate::model::{EXPIRED, JobState};
use crate::text::Timestamp;

/// Up to so many rows of an index are gathered and sorted. Beyond that, a walk from the newest job on is faster.
pub(super) const MAX_GATHERED: i64 = 20_000;

/// The place of a job in a list: the next page comes after that of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobCursor {
    /// When the job died, or 0 in a list by id.
    time: i64,
    id: i64,
}

const NEWEST: JobCursor = JobCursor { time: i64::MAX, id: i64::MAX };

/// Where to look for jobs: a table with an index to use, a condition, and the time that the jobs are ordered by.
struct Part {
    table: String,
    condition: String,
    time: &'static str,
}

impl Part {
    fn by_id(index: &str, condition: impl Into<String>) -> Self {
        Self::by_time(index, condition, "0")
    }

    fn by_time(index: &str, condition: impl Into<String>, time: &'static str) -> Self {
        Self { table: format!("jobs AS j INDEXED BY {index}"), condition: condition.into(), time }
    }
}

impl Store {
    /// Up to `limit` jobs after `last`, newest first, and where the next page begins; none after the last page.
    pub fn jobs_page(
        &self,
        filter: &Filter,
        last: Option<JobCursor>,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<JobRow>, Option<JobCursor>)> {
        self.read(|tx| {
            let parts = if filter.dead_by_time { dead_parts(tx, filter)? } else { parts(tx, filter, now)? };
            let page = find(tx, filter, &parts, last.unwrap_or(NEWEST), limit, now)?;
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

/// The parts of a list by id.
fn parts(connection: &Connection, filter: &Filter, now: Timestamp) -> Result<Vec<Part>> {
    if filter.name.is_some() {
        return Ok(vec![Part::by_id("jobs_by_name", "1")]);
    }
    let all: Vec<_> = JobState::ALL.iter().map(|state| StateFilter::State(*state)).collect();
    let states = match filter {
        // Only dead jobs have a code.
        Filter { error_code: Some(_), .. } => &[StateFilter::State(JobState::Dead)],
        Filter { states, .. } if !states.is_empty() => states.as_slice(),
        Filter { since: Some(_), .. } => all.as_slice(),
        Filter { .. } => &[],
    };
    let narrow: Vec<_> = states.iter().flat_map(|state| parts_of_state(*state, filter.since)).collect();
    if narrow.is_empty() || !are_few(connection, &narrow, now)? {
        return Ok(vec![Part {
            table: "jobs AS j NOT INDEXED".to_owned(),
            condition: "1".to_owned(),
            time: "0",
        }]);
    }
    Ok(narrow)
}

/// The parts of indexes that hold every job in this state.
fn parts_of_state(state: StateFilter, since: Option<Timestamp>) -> Vec<Part> {
    match state {
        StateFilter::State(JobState::Running) => vec![Part::by_id("jobs_running", "j.state = 'running'")],
        StateFilter::State(JobState::Pending) | StateFilter::Phase(_) => {
            vec![Part::by_id("jobs_waiting", state.sql())]
        }
        StateFilter::State(state) => {
            let since = since.map_or_else(String::new, |since| format!(" AND j.changed_at >= {}", since.0));
            let mut parts = vec![Part::by_id("jobs_finished", format!("j.state = '{state}'{since}"))];
            if state == JobState::Dead {
                parts.push(Part::by_id("jobs_expiring", HAS_EXPIRED));
            }
            parts
        }
    }
}

/// Dead, though nobody has recorded it.
const HAS_EXPIRED: &str = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";

fn are_few(connection: &Connection, parts: &[Part], now: Timestamp) -> Result<bool> {
    for Part { table, condition, .. } in parts {
        let rows = format!("FROM {table} WHERE ?1 IS NOT NULL AND {condition}");
        if !at_most(connection, &rows, &now.0)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Are there so few of these rows that they can be gathered?
pub(super) fn at_most(connection: &Connection, rows: &str, value: &dyn rusqlite::ToSql) -> Result<bool> {
    let sql = format!("SELECT 1 {rows} LIMIT 1 OFFSET {MAX_GATHERED}");
    let more = connection.prepare_cached(&sql)?.query_row(params![value], |_| Ok(())).optional()?;
    Ok(more.is_none())
}

/// The parts of a list of dead jobs by the time of their death. A job whose expiry nobody has recorded died then.
fn dead_parts(connection: &Connection, filter: &Filter) -> Result<Vec<Part>> {
    if let Some(name) = &filter.name
        && at_most(connection, "FROM jobs WHERE name = ?1", name)?
    {
        return Ok(vec![Part::by_time(
            "jobs_by_name",
            "1",
            "iif(j.state = 'pending', j.expires_at, j.changed_at)",
        )]);
    }
    let recorded = match &filter.error_code {
        Some(code) => {
            let code = code.replace('\'', "''");
            Part::by_time(
                "jobs_dead",
                format!("j.state = 'dead' AND j.error_code = '{code}'"),
                "j.changed_at",
            )
        }
        None => Part::by_time("jobs_finished", "j.state = 'dead'", "j.changed_at"),
    };
    let mut parts = vec![recorded];
    if filter.error_code.as_deref().is_none_or(|code| code == EXPIRED) {
        parts.push(Part::by_time("jobs_expiring", HAS_EXPIRED, "j.expires_at"));
    }
    Ok(parts)
}

/// The first `limit` places after this one.
fn find(
    connection: &Connection,
    filter: &Filter,
    parts: &[Part],
    after: JobCursor,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let mut page = Vec::new();
    for Part { table, condition, time } in parts {
        let mut wanted = filter.conditions(now);
        wanted.and_sql(condition);
        let order = if *time == "0" {
            wanted.and("j.id < {}", after.id);
            "j.id DESC".to_owned()
        } else {
            wanted.and(&format!("{time} <= {{}}"), after.time);
            let (at, id) = (wanted.values.len(), wanted.values.len() + 1);
            wanted.and(&format!("({time}, j.id) < (?{at}, ?{id})"), after.id);
            format!("{time} DESC, j.id DESC")
        };
        page.extend(run(connection, table, time, &wanted, &order, limit)?);
    }
    page.sort_unstable_by(|a, b| b.cmp(a));
    page.dedup();
    page.truncate(limit);
    Ok(page)
}

fn run(
    connection: &Connection,
    table: &str,
    time: &str,
    wanted: &Conditions,
    order: &str,
    limit: usize,
) -> Result<Vec<JobCursor>> {
    let sql = format!("SELECT {time}, j.id FROM {table} WHERE {} ORDER BY {order} LIMIT {limit}", wanted.sql);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(&wanted.values), |row| {
        Ok(JobCursor { time: row.get(0)?, id: row.get(1)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
