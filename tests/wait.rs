//! `runner wait` and `enqueue --wait`: until it has ended, and then as it ended.

use crate::support::{Background, Sandbox, Signal, assert_screen};

const JOBS: &str = r#"
[defaults]
backoff = "1ms"
[jobs.good]
command = "echo ran >> log"
[jobs.bad]
command = "echo out $RUNNER_ATTEMPT; echo err >&2; exit 3"
max_attempts = 2
[jobs.slow]
command = "echo began >> log; until [ -e go ]; do sleep 0.01; done"
"#;

const NO_WORKER: &str = "no worker is running for queue default";

#[test]
fn a_job_that_succeeds_gives_zero() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.run("enqueue good --wait").ok().prints("1\n").quietly();
    assert_eq!(sandbox.log(), ["ran"]);
    sandbox.run("wait 1").ok().prints("job 1 good: succeeded\n").quietly();
    assert_eq!(sandbox.run("wait 1 --json").ok().json()["state"], "succeeded");
    sandbox.run("wait 1 -q").ok().prints("").quietly();
}

#[test]
fn the_exit_status_is_that_of_the_last_attempt() {
    let sandbox = Sandbox::empty();
    sandbox.write("not-executable", "x");
    let cases = [
        ("", "exit 3", 3),
        ("", "kill -KILL $$", 137),
        ("--timeout 20ms", "exec sleep 20", 124),
        ("--timeout 20ms --grace-period 5s", "trap 'exit 0' TERM; sleep 20 & wait", 124),
        ("--cwd no-such-directory", "true", 127),
        ("--env PATH=. --max-attempts 2 --backoff 1ms", "exit $((RUNNER_ATTEMPT + 3))", 5),
        ("", "echo unrecoverable=true >> $RUNNER_REPORT; exit 7", 7),
    ];
    let _worker = sandbox.worker("");
    for (options, line, exit) in cases {
        sandbox.call(&format!("enqueue --wait {options} -c")).arg(line).run().exits(exit);
    }
    sandbox.write("jobs.toml", "[jobs.odd]\ncommand = 'true'\nsuccess_exit_codes = [4]\nmax_attempts = 1\n");
    sandbox.run("enqueue --wait odd").exits(1);
    for verb in ["enqueue --wait", "run"] {
        let ran = sandbox.run(&format!("{verb} --name gone -- no-such-program")).exits(127);
        ran.says("dead, SPAWN_FAILED").says("runner: attempt 1: no such program: no-such-program\n");
    }
    sandbox.run("enqueue --wait -- ./not-executable").exits(126);
    sandbox.run("wait 1").exits(3).shows("job 1 exit [exit 3]: dead, EXIT_3");
    sandbox.run("wait 1 -q").exits(3).shows("job 1 exit [exit 3]: dead, EXIT_3");
}

#[test]
fn several_are_one_if_any_did_not_succeed() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.run("enqueue good good --wait").ok().prints("1\n2\n").quietly();
    sandbox.run("enqueue good bad --wait").exits(1).prints("3\n4\n").says("job 4 bad: dead, EXIT_3");
    sandbox
        .run("wait 1 2 3")
        .ok()
        .prints("job 1 good: succeeded\njob 2 good: succeeded\njob 3 good: succeeded\n");
    sandbox.run("wait 4 1").exits(1);
}

#[test]
fn a_selection_is_by_name_and_by_label() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue good good bad --label a").ok();
    sandbox.run("enqueue good --label b").ok();
    sandbox.run("work --drain").exits(1);
    let good = "job 1 good [a]: succeeded\njob 2 good [a]: succeeded\n";
    sandbox.run("wait --name good --label a").ok().prints(good).quietly();
    sandbox.run("wait --name good").ok().prints(&format!("{good}job 4 good [b]: succeeded\n"));
    sandbox.run("wait --name bad").exits(3).shows("job 3 bad [a]: dead, EXIT_3");
    sandbox.run("wait --label a").exits(1).shows(good).shows("job 3 bad [a]: dead");
    for line in ["wait good --name good", "wait 1 --label a", "wait -q"] {
        sandbox.run(line).exits(2);
    }
}

