//! Passes on what attempts write, byte for byte, to the standard output and the standard error of this process.
//!
//! A slow reader slows an attempt down as a pipe would: what waits for the reader is bounded, and the attempt's own pipe is not
//! read meanwhile. But no write blocks, so that timeouts and cancels hold. A reader that is gone changes nothing.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::model::OutputStream;

/// No more of a stream is read while this much of it waits for the reader.
const MAX_WAITING: usize = 64 << 10;

/// A pipe that has room takes this many bytes without blocking: `PIPE_BUF`, pipe(7).
const CHUNK: usize = 4096;

/// The standard output and the standard error of this process, for the threads of all slots.
#[derive(Debug)]
pub struct PassOn {
    stdout: Outlet,
    stderr: Outlet,
}

impl PassOn {
    /// Fails if the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { stdout: Outlet::new(io::stdout().as_fd())?, stderr: Outlet::new(io::stderr().as_fd())? })
    }

    /// The stream that could not be written to, as on a full disk, and why. A reader that is gone is no failure.
    pub fn failure(&self) -> Option<(OutputStream, io::Error)> {
        [OutputStream::Stdout, OutputStream::Stderr].into_iter().find_map(|stream| {
            let failure = self.outlet(stream).waiting().failure.filter(|error| *error != Errno::PIPE)?;
            Some((stream, failure.into()))
        })
    }

    pub(super) fn outlet(&self, stream: OutputStream) -> &Outlet {
        match stream {
            OutputStream::Stdout => &self.stdout,
            OutputStream::Stderr => &self.stderr,
        }
    }

    /// Waits until the readers may take more, at most this long, and writes it. True once nothing waits any more.
    pub fn finish(&self, limit: Duration) -> bool {
        let outlets = [&self.stdout, &self.stderr];
        let behind = outlets.map(Outlet::behind);
        let behind = behind.iter().flatten().map(|each| PollFd::from_borrowed_fd(*each, PollFlags::OUT));
        let mut behind: Vec<_> = behind.collect();
        // After an error nothing can be written, and the caller calls again.
        let _ = poll(&mut behind, Timespec::try_from(limit).ok().as_ref());
        for outlet in outlets {
            outlet.write();
        }
        outlets.iter().all(|outlet| outlet.behind().is_none())
    }
}

/// A descriptor that output is passed on to, and what waits to be written to it.
#[derive(Debug)]
pub(super) struct Outlet {
    descriptor: OwnedFd,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: VecDeque<u8>,
    /// A write has failed, so that nothing more is written.
    failure: Option<Errno>,
}

impl Outlet {
    fn new(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { descriptor: descriptor.try_clone_to_owned()?, waiting: Mutex::default() })
    }

    /// Takes these bytes, and writes as much as the reader takes now.
    pub fn take(&self, bytes: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.failure.is_none() {
            waiting.bytes.extend(bytes);
            waiting.write(self.descriptor.as_fd());
        }
    }

    /// Writes as much as the reader takes now.
    pub fn write(&self) {
        self.waiting().write(self.descriptor.as_fd());
    }

    /// Whether the reader is so far behind that nothing more is to be taken for it.
    pub fn is_full(&self) -> bool {
        self.waiting().bytes.len() >= MAX_WAITING
    }

    /// The descriptor, if something waits to be written to it.
    pub fn behind(&self) -> Option<BorrowedFd<'_>> {
        (!self.waiting().bytes.is_empty()).then(|| self.descriptor.as_fd())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn write(&mut self, descriptor: BorrowedFd<'_>) {
        while !self.bytes.is_empty() && has_room(descriptor) {
            let (front, _) = self.bytes.as_slices();
            match rustix::io::write(descriptor, &front[..front.len().min(CHUNK)]) {
                Ok(written) => drop(self.bytes.drain(..written)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => *self = Self { bytes: VecDeque::new(), failure: Some(error) },
            }
        }
    }
}

/// Whether a write of at most [`CHUNK`] bytes ends at once, be it with an error.
fn has_room(descriptor: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, pipe};

    use super::*;

    #[test]
    fn a_slow_reader_gets_every_byte_and_blocks_nobody() {
        let (reading, writing) = pipe().unwrap();
        let outlet = Outlet::new(writing.as_fd()).unwrap();
        drop(writing);
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        outlet.take(&bytes);
        assert!(outlet.is_full() && outlet.behind().is_some());
        let (mut reader, mut read) = (File::from(OwnedFd::from(reading)), vec![0; 1]);
        reader.read_exact(&mut read).unwrap();
        while outlet.behind().is_some() {
            let mut chunk = [0; 10_000];
            let count = reader.read(&mut chunk).unwrap();
            read.extend(&chunk[..count]);
            outlet.write();
        }
        drop(outlet);
        reader.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    #[test]
    fn a_reader_that_is_gone_is_forgotten() {
        let (reading, writing) = pipe().unwrap();
        let outlet = Outlet::new(writing.as_fd()).unwrap();
        drop(reading);
        outlet.take(&vec![0; 300_000]);
        assert!(!outlet.is_full() && outlet.behind().is_none());
    }
}
