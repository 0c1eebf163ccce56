//! Standard error.

use std::io::{self, IsTerminal, Write};

use crate::text::{columns_of, hanging_indent};

/// Prints words that are no data.
pub fn warn(words: &str) {
    print_error(words, None);
}

/// Prints an error, on a terminal broken between words. A message of several lines, such as a job file with carets under
/// its mistakes, stays as it is.
pub fn print_error(message: &str, hint: Option<&str>) {
    let stderr = io::stderr();
    let width = if stderr.is_terminal() { columns_of(&stderr) } else { usize::MAX };
    let mut lines = if message.contains('\n') {
        vec![format!("runner: {message}")]
    } else {
        hanging_indent("runner: ", message, width)
    };
    lines.extend(hint.into_iter().flat_map(|hint| hanging_indent("hint: ", hint, width)));
    // A failure cannot be reported anywhere.
    let _ = stderr.lock().write_all((lines.join("\n") + "\n").as_bytes());
}
