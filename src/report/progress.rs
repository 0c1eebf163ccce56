//! Events on a terminal: lines that scroll by, above a bar of the whole and a spinner for each running job.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::screen::Screen;
use super::{Reporter, log};
use crate::model::{Event, JobState, job_title};
use crate::text::{Millis, Timestamp, hanging_indent, human_duration};

/// Running jobs beyond this many are not shown one by one: they would push the log off a small screen.
const MAX_SPINNERS: usize = 8;

const SPINNER_TICK: Duration = Duration::from_millis(120);

/// The most often that anything is drawn.
const DRAWN_PER_SECOND: u8 = 20;

/// How often the clock of the bar is drawn; it shows whole seconds.
const CLOCK_TICK: Duration = Duration::from_millis(500);

/// Draws on standard error.
#[derive(Debug)]
pub struct ProgressLog {
    display: MultiProgress,
    /// Counts the jobs that this worker has finished.
    total: ProgressBar,
    worker_id: String,
    /// By job id.
    spinners: HashMap<i64, ProgressBar>,
    ascii_only: bool,
    /// Paints a word by the state or phase of a job, which comes first.
    paint: fn(&str, &str) -> String,
}

impl ProgressLog {
    pub fn new(ascii_only: bool, paint: fn(&str, &str) -> String) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(Screen::default()), DRAWN_PER_SECOND);
        let display = MultiProgress::with_draw_target(target);
        // indicatif leaves the cursor at the end of a full line. If the terminal echoes `^C` there, everything moves up by a
        // line, and the first line of the bar is never wiped. That line is blank, so nobody sees it.
        let style = style("\n{bar:20} {pos}/{len} done, {clock}");
        let style = if ascii_only { style.progress_chars("#>-") } else { style };
        let total = display.add(ProgressBar::new(0).with_style(style));
        Self { display, total, worker_id: String::new(), spinners: HashMap::new(), ascii_only, paint }
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

    /// The words of an event, with the word of the outcome in its colour.
    fn painted(&self, event: &Event, words: String) -> String {
        let Some((title, status)) = log::title_and_status(event) else { return words };
        let Some(rest) = words.strip_prefix(&title) else { return words };
        let (word, rest) = rest.split_at(rest.find([' ', ',', ':']).unwrap_or(rest.len()));
        format!("{title}{}{rest}", (self.paint)(status, word))
    }

    /// Prints a line above everything that is drawn.
    fn print(&self, time: Timestamp, words: &str) {
        let stderr = io::stderr();
        let lines = hanging_indent(&log::prefix(time), words, Term::stderr().size().1.into());
        // A closed terminal must not stop the work.
        self.display.suspend(|| {
            let _ = io::Write::write_all(&mut stderr.lock(), (lines.join("\n") + "\n").as_bytes());
        });
    }
}

impl Reporter for ProgressLog {
    fn report(&mut self, time: Timestamp, event: &Event) {
        match event {
            // No thread may exist before the worker has started.
            Event::WorkerStarted { worker_id, .. } => {
                self.worker_id.clone_from(worker_id);
                self.total.enable_steady_tick(CLOCK_TICK);
            }
            Event::JobStarted { job_id, name, label, max_attempts, attempt_in_budget, .. } => {
                let title = job_title(name, label.shown.as_deref());
                self.add_spinner(
                    *job_id,
                    format!("job {job_id}, attempt {attempt_in_budget} of {max_attempts}: {title}"),
                );
            }
            Event::AttemptEnded(ended) => {
                let attempt = &ended.attempt;
                self.remove_spinner(attempt.job_id);
                // This worker may have recorded the attempt of a dead one.
                if attempt.next_state != JobState::Pending
                    && attempt.worker_id.as_ref() == Some(&self.worker_id)
                {
                    self.total.inc(1);
                }
            }
            Event::AttemptLost(end) => self.remove_spinner(end.job_id),
            Event::Heartbeat { unfinished: Some(unfinished), .. } => {
                self.total.set_length(self.total.position() + unfinished);
            }
            Event::WorkerStopped { .. } => self.total.finish_and_clear(),
            _ => {}
        }
        if let Some(words) = log::words(event) {
            self.print(time, &self.painted(event, words));
        }
    }

    fn wants_heartbeats(&self) -> bool {
        true
    }
}

impl Drop for ProgressLog {
    /// Wipes what is drawn also after an error, when no `WorkerStopped` is reported.
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

/// A span in whole seconds, because parts of a second would flicker.
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
