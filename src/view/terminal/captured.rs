//! Prints what an attempt wrote, in the order in which it was read. A program gets the bytes as they are. On a terminal,
//! control characters are escaped, a mark shows where bytes were left out, and a new line begins where the other stream comes
//! in.

use std::io::{self, IsTerminal, Write};

use super::streams::Stream;
use super::style::{ascii_only, in_ascii};
use super::{Output, warn};
use crate::model::{AttemptOutput, OutputPart, OutputPiece, OutputStream, StreamBytes};
use crate::text::{Timestamp, counted, human_size, local_time_ms, safe_block};

/// Where output is printed.
struct Printer<'a> {
    to_terminal: bool,
    /// The mark of a gap is in ASCII.
    ascii_only: bool,
    write: &'a mut dyn FnMut(&[u8]),
}

/// What to print of an output, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputForm {
    /// None for both.
    pub only: Option<OutputStream>,
    /// The time stands before each line, where it is known. A new line begins where the other stream comes in.
    pub timestamps: bool,
}

/// How far an output has been printed that may still grow.
#[derive(Debug, Default)]
pub struct OutputCursor {
    form: OutputForm,
    /// The number of bytes of each stream that were printed or left out.
    read: [u64; 2],
    /// The beginning of a character of which the rest has not come yet.
    begun: [Vec<u8>; 2],
    /// The stream of the last byte that was printed, unless that was a line break.
    line_of: Option<OutputStream>,
}

impl OutputCursor {
    pub fn new(form: OutputForm) -> Self {
        Self { form, ..Self::default() }
    }

    /// Passes over all but the last `lines` lines of each stream.
    pub fn skip_to_last_lines(&mut self, output: &AttemptOutput, lines: usize) {
        self.read = OutputStream::BOTH.map(|stream| {
            let stream = output.stream(stream);
            let start = start_of_last_lines(&stream.bytes, lines);
            let is_in_tail = start >= stream.halves().0.len();
            start as u64 + if is_in_tail { stream.omitted } else { 0 }
        });
    }

    /// Prints on standard output what came since the last call. A character that is not complete yet waits for its other
    /// bytes, unless the attempt has ended.
    pub fn print(&mut self, out: &mut Output, output: &AttemptOutput, ended: bool) {
        let (to_terminal, ascii_only) = (out.is_terminal(), out.ascii_only());
        let write = &mut |bytes: &[u8]| out.bytes(bytes);
        self.advance(&mut Printer { to_terminal, ascii_only, write }, output, ended);
    }

    /// Prints all of it on standard error.
    pub fn print_on_stderr(mut self, output: &AttemptOutput) {
        let write = &mut |bytes: &[u8]| {
            // There is no other place to report a failure to.
            let _ = Stream(OutputStream::Stderr).write_all(bytes);
        };
        let to_terminal = io::stderr().is_terminal();
        self.advance(&mut Printer { to_terminal, ascii_only: ascii_only(), write }, output, true);
    }

    fn advance(&mut self, printer: &mut Printer<'_>, output: &AttemptOutput, ended: bool) {
        for piece in output.pieces_after(self.read) {
            if self.form.only.is_none_or(|only| only == piece.stream) {
                self.print_piece(printer, &piece);
            }
            self.read[piece.stream as usize] = piece.start + piece.part.length();
        }
        if ended {
            let last = output.marks.last().map(|mark| mark.at);
            for stream in OutputStream::BOTH {
                self.print_begun(printer, stream, last);
            }
            if printer.to_terminal {
                self.end_line(printer);
            }
        }
    }

