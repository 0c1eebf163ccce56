//! The output of an attempt for its reader: raw for a program, safe for a person.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use super::{Output, Written, warn};
use crate::model::StreamBytes;
use crate::store;
use crate::text::{self, counted, human_size, safe_block};

/// Prints a stream on standard error.
pub fn print_on_stderr(stream: &StreamBytes) -> Written {
    let write = &mut |bytes: &[u8]| {
        // A failure cannot be reported anywhere.
        let _ = io::stderr().write_all(bytes);
        Ok(())
    };
    StreamCursor::default().advance(&mut Reader { person: io::stderr().is_terminal(), write }, stream, true)
}

/// The reader of a stream: `write` takes the bytes, and `person` tells whether a person sees them.
struct Reader<'a> {
    person: bool,
    write: &'a mut dyn FnMut(&[u8]) -> Written,
}

/// The position in a stream that may still grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamCursor {
    /// Bytes that were printed or passed over.
    at: u64,
    /// The last printed line has not ended.
    open_line: bool,
}

impl StreamCursor {
    /// Starts before the last `lines` lines.
    pub fn of_last_lines(stream: &StreamBytes, lines: usize) -> Self {
        let start = start_of_last_lines(&stream.bytes, lines) as u64;
        let is_head = stream.omitted == 0 || start < halves(stream).0.len() as u64;
        Self { at: if is_head { start } else { start + stream.omitted }, open_line: false }
    }

    /// Prints the new bytes on standard output; all the rest, if the stream has ended.
    pub fn print(&mut self, out: &mut Output, stream: &StreamBytes, ended: bool) -> Written {
        let person = out.is_terminal();
        self.advance(&mut Reader { person, write: &mut |bytes| out.bytes(bytes) }, stream, ended)
    }

    fn advance(&mut self, reader: &mut Reader<'_>, stream: &StreamBytes, ended: bool) -> Written {
        let (head, tail) = halves(stream);
        let after_gap = head.len() as u64 + stream.omitted;
        self.piece(reader, unread(head, self.at), ended || stream.omitted > 0)?;
        if stream.omitted > 0 && self.at < after_gap {
            let left_out = human_size(after_gap - self.at);
            if reader.person {
                (reader.write)(gap(&left_out).as_bytes())?;
            } else {
                warn(&format!("{left_out} left out after the first {}", counted(self.at, "byte")));
            }
            self.at = after_gap;
        }
        self.piece(reader, unread(tail, self.at - after_gap.min(self.at)), ended)?;
        if ended && reader.person && std::mem::take(&mut self.open_line) {
            (reader.write)(b"\n")?;
        }
        Ok(())
    }

    fn piece(&mut self, reader: &mut Reader<'_>, bytes: &[u8], ended: bool) -> Written {
        // The rest of a character is still on its way.
        let bytes = if ended || !reader.person { bytes } else { whole_characters(bytes) };
        self.at += bytes.len() as u64;
        let Some(last) = bytes.last() else { return Ok(()) };
        self.open_line = *last != b'\n';
        let shown = if reader.person {
            Cow::Owned(safe_block(&String::from_utf8_lossy(bytes)).into_bytes())
        } else {
            Cow::Borrowed(bytes)
        };
        (reader.write)(&shown)
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
    if start >= halves(stream).0.len() {
        stream.omitted = 0;
    }
    stream.head = stream.head.saturating_sub(start);
    stream.bytes.drain(..start);
}

/// The last lines of standard error that are not blank, made safe; of standard output where there are none. With the name
/// of the stream.
pub fn last_lines(output: &store::Output, lines: usize) -> (&'static str, Vec<String>) {
    match text::last_lines(&output.stderr.bytes, lines) {
        none if none.is_empty() => ("stdout", text::last_lines(&output.stdout.bytes, lines)),
        lines => ("stderr", lines),
    }
}

/// The stream as text that is safe on a terminal, with a mark where bytes were left out.
pub fn readable(stream: &StreamBytes) -> String {
    let (head, tail) = halves(stream);
    let safe = |bytes| safe_block(&String::from_utf8_lossy(bytes));
    if stream.omitted == 0 {
        return safe(head);
    }
    [safe(head), gap(&human_size(stream.omitted)), safe(tail)].concat()
}

/// The mark of bytes that were left out.
fn gap(size: &str) -> String {
    format!("\n[… {size} left out …]\n")
}

/// The bytes before the gap, and after it.
fn halves(stream: &StreamBytes) -> (&[u8], &[u8]) {
    if stream.omitted == 0 {
        return (&stream.bytes, &[]);
    }
    stream.bytes.split_at(stream.head.min(stream.bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(head: &str, omitted: u64, tail: &str) -> StreamBytes {
        StreamBytes { bytes: [head, tail].concat().into_bytes(), head: head.len(), omitted }
    }

    /// Reads a stream as it goes through these states.
    fn read(mut cursor: StreamCursor, person: bool, states: &[StreamBytes]) -> String {
        let mut got = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let mut write = |bytes: &[u8]| {
                got.extend_from_slice(bytes);
                Ok(())
            };
            let ended = index + 1 == states.len();
            cursor.advance(&mut Reader { person, write: &mut write }, state, ended).unwrap();
        }
        String::from_utf8(got).unwrap()
    }

    #[test]
    fn each_byte_comes_once_and_a_gap_is_marked() {
        let states =
            [stream("ab", 0, ""), stream("abcd", 0, ""), stream("ab", 4, "gh"), stream("ab", 4, "ghi")];
        assert_eq!(read(StreamCursor::default(), true, &states), "abcd\n[… 2 B left out …]\nghi\n");
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
