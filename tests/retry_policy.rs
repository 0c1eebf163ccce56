//! The retry policy: how often, after how long, and when not at all.

use crate::support::{Sandbox, Value, json};

/// The job after it has been worked on to its end, with its history.
#[track_caller]
fn ended(keys: &str) -> Value {
    let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = 'echo ran >> log; exit 5'\n{keys}\n"));
    let id = sandbox.add("job");
    sandbox.drain();
    let job = sandbox.job(id);
    assert_eq!(sandbox.log().len() as u64, job["attempts"].as_u64().expect("a number"), "{job}");
    job
}

#[track_caller]
fn nominal_delays(keys: &str) -> Vec<u64> {
    let job = ended(keys);
    let history = job["history"].as_array().expect("a history");
    history.iter().filter_map(|attempt| attempt["nominal_delay_ms"].as_u64()).collect()
}

#[test]
fn exponential() {
    let keys = "max_attempts = 5\nbackoff = { strategy = 'exponential', initial = '2ms', multiplier = 3, max = '20ms' }";
    assert_eq!(nominal_delays(keys), [2, 6, 18, 20]);
    let without_strategy = "max_attempts = 3\nbackoff = { initial = '3ms' }";
    assert_eq!(nominal_delays(without_strategy), [3, 6]);
}

#[test]
fn linear() {
    let keys = "max_attempts = 5\nbackoff = { strategy = 'linear', delay = '5ms', max = '12ms' }";
    assert_eq!(nominal_delays(keys), [5, 10, 12, 12]);
}

#[test]
fn constant() {
    assert_eq!(nominal_delays("max_attempts = 3\nbackoff = '7ms'"), [7, 7]);
}

#[test]
fn a_list_fixes_the_number_of_runs() {
    assert_eq!(nominal_delays("backoff = ['3ms', '1ms', '2ms']"), [3, 1, 2]);
    let keys =
        "max_attempts = 5\nbackoff = { strategy = 'list', delays = ['3ms', '1ms'], repeat_last = true }";
    assert_eq!(nominal_delays(keys), [3, 1, 1, 1]);
}

#[test]
fn the_default_is_three_runs_from_one_second() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 5'\n");
    let id = sandbox.add("job");
    sandbox.run("work --until-idle").ok();
    let job = sandbox.job(id);
    assert_eq!((&job["max_attempts"], &job["budget_used"]), (&json!(3), &json!(1)));
    let attempt = &job["history"][0];
    assert_eq!(attempt["nominal_delay_ms"], 1_000);
    let delay = attempt["delay_ms"].as_u64().expect("a delay");
    assert!((750..=1_250).contains(&delay), "jitter is a quarter: {delay}");
}

#[test]
fn a_retry_is_due_after_its_delay_and_not_before() {
    let job = ended("max_attempts = 3\nbackoff = { strategy = 'constant', delay = '60ms', jitter = false }");
    let history = job["history"].as_array().expect("a history");
    for pair in history.windows(2) {
        assert_eq!(pair[0]["delay_ms"], 60);
        assert!(pair[1]["started_at"].as_str() >= pair[0]["next_retry_at"].as_str(), "{job}");
        assert!(pair[0]["next_retry_at"].as_str() > pair[0]["finished_at"].as_str(), "{job}");
    }
}

#[test]
fn while_retries_remain_the_job_has_no_error_code() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 5'\nbackoff = '1h'\n");
    let id = sandbox.add("job");
    sandbox.run("work --until-idle").ok();
    let job = sandbox.job(id);
    assert_eq!(
        (&job["state"], &job["error_code"], &job["dead_reason"]),
        (&json!("pending"), &json!(null), &json!(null))
    );
    assert_eq!(job["next_retry_at"], job["history"][0]["next_retry_at"]);
    assert_eq!(job["next_retry_at"], job["run_at"]);
}

/// How each row of the decision table that is death by policy reads.
#[test]
fn reasons_to_give_up() {
    for (keys, reason) in [
        ("never_retry_for = ['EXIT_5']", "never_retry"),
        ("never_retry_for = ['EXIT_*']", "never_retry"),
        ("never_retry_for = ['*']\nretryable = false", "never_retry"),
        ("retryable = false", "not_retryable"),
        ("auto_retry_for = ['EXIT_6', 'TIMEOUT']", "code_not_listed"),
        ("max_attempts = 1", "attempts_exhausted"),
        ("auto_retry_for = ['EXIT_*']\nbackoff = ['1ms']", "attempts_exhausted"),
        ("auto_retry_for = ['*']\nbackoff = ['1ms']", "attempts_exhausted"),
        ("expires_in = '1m'\nbackoff = '1h'", "expired"),
        ("never_retry_for = ['SIGNAL_*']\nbackoff = ['1ms']", "attempts_exhausted"),
    ] {
        let job = ended(keys);
        assert_eq!((&job["state"], &job["dead_reason"]), (&json!("dead"), &json!(reason)), "{keys}");
        assert_eq!(job["error_code"], "EXIT_5", "{keys}");
        let last = job["history"].as_array().and_then(|history| history.last()).expect("an attempt");
        assert_eq!((&last["will_retry"], &last["next_retry_at"]), (&json!(false), &json!(null)), "{keys}");
    }
}

#[test]
fn retryable_false_is_started_once_and_shown_as_one_run() {
    let job = ended("retryable = false");
    assert_eq!((&job["attempts"], &job["max_attempts"]), (&json!(1), &json!(1)));
}

#[test]
fn decisions_are_sentences() {
    let job = ended("max_attempts = 2\nbackoff = { strategy = 'constant', delay = '40ms', jitter = false }");
    assert_eq!(job["history"][0]["decision"], "EXIT_5 is retried: attempt 2 of 2 in 40 ms");
    assert_eq!(job["history"][1]["decision"], "EXIT_5 is final: attempt 2 of 2 was the last");
}

#[test]
fn attempts_are_numbered_from_one_without_gaps() {
    let job = ended("max_attempts = 4\nbackoff = '1ms'");
    let numbers: Vec<_> =
        job["history"].as_array().expect("a history").iter().map(|a| &a["number"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!((&job["attempts"], &job["budget_used"]), (&json!(4), &json!(4)));
}

#[test]
fn a_retry_may_help() {
    let sandbox =
        Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log; [ $RUNNER_ATTEMPT -eq 2 ]'\nbackoff = '1ms'\n");
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    let job = sandbox.job(id);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("succeeded"), &json!(2)));
}
