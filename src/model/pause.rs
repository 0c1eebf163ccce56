//! How long a pause of a queue, of a schedule or of everything lasts.

use crate::text::{Millis, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    UntilResumed,
    Until(Timestamp),
    /// For so long from this time on. It is stored with its end, and read as [`Pause::Until`].
    For(Timestamp, Millis),
}

impl Pause {
    /// The pause that the columns `paused` and `paused_until` tell of.
    pub fn from_columns(paused: bool, until: Option<Timestamp>) -> Option<Self> {
        paused.then(|| until.map_or(Self::UntilResumed, Self::Until))
    }

    /// When it ends by itself.
    pub fn ends_at(self) -> Option<Timestamp> {
        match self {
            Self::UntilResumed => None,
            Self::Until(end) => Some(end),
            Self::For(from, span) => Some(from.plus(span)),
        }
    }

    /// When it was made and for how long, if it was made for a time and not until one.
    pub const fn made_for(self) -> Option<(Timestamp, Millis)> {
        match self {
            Self::UntilResumed | Self::Until(_) => None,
            Self::For(from, span) => Some((from, span)),
        }
    }

    pub fn is_over(self, now: Timestamp) -> bool {
        self.ends_at().is_some_and(|end| end <= now)
    }
}
