//! Exit statuses: one meaning each.

use crate::support::Sandbox;

const JOBS: &str = "[jobs.good]\ncommand = 'true'\n[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n";

/// Runs lines in order, each with its exit status. A status above 1 leaves standard output empty.
#[track_caller]
fn statuses(sandbox: &Sandbox, lines: &[(&str, i32)]) {
    for (line, status) in lines {
        let ran = sandbox.run(line).exits(*status);
        assert!(*status < 2 || ran.stdout.is_empty(), "{ran}");
    }
}

#[test]
fn done_and_the_answer_is_no() {
    let sandbox = Sandbox::new(JOBS);
    let done = ["check", "enqueue good", "work --drain", "inspect", "logs 1", "explain 1", "cancel 1"];
    statuses(&sandbox, &done.map(|line| (line, 0)));
    statuses(&sandbox, &[("pause q", 0), ("resume q", 0), ("enqueue bad good", 0), ("work --drain", 1)]);
    statuses(&sandbox, &[("inspect dead --fail-if-any", 1), ("retry 3", 1), ("wait 2", 1)]);
}

#[test]
fn usage() {
    let sandbox = Sandbox::new(JOBS);
    let wrong =
        ["", "no-such-verb", "enqueue", "work extra", "inspect x", "cancel", "enqueue good --timeout x"];
    statuses(&sandbox, &wrong.map(|line| (line, 2)));
    assert!(!sandbox.db().exists());
}

#[test]
fn an_invalid_job_file_or_input() {
    let sandbox = Sandbox::new("[jobs.x]\n");
    statuses(&sandbox, &["check", "enqueue x", "explain x --exit 1"].map(|line| (line, 65)));
    sandbox.call("enqueue --batch -").stdin("?").run().exits(65);
}

#[test]
fn no_such_job_id_or_file() {
    let sandbox = Sandbox::new(JOBS);
    statuses(&sandbox, &["enqueue other", "check other.toml", "inspect 1"].map(|line| (line, 66)));
    sandbox.add("good");
    for verb in
        ["inspect 2", "inspect 1.1", "logs 2", "cancel 2", "retry 2", "explain 2", "enqueue --batch other"]
    {
        statuses(&sandbox, &[(verb, 66)]);
    }
}

#[test]
fn a_file_that_would_be_overwritten() {
    Sandbox::new(JOBS).run("init").exits(73);
}

#[test]
fn a_database_that_cannot_be_used_or_is_newer() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write("runner.db", "no database");
    for line in
        ["enqueue good", "work --drain", "inspect", "inspect 1", "cancel 1", "retry 1", "logs 1", "pause q"]
    {
        statuses(&sandbox, &[(line, 74)]);
    }
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    sandbox.sql().run("PRAGMA user_version = 2");
    statuses(&sandbox, &["enqueue good", "work --drain", "inspect", "cancel 1"].map(|line| (line, 76)));
}

#[test]
fn try_again_later() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --unique-key k");
    sandbox.run("enqueue good --unique-key k --on-conflict error").exits(75);
    let sql = sandbox.sql();
    sql.run("BEGIN IMMEDIATE");
    sandbox.run("enqueue good").exits(75).prints("").says("busy");
    sandbox.run("inspect 1").ok();
    sql.run("ROLLBACK");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn permission() {
    // Nobody may make files there, not even root.
    Sandbox::new(JOBS).run("--db /sys/runner.db enqueue good").exits(77).prints("").says("/sys/runner.db");
}

#[test]
fn the_status_is_right_also_where_the_reader_has_gone() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.finish("bad");
    for (line, status) in
        [("inspect dead --fail-if-any", 1), ("cancel 99 1", 66), ("wait 1", 1), ("inspect jobs --json", 0)]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        sandbox.call(line).run_into(std::os::fd::OwnedFd::from(writer).into()).exits(status);
    }
}
