//! Attempts that runner ends: by timeout, or because somebody asked.

use std::time::Duration;

use super::super::testing::{Bed, Over, over, until};
use super::*;
use crate::model::Status;
use crate::process::end_all;

const DEAF: &str = "trap '' TERM; echo $$ > leader; touch ready; while :; do sleep 0.05; done";

fn killed(cut: StopReason) -> Exit {
    ended(cut, Status::Signaled(9))
}

fn ended(cut: StopReason, status: Status) -> Exit {
    Exit { cut: Some(cut), status: Some(status) }
}

fn assert_gone(bed: &Bed, names: &[&str]) {
    for name in names {
        let pid = std::fs::read_to_string(bed.path(name)).unwrap();
        let left = Identity::of(pid.trim().parse().unwrap());
        assert!(left.is_none_or(|left| !left.is_alive()), "{name} lives");
    }
}

#[test]
fn a_timeout_ends_with_sigterm() {
    let over = Bed::shell("sleep 1000").timeout(100).run();
    assert_eq!(over.ending, ended(StopReason::TimedOut, Status::Signaled(15)));
    assert!(over.duration.0 >= 100);
}

#[test]
fn who_ignores_sigterm_is_killed_after_the_grace() {
    let bed = Bed::shell(DEAF).timeout(200).grace(200);
    let over = bed.run();
    assert_eq!(over.ending, killed(StopReason::TimedOut));
    assert!(over.duration.0 >= 400);
    assert_gone(&bed, &["leader"]);
}

#[test]
fn who_ends_well_after_the_timeout_has_timed_out_all_the_same() {
    let over = Bed::shell("trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done").timeout(200).run();
    assert_eq!(over.ending, ended(StopReason::TimedOut, Status::Exited(0)));
    assert_eq!(over.stdout.bytes, b"bye\n");
}

#[test]
fn a_stopped_process_hears_sigterm() {
    let over =
        Bed::shell("trap 'exit 3' TERM; kill -STOP $$; while :; do sleep 0.02; done").timeout(200).run();
    assert_eq!(over.ending, ended(StopReason::TimedOut, Status::Exited(3)));
}

#[test]
fn without_grace_it_is_killed_at_once() {
    let over = Bed::shell("trap 'exit 3' TERM; while :; do sleep 0.02; done").timeout(100).grace(0).run();
    assert_eq!(over.ending, killed(StopReason::TimedOut));
}

#[test]
fn a_job_that_ended_before_anyone_acted_keeps_its_ending() {
    let bed = Bed::shell("exit 7").timeout(1);
    let control = Control::default();
    let ran = bed.run_with(&control, &mut |progress| {
        if let Progress::Started(leader, _) = progress {
            until("the job to end", || !leader.is_alive());
            std::thread::sleep(Duration::from_millis(5));
            control.stop(StopReason::Cancelled);
        }
    });
    assert_eq!(over(ran).ending, Exit::by_itself(Status::Exited(7)));
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
        let bed = Bed::shell(&format!("{stray_output} {STRAYS}")).grace(300);
        let over = bed.run_and(|control| control.stop(StopReason::Cancelled));
        assert_eq!(over.ending.cut, Some(StopReason::Cancelled));
        assert!(!over.leaked, "who held the output is gone");
        assert_gone(&bed, &["leader", "child", "deaf", "twice", "bare"]);
    }
}

#[test]
fn members_that_outlive_the_leader_have_their_grace() {
    let bed = Bed::shell(
        "trap 'exit 4' TERM
        sh -c 'trap \"sleep 0.3; echo cleaned; exit\" TERM; touch ready; while :; do sleep 0.02; done' &
        while :; do sleep 0.02; done",
    )
    .grace(20_000);
    let over = bed.run_and(|control| control.stop(StopReason::Interrupted));
    assert_eq!(over.ending, ended(StopReason::Interrupted, Status::Exited(4)));
    assert_eq!(over.stdout.bytes, b"cleaned\n");
    assert!(over.duration.0 < 20_000, "nobody waits for what is gone");
}

#[test]
fn of_several_reasons_the_first_counts_and_the_grace_can_be_cut_short() {
    let bed = Bed::shell(DEAF).grace(3_600_000);
    let over: Over = bed.run_and(|control| {
        control.stop(StopReason::Cancelled);
        control.stop(StopReason::Interrupted);
        control.kill_now();
    });
    assert_eq!(over.ending, killed(StopReason::Cancelled));
}

#[test]
fn killing_can_be_asked_for_later_also_after_a_timeout() {
    let bed = Bed::shell(DEAF).timeout(100).grace(3_600_000);
    let over = bed.run_and(|control| {
        std::thread::sleep(Duration::from_millis(150));
        control.stop(StopReason::Interrupted);
        control.kill_now();
    });
    assert_eq!(over.ending.status, Some(Status::Signaled(9)));
}

#[test]
fn who_is_asked_before_the_start_does_not_start() {
    let bed = Bed::shell("touch started");
    let control = Control::default();
    control.stop(StopReason::Cancelled);
    let over = over(bed.run_with(&control, &mut |_| panic!("nothing to tell")));
    assert_eq!(over.ending, Exit::unseen(StopReason::Cancelled));
    assert_eq!(over.started_at, None);
    assert!(!bed.path("started").exists());
}

#[test]
fn what_a_dead_worker_left_is_ended() {
    let bed = Bed::shell(STRAYS);
    let other = Bed::shell("touch ready; while [ ! -e stop ]; do sleep 0.01; done");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| bed.run());
        let unharmed = scope.spawn(|| other.run());
        until("both to run", || bed.path("ready").exists() && other.path("ready").exists());
        let leader = bed.process("leader");
        let marks = [(bed.mark.clone(), Some(leader)), (absent(&bed), None)];
        let left = end_all(&marks, Duration::from_millis(300), Duration::ZERO);
        assert!(left.is_empty(), "{left:?}");
        assert_gone(&bed, &["leader", "child", "deaf", "twice", "bare"]);
        assert_eq!(running.join().unwrap().ending, Exit::by_itself(Status::Signaled(15)));
        std::fs::write(other.path("stop"), "").unwrap();
        assert_eq!(unharmed.join().unwrap().ending, Exit::by_itself(Status::Exited(0)));
    });
}

#[test]
fn a_group_is_ended_though_its_leader_is_gone() {
    let bed = Bed::shell("echo $$ > leader; env -i sleep 1000 >/dev/null 2>&1 & echo $! > child");
    let mut leader = None;
    let ran = bed.run_with(&Control::default(), &mut |progress| {
        if let Progress::Started(identity, _) = progress {
            leader = Some(identity);
        }
    });
    assert_eq!(over(ran).ending, Exit::by_itself(Status::Exited(0)));
    assert!(bed.process("child").is_alive());
    let marks = [(bed.mark.clone(), leader)];
    let left = end_all(&marks, Duration::from_millis(500), Duration::from_millis(20));
    assert!(left.is_empty(), "{left:?}");
    assert_gone(&bed, &["child"]);
}

/// The mark of an attempt that never was.
fn absent(bed: &Bed) -> super::super::Mark {
    super::super::Mark { attempt: bed.mark.attempt + 1, ..bed.mark.clone() }
}
