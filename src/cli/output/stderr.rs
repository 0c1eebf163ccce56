//! Standard error: warnings and errors, and a progress bar where it is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::style::{ascii_only, can_move_cursor, in_ascii};
use crate::cli::args::Global;
use crate::cli::error::CliError;
use crate::text::{hanging_indent, safe_block, safe_json};

/// Whether errors and notes are printed as JSON. It is set once, because they may come from anywhere.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Prints errors and notes as JSON from now on.
pub fn print_errors_as_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// Prints an error: in words, or with `--json` as one object.
pub fn print_error(error: &CliError) {
    let CliError { status, message, hint, mistakes } = error;
    if !AS_JSON.load(Ordering::Relaxed) {
        return print(message, hint.as_deref());
    }
    let mut object = json!({ "error": message, "hint": hint, "status": status.0 });
    if !mistakes.is_empty() {
        // The message shows the lines of the file, which no program reads.
        let headline = message.split("\n\n").next().unwrap_or_default();
        let told = mistakes.iter().map(|it| format!("{}:{}:{}: {}", it.file, it.line, it.column, it.error));
        object["error"] = format!("{headline}: {}", told.collect::<Vec<_>>().join("; ")).into();
        object["mistakes"] = json!(mistakes);
    }
    print_object(&object);
}

/// Prints a warning or a note: in words, or with `--json` as one object.
pub fn warn(words: &str) {
    if AS_JSON.load(Ordering::Relaxed) {
        print_object(&json!({ "note": words }));
    } else {
        print(words, None);
    }
}

fn print_object(object: &Value) {
    // A failure cannot be reported anywhere.
    let _ = io::stderr().write_all((safe_json(object.to_string()) + "\n").as_bytes());
}

/// Prints a message. On a terminal it is broken between words, but one that has lines of its own stays as it is: it may
/// show a job file with carets under the mistakes.
fn print(message: &str, hint: Option<&str>) {
    // The message may contain names and paths from anywhere.
    let (message, hint) = (&*safe_block(message), hint.map(safe_block));
    let stderr = Term::stderr();
    let width = if stderr.is_term() { stderr.size().1.into() } else { usize::MAX };
    let own_signs = |text: String| if stderr.is_term() && ascii_only() { in_ascii(&text) } else { text };
    let mut lines = if message.contains('\n') {
        vec![format!("runner: {message}")]
    } else {
        hanging_indent("runner: ", message, width)
    };
    lines.extend(hint.iter().flat_map(|hint| hanging_indent("hint: ", hint, width)));
    // A failure cannot be reported anywhere.
    let _ = io::stderr().write_all((own_signs(lines.join("\n")) + "\n").as_bytes());
}

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
    pub fn new(global: &Global, words: &str) -> Self {
        if global.quiet || !can_draw() {
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
