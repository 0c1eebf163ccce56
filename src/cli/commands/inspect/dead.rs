//! Looks up the dead letters.

use anyhow::Result;

use super::query::Query;
use crate::cli::args::Global;
use crate::cli::definition_drift::differing_keys;
use crate::cli::own_file::OwnFiles;
use crate::policy;
use crate::store::{DeadGroup, DeadRow, JobRow, Store};
use crate::text::safe_line;
use crate::view::advice::dead_list::{DeadGroupFacts, DeadRowFacts};
use crate::view::json::dead_letter_json;
use crate::view::terminal::Output;
use crate::view::text::dead;

pub(super) fn show(out: &mut Output, global: &Global, query: &Query) -> Result<bool> {
    let Query { store, filter, limit, now } = query;
    let groups = store.dead_letters(filter, *limit, *now)?;
    let share = share(&groups, *limit);
    let files = OwnFiles::new(global);
    let facts = |group| group_facts(query, &files, group, share);
    let groups = groups.into_iter().map(facts).collect::<Result<Vec<_>>>()?;
    let resolved = if out.quiet { 0 } else { store.count_resolved(filter, *now)? };
    dead::draw(out, &groups, share, resolved, filter, *now);
    Ok(!groups.is_empty())
}

/// How many rows each group may show, so that all groups together show at most `limit`. It is at least one.
fn share(groups: &[DeadGroup], limit: usize) -> usize {
    let rows = |share: usize| groups.iter().map(|group| group.rows.len().min(share)).sum::<usize>();
    let longest = groups.iter().map(|group| group.rows.len()).max().unwrap_or_default();
    (1..=longest).rev().find(|share| rows(*share) <= limit).unwrap_or(1)
}

fn group_facts(
    query: &Query,
    files: &OwnFiles<'_>,
    group: DeadGroup,
    share: usize,
) -> Result<DeadGroupFacts> {
    let rows = group.rows.iter().take(share).cloned();
    let shown = rows.map(|row| row_facts(query, row)).collect::<Result<Vec<_>>>()?;
    let newest = shown.first().and_then(|shown| shown.newest.as_ref());
    let differs =
        newest.is_some_and(|job| files.of(job).is_ok_and(|file| !differing_keys(&file, job).is_empty()));
    let meaning = newest.map(|job| meaning_of_last(query.store, job)).transpose()?.flatten();
    Ok(DeadGroupFacts { group, shown, differs, meaning })
}

/// The meaning of the exit status of the last attempt of a job, where that is known.
pub(super) fn meaning_of_last(store: &Store, job: &JobRow) -> Result<Option<String>> {
    let last = store.attempt(job.id, job.attempts)?;
    Ok(last.and_then(|last| policy::meaning_of_attempt(&job.definition, &last)))
}

fn row_facts(query: &Query, row: DeadRow) -> Result<DeadRowFacts> {
    let Query { store, now, .. } = query;
    Ok(DeadRowFacts {
        newest: store.job(row.newest(), *now)?,
        held_back: store.held_back(&row.waited_for)?,
        row,
    })
}

/// Prints an object a dead letter. True if there is one.
pub fn print_json(out: &mut Output, query: &Query) -> Result<bool> {
    let Query { store, filter, limit, now } = query;
    let mut any = false;
    for job in store.jobs(filter, *limit, *now)? {
        let job = job?;
        let last_output = store.output(job.id, job.attempts)?.last_line().map(|line| safe_line(&line));
        out.object(&dead_letter_json(&job, last_output.as_deref()));
        any = true;
        if out.is_closed() {
            break;
        }
    }
    Ok(any)
}
