//! How long a pause of a queue, of a schedule or of everything lasts.

use crate::text::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    UntilResumed,
    Until(Timestamp),
}

impl Pause {
    /// The pause that the columns `paused` and `paused_until` tell of.
    pub fn from_columns(paused: bool, until: Option<Timestamp>) -> Option<Self> {
        paused.then(|| until.map_or(Self::UntilResumed, Self::Until))
    }

    /// When it ends by itself.
    pub const fn ends_at(self) -> Option<Timestamp> {
        match self {
            Self::UntilResumed => None,
            Self::Until(end) => Some(end),
        }
    }

    pub fn is_over(self, now: Timestamp) -> bool {
        self.ends_at().is_some_and(|end| end <= now)
    }
}
