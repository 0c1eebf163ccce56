//! Dead letters, grouped by error code, jobs that died alike in one row, with the commands that help each group.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;

use super::lists;
use super::query::Query;
use crate::cli::args::Global;
use crate::cli::output::{Column, Output, Style, Table, note_left_out};
use crate::cli::stale_definition::Present;
use crate::model::{DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::store::{DeadLetter, Filter, JobRow};
use crate::text::{Timestamp, clock_time, counted, relative_time};

/// Dead letters of one error code.
#[derive(Default)]
struct Group {
    jobs: u64,
    newest: i64,
    /// Each once.
    reasons: Vec<DeadReason>,
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

impl Group {
    /// Counts a letter. The newest come first: once there are `limit` rows, a letter that fits in none of them is older.
    fn add(&mut self, letter: DeadLetter, limit: usize) {
        let DeadLetter { id, died_at, name, last_words, reason, .. } = letter;
        self.jobs += 1;
        self.newest = self.newest.max(id);
        self.reasons.extend(reason.filter(|reason| !self.reasons.contains(reason)));
        let is_full = self.rows.len() >= limit;
        match self.rows.entry((name, last_words)) {
            Entry::Occupied(fold) => {
                let fold = fold.into_mut();
                fold.jobs += 1;
                fold.first = died_at;
            }
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(row) => {
                row.insert(Fold { jobs: 1, newest: id, first: died_at, last: died_at });
            }
        }
    }

    /// The newest rows.
    fn newest_rows(&self, limit: usize) -> Vec<(&(String, String), &Fold)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, fold)| Reverse((fold.last, fold.newest)));
        rows.truncate(limit);
        rows
    }

    /// The jobs that are in none of the newest rows.
    fn count_older(&self, limit: usize) -> u64 {
        self.jobs - self.newest_rows(limit).iter().map(|(_, fold)| fold.jobs).sum::<u64>()
    }
}

/// The rows that each group may show, at least one, so that there are no more than `limit` over all.
fn share(groups: &[(String, Group)], limit: usize) -> usize {
    let rows = |share: usize| groups.iter().map(|(_, group)| group.rows.len().min(share)).sum::<usize>();
    let longest = groups.iter().map(|(_, group)| group.rows.len()).max().unwrap_or_default();
    (1..=longest).rev().find(|share| rows(*share) <= limit).unwrap_or(1)
}

/// Shows every group, and in them the newest rows.
pub(super) fn show(out: &mut Output, global: &Global, query: &Query) -> Result<bool> {
    if out.json {
        return lists::jobs_as_json(out, query);
    }
    let Query { store, filter, limit, now } = query;
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    store.for_each_dead_letter(filter, *now, |letter| {
        groups.entry(letter.error_code.clone()).or_default().add(letter, *limit);
    })?;
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.jobs));
    let share = share(&groups, *limit);
    let present = Present::read(global);
    if groups.is_empty() {
        out.remark("no dead letters")?;
    }
    let mut left_out = Vec::new();
    for (index, (code, group)) in groups.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        for column in draw(out, query, present.as_ref(), (code, group), share)? {
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
    if groups.iter().any(|(_, group)| group.count_older(share) > 0) {
        out.line(format!("at most {} of each code; --limit 0 shows all", counted(share, "row")))?;
    }
    Ok(!groups.is_empty())
}

/// Draws a group. Gives the columns that found no room.
fn draw(
    out: &mut Output,
    query: &Query,
    present: Option<&Present>,
    (code, group): (&str, &Group),
    share: usize,
) -> Result<Vec<&'static str>> {
    let reason = match group.reasons.as_slice() {
        [reason] => format!(", {reason}"),
        _ => String::new(),
    };
    let heading = format!("{code}: {}{reason}", counted(group.jobs, "job"));
    out.line(out.paint(Style::Strong, &heading))?;
    let left_out = draw_rows(out, query, group, share)?;
    let older = group.count_older(share);
    if older > 0 {
        out.aside("  ", &format!("… {} in older rows", counted(older, "job")))?;
    }
    // A job that was just pruned needs no advice.
    if let Some(newest) = query.store.job(group.newest, query.now)? {
        let has_changed = present.is_some_and(|present| !present.changed_keys(&newest).is_empty());
        for (word, line) in advice(code, group, &newest, &query.filter, has_changed) {
            out.prose(&format!("  {word:<7} "), &line)?;
        }
    }
    Ok(left_out)
}

fn draw_rows(out: &mut Output, query: &Query, group: &Group, share: usize) -> Result<Vec<&'static str>> {
    let rows = group.newest_rows(share);
    let any_fold = rows.iter().any(|(_, fold)| fold.jobs > 1);
    let differ = group.reasons.len() > 1;
    let mut table = Table::new(&columns(any_fold, differ));
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
        if differ {
            row.push(job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default());
        }
        row.push(last_words.clone());
        table.row(row);
    }
    table.print_rows(out)
}

fn columns(any_fold: bool, reasons_differ: bool) -> Vec<Column> {
    let mut columns = vec![Column::new("  id").right(), Column::new("name").name()];
    let runs = Column::new("runs").right();
    if any_fold {
        let first = Column::new("first").dropped(2);
        columns.extend([Column::new("jobs").right(), runs, first, Column::new("last")]);
    } else {
        columns.extend([runs, Column::new("died")]);
    }
    if reasons_differ {
        columns.push(Column::new("why").text().dropped(1));
    }
    columns.push(Column::new("what it said").text());
    columns
}

/// Lines of advice, each after a word: the log to look at, the fix, the command that replays.
fn advice(
    code: &str,
    group: &Group,
    newest: &JobRow,
    filter: &Filter,
    has_changed: bool,
) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if newest.attempts > 0 {
        lines.push(("look", format!("runner logs {}", newest.id)));
    }
    if let Some(fix) = fix(code, newest) {
        lines.push(("fix", fix));
        if !newest.spec.ad_hoc && !has_changed {
            let kept = "(what is queued keeps its definition: after a change of the file, add --redefine)";
            lines.push(("", kept.to_owned()));
        }
    }
    let force = if newest.spec.policy.retryable { "" } else { " --force" };
    if let Some(selection) = selection(code, group, filter) {
        lines.push(("replay", format!("runner retry {selection}{force}")));
        if has_changed {
            let redefine = format!("runner retry {selection}{force} --redefine");
            lines.push(("", redefine + "   with its definition of today, which has changed"));
        }
    }
    lines
}

/// Selects exactly this group for `retry`: by filters, or by a few ids where `retry` has no such filter.
fn selection(code: &str, group: &Group, filter: &Filter) -> Option<String> {
    const MAX_IDS: usize = 10;
    let mut ids: Vec<_> = group.rows.values().map(|fold| fold.newest).collect();
    ids.sort_unstable();
    let Filter { queue: None, since: None, until: None, name, .. } = filter else {
        let all = group.jobs == ids.len() as u64 && ids.len() <= MAX_IDS;
        return all.then(|| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    };
    if group.jobs == 1 {
        return Some(group.newest.to_string());
    }
    let name = name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
    Some(format!("--dead --error-code {code}{name}"))
}

/// A fix for typical causes.
fn fix(code: &str, job: &JobRow) -> Option<String> {
    let name = &job.spec.name;
    let ad_hoc = job.spec.ad_hoc;
    Some(match (code, job.dead_reason?) {
        (TIMEOUT, _) => {
            let timeout = job.spec.timeout.map(|span| format!(" ({span})")).unwrap_or_default();
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
