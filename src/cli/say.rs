//! What is said on standard error.

use std::io::{self, IsTerminal, Write};

use crate::text::{columns_of, hanging_indent};

/// Says this to whoever called; nobody could be told that it failed.
pub fn say(words: &str) {
    print(&format!("runner: {words}"));
}

/// Prints text on standard error, on a terminal broken between words. What is drawn, such as a line of a file with a
/// caret under it, stays as it is.
pub fn print(text: &str) {
    let stderr = io::stderr();
    let width = if stderr.is_terminal() { columns_of(&stderr) } else { usize::MAX };
    let mut whole = String::new();
    for line in text.lines() {
        whole.push_str(&broken(line, width).join("\n"));
        whole.push('\n');
    }
    let _ = stderr.lock().write_all(whole.as_bytes());
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
    fn what_is_drawn_stays_as_it_is() {
        for drawn in ["12 | command = 'a long line of a job file'", "   |           ^^^^^^^^^^^^^^^^^^^^^"] {
            assert_eq!(broken(drawn, 24), [drawn]);
        }
        let broken = broken("hint: a long line of advice to whoever called", 30);
        assert_eq!(broken, ["hint: a long line of advice to", "      whoever called"]);
    }
}
