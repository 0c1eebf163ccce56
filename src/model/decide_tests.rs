//! Every row of the decision table, and their order.

use super::*;
use crate::model::{Backoff, Exit, ExitRules, Jitter, Status, StopReason, Strategy, classify};

fn policy() -> RetryPolicy {
    RetryPolicy {
        max_attempts: 3,
        backoff: Backoff { strategy: Strategy::Constant { delay: Millis(60_000) }, jitter: Jitter::DEFAULT },
        ..RetryPolicy::default()
    }
}

fn patterns(list: &[&str]) -> Vec<CodePattern> {
    list.iter().map(|text| CodePattern::parse(text).unwrap()).collect()
}

fn exited(status: i32) -> Verdict {
    classify(&ExitRules::default(), Exit::by_itself(Status::Exited(status)), None)
}

fn stopped(reason: StopReason) -> Verdict {
    classify(&ExitRules::default(), Exit::unseen(reason), None)
}

const AT: Circumstances = Circumstances {
    budget_number: 1,
    cancel_requested: false,
    expires_at: None,
    finished_at: Timestamp(1_000_000),
    roll: 0.5,
};

fn after(policy: &RetryPolicy, verdict: &Verdict, at: Circumstances) -> Decision {
    decide(policy, verdict, &SelfReport::default(), at)
}

fn dead(reason: DeadReason) -> Decision {
    Decision::Dead(reason)
}

const RETRY: Decision =
    Decision::Retry { nominal: Millis(60_000), delay: Millis(60_000), at: Timestamp(1_060_000) };
const AT_ONCE: Decision = Decision::Retry { nominal: Millis(0), delay: Millis(0), at: Timestamp(1_000_000) };

fn unrecoverable() -> SelfReport {
    SelfReport { unrecoverable: true, ..SelfReport::default() }
}

#[test]
fn row_1_success_stays_success_whatever_else_is_on_record() {
    let at = Circumstances { cancel_requested: true, budget_number: 99, ..AT };
    assert_eq!(decide(&policy(), &exited(0), &unrecoverable(), at), Decision::Succeeded);
}

#[test]
fn row_2_cancelled_is_cancelled_and_so_is_any_failure_after_a_cancel() {
    assert_eq!(after(&policy(), &stopped(StopReason::Cancelled), AT), Decision::Cancelled);
    let at = Circumstances { cancel_requested: true, ..AT };
    for verdict in [
        exited(1),
        stopped(StopReason::WorkerCrashed),
        stopped(StopReason::Interrupted),
        stopped(StopReason::TimedOut),
    ] {
        assert_eq!(after(&policy(), &verdict, at), Decision::Cancelled);
    }
}

#[test]
fn row_3_interrupted_runs_again_at_once_even_at_the_end_of_the_budget() {
    let at = Circumstances { budget_number: 3, expires_at: Some(Timestamp(0)), ..AT };
    assert_eq!(decide(&policy(), &stopped(StopReason::Interrupted), &unrecoverable(), at), AT_ONCE);
    let once = RetryPolicy { retryable: false, ..policy() };
    assert_eq!(after(&once, &stopped(StopReason::Interrupted), AT), dead(DeadReason::Interrupted));
}

#[test]
fn row_4_unrecoverable_comes_before_the_lists() {
    let policy = RetryPolicy { never_retry_for: patterns(&["*"]), ..policy() };
    let decision = decide(&policy, &exited(1), &unrecoverable(), AT);
    assert_eq!(decision, dead(DeadReason::Unrecoverable));
}

#[test]
fn row_5_never_retry_for_comes_before_auto_retry_for_and_retryable() {
    let policy = RetryPolicy {
        retryable: false,
        auto_retry_for: Some(patterns(&["EXIT_*"])),
        never_retry_for: patterns(&["EXIT_1"]),
        ..policy()
    };
    assert_eq!(after(&policy, &exited(1), AT), dead(DeadReason::NeverRetry));
}

#[test]
fn row_6_not_retryable_comes_before_the_budget() {
    let policy = RetryPolicy { retryable: false, max_attempts: 1, ..policy() };
    assert_eq!(after(&policy, &exited(1), AT), dead(DeadReason::NotRetryable));
    assert_eq!(after(&policy, &stopped(StopReason::SpawnFailed), AT), dead(DeadReason::NotRetryable));
}

