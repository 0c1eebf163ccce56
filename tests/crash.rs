//! A worker that dies: its attempts are ended, recorded and decided by the next one.

use crate::support::{Bed, Signal, Value, Worker, eventually, is_alive, json, wait_until};

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
[jobs.talk]
command = "echo half; echo talk >> log; exec sleep 20"
max_attempts = 1
"#;

/// A bed with a job of this name whose worker has been killed while it ran.
#[track_caller]
fn after_a_crash_of(name: &str) -> Bed {
    let bed = Bed::new(JOBS);
    bed.add(name);
    let worker = bed.worker("-j1");
    bed.until_logged(1);
    // The command may be faster than the note of its start, without which nobody knows when that was.
    wait_until("its start is on record", || worker.stderr().contains("started, pid"));
    worker.kill();
    bed
}

#[test]
fn a_new_worker_ends_what_is_left_and_runs_the_job_again() {
    let bed = after_a_crash_of("job");
    let old = bed.pid_of("pid.1");
    assert!(is_alive(old), "its command lives on");
    bed.run("work --drain").ok();
    assert!(!is_alive(old));
    assert_eq!(bed.log(), ["1", "2"]);
    let job = bed.job(1);
    assert_eq!(
        (&job["state"], &job["attempts"], &job["budget_used"]),
        (&json!("succeeded"), &json!(2), &json!(2))
    );
    let lost = &job["history"][0];
    assert_eq!((&lost["outcome"], &lost["error_code"]), (&json!("worker_crashed"), &json!("WORKER_CRASHED")));
    assert_eq!((&lost["counted"], &lost["will_retry"]), (&json!(true), &json!(true)));
    for field in ["exit_code", "signal", "duration_ms"] {
        assert_eq!(lost[field], json!(null), "{field}");
    }
    assert_ne!(lost["started_at"], json!(null));
    assert_ne!(lost["worker_id"], job["history"][1]["worker_id"]);
    assert!(job["history"][1]["started_at"].as_str() >= lost["finished_at"].as_str(), "{job}");
}

#[test]
fn what_may_run_only_once_is_dead_after_a_crash() {
    let bed = after_a_crash_of("once");
    bed.run("work --drain").exits(1);
    let job = bed.job(1);
    assert_eq!((&job["state"], &job["dead_reason"]), (&json!("dead"), &json!("not_retryable")));
    assert_eq!(job["error_code"], "WORKER_CRASHED");
    assert_eq!(bed.log(), ["once"]);
}

#[test]
fn a_crash_that_is_not_listed_is_final() {
    let bed = after_a_crash_of("listed");
    bed.run("work --drain").exits(1);
    assert_eq!(bed.job(1)["dead_reason"], "code_not_listed");
    assert_eq!(bed.log(), ["listed"]);
}

#[test]
fn recovery_finds_what_left_the_group_and_does_not_heed_sigterm() {
    let bed = Bed::new(JOBS);
    bed.add("spread");
    let worker = bed.worker("-j1");
    bed.until_logged(1);
    let stray = bed.pid_of("stray");
    worker.kill();
    bed.run("work --drain").exits(1);
    assert!(!is_alive(stray));
    assert_eq!(bed.job(1)["error_code"], "WORKER_CRASHED");
}

#[test]
fn a_running_worker_takes_over_from_one_that_died() {
    let bed = Bed::new(JOBS);
    bed.add("job");
    let doomed = bed.worker("-j1");
    bed.until_logged(1);
    let _other = bed.worker("-j1");
    doomed.kill();
    bed.until_state(1, "succeeded");
    assert_eq!(bed.log(), ["1", "2"]);
}

#[test]
fn a_cancel_on_record_holds_after_a_crash() {
    let bed = Bed::new(&JOBS.replace("echo listed >> log; exec", "trap '' TERM; echo listed >> log;"));
    bed.write(
        "jobs.toml",
        bed.read("jobs.toml").replace("auto_retry_for", "grace_period = '1m'\nauto_retry_for"),
    );
    bed.add("listed");
    let worker = bed.worker("-j1");
    bed.until_logged(1);
    bed.run("cancel 1").ok();
    assert_ne!(bed.job(1)["cancel_requested_at"], json!(null));
    worker.kill();
    bed.run("work --drain").ok();
    let job = bed.job(1);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("cancelled"), &json!(1)));
}

