//! The requests by which other threads end a running attempt.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::model::EndCause;

/// A handle on one attempt, made before it starts, for asking it to end from any thread.
///
/// An attempt that is asked to stop before it starts does not start.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    orders: Mutex<Orders>,
    /// An eventfd, which is readable while the attempt has not seen all orders.
    waker: OwnedFd,
}

/// The requests to the attempt so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Orders {
    /// Why the attempt is to end: the first cause given.
    pub stop: Option<EndCause>,
    /// Skip the rest of the grace period.
    pub kill: bool,
    starting: bool,
    /// No start may begin any more.
    no_more_starts: bool,
}

impl Control {
    /// Fails if the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { shared: Arc::new(Shared { orders: Mutex::default(), waker }) })
    }

    /// Asks the attempt to end: SIGTERM, grace period, SIGKILL. The first of several causes counts. An attempt that has
    /// ended by itself keeps its exit.
    pub fn stop(&self, cause: EndCause) {
        let mut orders = self.orders();
        if orders.stop.is_none() {
            orders.stop = Some(cause);
            self.wake();
        }
    }

    /// Asks the attempt not to start, unless the start has begun.
    pub fn stop_unless_starting(&self) {
        let mut orders = self.orders();
        orders.no_more_starts = true;
        if !orders.starting && orders.stop.is_none() {
            orders.stop = Some(EndCause::Interrupted);
            self.wake();
        }
    }

    /// Skips the rest of the grace period, of this stop or the next.
    pub fn kill(&self) {
        self.orders().kill = true;
        self.wake();
    }

    /// Begins the start. False if the attempt was asked to stop.
    pub fn begin(&self) -> bool {
        let mut orders = self.orders();
        orders.starting = orders.stop.is_none();
        orders.starting
    }

    /// Begins the start again, this long after one that has failed. False if the attempt was asked to stop, or not to start, since
    /// the first.
    pub(super) fn begin_again(&self, pause: Duration) -> bool {
        {
            let mut orders = self.orders();
            orders.starting = false;
            if orders.no_more_starts {
                orders.stop.get_or_insert(EndCause::Interrupted);
            }
        }
        self.sleep(pause);
        self.begin()
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // Fails only if the counter is full, and then the attempt is awake.
        let _ = rustix::io::write(&self.shared.waker, &1_u64.to_ne_bytes());
    }

    /// The descriptor that is readable when there are new orders.
    pub(super) fn waker(&self) -> BorrowedFd<'_> {
        self.shared.waker.as_fd()
    }

    /// Returns all orders so far. The next wait sleeps until there are more.
    pub(super) fn take_orders(&self) -> Orders {
        // Fails only if the counter is zero already.
        let _ = rustix::io::read(&self.shared.waker, &mut [0_u8; 8]);
        *self.orders()
    }

    /// Sleeps until there are new orders, at most this long.
    pub(super) fn sleep(&self, limit: Duration) {
        wait_readable([Some(self.waker())], Some(limit));
    }
}

/// Waits until a descriptor is readable or closed, at most `limit`, and may return early. Returns which are ready.
pub(super) fn wait_readable<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    limit: Option<Duration>,
) -> [bool; N] {
    let present = descriptors.iter().flatten();
    let mut polled: Vec<PollFd<'_>> =
        present.map(|each| PollFd::from_borrowed_fd(*each, PollFlags::IN)).collect();
    // A limit beyond what the kernel counts is none.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    if poll(&mut polled, limit.as_ref()).is_err_and(|error| error != Errno::INTR) {
        // The kernel is out of memory: try again, but not at once.
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut readable = polled.iter().map(|each| !each.revents().is_empty());
    descriptors.map(|each| each.is_some() && readable.next() == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_woken(control: &Control) -> bool {
        wait_readable([Some(control.waker())], Some(Duration::ZERO)) == [true]
    }

    #[test]
    fn the_first_cause_counts_and_asking_often_never_blocks() {
        let control = Control::new().unwrap();
        let other = control.clone();
        for _ in 0..100_000 {
            other.stop(EndCause::Cancelled);
            other.stop(EndCause::Interrupted);
            other.kill();
        }
        control.sleep(Duration::MAX);
        let orders = control.take_orders();
        assert_eq!((orders.stop, orders.kill), (Some(EndCause::Cancelled), true));
        assert!(!is_woken(&control));
    }

    #[test]
    fn an_attempt_that_began_to_start_is_not_kept_from_it() {
        let (early, late) = (Control::new().unwrap(), Control::new().unwrap());
        early.stop_unless_starting();
        assert!(!early.begin());
        assert!(late.begin());
        late.stop_unless_starting();
        assert_eq!(late.take_orders().stop, None);
        assert!(!is_woken(&late));
        late.stop(EndCause::Interrupted);
        assert!(is_woken(&late));
    }

    #[test]
    fn a_start_that_failed_begins_again_unless_the_attempt_was_asked_to_stop_meanwhile() {
        type Ask = fn(&Control);
        let asks: [(Ask, bool); 3] = [
            (|_| {}, true),
            (|control| control.stop(EndCause::Cancelled), false),
            (Control::stop_unless_starting, false),
        ];
        for (ask, may_start) in asks {
            let control = Control::new().unwrap();
            assert!(control.begin());
            ask(&control);
            assert_eq!(control.begin_again(Duration::ZERO), may_start);
        }
    }
}
