//! The last line of what a job wrote: the last one that says something.
//!
//! A progress bar is one line of many that a carriage return parts, each written over the one before it. Such a line says what
//! stands after its last carriage return.

use super::{is_safe, safe_line};

/// No screen shows more characters of a line from a job.
const MAX_SHOWN: usize = 300;

const ESCAPE: char = '\u{1b}';

/// The last line of these parts of an output, of which a later one only counts if those before it say nothing. It is without
/// escape sequences and blanks at its end, and bytes that are not UTF-8 are replaced; it is not safe for a terminal. If no line
/// says anything, the last text that was written over counts, such as that of a bar which was cleared in the end.
pub fn last_line(parts: &[&[u8]]) -> Option<String> {
    let written_over =
        |part: &&[u8]| part.rsplit(|byte| matches!(byte, b'\n' | b'\r')).find_map(what_it_says);
    parts.iter().find_map(|part| last_said(part)).or_else(|| parts.iter().find_map(written_over))
}

/// The last line of this part that says something, as [`last_line`] gives it.
pub fn last_said(part: &[u8]) -> Option<String> {
    said_from_end(part).next()
}

/// The last lines of these parts of a stream that say something, as a screen shows them, the oldest first. The last part comes
/// first.
pub fn last_lines(parts: &[&[u8]], lines: usize) -> Vec<String> {
    let mut last: Vec<_> = parts.iter().flat_map(|part| said_from_end(part)).take(lines).collect();
    if last.is_empty() {
        last.extend(last_line(parts));
    }
    last.iter().rev().map(|line| shown_line(line)).collect()
}

/// What of this line was written last, as it is: the last part between its carriage returns that says something; all of it if
/// none does.
pub fn written_last(line: &str) -> &str {
    line.rsplit('\r').find(|part| what_it_says(part.as_bytes()).is_some()).unwrap_or(line)
}

/// A line as a screen shows it: made safe, and cut if it is very long.
pub fn shown_line(line: &str) -> String {
    let safe = safe_line(line);
    if safe.chars().nth(MAX_SHOWN).is_none() {
        return safe;
    }
    safe.chars().take(MAX_SHOWN - 1).chain(['…']).collect()
}

fn said_from_end(part: &[u8]) -> impl Iterator<Item = String> {
    part.rsplit(|byte| *byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.rsplit(|byte| *byte == b'\r').next().and_then(what_it_says)
    })
}

/// The text without escape sequences and blanks at its end; none if nothing is left.
fn what_it_says(text: &[u8]) -> Option<String> {
    let text = without_escapes(&String::from_utf8_lossy(text));
    let said = text.trim_end_matches(is_blank);
    (!said.is_empty()).then(|| said.to_owned())
}

/// Whether this character says nothing by itself.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || !is_safe(c)
}

/// Without what steers a terminal, as ECMA-48 has it: a character may be red, or be the title of a window.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c| c == ESCAPE || kind_of_one(c).is_some()) {
        let (before, sequence) = rest.split_at(start);
        plain.push_str(before);
        rest = after_escape(sequence);
    }
    plain + rest
}

/// What follows the escape sequence with which this begins. One that does not end takes the rest.
fn after_escape(sequence: &str) -> &str {
    let mut chars = sequence.chars();
    let first = chars.next();
    let alone = chars.as_str();
    let Some(kind) = first.and_then(kind_of_one).or_else(|| chars.next()) else { return alone };
    let rest = chars.as_str();
    match kind {
        '[' => {
            let parameters = |c| matches!(c, '0'..='?');
            after_last(rest.trim_start_matches(parameters), |c| matches!(c, '@'..='~'))
        }
        ']' | 'P' | 'X' | '^' | '_' => match rest.find(['\u{7}', '\u{18}', '\u{1a}', ESCAPE, '\u{9c}']) {
            // The escape character begins the sequence that ends this one.
            Some(end) => rest[end..].strip_prefix(|c| c != ESCAPE).unwrap_or(&rest[end..]),
            None => "",
        },
        ' '..='/' => after_last(rest, |c| matches!(c, '0'..='~')),
        '0'..='~' => rest,
        _ => alone,
    }
}

/// What follows the characters between, and the last one, of an escape sequence.
fn after_last(rest: &str, is_last: impl Fn(char) -> bool) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(is_last).unwrap_or(rest)
}

