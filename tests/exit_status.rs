//! Exit statuses: one meaning each.

use crate::support::Sandbox;

const JOBS: &str = "[jobs.good]\ncommand = 'true'\n[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n";

#[test]
fn zero_done() {
    let sandbox = Sandbox::new(JOBS);
    for line in [
        "check",
        "enqueue good",
        "work --drain",
        "inspect",
        "logs 1",
        "explain 1",
        "cancel 1",
        "pause q",
        "resume q",
    ] {
        sandbox.run(line).ok();
    }
}

#[test]
fn one_the_answer_is_no() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("bad");
    sandbox.run("work --drain").exits(1);
    sandbox.run("inspect dead --fail-if-any").exits(1);
    sandbox.add("good");
    sandbox.run("retry 2").exits(1);
}

#[test]
fn two_usage() {
    let sandbox = Sandbox::new(JOBS);
    for line in
        ["", "no-such-verb", "enqueue", "work extra", "inspect x", "cancel", "enqueue good --timeout x"]
    {
        sandbox.run(line).exits(2).prints("");
    }
}

#[test]
fn sixty_five_job_file_or_input_invalid() {
    let sandbox = Sandbox::new("[jobs.x]\n");
    for line in ["check", "enqueue x", "explain x --exit 1"] {
        sandbox.run(line).exits(65).prints("");
    }
    sandbox.call("enqueue --batch -").stdin("?").run().exits(65);
}

#[test]
fn sixty_six_no_such_job_id_or_file() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue other").exits(66);
    sandbox.run("check other.toml").exits(66);
    sandbox.run("inspect 1").exits(66);
    sandbox.add("good");
    for line in
        ["inspect 2", "inspect 1.1", "logs 2", "cancel 2", "retry 2", "explain 2", "enqueue --batch other"]
    {
        sandbox.run(line).exits(66).prints("");
    }
}

#[test]
fn seventy_three_a_file_that_would_be_overwritten() {
    Sandbox::new(JOBS).run("init").exits(73);
}

#[test]
fn seventy_four_a_file_that_cannot_be_used() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write("runner.db", "no database");
    for line in [
        "enqueue good",
        "work --drain",
        "inspect",
        "inspect 1",
        "cancel 1",
        "retry 1",
        "logs 1",
        "pause q",
        "explain 1",
    ] {
        sandbox.run(line).exits(74).prints("");
    }
}

#[test]
fn seventy_five_try_again_later() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --unique-key k");
    sandbox.run("enqueue good --unique-key k --on-conflict error").exits(75);
}

#[test]
fn seventy_five_where_the_database_stays_busy() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    let sql = sandbox.sql();
    sql.run("BEGIN IMMEDIATE");
    sandbox.run("enqueue good").exits(75).prints("").says("busy");
    sandbox.run("inspect 1").ok();
    sql.run("ROLLBACK");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn seventy_six_a_database_from_a_newer_runner() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    sandbox.sql().run("PRAGMA user_version = 2");
    for line in ["enqueue good", "work --drain", "inspect", "cancel 1"] {
        sandbox.run(line).exits(76).prints("");
    }
}

#[test]
fn seventy_seven_permission() {
    // Nobody may make files there, not even root.
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("--db /sys/runner.db enqueue good").exits(77).prints("").says("/sys/runner.db");
}

#[test]
fn it_is_right_also_where_the_reader_has_gone() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("bad");
    sandbox.run("work --drain").exits(1);
    for (line, status) in
        [("inspect dead --fail-if-any", 1), ("cancel 99 1", 66), ("wait 1", 1), ("inspect jobs --json", 0)]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        sandbox.call(line).run_into(std::os::fd::OwnedFd::from(writer).into()).exits(status);
    }
}
