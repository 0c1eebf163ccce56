//! `--json`: the documented fields, and the form of times.

use std::collections::BTreeSet;

use crate::support::{Sandbox, Value, json};

const JOB: &str = "id name queue state dead_reason error_code priority attempts budget_used max_attempts retryable \
    command args cwd unique_key idempotency_key enqueued_at run_at started_at finished_at expires_at next_retry_at \
    cancel_requested_at result worker_id after scheduled_for resolved_at resolution history";

const ATTEMPT: &str = "job_id name number outcome error_code exit_code signal message started_at finished_at duration_ms \
    will_retry decision counted nominal_delay_ms delay_ms next_retry_at worker_id leaked stdout stderr \
    stdout_omitted_bytes stderr_omitted_bytes";

#[track_caller]
fn assert_only_fields(object: &Value, fields: &str) {
    let found: BTreeSet<_> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(found, fields.split_whitespace().collect::<BTreeSet<_>>());
}

/// A job that was retried, and one that waits.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo out; exit 3'\nbackoff = ['1ms']\n");
    sandbox.add("job");
    sandbox.drain();
    sandbox.add("job --in 1h");
    sandbox
}

#[test]
fn the_fields_of_a_job() {
    let sandbox = sandbox();
    for line in [
        "inspect 1",
        "inspect 2",
        "inspect jobs --limit 1",
        "inspect dead",
        "enqueue job --dry-run",
        "cancel 2",
    ] {
        assert_only_fields(&sandbox.run(&format!("{line} --json")).ok().json(), JOB);
    }
    assert_only_fields(&sandbox.run("resolve 1 --json").ok().json(), JOB);
    assert_only_fields(&sandbox.run("retry 1 --json").ok().json(), JOB);
    assert_only_fields(&sandbox.run("enqueue job --json").ok().json(), &format!("{JOB} created"));
}

#[test]
fn the_fields_of_an_attempt() {
    let sandbox = sandbox();
    let attempt = sandbox.attempt(1, 1);
    assert_only_fields(&attempt, ATTEMPT);
    assert_eq!(attempt["stdout"], "out\n");
    for attempt in sandbox.attempts(1) {
        assert_only_fields(&attempt, ATTEMPT);
        assert_eq!((&attempt["stdout"], &attempt["stdout_omitted_bytes"]), (&json!(null), &json!(null)));
    }
    assert_only_fields(&sandbox.run("inspect attempts --json --limit 1").ok().json(), ATTEMPT);
}

#[test]
fn the_fields_of_the_overview() {
    let sandbox = sandbox();
    let _worker = sandbox.worker("-j3 --queue a --queue b");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_only_fields(&overview, "db counts queues workers dead_by_error_code next_run_at oldest_due_at");
    assert_only_fields(
        &overview["counts"],
        "ready scheduled retrying blocked running succeeded dead resolved cancelled",
    );
    assert_only_fields(
        &overview["queues"][0],
        "name paused max_running rate ready scheduled retrying blocked running",
    );
    let worker = &overview["workers"][0];
    assert_only_fields(worker, "id pid alive started_at slots running queues");
    assert_eq!((&worker["slots"], &worker["queues"]), (&json!(3), &json!(["a", "b"])));
    assert_eq!(overview["db"], sandbox.db().display().to_string());
    let empty = Sandbox::empty().run("inspect --json").ok().json();
    assert_only_fields(&empty, "db counts queues workers dead_by_error_code next_run_at oldest_due_at");
}

#[test]
fn the_fields_of_check_and_explain() {
    let sandbox = sandbox();
    assert_only_fields(
        &sandbox.run("check --json").ok().json(),
        "name policy delays cwd env_file env stdin_bytes unique_key success_exit_codes",
    );
    let explained = sandbox.run("explain job --exit 3 --json").ok().json();
    assert_only_fields(&explained, "error_code decision dead_reason delay_min_ms delay_max_ms");
}

#[test]
fn times_are_utc_with_milliseconds_and_absent_values_are_null() {
    let sandbox = sandbox();
    let job = sandbox.job(1);
    for field in ["enqueued_at", "run_at", "started_at", "finished_at"] {
        let text = job[field].as_str().expect(field);
        assert!(text.len() == 24 && text.as_bytes()[10] == b'T' && text.ends_with('Z'), "{field}: {text}");
    }
    for field in ["expires_at", "next_retry_at", "cancel_requested_at", "result", "worker_id", "unique_key"] {
        assert_eq!(job[field], json!(null), "{field}");
    }
    assert_eq!(job["args"], json!([]));
}
