//! `enqueue --stdin`: what comes in is kept with the job, and every attempt reads it.

use crate::support::{Call, Sandbox};

/// Enqueues a line for the shell with these bytes on standard input.
#[track_caller]
fn add(sandbox: &Sandbox, options: &str, line: &str, bytes: &[u8]) -> u64 {
    sandbox.call(&format!("enqueue --stdin {options} -c")).arg(line).stdin(bytes).run().exits(0).id()
}

#[test]
fn every_attempt_reads_it_from_the_start_byte_for_byte() {
    let sandbox = Sandbox::empty();
    let line = "cat >> read; printf '|' >> read; readlink /proc/self/fd/0 > link; [ $RUNNER_ATTEMPT = 3 ]";
    add(&sandbox, "--max-attempts 2 --backoff 1ms", line, b"a\0\xff\nb");
    sandbox.run("work --drain").exits(1);
    sandbox.run("retry 1").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(std::fs::read(sandbox.path("read")).expect("it was read"), b"a\0\xff\nb|".repeat(3));
    assert!(sandbox.line_of("link").ends_with("(deleted)"), "its file has no name: {}", sandbox.read("link"));
}

#[test]
fn as_much_as_is_allowed_arrives_and_one_byte_more_is_refused() {
    const MOST: usize = 16 << 20;
    let sandbox = Sandbox::empty();
    add(&sandbox, "", "wc -c > count", &vec![b'x'; MOST]);
    sandbox.drain();
    assert_eq!(sandbox.read("count").trim(), MOST.to_string());
    sandbox
        .call("enqueue --stdin -- cat")
        .stdin(vec![b'x'; MOST + 1])
        .run()
        .exits(65)
        .prints("")
        .says("standard input has more than 16 MiB");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn a_command_that_does_not_read_is_not_held_up() {
    let sandbox = Sandbox::empty();
    let id = add(&sandbox, "", "true", &vec![b'x'; 1 << 20]);
    sandbox.drain();
    assert_eq!(sandbox.job(id)["state"], "succeeded");
}

#[test]
fn nothing_is_something_too() {
    let sandbox = Sandbox::empty();
    add(&sandbox, "", "[ -f /dev/stdin ] && wc -c > count", b"");
    sandbox.drain();
    assert_eq!(sandbox.read("count").trim(), "0");
    sandbox.add_line("", "[ -c /dev/stdin ] && cat > other && echo read >> other");
    sandbox.drain();
    assert_eq!(sandbox.read("other"), "read\n");
}

#[test]
fn input_survives_a_worker_that_is_killed() {
    let sandbox = Sandbox::empty();
    let options = "--max-attempts 2 --backoff 1ms";
    add(&sandbox, options, "cat >> read; echo $$ > pid; [ $RUNNER_ATTEMPT = 2 ] || exec sleep 20", b"x");
    let worker = sandbox.worker("");
    sandbox.pid_of("pid");
    worker.kill();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.read("read"), "xx");
}

#[test]
fn input_is_for_a_single_job() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'cat > read'\n[jobs.b]\ncommand = 'true'\n");
    sandbox.run("enqueue a b --stdin").exits(2).says("--stdin is for a single job");
    sandbox.run("enqueue --all --stdin").exits(2);
    sandbox.run("enqueue --batch - --stdin").exits(2);
    assert!(!sandbox.db().exists());
    sandbox.call("enqueue a --stdin --dry-run").stdin("x").run().ok().shows("would enqueue a");
    sandbox.call("enqueue a --stdin").stdin("x").run().ok().prints("1\n");
    sandbox.drain();
    assert_eq!(sandbox.read("read"), "x");
}

