//! After a shortage of the machine: no more attempts than it had room for, for a second. Pure.

use std::time::{Duration, Instant};

const CAP_TIME: Duration = Duration::from_secs(1);
/// A shortage that lasts is told this often.
const TELL_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Throttle {
    cap: Option<Cap>,
    told_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Cap {
    until: Instant,
    attempts: usize,
}

impl Throttle {
    /// The machine had room for this many attempts and no more. True if a person should be told.
    pub(super) fn shortage(&mut self, now: Instant, attempts: usize) -> bool {
        self.cap = Some(Cap { until: now + CAP_TIME, attempts });
        let tell = self.told_at.is_none_or(|at| now >= at + TELL_INTERVAL);
        if tell {
            self.told_at = Some(now);
        }
        tell
    }

    /// How many of this many slots may be used.
    pub(super) fn limit(&self, slots: usize) -> usize {
        self.cap.map_or(slots, |cap| cap.attempts.min(slots))
    }

    /// When the cap is lifted.
    pub(super) fn until(&self) -> Option<Instant> {
        self.cap.map(|cap| cap.until)
    }

    /// Lifts the cap if its time is over; true if it was.
    pub(super) fn lift(&mut self, now: Instant) -> bool {
        let is_over = self.cap.is_some_and(|cap| cap.until <= now);
        if is_over {
            self.cap = None;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_caps_for_a_second_and_is_told_once_a_minute() {
        let now = Instant::now();
        let mut throttle = Throttle::default();
        assert_eq!(throttle.limit(4), 4);
        assert!(throttle.shortage(now, 2));
        assert!(!throttle.shortage(now, 1));
        assert_eq!(throttle.limit(4), 1);
        assert!(!throttle.lift(now));
        assert!(throttle.lift(now + CAP_TIME));
        assert_eq!((throttle.limit(4), throttle.until()), (4, None));
        assert!(throttle.shortage(now + TELL_INTERVAL, 1));
    }
}