#[test]
fn a_selection_of_nothing_is_no_success() {
    let sandbox = Sandbox::new(JOBS);
    for line in ["wait --label a", "wait --name good", "wait --name good --label a"] {
        sandbox.run(line).exits(66).prints("").says("there is no database yet at ");
    }
    sandbox.run("enqueue good --label a").ok();
    sandbox.add("bad");
    sandbox.run("work --drain").exits(1);
    for (options, words) in [
        ("--label typo", "there is no job with the label typo\nhint: runner inspect jobs lists them\n"),
        ("--name goood", "there is no job named goood in DB\nhint: did you mean good?\n"),
        ("--name zzz", "there is no job named zzz in DB\nhint: runner inspect jobs lists them\n"),
        (
            "--name goood --label a",
            "there is no job of the name goood with the label a\nhint: no job has the name goood; did you mean good?\n",
        ),
        (
            "--name bad --label a",
            "there is no job of the name bad with the label a\nhint: runner inspect jobs lists them\n",
        ),
        (
            "--name bad --label typo",
            "there is no job of the name bad with the label typo\nhint: no job has the label typo\n",
        ),
    ] {
        for quiet in ["", " -q"] {
            let ran = sandbox.run(&format!("wait {options}{quiet}")).exits(66).prints("");
            let told = ran.stderr.replace(&sandbox.db().display().to_string(), "DB");
            assert_eq!(told, format!("runner: {words}"), "{options}");
        }
    }
    let ran = sandbox.run("wait --label typo --json").exits(66).prints("");
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one object");
    assert_eq!(
        (&error["error"], &error["status"]),
        (&"there is no job with the label typo".into(), &66.into())
    );
    // The other verbs have nothing to do then.
    for line in ["cancel --label typo", "retry --dead --label typo", "change --label typo --now"] {
        sandbox.run(line).says("with the label typo").ok();
    }
}

#[test]
fn a_waiter_is_told_of_the_end_and_of_what_is_missing() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow");
    let mut waiter = Background::start(&sandbox, sandbox.call("wait 1 1"));
    waiter.until_it_says(NO_WORKER);
    let _worker = sandbox.worker("");
    sandbox.until_logged(1);
    sandbox.write("go", "");
    let ran = waiter
        .wait()
        .says("but no worker is running for queue default; runner work starts one")
        .ok()
        .prints("job 1 slow: succeeded\n");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran}");
}

#[test]
fn the_id_comes_before_the_waiting() {
    let sandbox = Sandbox::new(JOBS);
    let mut waiter = Background::start(&sandbox, sandbox.call("enqueue slow --wait"));
    waiter.until_printed("1\n");
    waiter.until_it_says(NO_WORKER);
    sandbox.run("cancel 1").ok();
    waiter.wait().exits(1).prints("1\n").says("job 1 slow: cancelled");
}

#[test]
fn a_cancel_by_a_person_is_one() {
    let sandbox = Sandbox::new(JOBS);
    let worker = sandbox.worker("");
    let mut waiter = Background::start(&sandbox, sandbox.call("enqueue slow --wait --output-on-failure -q"));
    sandbox.until_logged(1);
    sandbox.run("cancel 1").ok();
    waiter.wait().exits(1).prints("").quietly();
    drop(worker);
}

#[test]
fn an_expiry_is_recorded_by_whoever_waits() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue good --expires-in 30ms --wait -q").exits(1).prints("").says("EXPIRED");
    assert_eq!(sandbox.sql().text("SELECT state || ' ' || dead_reason FROM jobs"), "dead expired");
}

#[test]
fn ctrl_c_ends_the_waiting_and_the_job_goes_on() {
    for (which, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let sandbox = Sandbox::new(JOBS);
        let mut waiter = Background::start(&sandbox, sandbox.call("enqueue good slow --wait"));
        waiter.until_it_says(NO_WORKER);
        waiter.signal(which);
        waiter
            .wait()
            .exits(exit)
            .prints("1\n2\n")
            .says(
                "job 1 has not started: no worker is running for queue default; runner work starts one, runner service install one for good; 1 further job not waited for",
            )
            .says("runner cancel 1 ends the job");
        assert_eq!(sandbox.job(1)["state"], "pending");
    }
}

