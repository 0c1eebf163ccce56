//! The task of a worker, and the summary of its work.

use crate::text::Millis;

/// When a worker ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Until {
    /// Never: a signal stops the worker.
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
    /// The worker also ends after this many started attempts.
    pub max_jobs: Option<u64>,
    /// How long running attempts may go on after a signal to stop.
    pub shutdown_timeout: Millis,
}

impl Options {
    /// Does the worker take jobs from this queue?
    pub fn takes_from(&self, queue: &str) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue))
    }

    /// Does the worker end by itself?
    pub fn is_bounded(&self) -> bool {
        self.until != Until::Stopped || self.max_jobs.is_some()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Recorded attempts, of the queues that the worker takes jobs from.
    pub attempts: u64,
    pub succeeded: u64,
    pub dead: u64,
    /// Jobs that a drain left, as they wait for dead or cancelled ones.
    pub stuck: u64,
    /// The first signal to stop, if it came before the end that the options ask for.
    pub stopped_by: Option<i32>,
}
