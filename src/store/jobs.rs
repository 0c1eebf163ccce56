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

fn dead_by_time(
    tx: &Connection,
    filter: &Filter,
    after: JobCursor,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<JobCursor>> {
    let mut wanted = filter.conditions(now);
    wanted.values.extend([after.time.into(), after.id.into()]);
    let (time, id) = (wanted.values.len() - 1, wanted.values.len());
    let sql = dead_letters("", "", |died_at| {
        format!("{} AND {died_at} <= ?{time} AND ({died_at} < ?{time} OR j.id < ?{id})", wanted.sql)
    });
    cursors(tx, &format!("{sql} LIMIT {limit}"), &wanted.values)
}

/// A query of dead jobs by the time of their death, newest first: gives the time, the id, and these columns of `jobs AS j`
/// and these joins. `?1` is now: a job whose expiry nobody has recorded is dead, too. `wanted` makes a condition out of the
/// time of death.
pub(super) fn dead_letters(columns: &str, joins: &str, wanted: impl Fn(&str) -> String) -> String {
    let select = |index: &str, is_dead: &str, died_at: &str| {
        let wanted = wanted(died_at);
        format!(
            "SELECT {died_at}, j.id {columns} FROM jobs AS j INDEXED BY {index} {joins} WHERE {is_dead} AND {wanted}"
        )
    };
    let recorded = select("jobs_finished", "j.state = 'dead'", "j.changed_at");
    let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
    let unrecorded = select("jobs_expiring", expired, "j.expires_at");
    format!("{recorded} UNION ALL {unrecorded} ORDER BY 1 DESC, 2 DESC")
}

fn cursors(tx: &Connection, sql: &str, values: &[rusqlite::types::Value]) -> Result<Vec<JobCursor>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement
        .query_map(params_from_iter(values), |row| Ok(JobCursor { time: row.get(0)?, id: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
