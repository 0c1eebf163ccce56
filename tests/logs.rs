//! `runner logs`: what a job wrote, in the order in which it was read. `-f` follows through retries until the job is final,
//! `-n` gives the last lines, `-t` the times.

use crate::support::{Background, Sandbox, Signal, json, wait_until};

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

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo out $RUNNER_ATTEMPT; echo err >&2; exit 1'\nbackoff = ['1ms']\n",
    );
    sandbox.add("job");
    sandbox.drain();
    sandbox
}

#[test]
fn logs_shows_the_last_or_the_named_attempt() {
    let sandbox = sandbox();
    sandbox.run("logs 1").ok().shows("out 2\n").shows("err\n");
    sandbox.run("logs 1.1 --stdout").ok().prints("out 1\n");
    sandbox.run("logs 1 --stdout").ok().prints("out 2\n");
    sandbox.run("logs 1 --stderr").ok().prints("err\n");
    sandbox.run("logs 1 --stdout --stderr").exits(2);
    let attempt = sandbox.run("logs 1.1 --json").ok().json();
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
fn unknown_jobs_and_attempts_are_not_found() {
    let sandbox = sandbox();
    sandbox.run("logs 2").exits(66).prints("").says("2");
    sandbox.run("logs 1.3").exits(66);
    sandbox.run("logs x/y").exits(2);
    sandbox.add("job --in 1h");
    sandbox.run("logs 2").exits(66).says("not been started");
}

#[test]
fn an_attempt_that_wrote_nothing_has_an_empty_log_and_a_person_is_told_so() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "true");
    sandbox.add_line("", "echo it >&2");
    sandbox.drain();
    sandbox.run("logs 1").ok().prints("").quietly();
    let seen = |line: &str| sandbox.call(line).at_terminal(200).ok().stdout;
    let nothing = |id: u64| {
        format!("runner: nothing was written here yet; runner inspect {id}.1 tells more about the attempt\n")
    };
    assert_eq!(seen("logs 1"), nothing(1));

    assert_eq!(seen("logs 2.1 --stdout"), nothing(2));
    assert_eq!(seen("logs 2"), "it\n");
    assert_eq!(seen("logs 1 -q"), "");
    assert!(seen("logs 1 --json").starts_with('{') && !seen("logs 1 --json").contains("wrote"));
}

#[test]
fn a_running_job_has_written_nothing_so_far_and_a_waiting_one_has_no_log() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- sleep 60");
    let _worker = sandbox.worker("");
    sandbox.until_state(1, "running");
    let seen = sandbox.call("logs 1").at_terminal(200).ok().stdout;
    assert_eq!(
        seen,
        "runner: nothing was written here yet; runner inspect 1.1 tells more about the attempt\n"
    );
    sandbox.add("--in 1h -- true");
    sandbox.run("logs 2").exits(66).says("job 2 has not been started yet: scheduled, due in 59m");
    sandbox.run("cancel 2").ok();
    sandbox.run("logs 2").exits(66).says("job 2 was never started: it is cancelled");
}

#[test]
fn follow_goes_through_the_retries_to_the_end() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    let mut follower = Background::start(&sandbox, sandbox.call("logs 1 -f"));
    follower.until_it_says("job 1 has not been started yet");
    sandbox.drain();
    let ran = follower
        .wait()
        .says("has not been started yet; runner inspect")
        .ok()
        .prints("out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
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
fn output_is_followed_while_the_attempt_runs_each_byte_once() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.add("slow");
    let mut follower = Background::start(&sandbox, sandbox.call("logs -f 1 -q"));
    follower.until_printed("one\n");
    sandbox.write("go", "");
    follower.wait().ok().prints("one\ntwo\n").quietly();
}

#[test]
fn ctrl_c_ends_it_and_the_job_goes_on() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.add("slow");
    let mut follower = Background::start(&sandbox, sandbox.call("logs -f 1"));
    follower.until_printed("one\n");
    follower.signal(Signal::INT);
    follower.wait().exits(130).prints("one\n");
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn a_reader_that_goes_ends_it_also_while_the_job_is_silent() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.add("slow");
    let follow = sandbox.program("sh").with_runner_on_path().arg("-c").arg("runner logs -f 1 | head -n 1");
    Background::start(&sandbox, follow).wait().ok().prints("one\n").quietly();
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn a_job_that_is_called_off_ends_it() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow --in 1h");
    let mut follower = Background::start(&sandbox, sandbox.call("logs -f 1"));
    follower.until_it_says("not been started");
    sandbox.run("cancel 1").ok();
    follower.wait().prints("").says("job 1 slow: cancelled").ok();
}

