//! `inspect dead`: dead letters by error code, with the commands that help. Jobs that died alike share a row.

use super::lists::attempts_text;
use super::status::{blocked_expiry_text, held_back_text};
use crate::model::{DeadReason, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED};
use crate::place::runner;
use crate::store::{DeadGroup, DeadRow, Filter, JobRow, StuckBehind};
use crate::text::{Timestamp, clock_time, counted, option, relative_time, shown_line};
use crate::view::terminal::{Column, Output, Style, Table, note_left_out};

/// A suggested command names at most this many ids.
const MAX_IDS: usize = 10;

/// The dead letters of one error code, and what is shown of them.
pub struct DeadGroupFacts {
    pub group: DeadGroup,
    /// The first of its rows.
    pub shown: Vec<DeadRowFacts>,
    /// The definition of the newest job differs from that of the job file.
    pub differs: bool,
    /// The jobs of the group of which a later run succeeded.
    pub recovered: Vec<i64>,
}

/// A row of jobs that died alike.
pub struct DeadRowFacts {
    pub row: DeadRow,
    /// The newest job of the row; none if it was just pruned.
    pub newest: Option<JobRow>,
    /// The jobs that wait for those of the row.
    pub held_back: StuckBehind,
    /// The newest jobs of the row of which a later run succeeded.
    pub recovered: Vec<i64>,
}

impl DeadGroupFacts {
    /// The number of jobs that are in none of the rows that are shown.
    fn count_older(&self) -> u64 {
        self.group.jobs - self.shown.iter().map(|shown| shown.row.jobs).sum::<u64>()
    }
}

/// Draws the groups. Each shows at most `share` rows.
pub fn draw(out: &mut Output, groups: &[DeadGroupFacts], share: usize, filter: &Filter, now: Timestamp) {
    if groups.is_empty() {
        out.remark("no dead letters");
    }
    let mut left_out = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            out.line("");
        }
        for column in draw_group(out, group, filter, now) {
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
    if groups.iter().any(|group| group.count_older() > 0) {
        out.line(format!("at most {} of each code; --limit 0 shows all", counted(share, "row")));
    }
}

/// Draws a group. Returns the columns that were left out.
fn draw_group(
    out: &mut Output,
    facts: &DeadGroupFacts,
    filter: &Filter,
    now: Timestamp,
) -> Vec<&'static str> {
    let DeadGroupFacts { group, shown, .. } = facts;
    let reason = match group.reasons.as_slice() {
        [reason] => format!(", {reason}"),
        _ => String::new(),
    };
    let heading = format!("{}: {}{reason}", group.error_code, counted(group.jobs, "job"));
    out.line(out.paint(Style::Strong, &heading));
    let left_out = draw_rows(out, facts, now);
    for shown in shown {
        for line in [held_back_line(shown), recovered_line(shown)].into_iter().flatten() {
            out.prose("  ", &line);
        }
    }
    let older = facts.count_older();
    if older > 0 {
        out.aside("  ", &format!("… {} in older rows", counted(older, "job")));
    }
    // A job that was just pruned needs no advice.
    if let Some(newest) = shown.first().and_then(|shown| shown.newest.as_ref()) {
        for (word, line) in advice(facts, newest, filter) {
            out.prose(&format!("  {word:<7} "), &line);
        }
    }
    left_out
}

/// Says which jobs wait for the jobs of this row: `job 1 holds back 2 jobs: load, report`; none if none does.
fn held_back_line(DeadRowFacts { row, held_back, .. }: &DeadRowFacts) -> Option<String> {
    let held_back = held_back_text(held_back)?;
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
    Some(format!("{who} back {held_back}"))
}

/// Says which of the newest jobs of this row need no replay: `job 1: a later run succeeded`; none if all may need one.
fn recovered_line(DeadRowFacts { recovered, .. }: &DeadRowFacts) -> Option<String> {
    let mut ids = recovered.clone();
    ids.sort_unstable();
    let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
    match ids.as_slice() {
        [] => None,
        [id] => Some(format!("job {id}: a later run succeeded")),
        ids => Some(format!("jobs {}: later runs succeeded", ids.join(", "))),
    }
}