#[test]
fn a_call_in_the_background_of_a_shell_waits_on() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow");
    let program = env!("CARGO_BIN_EXE_runner");
    let line = format!("trap '' INT; exec {program} wait 1");
    let mut waiter = Background::start(&sandbox, sandbox.program("/bin/sh").arg("-c").arg(line));
    waiter.until_it_says(NO_WORKER);
    waiter.signal(Signal::INT);
    sandbox.write("go", "");
    sandbox.drain();
    waiter.wait().says("but no worker is running for queue default; runner work starts one").ok();
}

#[test]
fn the_patience_may_end_before_the_job() {
    let sandbox = Sandbox::new(JOBS);
    sandbox
        .run("enqueue good --wait --wait-timeout 10ms -q")
        .exits(75)
        .prints("")
        .says("gave up waiting after 10ms; job 1 has not started: no worker is running for queue default")
        .says("runner cancel 1 ends the job");
    sandbox.drain();
    sandbox.run("enqueue good --wait --wait-timeout 0s --idempotency-key k").exits(75);
    sandbox.drain();
    sandbox
        .run("enqueue good --wait --wait-timeout 0s --idempotency-key k")
        .says("already holds the idempotency key")
        .ok()
        .prints("2\n");
    sandbox.add("slow --unique-key u");
    let _worker = sandbox.worker("");
    sandbox.until_logged(3);
    let ran = sandbox.run("enqueue slow --wait --wait-timeout 10ms --unique-key u").exits(75);
    ran.says("gave up waiting after 10ms; job 3 is still running");
}

#[test]
fn a_wait_that_is_given_up_says_whether_the_job_has_started() {
    let sandbox = Sandbox::new(JOBS);
    let given_up = |id: u64, said: &str| {
        let ran = sandbox.run(&format!("wait {id} --wait-timeout 10ms -q")).exits(75).prints("");
        ran.says(&format!("gave up waiting after 10ms; job {id} {said}"));
    };
    sandbox.add("slow");
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    given_up(1, "is still running");
    sandbox.add("good");
    given_up(
        2,
        "has not started: it starts as soon as a worker has a free slot for queue default; the only one is busy, runner inspect jobs --state running shows with what",
    );
    sandbox.add("good --in 1h");
    given_up(3, "has not started: due in ");
    sandbox.add("good --queue net");
    sandbox.run("pause net").ok();
    given_up(4, "has not started: queue net is paused");
    worker.kill();
    given_up(1, "has started, but its worker died; the next runner work ends what is left of the attempt");
    given_up(2, "has not started: no worker is running for queue default");
    let ran = sandbox.run("wait 1 2 --wait-timeout 0s").exits(75);
    ran.says("job 1 has started, but its worker died").says("; 1 further job not waited for");
    sandbox.run("cancel 1 3").ok();
    let ran = sandbox.run("wait 2 --wait-timeout 50ms").exits(75);
    assert_eq!(ran.stderr.matches("waiting for job 2, but no worker is running").count(), 1, "{ran}");
    sandbox.drain();
    sandbox.run("wait 2 --wait-timeout 0s").ok();
}

#[test]
fn the_earlier_job_is_waited_for_where_a_key_gives_it() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("bad --unique-key k");
    let mut waiter = Background::start(&sandbox, sandbox.call("enqueue good --unique-key k --wait"));
    waiter.until_it_says(NO_WORKER);
    sandbox.drain();
    waiter.wait().exits(3).prints("1\n");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn the_output_comes_only_when_it_has_failed_for_good() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    let ran = sandbox.run("enqueue bad --wait --output-on-failure -q").exits(3).prints("out 2\n");
    let said: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{ran}");
    assert!(said[0].contains("job 1 bad: dead, EXIT_3"), "{ran}");
    assert_eq!(said[1], "err");
    sandbox.run("enqueue --wait --output-on-failure -q -c").exits(2);
    sandbox
        .call("enqueue --wait --output-on-failure -q --max-attempts 2 --backoff 1ms -c")
        .arg("echo x; echo y >&2; [ $RUNNER_ATTEMPT = 2 ]")
        .run()
        .ok()
        .prints("")
        .quietly();
    let job = sandbox.run("enqueue bad --wait --output-on-failure --json").exits(3).json();
    assert_eq!((&job["id"], &job["attempt"]["stdout"]), (&3.into(), &"out 2\n".into()));
}

