//! `runner cancel`: a waiting job at once, a running one is asked to end.

use crate::support::{Sandbox, Signal, Value, assert_fields, eventually, is_alive, json, wait_until};

#[test]
fn cancel_says_how_a_job_of_a_dead_or_suspended_worker_ends() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- sleep 60");
    let worker = sandbox.worker("");
    sandbox.until_state(1, "running");
    worker.signal(Signal::STOP);
    wait_until("it is suspended", || sandbox.run("inspect workers").ok().stdout.contains("suspended"));
    sandbox
        .run("cancel 1")
        .ok()
        .shows("asked to end, but its worker is suspended: timeouts and cancels wait for it");
    worker.kill();
    let said = "job 1 sleep [60]: running, asked to end, but its worker died; the next runner work ends what is left";
    sandbox.run("cancel 1").ok().shows(said);
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.job(1)["state"], "cancelled");
}

#[test]
fn a_waiting_job_is_cancelled_before_it_returns() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--max-attempts 2 --backoff 1h", "exit 1");
    sandbox.run("work --until-idle").ok();
    sandbox.add_line("", "echo ran >> log");
    sandbox.add_line("", "echo ran >> log");
    sandbox.run("cancel 1 2").ok();
    for (id, attempts) in [(1, 1), (2, 0)] {
        let job = sandbox.job(id);
        let expected =
            json!({"state": "cancelled", "attempts": attempts, "next_retry_at": null, "error_code": null});
        assert_fields(&job, &expected);
        assert_ne!(job["finished_at"], json!(null));
    }
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log(), ["ran"]);
}

#[test]
fn a_running_job_ends_with_all_its_processes() {
    let sandbox = Sandbox::empty();
    let stray = "setsid sh -c 'echo $$ > stray; exec sleep 20' &";
    sandbox.add_line("--name job", &format!("{stray} echo $$ > pid; exec sleep 20"));
    let mut worker = sandbox.worker("-j1 --max-jobs 1 --log json");
    let (leader, stray) = (sandbox.pid_of("pid"), sandbox.pid_of("stray"));
    sandbox.run("cancel 1").ok();
    let events = worker.wait().ok().json_lines();
    let job = sandbox.job(1);
    assert_ne!(job["cancel_requested_at"], json!(null));
    let expected =
        json!({"outcome": "cancelled", "error_code": "CANCELLED", "signal": "SIGTERM", "will_retry": false});
    assert_fields(&job["history"][0], &expected);
    wait_until("nothing of it is left", || !is_alive(leader) && !is_alive(stray));
    let told = events.iter().find(|event| event["event"] == "job_cancelled").expect("a cancelled job");
    assert_fields(told, &json!({"job_id": 1, "name": "job", "attempt": 1, "error_code": "CANCELLED"}));
    assert!(told["duration_ms"].is_u64() && told.get("message").is_some(), "{told}");
}

#[test]
fn an_exit_with_0_that_was_asked_for_is_no_success() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'trap \"exit 0\" TERM; echo $$ > pid; while [ -e runner.db ]; do sleep 0.02; done'\n",
    );
    sandbox.add("job");
    let _worker = sandbox.worker("-j1");
    sandbox.pid_of("pid");
    sandbox.run("cancel 1").ok();
    let job = sandbox.until_state(1, "cancelled");
    assert_eq!(job["history"][0]["exit_code"], 0);
}

/// A job that ends with this status after its cancel was recorded and before the worker could act on it.
#[track_caller]
fn ends_while_the_worker_is_suspended(status: u8) -> Value {
    let sandbox = Sandbox::new(&format!(
        "[jobs.job]\ncommand = 'echo $$ > pid; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done; exit {status}'\n"
    ));
    sandbox.add("job");
    let worker = sandbox.worker("-j1");
    let pid = sandbox.pid_of("pid");
    worker.signal(Signal::STOP);
    sandbox.run("cancel 1").ok().shows("running");
    sandbox.write("go", "");
    wait_until("the command has ended", || !is_alive(pid));
    worker.signal(Signal::CONT);
    eventually("the end is recorded", || Some(sandbox.job(1)).filter(|job| job["attempts"] == 1))
}

#[test]
fn a_success_stays_a_success_and_a_failure_is_not_retried() {
    let job = ends_while_the_worker_is_suspended(0);
    assert_eq!((&job["state"], &job["history"][0]["outcome"]), (&json!("succeeded"), &json!("succeeded")));
    let job = ends_while_the_worker_is_suspended(3);
    assert_eq!((&job["state"], &job["history"][0]["will_retry"]), (&json!("cancelled"), &json!(false)));
}
