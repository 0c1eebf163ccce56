//! One of the two streams of a job: read as it comes, so that the job never waits for us.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use super::kept::{Keeper, Kept};

/// What is read at once; a pipe holds as much.
const CHUNK: usize = 64 << 10;
/// The largest pipe that a job without privileges can have, in chunks.
const LARGEST_PIPE: usize = 16;

/// The reading end of a pipe, and what is kept of what came.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    keeper: Keeper,
}

impl Stream {
    pub fn new(pipe: OwnedFd, limit: u64) -> Self {
        // It cannot fail on a pipe; and if it did, reads would only be late.
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { pipe: Some(pipe), keeper: Keeper::new(limit) }
    }

    /// The pipe, until everyone has closed the other end.
    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads one chunk, if there is anything; says whether there may be more at once.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        buffer.clear();
        buffer.reserve(CHUNK);
        match rustix::io::read(pipe, spare_capacity(buffer)) {
            Ok(0) => {
                self.pipe = None;
                false
            }
            Ok(_) => {
                self.keeper.push(buffer);
                true
            }
            Err(Errno::AGAIN) => false,
            Err(Errno::INTR) => true,
            Err(_) => {
                self.pipe = None;
                false
            }
        }
    }

    /// Reads what is in the pipe, and closes it; true if somebody still held the other end.
    pub fn close(&mut self, buffer: &mut Vec<u8>) -> bool {
        // Whoever holds the other end may go on writing for ever.
        let _ = (0..LARGEST_PIPE).all(|_| self.read(buffer));
        self.pipe.take().is_some()
    }

    /// How many bytes came.
    pub fn total(&self) -> u64 {
        self.keeper.total()
    }

    pub fn kept(&self) -> Kept {
        self.keeper.kept()
    }
}