/// What an escape character and another one begin, where a single character begins that, too.
const fn kind_of_one(c: char) -> Option<char> {
    Some(match c {
        '\u{90}' => 'P',
        '\u{98}' => 'X',
        '\u{9b}' => '[',
        '\u{9d}' => ']',
        '\u{9e}' => '^',
        '\u{9f}' => '_',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_last(written: &str, expected: &str) {
        assert_eq!(last_line(&[written.as_bytes()]).as_deref().unwrap_or_default(), expected, "{written:?}");
    }

    #[test]
    fn the_last_one_that_says_something() {
        for (written, expected) in [
            ("", ""),
            ("\n \n\t\r\n", ""),
            ("one\ntwo", "two"),
            ("one\ntwo\n\n \n", "two"),
            ("  indented \t \n", "  indented"),
            ("one\r\ntwo\r\n\r\n", "two"),
            ("one\0\0\u{7}\n\0\0\0\n\u{8}\u{8}\n\u{feff}\n", "one"),
            ("caf\u{e9} 漢字\n", "caf\u{e9} 漢字"),
            ("a\u{8}b\n", "a\u{8}b"),
        ] {
            assert_last(written, expected);
        }
        assert_eq!(last_line(&[b"caf\xe9\n\xff\n"]).as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn of_a_bar_what_was_written_over_the_rest() {
        for (written, expected) in [
            ("\r1 of 3\r2 of 3\r3 of 3", "3 of 3"),
            ("\r1 of 3\r2 of 3\rquota exceeded\n", "quota exceeded"),
            ("\r1 of 3\r2 of 3\rquota exceeded   \r\n", "quota exceeded"),
            ("10%\r20%\r", "20%"),
            ("no space\n10%\r20%\r\u{1b}[K", "no space"),
            ("no space\n10%\r20%\r   \r\n", "no space"),
            ("no space\r\n10%\r\r\n", "no space"),
            ("10%\r20%\r\u{1b}[K", "20%"),
            ("one\r\r\ntwo\r\r\n\r\r\n", "two"),
            ("\r\r\r\n\r", ""),
        ] {
            assert_last(written, expected);
        }
    }

    #[test]
    fn escape_sequences_say_nothing() {
        for (written, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m\n\u{1b}[0m", "red"),
            ("\u{1b}[38:2::1:2:3mred\u{1b}[0m\u{1b}[K\n", "red"),
            ("done\n\u{1b}]0;a title\u{7}", "done"),
            ("done\n\u{1b}]0;a title\u{1b}\\", "done"),
            ("done\n\u{1b}]0;a title that was c", "done"),
            ("see \u{1b}]8;;http://a\u{1b}\\this\u{1b}]8;;\u{1b}\\ page\n", "see this page"),
            ("\u{1b}P1$r0m\u{1b}\\a\u{1b}_x\u{1b}\\b\u{1b}^y\u{9c}c\u{1b}Xz\u{18}d", "abcd"),
            ("\u{1b}(Ba\u{1b}7b\u{1b}=c\u{1b}[?25hd\u{1b}[!pe\u{1b}#8", "abcde"),
            ("\u{9b}31ma\u{9d}0;title\u{9c}b", "ab"),
            ("done\u{1b}", "done"),
            ("done\u{1b}[3", "done"),
            ("\u{1b}\u{1b}[31ma\u{1b}[éb\u{1b}éc", "aébéc"),
            ("\u{1b}[0m\n\u{1b}[K", ""),
        ] {
            assert_last(written, expected);
        }
    }

    #[test]
    fn a_later_part_counts_if_those_before_it_say_nothing() {
        assert_eq!(last_line(&[b"50%\r\x1b[K", b"an error\n"]).as_deref(), Some("an error"));
        assert_eq!(last_line(&[b"50%\r\x1b[K", b" "]).as_deref(), Some("50%"));
        assert_eq!(last_line(&[]), None);
    }

    #[test]
    fn several_lines_as_a_screen_shows_them() {
        assert_eq!(last_lines(&[b"a\nb\r\n \n\xff\x1b\n\n"], 2), ["b", "\u{fffd}"]);
        assert_eq!(last_lines(&[b"d\n\x07e\n", b"a\nb\n1%\rc"], 4), ["b", "c", "d", "\\u{7}e"]);
        assert_eq!(last_lines(&[b" \n"], 2), [""; 0]);
        assert_eq!(last_lines(&[b"1%\r2%\r "], 2), ["2%"]);
    }

    #[test]
    fn what_was_written_last_is_as_it_is() {
        assert_eq!(written_last("1%\r2%\r \u{1b}[31mred\u{7}\r"), " \u{1b}[31mred\u{7}");
        assert_eq!(written_last("1%\r2%\r\u{1b}[K"), "2%");
        assert_eq!(["", "\r", "\0\0"].map(written_last), ["", "\r", "\0\0"]);
    }

    #[test]
    fn a_screen_shows_no_more_than_this_of_a_line() {
        let long = "é".repeat(MAX_SHOWN);
        assert_eq!(shown_line(&long), long);
        assert_eq!(shown_line(&(long.clone() + "é")), "é".repeat(MAX_SHOWN - 1) + "…");
        assert_eq!(shown_line(&"\u{301}\n".repeat(MAX_SHOWN)).chars().count(), MAX_SHOWN);
    }

    #[test]
    fn no_text_stops_it() {
        use proptest::prelude::*;
        proptest!(|(bytes in prop::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(0x1b), Just(b'['), Just(b']'),
                                                             Just(0xc2), Just(0x9b), Just(b'a'), any::<u8>()], 0..40))| {
            let line = last_line(&[&bytes]).unwrap_or_default();
            prop_assert!(!line.contains(['\r', '\n', ESCAPE]), "{:?}", line);
            prop_assert_eq!(&last_line(&[line.as_bytes()]).unwrap_or_default(), &line);
        });
    }
}
