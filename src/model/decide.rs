//! Decides about a job after an attempt: the decision table, row by row.

use super::{
    Attempt, AttemptEnd, CodePattern, DeadReason, EndCause, ErrorCode, JobState, Outcome, RetryPolicy,
    Verdict,
};
use crate::text::{Millis, Timestamp, human_duration};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    Succeeded,
    Cancelled,
    Dead(DeadReason),
    /// The job is pending again.
    Retry {
        /// The policy's delay, without jitter.
        nominal: Millis,
        /// The delay with jitter, or the one that the job asked for.
        delay: Millis,
        at: Timestamp,
    },
}

impl Decision {
    pub const fn state(self) -> JobState {
        match self {
            Self::Succeeded => JobState::Succeeded,
            Self::Cancelled => JobState::Cancelled,
            Self::Dead(_) => JobState::Dead,
            Self::Retry { .. } => JobState::Pending,
        }
    }

    pub const fn dead_reason(self) -> Option<DeadReason> {
        match self {
            Self::Dead(reason) => Some(reason),
            _ => None,
        }
    }
}

/// The job's facts for the decision.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The number of the attempt in the current budget, from 1.
    pub attempt_in_budget: u32,
    pub cancel_requested: bool,
    /// A retry must be due before this time.
    pub expires_at: Option<Timestamp>,
    /// Decides the jitter: uniform in [0, 1).
    pub jitter_sample: f64,
}

/// The decision table: the first row that matches decides. The numbers are its rows.
pub fn decide(
    policy: &RetryPolicy,
    end: &AttemptEnd,
    verdict: &Verdict,
    circumstances: Circumstances,
) -> Decision {
    let Some(code) = &verdict.code else {
        return Decision::Succeeded; // 1
    };
    if verdict.outcome == Outcome::Cancelled || circumstances.cancel_requested {
        return Decision::Cancelled; // 2, and a cancel on record
    }
    if verdict.outcome == Outcome::Interrupted {
        return if policy.retryable {
            Decision::Retry { nominal: Millis(0), delay: Millis(0), at: end.finished_at } // 3
        } else {
            Decision::Dead(DeadReason::Interrupted) // 3
        };
    }
    if let Some(reason) = final_reason(policy, code, end, circumstances.attempt_in_budget) {
        return Decision::Dead(reason); // 4 to 9
    }
    let nominal = policy.backoff.strategy.nominal(circumstances.attempt_in_budget);
    let delay =
        end.report.retry_after.unwrap_or_else(|| policy.backoff.draw(nominal, circumstances.jitter_sample));
    let due = end.finished_at.plus(delay);
    if circumstances.expires_at.is_some_and(|expiry| due >= expiry) {
        return Decision::Dead(DeadReason::Expired); // 10
    }
    Decision::Retry { nominal, delay, at: due } // 11
}

/// Rows 4 to 9: why a failure with this code is not retried.
fn final_reason(
    policy: &RetryPolicy,
    code: &ErrorCode,
    end: &AttemptEnd,
    attempt_in_budget: u32,
) -> Option<DeadReason> {
    let listed = |list: &[CodePattern]| list.iter().any(|pattern| pattern.matches(code));
    if end.report.unrecoverable {
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
        None if matches!(end.cause, Some(EndCause::SpawnFailed(Some(_)))) => {
            return Some(DeadReason::SpawnFailed); // 8
        }
        _ => {}
    }
    (attempt_in_budget >= policy.max_attempts).then_some(DeadReason::AttemptsExhausted) // 9
}

/// Says the decision after an attempt in words: `EXIT_1 is retried: attempt 2 of 3 in 1.9 s`.
///
/// `max_attempts` is the size of the job's budget.
pub fn decision_text(attempt: &Attempt, max_attempts: u32) -> String {
    let code = attempt.error_code.as_ref().map_or("success", ErrorCode::as_str);
    match attempt.next_state {
        JobState::Succeeded => success_text(attempt.warning.as_ref()),
        JobState::Cancelled if attempt.outcome == Outcome::Cancelled => "cancelled by a person".to_owned(),
        JobState::Cancelled => format!("{code} after a cancel: cancelled"),
        JobState::Dead => {
            let reason = attempt.dead_reason.unwrap_or(DeadReason::AttemptsExhausted);
            death_text(code, reason, attempt.attempt_in_budget, max_attempts)
        }
        JobState::Pending | JobState::Running if !attempt.counted() => {
            format!(
                "{code} is not counted: attempt {} of {max_attempts} again at once",
                attempt.attempt_in_budget
            )
        }
        JobState::Pending | JobState::Running => {
            let delay = human_duration(attempt.delay.unwrap_or_default());
            retried_text(code, attempt.attempt_in_budget, max_attempts, &format!("in {delay}"))
        }
    }
}

/// Says that an attempt has succeeded, and under which warning.
pub fn success_text(warning: Option<&ErrorCode>) -> String {
    let with = warning.map(|warning| format!(" with a warning: {}", warning.as_warning()));
    format!("succeeded{}", with.unwrap_or_default())
}

/// Says that this attempt of a budget was the last, and why.
pub fn death_text(code: &str, reason: DeadReason, attempt: u32, max_attempts: u32) -> String {
    let why = match reason {
        DeadReason::AttemptsExhausted => format!("attempt {attempt} of {max_attempts} was the last"),
        other => other.because_of(code).to_owned(),
    };
    format!("{code} is final: {why}")
}

/// Says which attempt follows this one of a budget, and when.
pub fn retried_text(what: &str, attempt: u32, max_attempts: u32, when: &str) -> String {
    format!("{what} is retried: attempt {} of {max_attempts} {when}", attempt.saturating_add(1))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
