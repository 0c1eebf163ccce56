//! Where to look for jobs in some states without walking over all jobs: the parts of indexes in which they stand.

use rusqlite::{OptionalExtension, params};

use super::counts::{self, Sides};
use super::filter::{JobFilter, StateFilter};
use super::list_jobs::GATHERED;
use super::tally::Kind;
use super::{Connection, Result, queues};
use crate::model::{JobState, Phase};
use crate::text::Timestamp;

/// Each part is a statement of its own: beyond this many a walk is as good.
const MOST_PARTS: usize = 64;

/// A table with the index to use, and the condition that makes it a part.
type Part = (String, String);

/// The parts that hold every job in the states that are asked for; none where that is more than can be gathered.
pub(super) fn few(
    connection: &Connection,
    filter: &JobFilter,
    now: Timestamp,
    any_in_hand: bool,
) -> Result<Option<Vec<Part>>> {
    let all: Vec<StateFilter> = JobState::ALL.iter().map(|state| StateFilter::State(*state)).collect();
    let dead = [StateFilter::State(JobState::Dead)];
    let states = match &filter.error_code {
        // A code is one of dead jobs alone.
        Some(_) => dead.as_slice(),
        None if filter.states.is_empty() => &all,
        None => &filter.states,
    };
    let mut parts = Vec::new();
    let mut left = GATHERED;
    if any_in_hand && states.iter().any(|state| state.means_ready()) {
        parts.push(part("jobs_running", "j.state = 'running'"));
    }
    for state in states {
        left -= match state {
            StateFilter::State(JobState::Running) => {
                parts.push(part("jobs_running", "j.state = 'running'"));
                0
            }
            StateFilter::State(JobState::Pending) => {
                parts.push(part("jobs_waiting", "j.state = 'pending'"));
                let [new, retry] = waiting(connection, now)?;
                new.past + new.future + retry.past + retry.future
            }
            StateFilter::State(state) => {
                parts.push(finished(*state, filter.since));
                if *state == JobState::Dead {
                    let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
                    parts.push(part("jobs_expiring", expired));
                    left -= total(connection, Kind::Expiring, now)?.past;
                }
                number_finished(connection, *state, filter.since)?
            }
            StateFilter::Phase(phase) => {
                let [new, retry] = waiting(connection, now)?;
                let (times, number) = match phase {
                    Phase::Ready => ("j.run_at <= ?1", new.past + retry.past),
                    Phase::Retrying if retry.future == 0 => continue,
                    Phase::Scheduled if new.future == 0 => continue,
                    Phase::Scheduled | Phase::Retrying => ("j.run_at > ?1", new.future + retry.future),
                };
                for queue in queues::waiting_queues(connection)? {
                    for priority in queues::priorities(connection, &queue)? {
                        let queue = queue.replace('\'', "''");
                        let level = format!(
                            "j.state = 'pending' AND j.queue = '{queue}' AND j.priority = {priority}"
                        );
                        parts.push(part("jobs_waiting", &format!("{level} AND {times}")));
                    }
                }
                number
            }
        };
        if left < 0 || parts.len() > MOST_PARTS {
            return Ok(None);
        }
    }
    Ok(Some(parts))
}

fn part(index: &str, condition: &str) -> Part {
    (format!("jobs AS j INDEXED BY {index}"), condition.to_owned())
}

fn finished(state: JobState, since: Option<Timestamp>) -> Part {
    let since = since.map_or_else(String::new, |since| format!(" AND j.changed_at >= {}", since.0));
    part("jobs_finished", &format!("j.state = '{state}'{since}"))
}

/// Jobs in this final state that ended since then, counted as far as it matters.
fn number_finished(connection: &Connection, state: JobState, since: Option<Timestamp>) -> Result<i64> {
    let sql = format!("SELECT 1 FROM jobs WHERE state = '{state}' AND changed_at >= ?1 LIMIT 1 OFFSET ?2");
    let since = since.map_or(i64::MIN, |since| since.0);
    let more = connection.prepare_cached(&sql)?.query_row(params![since, GATHERED], |_| Ok(())).optional()?;
    Ok(if more.is_some() { GATHERED + 1 } else { 0 })
}

fn total(connection: &Connection, kind: Kind, now: Timestamp) -> Result<Sides> {
    let queues = counts::waiting(connection, kind, now)?;
    Ok(queues.into_values().fold(Sides::default(), |sum, sides| Sides {
        past: sum.past + sides.past,
        future: sum.future + sides.future,
    }))
}

fn waiting(connection: &Connection, now: Timestamp) -> Result<[Sides; 2]> {
    Ok([total(connection, Kind::New, now)?, total(connection, Kind::Retry, now)?])
}
