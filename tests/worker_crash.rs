//! A worker that dies: its attempts are ended, recorded and decided by the next one.

use crate::support::{
    Background, Sandbox, Signal, Value, assert_fields, eventually, is_alive, json, signal, wait_until,
};

const JOBS: &str = r#"
[jobs.job]
command = "echo $RUNNER_ATTEMPT >> log; echo $$ > pid.$RUNNER_ATTEMPT; [ $RUNNER_ATTEMPT -gt 1 ] || exec sleep 20"
backoff = "1ms"
[jobs.once]
command = "echo once >> log; exec sleep 20"
retryable = false
[jobs.listed]
command = "echo listed >> log; exec sleep 20"
auto_retry_for = ["TIMEOUT"]
[jobs.spread]
command = "setsid sh -c 'trap : TERM; echo $$ > stray; while [ -e runner.db ]; do sleep 0.05; done' & echo start >> log; exec sleep 20"
max_attempts = 1
[jobs.silent]
command = "while [ -e runner.db ]; do sleep 0.05; done"
max_attempts = 1
[jobs.talk]
command = "echo half; echo talk >> log; exec sleep 20"
max_attempts = 1
"#;

/// A sandbox with a job of this name whose worker has been killed while it ran.
#[track_caller]
fn after_a_crash_of(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add(name);
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    // The command may be faster than the note of its start, without which nobody knows when that was.
    wait_until("its start is on record", || worker.stderr().contains("started, pid"));
    worker.kill();
    sandbox
}

#[test]
fn a_new_worker_ends_what_is_left_and_runs_the_job_again() {
    let sandbox = after_a_crash_of("job");
    let old = sandbox.pid_of("pid.1");
    assert!(is_alive(old), "its command lives on");
    let log = sandbox.run("work --drain").ok().stderr;
    assert_eq!(log.matches("its worker died").count(), 1, "{log}");
    assert!(!is_alive(old));
    assert_eq!(sandbox.log(), ["1", "2"]);
    let job = sandbox.job(1);
    assert_fields(&job, &json!({"state": "succeeded", "attempts": 2, "budget_used": 2}));
    let lost = &job["history"][0];
    let expected = json!({
        "outcome": "worker_crashed", "error_code": "WORKER_CRASHED", "counted": true, "will_retry": true,
        "exit_code": null, "signal": null, "duration_ms": null,
    });
    assert_fields(lost, &expected);
    assert_ne!(lost["started_at"], json!(null));
    assert_ne!(lost["worker_id"], job["history"][1]["worker_id"]);
    assert!(job["history"][1]["started_at"].as_str() >= lost["finished_at"].as_str(), "{job}");
}

#[test]
fn a_job_that_may_not_run_again_is_dead_after_a_crash() {
    for (name, reason) in [("once", "not_retryable"), ("listed", "code_not_listed")] {
        let sandbox = after_a_crash_of(name);
        let events = sandbox.run("work --drain --log json").exits(1).json_lines();
        let job = sandbox.job(1);
        assert_fields(&job, &json!({"state": "dead", "dead_reason": reason, "error_code": "WORKER_CRASHED"}));
        assert_eq!(sandbox.log(), [name]);
        let event = |word: &str| events.iter().find(|event| event["event"] == word).expect(word);
        let lost = event("attempt_lost");
        assert_fields(
            lost,
            &json!({"job_id": 1, "name": name, "attempt": 1, "error_code": "WORKER_CRASHED"}),
        );
        assert!(lost["message"].is_string() && lost.get("duration_ms") == Some(&json!(null)), "{lost}");
        assert_eq!(event("job_dead")["dead_reason"], reason);
    }
}

#[test]
fn recovery_finds_what_left_the_group_and_does_not_heed_sigterm() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("spread");
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let stray = sandbox.pid_of("stray");
    worker.kill();
    sandbox.run("work --drain").exits(1);
    assert!(!is_alive(stray));
    assert_eq!(sandbox.job(1)["error_code"], "WORKER_CRASHED");
}

#[test]
fn a_running_worker_takes_over_from_one_that_died() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("job");
    let doomed = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let _other = sandbox.worker("-j1");
    doomed.kill();
    sandbox.until_state(1, "succeeded");
    assert_eq!(sandbox.log(), ["1", "2"]);
}

#[test]
fn a_cancel_on_record_holds_after_a_crash() {
    let sandbox = Sandbox::empty();
    let line = "trap '' TERM; echo start >> log; while [ -e runner.db ]; do sleep 0.02; done";
    sandbox.add_line("--max-attempts 2 --grace-period 1m", line);
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    sandbox.run("cancel 1").ok();
    assert_ne!(sandbox.job(1)["cancel_requested_at"], json!(null));
    worker.kill();
    sandbox.run("work --drain").ok();
    assert_fields(&sandbox.job(1), &json!({"state": "cancelled", "attempts": 1}));
}

#[test]
fn little_of_the_output_is_lost() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("talk");
    let worker = sandbox.worker("-j1");
    wait_until("its output is saved", || sandbox.run("logs 1").stdout == "half\n");
    let attempt = sandbox.attempt(1, 1);
    assert_eq!((&attempt["outcome"], &attempt["stdout"]), (&json!(null), &json!("half\n")));
    worker.kill();
    sandbox.run("logs 1").ok().prints("half\n");
    sandbox.run("work --drain").exits(1);
    sandbox.run("logs 1.1").ok().prints("half\n");
}

