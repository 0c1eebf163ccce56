//! A log whose reader may be slow, or stop reading.
//!
//! A thread does the writing: while a pager's terminal is stopped or a log daemon hangs, the worker goes on to obey
//! timeouts, cancels and signals.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How many lines wait for a reader that does not read. Further lines are dropped and counted.
const MAX_LINES: usize = 4_096;

/// At its end the program gives up, and says so, if the reader has read nothing for this long.
const FINAL_WAIT: Duration = Duration::from_secs(1);

/// Passes on each write as a whole. Dropping it waits until everything is written or the reader stops reading.
pub struct LogWriter {
    out: Arc<Mutex<dyn Write + Send>>,
    /// None before the first line, and as long as the machine cannot start another thread.
    thread: Option<WriterThread>,
}

struct WriterThread {
    lines: SyncSender<Vec<u8>>,
    /// Disconnected when the thread has ended.
    alive: Receiver<()>,
    counts: Arc<LineCounts>,
}

#[derive(Default)]
struct LineCounts {
    taken: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
}

impl LineCounts {
    /// The lines that have not arrived, and of which nothing was said.
    fn missing(&self) -> u64 {
        self.dropped.load(Relaxed) + self.taken.load(Relaxed) - self.written.load(Relaxed)
    }
}

impl LogWriter {
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self { out: Arc::new(Mutex::new(out)), thread: None }
    }
}

impl Write for LogWriter {
    /// Queues the whole line, or drops the whole line if the queue is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.thread.is_none() {
            self.thread = WriterThread::start(Arc::clone(&self.out)).ok();
        }
        match &self.thread {
            Some(thread) if thread.lines.try_send(bytes.to_vec()).is_err() => {
                thread.counts.dropped.fetch_add(1, Relaxed);
            }
            Some(thread) => {
                thread.counts.taken.fetch_add(1, Relaxed);
            }
            None => write_line(&self.out, bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        let Some(WriterThread { lines, alive, counts }) = self.thread.take() else { return };
        drop(lines);
        let mut written = counts.written.load(Relaxed);
        while alive.recv_timeout(FINAL_WAIT) == Err(RecvTimeoutError::Timeout) {
            let before = std::mem::replace(&mut written, counts.written.load(Relaxed));
            if written == before {
                break;
            }
        }
        let missing = counts.missing();
        if missing > 0 {
            say_unless_stuck(&format!(
                "runner: nobody read the log to its end: {missing} lines are missing\n"
            ));
        }
    }
}

impl WriterThread {
    fn start(out: Arc<Mutex<dyn Write + Send>>) -> io::Result<Self> {
        let (lines, to_write) = sync_channel::<Vec<u8>>(MAX_LINES);
        let (guard, alive) = channel();
        let counts = Arc::new(LineCounts::default());
        let shared = Arc::clone(&counts);
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            let _guard = guard;
            for line in to_write {
                write_line(&out, &line);
                shared.written.fetch_add(1, Relaxed);
                let dropped = shared.dropped.swap(0, Relaxed);
                if dropped > 0 {
                    let words =
                        format!("runner: nobody read the log for a while: {dropped} lines are missing\n");
                    // A closed terminal must not stop the work.
                    let _ = io::stderr().write_all(words.as_bytes());
                }
            }
        })?;
        Ok(Self { lines, alive, counts })
    }
}

/// Says it on standard error, unless that is what nobody reads.
fn say_unless_stuck(words: &str) {
    let stderr = io::stderr();
    let mut polled = [PollFd::new(&stderr, PollFlags::OUT)];
    if poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        // The thread that is stuck may hold the lock of standard error. A closed terminal must not stop the end.
        let _ = rustix::io::write(&stderr, words.as_bytes());
    }
}

fn write_line(out: &Mutex<dyn Write + Send>, line: &[u8]) {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    // A closed log must not stop the work.
    let _ = out.write_all(line).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
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

    fn writer() -> (LogWriter, Receiver<Vec<u8>>) {
        let (sender, receiver) = sync_channel(0);
        (LogWriter::new(Slow(sender)), receiver)
    }

    #[test]
    fn lines_come_out_in_order_one_a_write() {
        let (mut writer, receiver) = writer();
        for number in 0..100 {
            writer.write_all(number.to_string().as_bytes()).unwrap();
        }
        let reader = thread::spawn(move || receiver.iter().collect::<Vec<_>>());
        drop(writer);
        let read = reader.join().unwrap();
        assert_eq!(read, (0..100).map(|number| number.to_string().into_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_that_stops_holds_nothing_up_and_costs_lines_that_are_counted() {
        let (mut writer, receiver) = writer();
        for _ in 0..MAX_LINES + 200 {
            writer.write_all(b"x\n").unwrap();
        }
        let dropped = writer.thread.as_ref().unwrap().counts.dropped.load(Relaxed);
        assert!((100..=200).contains(&dropped), "{dropped}");
        drop(writer);
        drop(receiver);
    }

    #[test]
    fn no_thread_starts_before_the_first_line() {
        let (writer, receiver) = writer();
        drop(writer);
        assert!(receiver.recv().is_err());
    }
}