#[test]
fn the_output_of_the_death_that_holds_the_job_back_is_told() {
    let sandbox = Sandbox::new(
        "[jobs.clean]\ncommand = 'echo out; echo column 7 is missing >&2; exit 3'\nmax_attempts = 1
         [jobs.report]\ncommand = 'true'\nafter = ['clean']\n",
    );
    let _worker = sandbox.worker("");
    let ran = sandbox.run("enqueue report --wait --output-on-failure -q").exits(1).prints("out\n");
    ran.says("job 1 clean: dead, EXIT_3: its attempts are used up, at 2")
        .says("tells more\ncolumn 7 is missing\n");
}

#[test]
fn the_cause_replaces_the_output_of_a_job_that_could_not_be_started() {
    let sandbox = Sandbox::empty();
    let _worker = sandbox.worker("");
    let ran =
        sandbox.run("enqueue --wait --output-on-failure -q --name gone -- ./no-such-program").exits(127);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: job 1 gone: dead, SPAWN_FAILED: it could not be started, which is retried only where auto_retry_for lists it; runner inspect 1 tells more
        runner: attempt 1: no such program: ./no-such-program
        ");
    });
    let call =
        sandbox.call("enqueue -q --wait --output-on-failure -c").arg(r"printf '\377\033[31m\000x'; exit 1");
    assert_eq!(call.run().exits(1).raw, b"\xff\x1b[31m\0x", "output is raw where no person reads");
}

#[test]
fn a_batch_is_waited_for_as_a_whole() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    let lines = "{\"name\": \"good\"}\n{\"command\": \"exit 9\"}\n";
    sandbox.call("enqueue --batch - --wait").stdin(lines).run().exits(1).prints("1\n2\n");
    sandbox.call("enqueue --batch - --wait").stdin("").run().ok().prints("").quietly();
}

#[test]
fn unknown_jobs_cannot_be_waited_for() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("wait 1").exits(66);
    sandbox.add("good");
    sandbox.run("wait 1 2").exits(66).prints("").says("there is no job 2");
    for line in ["wait", "wait x/y", "enqueue good --wait-timeout 1s", "enqueue good --output-on-failure"] {
        sandbox.run(line).exits(2);
    }
    sandbox.run("enqueue good --wait --wait-timeout 1").exits(2);
}

#[test]
fn a_job_that_is_removed_is_no_longer_waited_for() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    let mut waiter = Background::start(&sandbox, sandbox.call("wait 1"));
    waiter.until_it_says(NO_WORKER);
    // In one transaction: the waiter sees it either waiting or gone.
    sandbox.sql().run("BEGIN; UPDATE jobs SET state = 'cancelled'; DELETE FROM jobs; COMMIT");
    waiter.wait().exits(66).says("job 1 was removed");
}

#[test]
fn a_job_that_expired_after_a_failure_exits_as_that_failure_did() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--expires-in 1h --max-attempts 3 --backoff 2h", "exit 7");
    sandbox.add_line("--expires-in 3h --max-attempts 3 --backoff 2h", "exit 7");
    sandbox.run("work --until-idle").exits(1);
    sandbox.sql().run("UPDATE jobs SET run_at = 1, expires_at = 1 WHERE id = 2");
    for id in [1, 2] {
        assert_eq!(sandbox.job(id)["dead_reason"], "expired");
        sandbox.run(&format!("wait {id} -q")).exits(7);
    }
    sandbox.run("wait 1 1").exits(7);
}
