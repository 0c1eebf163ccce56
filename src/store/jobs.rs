//! Lists of jobs, newest first, a page at a time: a long read would hold up a checkpoint.

use rusqlite::{Connection, params_from_iter};

use super::error::{Result, StoreError};
use super::filter::{Filter, StateFilter};
use super::job::{COLUMNS, JobRow, TABLES};
use super::open::Store;
use crate::model::JobState;
use crate::text::Timestamp;

/// The place of a job in a list: the next page comes after that of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobCursor {
    /// When the job died, or 0 in a list by id.
    time: i64,
    id: i64,
}

const NEWEST: JobCursor = JobCursor { time: i64::MAX, id: i64::MAX };

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
            let after = last.unwrap_or(NEWEST);
            let page = if filter.dead_by_time {
                dead_by_time(tx, filter, after, limit, now)?
            } else {
                by_id(tx, filter, after, limit, now)?
            };
            // Where a table or an index is out of order page would follow page for ever.
            if !page.iter().all(|place| *place < after) {
                return Err(StoreError::contradiction("a table or an index of jobs is out of order"));
            }
            let mut read = tx.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE j.id = ?1"))?;
            let jobs = page.iter().map(|place| read.query_row([place.id], |row| JobRow::read(row, now)));
            let jobs = jobs.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((jobs, page.last().copied().filter(|_| page.len() == limit)))
        })
    }
}

/// A walk from the newest job on, through all jobs unless an index has the wanted jobs in this order.
fn by_id(
    tx: &Connection,
    filter: &Filter,
    after: JobCursor,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let index = if filter.name.is_some() {
        "INDEXED BY jobs_by_name"
    } else if filter.states == [StateFilter::State(JobState::Running)] {
        "INDEXED BY jobs_running" // there are few
    } else {
        "NOT INDEXED"
    };
    let mut wanted = filter.conditions(now);
    wanted.and("j.id < {}", after.id);
    let sql = format!(
        "SELECT 0, j.id FROM jobs AS j {index} WHERE {} ORDER BY j.id DESC LIMIT {limit}",
        wanted.sql
    );
    cursors(tx, &sql, &wanted.values)
}

/// Dead jobs by the time of their death. A job whose expiry nobody has recorded is dead, too.
fn dead_by_time(
    tx: &Connection,
    filter: &Filter,
    after: JobCursor,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
    let mut page = Vec::new();
    for (index, dead, time) in
        [("jobs_finished", "j.state = 'dead'", "j.changed_at"), ("jobs_expiring", expired, "j.expires_at")]
    {
        let mut wanted = filter.conditions(now);
        wanted.and_sql(dead);
        wanted.and(&format!("{time} <= {{}}"), after.time);
        wanted.and(&format!("({time} < ?{} OR j.id < {{}})", wanted.values.len()), after.id);
        let sql = format!(
            "SELECT {time}, j.id FROM jobs AS j INDEXED BY {index} WHERE {}
             ORDER BY {time} DESC, j.id DESC LIMIT {limit}",
            wanted.sql
        );
        page.extend(cursors(tx, &sql, &wanted.values)?);
    }
    page.sort_unstable_by(|a, b| b.cmp(a));
    page.truncate(limit);
    Ok(page)
}

fn cursors(tx: &Connection, sql: &str, values: &[rusqlite::types::Value]) -> Result<Vec<JobCursor>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement
        .query_map(params_from_iter(values), |row| Ok(JobCursor { time: row.get(0)?, id: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
