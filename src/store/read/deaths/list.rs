//! Dead letters in groups: jobs of one name that died with the same code and the same message are one row.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params_from_iter};

use super::dead_job::{IS_WAITED_FOR, LAST_RUN, LAST_WORDS, has_recovered, last_words, select};
use crate::model::DeadReason;
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{each, one, value};
use crate::store::read::filter::Filter;
use crate::store::write::definition;
use crate::store::write::same_work::task;
use crate::text::Timestamp;

/// How many ids a row keeps; few enough to name them all in a suggested command.
const MAX_IDS: usize = 10;

/// The dead jobs of one error code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    pub error_code: String,
    pub jobs: u64,
    /// Why these jobs died, each reason once.
    pub reasons: Vec<DeadReason>,
    /// Two of the jobs or more do the same, so that one run does for them.
    pub has_same_work: bool,
    /// How many of these jobs a later run has made good, and the ids of one to ten of them, the one that died last first.
    pub recovered: u64,
    pub recovered_ids: Vec<i64>,
    /// The rows of the newest deaths, newest first.
    pub rows: Vec<DeadRow>,
}

/// Jobs of one name and job file that died with the same code and the same last words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadRow {
    pub name: String,
    /// The job file that declares them; none if it is not known, and of ad hoc jobs.
    pub file: Option<String>,
    /// The labels that tell apart the jobs of `ids` (see [`crate::model::JobDefinition::shown_label`]), each once, in their order.
    pub labels: Vec<String>,
    /// The message of the last attempt, else the last line that it wrote (see [`crate::model::AttemptOutput::last_line`]), made safe.
    pub last_words: String,
    pub jobs: u64,
    /// The ids of one to ten jobs, the one that died last first.
    pub ids: Vec<i64>,
    /// Those of `ids` that a later run has made good.
    pub recovered: Vec<i64>,
    /// The ids of the jobs that other jobs wait for, the one that died last first. See [`Store::held_back`].
    pub waited_for: Vec<i64>,
    pub first_death: Timestamp,
    pub last_death: Timestamp,
    /// The job that died last wrote something in its last attempt.
    pub has_output: bool,
}

impl DeadRow {
    /// The labels in one line: `a, b, …`.
    pub fn shown_labels(&self) -> String {
        let more = if self.all_ids().is_none() && self.labels.len() > 1 { ", …" } else { "" };
        self.labels.join(", ") + more
    }

    /// The job that died last.
    pub fn newest(&self) -> i64 {
        self.ids[0]
    }

    /// The ids of all jobs, if they are few.
    pub fn all_ids(&self) -> Option<&[i64]> {
        (self.jobs == self.ids.len() as u64).then_some(&self.ids)
    }
}

impl Store {
    /// The dead letters by error code, the code with the most jobs first, with the newest `limit` rows of each. Takes about
    /// a third of a second for 100 000.
    pub fn dead_letters(&self, filter: &Filter, limit: usize, now: Timestamp) -> Result<Vec<DeadGroup>> {
        let mut groups: BTreeMap<String, DeadGroupBuilder> = BTreeMap::new();
        let wanted = filter.conditions(now);
        let columns = |died_at: &str| {
            format!(
                ", j.name, coalesce(j.error_code, 'EXPIRED') AS error_code, {LAST_WORDS},
                   coalesce(j.dead_reason, 'expired') AS dead_reason, j.label, j.args_nul, j.needs_version, d.definition,
                   j.job_file, (SELECT path FROM job_files AS f WHERE f.id = j.job_file) AS file,
                   o.job_id IS NOT NULL AS has_output, {IS_WAITED_FOR} AS is_waited_for, {} AS task, {} AS has_recovered",
                task("j"),
                has_recovered(died_at)
            )
        };
        let joins = format!("JOIN job_definitions AS d ON d.id = j.definition_id {LAST_RUN}");
        self.autocommit(|tx| {
            each(tx, &select(columns, &joins, &wanted.sql), params_from_iter(&wanted.values), |row| {
                groups.entry(row.get("error_code")?).or_default().add(tx, row, limit)
            })
        })?;
        let named = |(error_code, builder): (String, DeadGroupBuilder)| {
            let DeadGroupBuilder { jobs, reasons, has_same_work, recovered, recovered_ids, rows, .. } =
                builder;
            DeadGroup { error_code, jobs, reasons, has_same_work, recovered, recovered_ids, rows }
        };
        let mut groups: Vec<_> = groups.into_iter().map(named).collect();
        // The sort is stable: groups of the same size remain in the order of their codes.
        groups.sort_by_key(|group| std::cmp::Reverse(group.jobs));
        Ok(groups)
    }

