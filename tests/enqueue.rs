//! `runner enqueue NAME…`: durable before it returns, all or none, one id a line.

use std::fs::File;
use std::os::fd::OwnedFd;

use crate::support::{Sandbox, json};

const JOBS: &str = r#"
[jobs.backup]
command = "echo backup >> log"
[jobs.report]
command = "echo report >> log"
[jobs.sweep]
command = "echo sweep >> log"
"#;

#[test]
fn ids_count_up_from_one_and_are_on_disk_when_they_are_printed() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue backup report backup").ok().prints("1\n2\n3\n");
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM jobs WHERE state = 'pending'"), 3);
    sandbox.run("enqueue sweep").ok().prints("4\n").quietly();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["backup", "report", "backup", "sweep"]);
}

#[test]
fn all_enqueues_every_job_of_the_file() {
    let sandbox = Sandbox::new(JOBS);
    assert_eq!(sandbox.run("enqueue --all").ok().ids().len(), 3);
    sandbox.drain();
    let mut names = sandbox.log();
    names.sort();
    assert_eq!(names, ["backup", "report", "sweep"]);
    sandbox.run("enqueue --all backup").exits(2);
}

#[test]
fn all_leaves_alerts_out_because_nothing_has_died() {
    let enqueued = |jobs: &str| {
        let sandbox = Sandbox::new(jobs);
        let jobs = sandbox.run("enqueue --all --json").ok().json_lines();
        jobs.iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of = |names: &[&str]| {
        names.iter().map(|name| format!("[jobs.{name}]\ncommand = 'true'\n")).collect::<Vec<_>>().concat()
    };
    assert_eq!(enqueued(&format!("{}on_dead = 'mail'\n", of(&["mail", "a", "b"]))), ["a", "b"]);
    assert_eq!(enqueued(&format!("[defaults]\non_dead = 'mail'\n{}", of(&["a", "mail"]))), ["a"]);
    // A job that comes after its own alert brings it along.
    let both = format!("{}on_dead = 'mail'\nafter = ['mail']\n", of(&["mail", "a"]));
    assert_eq!(enqueued(&both), ["mail", "a"]);
    let alerts =
        Sandbox::new("[jobs.a]\ncommand = 'x'\non_dead = 'b'\n[jobs.b]\ncommand = 'x'\non_dead = 'a'\n");
    alerts.run("enqueue --all").exits(65).says("declares no job but alerts");
}

#[test]
fn an_unknown_name_enqueues_nothing() {
    let sandbox = Sandbox::new(JOBS);
    let ran = sandbox.run("enqueue backup raport sweep").exits(66).prints("");
    let ran = ran.says("raport").says("report");
    ran.says(&sandbox.path("jobs.toml").display().to_string());
    sandbox.run("inspect jobs --json").ok().prints("");
}

#[test]
fn a_dry_run_shows_the_job_and_writes_nothing() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue backup --dry-run").ok().shows("backup");
    let job = sandbox.run("enqueue backup --dry-run --json --priority 3").ok().json();
    assert_eq!(job["id"], json!(null));
    assert_eq!(job["priority"], 3);
    sandbox.write(
        "chain.toml",
        "[jobs.first]\ncommand = 'true'\n[jobs.last]\ncommand = 'true'\nafter = ['first']\n",
    );
    let chain = sandbox.run("enqueue last --file chain.toml --dry-run --json").ok().json_lines();
    assert_eq!(chain[1]["waits_for"], json!([{ "job_id": null, "name": "first", "state": "pending" }]));
    assert!(!sandbox.db().exists(), "a dry run does not even create the database");
    sandbox.run("enqueue backup nothing --dry-run").exits(66);
    sandbox.run("enqueue backup --unique-key k").ok();
    sandbox.run("enqueue backup --unique-key k --dry-run").prints("").says("job 1 already holds").ok();
    sandbox.run("enqueue backup --unique-key k --on-conflict error --dry-run").exits(75);
    sandbox.run("enqueue backup --after 7 --dry-run").exits(66);
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn json_prints_the_job_and_whether_it_was_created() {
    let sandbox = Sandbox::new(JOBS);
    let jobs = sandbox.run("enqueue backup report --json").ok().json_lines();
    assert_eq!((&jobs[0]["id"], &jobs[0]["name"]), (&json!(1), &json!("backup")));
    assert_eq!((&jobs[1]["id"], &jobs[1]["created"]), (&json!(2), &json!(true)));
    sandbox.run("enqueue backup --unique-key k").ok();
    let job = sandbox.run("enqueue backup --unique-key k --json").exits(0).json();
    assert_eq!((&job["id"], &job["created"]), (&json!(3), &json!(false)));
}

#[test]
fn options_stand_before_or_after_the_verb() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write("other/jobs.toml", "[jobs.elsewhere]\ncommand = 'true'\n");
    for line in [
        "--db a.db --file other/jobs.toml --json --color never enqueue elsewhere",
        "enqueue elsewhere --db a.db --file other/jobs.toml --json --color never",
    ] {
        assert_eq!(sandbox.run(line).ok().json()["name"], "elsewhere");
    }
    sandbox.run("--db a.db inspect jobs --json").ok().shows("\"id\":2");
    assert!(!sandbox.db().exists(), "--db goes before $RUNNER_DB");
}

