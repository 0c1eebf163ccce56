//! Trouble with the database that passes: when to try again, and whether to report. Pure.

use std::time::{Duration, Instant};

/// Between two tries while a result waits to be written.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two tries on a full disk while no result waits.
const FULL_DISK_PROBE: Duration = Duration::from_mins(1);
/// The number of times that a stopping worker that runs nothing tries to write its results.
const LAST_TRIES: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreTrouble {
    retry_at: Option<Instant>,
    was_reported: bool,
    last_tries: u32,
}

impl StoreTrouble {
    /// A transaction failed. True if that is to be reported.
    pub(super) fn begin(&mut self, now: Instant, may_wait_long: bool) -> bool {
        self.retry_at = Some(now + if may_wait_long { FULL_DISK_PROBE } else { PAUSE });
        !std::mem::replace(&mut self.was_reported, true)
    }

    /// A stopping worker that runs nothing failed to write its results: true after the last try.
    pub(super) fn gives_up(&mut self) -> bool {
        self.last_tries += 1;
        self.last_tries > LAST_TRIES
    }

    /// A result waits to be written: the next try comes soon.
    pub(super) fn retry_soon(&mut self, now: Instant) {
        self.retry_at = self.retry_at.map(|at| at.min(now + PAUSE));
    }

    /// Until then no transaction is tried.
    pub(super) fn waits_until(&self, now: Instant) -> Option<Instant> {
        self.retry_at.filter(|at| *at > now)
    }

    /// A transaction succeeded. True if that is to be reported.
    pub(super) fn end(&mut self) -> bool {
        self.retry_at = None;
        std::mem::take(&mut self.was_reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_reported_once_and_a_result_is_tried_every_second() {
        let now = Instant::now();
        let mut trouble = StoreTrouble::default();
        assert!(!trouble.end());
        assert!(trouble.begin(now, true));
        assert_eq!(trouble.waits_until(now), Some(now + FULL_DISK_PROBE));
        trouble.retry_soon(now);
        assert_eq!(trouble.waits_until(now), Some(now + PAUSE));
        assert_eq!(trouble.waits_until(now + PAUSE), None);
        assert!(!trouble.begin(now, false));
        assert!(trouble.end());
        assert_eq!([0; 4].map(|_| trouble.gives_up()), [false, false, false, true]);
    }
}
