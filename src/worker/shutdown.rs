//! The shutdown: each signal leads one step further, and so does the end of the timeout. Pure.

use std::time::{Duration, Instant};

/// How far a worker has come with its shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shutdown {
    NotAsked,
    /// Claims nothing; attempts may end by themselves until the deadline.
    Waiting {
        deadline: Instant,
    },
    /// Every attempt was asked to end: SIGTERM, grace period, SIGKILL.
    Ending,
    Killing,
}

/// The next action on all attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShutdownStep {
    Wait,
    Interrupt,
    Kill,
}

impl Shutdown {
    /// A signal to stop arrived.
    pub(super) fn signal(&mut self, now: Instant, timeout: Duration) -> ShutdownStep {
        match self {
            Self::NotAsked => {
                // A timeout too long to add never runs out.
                let century = Duration::from_hours(100 * 365 * 24);
                *self = Self::Waiting { deadline: now + timeout.min(century) };
                ShutdownStep::Wait
            }
            Self::Waiting { .. } => {
                *self = Self::Ending;
                ShutdownStep::Interrupt
            }
            Self::Ending | Self::Killing => {
                *self = Self::Killing;
                ShutdownStep::Kill
            }
        }
    }

    /// Ends the attempts if the timeout is over.
    pub(super) fn on_deadline(&mut self, now: Instant) -> Option<ShutdownStep> {
        match self {
            Self::Waiting { deadline } if *deadline <= now => {
                *self = Self::Ending;
                Some(ShutdownStep::Interrupt)
            }
            _ => None,
        }
    }

    pub(super) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::Waiting { deadline } => Some(deadline),
            _ => None,
        }
    }

    /// Whether nothing is waited for any more, because the timeout is over or a second signal came.
    pub(super) const fn is_timeout_over(self) -> bool {
        matches!(self, Self::Ending | Self::Killing)
    }

    pub(super) const fn is_stopping(self) -> bool {
        !matches!(self, Self::NotAsked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_timeout_does_not_overflow() {
        Shutdown::NotAsked.signal(Instant::now(), Duration::MAX);
    }
}