#[test]
fn little_of_the_output_is_lost() {
    let bed = Bed::new(JOBS);
    bed.add("talk");
    let worker = bed.worker("-j1");
    wait_until("its output is saved", || bed.run("logs 1").stdout == "half\n");
    worker.kill();
    bed.run("logs 1").ok().prints("half\n");
    bed.run("work --drain").exits(1);
    bed.run("logs 1.1").ok().prints("half\n");
}

#[track_caller]
fn workers(bed: &Bed) -> Vec<Value> {
    bed.run("inspect workers --json").ok().json_lines()
}

#[test]
fn a_dead_worker_is_shown_until_it_is_dealt_with() {
    let bed = after_a_crash_of("once");
    let dead = workers(&bed);
    assert_eq!((dead.len(), &dead[0]["alive"], &dead[0]["running"]), (1, &json!(false), &json!(1)));
    bed.run("inspect workers").ok().shows("dead");
    bed.run("inspect").ok().shows("died");
    bed.run("work --drain").exits(1);
    assert_eq!(workers(&bed), [] as [Value; 0]);
}

/// A worker in the midst of job 1, to which something is done; then another worker runs job 2.
#[track_caller]
fn nobody_takes_over(harm: impl Fn(&Bed, &Worker)) -> (Bed, Worker) {
    let bed = Bed::new(
        "[jobs.gated]\ncommand = 'echo $RUNNER_JOB_ID >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\n[jobs.quick]\ncommand = 'true'\n",
    );
    bed.add("gated");
    let first = bed.worker("-j1");
    bed.until_logged(1);
    harm(&bed, &first);
    let _second = bed.worker("-j1");
    bed.add("quick");
    bed.until_state(2, "succeeded");
    let job = bed.job(1);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("running"), &json!(0)));
    (bed, first)
}

#[test]
fn a_suspended_worker_is_alive() {
    let (bed, worker) = nobody_takes_over(|bed, worker| {
        worker.signal(Signal::STOP);
        eventually("it is shown as suspended", || {
            bed.run("inspect workers").ok().stdout.contains("suspended").then_some(())
        });
    });
    assert_eq!(workers(&bed)[0]["alive"], true);
    bed.write("go", "");
    worker.signal(Signal::CONT);
    bed.until_state(1, "succeeded");
    assert_eq!(bed.log(), ["1"]);
}

#[test]
fn a_missing_lock_file_is_no_proof_of_death() {
    let (bed, worker) = nobody_takes_over(|bed, _| {
        let run_dir = bed.path("runner.db.run");
        for entry in std::fs::read_dir(run_dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "lock") {
                std::fs::remove_file(path).expect("it goes");
            }
        }
    });
    assert!(is_alive(worker.pid()));
    bed.write("go", "");
    bed.until_state(1, "succeeded");
    assert_eq!(bed.log(), ["1"]);
}

#[test]
fn every_job_of_a_dead_worker_is_recorded() {
    let bed =
        Bed::new("[jobs.job]\ncommand = 'echo ran >> log; [ -e go ] || exec sleep 20'\nmax_attempts = 1\n");
    bed.run("enqueue job job job job job").ok();
    let worker = bed.worker("-j3");
    bed.until_logged(3);
    worker.kill();
    bed.write("go", "");
    bed.run("work --drain").exits(1);
    let dead = bed.run("inspect dead --json --error-code WORKER_CRASHED").ok().json_lines();
    assert_eq!(dead.len(), 3);
    let succeeded = bed.run("inspect jobs --state succeeded --json").ok().json_lines();
    assert_eq!(succeeded.len(), 2, "what was not started is not lost");
    assert_eq!(bed.log().len(), 5);
}

#[test]
fn the_log_tells_of_a_lost_attempt() {
    let bed = after_a_crash_of("once");
    let events = bed.run("work --drain --log json").exits(1).json_lines();
    let lost = events.iter().find(|event| event["event"] == "attempt_lost").expect("a lost attempt");
    assert_eq!(
        (&lost["job_id"], &lost["name"], &lost["attempt"], &lost["error_code"]),
        (&json!(1), &json!("once"), &json!(1), &json!("WORKER_CRASHED"))
    );
    assert_eq!(lost.get("duration_ms"), Some(&json!(null)));
    assert!(lost["message"].is_string(), "{lost}");
    let dead = events.iter().find(|event| event["event"] == "job_dead").expect("a dead job");
    assert_eq!(dead["dead_reason"], "not_retryable");
}
