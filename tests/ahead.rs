//! Claims made ahead of the slots: faster, and not to be seen.

use rustix::process::Signal;

use crate::support::{Sandbox, Worker, eventually};

/// Short jobs, and one that takes as long as the test likes.
const JOBS: &str = r#"
[jobs.short]
command = "echo $RUNNER_JOB_ID.$RUNNER_ATTEMPT >> log"

[jobs.long]
command = "echo $RUNNER_JOB_ID.$RUNNER_ATTEMPT >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done"
"#;

/// Twelve short jobs, a long one, and eight short ones behind it.
fn mixed() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue short short short short short short short short short short short short").ok();
    sandbox.run("enqueue long").ok();
    sandbox.run("enqueue short short short short short short short short").ok();
    sandbox
}

fn count(sandbox: &Sandbox, which: &str) -> i64 {
    sandbox.sql().number(&format!("SELECT count(*) FROM jobs WHERE {which}"))
}

#[test]
fn what_a_busy_worker_had_at_hand_an_idle_one_gets() {
    let sandbox = mixed();
    let mut busy = Worker::start(&sandbox, sandbox.call("work"), "-j1");
    sandbox.until_logged(13);
    let mut idle = Worker::start(&sandbox, sandbox.call("work"), "-j1 --until-idle");
    sandbox.until_logged(21);
    assert_eq!(sandbox.job(13)["state"], "running");
    sandbox.write("go", "");
    busy.ask_to_stop(Signal::TERM);
    busy.wait().ok();
    idle.wait().ok();
    let mut ran = sandbox.log();
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), 21, "each ran once: {ran:?}");
}

#[test]
fn a_worker_that_stops_gives_back_what_it_had_at_hand() {
    let sandbox = mixed();
    let mut worker = Worker::start(&sandbox, sandbox.call("work"), "-j1");
    sandbox.until_logged(13);
    worker.ask_to_stop(Signal::TERM);
    eventually("nothing is at hand any more", || (count(&sandbox, "state = 'running'") == 1).then_some(()));
    sandbox.write("go", "");
    worker.wait().ok();
    assert_eq!(count(&sandbox, "state = 'succeeded'"), 13);
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 0 AND budget_used = 0"), 8);
}

#[test]
fn what_a_killed_worker_had_at_hand_is_no_attempt() {
    let sandbox = mixed();
    let worker = Worker::start(&sandbox, sandbox.call("work"), "-j1");
    sandbox.until_logged(13);
    worker.kill();
    sandbox.write("go", "");
    sandbox.run("work --drain").ok();
    // The ends of the last short ones may have died with the worker.
    let ran = sandbox.log();
    assert!(ran.contains(&"13.2".to_owned()), "{ran:?}");
    for id in 14..=21 {
        let runs: Vec<_> = ran.iter().filter(|line| line.starts_with(&format!("{id}."))).collect();
        assert_eq!(runs, [&format!("{id}.1")]);
    }
    sandbox.run("doctor").ok();
}

/// Its worker is killed by the 31st job, with the next ones at hand.
fn killed() -> Sandbox {
    let short = "{\"name\":\"short\"}\n".repeat(30);
    let lines =
        format!("{short}{{\"name\":\"fatal\"}}\n{{\"name\":\"short\",\"unique_key\":\"k\"}}\n{short}");
    // On a machine that is so busy that jobs take long, nothing is claimed ahead.
    eventually("a worker has claimed ahead", || {
        let sandbox = Sandbox::new(
            r#"
[jobs.short]
command = "true"

[jobs.fatal]
command = "[ $RUNNER_ATTEMPT != 1 ] || kill -9 $PPID"
"#,
        );
        sandbox.call("enqueue --batch -").stdin(lines.as_str()).run().ok();
        Worker::start(&sandbox, sandbox.call("work"), "-j1").wait();
        (count(&sandbox, "state = 'running' AND id > 31") > 3).then_some(sandbox)
    })
}

#[test]
fn what_a_killed_worker_had_at_hand_can_be_cancelled_at_once() {
    let sandbox = killed();
    assert_eq!(sandbox.run("cancel 32 33").ok().stdout, "job 32: cancelled\njob 33: cancelled\n");
    assert_eq!(count(&sandbox, "state = 'running' AND id > 31"), 0);
    assert_eq!(count(&sandbox, "state = 'running' AND id = 31"), 1, "that one had begun");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.run("inspect 32 --json").ok().json()["attempts"], 0);
    sandbox.run("doctor").ok();
}

#[test]
fn what_a_killed_worker_had_at_hand_can_be_replaced() {
    let sandbox = killed();
    sandbox.run("enqueue short --unique-key k --on-conflict replace").ok();
    assert_eq!(sandbox.job(32)["state"], "cancelled");
    sandbox.run("work --drain").ok();
    sandbox.run("doctor").ok();
}

