//! What the page of `inspect --html` shows beside attempts: deaths with their last words, and how the jobs of each name ended
//! day by day.

use std::collections::BTreeMap;

use rusqlite::{params, params_from_iter};

use super::deaths::dead_job::{LAST_RUN, LAST_WORDS, last_words};
use super::filter::Filter;
use crate::model::JobState;
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{each, find, maybe, one, value};
use crate::store::write::conditions::has_expired;
use crate::store::write::definition;
use crate::text::Timestamp;

/// How a job died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    pub job_id: i64,
    /// The number of its last attempt; 0 if it never ran.
    pub number: u32,
    /// See [`crate::model::JobDefinition::shown_label`].
    pub label: Option<String>,
    pub error_code: String,
    /// The message of the last attempt, else the last line that it wrote.
    pub last_words: String,
}

/// How many jobs of a schedule are in which state, of those whose times were on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DayCounts {
    pub succeeded: usize,
    /// The succeeded ones that had a warning.
    pub warned: usize,
    pub dead: usize,
    pub cancelled: usize,
    pub unfinished: usize,
}

impl DayCounts {
    fn add(&mut self, state: JobState, is_warned: bool) {
        self.warned += usize::from(is_warned);
        *match state {
            JobState::Succeeded => &mut self.succeeded,
            JobState::Dead => &mut self.dead,
            JobState::Cancelled => &mut self.cancelled,
            JobState::Pending | JobState::Running => &mut self.unfinished,
        } += 1;
    }
}

/// How the jobs of a schedule went, by the days of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledDays {
    pub days: Vec<DayCounts>,
    /// From when on all of them are known: the first that is left, where jobs of the name were removed.
    pub known_since: Option<Timestamp>,
}

impl Store {
    /// How these jobs died, in the order of the ids. One that is gone is left out.
    pub fn deaths(&self, ids: &[i64]) -> Result<Vec<Death>> {
        let sql = format!(
            "SELECT j.id, j.attempts, j.label, j.args_nul, j.needs_version, d.definition,
                    coalesce(j.error_code, 'EXPIRED') AS error_code, {LAST_WORDS}
             FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id {LAST_RUN} WHERE j.id = ?1"
        );
        self.autocommit(|tx| {
            let mut deaths = Vec::new();
            for id in ids {
                deaths.extend(maybe(tx, &sql, [id], |row| {
                    Ok(Death {
                        job_id: row.get("id")?,
                        number: row.get("attempts")?,
                        label: definition::shown_label(row, &definition::read(row, "definition")?)?,
                        error_code: row.get("error_code")?,
                        last_words: last_words(tx, row)?,
                    })
                })?);
            }
            Ok(deaths)
        })
    }

    /// When the first of the dead letters of this name died that nobody resolved; with a path, of those of this job file.
    pub fn first_unresolved_death(&self, name: &str, file: Option<&str>) -> Result<Option<Timestamp>> {
        let sql = "SELECT min(changed_at) FROM jobs INDEXED BY jobs_unresolved
                   WHERE state = 'dead' AND resolved_at IS NULL AND name = ?1
                     AND (?2 IS NULL OR job_file = (SELECT id FROM job_files WHERE path = ?2))";
        self.autocommit(|tx| one(tx, sql, params![name, file], value))
    }

    /// The number of dead letters that nobody resolved. Of the filter, only name, label and queue matter.
    pub fn count_unresolved(&self, filter: &Filter, now: Timestamp) -> Result<u64> {
        let filter = Filter { since: None, until: None, states: Vec::new(), ..filter.clone() };
        let wanted = filter.conditions(now);
        let count = |index: &str, condition: &str| {
            let sql = format!(
                "SELECT count(*) FROM jobs AS j INDEXED BY {index} WHERE {condition} AND {}",
                wanted.sql
            );
            self.autocommit(|tx| one(tx, &sql, params_from_iter(&wanted.values), value::<u64>))
        };
        Ok(count("jobs_unresolved", "j.state = 'dead' AND j.resolved_at IS NULL")?
            + count("jobs_expiring", &has_expired("j", "?1"))?)
    }

    /// How the jobs of these schedules went whose times were on the days that begin at these times, by name.
    pub fn scheduled_days(
        &self,
        names: &[&str],
        days: &[Timestamp],
        now: Timestamp,
    ) -> Result<BTreeMap<String, ScheduledDays>> {
        let none = ScheduledDays { days: vec![DayCounts::default(); days.len()], known_since: None };
        let mut found: BTreeMap<String, ScheduledDays> = BTreeMap::new();
        let begin = days.first().copied().unwrap_or(now);
        // From the newest job of the name back. Of a job that was replaced by another the other one counts, which is for the same time.
        let sql = &format!(
            "SELECT iif({}, 'dead', state) AS state, scheduled_for, enqueued_at, replaced_by IS NOT NULL AS is_replaced,
                    warning IS NOT NULL AS is_warned
             FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 ORDER BY id DESC",
            has_expired("jobs", "?2")
        );
        // The first job of the days that `prune` would remove: earlier ones may have been removed.
        let mut first: BTreeMap<String, Timestamp> = BTreeMap::new();
        self.autocommit(|tx| {
            for name in names {
                let mut counts = none.clone();
                find(tx, sql, params![name, now], |row| {
                    if row.get::<_, Timestamp>("enqueued_at")? < begin {
                        return Ok(Some(()));
                    }
                    let scheduled_for: Option<Timestamp> = row.get("scheduled_for")?;
                    let Some(at) = scheduled_for.filter(|at| *at >= begin) else { return Ok(None) };
                    if row.get("is_replaced")? {
                        return Ok(None);
                    }
                    let state: JobState = row.get("state")?;
                    if matches!(state, JobState::Succeeded | JobState::Cancelled) {
                        let earliest = first.entry((*name).to_owned()).or_insert(at);
                        *earliest = at.min(*earliest);
                    }
                    let day = days.partition_point(|begin| *begin <= at).saturating_sub(1);
                    if let Some(counts) = counts.days.get_mut(day) {
                        counts.add(state, row.get("is_warned")?);
                    }
                    Ok(None)
                })?;
                found.insert((*name).to_owned(), counts);
            }
            let names = serde_json::json!(names).to_string();
            let removed =
                "SELECT DISTINCT name FROM removed_attempts WHERE name IN (SELECT value FROM json_each(?1))";
            each(tx, removed, [&names], |row| {
                let name: String = row.get("name")?;
                let known_since = first.get(&name).copied().unwrap_or(Timestamp(i64::MAX));
                found.entry(name).or_insert_with(|| none.clone()).known_since = Some(known_since);
                Ok(())
            })
        })?;
        Ok(found)
    }
}
