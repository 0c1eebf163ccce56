//! `timeout` and `grace_period`.

use crate::support::{Sandbox, Signal, assert_fields, is_alive, json, wait_until};

#[test]
fn an_attempt_that_exceeds_its_timeout_is_told_to_end_each_time() {
    let sandbox = Sandbox::empty();
    let line = "trap 'echo told $RUNNER_LAST_ERROR_CODE. >> log; exit 0' TERM; sleep 20 & wait";
    let job = sandbox.finish_line("--timeout 300ms --max-attempts 2 --backoff 1ms", line);
    assert_eq!(sandbox.log(), ["told .", "told TIMEOUT."]);
    assert_eq!(job["error_code"], "TIMEOUT");
    // The exit status of the process is kept.
    let expected = json!({"outcome": "timed_out", "error_code": "TIMEOUT", "exit_code": 0, "signal": null});
    assert_fields(&job["history"][0], &expected);
    assert!(job["history"][0]["duration_ms"].as_u64() >= Some(300), "{job}");
    let job = sandbox.finish_line("--timeout 200ms", "kill -STOP $$; sleep 20");
    assert_eq!(job["history"][0]["outcome"], "timed_out", "a stopped attempt times out too");
}

#[test]
fn after_the_grace_every_process_of_it_is_killed_also_one_in_a_session_of_its_own() {
    let sandbox = Sandbox::empty();
    let line = "setsid sh -c 'echo $$ > stray; exec sleep 20' & trap '' TERM; echo $$ > pid; \
                while [ -e runner.db ]; do sleep 0.05; done";
    let job = sandbox.finish_line("--timeout 400ms --grace-period 200ms", line);
    assert_fields(&job["history"][0], &json!({"outcome": "timed_out", "signal": "SIGKILL"}));
    assert!(job["history"][0]["duration_ms"].as_u64() >= Some(600), "{job}");
    assert!(!is_alive(sandbox.pid_of("pid")));
    let stray = sandbox.pid_of("stray");
    wait_until("the stray is gone", || !is_alive(stray));
}

#[test]
fn the_message_tells_whether_sigkill_was_needed() {
    let sandbox = Sandbox::empty();
    let message = |line: &str| {
        let job = sandbox.finish_line("--timeout 300ms --grace-period 200ms", line);
        assert_eq!(job["history"][0]["outcome"], "timed_out");
        job["history"][0]["message"].clone()
    };
    let needed = "SIGKILL was needed, because not all of its processes had ended 200ms after SIGTERM";
    let deaf = "trap '' TERM; while [ -e runner.db ]; do sleep 0.05; done";
    assert_eq!(message(deaf), needed);
    assert_eq!(message(&format!("({deaf}) & sleep 20")), needed, "its child did not heed SIGTERM");
    sandbox.run("inspect 2").ok().shows(needed);
    let reported = format!("echo message=mine >> $RUNNER_REPORT; {deaf}");
    assert_eq!(message(&reported), format!("mine; {needed}"));
    assert_eq!(message("sleep 20"), json!(null));
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
