//! Text from jobs, made safe for a terminal.

use std::fmt::Write;

/// The text on one line: every control character, line breaks included, becomes an escape.
pub fn safe_line(text: &str) -> String {
    escape(text, false)
}

/// The text with its line breaks and tabs: every other control character becomes an escape.
pub fn safe_block(text: &str) -> String {
    escape(text, true)
}

/// The last lines that are not blank, each made safe, the oldest first.
pub fn last_lines(bytes: &[u8], lines: usize) -> Vec<String> {
    let written = bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let safe = |line: &[u8]| safe_line(&String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)));
    let mut last: Vec<_> = written.take(lines).map(safe).collect();
    last.reverse();
    last
}

fn escape(text: &str, keep_layout: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if keep_layout => safe.push(c),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            '\u{1b}' => safe.push_str("\\e"),
            c if c.is_control() || is_bidi_control(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Characters that change the direction of the text after them, so that a person reads something else.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_a_command() {
        assert_eq!(safe_line("a\u{1b}[31mb\nc\r\u{7}\u{202e}é"), "a\\e[31mb\\nc\\r\\u{7}\\u{202e}é");
        assert_eq!(safe_block("a\n\tb\u{9b}"), "a\n\tb\\u{9b}");
    }

    #[test]
    fn the_last_lines_that_say_something() {
        assert_eq!(last_lines(b"a\nb\r\n \n\xff\x1b\n\n", 2), ["b", "\u{fffd}\\e"]);
        assert_eq!(last_lines(b" \n", 2), [""; 0]);
    }
}
