//! `runner cancel`: a waiting job at once, a running one is asked to end.

use crate::support::{Sandbox, Signal, Value, eventually, is_alive, json, wait_until};

#[test]
fn of_a_dead_or_suspended_worker_it_says_who_ends_the_job() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- sleep 60");
    let worker = sandbox.worker("");
    sandbox.until_state(1, "running");
    worker.signal(Signal::STOP);
    wait_until("it is suspended", || sandbox.run("inspect workers").ok().stdout.contains("suspended"));
    sandbox.run("cancel 1").ok().shows("its worker is suspended: the job goes on until that does");
    worker.kill();
    let said = "job 1: asked to end, but its worker is dead: the next runner work ends what is left of it\n";
    sandbox.run("cancel 1").ok().prints(said);
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.job(1)["state"], "cancelled");
}

#[test]
fn a_waiting_job_is_cancelled_before_it_returns() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log'\n");
    sandbox.run("enqueue job job").ok();
    sandbox.add("job --in 1h");
    sandbox.run("cancel 1 3").ok().shows("1").shows("3");
    for id in [1, 3] {
        let job = sandbox.job(id);
        assert_eq!((&job["state"], &job["attempts"]), (&json!("cancelled"), &json!(0)));
        assert_ne!(job["finished_at"], json!(null));
    }
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log(), ["ran"]);
}

#[test]
fn a_job_between_retries_is_cancelled() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 1'\nbackoff = '1h'\n");
    sandbox.add("job");
    sandbox.run("work --until-idle").ok();
    sandbox.run("cancel 1").ok();
    let job = sandbox.job(1);
    assert_eq!(
        (&job["state"], &job["next_retry_at"], &job["error_code"]),
        (&json!("cancelled"), &json!(null), &json!(null))
    );
    sandbox.run("work --drain").ok();
}

#[test]
fn a_running_job_ends_with_all_its_processes() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'setsid sh -c \"echo \\$\\$ > stray; exec sleep 20\" & echo $$ > pid; exec sleep 20'\n",
    );
    sandbox.add("job");
    let _worker = sandbox.worker("-j1");
    let (leader, stray) = (sandbox.pid_of("pid"), sandbox.pid_of("stray"));
    sandbox.run("cancel 1").ok();
    let job = sandbox.until_state(1, "cancelled");
    let attempt = &job["history"][0];
    assert_eq!((&attempt["outcome"], &attempt["error_code"]), (&json!("cancelled"), &json!("CANCELLED")));
    assert_eq!((&attempt["signal"], &attempt["will_retry"]), (&json!("SIGTERM"), &json!(false)));
    assert_ne!(job["cancel_requested_at"], json!(null));
    wait_until("nothing of it is left", || !is_alive(leader) && !is_alive(stray));
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
fn a_success_stays_a_success() {
    let job = ends_while_the_worker_is_suspended(0);
    assert_eq!((&job["state"], &job["history"][0]["outcome"]), (&json!("succeeded"), &json!("succeeded")));
}

#[test]
fn a_failure_with_a_cancel_on_record_is_not_retried() {
    let job = ends_while_the_worker_is_suspended(3);
    assert_eq!((&job["state"], &job["history"][0]["will_retry"]), (&json!("cancelled"), &json!(false)));
}

#[test]
fn a_finished_job_stays_as_it_is() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.add("-- false");
    sandbox.drain();
    sandbox.run("cancel 1 2").ok();
    assert_eq!((&sandbox.job(1)["state"], &sandbox.job(2)["state"]), (&json!("succeeded"), &json!("dead")));
}

#[test]
fn an_unknown_id_is_told_after_the_others_are_done() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("cancel 7 1").exits(66).says("7");
    assert_eq!(sandbox.job(1)["state"], "cancelled");
}

#[test]
fn as_json_it_prints_the_jobs() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let job = sandbox.run("cancel 1 --json").ok().json();
    assert_eq!((&job["id"], &job["state"]), (&json!(1), &json!("cancelled")));
    sandbox.run("cancel 1 -q").ok().prints("").quietly();
}

#[test]
fn what_is_no_id_is_a_usage_error() {
    let sandbox = Sandbox::empty();
    for line in ["cancel", "cancel x", "cancel 0", "cancel 1.2"] {
        sandbox.run(line).exits(2);
    }
    sandbox.run("cancel 1").exits(66);
    assert!(!sandbox.db().exists());
}

#[test]
fn the_log_tells_of_it() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--name job", "echo $$ > pid; exec sleep 20");
    let mut worker = sandbox.worker("-j1 --max-jobs 1 --log json");
    sandbox.pid_of("pid");
    sandbox.run("cancel 1").ok();
    let events = worker.wait().ok().json_lines();
    let told = events.iter().find(|event| event["event"] == "job_cancelled").expect("a cancelled job");
    assert_eq!(
        (&told["job_id"], &told["name"], &told["attempt"], &told["error_code"]),
        (&json!(1), &json!("job"), &json!(1), &json!("CANCELLED"))
    );
    assert!(told["duration_ms"].is_u64() && told.get("message").is_some(), "{told}");
}
