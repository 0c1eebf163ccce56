//! Events on a terminal: lines that scroll by, above a bar of the whole and a spinner for each running job.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::{Event, EventKind, Reporter, human};
use crate::model::JobState;
use crate::text::{Millis, columns_of, hanging_indent, human_duration};

/// Running jobs beyond this many are not shown one by one: they would push the log off a small screen.
const MAX_SPINNERS: usize = 8;

const SPINNER_TICK: Duration = Duration::from_millis(120);

/// The clock of the whole shows seconds.
const CLOCK_TICK: Duration = Duration::from_millis(500);

/// Draws on standard error.
#[derive(Debug)]
pub struct ProgressLog {
    display: MultiProgress,
    /// Counts the jobs that this worker brought to their end.
    total: ProgressBar,
    worker_id: String,
    /// By job id.
    spinners: HashMap<i64, ProgressBar>,
    ascii_only: bool,
}

impl ProgressLog {
    pub fn new(ascii_only: bool) -> Self {
        let display = MultiProgress::new();
        // The library leaves the cursor at the end of a full line, so that an echoed `^C` moves everything up by a line:
        // its first line is not wiped then. It is blank.
        let style = style("\n{bar:20} {pos}/{len} done, {clock}");
        let style = if ascii_only { style.progress_chars("#>-") } else { style };
        let total = display.add(ProgressBar::new(0).with_style(style));
        Self { display, total, worker_id: String::new(), spinners: HashMap::new(), ascii_only }
    }

    fn add_spinner(&mut self, job_id: i64, label: String) {
        if self.spinners.len() >= MAX_SPINNERS {
            return;
        }
        let style = style("{spinner} {wide_msg} {clock}");
        let style = if self.ascii_only { style.tick_chars("|/-\\ ") } else { style };
        let spinner = self.display.add(ProgressBar::new_spinner().with_style(style).with_message(label));
        spinner.enable_steady_tick(SPINNER_TICK);
        self.spinners.insert(job_id, spinner);
    }

    fn remove_spinner(&mut self, job_id: i64) {
        if let Some(spinner) = self.spinners.remove(&job_id) {
            spinner.finish_and_clear();
            self.display.remove(&spinner);
        }
    }

    /// Prints a line above everything that is drawn.
    fn print(&self, event: &Event, words: &str) {
        let stderr = io::stderr();
        let lines = hanging_indent(&human::prefix(event), words, columns_of(&stderr));
        // A closed terminal must not stop the work.
        self.display.suspend(|| {
            let _ = io::Write::write_all(&mut stderr.lock(), (lines.join("\n") + "\n").as_bytes());
        });
    }
}

impl Reporter for ProgressLog {
    fn report(&mut self, event: &Event) {
        match &event.kind {
            EventKind::JobStarted { job_id, name, runs, budget_number, .. } => {
                self.add_spinner(*job_id, format!("job {job_id}, run {budget_number} of {runs}: {name}"));
            }
            EventKind::AttemptEnded { attempt, .. } => {
                self.remove_spinner(attempt.job_id);
                // An attempt of a dead worker may be of a queue that this worker does not look at.
                if attempt.next_state != JobState::Pending && attempt.worker_id == self.worker_id {
                    self.total.inc(1);
                }
            }
            EventKind::AttemptLost { job_id, .. } => self.remove_spinner(*job_id),
            EventKind::Heartbeat { unfinished: Some(unfinished) } => {
                self.total.set_length(self.total.position() + unfinished);
            }
            EventKind::WorkerStopped { .. } => self.total.finish_and_clear(),
            // No thread may exist before the worker has started.
            EventKind::WorkerStarted { worker_id, .. } => {
                self.worker_id.clone_from(worker_id);
                self.total.enable_steady_tick(CLOCK_TICK);
            }
            EventKind::JobExpired { .. }
            | EventKind::JobCancelled { .. }
            | EventKind::WorkerStopping { .. }
            | EventKind::ScheduleFired { .. }
            | EventKind::Notice(_)
            | EventKind::Heartbeat { unfinished: None } => {}
        }
        if let Some(words) = human::words(&event.kind) {
            self.print(event, &words);
        }
    }

    fn wants_heartbeats(&self) -> bool {
        true
    }
}

impl Drop for ProgressLog {
    /// A worker that fails reports no end: wipe what is drawn then, too.
    fn drop(&mut self) {
        for bar in self.spinners.values().chain([&self.total]) {
            bar.finish_and_clear();
        }
    }
}

/// The style of a bar or spinner, in which `{clock}` is the time since its start.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("clock", |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&clock(state.elapsed()));
    })
}

/// A span in whole seconds: what is drawn again and again must not flicker.
fn clock(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => human_duration(Millis(seconds * 1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_whole_seconds() {
        assert_eq!(clock(Duration::from_millis(59_999)), "59 s");
        assert_eq!(clock(Duration::from_secs(200)), "3m 20s");
    }
}
