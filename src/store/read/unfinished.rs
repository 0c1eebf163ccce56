//! The unfinished jobs: how many there are, their ids, and the first of each kind.
//!
//! They are read along the indexes that have nothing else, because a million other jobs may have ended.

use rusqlite::params_from_iter;

use super::filter::{Conditions, Filter, StateFilter};
use crate::model::{JobState, Phase};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{all, one, value};
use crate::store::write::conditions::{is_blocked, is_running, is_unblocked};
use crate::text::Timestamp;

/// The unfinished jobs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedJobs {
    /// `running`, `ready`, `retrying`, `scheduled` or `blocked`.
    pub status: &'static str,
    pub count: u64,
    /// The first of them: by their start or due time, blocked ones by id.
    pub ids: Vec<i64>,
}

/// Unfinished jobs that an index has, and its condition on them.
type Part = (&'static str, fn(&str) -> String);

const CLAIMABLE: Part = ("jobs_claimable", is_unblocked);
const BLOCKED: Part = ("jobs_blocked", is_blocked);
const RUNNING: Part = ("jobs_running", is_running);

/// Each unfinished job is in one of them.
const PARTS: [Part; 3] = [CLAIMABLE, BLOCKED, RUNNING];

/// The kinds of unfinished jobs, with the part that has them and their order.
const KINDS: [(StateFilter, Part, &str); 5] = [
    (StateFilter::State(JobState::Running), RUNNING, "j.changed_at, j.id"),
    (StateFilter::Phase(Phase::Ready), CLAIMABLE, "j.run_at, j.id"),
    (StateFilter::Phase(Phase::Retrying), CLAIMABLE, "j.run_at, j.id"),
    (StateFilter::Phase(Phase::Scheduled), CLAIMABLE, "j.run_at, j.id"),
    (StateFilter::Phase(Phase::Blocked), BLOCKED, "j.id"),
];

/// The jobs of a part that meet these conditions, as the end of a statement.
fn selected((index, condition): Part, wanted: &Conditions) -> String {
    // The condition of the index has to stand by itself, because SQLite does not look for it in the others.
    format!("FROM jobs AS j INDEXED BY {index} WHERE {} AND {}", condition("j"), wanted.sql)
}

impl Store {
    /// The number of jobs in these queues (none: in all) that are recorded as unfinished.
    pub fn count_unfinished(&self, selected: Option<&[String]>) -> Result<u64> {
        let count = |(_, condition): Part| {
            format!("(SELECT count(*) FROM jobs WHERE {} AND (?1 IS NULL OR queue = ?1))", condition("jobs"))
        };
        let sql = format!("SELECT {}", PARTS.map(count).join(" + "));
        self.read(|tx| {
            let count = |queue: Option<&str>| one(tx, &sql, [queue], value::<u64>);
            match selected {
                None => count(None),
                Some(queues) => queues.iter().map(|queue| count(Some(queue))).sum(),
            }
        })
    }

    /// The ids of the unfinished jobs that match, oldest first. Jobs that have expired are finished, recorded or not.
    pub fn unfinished_ids(&self, filter: &Filter, now: Timestamp) -> Result<Vec<i64>> {
        let states = [JobState::Pending, JobState::Running].map(StateFilter::State).to_vec();
        let filter = Filter { states, ..filter.clone() };
        if filter.name.is_some() || filter.has_label() {
            return self.ids(&filter, now);
        }
        let wanted = filter.conditions(now);
        let mut ids = Vec::new();
        for part in PARTS {
            let sql = format!("SELECT j.id {}", selected(part, &wanted));
            ids.extend(self.autocommit(|tx| all(tx, &sql, params_from_iter(&wanted.values), value::<i64>))?);
        }
        ids.sort_unstable();
        // A job may have moved from one index to another between two reads.
        ids.dedup();
        Ok(ids)
    }

    /// The jobs that run or wait at `now`, with at most `limit` ids of each kind; a kind without a job is left out. Of the
    /// filter, only name, label and queue matter.
    pub fn unfinished(&self, filter: &Filter, limit: usize, now: Timestamp) -> Result<Vec<UnfinishedJobs>> {
        let mut found = Vec::new();
        for (state, part, order) in KINDS {
            let filter = Filter { since: None, until: None, states: vec![state], ..filter.clone() };
            let wanted = filter.conditions(now);
            let from = selected(part, &wanted);
            let count = format!("SELECT count(*) {from}");
            let count: u64 =
                self.autocommit(|tx| one(tx, &count, params_from_iter(&wanted.values), value))?;
            if count == 0 {
                continue;
            }
            let sql = format!("SELECT j.id {from} ORDER BY {order} LIMIT {limit}");
            let ids = self.autocommit(|tx| all(tx, &sql, params_from_iter(&wanted.values), value))?;
            found.push(UnfinishedJobs { status: state.as_str(), count, ids });
        }
        Ok(found)
    }
}
