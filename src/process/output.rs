//! The output of a job, read as soon as it comes, so that the job never waits for its reader. Of a long output only the
//! head and the tail of each stream are kept, so that memory stays constant.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use super::pass_on::PassOn;
use crate::clock;
use crate::model::{AttemptOutput, OutputMark, OutputOrder, OutputStream, StreamBytes};
use crate::text::Timestamp;

/// The size of one read, which is the capacity of an ordinary pipe.
const CHUNK_BYTES: usize = 64 << 10;
/// The largest pipe of an unprivileged job, in chunks.
const MAX_PIPE_CHUNKS: usize = 16;

/// The reading ends of a job's pipes, and what came through them.
#[derive(Debug)]
pub(super) struct Capture<'a> {
    pipes: [Option<OwnedFd>; 2],
    kept: KeptOutput,
    /// Where the output goes as it comes, besides what is kept of it.
    pass_on: Option<&'a PassOn>,
    chunk: Vec<u8>,
}

impl<'a> Capture<'a> {
    /// Keeps at most `limit` bytes of each stream.
    pub fn new(stdout: OwnedFd, stderr: OwnedFd, limit: u64, pass_on: Option<&'a PassOn>) -> Self {
        let pipes = [stdout, stderr].map(|pipe| {
            // This cannot fail on a pipe.
            let _ = rustix::io::ioctl_fionbio(&pipe, true);
            Some(pipe)
        });
        Self { pipes, kept: KeptOutput::new(limit), pass_on, chunk: Vec::new() }
    }

    /// The descriptor that becomes ready when there is more to do for this stream: its pipe, or, while the reader of what is passed
    /// on is behind, the one that tells that there is room again. None once every process has closed the other end.
    pub fn to_wait_for(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        let pipe = self.pipes[stream as usize].as_ref()?;
        Some(self.pass_on.and_then(|to| to.awaits_room(stream)).unwrap_or_else(|| pipe.as_fd()))
    }

    /// Whether every process has closed the other ends.
    pub fn is_closed(&self) -> bool {
        self.pipes.iter().all(Option::is_none)
    }

    /// Reads one chunk. True if there may be more to read at once.
    pub fn read(&mut self, stream: OutputStream) -> bool {
        let Some(pipe) = &self.pipes[stream as usize] else {
            return false;
        };
        self.chunk.clear();
        self.chunk.reserve(CHUNK_BYTES);
        match rustix::io::read(pipe, spare_capacity(&mut self.chunk)) {
            Ok(1..) => {
                self.kept.push(stream, &self.chunk, clock::now());
                if let Some(to) = self.pass_on {
                    to.take(stream, &self.chunk);
                }
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            Ok(0) | Err(_) => {
                self.pipes[stream as usize] = None;
                false
            }
        }
    }

    /// Empties the pipes. Returns those of which a process still holds the other end.
    pub fn finish(&mut self) -> Vec<OwnedFd> {
        for stream in OutputStream::BOTH {
            // The number of reads is bounded, because a process that holds the other end may go on writing for ever.
            let _ = (0..MAX_PIPE_CHUNKS).all(|_| self.read(stream));
        }
        self.pipes.iter_mut().filter_map(Option::take).collect()
    }

    /// The number of bytes read so far.
    pub fn length(&self) -> u64 {
        self.kept.streams.iter().map(|stream| stream.total).sum()
    }

    pub fn output(&self) -> AttemptOutput {
        self.kept.output()
    }
}

/// What is kept of both streams, and in which order it was read.
#[derive(Debug)]
struct KeptOutput {
    streams: [HeadAndTail; 2],
    order: OutputOrder,
}

impl KeptOutput {
    fn new(limit: u64) -> Self {
        Self { streams: [HeadAndTail::new(limit), HeadAndTail::new(limit)], order: OutputOrder::default() }
    }

    fn push(&mut self, stream: OutputStream, bytes: &[u8], at: Timestamp) {
        self.streams[stream as usize].push(bytes);
        self.order.push(OutputMark { stream, bytes: bytes.len() as u64, at }, &self.left_out());
    }

