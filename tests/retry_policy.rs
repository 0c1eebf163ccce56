//! The retry policy: how often, after how long, and when not at all.

use crate::support::{Sandbox, Value, assert_fields, json};

/// The job after all its attempts, with its history.
#[track_caller]
fn ended(keys: &str) -> Value {
    let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = 'echo ran >> log; exit 5'\n{keys}\n"));
    let job = sandbox.finish("job");
    assert_eq!(sandbox.log().len() as u64, job["attempts"].as_u64().expect("a number"), "{job}");
    job
}

#[test]
fn delays_by_strategy() {
    for (keys, expected) in [
        (
            "max_attempts = 5\n\
             backoff = { strategy = 'exponential', initial = '2ms', multiplier = 3, max = '20ms' }",
            [2, 6, 18, 20].as_slice(),
        ),
        ("max_attempts = 3\nbackoff = { initial = '3ms' }", &[3, 6]),
        (
            "max_attempts = 5\nbackoff = { strategy = 'linear', delay = '5ms', max = '12ms' }",
            &[5, 10, 12, 12],
        ),
        ("max_attempts = 3\nbackoff = '7ms'", &[7, 7]),
        // A list fixes the number of runs.
        ("backoff = ['3ms', '1ms', '2ms']", &[3, 1, 2]),
        (
            "max_attempts = 5\nbackoff = { strategy = 'list', delays = ['3ms', '1ms'], repeat_last = true }",
            &[3, 1, 1, 1],
        ),
    ] {
        let job = ended(keys);
        let history = job["history"].as_array().expect("a history");
        let delays: Vec<_> =
            history.iter().filter_map(|attempt| attempt["nominal_delay_ms"].as_u64()).collect();
        assert_eq!(delays, expected, "{keys}");
        let numbers: Vec<_> = history.iter().filter_map(|attempt| attempt["number"].as_u64()).collect();
        assert!(numbers.into_iter().eq(1..=expected.len() as u64 + 1), "numbered without gaps: {job}");
    }
}

#[test]
fn the_default_is_three_runs_from_one_second() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 5'\n");
    sandbox.add("job");
    sandbox.run("work --until-idle").ok();
    let job = sandbox.job(1);
    // While retries remain the job has no error code.
    assert_fields(&job, &json!({"max_attempts": 3, "budget_used": 1, "state": "pending"}));
    assert_fields(&job, &json!({"error_code": null, "dead_reason": null, "next_retry_at": job["run_at"]}));
    let attempt = &job["history"][0];
    assert_fields(attempt, &json!({"nominal_delay_ms": 1_000, "next_retry_at": job["run_at"]}));
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
    assert_eq!(history[1]["decision"], "EXIT_5 is retried: attempt 3 of 3 in 60 ms");
    assert_eq!(history[2]["decision"], "EXIT_5 is final: attempt 3 of 3 was the last");
}

/// The rows of the decision table that are death by policy.
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
        assert_fields(&job, &json!({"state": "dead", "dead_reason": reason, "error_code": "EXIT_5"}));
        let last = job["history"].as_array().and_then(|history| history.last()).expect("an attempt");
        assert_fields(last, &json!({"will_retry": false, "next_retry_at": null}));
        assert!(reason != "not_retryable" || job["max_attempts"] == 1, "shown as one attempt: {job}");
    }
}

#[test]
fn a_crash_by_signal_is_retried_unless_its_code_is_listed() {
    for (options, attempts, reason) in
        [("", 2, "attempts_exhausted"), ("--never-retry-for SIGNAL_SEGV,SIGNAL_ABRT", 1, "never_retry")]
    {
        let job = Sandbox::empty()
            .finish_line(&format!("--backoff 1ms --max-attempts 2 {options}"), "kill -SEGV $$");
        assert_fields(
            &job,
            &json!({"attempts": attempts, "dead_reason": reason, "error_code": "SIGNAL_SEGV"}),
        );
    }
}
