//! The retry policy of a job.

use serde::{Deserialize, Serialize};

use super::{Backoff, CodePattern, Jitter, Strategy};

/// Whether, how often and when a failed job is retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// `false` means exactly one attempt; it never affects the first attempt.
    pub retryable: bool,
    /// The number of attempts in a budget, the first included, if the job is retryable.
    pub max_attempts: u32,
    pub backoff: Backoff,
    /// If given, no other codes are retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_retry_for: Vec<CodePattern>,
}

impl RetryPolicy {
    pub const DEFAULT_ATTEMPTS: u32 = 3;
    pub const MAX_ATTEMPTS: u32 = 1_000_000;

    /// The number of attempts in a budget, the first included: 1 if the job is not retryable.
    pub fn max_attempts(&self) -> u32 {
        if self.retryable { self.max_attempts } else { 1 }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retryable: true,
            max_attempts: Self::DEFAULT_ATTEMPTS,
            backoff: Backoff { strategy: Strategy::exponential(), jitter: Jitter::DEFAULT },
            auto_retry_for: None,
            never_retry_for: Vec::new(),
        }
    }
}
