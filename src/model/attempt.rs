//! One attempt of a job: how it ended, what it wrote, and the row that the history keeps.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::output_order::{OutputMark, OutputStream};
use super::state::words;
use super::{DeadReason, ErrorCode, JobState, SelfReport};
use crate::text::{Millis, Timestamp, human_size, last_line, last_lines};

words! {
    Outcome {
        Succeeded = "succeeded",
        /// The process ended by itself, without a success status.
        Failed = "failed",
        TimedOut = "timed_out",
        SpawnFailed = "spawn_failed",
        WorkerCrashed = "worker_crashed",
        /// Its worker was told to stop. Not counted in the budget.
        Interrupted = "interrupted",
        Cancelled = "cancelled",
    }
}

impl Outcome {
    /// True unless the attempt succeeded, or was ended by a person or a stop of its worker.
    pub const fn is_failure(&self) -> bool {
        !matches!(self, Self::Succeeded | Self::Interrupted | Self::Cancelled)
    }

    /// True if the process ended by itself or at its timeout, so that its duration says how long the job runs.
    pub const fn has_run_time(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::TimedOut)
    }
}

words! {
    /// Why a command could not be started, for as long as nobody mends it.
    SpawnFailure {
        /// The program or its directory does not exist: exit status 127 of a shell.
        NotFound = "not_found",
        /// The program exists and cannot be executed: exit status 126 of a shell.
        NotExecutable = "not_executable",
    }
}

/// How the process itself ended, whatever runner did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 0 to 255.
    Exited(i32),
    /// The number of the signal that killed it.
    Signaled(i32),
}

/// Why runner ended an attempt, or why the command never ran. The first cause counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    Cancelled,
    /// Its worker was told to stop.
    Interrupted,
    WorkerCrashed,
    TimedOut,
    /// The command could not be started; none if the reason may pass by itself.
    SpawnFailed(Option<SpawnFailure>),
}

/// The end of an attempt: all that is known when runner decides about its job.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEnd {
    /// None if the process ended by itself.
    pub cause: Option<EndCause>,
    /// None if the process never ran, or its end was not seen.
    pub status: Option<Status>,
    /// The job's report about itself.
    pub report: SelfReport,
    /// runner's own message.
    pub message: Option<String>,
    /// None if it is unknown whether the attempt started.
    pub started_at: Option<Timestamp>,
    pub finished_at: Timestamp,
    /// By the monotonic clock; none if the end was not seen.
    pub duration: Option<Millis>,
    /// None if no worker saw the end.
    pub usage: Option<ResourceUsage>,
    /// A background process held the output open after the end.
    pub output_held_open: bool,
    /// None: the output saved while the attempt ran is all there is.
    pub output: Option<AttemptOutput>,
}

impl AttemptEnd {
    /// The end of a process that ended by itself.
    pub fn by_itself(status: Status, finished_at: Timestamp) -> Self {
        Self { status: Some(status), ..Self::new(None, finished_at) }
    }

    /// The end of an attempt that nobody saw.
    pub fn unseen(cause: EndCause, finished_at: Timestamp) -> Self {
        Self::new(Some(cause), finished_at)
    }

    /// The end of an attempt whose command could not be started.
    pub fn spawn_failed(failure: Option<SpawnFailure>, message: String, finished_at: Timestamp) -> Self {
        Self {
            message: Some(message),
            duration: Some(Millis(0)),
            output: Some(AttemptOutput::default()),
            ..Self::new(Some(EndCause::SpawnFailed(failure)), finished_at)
        }
    }

    fn new(cause: Option<EndCause>, finished_at: Timestamp) -> Self {
        Self {
            cause,
            status: None,
            report: SelfReport::default(),
            message: None,
            started_at: None,
            finished_at,
            duration: None,
            usage: None,
            output_held_open: false,
            output: None,
        }
    }
}

/// The kernel's account of the process of an attempt and of the children that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUsage {
    /// User and system time of all of them together.
    pub cpu: Millis,
    pub memory: MemoryPeak,
}

impl ResourceUsage {
    /// Whether the processes used a second of CPU time, or more memory than the worker.
    pub fn is_notable(&self) -> bool {
        self.cpu >= Millis::from_secs(1) || !self.memory.is_bound
    }
}

/// The most memory that one of some processes held at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryPeak {
    pub bytes: u64,
    /// The processes held at most so much. A process begins with the peak of the worker that started it, so that a smaller
    /// one of its own is never seen.
    pub is_bound: bool,
}

impl MemoryPeak {
    /// None if only a bound is known.
    pub fn known(self) -> Option<u64> {
        (!self.is_bound).then_some(self.bytes)
    }
}

