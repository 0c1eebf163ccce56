//! The lists of `inspect`: a table each, or a JSON object a row. Each function is true if there is a row.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::job::exit_text;
use super::schedule::{ScheduleRow, next_firing_text, random_delay_text, times_text, until_text};
use crate::call_target::{CallTarget, to_type};
use crate::model::{ErrorCode, JobState, Limits, decision_text};
use crate::store::{
    self, AttemptRow, ChangedFile, FileChange, JobRow, Leftovers, Liveness, NameStats, QueueRow,
    StoredSchedule, WorkerStatus,
};
use crate::text::{Timestamp, known_duration, local_time, relative_time, safe_line, shown_line};
use crate::view::advice::folders::FilesOfNames;
use crate::view::advice::{left_process, no_worker_text};
use crate::view::json::{
    job_json, listed_attempt_json, listed_worker_json, queue_json, schedule_json, stats_json,
    time_to_come_json,
};
use crate::view::terminal::{Column, Output, Style, Table};

/// A row as the store reads it.
type ReadRow<R> = store::Result<R>;

pub fn jobs(
    out: &mut Output,
    rows: impl Iterator<Item = ReadRow<JobRow>>,
    limit: usize,
    now: Timestamp,
) -> store::Result<bool> {
    let table = Table::new()
        .column(Column::new("id").right(), |job: &JobRow| job.id.to_string())
        .column(Column::new("name").name(), |job| job.definition.name.clone())
        .column(Column::label(), |job| job.shown_label().unwrap_or_default())
        .column(Column::folded("jobs"), |_| String::new())
        .column(Column::new("queue").name().dropped(1), |job| job.definition.queue.clone())
        .column(Column::new("state").status(), JobRow::shown_status)
        .column(Column::new("runs").right(), attempts_text)
        .column(Column::new("when"), |job| {
            relative_time(if job.phase.is_some() { job.run_at } else { job.changed_at }, now)
        })
        .column(Column::new("what").text().dropped(2), what_happened);
    // Pending jobs of one file whose rows look alike share a row. Of those that run or have ended, each id matters.
    let waiting = |job: &JobRow| job.phase.map(|_| job.job_file.unwrap_or_default());
    let list = List { folds: waiting, ..List::new(table, job_json, "no jobs") };
    list.show(out, rows, limit, "newest")
}

/// Lists the dead letters that were resolved, with the note of how.
pub fn resolved(
    out: &mut Output,
    rows: impl Iterator<Item = ReadRow<JobRow>>,
    limit: usize,
    now: Timestamp,
) -> store::Result<bool> {
    let table = Table::new()
        .column(Column::new("id").right(), |job: &JobRow| job.id.to_string())
        .column(Column::new("name").name(), |job| job.definition.name.clone())
        .column(Column::label(), |job| job.shown_label().unwrap_or_default())
        .column(Column::new("runs").right(), attempts_text)
        .column(Column::new("died").dropped(1), |job| relative_time(job.changed_at, now))
        .column(Column::new("resolved"), |job| since(job.resolved_at, now))
        .column(Column::new("code").dropped(2), |job| {
            job.error_code.as_ref().map(ErrorCode::to_string).unwrap_or_default()
        })
        // Shortened in the middle, because the end of `replaced by job 8` matters.
        .column(Column::new("how").name(), |job| {
            job.resolution.as_deref().map(safe_line).unwrap_or_default()
        });
    List::new(table, job_json, "no dead letter was resolved").show(out, rows, limit, "newest")
}

pub fn attempts(
    out: &mut Output,
    rows: impl Iterator<Item = ReadRow<AttemptRow>>,
    limit: usize,
    now: Timestamp,
) -> store::Result<bool> {
    let table = Table::new()
        .column(Column::new("attempt"), |AttemptRow { attempt, .. }: &AttemptRow| {
            format!("{}.{}", attempt.job_id, attempt.number)
        })
        .column(Column::new("name").name(), |row| row.name.clone())
        .column(Column::label(), |row| row.label.clone().unwrap_or_default())
        .column(Column::new("outcome").status(), |row| row.attempt.shown_outcome())
        .column(Column::new("ended").dropped(1), |row| exit_text(&row.attempt).unwrap_or_default())
        .column(Column::new("took").right().dropped(2), |row| known_duration(row.attempt.duration))
        .column(Column::new("when"), |row| relative_time(row.attempt.finished_at, now))
        .column(Column::new("decision").text().dropped(3), |row| {
            decision_text(&row.attempt, row.max_attempts)
        });
    let list = List::new(table, listed_attempt_json, "no ended attempts");
    list.show(out, rows, limit, "newest")
}

