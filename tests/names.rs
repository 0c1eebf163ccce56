//! A name wherever an id goes: the newest job of that name.

use crate::support::{Sandbox, json};

const JOBS: &str = r#"
[jobs.push]
command = "echo pushed; exit 3"
max_attempts = 1
[jobs."v1.2"]
command = "echo of the version"
[jobs.2]
command = "echo of the number"
"#;

#[test]
fn a_name_is_the_newest_job_of_that_name() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue push push").ok();
    sandbox.drain();
    sandbox.run("inspect push").ok().shows("job 2 push: dead");
    sandbox.run("inspect push.1").ok().shows("job 2 push, attempt 1");
    sandbox.run("logs push").ok().prints("pushed\n");
    sandbox.run("logs -f push.1").ok().prints("pushed\n");
    sandbox.run("inspect push").ok().shows("job 2 push: dead").shows("EXIT_3");
    sandbox.run("wait push").exits(3).shows("job 2 push: dead");
    sandbox.add("push --in 1h");
    sandbox.run("inspect push").ok().shows("job 3 push: scheduled");
    // Only dead jobs are put back and resolved.
    sandbox.run("resolve push --json").ok().shows("\"id\":2");
    sandbox.run("retry push").ok().prints("job 2 push: pending again, due now\n");
    sandbox.run("change push --now").exits(1).says("2 jobs named push are unfinished: 2, 3; all were left");
    sandbox.run("change 3 --now").ok().prints("job 3 push: due now\n");
    let ran =
        sandbox.run("cancel push 1").exits(1).says("2 jobs named push are unfinished: 2, 3; all were left");
    ran.says("--name push for all").prints("job 1 push: dead before, left as it is\n");
    sandbox.run("cancel 2").ok();
    sandbox.run("cancel push").ok().prints("job 3 push: cancelled\n");
    sandbox
        .run("cancel push")
        .exits(66)
        .says("no job named push is unfinished; the newest, job 3, is cancelled");
    sandbox.run("retry push --redefine").ok().prints("4\n");
}

#[test]
fn digits_alone_are_an_id_and_a_whole_name_goes_before_an_attempt_of_one() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue 2 v1.2 push").ok();
    sandbox.add_line("--name v1", "echo first; exit 1");
    sandbox.drain();
    sandbox.run("inspect 2").ok().shows("job 2 v1.2");
    sandbox.run("inspect 2.1").ok().shows("job 2 v1.2, attempt 1");
    sandbox.run("inspect v1.2").ok().shows("job 2 v1.2: succeeded");
    sandbox.run("logs v1.2.1").ok().prints("of the version\n");
    sandbox.run("logs v1.1").ok().prints("first\n");
    sandbox.run("logs v1.3").exits(66);
    sandbox.run("cancel 1.1").exits(66).says("no job named 1.1");
    sandbox.run("check v1.2 --exit 1").ok().shows("v1.2, attempt 1");
    sandbox.run("check 2 --exit 1").exits(2).prints("").says("2 is an id").says("runner inspect 2");
}

#[test]
fn a_name_that_no_job_has_is_not_found() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("cancel push").exits(66);
    sandbox.add("push");
    sandbox.add("v1.2 --in 1h");
    for verb in ["inspect", "logs", "wait", "cancel", "retry", "resolve"] {
        sandbox
            .run(&format!("{verb} pussh"))
            .exits(66)
            .prints("")
            .says("no job named pussh")
            .says("mean push?");
        sandbox.run(&format!("{verb} a/b")).exits(2).prints("").says("is not a name");
    }
    sandbox.run("inspect 2.x").exits(66).says("runner inspect jobs lists them");
    sandbox.run("inspect 0").exits(2);
    sandbox.write("jobs.toml", format!("{JOBS}[jobs.new]\ncommand = 'true'\n"));
    sandbox.run("inspect new").exits(66).says("no job named new");
    sandbox.run("cancel 2").ok();
    sandbox.run("wait none 2").exits(66).prints("");
}

/// What has run is what somebody wants to read, and not the run that a schedule has planned for the night.
#[test]
fn logs_of_a_name_are_those_of_the_newest_that_has_started() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push --in 1h");
    let ran = sandbox.run("logs push").exits(66);
    ran.says("no job named push has started; the newest, job 1, is pending")
        .says("runner logs -f 1 waits for it");
    sandbox.add("push");
    sandbox.run("work --until-idle").exits(1);
    sandbox.add("push --in 1h");
    sandbox.run("logs push").ok().prints("pushed\n");
    sandbox.run("logs push.1").ok().prints("pushed\n");
    sandbox.run("logs -f push").says("its attempts are used up").ok().prints("pushed\n");
    // The whole name of a job goes before an attempt, also where that job has not started.
    sandbox.add("--name push.1 --in 1h -- true");
    sandbox
        .run("logs push.1")
        .exits(66)
        .says("no job named push.1 has started; the newest, job 4, is pending");
}

#[test]
fn a_job_waits_for_the_newest_of_a_name() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue --after push -- true").exits(66).says("there is no job named push to wait for");
    assert!(!sandbox.db().exists());
    sandbox.run("enqueue push push v1.2").ok();
    let after = |line: &str| {
        let job = sandbox.run(&format!("enqueue --json {line}")).ok().json();
        (job["after"].clone(), job["after_any"].clone())
    };
    assert_eq!(after("--after push -- true"), (json!([2]), json!([])));
    assert_eq!(after("2 --after v1.2,1 --after-any push"), (json!([1, 3]), json!([2])));
    sandbox.run("enqueue --after push --after-any 2 -- true").exits(2).says("job 2 stands in --after and in");
    sandbox.run("enqueue --after pussh -- true").exits(66).says("no job named pussh").says("mean push?");
    sandbox.run("enqueue --after push --dry-run -- true").ok().shows("after job 2");
    let batch = |line: &str| sandbox.call("enqueue --json --batch -").stdin(line).run();
    let line = r#"{"command": "true", "after": ["push", 1], "after_any": ["v1.2"]}"#;
    let job = batch(line).ok().json();
    assert_eq!((&job["after"], &job["after_any"]), (&json!([1, 2]), &json!([3])));
    batch(r#"{"command": "true", "after": ["none"]}"#)
        .exits(66)
        .says("standard input line 1: there is no job named none");
    batch(r#"{"command": "true", "after": ["a/b"]}"#).exits(65).says("line 1");
    batch(r#"{"command": "true", "after": [true]}"#).exits(65).says("expected the id or the name of a job");
}
