//! The order in which both streams of an attempt were read, and when.
//!
//! Marks tell it: so many bytes of this stream came next, the first of them at this time. Their number is bounded. Where there
//! are too many, neighbours become one: first those of bytes that are not kept, where nothing is lost, then those that were
//! read within a short time of each other, where the order within that time is lost.

use std::ops::Range;

use crate::text::{Millis, Timestamp, append};

/// The most marks of an attempt: one for each 64 bytes, if both streams are full at the default limit.
const MAX_MARKS: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

impl OutputStream {
    pub const BOTH: [Self; 2] = [Self::Stdout, Self::Stderr];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    const fn letter(self) -> char {
        match self {
            Self::Stdout => 'o',
            Self::Stderr => 'e',
        }
    }
}

/// Bytes of one stream that were read one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputMark {
    pub stream: OutputStream,
    pub bytes: u64,
    /// When the first of them was read.
    pub at: Timestamp,
}

/// The bytes of each stream that are not kept.
pub type LeftOut = [Range<u64>; 2];

/// The marks of an attempt that is being read.
#[derive(Debug, Default)]
pub struct OutputOrder {
    marks: Vec<OutputMark>,
    /// What was read so close together may share a mark.
    span: Millis,
}

impl OutputOrder {
    /// Adds what was read last. `left_out` is as it is with these bytes.
    pub fn push(&mut self, mark: OutputMark, left_out: &LeftOut) {
        match self.marks.last_mut() {
            Some(last) if last.stream == mark.stream && is_within(self.span, last, &mark) => {
                last.bytes += mark.bytes;
            }
            _ => self.marks.push(mark),
        }
        if self.marks.len() == MAX_MARKS {
            self.marks = merged(&self.marks, left_out, None);
            let mut span = self.span;
            while self.marks.len() > MAX_MARKS / 4 * 3 {
                self.marks = merged(&self.marks, left_out, Some(span));
                self.span = span;
                span = Millis(span.0.saturating_mul(2).saturating_add(1));
            }
        }
    }

    /// The marks so far, no more of them than it takes.
    pub fn marks(&self, left_out: &LeftOut) -> Vec<OutputMark> {
        merged(&self.marks, left_out, None)
    }
}

fn is_within(span: Millis, first: &OutputMark, mark: &OutputMark) -> bool {
    mark.at.0.abs_diff(first.at.0) <= span.0
}

/// Merges neighbours of which no byte is kept, and with a span those that were read so close to the first of them. Of each
/// group one mark for each stream is left.
fn merged(marks: &[OutputMark], left_out: &LeftOut, span: Option<Millis>) -> Vec<OutputMark> {
    let mut read = [0; 2];
    let mut group: Option<(OutputMark, bool)> = None;
    let mut start_of_group = 0;
    let mut merged: Vec<OutputMark> = Vec::new();
    for mark in marks {
        let of_stream = mark.stream as usize;
        let start = read[of_stream];
        read[of_stream] += mark.bytes;
        let is_left_out = left_out[of_stream].start <= start && read[of_stream] <= left_out[of_stream].end;
        match &group {
            Some((first, first_is_left_out))
                if *first_is_left_out && is_left_out
                    || span.is_some_and(|span| is_within(span, first, mark)) =>
            {
                let same = merged[start_of_group..].iter_mut().find(|other| other.stream == mark.stream);
                match same {
                    Some(same) => same.bytes += mark.bytes,
                    None => merged.push(*mark),
                }
            }
            _ => {
                group = Some((*mark, is_left_out));
                start_of_group = merged.len();
                merged.push(*mark);
            }
        }
    }
    merged
}

/// The stored form of marks: of each the milliseconds since the one before, its stream and its bytes, such as
/// `1763942150123o12 5e7`.
pub fn write_marks(marks: &[OutputMark]) -> String {
    let mut text = String::new();
    let mut last = 0;
    for OutputMark { stream, bytes, at } in marks {
        let blank = if text.is_empty() { "" } else { " " };
        append(&mut text, format_args!("{blank}{}{}{bytes}", at.0.wrapping_sub(last), stream.letter()));
        last = at.0;
    }
    text
}

