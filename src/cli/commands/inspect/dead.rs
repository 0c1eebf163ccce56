//! Dead letters, grouped by error code, jobs that died alike in one row, with the commands that help each group.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;

use super::lists;
use super::query::Query;
use crate::cli::output::{Column, Output, Style, Table, note_left_out};
use crate::model::{DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::store::{DeadLetter, Filter, JobRow};
use crate::text::{Timestamp, clock_time, counted, relative_time};

/// All dead letters, folded.
#[derive(Default)]
struct Folded {
    /// By error code.
    groups: BTreeMap<String, Group>,
    /// Over all groups.
    rows: usize,
    /// There were more rows than the limit.
    more: bool,
}

#[derive(Default)]
struct Group {
    jobs: u64,
    newest: i64,
    /// By name and last words.
    rows: BTreeMap<(String, String), Fold>,
}

/// Jobs of one name that died with the same last words.
struct Fold {
    jobs: u64,
    newest: i64,
    first: Timestamp,
    last: Timestamp,
}

impl Folded {
    /// Counts a letter. The newest come first: once there are `limit` rows, a letter that fits in none of them is older.
    fn add(&mut self, letter: DeadLetter, limit: usize) {
        let DeadLetter { id, died_at, name, error_code, last_words } = letter;
        let group = self.groups.entry(error_code).or_insert_with(|| Group { newest: id, ..Group::default() });
        group.jobs += 1;
        match group.rows.entry((name, last_words)) {
            Entry::Occupied(fold) => {
                let fold = fold.into_mut();
                fold.jobs += 1;
                fold.first = died_at;
            }
            Entry::Vacant(row) if self.rows < limit => {
                self.rows += 1;
                row.insert(Fold { jobs: 1, newest: id, first: died_at, last: died_at });
            }
            Entry::Vacant(_) => self.more = true,
        }
    }
}

/// Shows every group, and in them the newest rows.
pub(super) fn show(out: &mut Output, query: &Query) -> Result<bool> {
    if out.json {
        return lists::jobs_as_json(out, query);
    }
    let Query { store, filter, limit, now } = query;
    let mut folded = Folded::default();
    store.for_each_dead_letter(filter, *now, |letter| folded.add(letter, *limit))?;
    let Folded { groups, rows, more } = folded;
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.jobs));
    if groups.is_empty() {
        out.remark("no dead letters")?;
    }
    let mut left_out = Vec::new();
    for (index, (code, group)) in groups.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        for column in draw(out, query, code, group)? {
            if !left_out.contains(&column) {
                left_out.push(column);
            }
        }
    }
    if !left_out.is_empty() {
        out.line("")?;
        note_left_out(out, &left_out)?;
    }
    if !groups.is_empty() {
        out.line("")?;
        out.aside("", "runner resolve ID takes off this list what was dealt with")?;
    }
    if more {
        out.line(format!("the newest {}; --limit 0 shows all", counted(rows, "row")))?;
    }
    Ok(!groups.is_empty())
}

/// Draws a group. Gives the columns that found no room.
fn draw(out: &mut Output, query: &Query, code: &str, group: &Group) -> Result<Vec<&'static str>> {
    let heading = format!("{code}: {}", counted(group.jobs, "job"));
    out.line(out.paint(Style::Strong, &heading))?;
    let left_out = if group.rows.is_empty() { Vec::new() } else { draw_rows(out, query, group)? };
    let older = group.jobs - group.rows.values().map(|fold| fold.jobs).sum::<u64>();
    if older > 0 {
        out.aside("  ", &format!("… {} in older rows", counted(older, "job")))?;
    }
    // A job that was just pruned needs no advice.
    if let Some(newest) = query.store.job(group.newest, query.now)? {
        for (word, line) in advice(code, group, &newest, &query.filter) {
            out.prose(&format!("  {word:<7} "), &line)?;
        }
    }
    Ok(left_out)
}

fn draw_rows(out: &mut Output, query: &Query, group: &Group) -> Result<Vec<&'static str>> {
    let mut rows: Vec<_> = group.rows.iter().collect();
    rows.sort_by_key(|(_, fold)| Reverse((fold.last, fold.newest)));
    let any_fold = rows.iter().any(|(_, fold)| fold.jobs > 1);
    let mut table = Table::new(&columns(any_fold));
    for ((name, last_words), fold) in rows {
        let Some(job) = query.store.job(fold.newest, query.now)? else { continue };
        let mut row = vec![format!("  {}", job.id), name.clone()];
        if any_fold {
            let clock = |at| clock_time(at, query.now);
            let several = fold.jobs > 1;
            let (times, first) =
                if several { (format!("×{}", fold.jobs), clock(fold.first)) } else { Default::default() };
            row.extend([times, lists::runs(&job), first, clock(fold.last)]);
        } else {
            row.extend([lists::runs(&job), relative_time(fold.last, query.now)]);
        }
        row.push(job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default());
        row.push(last_words.clone());
        table.row(row);
    }
    table.print_rows(out)
}

fn columns(any_fold: bool) -> Vec<Column> {
    let mut columns = vec![Column::new("  id").right(), Column::new("name").name()];
    let runs = Column::new("runs").right();
    if any_fold {
        let first = Column::new("first").dropped(2);
        columns.extend([Column::new("jobs").right(), runs, first, Column::new("last")]);
    } else {
        columns.extend([runs, Column::new("died")]);
    }
    columns.extend([Column::new("why").text().dropped(1), Column::new("what it said").text()]);
    columns
}

/// Lines of advice, each after a word: the log to look at, the fix, the command that replays.
fn advice(code: &str, group: &Group, newest: &JobRow, filter: &Filter) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if newest.attempts > 0 {
        lines.push(("look", format!("runner logs {}", newest.id)));
    }
    if let Some(fix) = fix(code, newest) {
        lines.push(("fix", fix));
        let kept = "(what is queued keeps its definition: after a change of the file, add --redefine)";
        lines.push(("", kept.to_owned()));
    }
    let force = if newest.spec.policy.retryable { "" } else { " --force" };
    if let Some(selection) = selection(code, group, filter) {
        lines.push(("replay", format!("runner retry {selection}{force}")));
    }
    lines
}

/// Selects exactly this group for `retry`: by filters, or by a few ids where `retry` has no such filter.
fn selection(code: &str, group: &Group, filter: &Filter) -> Option<String> {
    const MAX_IDS: usize = 10;
    let ids = group.rows.values().map(|fold| fold.newest);
    let Filter { queue: None, since: None, until: None, name, .. } = filter else {
        let all = group.jobs == ids.len() as u64 && ids.len() <= MAX_IDS;
        return all.then(|| ids.map(|id| id.to_string()).collect::<Vec<_>>().join(" "));
    };
    if group.jobs == 1 {
        return Some(group.newest.to_string());
    }
    let name = name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
    Some(format!("--dead --error-code {code}{name}"))
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
