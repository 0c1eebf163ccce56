//! A progress bar on standard error, where that is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::style::{ascii_only, can_move_cursor};

/// Whether standard error is a terminal on which bars can be drawn.
pub fn can_draw() -> bool {
    io::stderr().is_terminal() && can_move_cursor()
}

/// A bar appears only after this time, because shorter work needs none.
const SHOW_AFTER: Duration = Duration::from_millis(300);

pub struct Bar {
    /// None if none can be drawn, or with `-q`.
    bar: Option<ProgressBar>,
    /// When the work began; none once the bar is shown.
    hidden_since: Option<Instant>,
}

impl Bar {
    /// A bar with these words behind it, in which `{pos}` and `{len}` stand for numbers.
    pub fn new(quiet: bool, words: &str) -> Self {
        if quiet || !can_draw() {
            return Self { bar: None, hidden_since: None };
        }
        let template = format!("{{bar:24}} {words}, {{eta}} left");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = if ascii_only() { style.progress_chars("#>-") } else { style };
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        Self { bar: Some(bar.with_style(style)), hidden_since: Some(Instant::now()) }
    }

    /// Whether the bar is shown, or about to be.
    pub const fn is_visible(&self) -> bool {
        self.bar.is_some()
    }

    pub fn set(&mut self, done: u64, all: u64) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(all);
        bar.set_position(done);
        if self.hidden_since.is_some_and(|since| since.elapsed() >= SHOW_AFTER) {
            self.hidden_since = None;
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