fn draw_rows(out: &mut Output, facts: &DeadGroupFacts, now: Timestamp) -> Vec<&'static str> {
    let any_fold = facts.shown.iter().any(|shown| shown.row.jobs > 1);
    let mut table = Table::new()
        .column(Column::new("  id").right(), |(_, job): &(&DeadRow, &JobRow)| format!("  {}", job.id))
        .column(Column::new("name").name(), |(row, _)| row.name.clone())
        .column(Column::label(), |(row, _)| row.shown_labels())
        .column_if(any_fold, Column::new("jobs").right(), |(row, _)| match row.jobs {
            1 => String::new(),
            jobs => format!("×{jobs}"),
        })
        .column(Column::new("runs").right(), |(_, job)| attempts_text(job))
        .column_if(any_fold, Column::new("first").dropped(2), |(row, _)| match row.jobs {
            1 => String::new(),
            _ => clock_time(row.first_death, now),
        })
        .column_if(any_fold, Column::new("last"), |(row, _)| clock_time(row.last_death, now))
        .column_if(!any_fold, Column::new("died"), |(row, _)| relative_time(row.last_death, now))
        .column_if(facts.group.reasons.len() > 1, Column::new("why").text().dropped(1), |(_, job)| {
            job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default()
        })
        .column(Column::new("what it said").text(), |(row, _)| shown_line(&row.last_words));
    for shown in &facts.shown {
        if let Some(newest) = &shown.newest {
            table.row(&(&shown.row, newest));
        }
    }
    table.print_rows(out)
}

/// Says what to do about a group: the log to look at, a fix, and the command that resolves or replays its jobs. Each line has a
/// word before it.
fn advice(facts: &DeadGroupFacts, newest: &JobRow, filter: &Filter) -> Vec<(&'static str, String)> {
    let DeadGroupFacts { group, shown, differs, recovered } = facts;
    let mut lines = Vec::new();
    if newest.attempts > 0 {
        let wrote = group.rows.first().is_some_and(|row| row.has_output);
        lines.push(("look", runner(if wrote { "logs" } else { "inspect" }, newest.id)));
    }
    if let Some(why) = blocked_expiry_text(newest) {
        lines.push(("why", why));
    } else if let Some(fix) = fix(&group.error_code, newest) {
        lines.push(("fix", fix));
        if !newest.definition.ad_hoc && !*differs {
            let kept = "(what is queued keeps its definition: after a change of the file, add --redefine)";
            lines.push(("", kept.to_owned()));
        }
    }
    let force = if newest.definition.policy.retryable { "" } else { " --force" };
    // A job that waits for one of the group is only helped by a success of that one.
    let holds_back = shown.iter().any(|row| held_back_text(&row.held_back).is_some());
    let resolved: &[i64] = if holds_back { &[] } else { recovered };
    if !resolved.is_empty() {
        lines.extend(resolution(group, resolved, filter).map(|line| ("resolve", line)));
    }
    if resolved.len() as u64 == group.jobs {
        return lines;
    }
    if let Some(selection) = selection(group, resolved, filter) {
        // `retry` takes these, too, until they are resolved, and does their work once more.
        let by_filter = selection.starts_with("--dead");
        let after = if by_filter && !resolved.is_empty() { "   after that" } else { "" };
        lines.push(("replay", runner("retry", format_args!("{selection}{force}")) + after));
        if *differs {
            let redefine = runner("retry", format_args!("{selection}{force} --redefine"));
            lines.push(("", redefine + "   with the definition of the job file, which differs"));
        }
    }
    lines
}

/// The command that resolves the jobs of the group of which later runs succeeded.
fn resolution(group: &DeadGroup, recovered: &[i64], filter: &Filter) -> Option<String> {
    if recovered.len() <= MAX_IDS {
        return Some(runner("resolve", joined(recovered)));
    }
    let filters = filtered(filter)?;
    Some(runner("resolve", format_args!("--dead --recovered --error-code {}{filters}", group.error_code)))
}

/// The arguments that select this group for `retry`, but not these: filters, or the ids if `retry` lacks a filter that was given
/// here.
fn selection(group: &DeadGroup, resolved: &[i64], filter: &Filter) -> Option<String> {
    let mut ids: Vec<i64> = group.rows.iter().flat_map(|row| row.ids.iter().copied()).collect();
    let is_all = group.jobs == ids.len() as u64;
    ids.retain(|id| !resolved.contains(id));
    ids.sort_unstable();
    let Some(filters) = filtered(filter) else {
        return (is_all && ids.len() <= MAX_IDS).then(|| joined(&ids));
    };
    if is_all && ids.len() == 1 {
        return Some(joined(&ids));
    }
    // Whoever waits for an older one goes on only if that one runs again.
    let newest = group.rows.first().map(DeadRow::newest);
    let is_older_waited_for = group.rows.iter().flat_map(|row| &row.waited_for).any(|id| Some(*id) != newest);
    let latest = if group.has_same_work && !is_older_waited_for { " --latest" } else { "" };
    Some(format!("--dead --error-code {}{filters}{latest}", group.error_code))
}

/// The options by which `retry` and `resolve` select what this filter does; none if they lack one.
fn filtered(filter: &Filter) -> Option<String> {
    let Filter { queue: None, since: None, until: None, dead_reason: None, name, label, .. } = filter else {
        return None;
    };
    let name = name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
    let label = label.as_ref().map(|label| format!(" {}", option("--label", label))).unwrap_or_default();
    Some(name + &label)
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
