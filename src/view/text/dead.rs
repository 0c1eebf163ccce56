//! `inspect dead`: dead letters by error code, with the commands that help. Jobs that died alike share a row.

use anyhow::Result;

use super::lists;
use super::query::Query;
use crate::cli::args::Global;
use crate::cli::definition::CurrentJobFile;
use crate::cli::status::{blocked_expiry_text, held_back_text};
use crate::model::{DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::place::runner;
use crate::store::{DeadGroup, DeadRow, Filter, JobRow};
use crate::text::{clock_time, counted, option, relative_time};
use crate::view::json::dead_letter_json;
use crate::view::terminal::{Column, Output, Style, Table, note_left_out};

/// A suggested command names at most this many ids.
const MAX_IDS: usize = 10;

/// How many rows each group may show, so that all groups together show at most `limit`. It is at least one.
fn share(groups: &[DeadGroup], limit: usize) -> usize {
    let rows = |share: usize| groups.iter().map(|group| group.rows.len().min(share)).sum::<usize>();
    let longest = groups.iter().map(|group| group.rows.len()).max().unwrap_or_default();
    (1..=longest).rev().find(|share| rows(*share) <= limit).unwrap_or(1)
}

/// The number of jobs that are in none of the rows that are shown.
fn count_older(group: &DeadGroup, share: usize) -> u64 {
    group.jobs - group.rows.iter().take(share).map(|row| row.jobs).sum::<u64>()
}

pub(super) fn show(out: &mut Output, global: &Global, query: &Query) -> Result<bool> {
    let Query { store, filter, limit, now } = query;
    let groups = store.dead_letters(filter, *limit, *now)?;
    let share = share(&groups, *limit);
    let present = CurrentJobFile::read(global);
    if groups.is_empty() {
        out.remark("no dead letters");
    }
    let mut left_out = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            out.line("");
        }
        for column in draw(out, query, present.as_ref(), group, share)? {
            if !left_out.contains(&column) {
                left_out.push(column);
            }
        }
    }
    if !left_out.is_empty() {
        out.line("");
        note_left_out(out, &left_out);
    }
    if !groups.is_empty() {
        out.line("");
        let resolve = runner("resolve", "ID");
        out.aside("", &format!("{resolve} takes off this list what was dealt with"));
    }
    if groups.iter().any(|group| count_older(group, share) > 0) {
        out.line(format!("at most {} of each code; --limit 0 shows all", counted(share, "row")));
    }
    Ok(!groups.is_empty())
}

/// Prints an object a dead letter. True if there is one.
pub(super) fn print_json(out: &mut Output, query: &Query) -> Result<bool> {
    let Query { store, filter, limit, now } = query;
    let mut any = false;
    for job in store.jobs(filter, *limit, *now)? {
        let job = job?;
        let last_output = store.output(job.id, job.attempts)?.last_line();
        out.object(&dead_letter_json(&job, last_output.as_deref()));
        any = true;
        if out.is_closed() {
            break;
        }
    }
    Ok(any)
}

/// Draws a group. Returns the columns that were left out.
fn draw(
    out: &mut Output,
    query: &Query,
    present: Option<&CurrentJobFile>,
    group: &DeadGroup,
    share: usize,
) -> Result<Vec<&'static str>> {
    let reason = match group.reasons.as_slice() {
        [reason] => format!(", {reason}"),
        _ => String::new(),
    };
    let heading = format!("{}: {}{reason}", group.error_code, counted(group.jobs, "job"));
    out.line(out.paint(Style::Strong, &heading));
    let left_out = draw_rows(out, query, group, share)?;
    for row in group.rows.iter().take(share) {
        for line in [held_back_line(query, row)?, recovered_line(query, row)?].into_iter().flatten() {
            out.prose("  ", &line);
        }
    }
    let older = count_older(group, share);
    if older > 0 {
        out.aside("  ", &format!("… {} in older rows", counted(older, "job")));
    }
    // A job that was just pruned needs no advice.
    let newest = group.rows.first().map(|row| query.store.job(row.newest(), query.now)).transpose()?;
    if let Some(newest) = newest.flatten() {
        let differs = present.is_some_and(|present| !present.differing_keys(&newest).is_empty());
        for (word, line) in advice(group, &newest, &query.filter, differs) {
            out.prose(&format!("  {word:<7} "), &line);
        }
    }
    Ok(left_out)
}

/// Says which jobs wait for the jobs of this row: `job 1 holds back 2 jobs: load, report`; none if none does.
fn held_back_line(query: &Query, row: &DeadRow) -> Result<Option<String>> {
    let held_back = held_back_text(&query.store.held_back(&row.waited_for)?);
    let mut ids = row.waited_for.clone();
    ids.sort_unstable();
    let who = match ids.as_slice() {
        [id] => format!("job {id} holds"),
        ids if ids.len() <= MAX_IDS => {
            let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
            format!("jobs {} hold", ids.join(", "))
        }
        ids => format!("{} of {} hold", counted(ids.len(), "job"), row.name),
    };
    Ok(held_back.map(|jobs| format!("{who} back {jobs}")))
}

/// Says which of the newest jobs of this row need no replay: `job 1: a later run succeeded`; none if all may need one.
fn recovered_line(query: &Query, row: &DeadRow) -> Result<Option<String>> {
    let mut ids = Vec::new();
    for id in &row.ids {
        if query.store.has_recovered(*id)? {
            ids.push(*id);
        }
    }
    ids.sort_unstable();
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    Ok(match ids.as_slice() {
        [] => None,
        [id] => Some(format!("job {id}: a later run succeeded")),
        ids => Some(format!("jobs {}: later runs succeeded", ids.join(", "))),
    })
}

