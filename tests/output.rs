//! What an attempt writes: the head and the tail are kept, what lies between is counted.

use crate::support::{Sandbox, json, wait_until};

#[test]
fn long_output_keeps_a_quarter_from_the_start_and_the_rest_from_the_end() {
    let all = (1..=100_000).map(|number| number.to_string() + "\n").collect::<String>();
    for (limit, kept) in [("4KiB", 4_096), ("64KiB", 65_536), ("1MiB", all.len())] {
        for (stream, redirect) in [("stdout", ""), ("stderr", ">&2")] {
            let jobs = format!("[jobs.job]\ncommand = 'seq 100000 {redirect}'\noutput_limit = '{limit}'\n");
            let sandbox = Sandbox::new(&jobs);
            sandbox.finish("job");
            let attempt = sandbox.attempt(1, 1);
            let (head, tail) = (kept / 4, kept - kept / 4);
            let expected = format!("{}{}", &all[..head], &all[all.len() - tail..]);
            assert_eq!(attempt[stream].as_str(), Some(expected.as_str()), "{limit} {stream}");
            assert_eq!(attempt[format!("{stream}_omitted_bytes")], all.len() - kept);
            let other = if stream == "stdout" { "stderr" } else { "stdout" };
            assert_eq!(
                (&attempt[other], attempt[format!("{other}_omitted_bytes")].as_u64()),
                (&json!(""), Some(0))
            );
        }
    }
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
