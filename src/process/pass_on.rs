//! Passes on bytes as they are to the standard output and the standard error of this process: what attempts write, and what a
//! `run` says of them.
//!
//! A slow reader slows an attempt down as a pipe would: what waits for the reader is bounded, and the attempt's own pipe is not
//! read meanwhile. But nobody who has something to pass on waits, so that timeouts, cancels and signals hold. A thread does the
//! writing: a terminal that is stopped holds up every write, and without blocking it could be written to only if that were
//! set for everybody who has it open. A reader that is gone changes nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::model::OutputStream;
use crate::stdio::Waiting;

/// No more of a stream is read while this much waits for the reader.
const MAX_WAITING: usize = 64 << 10;

/// What is written at once, so that a slow reader makes room little by little.
const CHUNK: usize = 4096;

/// The standard output and the standard error of this process, for the threads of all slots.
#[derive(Debug)]
pub struct PassOn {
    /// One for each stream, or the same for both, where both go to one file or terminal: there the order is kept.
    lanes: [Arc<Lane>; 2],
}

impl PassOn {
    /// Fails if the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Self::to([io::stdout().as_fd(), io::stderr().as_fd()])
    }

    fn to(streams: [BorrowedFd<'_>; 2]) -> io::Result<Self> {
        let [stdout, stderr] = streams;
        let descriptors =
            Arc::new([stdout.try_clone_to_owned()?.into(), stderr.try_clone_to_owned()?.into()]);
        let [one, other] = [fstat(stdout)?, fstat(stderr)?].map(|stat| (stat.st_dev, stat.st_ino));
        let first = Arc::new(Lane::new(Arc::clone(&descriptors))?);
        let second = if one == other { Arc::clone(&first) } else { Arc::new(Lane::new(descriptors)?) };
        Ok(Self { lanes: [first, second] })
    }

    /// Takes these bytes, to be written behind those that it has.
    pub fn take(&self, stream: OutputStream, bytes: &[u8]) {
        self.lanes[stream as usize].take(stream, bytes);
    }

    /// The descriptor that is readable once there is room again; none while there is.
    pub(super) fn awaits_room(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        let target = &self.lanes[stream as usize].target;
        target.state().is_full().then(|| target.room.as_fd())
    }

    /// The stream that could not be written to, as on a full disk, and why. A reader that is gone is no failure. From here on both
    /// are tried again: there may be room now for the words that say so.
    pub fn take_failure(&self) -> Option<(OutputStream, io::Error)> {
        let failures = OutputStream::BOTH.map(|stream| {
            let target = &self.lanes[stream as usize].target;
            let is_told = |error: &mut Errno| !is_reader_gone(&target.descriptors[stream as usize], *error);
            let failure = target.state().failures[stream as usize].take_if(is_told);
            Some((stream, failure?.into()))
        });
        failures.into_iter().flatten().next()
    }

    /// Waits until all is written, at most this long. True if it is.
    pub fn finish(&self, limit: Duration) -> bool {
        let began = Instant::now();
        self.lanes.iter().all(|lane| lane.target.finish(limit.saturating_sub(began.elapsed())))
    }
}

/// Bytes of one of the streams.
type Piece = (OutputStream, Vec<u8>);

/// The way to one file, pipe or terminal.
#[derive(Debug)]
struct Lane {
    /// None before the first bytes, and as long as the machine cannot start another thread.
    writer: Mutex<Option<Sender<Piece>>>,
    target: Arc<Target>,
}

impl Lane {
    fn new(descriptors: Arc<[File; 2]>) -> io::Result<Self> {
        let room = eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let target = Target { descriptors, state: Mutex::default(), written: Condvar::new(), room };
        Ok(Self { writer: Mutex::default(), target: Arc::new(target) })
    }

    fn take(&self, stream: OutputStream, bytes: &[u8]) {
        self.target.add(bytes.len());
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            *writer = Target::start_writer(&self.target).ok();
        }
        for piece in bytes.chunks(CHUNK).map(|chunk| (stream, chunk.to_vec())) {
            let unsent = match &*writer {
                Some(writer) => writer.send(piece).err().map(|unsent| unsent.0),
                None => Some(piece),
            };
            if let Some(piece) = unsent {
                self.target.write(&piece);
            }
        }
    }
}

#[derive(Debug)]
struct Target {
    /// The descriptors of both streams, even if only one of them goes this way.
    descriptors: Arc<[File; 2]>,
    state: Mutex<State>,
    /// Told after each piece.
    written: Condvar,
    /// Readable while there is room.
    room: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    /// The number of bytes that were taken and are not written yet.
    waiting: usize,
    /// Of each stream: a write has failed, so that nothing more is written.
    failures: [Option<Errno>; 2],
}

impl State {
    const fn is_full(&self) -> bool {
        self.waiting >= MAX_WAITING
    }
}

impl Target {
    /// The thread ends when the sender is dropped.
    fn start_writer(target: &Arc<Self>) -> io::Result<Sender<Piece>> {
        let (sender, pieces) = channel();
        let target = Arc::clone(target);
        let write_all = move || pieces.iter().for_each(|piece| target.write(&piece));
        thread::Builder::new().name("pass-on".to_owned()).spawn(write_all)?;
        Ok(sender)
    }

