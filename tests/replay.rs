//! `runner retry`: a dead letter is put back with a fresh budget.

use std::process::Stdio;

use crate::support::{Bed, assert_screen, json};

const JOBS: &str = r#"
[jobs.bad]
command = "echo $RUNNER_ATTEMPT >> log; exit 3"
backoff = ["1ms"]
[jobs.worse]
command = "exit 4"
max_attempts = 1
[jobs.once]
command = "echo once >> log; exit 5"
retryable = false
"#;

#[test]
fn a_dead_job_keeps_id_and_history_and_gets_a_fresh_budget() {
    let bed = Bed::new(JOBS);
    bed.add("bad");
    bed.drain();
    bed.run("retry 1").ok().shows("1");
    let job = bed.job(1);
    assert_eq!(
        (&job["state"], &job["attempts"], &job["budget_used"]),
        (&json!("pending"), &json!(2), &json!(0))
    );
    assert_eq!(
        (&job["error_code"], &job["dead_reason"], &job["finished_at"]),
        (&json!(null), &json!(null), &json!(null))
    );
    bed.drain();
    assert_eq!(bed.log(), ["1", "2", "3", "4"]);
    let job = bed.job(1);
    assert_eq!(
        (&job["state"], &job["attempts"], &job["budget_used"]),
        (&json!("dead"), &json!(4), &json!(2))
    );
    assert_eq!(job["history"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_cancelled_job_is_put_back() {
    let bed = Bed::new(JOBS);
    bed.add("bad --in 1h");
    bed.run("cancel 1").ok();
    bed.run("retry 1").ok();
    let job = bed.job(1);
    assert_eq!(job["state"], "pending");
    bed.run("work --until-idle");
    assert_eq!(bed.log()[0], "1", "it is due at once");
}

#[test]
fn other_jobs_are_left_and_named_and_the_rest_goes_on() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue worse once").ok();
    bed.add("-- true");
    bed.drain();
    bed.add("bad --in 1h");
    let ran = bed.run("retry 3 4 2 1").exits(1);
    let ran = ran.says("job 3").says("job 4").says("job 2").says("--force");
    assert!(ran.stdout.contains("job 1"), "{ran}");
    assert_eq!((&bed.job(1)["state"], &bed.job(2)["state"]), (&json!("pending"), &json!("dead")));
}

#[test]
fn an_unknown_id_is_not_found() {
    let bed = Bed::new(JOBS);
    bed.add("worse");
    bed.drain();
    bed.run("retry 9 1").exits(66).says("9");
    assert_eq!(bed.job(1)["state"], "pending");
}

#[test]
fn force_runs_what_may_run_only_once() {
    let bed = Bed::new(JOBS);
    bed.add("once");
    bed.drain();
    bed.run("retry 1").exits(1);
    bed.run("retry 1 --force").ok();
    bed.drain();
    assert_eq!(bed.log(), ["once", "once"]);
    assert_eq!(bed.job(1)["attempts"], 2);
}

#[test]
fn dead_selects_by_name_and_code() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue bad worse worse once").ok();
    bed.drain();
    let pending = || bed.run("inspect jobs --state pending --json").ok().json_lines().len();
    bed.run("retry --dead --name bad --error-code EXIT_4").ok();
    assert_eq!(pending(), 0);
    bed.run("retry --dead --name bad").ok();
    assert_eq!(pending(), 1);
    bed.run("retry --dead --error-code EXIT_4").ok();
    assert_eq!(pending(), 3);
    bed.run("retry --dead").ok().prints("").says("1");
    assert_eq!(pending(), 3);
    bed.run("retry --dead --force").ok();
    assert_eq!(pending(), 4);
    bed.run("retry --name bad").exits(2);
    bed.run("retry --dead 1").exits(2);
    bed.run("retry").exits(2);
}

#[test]
fn a_job_whose_key_is_taken_is_left() {
    let bed = Bed::new(JOBS);
    bed.add("worse --unique-key k");
    bed.add("worse");
    bed.drain();
    bed.add("worse --unique-key k --in 1h");
    bed.run("retry 1 2").exits(1).says("job 1").says("3");
    assert_eq!((&bed.job(1)["state"], &bed.job(2)["state"]), (&json!("dead"), &json!("pending")));
    bed.run("retry --dead").ok().says("1");
    assert_eq!(bed.job(1)["state"], "dead");
}

#[test]
fn now_makes_a_waiting_job_due() {
    let bed = Bed::new(
        "[jobs.job]\ncommand = 'echo $RUNNER_ATTEMPT $RUNNER_ATTEMPTS_LEFT >> log; exit 1'\nmax_attempts = 2\nbackoff = '1h'\n",
    );
    bed.add("job");
    bed.run("work --until-idle").ok();
    bed.run("retry 1").exits(1).says("--now");
    bed.run("retry 1 --now").ok();
    bed.drain();
    assert_eq!(bed.log(), ["1 1", "2 0"], "budget and numbers stay");
    bed.run("retry 1 --now").exits(1);
    bed.add("job --in 1h");
    bed.run("retry 2 --now").ok();
    bed.run("work --until-idle").ok();
    assert_eq!(bed.job(2)["attempts"], 1);
}

#[test]
fn a_definition_that_has_changed_since_is_told_and_kept() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue bad worse worse").ok();
    bed.add("worse --priority 7");
    bed.drain();
    // What differs by its own options is no change of the file.
    bed.run("retry 4").ok().quietly();
    bed.drain();
    bed.write("jobs.toml", JOBS.replace("exit 4", "exit 0").replace("max_attempts = 1", "timeout = '5m'"));
    bed.run("retry 1").ok().quietly();
    let told = |line: &str| bed.run(line).ok().stderr;
    let said = [told("retry 2"), told("retry 1 --now"), told("retry --dead")].concat();
    assert_screen(&bed, || {
        insta::assert_snapshot!(said, @"
        runner: job 2 keeps the definition that it was enqueued with; worse in [DIR]/jobs.toml has changed since (command, max_attempts, timeout): runner enqueue worse takes the present one
        runner: 2 jobs of worse keep the definition of their enqueue; worse in [DIR]/jobs.toml has changed since (command, max_attempts, priority, timeout): runner enqueue worse takes the present one
        ");
    });
    bed.drain();
    assert_eq!(bed.job(2)["error_code"], "EXIT_4", "it is the old one that was run");
    bed.run("retry 2 -q").ok().prints("").quietly();
    bed.drain();
    bed.write("jobs.toml", "no job file");
    bed.run("retry 2").ok().quietly();
}

#[test]
fn quiet_says_nothing_of_what_dead_leaves() {
    let bed = Bed::new(JOBS);
    bed.add("once");
    bed.drain();
    bed.run("retry --dead").ok().says("left 1 job declared retryable = false");
    bed.run("retry --dead -q").ok().prints("").quietly();
    bed.run("retry --dead --name none -q").ok().prints("").quietly();
}

#[test]
fn of_several_at_once_one_puts_it_back() {
    let bed = Bed::new(JOBS);
    bed.add("worse");
    bed.drain();
    let calls: Vec<_> = (0..6).map(|_| bed.call("retry 1").spawn(Stdio::null(), Stdio::piped())).collect();
    let outputs: Vec<_> = calls.into_iter().map(|call| call.wait_with_output().expect("a child")).collect();
    let done = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!(done, 1, "{outputs:?}");
    bed.drain();
    assert_eq!(bed.job(1)["attempts"], 2);
}

#[test]
fn expiry_counts_anew_from_a_replay() {
    let bed = Bed::new("[jobs.job]\ncommand = 'exit 1'\nexpires_in = '1h'\nmax_attempts = 1\n");
    bed.add("job");
    bed.drain();
    let before = bed.job(1)["expires_at"].clone();
    let job = bed.run("retry 1 --json").ok().json();
    assert!(job["expires_at"].as_str() > before.as_str(), "{job}");
}

#[test]
fn it_runs_in_a_worker_that_waits() {
    let bed = Bed::new(JOBS);
    bed.add("worse");
    bed.drain();
    let _worker = bed.worker("-j1");
    bed.run("retry 1").ok();
    wait_for_attempts(&bed, 2);
}

#[track_caller]
fn wait_for_attempts(bed: &Bed, number: u64) {
    crate::support::wait_until("it is run again", || bed.job(1)["attempts"].as_u64() == Some(number));
}
