//! Prints what an attempt wrote. A program gets the bytes as they are. On a terminal, control characters are escaped, and
//! a mark shows where bytes were left out.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use super::style::{ascii_only, in_ascii};
use super::{Output, warn};
use crate::model::StreamBytes;
use crate::text::{counted, human_size, safe_block};

/// Prints a stream on standard error.
pub fn print_on_stderr(stream: &StreamBytes) {
    let write = &mut |bytes: &[u8]| {
        // There is no other place to report a failure to.
        let _ = io::stderr().write_all(bytes);
    };
    let mut printer = Printer { to_terminal: io::stderr().is_terminal(), ascii_only: ascii_only(), write };
    StreamCursor::default().advance(&mut printer, stream, true);
}

/// Where a stream is printed.
struct Printer<'a> {
    to_terminal: bool,
    /// The mark of a gap is in ASCII.
    ascii_only: bool,
    write: &'a mut dyn FnMut(&[u8]),
}

/// How far a stream has been printed that may still grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamCursor {
    /// The number of bytes that were printed or left out.
    at: u64,
    /// The last byte that was printed was no line break.
    in_line: bool,
}

impl StreamCursor {
    /// A cursor that stands before the last `lines` lines.
    pub fn of_last_lines(stream: &StreamBytes, lines: usize) -> Self {
        let start = start_of_last_lines(&stream.bytes, lines) as u64;
        let is_head = stream.omitted == 0 || start < stream.halves().0.len() as u64;
        Self { at: if is_head { start } else { start + stream.omitted }, in_line: false }
    }

    /// Prints on standard output what came since the last call. A character that is not complete yet waits for its other
    /// bytes, unless the stream has ended.
    pub fn print(&mut self, out: &mut Output, stream: &StreamBytes, ended: bool) {
        let (to_terminal, ascii_only) = (out.is_terminal(), out.ascii_only());
        self.advance(
            &mut Printer { to_terminal, ascii_only, write: &mut |bytes| out.bytes(bytes) },
            stream,
            ended,
        );
    }

    fn advance(&mut self, printer: &mut Printer<'_>, stream: &StreamBytes, ended: bool) {
        let (head, tail) = stream.halves();
        let after_gap = head.len() as u64 + stream.omitted;
        self.print_piece(printer, unread(head, self.at), ended || stream.omitted > 0);
        if stream.omitted > 0 && self.at < after_gap {
            let left_out = human_size(after_gap - self.at);
            if printer.to_terminal {
                let gap = gap(&left_out);
                let gap = if printer.ascii_only { in_ascii(&gap) } else { gap };
                (printer.write)(gap.as_bytes());
            } else {
                warn(&format!("{left_out} left out after the first {}", counted(self.at, "byte")));
            }
            self.at = after_gap;
        }
        self.print_piece(printer, unread(tail, self.at - after_gap.min(self.at)), ended);
        if ended && printer.to_terminal && std::mem::take(&mut self.in_line) {
            (printer.write)(b"\n");
        }
    }

    fn print_piece(&mut self, printer: &mut Printer<'_>, bytes: &[u8], ended: bool) {
        let bytes = if ended || !printer.to_terminal { bytes } else { whole_characters(bytes) };
        self.at += bytes.len() as u64;
        let Some(last) = bytes.last() else { return };
        self.in_line = *last != b'\n';
        let shown = if printer.to_terminal {
            Cow::Owned(safe_block(&String::from_utf8_lossy(bytes)).into_bytes())
        } else {
            Cow::Borrowed(bytes)
        };
        (printer.write)(&shown);
    }
}

/// The bytes after the first `at`.
fn unread(bytes: &[u8], at: u64) -> &[u8] {
    usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default()
}

/// Drops an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let last = bytes.len().saturating_sub(3);
    let begun = (last..bytes.len()).find(|start| {
        let rest = std::str::from_utf8(&bytes[*start..]);
        rest.is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    });
    &bytes[..begun.unwrap_or(bytes.len())]
}

/// The index at which the last `lines` lines begin.
fn start_of_last_lines(bytes: &[u8], lines: usize) -> usize {
    let Some(last) = lines.checked_sub(1) else {
        return bytes.len();
    };
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at + 1).nth(last).unwrap_or(0)
}

/// Cuts a stream to its last `lines` lines.
pub fn keep_last_lines(stream: &mut StreamBytes, lines: usize) {
    let start = start_of_last_lines(&stream.bytes, lines);
    if start >= stream.halves().0.len() {
        stream.omitted = 0;
    }
    stream.head = stream.head.saturating_sub(start);
    stream.bytes.drain(..start);
}

/// The stream as text that is safe on a terminal, with a mark where bytes were left out.
pub fn readable(stream: &StreamBytes) -> String {
    let (head, tail) = stream.halves();
    let safe = |bytes| safe_block(&String::from_utf8_lossy(bytes));
    if stream.omitted == 0 {
        return safe(head);
    }
    [safe(head), gap(&human_size(stream.omitted)), safe(tail)].concat()
}

/// The mark that stands for bytes that were left out.
fn gap(size: &str) -> String {
    format!("\n[… {size} left out …]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(head: &str, omitted: u64, tail: &str) -> StreamBytes {
        StreamBytes { bytes: [head, tail].concat().into_bytes(), head: head.len(), omitted }
    }

    /// Reads a stream as it goes through these states.
    fn read(cursor: StreamCursor, to_terminal: bool, states: &[StreamBytes]) -> String {
        read_in(cursor, to_terminal, false, states)
    }

    fn read_in(
        mut cursor: StreamCursor,
        to_terminal: bool,
        ascii_only: bool,
        states: &[StreamBytes],
    ) -> String {
        let mut got = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let mut write = |bytes: &[u8]| got.extend_from_slice(bytes);
            let ended = index + 1 == states.len();
            let mut printer = Printer { to_terminal, ascii_only, write: &mut write };
            cursor.advance(&mut printer, state, ended);
        }
        String::from_utf8(got).unwrap()
    }

    #[test]
    fn each_byte_comes_once_and_a_gap_is_marked() {
        let states =
            [stream("ab", 0, ""), stream("abcd", 0, ""), stream("ab", 4, "gh"), stream("ab", 4, "ghi")];
        assert_eq!(read(StreamCursor::default(), true, &states), "abcd\n[… 2 B left out …]\nghi\n");
        let ascii = read_in(StreamCursor::default(), true, true, &states);
        assert_eq!(ascii, "abcd\n[... 2 B left out ...]\nghi\n");
        let states = [stream("ab", 0, ""), stream("ab", 2, "efgh"), stream("ab", 4, "ghij")];
        assert_eq!(read(StreamCursor::default(), false, &states), "abefghij");
    }

    #[test]
    fn a_character_that_came_in_part_waits_for_the_rest() {
        let part = |bytes: &[u8]| StreamBytes { bytes: bytes.to_vec(), head: 0, omitted: 0 };
        let euro = "a€".as_bytes();
        assert_eq!(read(StreamCursor::default(), true, &[part(&euro[..3]), part(euro)]), "a€\n");
        assert_eq!(read(StreamCursor::default(), true, &[part(&euro[..3]), part(&euro[..3])]), "a\u{fffd}\n");
        assert_eq!(whole_characters(b"\xff\xff"), b"\xff\xff");
    }
}
