//! Finds jobs that are interrupted time after time. An interruption does not count as an attempt, so a job that stops its own
//! worker would be run again for ever, and nothing else would tell.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params, params_from_iter};

use super::filter::Filter;
use super::problem::{AttentionEntry, Count, Problem};
use crate::model::{Attention, Outcome};
use crate::store::file::error::Result;
use crate::store::file::row::{each, find, maybe};
use crate::store::write::conditions::is_unfinished_at;
use crate::text::Timestamp;

/// This number of interruptions in a row is an alarm.
const INTERRUPTIONS: usize = 5;

/// They are looked for among this number of the newest attempts.
const MAX_ATTEMPTS: usize = 50_000;

/// The interruptions of a job are counted up to this number.
const MAX_COUNTED: usize = 10_000;

/// An unfinished job whose last attempts were all interrupted.
struct Interrupted {
    id: i64,
    times: usize,
    last: Timestamp,
}

/// The entries about these jobs, by name.
pub fn attention(tx: &Connection, filter: &Filter, now: Timestamp) -> Result<Vec<AttentionEntry>> {
    let mut names: BTreeMap<String, Vec<Interrupted>> = BTreeMap::new();
    for id in candidates(tx)? {
        let mut wanted = filter.narrowed(now);
        wanted.and("j.id = {}", id);
        // A cancel has dealt with it, even if the job still runs.
        wanted.and_sql(&is_unfinished_at("j", "?1"));
        wanted.and_sql("j.cancel_requested_at IS NULL");
        let sql = format!("SELECT j.name FROM jobs AS j WHERE {}", wanted.sql);
        let name: Option<String> =
            maybe(tx, &sql, params_from_iter(wanted.values), |row| Ok(row.get("name")?))?;
        if let Some(name) = name
            && let Some(job) = interruptions(tx, id)?
        {
            names.entry(name).or_default().push(job);
        }
    }
    Ok(names.into_iter().map(|(name, jobs)| found(name, &jobs, now)).collect())
}

/// The jobs that were interrupted often enough among the newest attempts, by id.
fn candidates(tx: &Connection) -> Result<Vec<i64>> {
    let sql = "SELECT a.job_id, a.error_code IS 'INTERRUPTED' AS was_interrupted
               FROM attempts AS a INDEXED BY attempts_by_time ORDER BY a.finished_at DESC LIMIT ?1";
    let mut times: HashMap<i64, usize> = HashMap::new();
    each(tx, sql, params![MAX_ATTEMPTS], |row| {
        if row.get("was_interrupted")? {
            *times.entry(row.get("job_id")?).or_default() += 1;
        }
        Ok(())
    })?;
    let mut found: Vec<i64> =
        times.into_iter().filter(|(_, times)| *times >= INTERRUPTIONS).map(|(id, _)| id).collect();
    found.sort_unstable();
    Ok(found)
}

/// How often the last attempts of the job were interrupted in a row; none if that is not often.
fn interruptions(tx: &Connection, id: i64) -> Result<Option<Interrupted>> {
    let sql = "SELECT outcome, finished_at FROM attempts WHERE job_id = ?1 ORDER BY number DESC LIMIT ?2";
    let (mut times, mut last) = (0, None);
    find(tx, sql, params![id, MAX_COUNTED + 1], |row| {
        if row.get::<_, Outcome>("outcome")? != Outcome::Interrupted {
            return Ok(Some(()));
        }
        times += 1;
        last = last.or(Some(row.get("finished_at")?));
        Ok(None)
    })?;
    Ok(last.filter(|_| times >= INTERRUPTIONS).map(|last| Interrupted { id, times, last }))
}

fn found(name: String, jobs: &[Interrupted], now: Timestamp) -> AttentionEntry {
    let last = jobs.iter().map(|job| job.last).max().unwrap_or(now);
    let most = jobs.iter().map(|job| job.times).max().unwrap_or_default();
    let times = Count { counted: most.min(MAX_COUNTED) as u64, is_more: most > MAX_COUNTED };
    let ids = jobs.iter().take(Attention::MAX_JOBS).map(|job| job.id).collect();
    Problem::Interrupted { name, jobs: jobs.len(), times, least: INTERRUPTIONS, last }.alarm().about(ids)
}
