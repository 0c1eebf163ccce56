//! Bars of progress: on standard error, only where a person looks on, and only for what takes a while.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::Global;
use crate::report::Canvas;

/// What is done sooner needs no bar.
const SOON: Duration = Duration::from_millis(300);

/// Drawings a second.
const RATE: u8 = 10;

/// A bar that shows itself when it has taken a while.
pub struct Bar {
    /// None where nobody would see it.
    drawn: Option<ProgressBar>,
    /// When it began, until it is shown.
    hidden_since: Option<Instant>,
}

impl Bar {
    /// A bar with these words behind it, in which `{pos}` and `{len}` stand for numbers.
    pub fn new(global: &Global, words: &str) -> Self {
        if global.quiet || !draws(&io::stderr()) {
            return Self { drawn: None, hidden_since: None };
        }
        let form = format!("{{bar:24}} {words}, {{eta}} left");
        let style = ProgressStyle::with_template(&form).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = if super::screen::is_plain() { style.progress_chars("#>-") } else { style };
        Self { drawn: Some(bar.with_style(style)), hidden_since: Some(Instant::now()) }
    }

    /// Would anybody see it?
    pub const fn is_watched(&self) -> bool {
        self.drawn.is_some()
    }

    /// So much of so much is done.
    pub fn set(&mut self, done: u64, all: u64) {
        let Some(drawn) = &self.drawn else { return };
        drawn.set_length(all);
        drawn.set_position(done);
        if self.hidden_since.is_some_and(|since| since.elapsed() >= SOON) {
            self.hidden_since = None;
            let canvas = Box::new(Canvas::default());
            drawn.set_draw_target(ProgressDrawTarget::term_like_with_hz(canvas, RATE));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(drawn) = &self.drawn {
            drawn.finish_and_clear();
        }
    }
}

/// A terminal that can move its cursor.
pub fn draws(stderr: &io::Stderr) -> bool {
    stderr.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