#[test]
fn without_db_or_variable_the_database_lies_in_the_state_directory() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.call("enqueue backup").env_remove("RUNNER_DB").run().ok();
    assert!(sandbox.path(".local/state/runner/runner.db").is_file());
    let state = sandbox.path("state");
    sandbox.call("enqueue backup").env_remove("RUNNER_DB").env("XDG_STATE_HOME", &state).run().ok();
    assert!(state.join("runner/runner.db").is_file());
}

#[test]
fn an_id_that_cannot_be_printed_is_said_on_standard_error() {
    let sandbox = Sandbox::new(JOBS);
    let full = || File::options().write(true).open("/dev/full").expect("a full device");
    sandbox.call("enqueue backup report").run_into(full()).exits(74).says("1 2");
    sandbox.call("enqueue backup --json").run_into(full()).exits(74).says("3");
    for line in ["--help", "--version", "enqueue --help"] {
        sandbox.call(line).run_into(full()).exits(74).says("could not print");
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    sandbox.call("enqueue backup").run_into(OwnedFd::from(writer).into()).exits(74).says("4");
    // The standard library opens /dev/null in the place of what is closed, and that takes everything.
    let shell = |line: &str| sandbox.program("sh").with_runner_on_path().arg("-c").arg(line).run();
    shell("runner enqueue backup >&-").exits(74).says("the jobs are on disk; their ids: 5");
    shell("runner enqueue backup >&- <&-").exits(74).says("their ids: 6");
    shell("runner enqueue backup > /dev/null").ok().quietly();
    shell("runner enqueue backup -q >&-").ok().quietly();
}

#[test]
fn a_person_is_told_that_no_worker_runs() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("enqueue -- true").ok();
    assert!(!ran.stderr.contains("no worker"), "{ran}");
    insta::assert_snapshot!(sandbox.call("enqueue -- true").at_terminal(80).ok().stdout, @"
    2
    runner: no worker is running for queue default; runner work starts one, runner
            service install one for good; runner run in place of runner enqueue
            needs none
    ");
    insta::assert_snapshot!(sandbox.call("enqueue -- true").at_terminal(60).ok().stdout, @"
    3
    runner: no worker is running for queue default; runner work
            starts one, runner service install one for good;
            runner run in place of runner enqueue needs none
    ");
    insta::assert_snapshot!(sandbox.call("enqueue -q -- true").at_terminal(80).ok().stdout, @"");
    let worker = sandbox.worker("");
    let shown = sandbox.call("enqueue -- true").at_terminal(80).ok().stdout;
    assert_eq!(shown.trim(), "5");
    worker.kill();
}

#[test]
fn a_key_whose_job_was_replaced_leads_on_to_the_new_one() {
    let sandbox = Sandbox::new("[jobs.load]\ncommand = 'true'\nunique_key = 'load'\n");
    sandbox.run("enqueue load --in 1h --idempotency-key once").ok();
    sandbox.run("enqueue load --in 1h --on-conflict replace").ok();
    sandbox
        .run("enqueue load --idempotency-key once")
        .exits(0)
        .prints("1\n")
        .says("nothing new: job 1 has this key, and job 2 has taken its place\n");
}
