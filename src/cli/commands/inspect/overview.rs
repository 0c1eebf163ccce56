//! The overview, and its parts: queues and workers.

use std::cmp::Reverse;

use anyhow::Result;

use super::lists;
use crate::cli::locate;
use crate::cli::output::{
    Column, Output, Style, Table, Written, mark, overview_json, queue_json, worker_json,
};
use crate::cli::worker_status::{WorkerStatus, with_liveness, worker_statuses};
use crate::store::{Counts, Overview, QueueRow, RecentName, ScheduleRow, Store, StoreFile};
use crate::text::{Millis, Timestamp, counted, relative_time};
use crate::worker::Liveness;

/// Names in the overview, whatever the height of the screen.
const MIN_NAMES: usize = 3;
const MAX_NAMES: usize = 50;

/// A worker fires a schedule within this time.
const LATE: Millis = Millis::from_secs(5);

/// Shows everything in a few lines. Gives false: the overview is no list of matches.
pub(super) fn show(out: &mut Output, store: &Store, now: Timestamp) -> Result<bool> {
    let overview = store.overview(now)?;
    let workers = with_liveness(store, overview.workers.clone());
    if out.json {
        out.object(&overview_json(store.file(), &overview, &workers))?;
        return Ok(false);
    }
    out.line(out.paint(Style::Faint, &locate::display(store.file().path())))?;
    draw_dead(out, &overview)?;
    draw_paused(out, &overview.queues)?;
    let schedules = store.schedules()?;
    let is_needed = overview.counts.unfinished() > 0 || schedules.iter().any(|schedule| !schedule.paused);
    let are_well = workers.iter().all(WorkerStatus::is_alive) && !(workers.is_empty() && is_needed);
    if !are_well {
        draw_number_of_workers(out, &workers, is_needed)?;
    }
    draw_counts(out, overview.counts)?;
    if are_well {
        draw_number_of_workers(out, &workers, is_needed)?;
    }
    if let Some(due) = overview.oldest_due_at {
        out.line(format!("waiting   the oldest was due {}", relative_time(due, now)))?;
    }
    if let Some(next) = overview.next_run_at {
        out.line(format!("next      {}", relative_time(next, now)))?;
    }
    if !overview.queues.is_empty() {
        out.line("")?;
        draw_queues(out, &overview.queues)?;
    }
    draw_names(out, store, &schedules, now)?;
    Ok(false)
}

/// There is no database yet.
pub(super) fn show_empty(out: &mut Output, file: &StoreFile) -> Written {
    if out.json {
        return out.object(&overview_json(file, &Overview::default(), &[]));
    }
    out.line(format!("there is no database yet at {}", locate::display(file.path())))?;
    out.prose("", "runner enqueue creates it: runner enqueue -- echo hello, then runner work --drain")
}

fn draw_counts(out: &mut Output, counts: Counts) -> Written {
    let shown = counts.by_state().into_iter().filter(|(_, number)| *number > 0);
    let shown: Vec<_> =
        shown.map(|(status, number)| format!("{number} {}", out.paint_status(status))).collect();
    out.prose("jobs      ", &if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
}

fn draw_number_of_workers(out: &mut Output, workers: &[WorkerStatus], is_needed: bool) -> Written {
    let alive = workers.iter().filter(|worker| worker.is_alive()).count();
    let words = match (alive, is_needed) {
        (0, false) => "none".to_owned(),
        (0, true) => out.paint(Style::Warn, "no worker is running: nothing starts until runner work does"),
        (alive, _) => alive.to_string(),
    };
    out.prose("workers   ", &words)?;
    let dead = workers.len() - alive;
    if dead > 0 {
        let words = format!("{dead} died; the next runner work deals with what it ran");
        out.prose("          ", &out.paint(Style::Warn, &words))?;
    }
    Ok(())
}

fn draw_dead(out: &mut Output, overview: &Overview) -> Written {
    if overview.dead_by_error_code.is_empty() {
        return Ok(());
    }
    let mut codes: Vec<_> = overview.dead_by_error_code.iter().collect();
    codes.sort_by_key(|(_, number)| Reverse(**number));
    let codes: Vec<_> = codes.iter().map(|(code, number)| format!("{number} {code}")).collect();
    out.prose(&format!("{}      ", out.paint_status("dead")), &codes.join(", "))?;
    out.prose("          ", "runner inspect dead shows them, and what to type next")
}

fn draw_paused(out: &mut Output, queues: &[QueueRow]) -> Written {
    let paused: Vec<_> =
        queues.iter().filter(|queue| queue.paused).map(|queue| queue.name.as_str()).collect();
    if paused.is_empty() {
        return Ok(());
    }
    let words = format!("{}: nothing starts there until runner resume QUEUE", paused.join(", "));
    out.prose("paused    ", &out.paint(Style::Warn, &words))
}

/// Draws a line for each name that ran lately, as many as the screen has room for.
fn draw_names(out: &mut Output, store: &Store, schedules: &[ScheduleRow], now: Timestamp) -> Written {
    // Besides the names: a blank, the heading, the number of further names, and the prompt of the shell.
    let room = out.rows_left().saturating_sub(4).clamp(MIN_NAMES, MAX_NAMES);
    let with_schedule = schedules.iter().map(ScheduleRow::name);
    let (names, all) = store.recent_names(with_schedule, room, now)?;
    if names.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::new("ran lately").name(),
        Column::new("last 20 runs").right().marks(),
        Column::new("last success"),
        Column::new("next"),
    ]);
    for RecentName { name, outcomes, last_success } in &names {
        let next = schedules.iter().find(|row| row.name() == name);
        table.row(vec![
            name.clone(),
            outcomes.iter().copied().map(mark).collect(),
            match last_success {
                Some(at) => relative_time(*at, now),
                None if outcomes.is_empty() => String::new(),
                None => "none lately".to_owned(),
            },
            match next {
                Some(row) if row.paused => "paused".to_owned(),
                Some(row) if row.next_at.is_some_and(|at| at.plus(LATE) < now) => "overdue".to_owned(),
                Some(row) => row.next_at.map(|at| relative_time(at, now)).unwrap_or_default(),
                None => String::new(),
            },
        ]);
    }
    out.line("")?;
    table.print(out)?;
    if all > names.len() {
        let more = format!("… {}; runner inspect stats", counted(all - names.len(), "more name"));
        out.line(out.paint(Style::Faint, &more))?;
    }
    Ok(())
}

