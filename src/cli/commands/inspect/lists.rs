//! Lists of jobs, attempts and dead letters, newest first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;

use super::attempt::exit_text;
use super::query::Query;
use crate::cli::locate;
use crate::cli::output::{
    Column, Output, Style, Table, Written, attempt_json, job_json, last_lines, note_left_out,
};
use crate::model::{DeadReason, ErrorCode, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED, decision_text};
use crate::store::{self, AttemptRow, Filter, JobRow, Store};
use crate::text::{counted, human_duration, relative_time, safe_line};

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
    fn note_more(self, out: &mut Output) -> Written {
        if self.more { out.line(format!("the newest {}; --limit 0 shows all", self.rows)) } else { Ok(()) }
    }

    /// Prints the rows, or `nothing` where there is none; not with `--json`. True if there is a row.
    fn print(self, out: &mut Output, table: &Table, nothing: &str) -> Result<bool> {
        if self.rows == 0 && !out.json {
            out.remark(nothing)?;
        } else if !out.json {
            table.print(out)?;
            self.note_more(out)?;
        }
        Ok(self.rows > 0)
    }
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

fn runs(job: &JobRow) -> String {
    format!("{}/{}", job.budget_used, job.spec.policy.runs())
}

/// The code, the reason and the message of its last failure.
fn what_happened(job: &JobRow) -> String {
    let code = job.error_code.as_ref().or(job.last_error_code.as_ref()).map(ToString::to_string);
    let reason = job.dead_reason.map(|reason| reason.to_string());
    let message = job.last_message.as_deref().map(safe_line);
    [code, reason, message].into_iter().flatten().collect::<Vec<_>>().join(", ")
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

/// A dead job, and the known facts about its last failure.
struct DeadLetter {
    job: JobRow,
    last_words: String,
}

/// Dead letters, grouped by error code, with the commands that help each group.
pub(super) fn dead(out: &mut Output, query: &Query) -> Result<bool> {
    let mut groups: BTreeMap<String, Vec<DeadLetter>> = BTreeMap::new();
    let listed = for_each_job(out, query, |job| {
        let code = job.error_code.as_ref().map(ErrorCode::to_string).unwrap_or_default();
        let last_words = last_words(query.store, &job)?;
        groups.entry(code).or_default().push(DeadLetter { job, last_words });
        Ok(())
    })?;
    if out.json {
        return Ok(listed.rows > 0);
    }
    if listed.rows == 0 {
        out.remark("no dead letters")?;
        return Ok(false);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, letters)| Reverse(letters.len()));
    let mut left_out = Vec::new();
    for (index, (code, letters)) in groups.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        left_out.extend(draw_group(out, code, letters, query, listed)?);
    }
    left_out.dedup();
    if !left_out.is_empty() {
        out.line("")?;
        note_left_out(out, &left_out)?;
    }
    listed.note_more(out)?;
    Ok(true)
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
        Column::new("how").text(),
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

/// The message of the last attempt, else the last line of its output.
fn last_words(store: &Store, job: &JobRow) -> Result<String> {
    if let Some(message) = &job.last_message {
        return Ok(safe_line(message));
    }
    let (_, mut lines) = last_lines(&store.output(job.id, job.attempts)?, 1);
    Ok(lines.pop().unwrap_or_default())
}

/// Draws a group. Gives the columns that found no room.
fn draw_group(
    out: &mut Output,
    code: &str,
    letters: &[DeadLetter],
    query: &Query,
    listed: Listed,
) -> Result<Vec<&'static str>> {
    let heading = format!("{code}: {}", counted(letters.len(), "job"));
    out.line(out.paint(Style::Strong, &heading))?;
    let mut table = Table::new(&[
        Column::new("  id").right(),
        Column::new("name").name(),
        Column::new("runs").right(),
        Column::new("died"),
        Column::new("why").text().dropped(1),
        Column::new("what it said").text(),
    ]);
    for DeadLetter { job, last_words } in letters {
        table.row(vec![
            format!("  {}", job.id),
            job.spec.name.clone(),
            runs(job),
            relative_time(job.changed_at, query.now),
            job.dead_reason.map(|reason| reason.to_string()).unwrap_or_default(),
            last_words.clone(),
        ]);
    }
    let left_out = table.print_rows(out)?;
    for (word, line) in advice(code, letters, &selection(code, letters, &query.filter, listed)) {
        out.prose(&format!("  {word:<7} "), &line)?;
    }
    Ok(left_out)
}

/// Lines of advice, each after a word: the log to look at, the fix, the command that replays.
fn advice(code: &str, letters: &[DeadLetter], selection: &str) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let Some(DeadLetter { job: newest, .. }) = letters.first() else { return lines };
    if newest.attempts > 0 {
        lines.push(("look", format!("runner logs {}", newest.id)));
    }
    if let Some(fix) = fix(code, newest) {
        lines.push(("fix", fix));
        let kept = "(what is queued keeps its definition: after a change of the file, enqueue it anew)";
        lines.push(("", kept.to_owned()));
    }
    let once = letters.iter().filter(|letter| !letter.job.spec.policy.retryable).count();
    let force = if once == letters.len() { " --force" } else { "" };
    lines.push(("replay", format!("runner retry {selection}{force}")));
    if once > 0 && once < letters.len() {
        lines.push(("", format!("{once} of these: retryable = false, only with --force")));
    }
    lines
}

/// Selects exactly these jobs for `retry`: by filters if the list shows every match, else by ids.
fn selection(code: &str, letters: &[DeadLetter], filter: &Filter, listed: Listed) -> String {
    let all = !listed.more && filter.queue.is_none() && filter.since.is_none();
    if all && letters.len() > 1 {
        let name = filter.name.as_ref().map(|name| format!(" --name {name}")).unwrap_or_default();
        return format!("--dead --error-code {code}{name}");
    }
    letters.iter().map(|letter| letter.job.id.to_string()).collect::<Vec<_>>().join(" ")
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
