//! A log whose reader may be slow, or stand still.
//!
//! What is written goes through a buffer to a thread of its own, so that no job waits for a reader: a timeout, a cancel and
//! a signal to stop are obeyed while somebody has stopped the terminal of a pager, or a log daemon hangs.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that are kept for a reader who does not read; of what comes then it is only counted how much.
const MOST: usize = 4 << 20;

/// At the end a reader may be as slow as it likes, but not stand still for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Passes on what is written, each write as one. Dropping it waits for the reader, within reason.
pub struct Spool {
    shared: Arc<Shared>,
    /// None until something is written: before that the worker may not have threads yet.
    out: Option<Box<dyn Write + Send>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    writes: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Writes that found no room.
    left_out: u64,
    /// How much has been passed on: it grows as long as the reader reads.
    passed_on: u64,
    closed: bool,
    done: bool,
}

impl Spool {
    /// Passes on to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self { shared: Arc::default(), out: Some(Box::new(out)) }
    }
}

impl Write for Spool {
    /// Always takes everything, or leaves everything out.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(out) = self.out.take() {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name("log".to_owned()).spawn(move || pass_on(&shared, out))?;
        }
        let mut state = self.shared.lock();
        if state.bytes + bytes.len() > MOST {
            state.left_out += 1;
        } else {
            state.bytes += bytes.len();
            state.writes.push_back(bytes.to_vec());
            self.shared.changed.notify_all();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.out.is_some() {
            return;
        }
        let mut state = self.shared.lock();
        state.closed = true;
        self.shared.changed.notify_all();
        while !state.done {
            let passed_on = state.passed_on;
            let waited = self.shared.changed.wait_timeout(state, PATIENCE);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = after;
            if timeout.timed_out() && state.passed_on == passed_on {
                return;
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pass_on(shared: &Shared, mut out: Box<dyn Write + Send>) {
    let mut state = shared.lock();
    loop {
        if let Some(bytes) = state.writes.pop_front() {
            state.bytes -= bytes.len();
            let left_out = if state.writes.is_empty() { std::mem::take(&mut state.left_out) } else { 0 };
            drop(state);
            // A reader that went away must not stop the work.
            let _ = out.write_all(&bytes).and_then(|()| out.flush());
            if left_out > 0 {
                super::say_apart(&format!(
                    "nobody read the log for a while: {left_out} lines of it are left out"
                ));
            }
            state = shared.lock();
            state.passed_on += 1;
            shared.changed.notify_all();
        } else if state.closed {
            state.done = true;
            shared.changed.notify_all();
            return;
        } else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A reader that takes a write when it is asked to.
    struct Slow(SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn spool() -> (Spool, Receiver<Vec<u8>>) {
        let (sender, receiver) = sync_channel(0);
        (Spool::new(Slow(sender)), receiver)
    }

    #[test]
    fn what_is_written_comes_out_in_order_a_write_a_write() {
        let (mut spool, receiver) = spool();
        for number in 0..100 {
            spool.write_all(number.to_string().as_bytes()).unwrap();
        }
        let reader = thread::spawn(move || receiver.iter().collect::<Vec<_>>());
        drop(spool);
        let read = reader.join().unwrap();
        assert_eq!(read, (0..100).map(|number| number.to_string().into_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_a_reader_that_stands_still() {
        let (mut spool, receiver) = spool();
        let line = vec![b'x'; 1 << 16];
        for _ in 0..200 {
            spool.write_all(&line).unwrap();
        }
        let (bytes, left_out) = {
            let state = spool.shared.lock();
            (state.bytes, state.left_out)
        };
        assert!(bytes <= MOST && left_out > 100, "{bytes} {left_out}");
        drop(spool);
        drop(receiver);
    }

    #[test]
    fn one_that_is_never_written_to_has_no_thread() {
        let (spool, receiver) = spool();
        drop(spool);
        assert!(receiver.recv().is_err());
    }
}