    fn add(&self, bytes: usize) {
        let mut state = self.state();
        state.waiting += bytes;
        if state.is_full() {
            // Fails only if it is not readable already.
            let _ = rustix::io::read(&self.room, &mut [0_u8; 8]);
        }
    }

    /// Writes a piece, and waits for the reader.
    fn write(&self, (stream, bytes): &Piece) {
        let stream = *stream as usize;
        let has_failed = self.state().failures[stream].is_some();
        let mut out = Waiting(&self.descriptors[stream]);
        let done = if has_failed { Ok(()) } else { out.write_all(bytes) };
        let done = done.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let mut state = self.state();
        let was_full = state.is_full();
        state.waiting -= bytes.len();
        state.failures[stream] = state.failures[stream].or(done.err());
        if was_full && !state.is_full() {
            // Fails only if the counter is full, and then it is readable.
            let _ = rustix::io::write(&self.room, &1_u64.to_ne_bytes());
        }
        self.written.notify_all();
    }

    fn finish(&self, limit: Duration) -> bool {
        let waited = self.written.wait_timeout_while(self.state(), limit, |state| state.waiting > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a write failed with this error because nobody can read any more. Of a terminal that was closed Linux says that there
/// was an input/output error.
fn is_reader_gone(descriptor: &File, error: Errno) -> bool {
    let is_device =
        || fstat(descriptor).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_char_device());
    matches!(error, Errno::PIPE | Errno::CONNRESET) || error == Errno::IO && is_device()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{PipeReader, Read, pipe};

    use rustix::event::{PollFd, PollFlags, poll};

    use OutputStream::{Stderr, Stdout};

    use super::*;

    /// Where nobody reads in a test that writes nothing to it.
    fn to_pipe() -> (PassOn, PipeReader) {
        let (reading, writing) = pipe().unwrap();
        let null = File::options().write(true).open("/dev/null").unwrap();
        (PassOn::to([writing.as_fd(), null.as_fd()]).unwrap(), reading)
    }

    fn has_room(pass_on: &PassOn) -> bool {
        let room = &pass_on.lanes[Stdout as usize].target.room;
        let mut polled = [PollFd::new(room, PollFlags::IN)];
        let is_readable = poll(&mut polled, Some(&rustix::event::Timespec::default())).unwrap() > 0;
        assert_eq!(is_readable, pass_on.awaits_room(Stdout).is_none());
        is_readable
    }

    #[test]
    fn a_slow_reader_gets_every_byte_and_holds_up_nobody() {
        let (pass_on, mut reading) = to_pipe();
        assert!(has_room(&pass_on));
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        for piece in bytes.chunks(1_000) {
            pass_on.take(Stdout, piece);
        }
        assert!(!has_room(&pass_on) && !pass_on.finish(Duration::ZERO));
        let mut read = vec![0; bytes.len()];
        reading.read_exact(&mut read).unwrap();
        assert!(read == bytes);
        assert!(pass_on.finish(Duration::MAX) && has_room(&pass_on));
        drop(pass_on);
        assert_eq!(reading.read(&mut [0]).unwrap(), 0, "the thread has ended, too");
    }

    #[test]
    fn a_reader_that_is_gone_is_forgotten() {
        let (pass_on, reading) = to_pipe();
        drop(reading);
        pass_on.take(Stdout, &vec![0; 300_000]);
        assert!(pass_on.finish(Duration::MAX) && has_room(&pass_on));
        pass_on.take(Stdout, b"x");
        assert!(pass_on.finish(Duration::MAX) && pass_on.take_failure().is_none());
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let pass_on = PassOn::to([full.as_fd(), full.as_fd()]).unwrap();
        pass_on.take(Stderr, b"x");
        assert!(pass_on.finish(Duration::MAX));
        let (stream, error) = pass_on.take_failure().unwrap();
        assert_eq!((stream, error.kind()), (Stderr, io::ErrorKind::StorageFull));
        assert!(pass_on.take_failure().is_none());
        pass_on.take(Stderr, b"x");
        assert!(pass_on.finish(Duration::MAX));
        assert!(pass_on.take_failure().is_some(), "it was tried again");
    }

    #[test]
    fn streams_that_go_to_one_place_keep_their_order_and_others_do_not_wait_for_each_other() {
        let (mut reading, writing) = pipe().unwrap();
        let pass_on = PassOn::to([writing.as_fd(), writing.as_fd()]).unwrap();
        drop(writing);
        let expected: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        for (number, bytes) in expected.chunks(4).enumerate() {
            pass_on.take(OutputStream::BOTH[number % 2], bytes);
        }
        let mut read = vec![0; expected.len()];
        reading.read_exact(&mut read).unwrap();
        assert!(read == expected);

        let ((_unread, stuck), (mut read, live)) = (pipe().unwrap(), pipe().unwrap());
        let pass_on = PassOn::to([stuck.as_fd(), live.as_fd()]).unwrap();
        pass_on.take(Stdout, &vec![0; 300_000]);
        pass_on.take(Stderr, b"x");
        read.read_exact(&mut [0]).unwrap();
    }
}
