//! Events on a terminal: lines that scroll by, over a bar of the drain and a spinner for each running job.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::canvas::Canvas;
use super::{Event, EventKind, Reporter, text};
use crate::model::JobState;
use crate::text::{Millis, columns_of, hanging_indent, human_duration};

/// Running jobs beyond this many are not shown one by one: they would push the log off a small screen.
const MOST_SPINNERS: usize = 8;

/// Drawings a second.
const RATE: u8 = 10;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(120);

/// How often the clock of the drain is looked at: it shows seconds.
const TICK: Duration = Duration::from_millis(500);

/// Draws progress on standard error.
#[derive(Debug)]
pub struct ProgressLog {
    display: MultiProgress,
    total: ProgressBar,
    running: HashMap<i64, ProgressBar>,
    /// Drawn in ASCII.
    plain: bool,
}

impl ProgressLog {
    /// A display without running jobs, drawn in ASCII where it is to be plain.
    pub fn new(plain: bool) -> Self {
        let display = MultiProgress::with_draw_target(ProgressDrawTarget::term_like_with_hz(
            Box::new(Canvas::default()),
            RATE,
        ));
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} done, {clock}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style.with_key("clock", show_clock);
        let style = if plain { style.progress_chars("#>-") } else { style };
        let total = display.add(ProgressBar::new(0).with_style(style));
        Self { display, total, running: HashMap::new(), plain }
    }

    fn started(&mut self, job_id: i64, label: String) {
        if self.running.len() >= MOST_SPINNERS {
            return;
        }
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {clock}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let style = style.with_key("clock", show_clock);
        let style = if self.plain { style.tick_chars("|/-\\ ") } else { style };
        let spinner = self.display.add(ProgressBar::new_spinner().with_style(style).with_message(label));
        spinner.enable_steady_tick(TURN);
        self.running.insert(job_id, spinner);
    }

    fn ended(&mut self, job_id: i64) {
        if let Some(spinner) = self.running.remove(&job_id) {
            spinner.finish_and_clear();
            self.display.remove(&spinner);
        }
    }
}

impl Reporter for ProgressLog {
    fn tell(&mut self, event: &Event) {
        match &event.what {
            EventKind::JobStarted { job_id, name, runs, budget_number, .. } => {
                self.started(*job_id, format!("job {job_id} {name}, attempt {budget_number} of {runs}"));
            }
            EventKind::AttemptEnded { attempt, .. } => {
                self.ended(attempt.job_id);
                if attempt.next_state != JobState::Pending {
                    self.total.inc(1);
                }
            }
            EventKind::AttemptLost { job_id, .. } => self.ended(*job_id),
            EventKind::JobExpired { .. } | EventKind::JobCancelled { .. } => self.total.inc(1),
            EventKind::WorkerStopped { .. } => {
                self.total.finish_and_clear();
                let _ = self.display.clear();
            }
            // Not before: until a worker has started it may have no thread but its first.
            EventKind::WorkerStarted { .. } => self.total.enable_steady_tick(TICK),
            EventKind::WorkerStopping { .. } | EventKind::Notice(_) => {}
        }
        let stderr = io::stderr();
        let lines = hanging_indent(&text::prefix(event), &text::words(&event.what), columns_of(&stderr));
        // A terminal that went away must not stop the work.
        self.display.suspend(|| {
            let _ = writeln!(&stderr, "{}", lines.join("\n"));
        });
    }

    fn wants_remaining(&self) -> bool {
        true
    }

    fn remaining(&mut self, unfinished: u64) {
        self.total.set_length(self.total.position() + unfinished);
    }
}

impl Drop for ProgressLog {
    /// A worker that ends in trouble tells of no end, and leaves nothing drawn either.
    fn drop(&mut self) {
        for spinner in self.running.values().chain([&self.total]) {
            spinner.finish_and_clear();
        }
    }
}

/// A span in whole seconds: what is drawn again and again must not flicker.
fn clock(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => human_duration(Millis(seconds * 1_000)),
    }
}

fn show_clock(state: &ProgressState, out: &mut dyn fmt::Write) {
    let _ = out.write_str(&clock(state.elapsed()));
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
