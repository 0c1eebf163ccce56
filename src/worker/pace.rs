//! How far a worker may claim ahead of its slots. Pure.

use std::time::Duration;

/// What is claimed ahead is to be started within this time; an idle worker could have had it meanwhile.
const WITHIN: Duration = Duration::from_millis(50);

/// Each attempt moves the mean by this part of the difference.
const WEIGHT: f64 = 0.125;

/// The mean time that an attempt has lately kept its slot busy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// In seconds; none as long as nothing has ended.
    mean: Option<f64>,
}

impl Pace {
    /// The most that is ever claimed ahead. More gains nothing: the next turn comes when half of it is used up.
    pub(super) const fn most_ahead(slots: usize) -> usize {
        2 * slots + 16
    }

    /// An attempt has kept its slot busy for so long.
    pub(super) fn note(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        self.mean = Some(self.mean.map_or(took, |mean| mean + (took - mean) * WEIGHT));
    }

    /// The slots have proved busy for longer than was thought.
    pub(super) fn forget(&mut self) {
        self.mean = None;
    }

    /// How many claims this many slots will have started soon, at the present pace. None before anything has ended.
    pub(super) fn ahead(self, slots: usize) -> usize {
        let Some(mean) = self.mean else { return 0 };
        let most = Self::most_ahead(slots);
        let within = u32::try_from(slots).map_or(f64::MAX, f64::from) * WITHIN.as_secs_f64() / mean.max(1e-6);
        (0..most)
            .take_while(|ahead| f64::from(u32::try_from(*ahead).unwrap_or(u32::MAX)) + 1.0 <= within)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(slots: usize, milliseconds: &[u64]) -> usize {
        let mut pace = Pace::default();
        for took in milliseconds {
            pace.note(Duration::from_millis(*took));
        }
        pace.ahead(slots)
    }

    #[test]
    fn short_attempts_are_claimed_ahead_and_long_ones_are_not() {
        assert_eq!(ahead(4, &[]), 0, "nothing is known yet");
        assert_eq!(ahead(1, &[0]), 18);
        assert_eq!(ahead(4, &[1]), 24);
        assert_eq!(ahead(1, &[10]), 5);
        assert_eq!(ahead(1, &[50]), 1);
        assert_eq!(ahead(1, &[51]), 0);
        assert_eq!(ahead(1_000, &[60_000]), 0);
    }

    #[test]
    fn one_long_attempt_among_short_ones_slows_it_down_for_a_while() {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.note(Duration::from_millis(1)));
        pace.note(Duration::from_secs(10));
        assert_eq!(pace.ahead(1), 0);
        (0..60).for_each(|_| pace.note(Duration::from_millis(1)));
        assert_eq!(pace.ahead(1), 18);
        pace.forget();
        assert_eq!(pace.ahead(1), 0);
    }
}
