//! The output of a job, read as soon as it comes, so that the job never waits for its reader. Of a long output only the
//! head and the tail are kept, so that memory stays constant.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::model::StreamBytes;

/// The size of one read, which is the capacity of an ordinary pipe.
const CHUNK_BYTES: usize = 64 << 10;
/// The largest pipe of an unprivileged job, in chunks.
const MAX_PIPE_CHUNKS: usize = 16;

/// The reading end of a job's pipe.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    buffer: HeadAndTail,
}

impl Stream {
    /// Keeps at most `limit` bytes.
    pub fn new(pipe: OwnedFd, limit: u64) -> Self {
        // This cannot fail on a pipe.
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { pipe: Some(pipe), buffer: HeadAndTail::new(limit) }
    }

    /// The pipe, until every process has closed the other end.
    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads one chunk by way of `scratch`. True if there may be more to read at once.
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
        // The number of reads is bounded, because a process that holds the other end may go on writing for ever.
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
    }
}