/// Lists queues with unfinished jobs, and paused and limited ones.
pub(super) fn queues(out: &mut Output, store: &Store, name: Option<&str>, now: Timestamp) -> Result<bool> {
    let mut queues = store.overview(now)?.queues;
    queues.retain(|queue| name.is_none_or(|name| name == queue.name));
    let nothing = "no queue has unfinished jobs, is paused or is limited";
    lists::show_whole(out, &queues, queue_json, nothing, draw_queues)
}

fn draw_queues(out: &mut Output, queues: &[QueueRow]) -> Written {
    let is_one_blocked = queues.iter().any(|queue| queue.counts.blocked > 0);
    let mut columns = vec![
        Column::new("queue").name(),
        Column::new("ready").right(),
        Column::new("scheduled").right().dropped(1),
        Column::new("retrying").right().dropped(2),
        Column::new("running").right(),
        Column::new(""),
    ];
    if is_one_blocked {
        columns.insert(4, Column::new("blocked").right().dropped(3));
    }
    let mut table = Table::new(&columns);
    for QueueRow { name, paused, limits, counts } in queues {
        let most = limits.max_running.map(|most| format!(" of {most}")).unwrap_or_default();
        let rate = limits.rate.map(|rate| format!("rate {rate}"));
        let notes: Vec<_> = paused.then(|| "paused".to_owned()).into_iter().chain(rate).collect();
        let mut row = vec![
            name.clone(),
            counts.ready.to_string(),
            counts.scheduled.to_string(),
            counts.retrying.to_string(),
            format!("{}{most}", counts.running),
            notes.join(", "),
        ];
        if is_one_blocked {
            row.insert(4, counts.blocked.to_string());
        }
        table.row(row);
    }
    table.print(out)
}

/// Lists workers that have neither stopped nor been recovered.
pub(super) fn workers(out: &mut Output, store: &Store, now: Timestamp) -> Result<bool> {
    let workers = worker_statuses(store)?;
    let nothing = "no worker is running; runner work starts one";
    lists::show_whole(out, &workers, worker_json, nothing, |out, workers| draw_workers(out, workers, now))
}

fn draw_workers(out: &mut Output, workers: &[WorkerStatus], now: Timestamp) -> Written {
    let mut table = Table::new(&[
        Column::new("worker"),
        Column::new("pid").right().dropped(2),
        Column::new("state").status(),
        Column::new("running").right(),
        Column::new("slots").right(),
        Column::new("started").dropped(1),
        Column::new("queues").text(),
    ]);
    for WorkerStatus { row, liveness, running } in workers {
        table.row(vec![
            row.name.clone(),
            row.pid.to_string(),
            match liveness {
                Liveness::Alive if row.is_stopping => "stopping",
                Liveness::Alive => "alive",
                Liveness::Suspended => "suspended",
                Liveness::Dead | Liveness::OfOriginal => "dead",
            }
            .to_owned(),
            running.to_string(),
            row.slots.to_string(),
            relative_time(row.started_at, now),
            row.queues.as_ref().map_or_else(|| "all".to_owned(), |queues| queues.join(", ")),
        ]);
    }
    table.print(out)?;
    if workers.iter().any(|worker| worker.liveness == Liveness::Suspended) {
        out.line("a suspended worker is alive: its jobs go on, timeouts and cancels wait for it")?;
    }
    Ok(())
}
