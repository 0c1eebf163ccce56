//! How others ask a running attempt to end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::model::Cut;

use super::wait;

/// A handle on one attempt, for asking it to end; made before it starts, cloned freely, used from any thread.
///
/// An attempt that is asked before it started does not start.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    asked: Mutex<Asked>,
    /// What is asked stands in `asked`; a byte here only wakes the attempt's thread.
    wake: (io::PipeReader, io::PipeWriter),
}

/// What was asked so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// Why it is to end: the first reason given.
    pub stop: Option<Cut>,
    /// The rest of the grace is to be skipped.
    pub kill: bool,
}

impl Control {
    /// A handle for an attempt that is yet to start. Fails where the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let wake = io::pipe()?;
        rustix::io::ioctl_fionbio(&wake.0, true)?;
        Ok(Self { shared: Arc::new(Shared { asked: Mutex::default(), wake }) })
    }

    /// Asks it to end: SIGTERM, its grace period, SIGKILL. Of several reasons the first counts.
    ///
    /// An attempt that had ended by itself keeps its ending.
    pub fn stop(&self, cut: Cut) {
        self.ask(|asked| {
            asked.stop.is_none() && {
                asked.stop = Some(cut);
                true
            }
        });
    }

    /// Skips the rest of the grace, of a stop that is under way or of one that is yet to come.
    pub fn kill_now(&self) {
        self.ask(|asked| !std::mem::replace(&mut asked.kill, true));
    }

    /// Each of the two things is news once, so the pipe never fills and writing to it never blocks.
    fn ask(&self, note: impl FnOnce(&mut Asked) -> bool) {
        let mut asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if note(&mut asked) {
            // It cannot fail: both ends live as long as the handle.
            let _ = io::Write::write_all(&mut &self.shared.wake.1, b"!");
        }
    }

    /// What was asked so far.
    pub(super) fn asked(&self) -> Asked {
        *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Readable when there is news.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.shared.wake.0.as_fd()
    }

    /// Takes the news, so that the next wait sleeps again.
    pub(super) fn hear(&self) -> Asked {
        let _ = rustix::io::read(self.wake(), &mut [0_u8; 8]);
        self.asked()
    }

    /// Sleeps until there is news, at most this long.
    pub(super) fn sleep(&self, most: Duration) {
        wait::readable(&[self.wake()], Some(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts_and_asking_often_never_blocks() {
        let control = Control::new().unwrap();
        let other = control.clone();
        for _ in 0..100_000 {
            other.stop(Cut::Cancelled);
            other.stop(Cut::Interrupted);
            other.kill_now();
        }
        control.sleep(Duration::MAX);
        let asked = control.hear();
        assert_eq!((asked.stop, asked.kill), (Some(Cut::Cancelled), true));
    }
}
