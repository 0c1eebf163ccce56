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

/// What a worker is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many attempts it runs at once; at least 1.
    pub slots: usize,
    /// The queues it looks at; none: all.
    pub queues: Option<Vec<String>>,
    /// When it has done enough.
    pub until: Until,
    /// It also has when it has started this many attempts.
    pub max_jobs: Option<u64>,
    /// How long running attempts may go on once it is told to stop.
    pub shutdown_timeout: Millis,
}

impl Options {
    /// Does it end by itself at some point?
    pub fn is_bounded(&self) -> bool {
        self.until != Until::Stopped || self.max_jobs.is_some()
    }
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Attempts that it recorded.
    pub attempts: u64,
    /// Jobs that ended well.
    pub succeeded: u64,
    /// Jobs that it recorded as dead.
    pub dead: u64,
    /// The first signal that told it to stop, if it had not done enough by then.
    pub cut_short: Option<i32>,
}
