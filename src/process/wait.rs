//! Waiting on descriptors, with a limit.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Returns when one of these can be read or is closed, after `most`, or sooner: the caller looks again anyway. Says of
/// each whether it can be read or is closed.
pub(super) fn readable<const N: usize>(
    descriptors: [Option<BorrowedFd<'_>>; N],
    most: Option<Duration>,
) -> [bool; N] {
    let there = descriptors.iter().flatten();
    let mut polled: Vec<PollFd<'_>> =
        there.map(|each| PollFd::from_borrowed_fd(*each, PollFlags::IN)).collect();
    // A limit beyond what the kernel counts is none.
    let limit = most.and_then(|most| Timespec::try_from(most).ok());
    if poll(&mut polled, limit.as_ref()).is_err_and(|error| error != Errno::INTR) {
        // No memory for the moment: to be asked again, but not at once.
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut found = polled.iter().map(|each| !each.revents().is_empty());
    descriptors.map(|each| each.is_some() && found.next() == Some(true))
}