    fn print_piece(&mut self, printer: &mut Printer<'_>, piece: &OutputPiece<'_>) {
        let OutputPiece { stream, at, start, part } = *piece;
        match part {
            OutputPart::Kept(bytes) if printer.to_terminal => {
                let begun = &mut self.begun[stream as usize];
                begun.extend_from_slice(bytes);
                let rest = begun.split_off(whole_characters(begun).len());
                let text = std::mem::replace(begun, rest);
                self.print_bytes(printer, stream, at, safe_text(&text).as_bytes());
            }
            OutputPart::Kept(bytes) => self.print_bytes(printer, stream, at, bytes),
            OutputPart::LeftOut(bytes) => {
                self.print_begun(printer, stream, at);
                let left_out = format!("{} of {} left out", human_size(bytes), stream.name());
                if printer.to_terminal {
                    self.end_line(printer);
                    let mark = format!("[… {left_out} …]\n");
                    let mark = if printer.ascii_only { in_ascii(&mark) } else { mark };
                    self.print_bytes(printer, stream, at, mark.as_bytes());
                } else {
                    warn(&format!("{left_out} after the first {}", counted(start, "byte")));
                }
            }
        }
    }

    /// Prints the beginning of a character of which the rest does not come.
    fn print_begun(&mut self, printer: &mut Printer<'_>, stream: OutputStream, at: Option<Timestamp>) {
        let begun = std::mem::take(&mut self.begun[stream as usize]);
        self.print_bytes(printer, stream, at, safe_text(&begun).as_bytes());
    }

    fn print_bytes(
        &mut self,
        printer: &mut Printer<'_>,
        stream: OutputStream,
        at: Option<Timestamp>,
        bytes: &[u8],
    ) {
        let Some(last) = bytes.last() else { return };
        let is_for_people = printer.to_terminal || self.form.timestamps;
        if is_for_people && self.line_of.is_some_and(|other| other != stream) {
            self.end_line(printer);
        }
        match at.filter(|_| self.form.timestamps).map(|at| format!("{} ", local_time_ms(at))) {
            None => (printer.write)(bytes),
            Some(time) => {
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    if self.line_of.take().is_none() {
                        (printer.write)(time.as_bytes());
                    }
                    (printer.write)(line);
                }
            }
        }
        self.line_of = (*last != b'\n').then_some(stream);
    }

    fn end_line(&mut self, printer: &mut Printer<'_>) {
        if self.line_of.take().is_some() {
            (printer.write)(b"\n");
        }
    }
}