impl fmt::Display for MemoryPeak {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_bound { "≤ " } else { "" };
        write!(out, "{sign}{}", human_size(self.bytes))
    }
}

/// The kept output of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AttemptOutput {
    pub stdout: StreamBytes,
    pub stderr: StreamBytes,
    /// In which order and when both were read; empty if that is not known, because a program of version 1.0 wrote it.
    pub marks: Vec<OutputMark>,
}

impl AttemptOutput {
    pub const fn stream(&self, stream: OutputStream) -> &StreamBytes {
        match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }

    /// The lengths of both streams, what was left out included.
    pub fn lengths(&self) -> [u64; 2] {
        OutputStream::BOTH.map(|stream| self.stream(stream).length())
    }

    /// What comes after so many bytes of each stream, in the order in which it was read; stream by stream, if that is not known.
    /// What was left out of a stream is a single piece, where it begins.
    pub fn pieces_after(&self, mut read: [u64; 2]) -> Vec<OutputPiece<'_>> {
        let mut pieces = Vec::new();
        let mut ends = [0; 2];
        let known = self.marks.iter().map(|mark| (mark.stream, mark.bytes, Some(mark.at)));
        let unknown = OutputStream::BOTH.map(|stream| (stream, self.stream(stream).length(), None));
        let unknown = unknown.into_iter().filter(|_| self.marks.is_empty());
        for (stream, bytes, at) in known.chain(unknown) {
            let end = &mut ends[stream as usize];
            *end += bytes;
            for (start, part) in self.stream(stream).parts_between(read[stream as usize], *end) {
                read[stream as usize] = start + part.length();
                pieces.push(OutputPiece { stream, at, start, part });
            }
        }
        pieces
    }

    /// The last line of standard error, or of standard output if that says nothing (see [`last_line`]); at most its first 16 KiB.
    pub fn last_line(&self) -> Option<String> {
        const MAX_BYTES: usize = 16 << 10;
        let [stderr, stdout] = [self.stderr.end_first(), self.stdout.end_first()];
        let mut line = last_line(&[stderr, stdout].concat())?;
        line.truncate(line.floor_char_boundary(MAX_BYTES));
        Some(line)
    }

    /// The last lines of standard error, or of standard output if that says nothing, as a screen shows them (see [`last_lines`]).
    pub fn last_lines(&self, lines: usize) -> (OutputStream, Vec<String>) {
        let of = |stream| {
            let [end, start, cut] = self.stream(stream).end_first();
            let whole = last_lines(&[end, start], lines);
            (stream, if whole.is_empty() { last_lines(&[cut], lines) } else { whole })
        };
        let of_stderr = of(OutputStream::Stderr);
        if of_stderr.1.is_empty() { of(OutputStream::Stdout) } else { of_stderr }
    }
}

/// A part of what an attempt wrote, of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputPiece<'a> {
    pub stream: OutputStream,
    /// When it was read, if that is known.
    pub at: Option<Timestamp>,
    /// How many bytes of the stream come before it.
    pub start: u64,
    pub part: OutputPart<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPart<'a> {
    Kept(&'a [u8]),
    /// So many bytes were left out.
    LeftOut(u64),
}

impl OutputPart<'_> {
    pub const fn length(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::LeftOut(bytes) => *bytes,
        }
    }
}

/// The kept part of one output stream.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StreamBytes {
    /// The head, then the tail.
    pub bytes: Vec<u8>,
    /// The length of the head; matters only if bytes were omitted.
    pub head: usize,
    /// The number of bytes left out between head and tail.
    pub omitted: u64,
}

