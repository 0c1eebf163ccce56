//! What a worker is asked to do, and what it did.

use crate::text::Millis;

/// When a worker has done enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Until {
    /// When it is told to stop.
    #[default]
    Stopped,
    /// When no job is pending or running.
    Drained,
    /// When no job is due or running.
    Idle,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// At least 1.
    pub slots: usize,
    /// None: all queues.
    pub queues: Option<Vec<String>>,
    pub until: Until,
    /// Ends also when it has started this many attempts.
    pub max_jobs: Option<u64>,
    /// How long running attempts may go on once it is told to stop.
    pub shutdown_timeout: Millis,
}

impl Options {
    /// Does it end by itself?
    pub fn is_bounded(&self) -> bool {
        self.until != Until::Stopped || self.max_jobs.is_some()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Recorded attempts.
    pub attempts: u64,
    pub succeeded: u64,
    pub dead: u64,
    /// The first signal that told it to stop, if it had not done enough by then.
    pub cut_short: Option<i32>,
}