/// A list: a table on the screen, or a JSON object a row.
struct List<'a, R> {
    table: Table<'a, R>,
    json: fn(&R) -> Value,
    /// The words on the screen if there is no row.
    nothing: &'a str,
    /// The group of a row. Rows of one group that look the same are one on the screen.
    folds: fn(&R) -> Option<i64>,
}

impl<'a, R> List<'a, R> {
    fn new(table: Table<'a, R>, json: fn(&R) -> Value, nothing: &'a str) -> Self {
        Self { table, json, nothing, folds: |_| None }
    }

    /// Shows at most `limit` rows. If there are more, the screen says that these are the newest, or whatever `which` is. True
    /// if there is a row.
    ///
    /// JSON is printed row by row until the reader closes the pipe, because a list may be too long for the memory.
    fn show(
        mut self,
        out: &mut Output,
        rows: impl IntoIterator<Item = ReadRow<impl Borrow<R>>>,
        limit: usize,
        which: &str,
    ) -> store::Result<bool> {
        let mut shown = 0;
        let mut rows = rows.into_iter();
        while shown < limit
            && !out.is_closed()
            && let Some(row) = rows.next().transpose()?
        {
            if out.json {
                out.object(&(self.json)(row.borrow()));
            } else if let Some(group) = (self.folds)(row.borrow()) {
                self.table.folded_row(row.borrow(), group);
            } else {
                self.table.row(row.borrow());
            }
            shown += 1;
        }
        if out.json {
            return Ok(shown > 0);
        }
        if shown == 0 {
            out.remark(self.nothing);
        } else {
            self.table.print(out);
        }
        if rows.next().is_some() {
            out.line(format!("the {which} {shown}; --limit 0 shows all"));
        }
        Ok(shown > 0)
    }

    /// Shows rows that no limit cuts.
    fn show_all(
        self,
        out: &mut Output,
        rows: impl IntoIterator<Item = impl Borrow<R>>,
    ) -> store::Result<bool> {
        self.show(out, rows.into_iter().map(Ok), usize::MAX, "")
    }
}

/// The last attempt of the job's budget, and the size of the budget: `1/3`.
pub(super) fn attempts_text(job: &JobRow) -> String {
    format!("{}/{}", job.last_of_budget(), job.definition.policy.max_attempts())
}

/// The code and the message of the job's last failure, why it is dead, and whether that was resolved.
fn what_happened(job: &JobRow) -> String {
    let code = job.error_code.as_ref().or(job.last_error_code.as_ref()).map(ToString::to_string);
    let reason = job.dead_reason.map(|reason| reason.to_string());
    let message = job.last_message.as_deref().map(shown_line);
    let replaced = job.replaced_by.filter(|_| job.state != JobState::Dead);
    let resolved = job.resolved_at.map(|_| match replaced {
        Some(by) => format!("replaced by job {by}"),
        None => "resolved".to_owned(),
    });
    [resolved, code, message, reason].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn since(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map(|at| relative_time(at, now)).unwrap_or_default()
}

/// Lists queues.
pub fn queues(out: &mut Output, queues: &[QueueRow], now: Timestamp) -> store::Result<bool> {
    let nothing = "no queue has unfinished jobs, is paused or is limited";
    List::new(queue_table(queues, now), queue_json, nothing).show_all(out, queues)
}

/// A table with the columns that these queues need, still without rows.
fn queue_table(queues: &[QueueRow], now: Timestamp) -> Table<'static, QueueRow> {
    let is_one_blocked = queues.iter().any(|queue| queue.counts.blocked > 0);
    Table::new()
        .column(Column::new("queue").name(), |queue: &QueueRow| queue.name.clone())
        .column(Column::new("ready").right(), |queue| queue.counts.ready.to_string())
        .column(Column::new("scheduled").right().dropped(1), |queue| queue.counts.scheduled.to_string())
        .column(Column::new("retrying").right().dropped(2), |queue| queue.counts.retrying.to_string())
        .column_if(is_one_blocked, Column::new("blocked").right().dropped(3), |queue| {
            queue.counts.blocked.to_string()
        })
        .column(Column::new("running").right(), |queue| {
            let most = queue.limits.max_running.map(|most| format!(" of {most}")).unwrap_or_default();
            format!("{}{most}", queue.counts.running)
        })
        .column(Column::new(""), move |queue| {
            let limits = Limits { max_running: None, ..queue.limits };
            let limits = (!limits.is_none()).then(|| limits.to_string());
            let paused =
                queue.pause.or(queue.pause_of_all).map(|pause| format!("paused{}", until_text(pause, now)));
            paused.into_iter().chain(limits).collect::<Vec<_>>().join(", ")
        })
}

