//! The result of a job that ends by itself: its status, its output, its report.

use super::super::Identity;
use super::super::testing::{Sandbox, process, until};
use super::*;

fn text(captured: &StreamBytes) -> String {
    String::from_utf8_lossy(&captured.bytes).into_owned()
}

#[test]
fn a_closed_output_does_not_end_the_attempt() {
    let sandbox = Sandbox::shell("exec >&- 2>&-; sleep 0.3; exit 5");
    let result = sandbox.run();
    assert_eq!(result.exit, Exit::by_itself(Status::Exited(5)));
    assert!(result.duration.0 >= 300);
}

#[test]
fn all_of_a_long_output_is_drained() {
    let result = Sandbox::shell("head -c 200000000 /dev/zero; echo done >&2").run();
    assert_eq!(result.stdout.omitted, 200_000_000 - 65_536);
    assert_eq!(result.stdout.bytes.len(), 65_536);
    assert_eq!(text(&result.stderr), "done\n");
}

#[test]
fn a_child_that_never_stops_writing_does_not_hold_the_attempt() {
    let sandbox = Sandbox::shell("yes & echo $! > child");
    let result = sandbox.run();
    assert!(result.leaked && result.stdout.omitted > 0);
    until("yes to die of the closed pipe", || {
        process(&sandbox.path("child")).is_none_or(|child| !child.is_alive())
    });
}

#[test]
fn a_line_that_begins_like_an_option_is_a_line() {
    for line in ["-no-such-thing || echo taken", "+x; echo taken", "- true; echo taken", "--; echo taken"] {
        assert_eq!(text(&Sandbox::shell(line).run().stdout), "taken\n", "{line}");
    }
}

#[test]
fn the_result_tells_output_time_and_end_and_the_process_is_reaped() {
    let sandbox = Sandbox::shell("echo out; echo err >&2");
    let child = sandbox.spawn().unwrap();
    let leader = child.identity();
    assert_eq!(Identity::of(leader.pid), Some(leader));
    let result = sandbox.supervise(child, &Control::new().unwrap(), &mut |_| panic!("no progress is due"));
    assert_eq!((text(&result.stdout), text(&result.stderr)), ("out\n".into(), "err\n".into()));
    assert!(!result.leaked && result.duration.0 < 30_000);
    assert_eq!(Identity::of(leader.pid), None);
}