impl StreamBytes {
    /// True if the stream carried nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.omitted == 0
    }

    /// The number of bytes that were written.
    pub const fn length(&self) -> u64 {
        self.omitted.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes before those that were left out, and the bytes after them. All come before, if none were.
    pub fn halves(&self) -> (&[u8], &[u8]) {
        let head = if self.omitted == 0 { self.bytes.len() } else { self.head };
        self.bytes.split_at(head.min(self.bytes.len()))
    }

    /// The last bytes that were written, at most `max`, from the start of a character on. Bytes before those that were left out
    /// do not count, because they do not belong to the same end.
    pub fn tail(&self, max: usize) -> &[u8] {
        let head = if self.omitted == 0 { 0 } else { self.head };
        last_bytes(self.bytes.get(head..).unwrap_or_default(), max)
    }

    /// The lines after what was left out, those before it, and the one before it of which nobody knows how it went on.
    fn end_first(&self) -> [&[u8]; 3] {
        let (head, tail) = self.halves();
        if self.omitted == 0 {
            return [head, &[], &[]];
        }
        let end_of_lines = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, cut) = head.split_at(end_of_lines);
        [without_begun(tail), lines, cut]
    }

    /// What lies between these offsets, each part with its own. Of what was left out, all that comes after the first one.
    fn parts_between(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, OutputPart<'_>)> {
        let (head, tail) = self.halves();
        let gap = head.len() as u64;
        let parts = [
            (0, OutputPart::Kept(head)),
            (gap, OutputPart::LeftOut(self.omitted)),
            (gap + self.omitted, OutputPart::Kept(tail)),
        ];
        parts.into_iter().filter_map(move |(start, part)| {
            let from = from.max(start);
            let end = start + part.length();
            let part = match part {
                OutputPart::Kept(bytes) => {
                    OutputPart::Kept(bytes.get(index(from - start)..index(to.min(end).checked_sub(start)?))?)
                }
                OutputPart::LeftOut(_) => OutputPart::LeftOut(end.checked_sub(from)?),
            };
            (from < to && part.length() > 0).then_some((from, part))
        })
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// The last `max` bytes of a text, without the rest of a character that begins before them. Of bytes that are no UTF-8 text up
/// to three may be missing.
pub fn last_bytes(bytes: &[u8], max: usize) -> &[u8] {
    match bytes.len().checked_sub(max) {
        Some(cut @ 1..) => without_begun(&bytes[cut..]),
        _ => bytes,
    }
}

/// The text without the rest of a character that begins before it.
fn without_begun(text: &[u8]) -> &[u8] {
    let rest = text.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &text[rest..]
}

/// An ended attempt as the history keeps it, without its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub job_id: i64,
    /// From 1, without gaps, over all budgets.
    pub number: u32,
    pub outcome: Outcome,
    /// None exactly for a success.
    pub error_code: Option<ErrorCode>,
    /// The name of the warning of a success.
    pub warning: Option<ErrorCode>,
    /// The exit status or signal of the process, also if runner ended it.
    pub status: Option<Status>,
    /// From runner or from the job.
    pub message: Option<String>,
    /// None if the row of the worker is gone.
    pub worker_id: Option<String>,
    /// None if it is unknown whether the attempt started.
    pub started_at: Option<Timestamp>,
    /// After a crash, the end of the recovery.
    pub finished_at: Timestamp,
    /// By the monotonic clock; none if the end was not seen.
    pub duration: Option<Millis>,
    /// Which attempt of its budget it was, from 1.
    pub attempt_in_budget: u32,
    /// The decision.
    pub next_state: JobState,
    pub dead_reason: Option<DeadReason>,
    /// The policy's delay before jitter, if a retry was decided.
    pub nominal_delay: Option<Millis>,
    /// The drawn or reported delay, if a retry was decided.
    pub delay: Option<Millis>,
    /// None if the process never ran, or no worker saw its end.
    pub usage: Option<ResourceUsage>,
    /// A background process held its output open after its end.
    pub output_held_open: bool,
    /// None, too, if the command could not be started for a reason that may pass by itself.
    pub spawn_failure: Option<SpawnFailure>,
}

impl Attempt {
    /// Whether the attempt counts in the budget. Interrupted ones do not.
    pub fn counted(&self) -> bool {
        self.outcome != Outcome::Interrupted
    }

    /// The outcome as people are shown it: a warning stands beside it.
    pub fn shown_outcome(&self) -> String {
        match &self.warning {
            Some(warning) => format!("{}, {}", self.outcome, warning.as_warning()),
            None => self.outcome.to_string(),
        }
    }