#[test]
fn what_a_killed_worker_had_at_hand_can_be_made_due() {
    let sandbox = killed();
    assert_eq!(sandbox.run("retry 32 --now").ok().stdout, "job 32: due now\n");
}

/// What has become of these lines of a batch between thirty short jobs and thirty more, with one slot: while the first of
/// them runs, those behind it are at hand.
fn amid_short_ones(jobs: &str, lines: &str) -> Sandbox {
    let sandbox = Sandbox::new(jobs);
    let short = "{\"name\":\"short\"}\n".repeat(30);
    sandbox.call("enqueue --batch -").stdin(format!("{short}{lines}{short}")).run().ok();
    sandbox.call("work -j1 --until-idle").env("RUNNER", env!("CARGO_BIN_EXE_runner")).run().ok();
    sandbox
}

#[test]
fn nothing_of_a_paused_queue_is_started_once_pause_has_returned() {
    let sandbox = amid_short_ones(
        r#"
[jobs.short]
command = "echo short >> log"

[jobs.pause]
command = "$RUNNER pause default > /dev/null && echo paused >> log"
"#,
        "{\"name\":\"pause\"}\n",
    );
    let log = sandbox.log();
    assert_eq!((log.len(), log[30].as_str()), (31, "paused"));
}

#[test]
fn what_a_living_worker_has_at_hand_can_be_replaced() {
    let sandbox = amid_short_ones(
        r#"
[jobs.short]
command = "true"

[jobs.replace]
command = "$RUNNER enqueue short --unique-key k --on-conflict replace > replaced 2>&1"
"#,
        "{\"name\":\"replace\"}\n{\"name\":\"short\",\"unique_key\":\"k\"}\n",
    );
    assert_eq!(sandbox.read("replaced"), "63\n");
    assert_eq!(sandbox.job(32)["state"], "cancelled");
    assert_eq!(sandbox.job(63)["state"], "succeeded");
}

#[test]
fn more_jobs_than_asked_for_are_not_started() {
    let sandbox = mixed();
    sandbox.run("work -j2 --max-jobs 7").ok();
    assert_eq!(sandbox.log().len(), 7);
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 0"), 14);
}

#[test]
fn a_higher_priority_goes_before_what_is_at_hand() {
    let sandbox = Sandbox::new(
        r#"
[jobs.short]
command = "echo low >> log; [ $RUNNER_JOB_ID != 60 ] || $RUNNER enqueue urgent"

[jobs.urgent]
command = "echo urgent >> log"
priority = 9
"#,
    );
    let lines = "{\"name\":\"short\"}\n".repeat(200);
    sandbox.call("enqueue --batch -").stdin(lines).run().ok();
    let runner = env!("CARGO_BIN_EXE_runner");
    sandbox.call("work -j1 --drain").env("RUNNER", runner).run().ok();
    let at = sandbox.log().iter().position(|line| line == "urgent").unwrap();
    assert!((60..120).contains(&at), "it ran after {at} others");
}

#[test]
fn what_is_at_hand_is_shown_as_ready() {
    // A job looks at those that are at hand behind it, and cancels one, before they are given back.
    let sandbox = amid_short_ones(
        r#"
[jobs.short]
command = "true"

[jobs.look]
command = """
$RUNNER inspect --json > overview
$RUNNER inspect jobs --state running --json > running
$RUNNER inspect jobs --state ready --json > ready
$RUNNER inspect workers --json > workers
$RUNNER cancel 32 > cancelled
"""
"#,
        "{\"name\":\"look\"}\n",
    );
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let overview = json(&sandbox.read("overview"));
    assert_eq!(overview["counts"]["ready"], 30);
    // What has ended and is not on disk yet is still running to whoever looks.
    let running = sandbox.read("running");
    let ids: Vec<_> = running.lines().map(|job| json(job)["id"].as_u64().unwrap()).collect();
    assert!(ids.iter().all(|id| *id <= 31) && ids.contains(&31), "{ids:?}");
    let ready = sandbox.read("ready");
    assert_eq!(ready.lines().count(), 30);
    assert!(ready.lines().all(|job| job.contains("\"worker_id\":null") && job.contains("\"pending\"")));
    let later = json(&sandbox.read("workers"))["running"].as_u64().unwrap();
    assert!((1..=ids.len()).contains(&usize::try_from(later).unwrap()), "{later} of {ids:?}");
    assert_eq!(sandbox.read("cancelled"), "job 32: cancelled\n");
    assert_eq!(sandbox.job(32)["attempts"], 0);
}
