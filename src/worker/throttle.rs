//! Caps the running attempts for a second after the machine ran short of descriptors, memory or threads. Pure.

use std::time::{Duration, Instant};

const CAP_TIME: Duration = Duration::from_secs(1);
/// How often a shortage that lasts is reported.
const REPORT_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Throttle {
    cap: Option<Cap>,
    reported_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Cap {
    until: Instant,
    attempts: usize,
}

impl Throttle {
    /// The machine has no room for more than this many attempts. True if that is to be reported.
    pub(super) fn begin(&mut self, now: Instant, attempts: usize) -> bool {
        self.cap = Some(Cap { until: now + CAP_TIME, attempts });
        let is_reported = self.reported_at.is_none_or(|at| now >= at + REPORT_INTERVAL);
        if is_reported {
            self.reported_at = Some(now);
        }
        is_reported
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
    fn a_shortage_caps_for_a_second_and_is_reported_once_a_minute() {
        let now = Instant::now();
        let mut throttle = Throttle::default();
        assert_eq!(throttle.limit(4), 4);
        assert!(throttle.begin(now, 2));
        assert!(!throttle.begin(now, 1));
        assert_eq!(throttle.limit(4), 1);
        assert!(!throttle.lift(now));
        assert!(throttle.lift(now + CAP_TIME));
        assert_eq!((throttle.limit(4), throttle.until()), (4, None));
        assert!(throttle.begin(now + REPORT_INTERVAL, 1));
    }
}