#[test]
fn an_input_of_the_job_file_is_read_by_every_attempt_and_the_option_overrides_it() {
    let sandbox = Sandbox::new(
        "[defaults]\nstdin = 'for all'\n[jobs.a]\ncommand = 'cat >> log; echo >> log; [ $RUNNER_ATTEMPT = 2 ]'\n\
         stdin = \"a\\u0000b\\nc\"\nbackoff = ['1ms']\n\
         [jobs.b]\ncommand = 'cat >> log; echo >> log'\n[jobs.none]\ncommand = 'wc -c >> log'\nstdin = ''\n\
         [jobs.dies]\ncommand = 'exit 1'\nmax_attempts = 1\non_dead = 'b'\n",
    );
    sandbox.run("enqueue a b none dies").ok();
    sandbox.call("enqueue b --stdin").stdin("option").run().ok();
    sandbox.call("enqueue b --stdin").stdin("").run().ok();
    sandbox.drain();
    assert_eq!(sandbox.read("log"), "a\0b\nc\nfor all\n0\noption\n\na\0b\nc\nfor all\n");
    sandbox.run("check").ok().shows("stdin     5 B").shows("stdin     7 B");
    assert_eq!(sandbox.run("check --json").ok().json_lines()[0]["stdin_bytes"], 5);
    // A queued job keeps its input, and a retry says that the file has another one now.
    sandbox.write("jobs.toml", "[jobs.dies]\ncommand = 'exit 1'\nmax_attempts = 1\nenv_file = '-x'\n");
    sandbox.run("retry 4").says("differs (env_file, on_dead, stdin)").ok();
    sandbox.run("retry --redefine 4").exits(1);
}

#[test]
fn a_long_input_of_the_job_file_arrives_and_a_longer_one_is_a_mistake() {
    // With the other lines, nearly as much as a file may have.
    const MOST: usize = (16 << 20) - (1 << 10);
    let line = "x".repeat((1 << 10) - 1) + "\n";
    let file = |more: &str| {
        format!("[jobs.a]\ncommand = 'wc -c > count'\nstdin = '''\n{}{more}'''\n", line.repeat(MOST >> 10))
    };
    let sandbox = Sandbox::new(&file(""));
    sandbox.finish("a");
    assert_eq!(sandbox.read("count").trim(), MOST.to_string());
    sandbox.write("jobs.toml", file(&line));
    sandbox.run("enqueue a").exits(65).says("is larger than 16 MiB");
}

#[test]
fn mistakes_of_the_command_line_are_told_without_waiting_for_input() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n[jobs.b]\ncommand = 'true'\n");
    for (line, status) in [
        ("enqueue --stdin a b", 2),
        ("enqueue --stdin c", 66),
        ("enqueue --stdin --max-attempts 3 --retryable false a", 2),
        ("enqueue --batch - --unique-key k", 2),
        ("enqueue --batch - --max-attempts 3 --retryable false", 2),
    ] {
        // A pipe of which nobody writes the other end, and nobody closes it.
        let call = sandbox.program("sh").arg("-c").arg("[ -p in ] || mkfifo in; exec \"$@\" <> in").arg("sh");
        let line = std::iter::once(env!("CARGO_BIN_EXE_runner")).chain(line.split(' '));
        line.fold(call, Call::arg).run().exits(status).prints("");
    }
}

#[test]
fn the_earlier_input_stays_where_a_key_gives_the_earlier_job() {
    let sandbox = Sandbox::empty();
    add(&sandbox, "--unique-key k", "cat > read", b"first");
    assert_eq!(add(&sandbox, "--unique-key k", "cat > read", b"second"), 1);
    sandbox.drain();
    assert_eq!(sandbox.read("read"), "first");
}

#[test]
fn input_goes_with_its_job_and_cannot_be_changed() {
    let sandbox = Sandbox::empty();
    add(&sandbox, "", "true", b"x");
    let sql = sandbox.sql();
    assert!(sql.refused("UPDATE inputs SET stdin = x''").contains("immutable"));
    sandbox.drain();
    sql.run("DELETE FROM jobs");
    assert_eq!(sql.number("SELECT count(*) FROM inputs"), 0);
    sandbox.run("doctor").ok();
}