/// Reads what [`write_marks`] wrote about streams of these lengths, and nothing else.
pub fn read_marks(stored: &[u8], lengths: [u64; 2]) -> Result<Vec<OutputMark>, String> {
    let text = std::str::from_utf8(stored).map_err(|error| error.to_string())?;
    let mut last = 0_i64;
    let read = |word: &str| {
        let stream = OutputStream::BOTH.into_iter().find(|stream| word.contains(stream.letter()))?;
        let (since, bytes) = word.split_once(stream.letter())?;
        last = last.wrapping_add(since.parse().ok()?);
        let bytes = bytes.parse().ok().filter(|bytes| *bytes > 0)?;
        Some(OutputMark { stream, bytes, at: Timestamp(last) })
    };
    let marks: Option<Vec<_>> = text.split(' ').map(read).collect();
    let marks = marks.filter(|marks| write_marks(marks) == text).ok_or("they are no marks")?;
    let mut total = [Some(0_u64); 2];
    for OutputMark { stream, bytes, .. } in &marks {
        let of_stream = &mut total[*stream as usize];
        *of_stream = of_stream.and_then(|sum| sum.checked_add(*bytes));
    }
    if total == lengths.map(Some) { Ok(marks) } else { Err("they are about other lengths".to_owned()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::mutated;

    const NOTHING: LeftOut = [0..0, 0..0];

    fn mark(stream: OutputStream, bytes: u64, at: i64) -> OutputMark {
        OutputMark { stream, bytes, at: Timestamp(at) }
    }

    use OutputStream::{Stderr, Stdout};

    /// What the marks add up to for each stream.
    fn totals(marks: &[OutputMark]) -> [u64; 2] {
        OutputStream::BOTH
            .map(|of| marks.iter().filter(|mark| mark.stream == of).map(|mark| mark.bytes).sum())
    }

    #[test]
    fn what_one_stream_wrote_within_a_millisecond_is_one_mark() {
        let mut order = OutputOrder::default();
        for (stream, at) in [(Stdout, 7), (Stdout, 7), (Stderr, 7), (Stdout, 7), (Stdout, 8), (Stdout, 3)] {
            order.push(mark(stream, 2, at), &NOTHING);
        }
        let expected = [(Stdout, 4, 7), (Stderr, 2, 7), (Stdout, 2, 7), (Stdout, 2, 8), (Stdout, 2, 3)]
            .map(|(s, b, a)| mark(s, b, a));
        assert_eq!(order.marks(&NOTHING), expected);
    }

    #[test]
    fn many_marks_lose_what_lies_close_together_and_keep_the_rest() {
        let mut order = OutputOrder::default();
        order.push(mark(Stdout, 1, 0), &NOTHING);
        // A burst long after the beginning.
        for number in 0..100_000 {
            let stream = if number % 2 == 0 { Stderr } else { Stdout };
            order.push(mark(stream, 1, 86_400_000 + number), &NOTHING);
        }
        let marks = order.marks(&NOTHING);
        assert!(marks.len() < MAX_MARKS, "{}", marks.len());
        assert_eq!(totals(&marks), [50_001, 50_000]);
        assert_eq!(marks[0], mark(Stdout, 1, 0));
        let longest = marks.windows(2).skip(1).map(|pair| pair[1].at.since(pair[0].at)).max();
        assert!(longest <= Some(Millis(256)), "{longest:?}");
    }

    #[test]
    fn marks_of_bytes_that_are_not_kept_make_room_first() {
        let mut order = OutputOrder::default();
        let kept = 100;
        let mut left_out = NOTHING;
        for number in 0..100_000 {
            left_out[0] = kept..(number + 1).max(2 * kept) - kept;
            order.push(mark(Stdout, 1, i64::try_from(number).unwrap()), &left_out);
        }
        let marks = order.marks(&left_out);
        let bytes: Vec<_> = marks.iter().map(|mark| mark.bytes).collect();
        let expected = [vec![1; 100], vec![100_000 - 200], vec![1; 100]].concat();
        assert_eq!(bytes, expected);
        assert_eq!(marks[101].at, Timestamp(100_000 - 100));
    }

    #[test]
    fn a_clock_that_jumps_does_not_add_marks() {
        let mut order = OutputOrder::default();
        for number in 0..10_000 {
            let at = if number % 2 == 0 { i64::MIN } else { i64::MAX };
            order.push(mark(OutputStream::BOTH[number / 2 % 2], 1, at), &NOTHING);
            assert!(order.marks.len() < MAX_MARKS);
        }
        assert_eq!(totals(&order.marks), [5_000, 5_000]);
    }

    #[test]
    fn marks_are_read_strictly() {
        let stored = "1763942150123o12 5e7 -3e1";
        let marks = [mark(Stdout, 12, 1_763_942_150_123), mark(Stderr, 7, 1_763_942_150_128)];
        let marks = [marks[0], marks[1], mark(Stderr, 1, 1_763_942_150_125)];
        assert_eq!(write_marks(&marks), stored);
        assert_eq!(read_marks(stored.as_bytes(), [12, 8]), Ok(marks.to_vec()));
        for lengths in [[12, 7], [0, 8], [13, 8], [0, 0]] {
            assert_eq!(read_marks(stored.as_bytes(), lengths), Err("they are about other lengths".into()));
        }
        for damaged in [
            "",
            " ",
            "1o12 ",
            " 1o12",
            "1o12  0e0",
            "+1o12",
            "1o+12",
            "01o12",
            "1o012",
            "1x12",
            "o12",
            "1o",
            "1o12e",
            "1o0",
        ] {
            assert_eq!(
                read_marks(damaged.as_bytes(), [12, 0]),
                Err("they are no marks".into()),
                "{damaged:?}"
            );
        }
        assert!(read_marks(b"1o\xff", [12, 0]).is_err());
        let too_many = format!("1o{} 1o1", u64::MAX);
        assert!(read_marks(too_many.as_bytes(), [0, 0]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            marks in prop::collection::vec((any::<bool>(), 1_u64..1 << 50, any::<i64>()), 1..20),
        ) {
            let marks: Vec<_> =
                marks.into_iter().map(|(out, bytes, at)| mark(OutputStream::BOTH[usize::from(out)], bytes, at)).collect();
            prop_assert_eq!(read_marks(write_marks(&marks).as_bytes(), totals(&marks)), Ok(marks));
        }

        #[test]
        fn no_stored_marks_panic(text in mutated(&["1763942150123o12 5e7 -3e1"])) {
            if let Ok(marks) = read_marks(text.as_bytes(), [12, 8]) {
                prop_assert_eq!(write_marks(&marks), text);
            }
        }

        /// Reads in batches, between which time passes.
        #[test]
        fn merged_marks_keep_every_byte_and_the_times_to_the_span(
            reads in prop::collection::vec((any::<bool>(), 1_u64..9, 0_i64..40), 0..60),
            left_out in (0_u64..50, 0_u64..50, 0_u64..50, 0_u64..50),
            span in prop::option::of(0_u64..60),
        ) {
            let mut now = 0;
            let marks: Vec<_> = reads.into_iter().map(|(out, bytes, later)| {
                now += later;
                mark(OutputStream::BOTH[usize::from(out)], bytes, now)
            }).collect();
            let left_out = [left_out.0..left_out.0 + left_out.1, left_out.2..left_out.2 + left_out.3];
            let merged = merged(&marks, &left_out, span.map(Millis));
            prop_assert_eq!(totals(&merged), totals(&marks));
            for stream in OutputStream::BOTH {
                // Of each byte that is kept, when it was read and when the marks say so.
                let times = |marks: &[OutputMark]| -> Vec<Timestamp> {
                    let of_stream = marks.iter().filter(|mark| mark.stream == stream);
                    of_stream.flat_map(|mark| vec![mark.at; usize::try_from(mark.bytes).unwrap()]).collect()
                };
                for (index, (read, told)) in times(&marks).into_iter().zip(times(&merged)).enumerate() {
                    if !left_out[stream as usize].contains(&(index as u64)) {
                        prop_assert!(told <= read && read.since(told) <= Millis(span.unwrap_or(0)), "{index}");
                    }
                }
            }
        }
    }
}
