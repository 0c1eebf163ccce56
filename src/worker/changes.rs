//! What a tick of the dispatcher compares with the tick before: the version of the data, and the clocks.

use std::time::Instant;

use crate::clock;
use crate::text::{Millis, Timestamp};

/// The wall clock was set back if it is behind the monotonic clock by more than this; less is drift.
const CLOCK_STEP: Millis = Millis(500);

/// The state that a tick compares with that of the tick before.
pub(super) struct Changes {
    data_version: i64,
    /// This worker has written since.
    pub wrote: bool,
    /// The wall clock was set back, and not all that follows from it is on disk.
    pub clock_set_back: bool,
    clocks: (Instant, Timestamp),
}

impl Default for Changes {
    fn default() -> Self {
        Self { data_version: 0, wrote: false, clock_set_back: false, clocks: (Instant::now(), clock::now()) }
    }
}

impl Changes {
    pub(super) fn did_others_write(&mut self, data_version: i64) -> bool {
        std::mem::replace(&mut self.data_version, data_version) != data_version
    }

    /// Whether the wall clock fell behind the monotonic clock.
    pub(super) fn was_clock_set_back(&mut self) -> bool {
        let (then, wall_then) = std::mem::replace(&mut self.clocks, (Instant::now(), clock::now()));
        let passed = u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clocks.1.plus(CLOCK_STEP) < wall_then.plus(Millis(passed))
    }
}
