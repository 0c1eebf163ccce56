//! `runner logs`: what a job wrote.

use crate::support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo out $RUNNER_ATTEMPT; echo err >&2; exit 1'\nbackoff = ['1ms']\n",
    );
    sandbox.add("job");
    sandbox.drain();
    sandbox
}

#[test]
fn of_the_last_attempt_or_of_the_one_that_is_named() {
    let sandbox = sandbox();
    sandbox.run("logs 1").ok().shows("out 2\n").shows("err\n");
    sandbox.run("logs 1.1 --stdout").ok().prints("out 1\n");
    sandbox.run("logs 1.2 --stdout").ok().prints("out 2\n");
}

#[test]
fn one_stream_alone() {
    let sandbox = sandbox();
    sandbox.run("logs 1 --stdout").ok().prints("out 2\n");
    sandbox.run("logs 1 --stderr").ok().prints("err\n");
    sandbox.run("logs 1 --stdout --stderr").exits(2);
}

#[test]
fn the_long_names_of_following_and_of_the_last_lines() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "seq 3");
    sandbox.drain();
    sandbox.run("logs 1 --lines 2").ok().prints("2\n3\n");
    sandbox.run("logs 1 --follow --lines 1 --quiet").ok().prints("3\n").quietly();
}

#[test]
fn as_json_with_the_attempt() {
    let attempt = sandbox().run("logs 1.1 --json").ok().json();
    assert_eq!((attempt["number"].as_u64(), attempt["stdout"].as_str()), (Some(1), Some("out 1\n")));
}

#[test]
fn bytes_are_raw_where_no_person_reads() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("", r"printf '\377\033[31m\000x\n'");
    sandbox.drain();
    assert_eq!(sandbox.run("logs 1").ok().raw, b"\xff\x1b[31m\0x\n");
    assert_eq!(sandbox.attempt(id, 1)["stdout"].as_str(), Some("\u{fffd}\u{1b}[31m\0x\n"));
}

#[test]
fn what_is_not_there_is_not_found() {
    let sandbox = sandbox();
    sandbox.run("logs 2").exits(66).prints("").says('2'.to_string().as_str());
    sandbox.run("logs 1.3").exits(66);
    sandbox.run("logs x").exits(2);
    sandbox.add("job --in 1h");
    sandbox.run("logs 2").exits(66).says("not been started");
}

#[test]
fn without_a_database_there_is_none() {
    let sandbox = Sandbox::empty();
    sandbox.run("logs 1").exits(66);
    assert!(!sandbox.db().exists());
}

#[test]
fn an_attempt_that_wrote_nothing_has_an_empty_log_and_a_person_is_told_so() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "true");
    sandbox.add_line("", "echo it >&2");
    sandbox.drain();
    sandbox.run("logs 1").ok().prints("").quietly();
    let seen = |line: &str| sandbox.call(line).at_terminal(200).ok().stdout;
    assert_eq!(seen("logs 1"), "runner: job 1 wrote no output; runner inspect 1.1 tells how it ended\n");
    let said = "runner: attempt 1 of job 2 wrote nothing on standard output; runner inspect 2.1 tells how it ended\n";
    assert_eq!(seen("logs 2.1 --stdout"), said);
    assert_eq!(seen("logs 2"), "it\n");
    assert_eq!(seen("logs 1 -q"), "");
    assert!(seen("logs 1 --json").starts_with('{') && !seen("logs 1 --json").contains("wrote"));
}

#[test]
fn what_runs_has_written_nothing_so_far_and_what_waits_is_not_there_yet() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- sleep 60");
    let _worker = sandbox.worker("");
    sandbox.until_state(1, "running");
    let seen = sandbox.call("logs 1").at_terminal(200).ok().stdout;
    assert_eq!(seen, "runner: job 1 has written no output so far\n");
    sandbox.add("--in 1h -- true");
    sandbox.run("logs 2").exits(66).says("job 2 has not been started yet: scheduled, due in 59m");
    sandbox.run("cancel 2").ok();
    sandbox.run("logs 2").exits(66).says("job 2 was never started: it is cancelled");
}
