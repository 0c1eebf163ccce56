//! SIGTERM, SIGINT, SIGHUP: running attempts may end, then they are ended. Other signals that are to do nothing.

use std::fs;

use crate::support::{Background, Sandbox, Signal, assert_fields, is_alive, json, wait_until};

const JOBS: &str = r#"
[jobs.gated]
command = "echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done; echo end >> log; exit $(cat go)"
[jobs.long]
command = "echo $$ > pid; echo start >> log; exec sleep 20"
[jobs.once]
command = "echo $$ > pid; echo start >> log; exec sleep 20"
retryable = false
[jobs.stubborn]
command = "setsid sh -c 'echo $$ > stray; exec sleep 20' & trap '' TERM; echo start >> log; while [ -e runner.db ]; do sleep 0.05; done"
grace_period = "1m"
"#;

/// A worker in the midst of a job.
#[track_caller]
fn at_work(sandbox: &Sandbox, job: &str, options: &str) -> Background {
    sandbox.add(job);
    let worker = sandbox.worker(options);
    sandbox.until_logged(1);
    worker
}

#[test]
fn the_first_signal_lets_running_jobs_end() {
    for (signal, status, outcome, code) in [
        (Signal::TERM, "0", "succeeded", json!(null)),
        (Signal::INT, "0", "succeeded", json!(null)),
        (Signal::HUP, "3", "failed", json!("EXIT_3")),
    ] {
        let sandbox = Sandbox::new(JOBS);
        let mut worker = at_work(&sandbox, "gated", "-j1");
        worker.ask_to_stop(signal);
        sandbox.add("long");
        sandbox.write("go", status);
        worker.wait().ok();
        assert_eq!(sandbox.log(), ["start", "end"], "nothing is claimed any more");
        assert_fields(&sandbox.attempts(1)[0], &json!({"outcome": outcome, "error_code": code}));
        assert_eq!(sandbox.job(2)["state"], "pending");
    }
}

#[test]
fn the_second_signal_interrupts_and_the_job_runs_again_with_its_whole_budget() {
    let sandbox = Sandbox::empty();
    let line = "echo $RUNNER_ATTEMPT $RUNNER_ATTEMPTS_LEFT >> log; [ -e go ] || exec sleep 20";
    sandbox.add_line("", line);
    let mut worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    worker.ask_to_stop(Signal::TERM);
    worker.signal(Signal::TERM);
    worker.wait().ok();
    assert_fields(&sandbox.job(1), &json!({"state": "pending", "attempts": 1, "budget_used": 0}));
    let expected = json!({
        "outcome": "interrupted", "error_code": "INTERRUPTED", "counted": false, "will_retry": true,
        "nominal_delay_ms": 0, "delay_ms": 0, "signal": "SIGTERM",
    });
    assert_fields(&sandbox.attempts(1)[0], &expected);
    sandbox.write("go", "");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log(), ["1 0", "2 0"]);
}

#[test]
fn the_third_signal_kills() {
    let sandbox = Sandbox::new(JOBS);
    let mut worker = at_work(&sandbox, "stubborn", "-j1");
    let stray = sandbox.pid_of("stray");
    worker.ask_to_stop(Signal::TERM);
    worker.ask_to_stop(Signal::TERM);
    assert_eq!(sandbox.job(1)["state"], "running", "it has a minute");
    worker.ask_to_stop(Signal::TERM);
    worker.wait().ok();
    let attempt = sandbox.attempts(1).remove(0);
    assert_eq!((&attempt["outcome"], &attempt["signal"]), (&json!("interrupted"), &json!("SIGKILL")));
    wait_until("the process that left the group is gone", || !is_alive(stray));
}

#[test]
fn a_shutdown_timeout_is_waited_out() {
    let sandbox = Sandbox::new(JOBS);
    let mut worker = at_work(&sandbox, "long", "--shutdown-timeout 200ms");
    worker.signal(Signal::TERM);
    worker.wait().ok();
    let attempt = sandbox.attempts(1).remove(0);
    assert_eq!(attempt["outcome"], "interrupted");
    assert!(attempt["duration_ms"].as_u64() >= Some(200), "{attempt}");
}

#[test]
fn a_job_that_is_not_retryable_is_dead_when_interrupted() {
    let sandbox = Sandbox::new(JOBS);
    let mut worker = at_work(&sandbox, "once", "--shutdown-timeout 0s");
    worker.signal(Signal::TERM);
    worker.wait();
    let job = sandbox.job(1);
    assert_eq!((&job["state"], &job["dead_reason"]), (&json!("dead"), &json!("interrupted")));
    assert_eq!(job["error_code"], "INTERRUPTED");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log(), ["start"]);
}

