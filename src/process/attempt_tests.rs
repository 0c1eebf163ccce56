//! Attempts that end by themselves, and attempts that runner ends.

use std::time::Duration;

use super::super::testing::{Sandbox, process, until};
use super::super::{AttemptTag, Identity, end_attempts};
use super::*;

#[test]
fn a_closed_output_does_not_end_the_attempt() {
    let sandbox = Sandbox::shell("exec >&- 2>&-; sleep 0.3; exit 5");
    let mut leader = None;
    let end = sandbox.run_with(&Control::new().unwrap(), |started| leader = Some(started));
    assert_eq!((end.cause, end.status), (None, Some(Status::Exited(5))));
    assert!(end.duration >= Some(Millis(300)));
    assert_eq!(Identity::of(leader.unwrap().pid), None, "it is reaped");
}

#[test]
fn all_of_a_long_output_is_drained() {
    let end = Sandbox::shell("head -c 200000000 /dev/zero; echo done >&2").run();
    let output = end.output.unwrap();
    assert_eq!(output.stdout.omitted, 200_000_000 - 65_536);
    assert_eq!(output.stdout.bytes.len(), 65_536);
    assert_eq!(output.stderr.bytes, b"done\n");
}

#[test]
fn a_child_that_never_stops_writing_does_not_hold_the_attempt() {
    let sandbox = Sandbox::shell("yes & echo $! > child");
    let end = sandbox.run();
    assert!(end.output_held_open && end.output.unwrap().stdout.omitted > 0);
    until("yes to die of the closed pipe", || {
        process(&sandbox.path("child")).is_none_or(|child| !child.is_alive())
    });
}

#[test]
fn a_line_that_begins_like_an_option_is_a_line() {
    for line in ["-no-such-thing || echo taken", "+x; echo taken", "- true; echo taken", "--; echo taken"] {
        let output = Sandbox::shell(line).run().output.unwrap();
        assert_eq!(output.stdout.bytes, b"taken\n", "{line}");
    }
}

fn assert_gone(sandbox: &Sandbox, names: &[&str]) {
    for name in names {
        let pid = std::fs::read_to_string(sandbox.path(name)).unwrap();
        let left = Identity::of(pid.trim().parse().unwrap());
        assert!(left.is_none_or(|left| !left.is_alive()), "{name} lives");
    }
}

/// Strays leave the group and, two of them, their parent.
const STRAYS: &str = "
    echo $$ > leader
    setsid sh -c 'echo $$ > child; exec sleep 1000' &
    (setsid sh -c 'trap \"\" TERM; echo $$ > deaf; while :; do sleep 0.05; done' &)
    (setsid sh -c '(echo $$ > twice; exec setsid sleep 1000) &' &)
    env -i setsid sh -c 'echo $$ > bare; exec sleep 1000' &
    while [ ! -s child ] || [ ! -s deaf ] || [ ! -s twice ] || [ ! -s bare ]; do sleep 0.01; done
    touch ready
    wait";

#[test]
fn strays_are_ended_with_the_rest() {
    for stray_output in ["", "exec >/dev/null 2>&1;"] {
        let sandbox = Sandbox::shell(&format!("{stray_output} {STRAYS}")).grace(300);
        let end = sandbox.run_and(|control| control.stop(EndCause::Cancelled));
        assert_eq!(end.cause, Some(EndCause::Cancelled));
        assert!(!end.output_held_open, "who held the output is gone");
        assert_gone(&sandbox, &["leader", "child", "deaf", "twice", "bare"]);
    }
}

#[test]
fn members_that_outlive_the_leader_have_their_grace() {
    let sandbox = Sandbox::shell(
        "trap 'exit 4' TERM
        sh -c 'trap \"sleep 0.3; echo cleaned; exit\" TERM; touch ready; while :; do sleep 0.02; done' &
        while :; do sleep 0.02; done",
    )
    .grace(20_000);
    let end = sandbox.run_and(|control| control.stop(EndCause::Interrupted));
    assert_eq!((end.cause, end.status), (Some(EndCause::Interrupted), Some(Status::Exited(4))));
    assert_eq!(end.output.unwrap().stdout.bytes, b"cleaned\n");
    assert!(end.duration < Some(Millis(20_000)), "nobody waits for what is gone");
}

