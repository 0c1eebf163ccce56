//! Which jobs do the same work, and which success makes a death or a warning good. Whatever lets one job stand for another asks here.
//!
//! Two jobs do the same if they have the same name, label, arguments and job file. A job whose file is unknown, because a program
//! older than 1.2 enqueued it, does the same as any with its name, label and arguments. Some jobs are one of a kind: ad hoc jobs,
//! jobs with arguments and no label, and alerts, each of which tells of its own death.

use std::collections::HashSet;

use rusqlite::{Connection, Row};
use serde_json::json;

use super::conditions::expired_at;
use super::definition;
use super::insert::NewJob;
use crate::model::{Bytes, JobDefinition};
use crate::store::file::error::Result;
use crate::store::file::row::{all, value};

/// The hash of name, label and arguments of the job with this alias, as SQL; null if it is one of a kind.
pub fn task(job: &str) -> String {
    format!("iif({}, NULL, {job}.task_hash)", has_alert(&format!("{job}.definition_id")))
}

/// Whether a definition is that of an alert, as SQL. Programs older than 1.2 gave alerts a hash like others.
const IS_ALERT: &str = "instr(definition, '\"RUNNER_DEAD_JOB_ID\":')";

/// Whether one of these definitions is that of an alert, as SQL.
fn has_alert(definition_ids: &str) -> String {
    format!("EXISTS (SELECT 1 FROM job_definitions WHERE id IN ({definition_ids}) AND {IS_ALERT})")
}

/// Those of these definitions that are of alerts. For many jobs this is quicker than [`task`], because they share definitions.
pub fn alerts(tx: &Connection, definition_ids: &HashSet<i64>) -> Result<HashSet<i64>> {
    let sql = format!(
        "SELECT id FROM job_definitions WHERE id IN (SELECT value FROM json_each(?1)) AND {IS_ALERT}"
    );
    Ok(all(tx, &sql, [json!(definition_ids).to_string()], value)?.into_iter().collect())
}

/// Whether two job files, by their row ids, make two jobs of one name other work.
pub fn is_of_other_file(one: Option<i64>, other: Option<i64>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// Whether both files are the same, or one of them is unknown, as SQL.
pub fn is_same_file(one: &str, other: &str) -> String {
    format!("coalesce({one} = {other}, 1)")
}

/// A job that may do the work of one that is to be enqueued.
pub struct EarlierJob {
    definition: JobDefinition,
    args: Vec<Bytes>,
    label: Option<String>,
    job_file: Option<i64>,
    unique_key: Option<String>,
}

/// A query of what [`EarlierJob::read`] takes, and the id, without its conditions. `by` may name an index.
pub fn earlier_jobs(by: &str) -> String {
    format!(
        "SELECT j.id, j.args_nul, j.label, j.job_file, j.unique_key, j.needs_version, d.definition
         FROM jobs AS j {by} JOIN job_definitions AS d ON d.id = j.definition_id"
    )
}

impl EarlierJob {
    pub fn read(row: &Row<'_>) -> Result<Self> {
        let (definition, args) = (definition::read(row, "definition")?, definition::args(row)?);
        let (label, job_file, unique_key) = (row.get("label")?, row.get("job_file")?, row.get("unique_key")?);
        Ok(Self { definition, args, label, job_file, unique_key })
    }

    /// Whether it does the same work as a job that is to be enqueued.
    pub fn does_the_work_of(&self, wanted: &NewJob) -> bool {
        self.label == wanted.label && self.difference(wanted).is_none()
    }

    /// Whether it holds the key of this job, if that is no namesake of another file.
    pub fn has_the_key_of(&self, wanted: &NewJob) -> bool {
        self.unique_key.is_some()
            && self.unique_key == wanted.definition.unique_key
            && !self.is_namesake_of(wanted)
    }

    /// Whether it has the name of this job and comes from another file.
    pub fn is_namesake_of(&self, wanted: &NewJob) -> bool {
        self.definition.name == wanted.definition.name && is_of_other_file(self.job_file, wanted.job_file)
    }

    /// The difference that makes this other work than that of a job that is to be enqueued, but for the label. Whatever else the
    /// definitions say, the work is the same: a job file may be edited, and options say how the work is done.
    pub fn difference(&self, wanted: &NewJob) -> Option<&'static str> {
        let NewJob { definition, args, .. } = wanted;
        let ad_hoc = definition.ad_hoc;
        [
            (definition.name != self.definition.name, "another name"),
            (is_of_other_file(self.job_file, wanted.job_file), "another job file"),
            (*args != self.args, "other arguments"),
            (ad_hoc != self.definition.ad_hoc, "one of the two is ad hoc"),
            (ad_hoc && definition.command != self.definition.command, "another command"),
            (ad_hoc && definition.cwd != self.definition.cwd, "another directory"),
        ]
        .into_iter()
        .find_map(|(differs, words)| differs.then_some(words))
    }
}

