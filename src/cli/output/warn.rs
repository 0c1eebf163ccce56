//! Standard error.

use std::io::{self, IsTerminal, Write};

use crate::text::{columns_of, hanging_indent};

/// Tells the caller something that is no data.
pub fn warn(words: &str) {
    print_error(&format!("runner: {words}"));
}

/// Prints text, on a terminal broken between words. Lines of a job file with a caret under them stay as they are.
pub fn print_error(text: &str) {
    let stderr = io::stderr();
    let width = if stderr.is_terminal() { columns_of(&stderr) } else { usize::MAX };
    let lines: Vec<_> = text.lines().flat_map(|line| broken(line, width)).collect();
    // Nobody could be told that it failed.
    let _ = stderr.lock().write_all((lines.join("\n") + "\n").as_bytes());
}

fn broken(line: &str, width: usize) -> Vec<String> {
    if line.starts_with(' ') || line.contains(" | ") {
        return vec![line.to_owned()];
    }
    let prefix = ["runner: ", "hint: ", "error: "].into_iter().find(|prefix| line.starts_with(prefix));
    let prefix = prefix.unwrap_or_default();
    hanging_indent(prefix, &line[prefix.len()..], width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_lines_stay_as_they_are() {
        for drawn in ["12 | command = 'a long line of a job file'", "   |           ^^^^^^^^^^^^^^^^^^^^^"] {
            assert_eq!(broken(drawn, 24), [drawn]);
        }
        let broken = broken("hint: a long line of advice to whoever called", 30);
        assert_eq!(broken, ["hint: a long line of advice to", "      whoever called"]);
    }
}
