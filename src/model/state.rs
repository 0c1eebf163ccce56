//! The states of a job, and why one is dead.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::EXPIRED;

/// An enum whose variants have one word each, the same in the store, in JSON and on the screen.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(super) use words;

words! {
    /// The states of a job; the last three are final.
    JobState {
        /// Waiting for its due time, for other jobs, or for a worker that may start it.
        Pending = "pending",
        /// Claimed by a worker.
        Running = "running",
        Succeeded = "succeeded",
        /// Given up for a [`DeadReason`]: a dead letter.
        Dead = "dead",
        Cancelled = "cancelled",
    }
}

words! {
    /// The end of a dependency that a job waits for.
    DependencyKind {
        Success = "success",
        /// Success, death or cancel; or that only a person can get the dependency going.
        Any = "any",
    }
}

words! {
    /// How a pending job is shown; derived from its due time, its attempts and its dependencies.
    Phase {
        /// Due now.
        Ready = "ready",
        /// Due in the future, never started.
        Scheduled = "scheduled",
        /// Due in the future, started before.
        Retrying = "retrying",
        /// It waits for other jobs, whether it is due or not.
        Blocked = "blocked",
    }
}

words! {
    /// Why a job was given up.
    DeadReason {
        /// The worker was stopped, and the job is not retryable.
        Interrupted = "interrupted",
        /// The job reported `unrecoverable=true`.
        Unrecoverable = "unrecoverable",
        /// Its error code is in `never_retry_for`.
        NeverRetry = "never_retry",
        /// `retryable = false`.
        NotRetryable = "not_retryable",
        /// `auto_retry_for` is given and does not list its error code.
        CodeNotListed = "code_not_listed",
        /// The command could not be started, and `auto_retry_for` does not list that.
        SpawnFailed = "spawn_failed",
        /// All attempts of its budget are used.
        AttemptsExhausted = "attempts_exhausted",
        /// The job was not started, or could not be retried, before `expires_at`.
        Expired = "expired",
    }
}

impl JobState {
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Cancelled)
    }
}

impl DeadReason {
    /// The reason as the end of a sentence: "dead because …".
    pub const fn because(self) -> &'static str {
        match self {
            Self::Interrupted => "its worker was stopped and it is not retryable",
            Self::Unrecoverable => "it reported unrecoverable=true",
            Self::NeverRetry => "its error code is in never_retry_for",
            Self::NotRetryable => "it is not retryable",
            Self::CodeNotListed => "its error code is not in auto_retry_for",
            Self::SpawnFailed => {
                "it could not be started, which is retried only where auto_retry_for lists it"
            }
            Self::AttemptsExhausted => "its attempts are used up",
            Self::Expired => "it expired",
        }
    }

    /// The reason of a job that ended with this error code. One that has failed dies before its expiry if its retry would come after
    /// that.
    pub fn because_of(self, code: &str) -> &'static str {
        match self {
            Self::Expired if code != EXPIRED => "the retry would fall at or after its expiry",
            other => other.because(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for reason in DeadReason::ALL {
            assert_eq!(DeadReason::parse(reason.as_str()), Some(*reason));
            let json = serde_json::to_value(reason).unwrap();
            assert_eq!(json, reason.as_str());
        }
        for state in JobState::ALL {
            assert_eq!(JobState::parse(state.as_str()), Some(*state));
        }
    }
}
