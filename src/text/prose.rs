//! Prose: plurals, and lines broken between words where the screen ends.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

/// The width of a terminal whose size is unknown.
const DEFAULT_COLUMNS: usize = 80;

/// The height of a terminal whose size is unknown.
const DEFAULT_ROWS: usize = 24;

/// Text is not wrapped into fewer columns than this: it would be harder to read, not easier.
const MIN_COLUMNS: usize = 20;

/// A number and its noun: `1 job`, `2 jobs`.
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// The columns of a terminal.
pub fn columns_of(terminal: impl AsFd) -> usize {
    let size = tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
    size.filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

/// The rows of a terminal.
pub fn rows_of(terminal: impl AsFd) -> usize {
    let size = tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_row));
    size.filter(|rows| *rows > 0).unwrap_or(DEFAULT_ROWS)
}

/// Breaks `prefix` and `text` into lines of at most `width` columns; further lines start under the first word. A word
/// that is longer than a line, such as a path, stays whole.
pub fn hanging_indent(prefix: &str, text: &str, width: usize) -> Vec<String> {
    let indent = shown(prefix);
    let room = width.saturating_sub(indent);
    if room < MIN_COLUMNS || shown(text) <= room {
        return vec![format!("{prefix}{text}")];
    }
    let mut lines = Vec::new();
    let mut line = prefix.to_owned();
    let mut used = 0;
    for word in text.split(' ') {
        if used > 0 && used + 1 + shown(word) > room {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += shown(word);
    }
    lines.push(line);
    lines
}

/// The columns that the text takes; escape sequences for colours take none.
fn shown(text: &str) -> usize {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().width();
    first + pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, rest)| rest).width()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_words_and_under_the_first() {
        let text = "the database was busy for 10 s: other processes kept writing";
        let expected =
            ["hint: the database was busy", "      for 10 s: other", "      processes kept writing"];
        assert_eq!(hanging_indent("hint: ", text, 28), expected);
        assert_eq!(hanging_indent("hint: ", text, 66), [format!("hint: {text}")]);
        assert_eq!(hanging_indent("", text, usize::MAX), [text]);
    }

    #[test]
    fn a_long_word_stays_whole_and_a_narrow_screen_is_left_alone() {
        let path = "/a/very/long/path/that/is/longer/than/a/line";
        assert_eq!(hanging_indent("", &format!("see {path} there"), 24), ["see", path, "there"]);
        assert_eq!(
            hanging_indent("      ", "not worth the while here", 25),
            ["      not worth the while here"]
        );
        let red = "one \u{1b}[31mtwo\u{1b}[0m three four five";
        assert_eq!(hanging_indent("", red, 24), [red]);
        assert_eq!(hanging_indent("", "漢字漢字漢字 漢字漢字漢字", 20), ["漢字漢字漢字", "漢字漢字漢字"]);
    }
}