#[test]
fn it_is_told_that_sigkill_was_needed() {
    let said = "SIGKILL was needed, because not all of its processes had ended 200ms after SIGTERM";
    let wait = "touch ready; while [ ! -e gone ]; do sleep 0.02; done";
    let deaf = format!("trap '' TERM; {wait}");
    let deaf_child = format!("(trap '' TERM; {wait}) & sleep 1000");
    for (line, cause, message) in [
        (&deaf, EndCause::Cancelled, Some(said)),
        (&deaf, EndCause::Interrupted, Some(said)),
        (&deaf_child, EndCause::Cancelled, Some(said)),
        (&wait.to_owned(), EndCause::Cancelled, None),
    ] {
        let sandbox = Sandbox::shell(line).grace(200);
        let end = sandbox.run_and(|control| control.stop(cause));
        assert_eq!((end.cause, end.message.as_deref()), (Some(cause), message), "{line}");
    }
    let without_grace = Sandbox::shell(&deaf).grace(0).run_and(|control| control.stop(EndCause::Cancelled));
    assert_eq!((without_grace.status, without_grace.message), (Some(Status::Signaled(9)), None));
}

#[test]
fn the_grace_period_after_a_timeout_can_be_cut_short() {
    let deaf = "trap 'touch ready' TERM; while :; do sleep 0.02; done";
    let end = Sandbox::shell(deaf).timeout(500).grace(3_600_000).run_and(|control| {
        control.stop(EndCause::Interrupted);
        control.kill();
    });
    assert_eq!((end.cause, end.status), (Some(EndCause::TimedOut), Some(Status::Signaled(9))));
    assert_eq!(end.message, None, "nobody knows whether it would have ended");
}

#[test]
fn what_a_dead_worker_left_is_ended() {
    let sandbox = Sandbox::shell(STRAYS);
    let other = Sandbox::shell("touch ready; while [ ! -e stop ]; do sleep 0.01; done");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| sandbox.run());
        let unharmed = scope.spawn(|| other.run());
        until("both to run", || sandbox.path("ready").exists() && other.path("ready").exists());
        let leader = sandbox.process("leader");
        let leader = Leader::of_child(Pid::from_raw(leader.pid).unwrap());
        let attempts = [(sandbox.tag.clone(), Some(leader)), (AttemptTag::new("another", 1, 1), None)];
        let left = end_attempts(&attempts, Duration::from_millis(300), Duration::ZERO);
        assert!(left.is_ok(), "{left:?}");
        assert_gone(&sandbox, &["leader", "child", "deaf", "twice", "bare"]);
        let ended = running.join().unwrap();
        assert_eq!((ended.cause, ended.status), (None, Some(Status::Signaled(15))));
        std::fs::write(other.path("stop"), "").unwrap();
        assert_eq!(unharmed.join().unwrap().status, Some(Status::Exited(0)));
    });
}

#[test]
fn a_group_is_ended_though_its_leader_is_gone() {
    let sandbox = Sandbox::shell("env -i sleep 1000 >/dev/null 2>&1 & echo $! > child");
    let mut leader = None;
    let end = sandbox.run_with(&Control::new().unwrap(), |started| {
        leader = Some(Leader::of_child(Pid::from_raw(started.pid).unwrap()));
    });
    assert_eq!(end.status, Some(Status::Exited(0)));
    assert!(sandbox.process("child").is_alive());
    let attempts = [(sandbox.tag.clone(), leader)];
    end_attempts(&attempts, Duration::from_millis(500), Duration::from_millis(20)).unwrap();
    assert_gone(&sandbox, &["child"]);
}
