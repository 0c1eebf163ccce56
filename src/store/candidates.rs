//! Where to look for jobs in some states without walking over all jobs: the parts of indexes in which they stand.

use rusqlite::{Connection, OptionalExtension, params};

use super::Result;
use super::filter::{JobFilter, StateFilter};
use super::list_jobs::GATHERED;
use crate::model::JobState;
use crate::text::Timestamp;

/// A table with the index to use, and the condition that makes it a part.
type Part = (String, String);

/// The parts that hold every job in the states that are asked for; none where that is more than can be gathered.
pub(super) fn few(connection: &Connection, filter: &JobFilter, now: Timestamp) -> Result<Option<Vec<Part>>> {
    let all: Vec<StateFilter> = JobState::ALL.iter().map(|state| StateFilter::State(*state)).collect();
    let dead = [StateFilter::State(JobState::Dead)];
    let states = match &filter.error_code {
        // A code is one of dead jobs alone.
        Some(_) => dead.as_slice(),
        None if filter.states.is_empty() => &all,
        None => &filter.states,
    };
    let mut parts = Vec::new();
    for state in states {
        match state {
            StateFilter::State(JobState::Running) => parts.push(part("jobs_running", "j.state = 'running'")),
            StateFilter::State(JobState::Pending) | StateFilter::Phase(_) => {
                parts.push(part("jobs_waiting", state.sql()));
            }
            StateFilter::State(state) => {
                let since = filter
                    .since
                    .map_or_else(String::new, |since| format!(" AND j.changed_at >= {}", since.0));
                parts.push(part("jobs_finished", &format!("j.state = '{state}'{since}")));
                if *state == JobState::Dead {
                    let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
                    parts.push(part("jobs_expiring", expired));
                }
            }
        }
    }
    for (table, condition) in &parts {
        let sql =
            format!("SELECT 1 FROM {table} WHERE ?1 IS NOT NULL AND {condition} LIMIT 1 OFFSET {GATHERED}");
        let more = connection.prepare_cached(&sql)?.query_row(params![now.0], |_| Ok(())).optional()?;
        if more.is_some() {
            return Ok(None);
        }
    }
    Ok(Some(parts))
}

fn part(index: &str, condition: &str) -> Part {
    (format!("jobs AS j INDEXED BY {index}"), condition.to_owned())
}