#[test]
fn one_stream_alone_and_one_attempt_alone() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    sandbox.drain();
    sandbox.run("logs 1 -f").prints("out 3\nerr 3\n").says("job 1 flaky: succeeded").ok();
    sandbox.run("logs 1 -f --stdout -q").ok().prints("out 3\n").quietly();
    sandbox.run("logs 1.2 -f --stderr").says("runner: end of attempt").ok().prints("err 2\n");
    sandbox.run("logs 1.4 -f").exits(66);
    sandbox.run("logs 2 -f").exits(66);
}

#[test]
fn as_json_an_attempt_a_line() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("flaky");
    let mut follower = Background::start(&sandbox, sandbox.call("logs -f 1 --json"));
    follower.until_it_says("not been started");
    sandbox.drain();
    let attempts = follower.wait().says("has not been started yet; runner inspect").ok().json_lines();
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
    sandbox.run("logs 1 --follow --lines 1 --quiet").ok().prints("5\n15\n").quietly();
    assert_eq!(sandbox.run("logs 1 -n 1 --json").ok().json()["stdout"], "5\n");
    sandbox.run("logs 1 -n x").exits(2);
}

#[test]
fn the_last_lines_of_what_was_cut_say_nothing_of_the_cut() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'seq 10000'\noutput_limit = '1KiB'\n");
    sandbox.add("job");
    sandbox.drain();
    sandbox.run("logs 1 -n 2").ok().prints("9999\n10000\n").quietly();
    sandbox.run("logs 1").says("left out after the first 256 bytes").ok();
}

#[test]
fn work_on_other_jobs_does_not_make_it_read_the_output_again() {
    const MIB: usize = 1 << 20;
    let sandbox = Sandbox::new(
        "[jobs.long]\noutput_limit = '8MiB'\n\
         command = 'head -c 6291456 /dev/zero; until [ -e go ]; do sleep 0.05; done'\n",
    );
    sandbox.add("long");
    let worker = sandbox.worker("");
    let mut follower = Background::start(&sandbox, sandbox.call("logs 1 -f"));
    wait_until("all of the output", || follower.stdout().len() == 6 * MIB);
    let pid = follower.pid();
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
    follower.wait().says("long: succeeded").ok();
    worker.kill();
}

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

/// Writes to both streams in turns, and waits for a file before each turn but the first.
const TURNS: &str = r#"
[jobs.turns]
retryable = false
command = """
turn() { until [ -e $1 ]; do sleep 0.01; done; }
echo b1 >&2; turn 1; echo a1; turn 2; printf b2 >&2; turn 3; echo a2; turn 4; echo b3 >&2; turn 5
"""
"#;

/// What the job has written before each of its turns, in this order.
const WRITTEN: [&str; 5] = ["b1\n", "b1\na1\n", "b1\na1\nb2", "b1\na1\nb2a2\n", "b1\na1\nb2a2\nb3\n"];

/// A sandbox in which the job has taken so many turns, each after what it wrote before was seen, and its worker.
fn after_turns(number: usize) -> (Sandbox, Background, Background) {
    let sandbox = Sandbox::new(TURNS);
    sandbox.add("turns");
    let worker = sandbox.worker("-j1");
    let follower = Background::start(&sandbox, sandbox.call("logs -f 1 -q"));
    for (turn, written) in (1..=number).zip(WRITTEN) {
        follower.until_printed(written);
        sandbox.write(&turn.to_string(), "");
    }
    (sandbox, worker, follower)
}

/// The times of lines in UTC, as JSON has them, and the lines without them.
fn timed(printed: &str) -> (Vec<String>, Vec<&str>) {
    let form = "2026-11-21 14:03:07.250Z ";
    let is_like = |(c, like): (char, char)| c == like || c.is_ascii_digit() && like.is_ascii_digit();
    let split = printed.lines().map(|line| {
        let (time, rest) = line.split_at(form.len());
        assert!(time.chars().zip(form.chars()).all(is_like), "{line}");
        (time.trim_end().replace(' ', "T"), rest)
    });
    split.unzip()
}

#[test]
fn both_streams_come_in_the_order_in_which_they_were_read() {
    let (sandbox, _worker, mut follower) = after_turns(5);
    follower.wait().ok().prints(WRITTEN[4]).quietly();
    sandbox.run("logs 1").ok().prints(WRITTEN[4]).quietly();
    sandbox.run("logs 1 --stdout").ok().prints("a1\na2\n");
    sandbox.run("logs 1 --stderr").ok().prints("b1\nb2b3\n");
    sandbox.run("logs 1 -n 1").ok().prints("b2a2\nb3\n");
    // A person sees no line in which both streams stand.
    assert_eq!(sandbox.call("logs 1").at_terminal(80).ok().stdout, "b1\na1\nb2\na2\nb3\n");
    let attempt = sandbox.run("logs 1 --json").ok().json();
    assert_eq!((&attempt["stdout"], &attempt["stderr"]), (&json!("a1\na2\n"), &json!("b1\nb2b3\n")));
}

