//! The overview: what needs attention, counts, queues, and how the jobs of each name went lately.

use std::path::Path;

use super::attention;
use super::lists::{attempts_text, draw_queues, outdated_text};
use super::schedule::next_firing_text;
use crate::call_target::{CallTarget, to_type};
use crate::store::{JobCounts, JobRow, RecentName, StoreError, StoredSchedule, WorkerStatus};
use crate::text::{Millis, Timestamp, counted, human_duration, relative_time, safe_line, shown_path};
use crate::view::advice::folders::FilesOfNames;
use crate::view::advice::nothing_until_worker;
use crate::view::snapshot::Snapshot;
use crate::view::terminal::{Column, Output, Style, Table, mark};

/// The overview shows at least and at most this many names, whatever the height of the screen.
const MIN_NAMES: usize = 3;
const MAX_NAMES: usize = 50;

/// The overview shows at most this many running jobs.
pub const MAX_RUNNING: usize = 8;

/// The jobs that run now.
pub struct RunningJobs {
    /// The first [`MAX_RUNNING`].
    pub rows: Vec<RunningRow>,
    pub count: usize,
}

/// A job that runs now.
pub struct RunningRow {
    pub job: JobRow,
    /// The median run time of its name.
    pub usual: Option<Millis>,
    pub last_line: String,
}

/// Draws the overview down to its queues. [`draw_names`] draws the rest, for which [`room_for_names`] then tells the room.
pub fn draw(out: &mut Output, snapshot: &Snapshot, running: &RunningJobs, now: Timestamp) {
    let Snapshot { overview, workers, schedules, attention, .. } = snapshot;
    attention::draw(out, attention, false);
    draw_counts(out, overview.counts);
    // A blocked job needs a worker only if another unfinished job does.
    let is_needed = overview.counts.unfinished() > overview.counts.blocked
        || schedules.iter().any(|schedule| !schedule.is_paused());
    draw_number_of_workers(out, workers, is_needed);
    if let Some(due) = overview.oldest_due_at {
        let verb = if now.since(due) < Millis::from_secs(1) { "is" } else { "was" };
        draw_line(out, "waiting", &format!("the oldest {verb} due {}", relative_time(due, now)));
    }
    if let Some(next) = overview.next_run_at {
        draw_line(out, "next", &relative_time(next, now));
    }
    if overview.counts.running > 0 {
        draw_running(out, running, now);
    }
    if !overview.queues.is_empty() {
        out.line("");
        draw_queues(out, &overview.queues, now);
    }
}

/// Draws the path of the database.
pub fn draw_path(out: &mut Output, path: &Path) {
    out.line(out.paint(Style::Faint, &shown_path(path)));
}

/// Draws the overview where there is no database yet.
pub fn draw_empty(out: &mut Output, path: &Path) {
    out.line(safe_line(&StoreError::Missing(path.to_owned()).to_string()));
    let (hello, drain) = (to_type("enqueue", "-- echo hello"), to_type("work", "--drain"));
    out.prose("", &format!("{} creates it: {hello}, then {drain}", to_type("enqueue", "")));
}

/// Draws a word, in its colour if it is a state, and a text beside it.
fn draw_line(out: &mut Output, word: &str, text: &str) {
    let blanks = " ".repeat(10 - word.len());
    out.prose(&(out.paint_status(word) + &blanks), text);
}

fn draw_counts(out: &mut Output, counts: JobCounts) {
    let shown = counts.by_state().into_iter().filter(|(_, number)| *number > 0);
    let shown: Vec<_> =
        shown.map(|(status, number)| format!("{number} {}", out.paint_status(status))).collect();
    draw_line(out, "jobs", &if shown.is_empty() { "none".to_owned() } else { shown.join(", ") });
}