    fn left_out(&self) -> [Range<u64>; 2] {
        self.streams.each_ref().map(HeadAndTail::left_out)
    }

    fn output(&self) -> AttemptOutput {
        let [stdout, stderr] = self.streams.each_ref().map(HeadAndTail::captured);
        AttemptOutput { stdout, stderr, marks: self.order.marks(&self.left_out()) }
    }
}

/// Keeps the first quarter and the last three quarters of its limit. Allocates only as bytes come.
#[derive(Debug)]
struct HeadAndTail {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The number of bytes pushed so far.
    total: u64,
}

impl HeadAndTail {
    fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let head_limit = limit / 4;
        let tail_limit = limit - head_limit;
        Self { head_limit, tail_limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(head);
        // Only the end of a longer piece can stay.
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// The bytes that are not kept.
    fn left_out(&self) -> Range<u64> {
        self.head.len() as u64..self.total - self.tail.len() as u64
    }

    fn captured(&self) -> StreamBytes {
        let (older, newer) = self.tail.as_slices();
        let bytes = [&self.head, older, newer].concat();
        StreamBytes { omitted: self.total - bytes.len() as u64, head: self.head.len(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::OutputPart;

    /// The same, by keeping everything first.
    fn naive(all: &[u8], limit: usize) -> StreamBytes {
        let head = (limit / 4).min(all.len());
        if all.len() <= limit {
            return StreamBytes { bytes: all.to_vec(), head, omitted: 0 };
        }
        let tail = limit - head;
        StreamBytes {
            bytes: [&all[..head], &all[all.len() - tail..]].concat(),
            head,
            omitted: (all.len() - limit) as u64,
        }
    }

    proptest! {
        #[test]
        fn first_quarter_and_last_three(
            limit in 0_usize..70,
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..12),
        ) {
            let mut buffer = HeadAndTail::new(limit as u64);
            let mut all = Vec::new();
            for chunk in &chunks {
                buffer.push(chunk);
                all.extend_from_slice(chunk);
                prop_assert_eq!(buffer.captured(), naive(&all, limit));
            }
        }

        /// Whatever order the streams are read in, the pieces bring what was written back: all of it below the limit, and above
        /// it everything but what was left out.
        #[test]
        fn the_pieces_are_what_was_read_in_its_order(
            limit in 0_usize..70,
            chunks in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 1..30), 0_i64..3), 0..20),
            polls in prop::collection::vec(0_usize..20, 0..4),
        ) {
            let mut kept = KeptOutput::new(limit as u64);
            let mut all: [Vec<u8>; 2] = Default::default();
            let (mut in_order, mut seen) = (Vec::<u8>::new(), Vec::<u8>::new());
            let mut read = [0, 0];
            let mut at = 0;
            for (number, (is_stderr, chunk, later)) in chunks.iter().enumerate() {
                at += later;
                let stream = OutputStream::BOTH[usize::from(*is_stderr)];
                kept.push(stream, chunk, Timestamp(at));
                all[stream as usize].extend(chunk);
                in_order.extend(chunk);
                // Somebody follows it meanwhile.
                if number + 1 == chunks.len() || polls.contains(&number) {
                    for piece in kept.output().pieces_after(read) {
                        let of_stream = piece.stream as usize;
                        let start = usize::try_from(piece.start).unwrap();
                        prop_assert_eq!(piece.start, read[of_stream]);
                        read[of_stream] += piece.part.length();
                        if let OutputPart::Kept(bytes) = piece.part {
                            prop_assert_eq!(bytes, &all[of_stream][start..start + bytes.len()]);
                            seen.extend(bytes);
                        }
                    }
                }
            }
            prop_assert_eq!(read, all.each_ref().map(|all| all.len() as u64));
            if all.iter().all(|all| all.len() <= limit) {
                prop_assert_eq!(seen, in_order);
            } else if polls.is_empty() {
                prop_assert_eq!(seen.len(), all.iter().map(|all| all.len().min(limit)).sum::<usize>());
            }
        }
    }
}
