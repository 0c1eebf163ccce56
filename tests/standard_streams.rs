//! Standard streams whose other end is slow, also where another program has made them non-blocking.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process::Stdio;

use rustix::io::{ioctl_fionbio, ioctl_fionread};

use crate::support::{Sandbox, wait_until};

/// A pipe of which one end never blocks.
fn nonblocking(is_reader: bool) -> (PipeReader, PipeWriter) {
    let (reader, writer) = pipe().expect("a pipe");
    let set = if is_reader { ioctl_fionbio(&reader, true) } else { ioctl_fionbio(&writer, true) };
    set.expect("a pipe");
    (reader, writer)
}

#[test]
fn all_is_printed_however_late_it_is_read() {
    let sandbox = Sandbox::new("[jobs.big]\ncommand = 'seq 100000'\noutput_limit = '16MiB'\n");
    sandbox.finish("big");
    let whole = sandbox.run("logs 1").exits(0).stdout;
    let (mut reader, writer) = nonblocking(false);
    let mut child = sandbox.call("logs 1").spawn(writer, Stdio::inherit());
    wait_until("the pipe is full", || ioctl_fionread(&reader).expect("a pipe") > 60_000);
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("text");
    assert_eq!(read.len(), whole.len());
    assert!(read == whole && child.wait().expect("a child").success());
}

#[test]
fn input_is_waited_for() {
    for (line, jobs) in [("enqueue -q --stdin -- cat", 1), ("enqueue -q --batch -", 2)] {
        let sandbox = Sandbox::empty();
        let (reader, mut writer) = nonblocking(true);
        let unread = reader.try_clone().expect("a pipe");
        let mut child = sandbox.call(line).spawn_between(reader, Stdio::null());
        let line_of_batch = b"{\"command\": \"true\"}\n";
        writer.write_all(line_of_batch).expect("a pipe");
        wait_until("it has read that", || ioctl_fionread(&unread).expect("a pipe") == 0);
        writer.write_all(line_of_batch).expect("a pipe");
        drop(writer);
        assert!(child.wait().expect("a child").success(), "{line}");
        assert_eq!(sandbox.count_jobs(), jobs, "{line}");
    }
}

#[test]
fn a_log_that_nobody_has_read_to_its_end_is_told() {
    const JOBS: usize = 500;
    let sandbox = Sandbox::new("[jobs.quick]\ncommand = ['true']\n");
    let batch = "{\"name\": \"quick\"}\n".repeat(JOBS);
    sandbox.call("enqueue --batch - -q").stdin(batch).run().exits(0);
    let (mut reader, writer) = pipe().expect("a pipe");
    let mut child = sandbox.call("work --until-idle --log json").spawn(writer, Stdio::piped());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("text");
    assert!(child.wait().expect("a child").success());
    // Two lines for each job, one for the start of the worker and one for its end.
    let missing = 2 * JOBS + 2 - read.lines().count();
    assert!(missing > 0);
    assert_eq!(said, format!("runner: nobody read the log to its end: {missing} lines are missing\n"));
}