    /// The number of dead jobs that this filter would select if it asked for the resolved ones.
    pub fn count_resolved(&self, filter: &Filter, now: Timestamp) -> Result<u64> {
        let filter = Filter { resolved: Some(true), dead_by_time: false, ..filter.clone() };
        let wanted = filter.conditions(now);
        // The index has all that is asked of a million jobs where no name or label is wanted.
        let sql = format!(
            "SELECT count(*) FROM jobs AS j INDEXED BY jobs_dead WHERE j.state = 'dead' AND {}",
            wanted.sql
        );
        self.read(|tx| one(tx, &sql, params_from_iter(&wanted.values), value))
    }
}

/// A [`DeadGroup`] while its jobs are read.
#[derive(Default)]
struct DeadGroupBuilder {
    jobs: u64,
    reasons: Vec<DeadReason>,
    has_same_work: bool,
    recovered: u64,
    recovered_ids: Vec<i64>,
    /// The hashes of what the jobs do, as far as others may do the same, with their job files.
    tasks: BTreeSet<(i64, Option<i64>)>,
    rows: Vec<DeadRow>,
    /// The indexes of the rows, by name, job file and last words.
    index: BTreeMap<(String, Option<String>, String), usize>,
}

impl DeadGroupBuilder {
    /// Counts a dead job. The newest come first, so once there are `limit` rows, a job that is in none of them is older, and
    /// needs no row.
    fn add(&mut self, tx: &Connection, row: &Row<'_>, limit: usize) -> Result<()> {
        let (id, died_at) = (row.get("id")?, row.get("time")?);
        let reason = row.get("dead_reason")?;
        self.jobs += 1;
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
        let task: Option<i64> = row.get("task")?;
        let job_file: Option<i64> = row.get("job_file")?;
        self.has_same_work |= task.is_some_and(|task| !self.tasks.insert((task, job_file)));
        let waited_for = row.get::<_, bool>("is_waited_for")?.then_some(id);
        let recovered = row.get::<_, bool>("has_recovered")?.then_some(id);
        self.recovered += u64::from(recovered.is_some());
        if self.recovered_ids.len() < MAX_IDS {
            self.recovered_ids.extend(recovered);
        }
        let key = (row.get("name")?, row.get("file")?, last_words(tx, row)?);
        if let Some(found) = self.index.get(&key).and_then(|index| self.rows.get_mut(*index)) {
            found.jobs += 1;
            found.first_death = died_at;
            found.waited_for.extend(waited_for);
            if found.ids.len() < MAX_IDS {
                found.ids.push(id);
                found.recovered.extend(recovered);
                let label = shown_label(row)?.filter(|label| !found.labels.contains(label));
                found.labels.extend(label);
            }
        } else if self.rows.len() < limit {
            let (name, file, last_words) = key.clone();
            self.index.insert(key, self.rows.len());
            self.rows.push(DeadRow {
                name,
                file,
                labels: shown_label(row)?.into_iter().collect(),
                last_words,
                jobs: 1,
                ids: vec![id],
                recovered: recovered.into_iter().collect(),
                waited_for: waited_for.into_iter().collect(),
                first_death: died_at,
                last_death: died_at,
                has_output: row.get("has_output")?,
            });
        }
        Ok(())
    }
}

fn shown_label(row: &Row<'_>) -> Result<Option<String>> {
    definition::shown_label(row, &definition::read(row, "definition")?)
}
