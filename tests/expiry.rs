//! `expires_in`: a job that is not started in time is dead, without an attempt.

use crate::support::{Background, Sandbox, Signal, json, wait_until};

const JOBS: &str = "[jobs.job]\ncommand = 'echo ran >> log'\nexpires_in = '50ms'\n";

/// A sandbox whose job 1 has expired and nobody has recorded it.
#[track_caller]
fn expired(options: &str) -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add(&format!("job {options}"));
    wait_until("it is shown as dead", || sandbox.job(1)["state"] == "dead");
    sandbox
}

fn until_expired(sandbox: &Sandbox) {
    let sql = sandbox.sql();
    wait_until("its expiry is past", || {
        sql.number("SELECT expires_at < 1000 * unixepoch('subsec') FROM jobs") == 1
    });
}

#[test]
fn an_expiry_is_shown_before_it_is_recorded() {
    let sandbox = expired("");
    let job = sandbox.job(1);
    assert_eq!((&job["dead_reason"], &job["error_code"]), (&json!("expired"), &json!("EXPIRED")));
    assert_eq!((&job["attempts"], &job["history"]), (&json!(0), &json!([])));
    assert_eq!(sandbox.sql().text("SELECT state FROM jobs"), "pending", "nobody has recorded it");
    sandbox.run("inspect dead --json").ok().shows("EXPIRED");
    sandbox.run("inspect dead").ok().shows("EXPIRED: 1 job, expired\n");
    sandbox.run("inspect jobs --state dead --json").ok().shows("EXPIRED");
    sandbox.run("inspect jobs --state pending --json").ok().prints("");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_eq!((&overview["counts"]["dead"], &overview["counts"]["ready"]), (&json!(1), &json!(0)));
    assert_eq!(overview["dead_by_error_code"], json!({"EXPIRED": 1}));
}

#[test]
fn work_records_it_and_it_may_be_put_back() {
    let sandbox = expired("");
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log(), [""; 0]);
    assert_eq!(sandbox.sql().text("SELECT state || ' ' || error_code FROM jobs"), "dead EXPIRED");
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM attempts"), 0);
    sandbox.run("retry 1").ok();
    assert_eq!(sandbox.sql().text("SELECT state FROM jobs"), "pending");
}

#[test]
fn an_enqueue_that_meets_its_key_records_it() {
    let sandbox = expired("--unique-key k");
    sandbox.run("enqueue job --unique-key k").ok().prints("2\n");
    assert_eq!(sandbox.sql().text("SELECT state FROM jobs WHERE id = 1"), "dead");
}

#[test]
fn a_job_that_is_due_later_is_not_shown_as_dead_before() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("job --in 1h");
    let job = sandbox.job(1);
    assert_eq!(job["state"], "pending");
    assert!(job["expires_at"].as_str() > job["run_at"].as_str(), "{job}");
}

#[test]
fn a_job_that_has_started_is_not_cut_short() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\nexpires_in = '2s'\n",
    );
    let _worker = sandbox.worker("-j1");
    sandbox.add("job");
    sandbox.until_logged(1);
    until_expired(&sandbox);
    assert_eq!(sandbox.job(1)["state"], "running");
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn a_job_whose_retry_would_come_too_late_is_not_said_to_have_expired() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 1'\nexpires_in = '1h'\nbackoff = '2h'\n");
    let why = "EXIT_1: the retry would fall at or after its expiry";
    sandbox.run("run job").exits(1).says(&format!("job 1 job: dead, {why}"));
    sandbox.run("inspect 1").ok().shows("EXIT_1, expired: the retry would fall at or after its expiry");
}

const UNTIL_GO: &str = "[jobs.job]\nexpires_in = '500ms'\n\
    command = 'echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done; exit 1'\n";

/// A worker that runs job 1.
fn start(sandbox: &Sandbox) -> Background {
    let worker = sandbox.worker("-j1 --shutdown-timeout 10ms");
    sandbox.add("job");
    sandbox.until_logged(1);
    worker
}

/// Ends the worker once job 1 is past its expiry.
fn interrupt_after_expiry(sandbox: &Sandbox, mut worker: Background) {
    until_expired(sandbox);
    worker.ask_to_stop(Signal::TERM);
    worker.wait().ok();
    assert_eq!(sandbox.attempt(1, 1)["will_retry"], true);
}

#[test]
fn a_job_that_is_interrupted_after_its_expiry_is_taken_by_another_worker_at_once() {
    let sandbox = Sandbox::new(UNTIL_GO);
    let running = start(&sandbox);
    let _idle = sandbox.worker("-j1");
    interrupt_after_expiry(&sandbox, running);
    sandbox.until_logged(2);
    // The new attempt is not cut short; but the job is not retried after its expiry.
    until_expired(&sandbox);
    sandbox.write("go", "");
    sandbox.until_state(1, "dead");
    let job = sandbox.job(1);
    assert_eq!(
        (&job["attempts"], &job["dead_reason"], &job["error_code"]),
        (&json!(2), &json!("expired"), &json!("EXIT_1"))
    );
    sandbox.run("doctor").ok();
}

#[test]
fn a_job_that_is_interrupted_after_its_expiry_expires_if_no_worker_takes_it() {
    let sandbox = Sandbox::new(UNTIL_GO);
    let running = start(&sandbox);
    interrupt_after_expiry(&sandbox, running);
    sandbox.until_state(1, "dead");
    sandbox.run("work --drain").exits(1);
    let job = sandbox.job(1);
    assert_eq!(
        (&job["attempts"], &job["dead_reason"], &job["error_code"]),
        (&json!(1), &json!("expired"), &json!("EXPIRED"))
    );
    sandbox.run("doctor").ok();
}

#[test]
fn a_worker_ends_after_as_many_expiries_as_one_turn_records() {
    // A turn records a thousand.
    for jobs in [1_000_u16, 2_000] {
        let sandbox = Sandbox::new(JOBS);
        sandbox.write("batch", "{\"name\": \"job\"}\n".repeat(jobs.into()));
        sandbox.run("enqueue -q --batch batch").ok();
        wait_until("all are shown as dead", || {
            sandbox.run("inspect --json").ok().json()["counts"]["dead"] == jobs
        });
        for options in ["--until-idle", "--drain"] {
            let call = sandbox.call(&format!("work -q {options}"));
            let ended = Background::start(&sandbox, call).wait();
            assert!(matches!(ended.status(), Some(0 | 1)), "{ended}");
        }
        assert_eq!(sandbox.sql().number("SELECT count(*) FROM jobs WHERE state = 'dead'"), i64::from(jobs));
    }
}
