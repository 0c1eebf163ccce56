//! What an attempt writes: the head and the tail are kept, what lies between is counted.

use crate::support::{Sandbox, Value, wait_until};

#[test]
fn both_streams_are_kept_apart() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("", "echo out; echo err >&2; exit 1");
    sandbox.drain();
    let attempt = sandbox.attempt(id, 1);
    assert_eq!((attempt["stdout"].as_str(), attempt["stderr"].as_str()), (Some("out\n"), Some("err\n")));
    assert_eq!(attempt["stdout_omitted_bytes"], 0);
}

/// What is kept of `seq 100000` in a job with this limit.
fn seq_under(limit: &str, redirect: &str) -> Value {
    let sandbox =
        Sandbox::new(&format!("[jobs.job]\ncommand = 'seq 100000 {redirect}'\noutput_limit = '{limit}'\n"));
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    sandbox.attempt(id, 1)
}

fn seq() -> String {
    use std::fmt::Write;
    (1..=100_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{number}");
        text
    })
}

#[test]
fn of_much_output_a_quarter_from_the_start_and_the_rest_from_the_end_is_kept() {
    let all = seq();
    for (limit, kept) in [("4KiB", 4_096), ("64KiB", 65_536)] {
        for (stream, redirect) in [("stdout", ""), ("stderr", ">&2")] {
            let attempt = seq_under(limit, redirect);
            let (head, tail) = (kept / 4, kept - kept / 4);
            let expected = format!("{}{}", &all[..head], &all[all.len() - tail..]);
            assert_eq!(attempt[stream].as_str(), Some(expected.as_str()), "{limit} {stream}");
            let omitted = attempt[format!("{stream}_omitted_bytes")].as_u64().expect("a number");
            assert_eq!(omitted, (all.len() - kept) as u64);
        }
    }
}

#[test]
fn within_the_limit_nothing_is_left_out() {
    let all = seq();
    let attempt = seq_under("1MiB", "");
    assert_eq!(attempt["stdout"].as_str(), Some(all.as_str()));
    assert_eq!(attempt["stdout_omitted_bytes"], 0);
}

#[test]
fn logs_say_how_much_was_left_out() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'seq 100000'\noutput_limit = '1KiB'\n");
    sandbox.add("job");
    sandbox.drain();
    let ran = sandbox.run("logs 1").ok().says("left out");
    assert_eq!(ran.raw.len(), 1_024);
}

#[test]
fn a_running_attempt_can_be_read() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo first; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.05; done; echo last'\n",
    );
    let id = sandbox.add("job");
    let _worker = sandbox.worker("-j1");
    wait_until("the output of the running attempt", || {
        let ran = sandbox.run(&format!("logs {id}"));
        ran.stdout == "first\n"
    });
    let attempt = sandbox.attempt(id, 1);
    assert_eq!((attempt["outcome"].as_str(), attempt["stdout"].as_str()), (None, Some("first\n")));
    assert_eq!(sandbox.job(id)["state"], "running");
    sandbox.write("go", "");
    sandbox.until_state(id, "succeeded");
    sandbox.run("logs 1").ok().prints("first\nlast\n");
}

#[test]
fn a_limit_above_the_most_is_a_mistake() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'true'\noutput_limit = '17MiB'\n");
    sandbox.run("check").exits(65).says("output_limit");
}
