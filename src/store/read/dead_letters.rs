//! Dead letters in groups: jobs of one name that died with the same code and the same message are one row.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params_from_iter};

use super::filter::Filter;
use crate::model::DeadReason;
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::each;
use crate::store::write::same_work::task;
use crate::store::write::{definition, outputs};
use crate::text::{Timestamp, last_said, safe_line};

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
    /// The rows of the newest deaths, newest first.
    pub rows: Vec<DeadRow>,
}

/// Jobs of one name that died with the same code and the same last words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadRow {
    pub name: String,
    /// The labels that tell apart the jobs of `ids` (see [`crate::model::JobDefinition::shown_label`]), each once, in their order.
    pub labels: Vec<String>,
    /// The message of the last attempt, else the last line that it wrote (see [`crate::model::AttemptOutput::last_line`]), made safe.
    pub last_words: String,
    pub jobs: u64,
    /// The ids of one to ten jobs, the one that died last first.
    pub ids: Vec<i64>,
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
        let columns = format!(
            ", j.name, coalesce(j.error_code, 'EXPIRED') AS error_code, {LAST_WORDS},
                       coalesce(j.dead_reason, 'expired') AS dead_reason,
                       j.label, j.args_nul, {} AS task, j.needs_version, d.definition, o.job_id IS NOT NULL AS has_output,
                       EXISTS (SELECT 1 FROM dependencies AS x JOIN jobs AS w ON w.id = x.job_id AND w.state = 'pending'
                               WHERE x.dependency_id = j.id AND x.kind = 'success' AND NOT x.met) AS is_waited_for",
            task("j")
        );
        let joins = format!("JOIN job_definitions AS d ON d.id = j.definition_id {LAST_RUN}");
        self.autocommit(|tx| {
            each(tx, &select(&columns, &joins, &wanted.sql), params_from_iter(&wanted.values), |row| {
                groups.entry(row.get("error_code")?).or_default().add(tx, row, limit)
            })
        })?;
        let named = |(error_code, DeadGroupBuilder { jobs, reasons, has_same_work, rows, .. })| DeadGroup {
            error_code,
            jobs,
            reasons,
            has_same_work,
            rows,
        };
        let mut groups: Vec<_> = groups.into_iter().map(named).collect();
        // The sort is stable: groups of the same size remain in the order of their codes.
        groups.sort_by_key(|group| std::cmp::Reverse(group.jobs));
        Ok(groups)
    }
}

/// A [`DeadGroup`] while its jobs are read.
#[derive(Default)]
struct DeadGroupBuilder {
    jobs: u64,
    reasons: Vec<DeadReason>,
    has_same_work: bool,
    /// The hashes of what the jobs do, as far as others may do the same.
    tasks: BTreeSet<i64>,
    rows: Vec<DeadRow>,
    /// The indexes of the rows, by name and last words.
    index: BTreeMap<(String, String), usize>,
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
        self.has_same_work |= task.is_some_and(|task| !self.tasks.insert(task));
        let waited_for = row.get::<_, bool>("is_waited_for")?.then_some(id);
        let key = (row.get("name")?, last_words(tx, row)?);
        if let Some(found) = self.index.get(&key).and_then(|index| self.rows.get_mut(*index)) {
            found.jobs += 1;
            found.first_death = died_at;
            found.waited_for.extend(waited_for);
            if found.ids.len() < MAX_IDS {
                found.ids.push(id);
                let label = shown_label(row)?.filter(|label| !found.labels.contains(label));
                found.labels.extend(label);
            }
        } else if self.rows.len() < limit {
            let (name, last_words) = key.clone();
            self.index.insert(key, self.rows.len());
            self.rows.push(DeadRow {
                name,
                labels: shown_label(row)?.into_iter().collect(),
                last_words,
                jobs: 1,
                ids: vec![id],
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

/// The columns that [`last_words`] takes of [`LAST_RUN`]: a stream alone, where that does for most outputs, because SQLite reads
/// the length of a stream without the stream.
pub const LAST_WORDS: &str = "a.message, o.job_id AS output_job, o.number AS output_number,
                              CASE WHEN a.message IS NOT NULL THEN NULL
                                   WHEN length(o.stderr) > 0 AND o.stderr_omitted = 0 THEN o.stderr
                                   WHEN o.stderr_omitted + o.stdout_omitted = 0 THEN o.stdout END AS stream";

/// The same for callers that want the message alone.
pub const MESSAGE_ALONE: &str = "a.message, NULL AS output_job, NULL AS output_number, NULL AS stream";

/// The last attempt of a job `j` that has ended, and its output.
pub const LAST_RUN: &str = "LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
                            LEFT JOIN outputs AS o ON o.job_id = j.id AND o.number = j.attempts";

/// The message of the last attempt, else the last line that it wrote, made safe.
pub fn last_words(tx: &Connection, row: &Row<'_>) -> Result<String> {
    if let Some(message) = row.get_ref("message")?.as_str_or_null()? {
        return Ok(safe_line(message));
    }
    let of_stream = row.get_ref("stream")?.as_blob_or_null()?.and_then(last_said);
    let last_line = match (of_stream, row.get("output_job")?) {
        (None, Some(job)) => outputs::of(tx, job, row.get("output_number")?)?.last_line(),
        (of_stream, _) => of_stream,
    };
    Ok(last_line.as_deref().map(safe_line).unwrap_or_default())
}

/// A query of the dead jobs, the last death first: gives `time` and `id`, and these columns of `jobs AS j` and these joins.
/// `?1` is now, because a job whose expiry nobody has recorded is dead, too.
pub fn select(columns: &str, joins: &str, wanted: &str) -> String {
    let select = |index: &str, is_dead: &str, died_at: &str| {
        format!(
            "SELECT {died_at} AS time, j.id AS id {columns} FROM jobs AS j INDEXED BY {index} {joins} WHERE {is_dead} AND {wanted}"
        )
    };
    let recorded = select("jobs_finished", "j.state = 'dead'", "j.changed_at");
    let expired = "j.state = 'pending' AND j.expires_at IS NOT NULL AND j.expires_at <= ?1";
    let unrecorded = select("jobs_expiring", expired, "j.expires_at");
    format!("{recorded} UNION ALL {unrecorded} ORDER BY time DESC, id DESC")
}
