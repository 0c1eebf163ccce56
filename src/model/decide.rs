//! What happens to a job after an attempt: the decision table, row by row.

use super::{
    Attempt, CodePattern, DeadReason, ErrorCode, JobState, Outcome, RetryPolicy, SPAWN_FAILED, SelfReport,
    Verdict,
};
use crate::text::{Millis, Timestamp};

/// What is decided after an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Done.
    Succeeded,
    /// Called off.
    Cancelled,
    /// Given up.
    Dead(DeadReason),
    /// Pending again.
    Retry {
        /// The policy's delay.
        nominal: Millis,
        /// The delay with jitter, or the one that the job asked for.
        delay: Millis,
        /// When it is due.
        at: Timestamp,
    },
}

impl Decision {
    /// The state that it leads to.
    pub const fn state(self) -> JobState {
        match self {
            Self::Succeeded => JobState::Succeeded,
            Self::Cancelled => JobState::Cancelled,
            Self::Dead(_) => JobState::Dead,
            Self::Retry { .. } => JobState::Pending,
        }
    }

    /// Why, where it is death.
    pub const fn dead_reason(self) -> Option<DeadReason> {
        match self {
            Self::Dead(reason) => Some(reason),
            _ => None,
        }
    }
}

/// What the decision depends on besides policy and ending.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Which run of the current budget it was, from 1.
    pub n: u32,
    /// Is a cancel on record?
    pub cancel_requested: bool,
    /// From then on there is no retry.
    pub expires_at: Option<Timestamp>,
    /// When the attempt ended.
    pub finished_at: Timestamp,
    /// Uniform in [0, 1): the dice for the jitter.
    pub roll: f64,
}

/// The decision table of the contract, section 3; the numbers are its rows.
pub fn decide(policy: &RetryPolicy, verdict: &Verdict, report: &SelfReport, at: Circumstances) -> Decision {
    let Some(code) = &verdict.code else {
        return Decision::Succeeded; // 1
    };
    if verdict.outcome == Outcome::Cancelled || at.cancel_requested {
        return Decision::Cancelled; // 2, and the rule for a cancel on record
    }
    if verdict.outcome == Outcome::Interrupted {
        return if policy.retryable {
            Decision::Retry { nominal: Millis(0), delay: Millis(0), at: at.finished_at } // 3
        } else {
            Decision::Dead(DeadReason::Interrupted) // 3
        };
    }
    if let Some(reason) = final_reason(policy, code, report.unrecoverable, at.n) {
        return Decision::Dead(reason); // 4 to 9
    }
    let nominal = policy.backoff.strategy.nominal(at.n);
    let delay = report.retry_after.unwrap_or_else(|| policy.backoff.draw(nominal, at.roll));
    let due = at.finished_at.plus(delay);
    if at.expires_at.is_some_and(|expiry| due >= expiry) {
        return Decision::Dead(DeadReason::Expired); // 10
    }
    Decision::Retry { nominal, delay, at: due } // 11
}

/// Rows 4 to 9: why a failure with this code is not retried.
fn final_reason(policy: &RetryPolicy, code: &ErrorCode, unrecoverable: bool, n: u32) -> Option<DeadReason> {
    let listed = |list: &[CodePattern]| list.iter().any(|pattern| pattern.matches(code));
    if unrecoverable {
        return Some(DeadReason::Unrecoverable); // 4
    }
    if listed(&policy.never_retry_for) {
        return Some(DeadReason::NeverRetry); // 5
    }
    if !policy.retryable {
        return Some(DeadReason::NotRetryable); // 6
    }
    match &policy.auto_retry_for {
        Some(list) if !listed(list) => return Some(DeadReason::CodeNotListed), // 7
        None if code.as_str() == SPAWN_FAILED => return Some(DeadReason::SpawnFailed), // 8
        _ => {}
    }
    (n >= policy.max_attempts).then_some(DeadReason::AttemptsExhausted) // 9
}

/// What was decided after an attempt, as a sentence: `EXIT_1 is retried: attempt 2 of 3 in 1.9 s`.
///
/// `runs` is the number of runs in the job's budget.
pub fn sentence(attempt: &Attempt, runs: u32) -> String {
    let code = attempt.error_code.as_ref().map_or("success", ErrorCode::as_str);
    match attempt.next_state {
        JobState::Succeeded => "succeeded".to_owned(),
        JobState::Cancelled if attempt.outcome == Outcome::Cancelled => "cancelled by a person".to_owned(),
        JobState::Cancelled => format!("{code} after a cancel: cancelled"),
        JobState::Dead => {
            let reason = attempt.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
            format!("{code} is final: {}", why(reason, attempt, runs))
        }
        JobState::Pending | JobState::Running if !attempt.counted() => {
            format!("{code} is not counted: attempt {} of {runs} again at once", attempt.budget_number)
        }
        JobState::Pending | JobState::Running => format!(
            "{code} is retried: attempt {} of {runs} in {}",
            attempt.budget_number.saturating_add(1),
            seconds(attempt.delay.unwrap_or_default())
        ),
    }
}

/// The reason with its numbers.
fn why(reason: DeadReason, attempt: &Attempt, runs: u32) -> String {
    match reason {
        DeadReason::AttemptsExhausted => {
            format!("attempt {} of {runs} was the last", attempt.budget_number)
        }
        DeadReason::Expired => "the retry would fall at or after its expiry".to_owned(),
        other => other.because().to_owned(),
    }
}

/// A delay as people say it, with one decimal below a minute: `1.9 s`, `30 s`, `5m`.
fn seconds(delay: Millis) -> String {
    match delay.0 {
        0..1_000 => format!("{} ms", delay.0),
        1_000..60_000 => {
            let tenths = (delay.0 + 50) / 100;
            if tenths.is_multiple_of(10) {
                format!("{} s", tenths / 10)
            } else {
                format!("{}.{} s", tenths / 10, tenths % 10)
            }
        }
        ms => Millis((ms + 500) / 1_000 * 1_000).to_string(),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
