//! The overview: what needs attention, counts, queues, and how the jobs of each name went lately.

use super::lists::draw_queues;
use super::query::Query;
use crate::cli::commands::attention::{self, Look};
use crate::cli::locate;
use crate::cli::output::{Column, Output, Style, Table, Written, mark, overview_json};
use crate::cli::status::next_firing_text;
use crate::store::{Filter, JobCounts, RecentName, Store, StoreFile, StoredSchedule, WorkerStatus};
use crate::text::{Millis, Timestamp, counted, relative_time};

/// The overview shows at least and at most this many names, whatever the height of the screen.
const MIN_NAMES: usize = 3;
const MAX_NAMES: usize = 50;

pub(super) fn show(out: &mut Output, query: &Query) -> Written {
    let Query { store, now, .. } = *query;
    let Look { overview, workers, schedules, attention } = attention::look(store, &Filter::default(), now)?;
    if out.json {
        return out.object(&overview_json(store.file(), &overview, &workers, &attention, now));
    }
    out.line(out.paint(Style::Faint, &locate::display(store.file().path())))?;
    attention::draw(out, &attention, false)?;
    draw_counts(out, overview.counts)?;
    let is_needed = overview.counts.unfinished() > 0 || schedules.iter().any(|schedule| !schedule.paused);
    draw_number_of_workers(out, &workers, is_needed)?;
    if let Some(due) = overview.oldest_due_at {
        let verb = if now.since(due) < Millis::from_secs(1) { "is" } else { "was" };
        draw_line(out, "waiting", &format!("the oldest {verb} due {}", relative_time(due, now)))?;
    }
    if let Some(next) = overview.next_run_at {
        draw_line(out, "next", &relative_time(next, now))?;
    }
    if !overview.queues.is_empty() {
        out.line("")?;
        draw_queues(out, &overview.queues)?;
    }
    draw_names(out, store, &schedules, now)
}

/// Shows the overview where there is no database yet.
pub(super) fn show_empty(out: &mut Output, file: &StoreFile) -> Written {
    out.line(format!("there is no database yet at {}", locate::display(file.path())))?;
    out.prose("", "runner enqueue creates it: runner enqueue -- echo hello, then runner work --drain")
}

/// Draws a word, in its colour if it is a state, and a text beside it.
fn draw_line(out: &mut Output, word: &str, text: &str) -> Written {
    let blanks = " ".repeat(10 - word.len());
    out.prose(&(out.paint_status(word) + &blanks), text)
}

fn draw_counts(out: &mut Output, counts: JobCounts) -> Written {
    let shown = counts.by_state().into_iter().filter(|(_, number)| *number > 0);
    let shown: Vec<_> =
        shown.map(|(status, number)| format!("{number} {}", out.paint_status(status))).collect();
    draw_line(out, "jobs", &if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
}

fn draw_number_of_workers(out: &mut Output, workers: &[WorkerStatus], is_needed: bool) -> Written {
    let alive = workers.iter().filter(|worker| worker.is_alive()).count();
    let words = match (alive, is_needed) {
        (0, false) => "none".to_owned(),
        (0, true) => out.paint(Style::Warn, "no worker is running: nothing starts until runner work does"),
        (alive, _) => alive.to_string(),
    };
    draw_line(out, "workers", &words)?;
    let dead = workers.len() - alive;
    if dead > 0 {
        let words = format!("{dead} died; the next runner work deals with what it ran");
        draw_line(out, "", &out.paint(Style::Warn, &words))?;
    }
    Ok(())
}

/// Draws a line for each name that ran lately, as many as fit on the screen.
fn draw_names(out: &mut Output, store: &Store, schedules: &[StoredSchedule], now: Timestamp) -> Written {
    // Four lines are for a blank, the heading, the number of further names, and the prompt of the shell.
    let room = out.rows_left().saturating_sub(4).clamp(MIN_NAMES, MAX_NAMES);
    let with_schedule = schedules.iter().map(StoredSchedule::name);
    let (names, all) = store.recent_names(with_schedule, room, now)?;
    if names.is_empty() {
        return Ok(());
    }
    let mut table = Table::new()
        .column(Column::new("ran lately").name(), |recent: &RecentName| recent.name.clone())
        .column(Column::new("last 20 runs").right().marks(), |recent| {
            recent.outcomes.iter().copied().map(mark).collect()
        })
        .column(Column::new("last success"), |recent| match recent.last_success {
            Some(at) => relative_time(at, now),
            None if recent.outcomes.is_empty() => String::new(),
            None => "none lately".to_owned(),
        })
        .column(Column::new("next"), |recent| match schedules.iter().find(|row| row.name() == recent.name) {
            Some(row) => next_firing_text(row, now),
            None => String::new(),
        });
    table.rows(&names);
    out.line("")?;
    table.print(out)?;
    if all > names.len() {
        let more = format!("… {}; runner inspect stats", counted(all - names.len(), "more name"));
        out.line(out.paint(Style::Faint, &more))?;
    }
    Ok(())
}
