//! `enqueue --stdin`: what comes in is kept with the job, and every attempt reads it.

use crate::support::{Bed, Call};

const READER: &str = "cat >> read; printf '|' >> read; [ $RUNNER_ATTEMPT = 2 ]";

/// Enqueues a line for the shell with these bytes on standard input.
#[track_caller]
fn add(bed: &Bed, options: &str, line: &str, bytes: &[u8]) -> u64 {
    bed.call(&format!("enqueue --stdin {options} -c")).arg(line).stdin(bytes).run().ok().id()
}

#[test]
fn every_attempt_reads_it_from_the_start_byte_for_byte() {
    let bed = Bed::bare();
    add(&bed, "--max-attempts 2 --backoff 1ms", READER, b"a\0\xff\nb");
    bed.run("work --drain").ok();
    assert_eq!(std::fs::read(bed.path("read")).expect("it was read"), b"a\0\xff\nb|a\0\xff\nb|");
}

#[test]
fn a_replay_reads_it_again() {
    let bed = Bed::bare();
    let id = add(&bed, "", "cat >> read; exit 1", b"x");
    bed.drain();
    bed.run(&format!("retry {id}")).ok();
    bed.drain();
    assert_eq!(bed.read("read"), "xx");
}

#[test]
fn as_much_as_is_allowed_arrives_and_one_byte_more_is_refused() {
    const MOST: usize = 16 << 20;
    let bed = Bed::bare();
    add(&bed, "", "wc -c > count", &vec![b'x'; MOST]);
    bed.drain();
    assert_eq!(bed.read("count").trim(), MOST.to_string());
    bed.call("enqueue --stdin -- cat")
        .stdin(vec![b'x'; MOST + 1])
        .run()
        .exits(65)
        .prints("")
        .says("standard input has more than 16 MiB");
    assert_eq!(bed.count_jobs(), 1);
}

#[test]
fn a_command_that_does_not_read_is_not_held_up() {
    let bed = Bed::bare();
    let id = add(&bed, "", "true", &vec![b'x'; 1 << 20]);
    bed.drain();
    assert_eq!(bed.job(id)["state"], "succeeded");
}

#[test]
fn nothing_is_something_too() {
    let bed = Bed::bare();
    add(&bed, "", "[ -f /dev/stdin ] && wc -c > count", b"");
    bed.drain();
    assert_eq!(bed.read("count").trim(), "0");
    bed.add_line("", "[ -c /dev/stdin ] && cat > other && echo read >> other");
    bed.drain();
    assert_eq!(bed.read("other"), "read\n");
}

#[test]
fn it_survives_a_worker_that_is_killed() {
    let bed = Bed::bare();
    let options = "--max-attempts 2 --backoff 1ms";
    add(&bed, options, "cat >> read; echo $$ > pid; [ $RUNNER_ATTEMPT = 2 ] || exec sleep 20", b"x");
    let worker = bed.worker("");
    bed.pid_of("pid");
    worker.kill();
    bed.run("work --drain").ok();
    assert_eq!(bed.read("read"), "xx");
}

#[test]
fn it_is_for_a_single_job() {
    let bed = Bed::new("[jobs.a]\ncommand = 'cat > read'\n[jobs.b]\ncommand = 'true'\n");
    bed.run("enqueue a b --stdin").exits(2).says("--stdin is for a single job");
    bed.run("enqueue --all --stdin").exits(2);
    bed.run("enqueue --batch - --stdin").exits(2);
    assert!(!bed.db().exists());
    bed.call("enqueue a --stdin --dry-run").stdin("x").run().ok().shows("would enqueue a");
    bed.call("enqueue a --stdin").stdin("x").run().ok().prints("1\n");
    bed.drain();
    assert_eq!(bed.read("read"), "x");
}

#[test]
fn what_is_wrong_with_the_command_line_is_told_without_waiting_for_input() {
    let bed = Bed::new("[jobs.a]\ncommand = 'true'\n[jobs.b]\ncommand = 'true'\n");
    for (line, status) in [
        ("enqueue --stdin a b", 2),
        ("enqueue --stdin c", 66),
        ("enqueue --stdin --max-attempts 3 --retryable false a", 2),
        ("enqueue --batch - --unique-key k", 2),
        ("enqueue --batch - --max-attempts 3 --retryable false", 2),
    ] {
        // A pipe of which nobody writes the other end, and nobody closes it.
        let call = bed.program("sh").arg("-c").arg("[ -p in ] || mkfifo in; exec \"$@\" <> in").arg("sh");
        let line = std::iter::once(env!("CARGO_BIN_EXE_runner")).chain(line.split(' '));
        line.fold(call, Call::arg).run().exits(status).prints("");
    }
}

#[test]
fn the_earlier_input_stays_where_a_key_gives_the_earlier_job() {
    let bed = Bed::bare();
    add(&bed, "--unique-key k", "cat > read", b"first");
    assert_eq!(add(&bed, "--unique-key k", "cat > read", b"second"), 1);
    bed.drain();
    assert_eq!(bed.read("read"), "first");
}

#[test]
fn it_goes_with_its_job_and_cannot_be_changed() {
    let bed = Bed::bare();
    add(&bed, "", "true", b"x");
    let sql = bed.sql();
    assert!(sql.refused("UPDATE inputs SET stdin = x''").contains("immutable"));
    assert!(sql.refused("DELETE FROM inputs").contains("kept as long as its job"));
    bed.drain();
    sql.run("DELETE FROM jobs");
    assert_eq!(sql.number("SELECT count(*) FROM inputs"), 0);
    bed.run("doctor").ok();
}

#[test]
fn its_file_has_no_name() {
    let bed = Bed::bare();
    add(&bed, "", "readlink /proc/self/fd/0 > link", b"x");
    bed.drain();
    assert!(bed.line_of("link").ends_with("(deleted)"), "{}", bed.read("link"));
}
