//! The two streams of a job: read at once, so that the job never waits; head and tail are kept in constant memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::model::StreamBytes;

/// The bytes of one read: the capacity of an ordinary pipe.
const CHUNK_BYTES: usize = 64 << 10;
/// The largest pipe of an unprivileged job, in chunks.
const MAX_PIPE_CHUNKS: usize = 16;

/// The reading end of a job's pipe.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    buffer: HeadTailBuffer,
}

impl Stream {
    /// Keeps at most `limit` bytes.
    pub fn new(pipe: OwnedFd, limit: u64) -> Self {
        // Cannot fail on a pipe.
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { pipe: Some(pipe), buffer: HeadTailBuffer::new(limit) }
    }

    /// The pipe, until every process has closed the other end.
    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads one chunk, by way of `scratch`. True if there may be more at once.
    pub fn read(&mut self, scratch: &mut Vec<u8>) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        scratch.clear();
        scratch.reserve(CHUNK_BYTES);
        match rustix::io::read(pipe, spare_capacity(scratch)) {
            Ok(1..) => {
                self.buffer.push(scratch);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            Ok(0) | Err(_) => {
                self.pipe = None;
                false
            }
        }
    }

    /// Empties the pipe and closes it. True if a process still held the other end.
    pub fn close(&mut self, scratch: &mut Vec<u8>) -> bool {
        // Bounded: a process that holds the other end may go on writing for ever.
        let _ = (0..MAX_PIPE_CHUNKS).all(|_| self.read(scratch));
        self.pipe.take().is_some()
    }

    /// The number of bytes read so far.
    pub fn total(&self) -> u64 {
        self.buffer.total
    }

    pub fn captured(&self) -> StreamBytes {
        self.buffer.captured()
    }
}

/// Keeps the first quarter and the last three quarters of its limit. Allocates only as bytes come.
#[derive(Debug)]
struct HeadTailBuffer {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    /// A ring once it is full: its oldest byte is at `oldest`.
    tail: Vec<u8>,
    oldest: usize,
    /// The number of bytes pushed so far.
    total: u64,
}

impl HeadTailBuffer {
    fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let head_limit = limit / 4;
        Self {
            head_limit,
            tail_limit: limit - head_limit,
            head: Vec::new(),
            tail: Vec::new(),
            oldest: 0,
            total: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = split_at_most(bytes, self.head_limit - self.head.len());
        self.head.extend_from_slice(head);
        // Only the end of a longer piece can stay.
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let (new, mut over) = split_at_most(rest, self.tail_limit - self.tail.len());
        self.tail.extend_from_slice(new);
        while !over.is_empty() {
            let (now, later) = split_at_most(over, self.tail_limit - self.oldest);
            self.tail[self.oldest..][..now.len()].copy_from_slice(now);
            self.oldest = (self.oldest + now.len()) % self.tail_limit;
            over = later;
        }
    }

    fn captured(&self) -> StreamBytes {
        let (newer, older) = self.tail.split_at(self.oldest);
        let bytes = [&self.head, older, newer].concat();
        StreamBytes { omitted: self.total - bytes.len() as u64, head: self.head.len(), bytes }
    }
}

fn split_at_most(bytes: &[u8], most: usize) -> (&[u8], &[u8]) {
    bytes.split_at(most.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            let mut buffer = HeadTailBuffer::new(limit as u64);
            let mut all = Vec::new();
            for chunk in &chunks {
                buffer.push(chunk);
                all.extend_from_slice(chunk);
                prop_assert_eq!(buffer.captured(), naive(&all, limit));
            }
        }
    }

    #[test]
    fn silence_takes_no_memory() {
        let buffer = HeadTailBuffer::new(16 << 20);
        assert_eq!(buffer.head.capacity() + buffer.tail.capacity(), 0);
        assert_eq!(buffer.captured(), StreamBytes::default());
    }
}