/// Draws the table of queues for the overview.
pub(super) fn draw_queues(out: &mut Output, queues: &[QueueRow], now: Timestamp) {
    let mut table = queue_table(queues, now);
    table.rows(queues);
    table.print(out);
}

/// Lists workers, and below the table what those that died have left.
pub fn workers(
    out: &mut Output,
    workers: &[WorkerStatus],
    leftovers: &[Leftovers],
    now: Timestamp,
) -> store::Result<bool> {
    let table = Table::new()
        .column(Column::new("worker"), |worker: &WorkerStatus| worker.row.name.clone())
        .column(Column::new("pid").right().dropped(2), |worker| worker.row.pid.to_string())
        .column(Column::new("state").status(), |worker| {
            let state = match worker.liveness {
                Liveness::Alive if worker.row.is_stopping => "stopping",
                Liveness::Alive => "alive",
                Liveness::Suspended => "suspended",
                Liveness::Dead | Liveness::OfOriginal => "dead",
            };
            state.to_owned()
        })
        .column(Column::new("running").right(), |worker| {
            format!("{} of {}", worker.row.running, worker.row.slots)
        })
        .column(Column::new("started").dropped(1), |worker| relative_time(worker.row.started_at, now))
        .column(Column::new("queues").text(), |worker| match (&worker.row.queues, worker.row.run_job_id) {
            (None, _) => "all".to_owned(),
            (Some(_), Some(job)) => format!("run of job {job}"),
            (Some(queues), None) => queues.join(", "),
        });
    let nothing = &no_worker_text(None, &[], CallTarget::of_this_call()).unwrap_or_default();
    let found = List::new(table, listed_worker_json, nothing).show_all(out, workers)?;
    if !out.json && workers.iter().any(|worker| worker.liveness == Liveness::Suspended) {
        out.line("a suspended worker is alive: its jobs go on, timeouts and cancels wait for it");
    }
    if !out.json {
        for text in workers.iter().filter_map(outdated_text) {
            out.prose("", &text);
        }
    }
    for process in leftovers.iter().flat_map(|left| &left.processes) {
        out.prose("", &format!("could not be ended yet: {}", left_process(process)));
    }
    Ok(found)
}

/// Says so of a worker that still runs the program of before an upgrade. A `run` ends by itself.
pub fn outdated_text(worker: &WorkerStatus) -> Option<String> {
    let what = "was replaced after its start; until it is restarted, it runs the old one";
    let is_told = worker.is_outdated && !worker.row.is_foreground();
    is_told.then(|| format!("the program of worker {} {what}", worker.row.pid))
}

