//! Decides, during trouble that passes, how much the worker may do, when it tries again, and whether people are told. Pure.
//!
//! The machine may lack descriptors, memory or threads for one more attempt; then fewer attempts run for some seconds. Or the
//! database may be full or busy; then no turn is run until the next try. A shortage need not be remembered while the
//! database cannot be written, because no job is started then.

use std::time::{Duration, Instant};

/// How long fewer attempts run after a shortage, before more are tried.
const CAP_TIME: Duration = Duration::from_secs(1);
/// How often a shortage that lasts is reported.
const SHORTAGE_REPORT_INTERVAL: Duration = Duration::from_mins(1);
/// The time between two tries to write while a result waits to be written.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The time between two tries on a full disk while no result waits.
const FULL_DISK_PROBE: Duration = Duration::from_mins(1);
/// The number of times that a worker that runs nothing tries to write its results after its shutdown timeout.
const LAST_TRIES: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetryThrottle {
    state: State,
    shortage_reported_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    /// The machine ran short: no more than `cap` attempts run at once.
    Shortage { cap: usize, until: Instant },
    /// The database could not be written, although nothing is broken.
    Store { retry_at: Instant, last_tries: u32 },
}

impl RetryThrottle {
    /// The machine had no room for more than `running` attempts. True if that is to be reported.
    pub(super) fn shortage(&mut self, now: Instant, running: usize) -> bool {
        if !matches!(self.state, State::Store { .. }) {
            self.state = State::Shortage { cap: running, until: now + CAP_TIME };
        }
        let is_reported = self.shortage_reported_at.is_none_or(|at| now >= at + SHORTAGE_REPORT_INTERVAL);
        if is_reported {
            self.shortage_reported_at = Some(now);
        }
        is_reported
    }

    /// A transaction failed. True if that is to be reported: the first time.
    pub(super) fn store_failed(&mut self, now: Instant, may_wait_long: bool) -> bool {
        let retry_at = now + if may_wait_long { FULL_DISK_PROBE } else { RETRY_PAUSE };
        match &mut self.state {
            State::Store { retry_at: next, .. } => {
                *next = retry_at;
                false
            }
            state => {
                *state = State::Store { retry_at, last_tries: 0 };
                true
            }
        }
    }

    /// A worker that runs nothing failed to write its results after its shutdown timeout. True after the last try.
    pub(super) fn gives_up(&mut self) -> bool {
        match &mut self.state {
            State::Store { last_tries, .. } => {
                *last_tries += 1;
                *last_tries > LAST_TRIES
            }
            _ => false,
        }
    }

    /// A result waits to be written, so the next try comes soon.
    pub(super) fn retry_soon(&mut self, now: Instant) {
        if let State::Store { retry_at, .. } = &mut self.state {
            *retry_at = (*retry_at).min(now + RETRY_PAUSE);
        }
    }

    /// A transaction succeeded. True if that is to be reported, because its failure was.
    pub(super) fn store_works(&mut self) -> bool {
        let was_store = matches!(self.state, State::Store { .. });
        if was_store {
            self.state = State::None;
        }
        was_store
    }

    /// How many of this many slots may be used.
    pub(super) fn cap(&self, slots: usize) -> usize {
        match self.state {
            State::Shortage { cap, .. } => cap.min(slots),
            State::None | State::Store { .. } => slots,
        }
    }

    /// Whether a transaction may be tried now.
    pub(super) fn allows_turn(&self, now: Instant) -> bool {
        !matches!(self.state, State::Store { retry_at, .. } if retry_at > now)
    }

    /// When the cap is lifted, or the next transaction is tried.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.state {
            State::None => None,
            State::Shortage { until, .. } => Some(until),
            State::Store { retry_at, .. } => Some(retry_at),
        }
    }

    /// Doubles the cap if its time is over, up to all slots. If all were tried again at once, they could take from each
    /// other what each needs, and none would start.
    pub(super) fn on_deadline(&mut self, now: Instant, slots: usize) {
        if let State::Shortage { cap, until } = self.state
            && until <= now
        {
            let cap = cap.saturating_mul(2).max(1);
            let ramp = State::Shortage { cap, until: now + CAP_TIME };
            self.state = if cap < slots { ramp } else { State::None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_caps_for_a_while_and_is_reported_once_a_minute() {
        let now = Instant::now();
        let mut throttle = RetryThrottle::default();
        assert_eq!(throttle.cap(4), 4);
        assert!(throttle.shortage(now, 2));
        assert!(!throttle.shortage(now, 1));
        assert!(throttle.allows_turn(now));
        throttle.on_deadline(now, 4);
        assert_eq!((throttle.cap(4), throttle.until()), (1, Some(now + CAP_TIME)));
        throttle.on_deadline(now + CAP_TIME, 4);
        assert_eq!((throttle.cap(4), throttle.until()), (2, Some(now + 2 * CAP_TIME)));
        throttle.on_deadline(now + 2 * CAP_TIME, 4);
        assert_eq!((throttle.cap(4), throttle.until()), (4, None));
        assert!(throttle.shortage(now + SHORTAGE_REPORT_INTERVAL, 1));
    }

    #[test]
    fn store_trouble_is_reported_once_and_a_result_is_tried_every_second() {
        let now = Instant::now();
        let mut throttle = RetryThrottle::default();
        assert!(!throttle.store_works());
        assert!(throttle.store_failed(now, true));
        assert!(!throttle.allows_turn(now) && throttle.until() == Some(now + FULL_DISK_PROBE));
        throttle.retry_soon(now);
        assert_eq!(throttle.until(), Some(now + RETRY_PAUSE));
        assert!(throttle.allows_turn(now + RETRY_PAUSE));
        assert!(!throttle.store_failed(now, false));
        assert_eq!([0; 4].map(|_| throttle.gives_up()), [false, false, false, true]);
        assert!(throttle.store_works());
        assert!(throttle.allows_turn(now));
    }

    #[test]
    fn a_shortage_does_not_hide_that_the_database_cannot_be_written() {
        let now = Instant::now();
        let mut throttle = RetryThrottle::default();
        throttle.shortage(now, 2);
        assert!(throttle.store_failed(now, false));
        throttle.shortage(now, 1);
        throttle.on_deadline(now + CAP_TIME, 4);
        assert!(!throttle.allows_turn(now));
        assert!(throttle.store_works());
        assert_eq!(throttle.cap(4), 4);
    }
}
