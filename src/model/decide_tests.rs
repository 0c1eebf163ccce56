//! Every row of the decision table, and their order.

use super::*;
use crate::model::{Backoff, ExitRules, Jitter, SpawnFailure, Status, Strategy, classify};

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

const AT_END: Timestamp = Timestamp(1_000_000);

fn exited(status: i32) -> AttemptEnd {
    AttemptEnd::by_itself(Status::Exited(status), AT_END)
}

fn stopped(cause: EndCause) -> AttemptEnd {
    AttemptEnd::unseen(cause, AT_END)
}

const NOT_STARTED: EndCause = EndCause::SpawnFailed(Some(SpawnFailure::NotFound));

const AT: Circumstances =
    Circumstances { attempt_in_budget: 1, cancel_requested: false, expires_at: None, jitter_sample: 0.5 };

fn after(policy: &RetryPolicy, end: &AttemptEnd, at: Circumstances) -> Decision {
    decide(policy, end, &classify(&ExitRules::default(), end), at)
}

fn dead(reason: DeadReason) -> Decision {
    Decision::Dead(reason)
}

const RETRY: Decision =
    Decision::Retry { nominal: Millis(60_000), delay: Millis(60_000), at: Timestamp(1_060_000) };
const AT_ONCE: Decision = Decision::Retry { nominal: Millis(0), delay: Millis(0), at: Timestamp(1_000_000) };

fn unrecoverable(mut end: AttemptEnd) -> AttemptEnd {
    end.report.unrecoverable = true;
    end
}

#[test]
fn row_1_success_stays_success_whatever_else_is_on_record() {
    let at = Circumstances { cancel_requested: true, attempt_in_budget: 99, ..AT };
    assert_eq!(after(&policy(), &unrecoverable(exited(0)), at), Decision::Succeeded);
}

#[test]
fn row_2_cancelled_is_cancelled_and_so_is_any_failure_after_a_cancel() {
    assert_eq!(after(&policy(), &stopped(EndCause::Cancelled), AT), Decision::Cancelled);
    let at = Circumstances { cancel_requested: true, ..AT };
    for end in [
        exited(1),
        stopped(EndCause::WorkerCrashed),
        stopped(EndCause::Interrupted),
        stopped(EndCause::TimedOut),
    ] {
        assert_eq!(after(&policy(), &end, at), Decision::Cancelled);
    }
}

#[test]
fn row_3_interrupted_runs_again_at_once_even_at_the_end_of_the_budget() {
    let at = Circumstances { attempt_in_budget: 3, expires_at: Some(Timestamp(0)), ..AT };
    assert_eq!(after(&policy(), &unrecoverable(stopped(EndCause::Interrupted)), at), AT_ONCE);
    let once = RetryPolicy { retryable: false, ..policy() };
    assert_eq!(after(&once, &stopped(EndCause::Interrupted), AT), dead(DeadReason::Interrupted));
}

#[test]
fn row_4_unrecoverable_comes_before_the_lists() {
    let policy = RetryPolicy { never_retry_for: patterns(&["*"]), ..policy() };
    let decision = after(&policy, &unrecoverable(exited(1)), AT);
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
    assert_eq!(after(&policy, &stopped(NOT_STARTED), AT), dead(DeadReason::NotRetryable));
}

#[test]
fn row_7_a_code_that_is_not_listed_is_final() {
    let policy = RetryPolicy { auto_retry_for: Some(patterns(&["EXIT_75", "TIMEOUT"])), ..policy() };
    assert_eq!(after(&policy, &exited(1), AT), dead(DeadReason::CodeNotListed));
    assert_eq!(after(&policy, &stopped(NOT_STARTED), AT), dead(DeadReason::CodeNotListed));
    assert_eq!(after(&policy, &exited(75), AT), RETRY);
    assert_eq!(after(&policy, &stopped(EndCause::TimedOut), AT), RETRY);
}

#[test]
fn row_8_a_failed_spawn_is_final_unless_listed() {
    assert_eq!(after(&policy(), &stopped(NOT_STARTED), AT), dead(DeadReason::SpawnFailed));
    for list in ["SPAWN_FAILED", "*"] {
        let policy = RetryPolicy { auto_retry_for: Some(patterns(&[list])), ..policy() };
        assert_eq!(after(&policy, &stopped(NOT_STARTED), AT), RETRY);
    }
}

#[test]
fn row_8_does_not_speak_of_a_failed_spawn_that_may_pass() {
    let may_pass = stopped(EndCause::SpawnFailed(None));
    assert_eq!(after(&policy(), &may_pass, AT), RETRY);
    let last = Circumstances { attempt_in_budget: 3, ..AT };
    assert_eq!(after(&policy(), &may_pass, last), dead(DeadReason::AttemptsExhausted));
    let listed = RetryPolicy { auto_retry_for: Some(patterns(&["EXIT_1"])), ..policy() };
    assert_eq!(after(&listed, &may_pass, AT), dead(DeadReason::CodeNotListed));
    let never = RetryPolicy { never_retry_for: patterns(&["SPAWN_FAILED"]), ..policy() };
    assert_eq!(after(&never, &may_pass, AT), dead(DeadReason::NeverRetry));
}

#[test]
fn row_9_the_budget_is_the_total_number_of_runs() {
    for (n, decision) in
        [(2, RETRY), (3, dead(DeadReason::AttemptsExhausted)), (4, dead(DeadReason::AttemptsExhausted))]
    {
        assert_eq!(after(&policy(), &exited(1), Circumstances { attempt_in_budget: n, ..AT }), decision);
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
    assert_eq!(after(&policy(), &stopped(EndCause::WorkerCrashed), AT), RETRY);
    let at = Circumstances { attempt_in_budget: 3, ..AT };
    assert_eq!(after(&policy(), &stopped(EndCause::WorkerCrashed), at), dead(DeadReason::AttemptsExhausted));
}

#[test]
fn retry_after_replaces_the_delay_and_leaves_the_nominal_one() {
    let mut end = exited(1);
    end.report.retry_after = Some(Millis(7));
    assert_eq!(
        after(&policy(), &end, AT),
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
        worker_id: Some(String::new()),
        started_at: None,
        finished_at: Timestamp(0),
        duration: None,
        attempt_in_budget: 1,
        next_state,
        dead_reason: None,
        nominal_delay: None,
        delay: None,
        usage: None,
        output_held_open: false,
        warning: None,
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
        attempt_in_budget: 3,
        ..attempt(Outcome::Failed, Some("EXIT_1"), JobState::Dead)
    };
    assert_eq!(decision_text(&exhausted, 3), "EXIT_1 is final: attempt 3 of 3 was the last");
    let interrupted = attempt(Outcome::Interrupted, Some("INTERRUPTED"), JobState::Pending);
    assert_eq!(decision_text(&interrupted, 3), "INTERRUPTED is not counted: attempt 1 of 3 again at once");
    assert_eq!(decision_text(&attempt(Outcome::Succeeded, None, JobState::Succeeded), 3), "succeeded");
    let late = attempt(Outcome::Failed, Some("EXIT_1"), JobState::Cancelled);
    assert_eq!(decision_text(&late, 3), "EXIT_1 after a cancel: cancelled");
}
