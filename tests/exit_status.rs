//! Exit statuses: one meaning each.

use std::fs::File;

use crate::support::Sandbox;

const JOBS: &str = "[jobs.good]\ncommand = 'true'\n[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n";

/// The other suites pin the status of each verb; these are the calls that none of them has.
#[test]
fn each_status_has_one_meaning() {
    let sandbox = Sandbox::new(JOBS);
    for (line, status) in [
        ("", 2),
        ("no-such-verb", 2),
        ("enqueue", 2),
        ("work extra", 2),
        ("check other.toml", 66),
        ("init", 73),
    ] {
        sandbox.run(line).exits(status).prints("");
    }
    sandbox.write("jobs.toml", "[jobs.x]\n");
    for line in ["check", "enqueue x", "check x --exit 1"] {
        sandbox.run(line).exits(65).prints("");
    }
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
    for (line, status) in [
        ("inspect dead --fail-if-any", 1),
        ("cancel 99 1", 66),
        ("wait 1", 1),
        ("inspect jobs --json", 0),
        ("man", 0),
        ("schema", 0),
        ("completions bash", 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = sandbox.call(line).run_into(std::os::fd::OwnedFd::from(writer).into()).exits(status);
        assert!(status == 66 || ran.stderr.is_empty(), "{ran}");
    }
}

/// The act is done all the same.
#[test]
fn what_could_not_be_written_is_said_once_at_the_end() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --in 1h");
    sandbox.add("good --in 1h");
    for (line, status) in [
        ("inspect", 74),
        ("inspect jobs", 74),
        ("inspect jobs --json", 74),
        ("inspect --html", 74),
        ("inspect --openmetrics", 74),
        ("check", 74),
        ("doctor", 74),
        ("pause default", 74),
        ("cancel --name good", 74),
        // The status of jobs that did not succeed counts.
        ("wait 1 2", 1),
        ("wait 1 2 --json", 1),
        ("prune --older-than 0s", 74),
        ("man", 74),
        ("schema", 74),
    ] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let ran =
            sandbox.call(line).run_into(full).exits(status).says("could not write to standard output: ");
        assert_eq!(ran.stderr.matches("standard output").count(), 1, "{ran}");
    }
    assert_eq!(sandbox.count_jobs(), 0);
    sandbox.run("inspect queues").ok().shows("paused");
}