#[test]
fn each_line_has_the_time_at_which_it_was_read() {
    let (sandbox, _worker, mut follower) = after_turns(5);
    follower.wait().ok();
    let printed = sandbox.run("logs 1 -t --utc").ok().stdout;
    let (times, lines) = timed(&printed);
    assert_eq!(lines, ["b1", "a1", "b2", "a2", "b3"]);
    // Each turn began when somebody had seen what was written before.
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{printed}");
    let attempt = sandbox.attempt(1, 1);
    let of_attempt = |key: &str| attempt[key].as_str().map(str::to_owned);
    let (first, last) = (times.first().cloned(), times.last().cloned());
    assert!(of_attempt("started_at") <= first && last <= of_attempt("finished_at"), "{attempt} {printed}");
    let of_stdout = sandbox.run("logs 1 --timestamps --stdout --utc").ok().stdout;
    assert_eq!(timed(&of_stdout), (vec![times[1].clone(), times[3].clone()], vec!["a1", "a2"]));
    assert_eq!(timed(&sandbox.run("logs 1 -t --utc -n 1").ok().stdout).1, ["b2", "a2", "b3"]);
    sandbox.run("logs 1 -f -q -t --utc").ok().prints(&printed);
    sandbox.run("logs 1 -t --json").exits(2);
}

#[test]
fn the_order_and_the_times_outlive_the_worker() {
    let (sandbox, worker, follower) = after_turns(2);
    follower.until_printed(WRITTEN[2]);
    let before = sandbox.run("logs 1 -t --utc").ok().stdout;
    assert_eq!(timed(&before).1, ["b1", "a1", "b2"]);
    worker.kill();
    sandbox.run("logs 1 -t --utc").ok().prints(&before);
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.attempt(1, 1)["outcome"], "worker_crashed");
    sandbox.run("logs 1").ok().prints(WRITTEN[2]);
    sandbox.run("logs 1 -t --utc").ok().prints(&before);
}

#[test]
fn what_was_left_out_has_its_place_in_the_order() {
    let sandbox = Sandbox::new(
        r#"
[jobs.cut]
output_limit = "1KiB"
command = """
seq 1000; until [ -e 1 ]; do sleep 0.01; done
echo warning >&2; until [ -e 2 ]; do sleep 0.01; done
seq 1001 2000
"""
"#,
    );
    sandbox.add("cut");
    let _worker = sandbox.worker("");
    let follower = Background::start(&sandbox, sandbox.call("logs -f 1 -q"));
    for (turn, last) in [("1", "\n1000\n"), ("2", "\nwarning\n")] {
        wait_until(last, || follower.stdout().ends_with(last));
        sandbox.write(turn, "");
    }
    sandbox.until_state(1, "succeeded");
    let all = (1..=2000).map(|number| number.to_string() + "\n").collect::<String>();
    let (head, tail) = (&all[..256], &all[all.len() - 768..]);
    let ran = sandbox
        .run("logs 1")
        .says("KiB of stdout left out after the first")
        .ok()
        .prints(&format!("{head}warning\n{tail}"));
    ran.says("7.6 KiB of stdout left out after the first 256 bytes");
    let gap = "[... 7.6 KiB of stdout left out ...]";
    let seen = sandbox.call("logs 1").at_terminal(80).ok().stdout;
    assert_eq!(seen, format!("{head}\n{gap}\nwarning\n{tail}"));
}

#[test]
fn what_an_earlier_version_wrote_comes_stream_by_stream_and_without_times() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "true");
    sandbox.drain();
    // As a worker of version 1.0 writes it.
    sandbox.sql().run(
        "INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, stderr_head, stderr_omitted)
         VALUES (1, 1, CAST('a' AS BLOB), 1, 0, CAST('b' || char(10) AS BLOB), 2, 0)",
    );
    sandbox.run("logs 1").ok().prints("ab\n").quietly();
    assert_eq!(sandbox.call("logs 1").at_terminal(80).ok().stdout, "a\nb\n");
    let note = "nobody knows when attempt 1 of job 1 wrote this";
    sandbox.run("logs 1 -t").prints("a\nb\n").says(note).ok();
    sandbox.run("logs 1 -f -t").prints("a\nb\n").says(note).ok();
    sandbox.run("logs 1 -t -q").ok().prints("a\nb\n").quietly();
    sandbox.run("doctor").ok();
}

#[test]
fn an_order_that_does_not_fit_the_output_is_damage() {
    let sandbox = sandbox();
    sandbox.sql().run("DROP TRIGGER outputs_are_immutable; UPDATE outputs SET marks = CAST('1o1' AS BLOB)");
    sandbox.run("logs 1").exits(74).prints("").says("marks");
    sandbox.run("doctor").exits(1).shows("the output of attempt 1 of job 1 is damaged: marks");
}
