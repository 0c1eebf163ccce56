//! Exit statuses: one meaning each.

use crate::support::Bed;

const JOBS: &str = "[jobs.good]\ncommand = 'true'\n[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n";

#[test]
fn zero_done() {
    let bed = Bed::new(JOBS);
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
        bed.run(line).ok();
    }
}

#[test]
fn one_the_answer_is_no() {
    let bed = Bed::new(JOBS);
    bed.add("bad");
    bed.run("work --drain").exits(1);
    bed.run("inspect dead --fail-if-any").exits(1);
    bed.add("good");
    bed.run("retry 2").exits(1);
}

#[test]
fn two_usage() {
    let bed = Bed::new(JOBS);
    for line in
        ["", "no-such-verb", "enqueue", "work extra", "inspect x", "cancel", "enqueue good --timeout x"]
    {
        bed.run(line).exits(2).prints("");
    }
}

#[test]
fn sixty_five_job_file_or_input_invalid() {
    let bed = Bed::new("[jobs.x]\n");
    for line in ["check", "enqueue x", "explain x --exit 1"] {
        bed.run(line).exits(65).prints("");
    }
    bed.call("enqueue --batch -").stdin("?").run().exits(65);
}

#[test]
fn sixty_six_no_such_job_id_or_file() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue other").exits(66);
    bed.run("check other.toml").exits(66);
    bed.run("inspect 1").exits(66);
    bed.add("good");
    for line in
        ["inspect 2", "inspect 1.1", "logs 2", "cancel 2", "retry 2", "explain 2", "enqueue --batch other"]
    {
        bed.run(line).exits(66).prints("");
    }
}

#[test]
fn seventy_three_a_file_that_would_be_overwritten() {
    Bed::new(JOBS).run("init").exits(73);
}

#[test]
fn seventy_four_a_file_that_cannot_be_used() {
    let bed = Bed::new(JOBS);
    bed.write("runner.db", "no database");
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
        bed.run(line).exits(74).prints("");
    }
}

#[test]
fn seventy_five_try_again_later() {
    let bed = Bed::new(JOBS);
    bed.add("good --unique-key k");
    bed.run("enqueue good --unique-key k --on-conflict error").exits(75);
}

#[test]
fn seventy_five_where_the_database_stays_busy() {
    let bed = Bed::new(JOBS);
    bed.add("good");
    let sql = bed.sql();
    sql.run("BEGIN IMMEDIATE");
    bed.run("enqueue good").exits(75).prints("").says("busy");
    bed.run("inspect 1").ok();
    sql.run("ROLLBACK");
    assert_eq!(bed.count_jobs(), 1);
}

#[test]
fn seventy_six_a_database_from_a_newer_runner() {
    let bed = Bed::new(JOBS);
    bed.add("good");
    bed.sql().run("PRAGMA user_version = 2");
    for line in ["enqueue good", "work --drain", "inspect", "cancel 1"] {
        bed.run(line).exits(76).prints("");
    }
}

#[test]
fn seventy_seven_permission() {
    // Nobody may make files there, not even root.
    let bed = Bed::new(JOBS);
    bed.run("--db /sys/runner.db enqueue good").exits(77).prints("").says("/sys/runner.db");
}

#[test]
fn it_is_right_also_where_the_reader_has_gone() {
    let bed = Bed::new(JOBS);
    bed.add("bad");
    bed.run("work --drain").exits(1);
    for (line, status) in
        [("inspect dead --fail-if-any", 1), ("cancel 99 1", 66), ("wait 1", 1), ("inspect jobs --json", 0)]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        bed.call(line).run_into(std::os::fd::OwnedFd::from(writer).into()).exits(status);
    }
}