/// Whether the success with this alias makes the job `j` good, as SQL, if neither is one of a kind. `ended_at` is the time at
/// which `j` ended, for one that never started.
///
/// The job that succeeded was enqueued after `j`, and its success came after the first start of `j`. So neither an earlier job that
/// ended or was retried late hides a death, nor one of an evening hides that of a job that is due at night; and a clock that was
/// wrong can only leave a death under needs attention that could go.
fn makes_good(success: &str, ended_at: &str) -> String {
    format!(
        "{success}.task_hash = j.task_hash AND {} AND {success}.id > j.id
         AND {success}.changed_at > coalesce(j.started_at, {ended_at})",
        is_same_file(&format!("{success}.job_file"), "j.job_file")
    )
}

/// The id of the newest success that makes the death of `j` good (see [`makes_good`]), as SQL; null if there is none. A success
/// with a warning does, too.
pub fn later_success(ended_at: &str) -> String {
    newest_success("1", ended_at)
}

/// The id of the newest success without a warning after which nobody need look at the warning of `j` any more, as SQL; null if
/// there is none.
pub fn later_success_without_warning() -> String {
    newest_success("s.warning IS NULL", "j.changed_at")
}

fn newest_success(condition: &str, ended_at: &str) -> String {
    format!(
        "(SELECT s.id FROM jobs AS s INDEXED BY jobs_succeeded WHERE s.state = 'succeeded' AND s.task_hash IS NOT NULL
            AND {condition} AND {} AND NOT {} ORDER BY s.changed_at DESC LIMIT 1)",
        makes_good("s", ended_at),
        // One look for both definitions, and only where there is a success.
        has_alert("s.definition_id, j.definition_id")
    )
}

/// The unresolved deaths, as SQL: a table `jobs AS j` and its conditions.
pub const UNRESOLVED: &str =
    "jobs AS j INDEXED BY jobs_unresolved WHERE j.state = 'dead' AND j.resolved_at IS NULL";

/// Whether a removal has to leave the succeeded job `jobs`, as SQL: one of these deaths of its work may be good only because of it.
/// A success that is newer in both senses of [`makes_good`] would do as well.
pub fn may_make_good(deaths: &[String]) -> String {
    let ended_at = format!("iif(j.state = 'pending', {}, j.changed_at)", expired_at("j"));
    let is_made_good = makes_good("jobs", &ended_at);
    let of_work = |deaths: &String| {
        format!(
            "EXISTS (SELECT 1 FROM {deaths} AND j.name = jobs.name AND j.label IS jobs.label AND {is_made_good})"
        )
    };
    // Most successes have a newer one, so that is asked first.
    format!(
        "(jobs.state = 'succeeded' AND jobs.task_hash IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM jobs AS s INDEXED BY jobs_succeeded
                          WHERE s.state = 'succeeded' AND s.task_hash IS NOT NULL AND s.task_hash = jobs.task_hash
                            AND s.changed_at >= jobs.changed_at AND s.id > jobs.id AND s.job_file IS jobs.job_file)
          AND ({}))",
        deaths.iter().map(of_work).collect::<Vec<_>>().join(" OR ")
    )
}
