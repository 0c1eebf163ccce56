//! Events on a terminal: lines that scroll by, above a bar for a worker that ends by itself.

use std::fmt;
use std::io;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::log;
use super::reporter::Reporter;
use super::screen::Screen;
use crate::model::{Event, JobState};
use crate::stdio::Waiting;
use crate::text::{Millis, Timestamp, hanging_indent, human_duration};

/// The most often that anything is drawn.
const DRAWN_PER_SECOND: u8 = 20;

/// How often the clock of the bar is drawn; it shows whole seconds.
const CLOCK_TICK: Duration = Duration::from_millis(500);

/// Writes to standard error.
#[derive(Debug)]
pub struct TerminalLog {
    /// Counts the jobs that this worker has finished.
    bar: Option<ProgressBar>,
    worker_id: String,
    /// Paints a word by the state or phase of a job, which comes first.
    paint: fn(&str, &str) -> String,
}

impl TerminalLog {
    pub fn new(paint: fn(&str, &str) -> String) -> Self {
        Self { bar: None, worker_id: String::new(), paint }
    }

    /// Adds a bar that shows how many of the jobs are done.
    #[must_use]
    pub fn with_bar(mut self, ascii_only: bool) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(Screen::default()), DRAWN_PER_SECOND);
        let style = bar_style();
        let style = if ascii_only { style.progress_chars("#>-") } else { style };
        self.bar = Some(ProgressBar::with_draw_target(Some(0), target).with_style(style));
        self
    }

    /// The words of an event, with the word of the outcome in its colour.
    fn painted(&self, event: &Event, words: String) -> String {
        let Some((title, status)) = log::title_and_status(event) else { return words };
        let Some(rest) = words.strip_prefix(&title) else { return words };
        let (word, rest) = rest.split_at(rest.find([' ', ',', ':']).unwrap_or(rest.len()));
        format!("{title}{}{rest}", (self.paint)(status, word))
    }

    /// Prints a line, above the bar if there is one.
    fn print(&self, time: Timestamp, words: &str) {
        let lines = hanging_indent(&log::prefix(time), words, Term::stderr().size().1.into());
        let write = || {
            // A closed terminal must not stop the work.
            let _ = io::Write::write_all(&mut Waiting(io::stderr()), (lines.join("\n") + "\n").as_bytes());
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn move_bar(&mut self, bar: &ProgressBar, event: &Event) {
        match event {
            // No thread may exist before the worker has started.
            Event::WorkerStarted { worker_id, .. } => {
                self.worker_id.clone_from(worker_id);
                bar.enable_steady_tick(CLOCK_TICK);
            }
            // This worker may have recorded the attempt of a dead one.
            Event::AttemptEnded(ended)
                if ended.attempt.next_state != JobState::Pending
                    && ended.attempt.worker_id.as_ref() == Some(&self.worker_id) =>
            {
                bar.inc(1);
            }
            Event::Heartbeat { unfinished: Some(unfinished), .. } => {
                bar.set_length(bar.position() + unfinished);
            }
            Event::WorkerStopped { .. } => bar.finish_and_clear(),
            _ => {}
        }
    }
}

impl Reporter for TerminalLog {
    fn report(&mut self, time: Timestamp, event: &Event) {
        if let Some(bar) = self.bar.clone() {
            self.move_bar(&bar, event);
        }
        if let Some(words) = log::words(event) {
            self.print(time, &self.painted(event, words));
        }
    }

    fn wants_heartbeats(&self) -> bool {
        self.bar.is_some()
    }
}

impl Drop for TerminalLog {
    /// Wipes the bar also after an error, when no `WorkerStopped` is reported.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar_style() -> ProgressStyle {
    // indicatif leaves the cursor at the end of a full line. If the terminal echoes `^C` there, everything moves up by a
    // line, and the first line of the bar is never wiped. That line is blank, so nobody sees it.
    let style = ProgressStyle::with_template("\n{bar:20} {pos}/{len} done, {clock}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("clock", |state: &ProgressState, out: &mut dyn fmt::Write| {
        // indicatif's own text takes everything.
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
