//! The standard streams, also where another program has made them non-blocking.
//!
//! That mode belongs to the open file, and every process that shares the stream has it: a terminal, a pipe to a pager, or the input
//! that a tool for programs gives to what it starts. Reads and writes of the standard library fail then instead of waiting.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

/// A stream that waits for its reader or its writer in any mode.
#[derive(Debug)]
pub struct Waiting<T>(pub T);

impl<T: AsFd> Waiting<T> {
    fn until_done<R>(
        &mut self,
        ready: PollFlags,
        mut act: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            match act(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // After a failure the next try says what is wrong.
                    let _ = poll(&mut [PollFd::new(&self.0, ready)], None);
                }
                done => return done,
            }
        }
    }
}

impl<T: Read + AsFd> Read for Waiting<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.until_done(PollFlags::IN, |stream| stream.read(into))
    }
}

impl<T: Write + AsFd> Write for Waiting<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until_done(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.until_done(PollFlags::OUT, Write::flush)
    }
}
