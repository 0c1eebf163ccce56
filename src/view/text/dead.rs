//! `inspect dead`: dead letters by error code, with the commands that help. Jobs that died alike share a row. It only draws: the
//! words are in `view/advice/dead_list.rs`.

use super::lists::attempts_text;
use super::status::blocked_expiry_text;
use crate::call_target::to_type;
use crate::store::{Filter, JobRow};
use crate::text::{Timestamp, clock_time, counted, relative_time, shown_line};
use crate::view::advice::dead_list::{
    DeadGroupFacts, DeadRowFacts, files_of, held_back_line, labels_and_folder, of_group, recovered_line,
};
use crate::view::advice::folders::FilesOfNames;
use crate::view::terminal::{Column, Output, Style, Table, note_left_out};

/// Draws the groups. Each shows at most `share` rows. Besides these, so many were resolved.
pub fn draw(
    out: &mut Output,
    groups: &[DeadGroupFacts],
    share: usize,
    resolved: u64,
    filter: &Filter,
    now: Timestamp,
) {
    let inspect = to_type("inspect", "dead --resolved");
    let resolved = match resolved {
        0 => String::new(),
        1 => format!("; {inspect} lists the one that was resolved"),
        resolved => format!("; {inspect} lists the {resolved} that were resolved"),
    };
    if groups.is_empty() {
        out.remark(&format!("no dead letters{resolved}"));
    }
    let mut left_out = Vec::new();
    let files = files_of(groups);
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            out.line("");
        }
        for column in draw_group(out, group, &files, filter, now) {
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
        let resolve = to_type("resolve", "ID");
        out.aside("", &format!("{resolve} takes off this list what was dealt with{resolved}"));
    }
    if groups.iter().any(|group| group.count_older() > 0) {
        out.line(format!("at most {} of each code; --limit 0 shows all", counted(share, "row")));
    }
}

/// Draws a group. Returns the columns that were left out.
fn draw_group(
    out: &mut Output,
    facts: &DeadGroupFacts,
    files: &FilesOfNames<'_>,
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
    let left_out = draw_rows(out, facts, files, now);
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
        for (word, line) in of_group(facts, newest, blocked_expiry_text(newest), filter) {
            out.prose(&format!("  {word:<7} "), &line);
        }
    }
    left_out
}

fn draw_rows(
    out: &mut Output,
    facts: &DeadGroupFacts,
    files: &FilesOfNames<'_>,
    now: Timestamp,
) -> Vec<&'static str> {
    let any_fold = facts.shown.iter().any(|shown| shown.row.jobs > 1);
    let mut table = Table::new()
        .column(Column::new("  id").right(), |(_, job): &(&DeadRowFacts, &JobRow)| format!("  {}", job.id))
        .column(Column::new("name").name(), |(shown, _)| shown.row.name.clone())
        .column(Column::label(), |(shown, _)| labels_and_folder(shown, files))
        .column_if(any_fold, Column::new("jobs").right(), |(shown, _)| match shown.row.jobs {
            1 => String::new(),
            jobs => format!("×{jobs}"),
        })
        .column(Column::new("runs").right(), |(_, job)| attempts_text(job))
        .column_if(any_fold, Column::new("first").dropped(2), |(shown, _)| match shown.row.jobs {
            1 => String::new(),
            _ => clock_time(shown.row.first_death, now),
        })
        .column_if(any_fold, Column::new("last"), |(shown, _)| clock_time(shown.row.last_death, now))
        .column_if(!any_fold, Column::new("died"), |(shown, _)| relative_time(shown.row.last_death, now))
        .column_if(facts.group.reasons.len() > 1, Column::new("why").text().dropped(1), |(_, job)| {
            job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default()
        })
        .column(Column::new("what it said").text(), |(shown, _)| shown_line(&shown.row.last_words));
    for shown in &facts.shown {
        if let Some(newest) = &shown.newest {
            table.row(&(shown, newest));
        }
    }
    table.print_rows(out)
}