#[test]
fn row_7_a_code_that_is_not_listed_is_final() {
    let policy = RetryPolicy { auto_retry_for: Some(patterns(&["EXIT_75", "TIMEOUT"])), ..policy() };
    assert_eq!(after(&policy, &exited(1), AT), dead(DeadReason::CodeNotListed));
    assert_eq!(after(&policy, &stopped(StopReason::SpawnFailed), AT), dead(DeadReason::CodeNotListed));
    assert_eq!(after(&policy, &exited(75), AT), RETRY);
    assert_eq!(after(&policy, &stopped(StopReason::TimedOut), AT), RETRY);
}

#[test]
fn row_8_a_failed_spawn_is_final_unless_listed() {
    assert_eq!(after(&policy(), &stopped(StopReason::SpawnFailed), AT), dead(DeadReason::SpawnFailed));
    for list in ["SPAWN_FAILED", "*"] {
        let policy = RetryPolicy { auto_retry_for: Some(patterns(&[list])), ..policy() };
        assert_eq!(after(&policy, &stopped(StopReason::SpawnFailed), AT), RETRY);
    }
}

#[test]
fn row_9_the_budget_is_the_total_number_of_runs() {
    for (n, decision) in
        [(2, RETRY), (3, dead(DeadReason::AttemptsExhausted)), (4, dead(DeadReason::AttemptsExhausted))]
    {
        assert_eq!(after(&policy(), &exited(1), Circumstances { budget_number: n, ..AT }), decision);
    }
}

#[test]
fn row_10_a_retry_at_the_expiry_is_too_late() {
    for (expiry, decision) in [(1_060_000, dead(DeadReason::Expired)), (1_060_001, RETRY)] {
        let at = Circumstances { expires_at: Some(Timestamp(expiry)), ..AT };
        assert_eq!(after(&policy(), &exited(1), at), decision);
    }
}

#[test]
fn row_11_a_crash_is_retried_like_any_failure() {
    assert_eq!(after(&policy(), &stopped(StopReason::WorkerCrashed), AT), RETRY);
    let at = Circumstances { budget_number: 3, ..AT };
    assert_eq!(
        after(&policy(), &stopped(StopReason::WorkerCrashed), at),
        dead(DeadReason::AttemptsExhausted)
    );
}

#[test]
fn retry_after_replaces_the_delay_and_leaves_the_nominal_one() {
    let report = SelfReport { retry_after: Some(Millis(7)), ..SelfReport::default() };
    assert_eq!(
        decide(&policy(), &exited(1), &report, AT),
        Decision::Retry { nominal: Millis(60_000), delay: Millis(7), at: Timestamp(1_000_007) }
    );
}

fn attempt(outcome: Outcome, code: Option<&str>, next_state: JobState) -> Attempt {
    Attempt {
        job_id: 1,
        number: 1,
        outcome,
        error_code: code.map(|code| ErrorCode::parse(code).unwrap()),
        status: None,
        message: None,
        worker_id: String::new(),
        started_at: None,
        finished_at: Timestamp(0),
        duration: None,
        budget_number: 1,
        next_state,
        dead_reason: None,
        nominal_delay: None,
        delay: None,
        leaked: false,
        spawn_failure: None,
    }
}

#[test]
fn decisions_read_as_sentences() {
    let retried =
        Attempt { delay: Some(Millis(1_912)), ..attempt(Outcome::Failed, Some("EXIT_1"), JobState::Pending) };
    assert_eq!(decision_text(&retried, 3), "EXIT_1 is retried: attempt 2 of 3 in 1.9 s");
    let exhausted = Attempt {
        dead_reason: Some(DeadReason::AttemptsExhausted),
        budget_number: 3,
        ..attempt(Outcome::Failed, Some("EXIT_1"), JobState::Dead)
    };
    assert_eq!(decision_text(&exhausted, 3), "EXIT_1 is final: attempt 3 of 3 was the last");
    let interrupted = attempt(Outcome::Interrupted, Some("INTERRUPTED"), JobState::Pending);
    assert_eq!(decision_text(&interrupted, 3), "INTERRUPTED is not counted: attempt 1 of 3 again at once");
    assert_eq!(decision_text(&attempt(Outcome::Succeeded, None, JobState::Succeeded), 3), "succeeded");
    let late = attempt(Outcome::Failed, Some("EXIT_1"), JobState::Cancelled);
    assert_eq!(decision_text(&late, 3), "EXIT_1 after a cancel: cancelled");
}
