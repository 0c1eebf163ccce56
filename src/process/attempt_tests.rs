//! What a job that ends by itself leaves behind: its status, its output, its report.

use super::super::Identity;
use super::super::testing::{Sandbox, process, until};
use super::*;

fn text(captured: &Captured) -> String {
    String::from_utf8_lossy(&captured.bytes).into_owned()
}

#[test]
fn exit_status_and_signal_are_told_apart() {
    let ended = |line: &str| Sandbox::shell(line).run().exit;
    assert_eq!(ended("exit 0"), Exit::by_itself(Status::Exited(0)));
    assert_eq!(ended("exit 41"), Exit::by_itself(Status::Exited(41)));
    assert_eq!(ended("exit 143"), Exit::by_itself(Status::Exited(143)));
    assert_eq!(ended("kill -KILL $$"), Exit::by_itself(Status::Signaled(9)));
    assert_eq!(ended("kill -TERM $$"), Exit::by_itself(Status::Signaled(15)));
}

#[test]
fn a_closed_output_does_not_end_the_attempt() {
    let sandbox = Sandbox::shell("exec >&- 2>&-; sleep 0.3; exit 5");
    let result = sandbox.run();
    assert_eq!(result.exit, Exit::by_itself(Status::Exited(5)));
    assert!(result.duration.0 >= 300);
}

#[test]
fn the_first_quarter_and_the_rest_of_the_end_are_captured() {
    let sandbox =
        Sandbox::shell("i=0; while [ $i -lt 1000 ]; do echo line-$i; i=$((i+1)); done").output_limit(400);
    let all: String = (0..1000).flat_map(|i| ["line-".to_owned(), format!("{i}\n")]).collect();
    let captured = sandbox.run().stdout;
    assert_eq!(captured.head, 100);
    assert_eq!(captured.omitted, all.len() as u64 - 400);
    assert_eq!(text(&captured), [&all[..100], &all[all.len() - 300..]].concat());
}

#[test]
fn all_of_a_long_output_is_drained() {
    let result = Sandbox::shell("head -c 200000000 /dev/zero; echo done >&2").run();
    assert_eq!(result.stdout.omitted, 200_000_000 - 65_536);
    assert_eq!(result.stdout.bytes.len(), 65_536);
    assert_eq!(text(&result.stderr), "done\n");
}

#[test]
fn a_child_in_the_background_is_not_waited_for_and_not_ended() {
    let sandbox = Sandbox::shell("sleep 1000 & echo $! > child; echo here");
    let began = Instant::now();
    let result = sandbox.run();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(result.leaked);
    assert_eq!(text(&result.stdout), "here\n");
    let child = sandbox.process("child");
    assert!(child.is_alive(), "it was ended");
    child.signal(rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_child_that_does_not_hold_the_output_is_no_leak() {
    let sandbox = Sandbox::shell("sleep 1000 >/dev/null 2>&1 & echo $! > child");
    assert!(!sandbox.run().leaked);
    let child = sandbox.process("child");
    assert!(child.is_alive(), "it was ended");
    child.signal(rustix::process::Signal::KILL).unwrap();
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
fn the_report_is_read_and_removed() {
    let sandbox =
        Sandbox::shell("echo error_code=RATE_LIMITED >> $RUNNER_REPORT; echo x >> $RUNNER_REPORT; exit 1");
    let result = sandbox.run();
    assert_eq!(result.report.error_code.unwrap().as_str(), "RATE_LIMITED");
    assert_eq!(result.report.notes.len(), 1);
    assert!(!sandbox.report().exists());
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
    let result = sandbox.supervise(child, &Control::new().unwrap(), &mut |_| panic!("nothing to tell"));
    assert_eq!((text(&result.stdout), text(&result.stderr)), ("out\n".into(), "err\n".into()));
    assert!(!result.leaked && result.duration.0 < 30_000);
    assert_eq!(Identity::of(leader.pid), None);
}

#[test]
fn output_is_told_while_it_runs() {
    let sandbox = Sandbox::shell("echo early; while [ ! -e stop ]; do sleep 0.01; done; echo late");
    let mut seen = Vec::new();
    let stop = sandbox.path("stop");
    let child = sandbox.spawn().unwrap();
    let result = sandbox.supervise(child, &Control::new().unwrap(), &mut |progress| {
        if let Progress::Output { stdout, .. } = progress {
            seen.push(text(&stdout));
            std::fs::write(&stop, "").unwrap();
        }
    });
    assert_eq!(seen, ["early\n"]);
    assert_eq!(text(&result.stdout), "early\nlate\n");
}

#[test]
fn what_an_attempt_left_is_ended_before_the_next_starts() {
    let sandbox = Sandbox::shell(
        "setsid sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' >/dev/null 2>&1 &
        while [ ! -s child ]; do sleep 0.01; done",
    )
    .grace(100);
    sandbox.run();
    let child = sandbox.process("child");
    assert!(child.is_alive());
    sandbox.end_earlier();
    assert!(!child.is_alive());
    sandbox.end_earlier();
}
