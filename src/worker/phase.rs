//! The phases of stopping: each signal, and the passing of time, lead one step further. Pure.

use std::time::{Duration, Instant};

/// How far a worker has come with stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Claims and runs.
    Working,
    /// Claims nothing, lets attempts end until the deadline.
    Letting {
        /// From then on they are ended.
        deadline: Instant,
    },
    /// Has told every attempt to end: SIGTERM, grace, SIGKILL.
    Ending,
    /// Has killed every attempt.
    Killing,
}

/// What a step asks the worker to do to its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, they may end by themselves.
    Let,
    /// End them as interrupted.
    Interrupt,
    /// Kill them.
    Kill,
}

impl Phase {
    /// Told to stop once more.
    pub(super) fn signal(&mut self, now: Instant, patience: Duration) -> Step {
        match self {
            Self::Working => {
                // A timeout too long to add never runs out.
                let century = Duration::from_hours(100 * 365 * 24);
                *self = Self::Letting { deadline: now + patience.min(century) };
                Step::Let
            }
            Self::Letting { .. } => {
                *self = Self::Ending;
                Step::Interrupt
            }
            Self::Ending | Self::Killing => {
                *self = Self::Killing;
                Step::Kill
            }
        }
    }

    /// Time has passed.
    pub(super) fn pass(&mut self, now: Instant) -> Option<Step> {
        match self {
            Self::Letting { deadline } if *deadline <= now => {
                *self = Self::Ending;
                Some(Step::Interrupt)
            }
            _ => None,
        }
    }

    /// When time alone leads further.
    pub(super) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::Letting { deadline } => Some(deadline),
            _ => None,
        }
    }

    /// Told to stop.
    pub(super) const fn is_stopping(self) -> bool {
        !matches!(self, Self::Working)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_leads_one_step_further() {
        let now = Instant::now();
        let mut phase = Phase::Working;
        assert!(!phase.is_stopping());
        assert_eq!(phase.signal(now, Duration::from_secs(30)), Step::Let);
        assert_eq!(phase.deadline(), Some(now + Duration::from_secs(30)));
        assert_eq!(phase.signal(now, Duration::from_secs(30)), Step::Interrupt);
        assert_eq!(phase.signal(now, Duration::from_secs(30)), Step::Kill);
        assert_eq!(phase.signal(now, Duration::from_secs(30)), Step::Kill);
        assert!(phase.is_stopping());
    }

    #[test]
    fn time_alone_ends_the_patience() {
        let now = Instant::now();
        let mut phase = Phase::Working;
        assert_eq!(phase.pass(now), None);
        phase.signal(now, Duration::from_secs(1));
        assert_eq!(phase.pass(now), None);
        assert_eq!(phase.pass(now + Duration::from_secs(1)), Some(Step::Interrupt));
        assert_eq!(phase.pass(now + Duration::from_secs(2)), None);
    }

    #[test]
    fn the_longest_patience_does_not_overflow() {
        Phase::Working.signal(Instant::now(), Duration::MAX);
    }
}
