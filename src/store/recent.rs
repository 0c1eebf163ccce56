//! How the names that ran lately have fared.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::error::Result;
use super::open::Store;
use crate::model::Outcome;
use crate::text::{Millis, Timestamp};

/// The newest attempts tell which names ran lately: at most so many, of this time.
const MAX_ATTEMPTS: usize = 1_000;
const LATELY: Millis = Millis::from_secs(7 * 24 * 60 * 60);

/// Outcomes that are given of a name.
const OUTCOMES: usize = 20;

/// Jobs of a name whose attempts are read, the newest.
const MAX_JOBS: usize = 100;

/// A name that ran lately, or has a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentName {
    pub name: String,
    /// The outcomes of the last attempts, oldest first.
    pub outcomes: Vec<Outcome>,
    /// None if none is among the newest jobs of the name.
    pub last_success: Option<Timestamp>,
}

/// The outcomes of a name by end, job and number.
type Attempts = BTreeMap<(Timestamp, i64, u32), Outcome>;

impl Store {
    /// Up to `limit` names that ran lately or are among `scheduled`, and how many names there are. Names whose last attempt
    /// failed come first; otherwise by name.
    pub fn recent_names<'a>(
        &self,
        scheduled: impl Iterator<Item = &'a str>,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<RecentName>, usize)> {
        self.read(|tx| {
            let mut names = newest(tx, now.minus(LATELY))?;
            for name in scheduled {
                if !names.contains_key(name) {
                    let mut attempts = Attempts::new();
                    add_older(tx, name, &mut attempts)?;
                    names.insert(name.to_owned(), attempts);
                }
            }
            let all = names.len();
            let mut names: Vec<_> = names.into_iter().collect();
            // The sort is stable: the names remain in order.
            names
                .sort_by_key(|(_, attempts)| !attempts.values().next_back().is_some_and(Outcome::is_failure));
            names.truncate(limit);
            let recent = names.into_iter().map(|(name, mut attempts)| {
                add_older(tx, &name, &mut attempts)?;
                let skipped = attempts.len().saturating_sub(OUTCOMES);
                let outcomes = attempts.values().copied().skip(skipped).collect();
                Ok(RecentName { name, outcomes, last_success: last_success(&attempts) })
            });
            Ok((recent.collect::<Result<_>>()?, all))
        })
    }
}

/// The newest attempts by name.
fn newest(tx: &Connection, since: Timestamp) -> Result<BTreeMap<String, Attempts>> {
    let mut names: BTreeMap<String, Attempts> = BTreeMap::new();
    let mut statement = tx.prepare_cached(
        "SELECT j.name, a.finished_at, a.job_id, a.number, a.outcome
         FROM attempts AS a INDEXED BY attempts_by_time CROSS JOIN jobs AS j ON j.id = a.job_id
         WHERE a.finished_at >= ?1 ORDER BY a.finished_at DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![since.0, MAX_ATTEMPTS])?;
    while let Some(row) = rows.next()? {
        let place = (Timestamp(row.get(1)?), row.get(2)?, row.get(3)?);
        names.entry(row.get(0)?).or_default().insert(place, outcome(row, 4)?);
    }
    Ok(names)
}

/// Adds older attempts, until there are as many as are given and a success is among them.
fn add_older(tx: &Connection, name: &str, attempts: &mut Attempts) -> Result<()> {
    // Newer jobs have not run: there may be a million of them.
    let newest_job = attempts.keys().map(|(_, job, _)| *job).max().unwrap_or(i64::MAX);
    let mut jobs = tx.prepare_cached(
        "SELECT id FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3",
    )?;
    let mut of_job = tx.prepare_cached(
        "SELECT finished_at, number, outcome FROM attempts WHERE job_id = ?1 ORDER BY number DESC LIMIT ?2",
    )?;
    let mut jobs = jobs.query(params![name, newest_job, MAX_JOBS])?;
    while attempts.len() < OUTCOMES || last_success(attempts).is_none() {
        let Some(job) = jobs.next()? else { break };
        let id = job.get(0)?;
        let mut rows = of_job.query(params![id, OUTCOMES])?;
        while let Some(row) = rows.next()? {
            attempts.insert((Timestamp(row.get(0)?), id, row.get(1)?), outcome(row, 2)?);
        }
    }
    Ok(())
}

fn last_success(attempts: &Attempts) -> Option<Timestamp> {
    let mut newest_first = attempts.iter().rev();
    newest_first.find(|(_, outcome)| **outcome == Outcome::Succeeded).map(|((at, ..), _)| *at)
}

fn outcome(row: &Row, column: usize) -> rusqlite::Result<Outcome> {
    let word: String = row.get(column)?;
    Ok(Outcome::parse(&word).unwrap_or(Outcome::Failed))
}