    /// When the retry that was decided falls due.
    pub fn next_retry_at(&self) -> Option<Timestamp> {
        self.delay.map(|delay| self.finished_at.plus(delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OutputStream::{Stderr, Stdout};

    #[test]
    fn pieces_come_in_the_order_of_the_marks_and_what_was_left_out_once() {
        use OutputPart::{Kept, LeftOut};
        let mark = |stream, bytes, at| OutputMark { stream, bytes, at: Timestamp(at) };
        let output = AttemptOutput {
            stdout: StreamBytes { bytes: b"abxyz".to_vec(), head: 2, omitted: 10 },
            stderr: StreamBytes { bytes: b"12".to_vec(), head: 0, omitted: 0 },
            marks: vec![
                mark(Stdout, 5, 1),
                mark(Stderr, 1, 2),
                mark(Stdout, 8, 3),
                mark(Stderr, 1, 4),
                mark(Stdout, 2, 5),
            ],
        };
        let pieces = |output: &AttemptOutput, read| -> Vec<_> {
            let pieces = output.pieces_after(read).into_iter();
            pieces
                .map(|piece| {
                    format!(
                        "{:?} {:?} {} {:?}",
                        piece.stream,
                        piece.at.map(|at| at.0),
                        piece.start,
                        piece.part
                    )
                })
                .collect()
        };
        let shown = |stream, at, start, part: OutputPart<'_>| format!("{stream:?} {at:?} {start} {part:?}");
        let expected = [
            shown(Stdout, Some(1), 0, Kept(b"ab")),
            shown(Stdout, Some(1), 2, LeftOut(10)),
            shown(Stderr, Some(2), 0, Kept(b"1")),
            shown(Stdout, Some(3), 12, Kept(b"x")),
            shown(Stderr, Some(4), 1, Kept(b"2")),
            shown(Stdout, Some(5), 13, Kept(b"yz")),
        ];
        assert_eq!(pieces(&output, [0, 0]), expected);
        assert_eq!(pieces(&output, [7, 1])[..1], [shown(Stdout, Some(3), 7, LeftOut(5))]);
        assert_eq!(
            pieces(&output, [14, 1]),
            [shown(Stderr, Some(4), 1, Kept(b"2")), shown(Stdout, Some(5), 14, Kept(b"z"))]
        );
        assert_eq!(pieces(&output, [15, 2]), [""; 0]);
        let unknown = AttemptOutput { marks: Vec::new(), ..output };
        let expected = [
            shown(Stdout, None, 0, Kept(b"ab")),
            shown(Stdout, None, 2, LeftOut(10)),
            shown(Stdout, None, 12, Kept(b"xyz")),
            shown(Stderr, None, 0, Kept(b"12")),
        ];
        assert_eq!(pieces(&unknown, [0, 0]), expected);
    }

    #[test]
    fn the_last_line_is_of_standard_error_and_never_goes_on_behind_a_gap() {
        let last = |stderr: (&str, u64, &[u8]), stdout: &str| {
            let stream = |head: &str, omitted, tail: &[u8]| StreamBytes {
                bytes: [head.as_bytes(), tail].concat(),
                head: head.len(),
                omitted,
            };
            let output = AttemptOutput {
                stderr: stream(stderr.0, stderr.1, stderr.2),
                stdout: stream(stdout, 0, b""),
                marks: Vec::new(),
            };
            let (stream, mut lines) = output.last_lines(1);
            let line = output.last_line();
            assert_eq!(lines.pop(), line);
            (line.unwrap_or_default(), stream)
        };
        for (stderr, stdout, expected) in [
            (("err", 0, b"or".as_slice()), "out", ("error", Stderr)),
            (("\u{1b}[K\n", 0, b""), "out", ("out", Stdout)),
            (("", 0, b""), "\r1%\r2%", ("2%", Stdout)),
            (("one\nhal", 9, b"f\r\n"), "out", ("f", Stderr)),
            (("one\n1%\r2", 9, b"%\r\x1b[K\n"), "out", ("one", Stderr)),
            (("a long line", 9, b"\n\n"), "out", ("a long line", Stderr)),
            (("one\n", 9, b"\xac\xe2\x82\xac\n"), "", ("€", Stderr)),
        ] {
            assert_eq!(last(stderr, stdout), (expected.0.to_owned(), expected.1), "{stderr:?}");
        }
        let long = AttemptOutput {
            stdout: StreamBytes { bytes: "éa".repeat(10_000).into_bytes(), head: 0, omitted: 0 },
            ..AttemptOutput::default()
        };
        assert_eq!(long.last_line().map(|line| line.len()), Some(16_383));
    }

    #[test]
    fn the_last_bytes_begin_with_a_whole_character() {
        for (text, max, expected) in [
            ("", 4, ""),
            ("abc", 4, "abc"),
            ("abcd", 4, "abcd"),
            ("abcde", 4, "bcde"),
            ("aéé", 4, "éé"),
            ("éé", 3, "é"),
            ("a鍵b", 3, "b"),
            ("🔑b", 2, "b"),
            ("abc", 0, ""),
        ] {
            assert_eq!(last_bytes(text.as_bytes(), max), expected.as_bytes(), "{text} {max}");
        }
        // Bytes that no character begins with are kept.
        assert_eq!(last_bytes(b"\x80\x80a", 3), b"\x80\x80a");
        assert_eq!(last_bytes(&[0x80; 9], 8), [0x80; 5]);
        let damaged = StreamBytes { bytes: b"ab".to_vec(), head: 7, omitted: 1 };
        assert_eq!(damaged.tail(8), b"");
    }
}