/// Its process is not there, but a child of it is, which the recovery ends: so nothing is said of what was still there.
#[test]
fn of_a_process_that_nobody_saw_end_the_history_says_just_that() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--max-attempts 1", "sleep 60 & echo $! > child; echo $$ > parent; wait");
    let worker = sandbox.worker("-j1");
    let (parent, child) = (sandbox.pid_of("parent"), sandbox.pid_of("child"));
    worker.kill();
    signal(parent, Signal::KILL);
    wait_until("it has ended", || !is_alive(parent));
    sandbox.run("work --drain").exits(1);
    assert!(!is_alive(child));
    let message = sandbox.attempts(1).remove(0)["message"].clone();
    assert_eq!(message, json!("its worker died while it was running; nobody saw how it ended"));
}

/// The recovered attempt of a job that ran for a second without output, and of which only the database is left, in which
/// this was done.
#[track_caller]
fn recovered_from_the_database_alone(sql: &str) -> Value {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("silent");
    let worker = sandbox.worker("-j1");
    wait_until("its start is saved", || {
        sandbox.sql().number("SELECT count(*) FROM live_outputs WHERE started_at IS NOT NULL") == 1
    });
    let seen = sandbox.call("logs 1").at_terminal(200).ok().stdout;
    assert!(seen.starts_with("runner: nothing was written here yet;"), "{seen}");
    let started_at = sandbox.attempt(1, 1)["started_at"].clone();
    worker.kill();
    std::fs::remove_dir_all(sandbox.path("runner.db.run")).expect("it goes");
    sandbox.sql().run(sql);
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM outputs"), 0, "it wrote nothing");
    let job = sandbox.job(1);
    let lost = job["history"][0].clone();
    assert_fields(&lost, &json!({"error_code": "WORKER_CRASHED", "duration_ms": null}));
    assert_eq!(job["started_at"], lost["started_at"]);
    assert!(lost["started_at"].is_null() || lost["started_at"] == started_at, "{lost}, not {started_at}");
    lost
}

#[test]
fn what_a_power_cut_leaves_tells_that_an_attempt_had_started_and_when() {
    let died = "its worker died while it was running; nobody saw how it ended";
    for (sql, message, is_known) in [
        ("", died, true),
        ("UPDATE workers SET boot_id = 'earlier'", "the machine was restarted while it was running", true),
        // A worker of version 1.0 does not save when it was.
        ("UPDATE live_outputs SET started_at = NULL", died, false),
        // The worker died in the first second.
        ("DELETE FROM live_outputs", "its worker died; it may not have started", false),
    ] {
        let lost = recovered_from_the_database_alone(sql);
        assert_eq!((&lost["message"], !lost["started_at"].is_null()), (&json!(message), is_known), "{sql}");
    }
}

#[track_caller]
fn workers(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run("inspect workers --json").ok().json_lines()
}

#[test]
fn a_dead_worker_is_shown_until_it_is_dealt_with() {
    let sandbox = after_a_crash_of("once");
    let dead = workers(&sandbox);
    assert_eq!((dead.len(), &dead[0]["alive"], &dead[0]["running"]), (1, &json!(false), &json!(1)));
    sandbox.run("inspect workers").ok().shows("dead");
    sandbox.run("inspect").ok().shows("died");
    sandbox.run("work --drain").exits(1);
    assert_eq!(workers(&sandbox), [] as [Value; 0]);
}

/// A worker in the midst of job 1, to which something is done; then another worker runs job 2.
#[track_caller]
fn nobody_takes_over(harm: impl Fn(&Sandbox, &Background)) -> (Sandbox, Background) {
    let sandbox = Sandbox::new(
        "[jobs.gated]\ncommand = 'echo $RUNNER_JOB_ID >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\n[jobs.quick]\ncommand = 'true'\n",
    );
    sandbox.add("gated");
    let first = sandbox.worker("-j1");
    sandbox.until_logged(1);
    harm(&sandbox, &first);
    let _second = sandbox.worker("-j1");
    sandbox.add("quick");
    sandbox.until_state(2, "succeeded");
    let job = sandbox.job(1);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("running"), &json!(0)));
    (sandbox, first)
}

#[test]
fn a_suspended_worker_is_alive() {
    let (sandbox, worker) = nobody_takes_over(|sandbox, worker| {
        worker.signal(Signal::STOP);
        eventually("it is shown as suspended", || {
            sandbox.run("inspect workers").ok().stdout.contains("suspended").then_some(())
        });
    });
    assert_eq!(workers(&sandbox)[0]["alive"], true);
    sandbox.write("go", "");
    worker.signal(Signal::CONT);
    sandbox.until_state(1, "succeeded");
    assert_eq!(sandbox.log(), ["1"]);
}

#[test]
fn a_missing_lock_file_is_no_proof_of_death() {
    let (sandbox, worker) = nobody_takes_over(|sandbox, _| {
        let run_dir = sandbox.path("runner.db.run");
        for entry in std::fs::read_dir(run_dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "lock") {
                std::fs::remove_file(path).expect("it goes");
            }
        }
    });
    assert!(is_alive(worker.pid()));
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
    assert_eq!(sandbox.log(), ["1"]);
}

#[test]
fn every_job_of_a_dead_worker_is_recorded() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo ran >> log; [ -e go ] || exec sleep 20'\nmax_attempts = 1\n",
    );
    sandbox.run("enqueue job job job job job").ok();
    let worker = sandbox.worker("-j3");
    sandbox.until_logged(3);
    worker.kill();
    sandbox.write("go", "");
    sandbox.run("work --drain").exits(1);
    let dead = sandbox.run("inspect dead --json --error-code WORKER_CRASHED").ok().json_lines();
    assert_eq!(dead.len(), 3);
    let succeeded = sandbox.run("inspect jobs --state succeeded --json").ok().json_lines();
    assert_eq!(succeeded.len(), 2, "what was not started is not lost");
    assert_eq!(sandbox.log().len(), 5);
}