fn draw_rows(out: &mut Output, query: &Query, group: &DeadGroup, share: usize) -> Result<Vec<&'static str>> {
    let Query { store, now, .. } = query;
    let rows = group.rows.iter().take(share);
    let any_fold = rows.clone().any(|row| row.jobs > 1);
    let mut table = Table::new()
        .column(Column::new("  id").right(), |(_, job): &(&DeadRow, JobRow)| format!("  {}", job.id))
        .column(Column::new("name").name(), |(row, _)| row.name.clone())
        .column(Column::label(), |(row, _)| row.shown_labels())
        .column_if(any_fold, Column::new("jobs").right(), |(row, _)| match row.jobs {
            1 => String::new(),
            jobs => format!("×{jobs}"),
        })
        .column(Column::new("runs").right().dropped(3), |(_, job)| lists::attempts_text(job))
        .column_if(any_fold, Column::new("first").dropped(2), |(row, _)| match row.jobs {
            1 => String::new(),
            _ => clock_time(row.first_death, *now),
        })
        .column_if(any_fold, Column::new("last"), |(row, _)| clock_time(row.last_death, *now))
        .column_if(!any_fold, Column::new("died"), |(row, _)| relative_time(row.last_death, *now))
        .column_if(group.reasons.len() > 1, Column::new("why").text().dropped(1), |(_, job)| {
            job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default()
        })
        .column(Column::new("what it said").text(), |(row, _)| row.last_words.clone());
    for row in rows {
        if let Some(job) = store.job(row.newest(), *now)? {
            table.row(&(row, job));
        }
    }
    Ok(table.print_rows(out))
}

/// Says what to do about a group: the log to look at, a fix, and the command that replays its jobs. Each line has a word
/// before it.
fn advice(group: &DeadGroup, newest: &JobRow, filter: &Filter, differs: bool) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if newest.attempts > 0 {
        lines.push(("look", runner("logs", newest.id)));
    }
    if let Some(why) = blocked_expiry_text(newest) {
        lines.push(("why", why));
    } else if let Some(fix) = fix(&group.error_code, newest) {
        lines.push(("fix", fix));
        if !newest.definition.ad_hoc && !differs {
            let kept = "(what is queued keeps its definition: after a change of the file, add --redefine)";
            lines.push(("", kept.to_owned()));
        }
    }
    let force = if newest.definition.policy.retryable { "" } else { " --force" };
    if let Some(selection) = selection(group, filter) {
        lines.push(("replay", runner("retry", format_args!("{selection}{force}"))));
        if differs {
            let redefine = runner("retry", format_args!("{selection}{force} --redefine"));
            lines.push(("", redefine + "   with the definition of the job file, which differs"));
        }
    }
    lines
}

/// The arguments that select exactly this group for `retry`: filters, or the ids if `retry` lacks a filter that was given here.
fn selection(group: &DeadGroup, filter: &Filter) -> Option<String> {
    let mut ids: Vec<i64> = group.rows.iter().flat_map(|row| row.ids.iter().copied()).collect();
    ids.sort_unstable();
    let Filter { queue: None, since: None, until: None, name, label, .. } = filter else {
        let is_all = group.jobs == ids.len() as u64 && ids.len() <= MAX_IDS;
        return is_all.then(|| joined(&ids));
    };
    if group.jobs == 1 {
        return Some(joined(&ids));
    }
    let name = name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
    let label = label.as_ref().map(|label| format!(" {}", option("--label", label))).unwrap_or_default();
    Some(format!("--dead --error-code {}{name}{label}", group.error_code))
}

/// Ids as a command takes them.
fn joined(ids: &[i64]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The usual remedy for this code or reason; none if there is none.
fn fix(code: &str, job: &JobRow) -> Option<String> {
    let name = &job.definition.name;
    let ad_hoc = job.definition.ad_hoc;
    Some(match (code, job.dead_reason?) {
        (TIMEOUT, _) => {
            let timeout = job.definition.timeout.map(|span| format!(" ({span})")).unwrap_or_default();
            if ad_hoc {
                format!("if it needs longer, enqueue it anew with a longer --timeout{timeout}")
            } else {
                format!("if it needs longer, raise timeout{timeout} of {name} in the job file")
            }
        }
        (SPAWN_FAILED, _) => {
            format!("{name} could not be started: check its program, its cwd and the worker's PATH")
        }
        ("EXIT_127", _) => {
            format!("a command of {name} was not found: check its spelling and the worker's PATH")
        }
        (code, DeadReason::CodeNotListed) if ad_hoc => {
            format!("enqueue it anew with --auto-retry-for {code} too if it is worth a retry")
        }
        (WORKER_CRASHED, DeadReason::CodeNotListed) => {
            format!("add \"WORKER_CRASHED\" to auto_retry_for of {name} if it may run again after a crash")
        }
        (_, DeadReason::CodeNotListed) => {
            format!("add \"{code}\" to auto_retry_for of {name} if it is worth a retry")
        }
        (_, DeadReason::Expired) if ad_hoc => {
            "enqueue it anew with a longer --expires-in, or start a worker in time".to_owned()
        }
        (_, DeadReason::Expired) => format!("raise expires_in of {name}, or start a worker in time"),
        _ => return None,
    })
}
