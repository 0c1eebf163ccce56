//! Points in time: integer milliseconds since the Unix epoch, UTC.

use serde::{Deserialize, Serialize};

use super::Millis;

/// Milliseconds since the Unix epoch, UTC, by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The end of the year 9999: RFC 3339 has no later time.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// This much later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus(self, delay: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(delay.0)).min(Self::MAX)
    }

    /// How long after `earlier` this is; zero if it is not later.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}