/// Lists schedules, and below the table the job files that have changed since they were applied. `is_filtered` says that only
/// schedules of a name were wanted.
pub fn schedules(
    out: &mut Output,
    rows: &[ScheduleRow],
    changed: &[ChangedFile],
    is_filtered: bool,
    boot_id: &str,
    now: Timestamp,
) -> store::Result<bool> {
    let local = |at: Option<Timestamp>| at.map(local_time).unwrap_or_default();
    let next = |row: &ScheduleRow| row.schedule.next_at.filter(|_| !row.schedule.is_paused());
    let last = |row: &ScheduleRow| row.schedule.last.map(|(at, _)| at);
    let table = Table::new()
        .column(Column::new("schedule").name(), |row: &ScheduleRow| row.schedule.name().to_owned())
        .column(Column::new("times").text().dropped(5), |ScheduleRow { schedule, .. }| {
            let times = times_text(&schedule.text, schedule.zone.as_deref(), now);
            format!("{times}{}", random_delay_text(&schedule.text))
        })
        .column(Column::new("next"), |row| next_firing_text(&row.schedule, boot_id, now))
        .column(Column::new("next at").dropped(3), |row| local(next(row)))
        .column(Column::new("last"), |row| since(last(row), now))
        .column(Column::new("last at").dropped(1), |row| local(last(row)))
        .column(Column::new("job").right().dropped(4), |row| {
            row.schedule.last.map(|(_, id)| id.to_string()).unwrap_or_default()
        })
        .column(Column::new("state").status().dropped(6), |row| row.last_status.clone().unwrap_or_default())
        .column(Column::new("skipped").right().dropped(2), |row| row.schedule.skipped.to_string());
    let nothing = if is_filtered {
        "no schedules".to_owned()
    } else {
        format!("there is no schedule; {} takes them from the job file", to_type("apply", ""))
    };
    let json = |row: &ScheduleRow| schedule_json(&row.schedule);
    let found = List::new(table, json, &nothing).show_all(out, rows)?;
    note_changed_files(out, changed);
    Ok(found)
}

/// Names the schedules whose job file has changed since it was applied, or cannot be read now.
fn note_changed_files(out: &mut Output, changed: &[ChangedFile]) {
    let apply = |path: &str| CallTarget::of_this_call().with_file(path).to_type("apply", "");
    for ChangedFile { path, change, schedules, .. } in changed {
        let names = schedules.join(", ");
        let words = match change {
            FileChange::Edited => {
                format!("{names}: {path} has changed since; {} takes it as it is", apply(path))
            }
            FileChange::NotRead(why) => {
                format!("{path} is not read, because {why}; its schedules go on as they were applied")
            }
            FileChange::Zone(zone) => {
                format!("{names}: the time zone of this machine is {zone} now; {} takes it", apply(path))
            }
            FileChange::EditedAndZone(zone) => format!(
                "{names}: {path} has changed since, and the time zone of this machine is {zone} now; {} takes both",
                apply(path)
            ),
            FileChange::NamelessZone(zone) => format!(
                "{path} cannot be applied, because the time zone of this machine, {zone}, has no IANA name; its schedules go on \
                 as they were applied"
            ),
            FileChange::Gone | FileChange::Unusable => {
                format!("{path} cannot be used now; its schedules go on as they were applied")
            }
        };
        out.prose("", &out.paint(Style::Warn, &safe_line(&words)));
    }
}

/// A time at which a schedule fires.
struct TimeToCome<'a> {
    schedule: &'a StoredSchedule,
    at: Timestamp,
}

/// Lists each time before `until` at which one of these schedules fires, the next first.
pub fn times_to_come(
    out: &mut Output,
    schedules: &[StoredSchedule],
    until: Timestamp,
    limit: usize,
    now: Timestamp,
) -> store::Result<bool> {
    let table = Table::new()
        .column(Column::new("at"), |time: &TimeToCome| local_time(time.at))
        .column(Column::new("when"), |time| relative_time(time.at, now))
        .column(Column::new("schedule").name(), |time| time.schedule.name().to_owned())
        .column(Column::new("times").text().dropped(1), |TimeToCome { schedule, .. }| {
            let times = times_text(&schedule.text, schedule.zone.as_deref(), now);
            format!("{times}{}", random_delay_text(&schedule.text))
        });
    let json = |time: &TimeToCome| time_to_come_json(time.schedule.name(), time.at);
    let nothing = "no schedule fires in that time";
    // One time of each schedule is looked at in advance, because there may be any number of them.
    let mut next: BTreeSet<(Timestamp, usize)> = BTreeSet::new();
    let times = |index: usize| schedules[index].times().ok();
    next.extend(schedules.iter().enumerate().filter_map(|(index, row)| Some((row.next_to_come()?, index))));
    let rows = std::iter::from_fn(|| {
        let (at, index) = next.pop_first().filter(|(at, _)| *at < until)?;
        let after = times(index).and_then(|times| times.from(Some(at)).nth(1));
        next.extend(after.map(|after| (after, index)));
        Some(Ok(TimeToCome { schedule: &schedules[index], at }))
    });
    List::new(table, json, nothing).show(out, rows, limit, "next")
}

