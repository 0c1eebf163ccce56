//! Attempts that runner ends: on a timeout or an order.

use std::time::Duration;

use super::super::testing::{Sandbox, until};
use super::super::{Identity, end_attempts};
use super::*;

const DEAF: &str = "trap '' TERM; echo $$ > leader; touch ready; while :; do sleep 0.05; done";

fn killed(reason: StopReason) -> Exit {
    ended(reason, Status::Signaled(9))
}

fn ended(reason: StopReason, status: Status) -> Exit {
    Exit { stop_reason: Some(reason), status: Some(status) }
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
        let result = sandbox.run_and(|control| control.stop(StopReason::Cancelled));
        assert_eq!(result.exit.stop_reason, Some(StopReason::Cancelled));
        assert!(!result.leaked, "who held the output is gone");
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
    let result = sandbox.run_and(|control| control.stop(StopReason::Interrupted));
    assert_eq!(result.exit, ended(StopReason::Interrupted, Status::Exited(4)));
    assert_eq!(result.stdout.bytes, b"cleaned\n");
    assert!(result.duration.0 < 20_000, "nobody waits for what is gone");
}

#[test]
fn of_several_reasons_the_first_counts_and_the_grace_can_be_cut_short() {
    let sandbox = Sandbox::shell(DEAF).grace(3_600_000);
    let result = sandbox.run_and(|control| {
        control.stop(StopReason::Cancelled);
        control.stop(StopReason::Interrupted);
        control.kill();
    });
    assert_eq!(result.exit, killed(StopReason::Cancelled));
}

#[test]
fn killing_can_be_asked_for_later_also_after_a_timeout() {
    let sandbox = Sandbox::shell(DEAF).timeout(100).grace(3_600_000);
    let result = sandbox.run_and(|control| {
        std::thread::sleep(Duration::from_millis(150));
        control.stop(StopReason::Interrupted);
        control.kill();
    });
    assert_eq!(result.exit.status, Some(Status::Signaled(9)));
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
        let attempts = [(sandbox.tag.clone(), Some(leader)), (absent(&sandbox), None)];
        let left = end_attempts(&attempts, Duration::from_millis(300), Duration::ZERO);
        assert!(left.is_ok(), "{left:?}");
        assert_gone(&sandbox, &["leader", "child", "deaf", "twice", "bare"]);
        assert_eq!(running.join().unwrap().exit, Exit::by_itself(Status::Signaled(15)));
        std::fs::write(other.path("stop"), "").unwrap();
        assert_eq!(unharmed.join().unwrap().exit, Exit::by_itself(Status::Exited(0)));
    });
}

#[test]
fn a_group_is_ended_though_its_leader_is_gone() {
    let sandbox = Sandbox::shell("env -i sleep 1000 >/dev/null 2>&1 & echo $! > child");
    let child = sandbox.spawn().unwrap();
    let leader = child.identity();
    let result = sandbox.supervise(child, &Control::new().unwrap(), &mut |_| {});
    assert_eq!(result.exit, Exit::by_itself(Status::Exited(0)));
    assert!(sandbox.process("child").is_alive());
    let attempts = [(sandbox.tag.clone(), Some(leader))];
    end_attempts(&attempts, Duration::from_millis(500), Duration::from_millis(20)).unwrap();
    assert_gone(&sandbox, &["child"]);
}

/// The tag of an attempt that never was.
fn absent(sandbox: &Sandbox) -> AttemptTag {
    AttemptTag { attempt: sandbox.tag.attempt + 1, ..sandbox.tag.clone() }
}
