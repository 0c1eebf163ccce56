//! Lists of jobs and attempts, newest first.

use anyhow::Result;
use serde_json::Value;

use super::attempt::exit_text;
use super::query::Query;
use crate::cli::locate;
use crate::cli::output::{Column, Output, Table, Written, attempt_json, job_json};
use crate::model::{ErrorCode, decision_text};
use crate::store::{self, AttemptRow, JobRow};
use crate::text::{human_duration, relative_time, safe_line};

/// Rows read at once: a long read would hold up a checkpoint.
const PAGE: usize = 500;

/// How a list ended.
#[derive(Clone, Copy, Debug)]
struct Listed {
    rows: usize,
    /// The limit cut the list.
    more: bool,
}

impl Listed {
    /// Prints the rows, or `nothing` where there is none; not with `--json`. True if there is a row.
    fn print(self, out: &mut Output, table: &Table, nothing: &str) -> Result<bool> {
        if self.rows == 0 && !out.json {
            out.remark(nothing)?;
        } else if !out.json {
            table.print(out)?;
            if self.more {
                out.line(format!("the newest {}; --limit 0 shows all", self.rows))?;
            }
        }
        Ok(self.rows > 0)
    }
}

/// Shows a list that is read whole: as JSON, as a screen, or `nothing` where there is no row. True if there is a row.
pub(super) fn show_whole<T>(
    out: &mut Output,
    rows: &[T],
    json: fn(&T) -> Value,
    nothing: &str,
    draw: impl FnOnce(&mut Output, &[T]) -> Result<()>,
) -> Result<bool> {
    if out.json {
        rows.iter().try_for_each(|row| out.object(&json(row)))?;
    } else if rows.is_empty() {
        out.remark(nothing)?;
    } else {
        draw(out, rows)?;
    }
    Ok(!rows.is_empty())
}

/// Hands each row on, up to `limit`, while there is a reader. `read` takes where a page begins and its length.
fn for_each<T, C>(
    out: &mut Output,
    limit: usize,
    read: impl Fn(Option<C>, usize) -> store::Result<(Vec<T>, Option<C>)>,
    mut each: impl FnMut(&mut Output, T) -> Written,
) -> Result<Listed> {
    let (mut last, mut rows) = (None, 0);
    loop {
        // One row more than is shown tells whether the limit cuts the list.
        let (page, next) = read(last, PAGE.min((limit - rows).saturating_add(1)))?;
        for row in page {
            if rows == limit {
                return Ok(Listed { rows, more: true });
            }
            rows += 1;
            each(out, row)?;
        }
        if next.is_none() || out.is_closed() {
            return Ok(Listed { rows, more: false });
        }
        last = next;
    }
}

/// Hands each job on, or prints it as JSON.
fn for_each_job(out: &mut Output, query: &Query, mut each: impl FnMut(JobRow) -> Written) -> Result<Listed> {
    let Query { store, filter, limit, now } = query;
    let read = |last, length| store.jobs_page(filter, last, length, *now);
    for_each(out, *limit, read, |out, mut job| {
        locate::add_start(store, &mut job);
        if out.json { out.object(&job_json(&job)) } else { each(job) }
    })
}

/// Prints each job as JSON.
pub(super) fn jobs_as_json(out: &mut Output, query: &Query) -> Result<bool> {
    Ok(for_each_job(out, query, |_| Ok(()))?.rows > 0)
}

pub(super) fn jobs(out: &mut Output, query: &Query) -> Result<bool> {
    let mut table = Table::new(&[
        Column::new("id").right(),
        Column::new("name").name(),
        Column::new("queue").name().dropped(1),
        Column::new("state").status(),
        Column::new("runs").right(),
        Column::new("when"),
        Column::new("what").text().dropped(2),
    ]);
    let listed = for_each_job(out, query, |job| {
        table.row(vec![
            job.id.to_string(),
            job.spec.name.clone(),
            job.spec.queue.clone(),
            job.status().to_owned(),
            runs(&job),
            relative_time(if job.phase.is_some() { job.run_at } else { job.changed_at }, query.now),
            what_happened(&job),
        ]);
        Ok(())
    })?;
    listed.print(out, &table, "no jobs")
}

pub(super) fn runs(job: &JobRow) -> String {
    format!("{}/{}", job.last_of_budget(), job.spec.policy.runs())
}

/// The code and the message of its last failure, and why it is dead.
fn what_happened(job: &JobRow) -> String {
    let code = job.error_code.as_ref().or(job.last_error_code.as_ref()).map(ToString::to_string);
    let reason = job.dead_reason.map(|reason| reason.to_string());
    let message = job.last_message.as_deref().map(safe_line);
    let resolved = job.resolved_at.map(|_| "resolved".to_owned());
    [resolved, code, message, reason].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn attempts(out: &mut Output, query: &Query) -> Result<bool> {
    let mut table = Table::new(&[
        Column::new("attempt"),
        Column::new("name").name(),
        Column::new("outcome").status(),
        Column::new("ended").dropped(1),
        Column::new("took").right().dropped(2),
        Column::new("when"),
        Column::new("decision").text().dropped(3),
    ]);
    let read = |last, length| query.store.attempts_page(&query.filter, last, length);
    let listed = for_each(out, query.limit, read, |out, AttemptRow { attempt, name, runs }| {
        if out.json {
            return out.object(&attempt_json(&name, &attempt, runs));
        }
        table.row(vec![
            format!("{}.{}", attempt.job_id, attempt.number),
            name,
            attempt.outcome.to_string(),
            exit_text(&attempt).unwrap_or_default(),
            attempt.duration.map(human_duration).unwrap_or_default(),
            relative_time(attempt.finished_at, query.now),
            decision_text(&attempt, runs),
        ]);
        Ok(())
    })?;
    listed.print(out, &table, "no attempts have ended")
}

/// Dead letters that were dealt with, and how.
pub(super) fn resolved(out: &mut Output, query: &Query) -> Result<bool> {
    let mut table = Table::new(&[
        Column::new("id").right(),
        Column::new("name").name(),
        Column::new("runs").right(),
        Column::new("died").dropped(1),
        Column::new("resolved"),
        Column::new("code").dropped(2),
        // The end of `replaced by job 8` matters.
        Column::new("how").name(),
    ]);
    let listed = for_each_job(out, query, |job| {
        table.row(vec![
            job.id.to_string(),
            job.spec.name.clone(),
            runs(&job),
            relative_time(job.changed_at, query.now),
            job.resolved_at.map(|at| relative_time(at, query.now)).unwrap_or_default(),
            job.error_code.as_ref().map(ErrorCode::to_string).unwrap_or_default(),
            job.resolution.as_deref().map(safe_line).unwrap_or_default(),
        ]);
        Ok(())
    })?;
    listed.print(out, &table, "no dead letter was resolved")
}
