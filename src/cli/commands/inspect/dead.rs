//! Dead letters, grouped by error code, with the command that helps each group.

use std::collections::BTreeMap;

use anyhow::Result;

use super::job::last_words;
use super::lists;
use crate::cli::output::{Column, JobJson, Output, Style, Table, note_left_out};
use crate::model::{DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::store::{JobFilter, JobRow, Store};
use crate::text::{Timestamp, relative_time, safe_line};

/// Lists them.
pub(super) fn show(
    out: &mut Output,
    store: &mut Store,
    filter: &JobFilter,
    limit: usize,
    now: Timestamp,
) -> Result<bool> {
    let mut groups: BTreeMap<String, Vec<JobRow>> = BTreeMap::new();
    let json = out.json;
    let (shown, more) = lists::each_job(store, filter, limit, now, |job| {
        if json {
            out.object(&JobJson::new(job))?;
            return Ok(!out.is_closed());
        }
        let code = job.error_code.as_ref().map(ToString::to_string).unwrap_or_default();
        groups.entry(code).or_default().push(job.clone());
        Ok(true)
    })?;
    if json {
        return Ok(shown > 0);
    }
    if shown == 0 {
        out.remark("no dead letters")?;
        return Ok(false);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, jobs)| std::cmp::Reverse(jobs.len()));
    let mut left_out = Vec::new();
    for (index, (code, jobs)) in groups.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        for column in group(out, store, code, jobs, all_of(filter, more), now)? {
            if !left_out.contains(&column) {
                left_out.push(column);
            }
        }
    }
    if !left_out.is_empty() {
        out.line("")?;
        note_left_out(out, &left_out)?;
    }
    if more {
        out.line(format!("the newest {shown}; --limit 0 shows all"))?;
    }
    Ok(true)
}

fn group(
    out: &mut Output,
    store: &mut Store,
    code: &str,
    jobs: &[JobRow],
    all: All,
    now: Timestamp,
) -> Result<Vec<&'static str>> {
    let plural = if jobs.len() == 1 { "job" } else { "jobs" };
    let heading = format!("{code}: {} {plural}", jobs.len());
    out.line(out.paint(Style::Strong, &heading))?;
    let mut table = Table::new(&[
        Column::new("  id").right(),
        Column::new("name").name(),
        Column::new("runs").right(),
        Column::new("died"),
        Column::new("why").text().dropped(1),
        Column::new("what it said").text(),
    ]);
    for job in jobs {
        table.row(vec![
            format!("  {}", job.id),
            job.spec.name.clone(),
            format!("{}/{}", job.budget_used, job.spec.policy.runs()),
            relative_time(job.changed_at, now),
            job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default(),
            what_it_said(store, job)?,
        ]);
    }
    let left_out = table.print_rows(out)?;
    for (word, line) in advice(code, jobs, all) {
        out.prose(&format!("  {word:<7} "), &line)?;
    }
    Ok(left_out)
}

/// What is known of its last failure: the message, else the last line that it wrote to standard error.
fn what_it_said(store: &mut Store, job: &JobRow) -> Result<String> {
    if let Some(message) = &job.last_message {
        return Ok(safe_line(message));
    }
    let (_, mut lines) = last_words(&store.output(job.id, job.attempts)?, 1);
    Ok(lines.pop().unwrap_or_default())
}

/// What to look at, what to change, what to type, each with a word for it: for a group of jobs with the same code.
fn advice(code: &str, jobs: &[JobRow], all: All) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let Some(newest) = jobs.first() else { return lines };
    if newest.attempts > 0 {
        lines.push(("look", format!("runner logs {}", newest.id)));
    }
    if let Some(fix) = fix(code, newest) {
        lines.push(("fix", fix));
        let kept = "(what is queued keeps its definition: after a change of the file, enqueue it anew)";
        lines.push(("", kept.to_owned()));
    }
    let once = jobs.iter().filter(|job| !job.spec.policy.retryable).count();
    let force = if once == jobs.len() { " --force" } else { "" };
    lines.push(("replay", format!("runner retry {}{force}", selection(code, jobs, all))));
    if once > 0 && once < jobs.len() {
        lines.push(("", format!("{once} of these: retryable = false, only with --force")));
    }
    lines
}

/// The filters that `retry --dead` has too, if the list shows all that they select.
type All<'a> = Option<Option<&'a String>>;

fn all_of(filter: &JobFilter, cut: bool) -> All<'_> {
    (!cut && filter.queue.is_none() && filter.since.is_none()).then_some(filter.name.as_ref())
}

/// What selects exactly these jobs for `retry`.
fn selection(code: &str, jobs: &[JobRow], all: All) -> String {
    match all {
        Some(name) if jobs.len() > 1 => {
            let name = name.map(|name| format!(" --name {name}")).unwrap_or_default();
            format!("--dead --error-code {code}{name}")
        }
        _ => jobs.iter().map(|job| job.id.to_string()).collect::<Vec<_>>().join(" "),
    }
}

/// The change in the job file that would have helped, where there is a typical one.
fn fix(code: &str, job: &JobRow) -> Option<String> {
    let name = &job.spec.name;
    Some(match (code, job.dead_reason?) {
        (TIMEOUT, _) => {
            let timeout = job.spec.timeout.map(|span| format!(" ({span})")).unwrap_or_default();
            format!("if it needs longer, raise timeout{timeout} of {name} in the job file")
        }
        (SPAWN_FAILED, _) => {
            format!("{name} could not be started: check its program, its cwd and the worker's PATH")
        }
        (WORKER_CRASHED, DeadReason::CodeNotListed) => {
            format!("add \"WORKER_CRASHED\" to auto_retry_for of {name} if it may run again after a crash")
        }
        (_, DeadReason::CodeNotListed) => {
            format!("add \"{code}\" to auto_retry_for of {name} if it is worth a retry")
        }
        (_, DeadReason::Expired) => format!("raise expires_in of {name}, or start a worker in time"),
        _ => return None,
    })
}
