//! A line of the file with carets under a part of it.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::mistake::Span;

/// The most columns of a line that are shown.
const WIDTH: usize = 100;
/// How much of a longer line is shown before the part that matters.
const LEAD: usize = 40;
/// How many bytes of a line on either side of a mistake are looked at: more than fill the width, whatever they are.
const NEAR: usize = 4_096;
const TAB: &str = "    ";

/// One line as it is shown, and the carets for the line below it.
pub(super) struct Excerpt {
    /// Where the span begins, in characters from 1.
    pub column: usize,
    /// The line, with tabs as spaces, cut to [`WIDTH`] around the span.
    pub source: String,
    /// Spaces, then a caret for each column of the span; at least one.
    pub carets: String,
}

impl Excerpt {
    /// Cuts the line where `span` begins out of `text`. A span of several lines is marked to the end of its first.
    pub(super) fn new(text: &str, span: &Span) -> Self {
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or_default();
        let line_end = line_start + line.len();
        let start = start.min(line_end);
        let end = text.floor_char_boundary(span.end).clamp(start, line_end.max(start));
        // What is farther away is never shown, and a line may be as long as a file.
        let near_start = text.floor_char_boundary(start.saturating_sub(NEAR)).max(line_start);
        let near_end = text.ceil_char_boundary(start.saturating_add(NEAR)).min(line_end);
        let before = cells(&text[near_start..start]);
        let marked = cells(&text[start..end.min(near_end)]);
        let from = before.len();
        let to = from + marked.len().max(1);
        let cells = [before, marked, cells(&text[end.min(near_end)..near_end])].concat();
        let (first, last) = window(cells.len(), from);
        let mut shown = cells[first..last].to_vec();
        if first > 0 {
            cut(&mut shown, 0, 1);
        }
        if last < cells.len() {
            cut(&mut shown, WIDTH - 1, WIDTH - 2);
        }
        Self {
            column: 1 + text[line_start..start].chars().count(),
            source: shown.concat().trim_end().to_owned(),
            carets: " ".repeat(from - first) + &"^".repeat(to.min(last.max(from + 1)) - from),
        }
    }
}

/// What each column of a terminal shows of `text`. Of a wide character the second one is empty; what has no width
/// stands with what it follows.
fn cells(text: &str) -> Vec<String> {
    let mut cells: Vec<String> = Vec::new();
    for c in visible(text).chars() {
        match (c.width().unwrap_or_default(), cells.last_mut()) {
            (0, Some(cell)) => cell.push(c),
            (width, _) => {
                cells.push(c.to_string());
                cells.extend((1..width).map(|_| String::new()));
            }
        }
    }
    cells
}

/// Marks the cell at `at` as the place where the line is cut. A wide character that is left half there, with its other
/// half at `beside`, goes altogether.
fn cut(shown: &mut [String], at: usize, beside: usize) {
    let is_halved = shown[at.max(beside)].is_empty();
    shown[at] = String::from("…");
    if is_halved {
        shown[beside] = String::from(" ");
    }
}

/// The part of a line of `length` that is shown, so that what begins at `from` is in it.
fn window(length: usize, from: usize) -> (usize, usize) {
    if length <= WIDTH {
        return (0, length);
    }
    let first = if from < WIDTH - LEAD / 2 { 0 } else { (from - LEAD).min(length - WIDTH) };
    (first, first + WIDTH)
}

/// The lines of a note, broken between words.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text that cannot move the cursor or turn the writing direction: tabs become spaces, other such characters `�`.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push_str(TAB),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.push('\u{fffd}');
            }
            '\u{feff}' => shown.push('\u{fffd}'),
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, part: &str) -> String {
        let start = text.find(part).unwrap();
        let excerpt = Excerpt::new(text, &(start..start + part.len()));
        format!("{}\n{}\ncolumn {}", excerpt.source, excerpt.carets, excerpt.column)
    }

    #[test]
    fn carets_stand_under_the_span_after_tabs_and_wide_text() {
        insta::assert_snapshot!(drawn("a = 1\n\tb =\t'é–ü' # x\nc", "'é–ü'"), @r"
            b =    'é–ü' # x
                   ^^^^^
        column 6
        ");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        insta::assert_snapshot!(drawn("env = { '日本語é' = 1, B = 2 }", "B"), @r"
        env = { '日本語é' = 1, B = 2 }
                               ^
        column 21
        ");
        assert_eq!(Excerpt::new("'e\u{301}' = 1", &(0..5)).carets, "^^^");
        let excerpt = Excerpt::new("a = \"日本\"", &(4..12));
        assert_eq!(excerpt.carets, "    ^^^^^^");
        for shift in 0..2 {
            let wide = format!("{}{} HERE {}", "x".repeat(shift), "日".repeat(99), "本".repeat(99));
            let start = wide.find("HERE").unwrap();
            let excerpt = Excerpt::new(&wide, &(start..start + 4));
            assert_eq!(excerpt.source.width(), WIDTH, "{}", excerpt.source);
            let before = &excerpt.source[..excerpt.source.find("HERE").unwrap()];
            assert_eq!(before.width(), excerpt.carets.len() - 4);
        }
    }

    #[test]
    fn a_span_of_several_lines_is_marked_to_the_end_of_the_first() {
        insta::assert_snapshot!(drawn("a = [\r\n 1,\n]\n", "[\r\n 1,\n]"), @r"
        a = [
            ^
        column 5
        ");
    }

    #[test]
    fn long_lines_are_cut_around_the_span() {
        let long = format!("a = '{}' + HERE + '{}'", "x".repeat(200), "y".repeat(200));
        insta::assert_snapshot!(drawn(&long, "HERE"), @r"
        …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' + HERE + 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
                                                ^^^^
        column 210
        ");
        let whole = Excerpt::new(&long, &(4..long.len()));
        assert_eq!(whole.source.chars().count(), WIDTH);
        assert_eq!(whole.carets.len(), WIDTH);
    }

    #[test]
    fn a_span_at_the_very_end_has_one_caret() {
        for text in ["", "a", "a\n", "é"] {
            for end in [text.len(), text.len() + 5] {
                let excerpt = Excerpt::new(text, &(end..end));
                assert!(excerpt.carets.ends_with('^'), "{text:?} {end}");
            }
        }
    }

    #[test]
    fn what_moves_the_cursor_is_not_shown() {
        assert_eq!(visible("a\u{1b}[2J\u{202e}b"), "a\u{fffd}[2J\u{fffd}b");
    }
}
