//! `runner logs -f`: through retries until the job is final. `-n`: the last lines.

use std::fs::File;
use std::process::{Child, Output};

use rustix::process::Pid;

use crate::support::{Finished, Sandbox, Signal, eventually, signal, wait_until};

const JOBS: &str = r#"
[defaults]
backoff = "1ms"
[jobs.flaky]
command = "echo out $RUNNER_ATTEMPT; echo err $RUNNER_ATTEMPT >&2; [ $RUNNER_ATTEMPT = 3 ]"
[jobs.slow]
command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two"
[jobs.lines]
command = "seq 5; seq 11 15 >&2"
"#;

/// Somebody who follows in the background.
struct Follower<'a> {
    sandbox: &'a Sandbox,
    child: Child,
}

impl<'a> Follower<'a> {
    fn start(sandbox: &'a Sandbox, line: &str) -> Self {
        let file = |name: &str| File::create(sandbox.path(name)).expect("a file for its output");
        Self { sandbox, child: sandbox.call(line).spawn(file("follower.out"), file("follower.err")) }
    }

    #[track_caller]
    fn until_it_shows(&self, text: &str) {
        wait_until(text, || self.sandbox.read("follower.out") == text);
    }

    #[track_caller]
    fn until_it_says(&self, text: &str) {
        wait_until(text, || self.sandbox.read("follower.err").contains(text));
    }

    fn signal(&self, which: Signal) {
        signal(Pid::from_child(&self.child).as_raw_nonzero().get(), which);
    }

    #[track_caller]
    fn end(mut self) -> Finished {
        let status = eventually("the following ends", || self.child.try_wait().expect("a child"));
        let read = |name: &str| self.sandbox.read(name).into_bytes();
        let output = Output { status, stdout: read("follower.out"), stderr: read("follower.err") };
        Finished::new("a call".to_owned(), output)
    }
}

#[test]
fn it_goes_through_the_retries_to_the_end() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    let follower = Follower::start(&sandbox, "logs 1 -f");
    follower.until_it_says("job 1 has not been started yet");
    sandbox.drain();
    let ran = follower.end().ok().prints("out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    let said: Vec<_> = ran.stderr.lines().skip(1).collect();
    assert_eq!(said.len(), 3, "{ran}");
    assert!(
        said[0].starts_with("runner: end of attempt 1 of job 1: EXIT_1 is retried: attempt 2 of 3"),
        "{ran}"
    );
    assert!(
        said[1].starts_with("runner: end of attempt 2 of job 1: EXIT_1 is retried: attempt 3 of 3"),
        "{ran}"
    );
    assert_eq!(said[2], "runner: job 1 flaky: succeeded");
}

#[test]
fn what_a_running_attempt_writes_is_seen_while_it_runs_and_each_byte_once() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.add("slow");
    let follower = Follower::start(&sandbox, "logs -f 1 -q");
    follower.until_it_shows("one\n");
    sandbox.write("go", "");
    follower.end().ok().prints("one\ntwo\n").quietly();
}

#[test]
fn ctrl_c_ends_it_and_the_job_goes_on() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.add("slow");
    let follower = Follower::start(&sandbox, "logs -f 1");
    follower.until_it_shows("one\n");
    follower.signal(Signal::INT);
    follower.end().exits(130).prints("one\n");
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn a_job_that_is_called_off_ends_it() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow --in 1h");
    let follower = Follower::start(&sandbox, "logs -f 1");
    follower.until_it_says("not been started");
    sandbox.run("cancel 1").ok();
    follower.end().ok().prints("").says("job 1 slow: cancelled");
}

#[test]
fn one_stream_alone_and_one_attempt_alone() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    sandbox.drain();
    sandbox.run("logs 1 -f").ok().prints("out 3\nerr 3\n").says("job 1 flaky: succeeded");
    sandbox.run("logs 1 -f --stdout -q").ok().prints("out 3\n").quietly();
    sandbox.run("logs 1.2 -f --stderr").ok().prints("err 2\n");
    sandbox.run("logs 1.4 -f").exits(66);
    sandbox.run("logs 2 -f").exits(66);
}

#[test]
fn as_json_an_attempt_a_line() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    let follower = Follower::start(&sandbox, "logs -f 1 --json");
    follower.until_it_says("not been started");
    sandbox.drain();
    let attempts = follower.end().ok().json_lines();
    let seen: Vec<_> =
        attempts.iter().map(|each| (each["number"].as_u64(), each["stdout"].as_str())).collect();
    assert_eq!(seen, [(Some(1), Some("out 1\n")), (Some(2), Some("out 2\n")), (Some(3), Some("out 3\n"))]);
}

#[test]
fn the_last_lines_of_each_stream() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("lines");
    sandbox.drain();
    sandbox.run("logs 1 -n 2").ok().prints("4\n5\n14\n15\n").quietly();
    sandbox.run("logs 1 -n 1 --stderr").ok().prints("15\n");
    sandbox.run("logs 1 -n 0").ok().prints("");
    sandbox.run("logs 1 -n 9 --stdout").ok().prints("1\n2\n3\n4\n5\n");
    sandbox.run("logs 1 -f -n 1 -q").ok().prints("5\n15\n");
    assert_eq!(sandbox.run("logs 1 -n 1 --json").ok().json()["stdout"], "5\n");
    sandbox.run("logs 1 -n x").exits(2);
}

#[test]
fn the_last_lines_of_what_was_cut_say_nothing_of_the_cut() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'seq 10000'\noutput_limit = '1KiB'\n");
    sandbox.add("job");
    sandbox.drain();
    sandbox.run("logs 1 -n 2").ok().prints("9999\n10000\n").quietly();
    sandbox.run("logs 1").ok().says("left out after the first 256 bytes");
}

#[test]
fn what_other_jobs_do_does_not_make_it_read_the_output_again() {
    const MIB: usize = 1 << 20;
    let sandbox = Sandbox::new(
        "[jobs.long]\noutput_limit = '8MiB'\n\
         command = 'head -c 6291456 /dev/zero; until [ -e go ]; do sleep 0.05; done'\n",
    );
    sandbox.add("long");
    let worker = sandbox.worker("");
    let follower = Follower::start(&sandbox, "logs 1 -f");
    wait_until("all of the output", || sandbox.read("follower.out").len() == 6 * MIB);
    let pid = Pid::from_child(&follower.child).as_raw_nonzero().get();
    let bytes_read = || -> usize {
        let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).expect("its counts");
        let line = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a count");
        line.parse().expect("a number")
    };
    let before = bytes_read();
    for _ in 0..10 {
        sandbox.add("long --in 1h");
    }
    assert!(bytes_read() - before < 6 * MIB, "it read {} bytes", bytes_read() - before);
    sandbox.write("go", "");
    follower.end().ok();
    worker.kill();
}