fn safe_text(bytes: &[u8]) -> String {
    safe_block(&String::from_utf8_lossy(bytes))
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
    use crate::model::OutputMark;
    use OutputStream::{Stderr, Stdout};

    fn stream(head: &str, omitted: u64, tail: &str) -> StreamBytes {
        StreamBytes { bytes: [head, tail].concat().into_bytes(), head: head.len(), omitted }
    }

    /// An output of which only standard output has anything, and nobody knows when.
    fn stdout(head: &str, omitted: u64, tail: &str) -> AttemptOutput {
        AttemptOutput { stdout: stream(head, omitted, tail), ..AttemptOutput::default() }
    }

    /// An output of these reads, a second after each other.
    fn in_order(reads: &[(OutputStream, &[u8])]) -> AttemptOutput {
        let mut output = AttemptOutput::default();
        for ((stream, bytes), second) in reads.iter().zip(0..) {
            let of_stream = if *stream == Stdout { &mut output.stdout } else { &mut output.stderr };
            of_stream.bytes.extend_from_slice(bytes);
            let at = Timestamp(1_000 * second);
            output.marks.push(OutputMark { stream: *stream, bytes: bytes.len() as u64, at });
        }
        output
    }

    /// Reads an output as it goes through these states.
    fn read(form: OutputForm, (to_terminal, ascii_only): (bool, bool), states: &[AttemptOutput]) -> String {
        let mut cursor = OutputCursor::new(form);
        let mut got = Vec::new();
        for (index, state) in states.iter().enumerate() {
            let write = &mut |bytes: &[u8]| got.extend_from_slice(bytes);
            let ended = index + 1 == states.len();
            cursor.advance(&mut Printer { to_terminal, ascii_only, write }, state, ended);
        }
        String::from_utf8(got).unwrap()
    }

    const PIPE: (bool, bool) = (false, false);
    const TERMINAL: (bool, bool) = (true, false);
    const TIMED: OutputForm = OutputForm { only: None, timestamps: true };

    fn both() -> OutputForm {
        OutputForm::default()
    }

    #[test]
    fn each_byte_comes_once_and_a_gap_is_marked() {
        let states =
            [stdout("ab", 0, ""), stdout("abcd", 0, ""), stdout("ab", 4, "gh"), stdout("ab", 4, "ghi")];
        assert_eq!(read(both(), TERMINAL, &states), "abcd\n[… 2 B of stdout left out …]\nghi\n");
        assert_eq!(read(both(), (true, true), &states), "abcd\n[... 2 B of stdout left out ...]\nghi\n");
        let states = [stdout("ab", 0, ""), stdout("ab", 2, "efgh"), stdout("ab", 4, "ghij")];
        assert_eq!(read(both(), PIPE, &states), "abefghij");
    }

    #[test]
    fn a_character_that_came_in_part_waits_for_the_rest() {
        let part = |bytes: &[u8]| in_order(&[(Stdout, bytes)]);
        let euro = "a€".as_bytes();
        assert_eq!(read(both(), TERMINAL, &[part(&euro[..3]), part(euro)]), "a€\n");
        assert_eq!(read(both(), TERMINAL, &[part(&euro[..3]), part(&euro[..3])]), "a\u{fffd}\n");
        assert_eq!(whole_characters(b"\xff\xff"), b"\xff\xff");
        let split = [(Stdout, &euro[..3]), (Stderr, b"x\n".as_slice()), (Stdout, &euro[3..])];
        assert_eq!(read(both(), TERMINAL, &[in_order(&split)]), "a\nx\n€\n");
    }

    #[test]
    fn for_people_a_new_line_begins_where_the_other_stream_comes_in() {
        let output =
            in_order(&[(Stdout, b"a"), (Stdout, b"b"), (Stderr, b"x\ny"), (Stdout, b"c\n"), (Stderr, b"z")]);
        let all = std::slice::from_ref(&output);
        assert_eq!(read(both(), PIPE, all), "abx\nyc\nz");
        assert_eq!(read(both(), TERMINAL, all), "ab\nx\ny\nc\nz\n");
        let only = |stream| OutputForm { only: Some(stream), timestamps: false };
        assert_eq!(read(only(Stdout), TERMINAL, all), "abc\n");
        assert_eq!(read(only(Stderr), PIPE, all), "x\nyz");
    }

    #[test]
    fn the_time_stands_before_each_line_that_begins() {
        let at = |second: i64| local_time_ms(Timestamp(1_000 * second));
        let output =
            in_order(&[(Stdout, b"a"), (Stdout, b"b\n\n"), (Stderr, b"x"), (Stdout, b"c"), (Stdout, b"d")]);
        let expected = format!("{} ab\n{} \n{} x\n{} cd", at(0), at(1), at(2), at(3));
        assert_eq!(read(TIMED, PIPE, std::slice::from_ref(&output)), expected);
        assert_eq!(
            read(TIMED, TERMINAL, &[in_order(&[(Stdout, b"a")]), output.clone()]),
            expected.clone() + "\n"
        );
        let stdout = OutputForm { only: Some(Stdout), ..TIMED };
        assert_eq!(read(stdout, PIPE, &[output]), format!("{} ab\n{} \n{} cd", at(0), at(1), at(3)));
        // A gap has the time of the first byte that is missing.
        let cut = AttemptOutput {
            stdout: stream("a", 3, "b"),
            stderr: stream("x\n", 0, ""),
            marks: in_order(&[(Stdout, b"a"), (Stderr, b"x\n"), (Stdout, b"..."), (Stdout, b"b")]).marks,
        };
        let gap = "[… 3 B of stdout left out …]";
        assert_eq!(
            read(TIMED, TERMINAL, &[cut]),
            format!("{} a\n{} x\n{} {gap}\n{} b\n", at(0), at(1), at(2), at(3))
        );
        assert_eq!(read(TIMED, PIPE, &[self::stdout("a\nb", 0, "")]), "a\nb");
    }
}