fn draw_number_of_workers(out: &mut Output, workers: &[WorkerStatus], is_needed: bool) {
    let alive = workers.iter().filter(|worker| worker.is_living_worker()).count();
    let runs = workers.iter().filter(|worker| worker.is_alive()).count() - alive;
    let words = match (alive, is_needed && runs == 0) {
        (0, false) => "none".to_owned(),
        (0, true) => {
            out.paint(Style::Warn, &nothing_until_worker("starts", workers, CallTarget::of_this_call()))
        }
        (alive, _) => alive.to_string(),
    };
    let words = if runs > 0 { format!("{words}, and {}", counted(runs, "run")) } else { words };
    draw_line(out, "workers", &words);
    let dead = workers.len() - alive - runs;
    if dead > 0 {
        let words = format!("{dead} died; the next {} deals with what it ran", to_type("work", ""));
        draw_line(out, "", &out.paint(Style::Warn, &words));
    }
    for text in workers.iter().filter_map(outdated_text) {
        draw_line(out, "", &out.paint(Style::Warn, &text));
    }
}

/// Draws a line for each job that runs now, with the last line that it wrote.
fn draw_running(out: &mut Output, running: &RunningJobs, now: Timestamp) {
    let mut table = Table::new()
        .column(Column::new("id").right(), |RunningRow { job, .. }: &RunningRow| job.id.to_string())
        .column(Column::new("runs now").name(), |of| of.job.definition.name.clone())
        .column(Column::label(), |of| of.job.shown_label().unwrap_or_default())
        .column(Column::new("runs").right(), |of| attempts_text(&of.job))
        .column(Column::new("for").right(), |of| {
            of.job.running_since().map(|since| human_duration(now.since(since))).unwrap_or_default()
        })
        .column(Column::new("median").right().dropped(1), |of| {
            of.usual.map(human_duration).unwrap_or_default()
        })
        .column(Column::new("last line").text().dropped(2), |of| of.last_line.clone());
    table.rows(&running.rows);
    out.line("");
    table.print(out);
    if running.count > MAX_RUNNING {
        let all = to_type("inspect", "jobs --state running");
        let more = format!("… {} more; {all}", running.count - MAX_RUNNING);
        out.line(out.paint(Style::Faint, &more));
    }
}

/// The number of names for which there is room below what was drawn.
pub fn room_for_names(out: &Output) -> usize {
    // Four lines are for a blank, the heading, the number of further names, and the prompt of the shell.
    out.rows_left().saturating_sub(4).clamp(MIN_NAMES, MAX_NAMES)
}

/// Draws a line for each name and job file that ran lately. There are `all` of them.
pub fn draw_names(
    out: &mut Output,
    names: &[RecentName],
    all: usize,
    schedules: &[StoredSchedule],
    boot_id: &str,
    now: Timestamp,
) {
    if names.is_empty() {
        return;
    }
    let files = FilesOfNames::of(names.iter().map(|recent| (&*recent.name, recent.file.as_deref())));
    let folder = |recent: &RecentName| files.folder(&recent.name, recent.file.as_deref());
    let mut table = Table::new()
        .column(Column::new("ran lately").name(), |recent: &RecentName| recent.name.clone())
        .column_if(
            names.iter().any(|recent| folder(recent).is_some()),
            Column::new("folder").name(),
            |recent| folder(recent).unwrap_or_default(),
        )
        .column(Column::new("last 20 runs").right().marks(), |recent| {
            recent.outcomes.iter().copied().map(mark).collect()
        })
        .column(Column::new("last success").dropped(1), |recent| match recent.last_success {
            Some(at) => relative_time(at, now),
            None if recent.outcomes.is_empty() => String::new(),
            None => "none lately".to_owned(),
        })
        .column(Column::new("next").dropped(2), |recent| {
            let is_own = |row: &StoredSchedule| recent.file.as_ref().is_none_or(|file| *file == row.file);
            match schedules.iter().find(|row| row.name() == recent.name && is_own(row)) {
                Some(row) => next_firing_text(row, boot_id, now),
                None => String::new(),
            }
        });
    table.rows(names);
    out.line("");
    table.print(out);
    if all > names.len() {
        let more = format!("… {}; {}", counted(all - names.len(), "more name"), to_type("inspect", "stats"));
        out.line(out.paint(Style::Faint, &more));
    }
}
