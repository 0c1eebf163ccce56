//! The wall clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::text::Timestamp;

/// Where a store reads the time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    Wall,
    /// Always this time: for tests, which say when a thing happens.
    Fixed(Timestamp),
}

impl Clock {
    pub fn now(self) -> Timestamp {
        match self {
            Self::Wall => now(),
            Self::Fixed(at) => at,
        }
    }
}

/// Now, by the wall clock.
pub fn now() -> Timestamp {
    let ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    };
    Timestamp(ms)
}
