//! How others ask a running attempt to end.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::StopReason;

use super::wait;

/// A handle on one attempt, for asking it to end; made before it starts, cloned freely, used from any thread.
///
/// An attempt that is asked before it started does not start.
#[derive(Clone, Debug, Default)]
pub struct Control {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    asked: Asked,
    /// Its process may be there from now on.
    begun: bool,
    /// There while an attempt listens.
    bell: Option<Arc<Bell>>,
    /// There is news that was not heard yet.
    rang: bool,
}

/// What was asked so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// Why it is to end: the first reason given.
    pub stop: Option<StopReason>,
    /// The rest of the grace is to be skipped.
    pub kill: bool,
}

impl Asked {
    /// Is this the first reason?
    fn stop_for(&mut self, cut: StopReason) -> bool {
        self.stop.is_none() && {
            self.stop = Some(cut);
            true
        }
    }
}

/// Wakes a thread that waits on descriptors: what is asked stands elsewhere, a byte here only says that it does.
#[derive(Debug)]
struct Bell(io::PipeReader, io::PipeWriter);

thread_local! {
    /// A thread runs one attempt after the other, and needs one bell for all.
    static BELL: RefCell<Option<Arc<Bell>>> = const { RefCell::new(None) };
}

impl Control {
    /// Asks it to end: SIGTERM, its grace period, SIGKILL. Of several reasons the first counts.
    ///
    /// An attempt that had ended by itself keeps its ending.
    pub fn stop(&self, cut: StopReason) {
        self.ask(|shared| shared.asked.stop_for(cut));
    }

    /// Asks it not to start. One that has begun to goes on.
    pub fn call_off(&self) {
        self.ask(|shared| !shared.begun && shared.asked.stop_for(StopReason::Interrupted));
    }

    /// Is it past what is done before the start?
    pub fn has_begun(&self) -> bool {
        self.lock().begun
    }

    /// Skips the rest of the grace, of a stop that is under way or of one that is yet to come.
    pub fn kill_now(&self) {
        self.ask(|shared| !std::mem::replace(&mut shared.asked.kill, true));
    }

    fn ask(&self, note: impl FnOnce(&mut Shared) -> bool) {
        let mut shared = self.lock();
        let is_news = note(&mut shared);
        let Shared { bell: Some(bell), rang, .. } = &mut *shared else {
            return;
        };
        // One byte is enough, so the pipe never fills and writing to it never blocks.
        if is_news && !*rang {
            // It cannot fail: the bell has both ends.
            let _ = io::Write::write_all(&mut &bell.1, b"!");
            *rang = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on news wake this thread. Fails where the process has no descriptors left.
    pub(super) fn listen(&self) -> io::Result<Listener<'_>> {
        let bell = Bell::of_this_thread()?;
        self.lock().bell = Some(Arc::clone(&bell));
        Ok(Listener { control: self, bell })
    }
}

impl Bell {
    fn of_this_thread() -> io::Result<Arc<Self>> {
        if let Some(bell) = BELL.with_borrow(Clone::clone) {
            return Ok(bell);
        }
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let bell = Arc::new(Self(reader, writer));
        BELL.set(Some(Arc::clone(&bell)));
        Ok(bell)
    }
}

/// Gives back the descriptors that this thread keeps for its next attempt: where they are short, another may need them.
pub fn give_back_descriptors() {
    BELL.take();
}

/// The attempt's end of a [`Control`], while it runs.
#[derive(Debug)]
pub(super) struct Listener<'a> {
    control: &'a Control,
    bell: Arc<Bell>,
}

impl Listener<'_> {
    /// What was asked so far.
    #[cfg(test)]
    pub fn asked(&self) -> Asked {
        self.control.lock().asked
    }

    /// From now on it is not called off. The error is why it is not to start.
    pub fn begin(&self) -> Result<(), StopReason> {
        let mut shared = self.control.lock();
        shared.begun = shared.asked.stop.is_none();
        shared.asked.stop.map_or(Ok(()), Err)
    }

    /// Readable when there is news.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.bell.0.as_fd()
    }

    /// Takes the news, so that the next wait sleeps again.
    pub fn hear(&self) -> Asked {
        let mut shared = self.control.lock();
        self.silence(&mut shared);
        shared.asked
    }

    fn silence(&self, shared: &mut Shared) {
        if std::mem::take(&mut shared.rang) {
            let _ = rustix::io::read(self.wake(), &mut [0_u8; 8]);
        }
    }

    /// Sleeps until there is news, at most this long.
    pub fn sleep(&self, most: Duration) {
        wait::readable([Some(self.wake())], Some(most));
    }
}

/// The bell is the next attempt's.
impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let mut shared = self.control.lock();
        self.silence(&mut shared);
        shared.bell = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(listener: &Listener<'_>) -> bool {
        wait::readable([Some(listener.wake())], Some(Duration::ZERO)) == [true]
    }

    #[test]
    fn the_first_reason_counts_and_asking_often_never_blocks() {
        let control = Control::default();
        let listener = control.listen().unwrap();
        let other = control.clone();
        for _ in 0..100_000 {
            other.stop(StopReason::Cancelled);
            other.stop(StopReason::Interrupted);
            other.kill_now();
        }
        listener.sleep(Duration::MAX);
        let asked = listener.hear();
        assert_eq!((asked.stop, asked.kill), (Some(StopReason::Cancelled), true));
        assert!(!rings(&listener));
    }

    #[test]
    fn what_has_begun_is_not_called_off() {
        let (early, late) = (Control::default(), Control::default());
        early.call_off();
        assert_eq!(early.listen().unwrap().begin(), Err(StopReason::Interrupted));
        assert!(!early.has_begun());
        let listener = late.listen().unwrap();
        assert_eq!(listener.begin(), Ok(()));
        late.call_off();
        assert_eq!(listener.asked().stop, None);
        assert!(late.has_begun());
    }

    #[test]
    fn what_was_asked_before_is_known_and_what_comes_after_rings_for_nobody() {
        let early = Control::default();
        early.stop(StopReason::Cancelled);
        let listener = early.listen().unwrap();
        assert_eq!(listener.asked().stop, Some(StopReason::Cancelled));
        early.kill_now();
        assert!(rings(&listener));
        drop(listener);
        early.kill_now();

        let late = Control::default();
        let listener = late.listen().unwrap();
        assert!(!rings(&listener), "that was for the attempt before");
        late.stop(StopReason::Interrupted);
        assert!(rings(&listener));
    }
}
