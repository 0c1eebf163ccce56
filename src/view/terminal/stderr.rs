//! Standard error: warnings and errors.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use console::Term;
use serde_json::Value;

use super::streams::Stream;
use super::style::{ascii_only, in_ascii};
use crate::model::OutputStream;
use crate::text::{hanging_indent, note_line, safe_block, safe_json};

/// Whether errors and notes are printed as JSON. It is set once, because they may come from anywhere.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Prints errors and notes as JSON from now on.
pub fn print_errors_as_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// Whether errors and notes are printed as JSON.
pub fn are_errors_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// Prints a warning or a note: in words, or with `--json` as one object.
pub fn warn(words: &str) {
    if are_errors_json() {
        // A failure cannot be reported anywhere.
        let _ = Stream(OutputStream::Stderr).write_all(note_line(words).as_bytes());
    } else {
        print_message(words, None);
    }
}

/// Prints an object as a line of JSON.
pub fn print_object(object: &Value) {
    // A failure cannot be reported anywhere.
    let _ = Stream(OutputStream::Stderr).write_all((safe_json(object.to_string()) + "\n").as_bytes());
}

/// Prints a message, and what to do next. On a terminal it is broken between words, but one that has lines of its own stays as it is: it may
/// show a job file with carets under the mistakes.
pub fn print_message(message: &str, hint: Option<&str>) {
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
    let _ = Stream(OutputStream::Stderr).write_all((own_signs(lines.join("\n")) + "\n").as_bytes());
}