/// Lists how often the jobs of each name and job file succeed, how long they run and how long they wait for a slot. `which` says how they
/// are sorted.
pub fn stats(
    out: &mut Output,
    stats: &[NameStats],
    limit: usize,
    which: &str,
    now: Timestamp,
) -> store::Result<bool> {
    let files = FilesOfNames::of(stats.iter().map(|of| (&*of.name, of.file.as_deref())));
    let folder = |of: &NameStats| files.folder(&of.name, of.file.as_deref());
    let table = Table::new()
        .column(Column::new("name").name(), |of: &NameStats| of.name.clone())
        .column_if(stats.iter().any(|of| folder(of).is_some()), Column::new("folder").name(), |of| {
            folder(of).unwrap_or_default()
        })
        .column(Column::new("jobs").right().dropped(10), |of| of.jobs().to_string())
        .column(Column::new("ok").right(), |of| of.success_rate().map(percent).unwrap_or_default())
        .column_if(stats.iter().any(|of| of.warnings > 0), Column::new("warned").right().dropped(6), |of| {
            of.warnings.to_string()
        })
        .column(Column::new("tries").right().dropped(7), |of| {
            of.attempts_per_success().map(|tries| format!("{tries:.1}")).unwrap_or_default()
        })
        .column(Column::new("p50").right().dropped(4), |of| known_duration(of.runs.percentile(50)))
        .column(Column::new("p95").right().dropped(8), |of| known_duration(of.runs.percentile(95)))
        .column(Column::new("max").right().dropped(5), |of| known_duration(of.runs.max()))
        .column(Column::new("wait50").right().dropped(3), |of| known_duration(of.waits.percentile(50)))
        .column(Column::new("wait95").right().dropped(6), |of| known_duration(of.waits.percentile(95)))
        .column(Column::new("cpu95").right().dropped(1), |of| known_duration(of.cpu.percentile(95)))
        .column(Column::new("memory95").right().dropped(2), |of| {
            of.memory.percentile(95).map(|peak| peak.to_string()).unwrap_or_default()
        })
        .column(Column::new("last success").dropped(9), |of| since(of.last_success, now))
        .column(Column::new("last failure").text(), |of| {
            let last = of.last_failure.as_ref();
            last.map(|(at, code)| format!("{}, {code}", relative_time(*at, now))).unwrap_or_default()
        });
    let list = List::new(table, stats_json, "no ended jobs");
    let found = list.show(out, stats.iter().map(Ok), limit, which)?;
    // On a narrow screen the table drops columns, and the legend would explain what is not there.
    if found && !out.json && out.width() >= 80 {
        let words = "jobs: ended ones; tries: attempts per success; p50, p95, max: run time; wait: until started; cpu, memory: of an attempt";
        out.aside("", words);
    }
    Ok(found)
}

/// A rate as `98%`. It is 100% only if nothing failed, and 0% only if nothing succeeded.
fn percent(rate: f64) -> String {
    let rounded = (rate * 100.0).round();
    let shown = if rate < 1.0 && rate > 0.0 { rounded.clamp(1.0, 99.0) } else { rounded };
    format!("{shown}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_none_mean_what_they_say() {
        let shown = [0.0, 0.001, 0.5, 0.994, 0.999, 1.0].map(percent);
        assert_eq!(shown, ["0%", "1%", "50%", "99%", "99%", "100%"]);
    }
}