#[test]
fn a_drain_that_is_cut_short_says_so() {
    for (options, signal, status) in [
        ("--drain", Signal::TERM, 143),
        ("--until-idle", Signal::INT, 130),
        ("--max-jobs 5", Signal::HUP, 129),
        ("", Signal::TERM, 0),
    ] {
        let sandbox = Sandbox::new(JOBS);
        let mut worker = at_work(&sandbox, "long", &format!("--shutdown-timeout 0s {options}"));
        worker.signal(signal);
        worker.wait().exits(status);
    }
}

#[test]
fn a_death_by_signal_while_stopping_counts_as_interrupted() {
    let sandbox = Sandbox::new(
        "[jobs.self]\ncommand = 'echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done; kill -KILL $$'\n",
    );
    let mut worker = at_work(&sandbox, "self", "-j1");
    worker.ask_to_stop(Signal::TERM);
    sandbox.write("go", "");
    worker.wait().ok();
    let attempt = sandbox.attempts(1).remove(0);
    assert_eq!((&attempt["outcome"], &attempt["signal"]), (&json!("interrupted"), &json!("SIGKILL")));
}

#[test]
fn an_idle_worker_stops_at_once() {
    let sandbox = Sandbox::empty();
    let mut worker = sandbox.worker("--log json");
    worker.signal(Signal::TERM);
    let ran = worker.wait().ok();
    assert_eq!(ran.each("event"), ["worker_started", "worker_stopping", "worker_stopped"]);
    sandbox.run("inspect workers --json").ok().prints("");
}

#[test]
fn a_signal_before_the_worker_has_registered_ends_it_in_order() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add("-- true");
    let sql = sandbox.sql();
    sql.run("BEGIN IMMEDIATE");
    let mut worker = Background::start(&sandbox, sandbox.call("work -j1"));
    // The last of the worker's files: next comes its row, which it cannot write yet.
    let has_socket = || {
        let files = fs::read_dir(sandbox.path("runner.db.run")).into_iter().flatten().flatten();
        files.map(|file| file.path()).any(|path| path.extension().is_some_and(|end| end == "sock"))
    };
    wait_until("the worker is about to register", has_socket);
    worker.signal(Signal::TERM);
    sql.run("COMMIT");
    worker.wait().says("stopping: SIGTERM").ok();
    assert_eq!(sandbox.job(id)["attempts"], 0, "nothing was claimed");
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM workers WHERE ended_at IS NULL"), 0);
}

#[test]
fn signals_that_were_ignored_at_the_start_or_mean_nothing_are_ignored() {
    let meaningless = [Signal::USR1, Signal::USR2, Signal::ALARM];
    for (ignored, line) in
        [(&[Signal::HUP, Signal::INT, Signal::QUIT][..], "trap '' HUP INT QUIT"), (&[], ":")]
    {
        for verb in ["work -j1", "run gated"] {
            let sandbox = Sandbox::new(JOBS);
            let line = format!("{line}; exec \"$0\" {verb}");
            let call = sandbox.program("sh").arg("-c").arg(line).arg(env!("CARGO_BIN_EXE_runner"));
            let mut worker = Background::start(&sandbox, call);
            if verb.starts_with("work") {
                sandbox.add("gated");
            }
            sandbox.until_logged(1);
            for signal in ignored.iter().chain(&meaningless) {
                worker.signal(*signal);
            }
            sandbox.write("go", "0");
            sandbox.until_state(1, "succeeded");
            assert!(!worker.stderr().contains("SIG"), "{}", worker.stderr());
            if verb.starts_with("work") {
                worker.signal(Signal::TERM);
            }
            worker.wait().ok();
        }
    }
}

#[test]
fn a_drain_that_was_complete_when_it_stopped_was_not_cut_short() {
    let sandbox =
        Sandbox::new("[jobs.last]\ncommand = 'echo start >> log; while ! [ -e go ]; do sleep 0.02; done'\n");
    sandbox.add("last");
    let mut worker = sandbox.worker("-j1 --drain");
    sandbox.until_logged(1);
    worker.ask_to_stop(Signal::TERM);
    sandbox.write("go", "");
    worker.wait().ok();
}
