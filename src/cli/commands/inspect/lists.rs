//! Lists of jobs and attempts, newest first.

use anyhow::Result;

use crate::cli::locate;
use crate::cli::output::{AttemptJson, Column, JobJson, Output, Table};
use crate::model::{Attempt, Status, signal};
use crate::store::{AttemptFilter, JobFilter, JobRow, Store};
use crate::text::{Timestamp, human_duration, relative_time, safe_line};

/// Rows read at once.
const PAGE: usize = 500;

/// Lists jobs.
pub(super) fn jobs(
    out: &mut Output,
    store: &mut Store,
    filter: &JobFilter,
    limit: usize,
    now: Timestamp,
) -> Result<bool> {
    let mut table = Table::new(&[
        Column::new("id").right(),
        Column::new("name").name(),
        Column::new("queue").name().dropped(1),
        Column::new("state").status(),
        Column::new("runs").right(),
        Column::new("when"),
        Column::new("what").text().dropped(2),
    ]);
    let json = out.json;
    let (shown, more) = each_job(store, filter, limit, now, |job| {
        if json {
            out.object(&JobJson::new(job))?;
            return Ok(!out.is_closed());
        }
        table.row(vec![
            job.id.to_string(),
            job.spec.name.clone(),
            job.spec.queue.clone(),
            job.status().to_owned(),
            format!("{}/{}", job.budget_used, job.spec.policy.runs()),
            when(job, now),
            what(job),
        ]);
        Ok(true)
    })?;
    if json {
        return Ok(shown > 0);
    }
    if shown == 0 {
        out.remark("no jobs")?;
        return Ok(false);
    }
    table.print(out)?;
    if more {
        out.line(format!("the newest {shown}; --limit 0 shows all"))?;
    }
    Ok(true)
}

/// Calls for each job, a page at a time, until the call says that it is enough. Gives how many there were, and whether the limit cut the list.
pub(super) fn each_job(
    store: &mut Store,
    filter: &JobFilter,
    limit: usize,
    now: Timestamp,
    mut each: impl FnMut(&JobRow) -> Result<bool>,
) -> Result<(usize, bool)> {
    let (mut last, mut shown) = (None, 0);
    loop {
        // One more than is shown tells whether the limit cut the list.
        let page = PAGE.min((limit - shown).saturating_add(1));
        let (mut jobs, next) = store.jobs_page(filter, last, page, now)?;
        for job in &mut jobs {
            if shown == limit {
                return Ok((shown, true));
            }
            locate::add_start(store, job);
            shown += 1;
            if !each(job)? {
                return Ok((shown, false));
            }
        }
        if next.is_none() {
            return Ok((shown, false));
        }
        last = next;
    }
}

/// The moment that matters most about a job.
fn when(job: &JobRow, now: Timestamp) -> String {
    if job.phase.is_some() { relative_time(job.run_at, now) } else { relative_time(job.changed_at, now) }
}

/// What is known about how it goes.
fn what(job: &JobRow) -> String {
    let code = job.error_code.as_ref().or(job.last_error_code.as_ref()).map(ToString::to_string);
    let reason = job.dead_reason.map(|reason| reason.as_str().to_owned());
    let message = job.last_message.as_deref().map(safe_line);
    let parts: Vec<String> = [code, reason, message].into_iter().flatten().collect();
    parts.join(", ")
}

/// Lists ended attempts.
pub(super) fn attempts(
    out: &mut Output,
    store: &mut Store,
    filter: &AttemptFilter,
    limit: usize,
    now: Timestamp,
) -> Result<bool> {
    let mut table = Table::new(&[
        Column::new("attempt"),
        Column::new("name").name(),
        Column::new("outcome").status(),
        Column::new("ended").dropped(1),
        Column::new("took").right().dropped(2),
        Column::new("when"),
        Column::new("decision").text().dropped(3),
    ]);
    let (mut last, mut shown, mut more) = (None, 0, false);
    'pages: loop {
        let most = PAGE.min((limit - shown).saturating_add(1));
        let page = store.attempts_page(filter, last, most)?;
        for (attempt, name, runs) in &page {
            if shown == limit {
                more = true;
                break 'pages;
            }
            shown += 1;
            last = Some((attempt.finished_at, attempt.job_id, attempt.number));
            let json = AttemptJson::new(attempt, *runs);
            if out.json {
                out.object(&json)?;
                if out.is_closed() {
                    break 'pages;
                }
                continue;
            }
            table.row(vec![
                format!("{}.{}", attempt.job_id, attempt.number),
                name.clone(),
                attempt.outcome.to_string(),
                ending(attempt),
                attempt.duration.map(human_duration).unwrap_or_default(),
                relative_time(attempt.finished_at, now),
                crate::model::sentence(attempt, *runs),
            ]);
        }
        if page.len() < most {
            break;
        }
    }
    if out.json {
        return Ok(shown > 0);
    }
    if shown == 0 {
        out.remark("no attempts have ended")?;
        return Ok(false);
    }
    table.print(out)?;
    if more {
        out.line(format!("the newest {shown}; --limit 0 shows all"))?;
    }
    Ok(true)
}

/// What the process did.
pub(super) fn ending(attempt: &Attempt) -> String {
    match attempt.status {
        Some(Status::Exited(exit)) => format!("exit {exit}"),
        Some(Status::Signaled(number)) => signal::name(number),
        None => String::new(),
    }
}
