//! `timeout` and `grace_period`, and what is left in the background.

use crate::support::{Sandbox, Signal, assert_fields, is_alive, json, signal, wait_until};

#[test]
fn an_attempt_that_exceeds_its_timeout_is_told_to_end_each_time() {
    let sandbox = Sandbox::empty();
    let line = "trap 'echo told $RUNNER_LAST_ERROR_CODE. >> log; exit 0' TERM; sleep 20 & wait";
    let job = sandbox.finish_line("--timeout 300ms --max-attempts 2 --backoff 1ms", line);
    assert_eq!(sandbox.log(), ["told .", "told TIMEOUT."]);
    assert_eq!(job["error_code"], "TIMEOUT");
    // What the process did is kept.
    let expected = json!({"outcome": "timed_out", "error_code": "TIMEOUT", "exit_code": 0, "signal": null});
    assert_fields(&job["history"][0], &expected);
    assert!(job["history"][0]["duration_ms"].as_u64() >= Some(300), "{job}");
    let job = sandbox.finish_line("--timeout 200ms", "kill -STOP $$; sleep 20");
    assert_eq!(job["history"][0]["outcome"], "timed_out", "a stopped attempt times out too");
}

#[test]
fn after_the_grace_it_is_killed() {
    let sandbox = Sandbox::empty();
    let line = "trap '' TERM; echo $$ > pid; while [ -e runner.db ]; do sleep 0.05; done";
    let job = sandbox.finish_line("--timeout 200ms --grace-period 200ms", line);
    assert_fields(&job["history"][0], &json!({"outcome": "timed_out", "signal": "SIGKILL"}));
    assert!(job["history"][0]["duration_ms"].as_u64() >= Some(400), "{job}");
    assert!(!is_alive(sandbox.pid_of("pid")));
}

#[test]
fn a_stray_in_a_session_of_its_own_dies_with_the_timeout() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'setsid sh -c \"echo \\$\\$ > stray; exec sleep 20\" & exec sleep 20'\ntimeout = '1500ms'\nmax_attempts = 1\n",
    );
    sandbox.add("job");
    sandbox.run("work --drain").exits(1);
    let stray = sandbox.pid_of("stray");
    wait_until("the stray is gone", || !is_alive(stray));
}

#[test]
fn processes_that_a_normal_end_leaves_are_left_alone() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'sh -c \"echo \\$\\$ > stray; exec sleep 20\" & until [ -s stray ] || [ ! -e runner.db ]; do sleep 0.02; done'\n",
    );
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    let stray = sandbox.pid_of("stray");
    let attempt = sandbox.attempts(id).remove(0);
    assert_eq!((&attempt["outcome"], &attempt["leaked"]), (&json!("succeeded"), &json!(true)));
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

#[test]
fn a_background_child_that_holds_no_pipe_is_no_leak() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'sleep 20 > /dev/null 2>&1 & echo $! > stray'\n");
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.attempts(id)[0]["leaked"], false);
    let stray = sandbox.pid_of("stray");
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

/// The second attempt succeeds only if nothing is left of the first.
#[test]
fn leftovers_are_ended_before_the_next_attempt_by_the_same_or_another_worker() {
    for first in ["work --drain", "work --max-jobs 1"] {
        let sandbox = Sandbox::new(
            r#"
[jobs.job]
command = "[ $RUNNER_ATTEMPT -eq 2 ] || { sleep 20 > /dev/null 2>&1 & echo $! > stray; exit 1; }; ! grep -q 'State:.[^ZX]' /proc/$(cat stray)/status"
backoff = "1ms"
max_attempts = 2
"#,
        );
        sandbox.add("job");
        sandbox.run(first).ok();
        sandbox.run("work --drain").ok();
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{first}");
        assert!(!is_alive(sandbox.pid_of("stray")), "{first}");
    }
}

#[test]
fn a_job_that_ended_by_itself_keeps_its_ending_where_the_worker_looks_late() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $$ > pid; sleep 2.1'\ntimeout = '2s'\n");
    sandbox.add("job");
    let worker = sandbox.worker("-j1");
    let pid = sandbox.pid_of("pid");
    worker.signal(Signal::STOP);
    wait_until("the command has ended", || !is_alive(pid));
    worker.signal(Signal::CONT);
    sandbox.until_state(1, "succeeded");
}
