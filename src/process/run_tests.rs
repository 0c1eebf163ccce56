//! What a job that ends by itself leaves behind: its status, its output, its report.

use std::time::{Duration, Instant};

use super::super::testing::{Bed, over, until};
use super::*;
use crate::model::Status;

fn text(kept: &Kept) -> String {
    String::from_utf8_lossy(&kept.bytes).into_owned()
}

#[test]
fn exit_status_and_signal_are_told_apart() {
    let ended = |line: &str| Bed::shell(line).run().ending;
    assert_eq!(ended("exit 0"), Exit::by_itself(Status::Exited(0)));
    assert_eq!(ended("exit 41"), Exit::by_itself(Status::Exited(41)));
    assert_eq!(ended("exit 143"), Exit::by_itself(Status::Exited(143)));
    assert_eq!(ended("kill -KILL $$"), Exit::by_itself(Status::Signaled(9)));
    assert_eq!(ended("kill -TERM $$"), Exit::by_itself(Status::Signaled(15)));
}

#[test]
fn start_and_end_are_told_in_order() {
    let bed = Bed::shell("echo out; echo err >&2");
    let mut told = Vec::new();
    let mut leader = None;
    let ran = bed.run_with(&Control::default(), &mut |progress| match &progress {
        Progress::Starting(_) => told.push("starting"),
        Progress::Started(identity, _) => {
            leader = Some(*identity);
            told.push("started");
        }
        Progress::Output { .. } => told.push("output"),
        Progress::Stuck(_) => told.push("stuck"),
        Progress::Left(_) => told.push("left"),
    });
    let over = over(ran);
    assert_eq!(told, ["starting", "started"]);
    assert_eq!((text(&over.stdout), text(&over.stderr)), ("out\n".into(), "err\n".into()));
    assert!(!over.leaked);
    assert!(over.started_at.unwrap() <= over.finished_at);
    assert!(over.duration.0 < 30_000);
    assert_eq!(over.message, None);
    let leader = leader.unwrap();
    assert!(leader.start_ticks > 0);
    assert_eq!(Identity::of(leader.pid), None, "it is reaped");
}

#[test]
fn the_start_that_is_told_is_the_kernel_s() {
    let bed = Bed::argv(&["true"]);
    for _ in 0..40 {
        let mut starts = None;
        bed.run_with(&Control::default(), &mut |progress| {
            if let Progress::Started(told, _) = progress {
                starts = Some((told, Identity::of(told.pid)));
            }
        });
        let (told, known) = starts.unwrap();
        assert_eq!(Some(told), known);
    }
}

#[test]
fn a_closed_output_does_not_end_the_attempt() {
    let bed = Bed::shell("exec >&- 2>&-; sleep 0.3; exit 5");
    let over = bed.run();
    assert_eq!(over.ending, Exit::by_itself(Status::Exited(5)));
    assert!(over.duration.0 >= 300);
}

#[test]
fn output_is_told_while_it_runs() {
    let bed = Bed::shell("echo early; while [ ! -e stop ]; do sleep 0.01; done; echo late");
    let mut seen = Vec::new();
    let stop = bed.path("stop");
    let ran = bed.run_with(&Control::default(), &mut |progress| {
        if let Progress::Output { stdout, .. } = progress {
            seen.push(text(stdout));
            std::fs::write(&stop, "").unwrap();
        }
    });
    assert_eq!(seen, ["early\n"]);
    assert_eq!(text(&over(ran).stdout), "early\nlate\n");
}

#[test]
fn the_first_quarter_and_the_rest_of_the_end_are_kept() {
    let bed = Bed::shell("i=0; while [ $i -lt 1000 ]; do echo line-$i; i=$((i+1)); done").output_limit(400);
    let all: String = (0..1000).flat_map(|i| ["line-".to_owned(), format!("{i}\n")]).collect();
    let kept = bed.run().stdout;
    assert_eq!(kept.head, 100);
    assert_eq!(kept.omitted, all.len() as u64 - 400);
    assert_eq!(text(&kept), [&all[..100], &all[all.len() - 300..]].concat());
}

#[test]
fn all_of_a_long_output_is_drained() {
    let over = Bed::shell("head -c 200000000 /dev/zero; echo done >&2").run();
    assert_eq!(over.stdout.omitted, 200_000_000 - 65_536);
    assert_eq!(over.stdout.bytes.len(), 65_536);
    assert_eq!(text(&over.stderr), "done\n");
}

#[test]
fn a_child_in_the_background_is_not_waited_for_and_not_ended() {
    let bed = Bed::shell("sleep 1000 & echo $! > child; echo here");
    let began = Instant::now();
    let over = bed.run();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(over.leaked);
    assert_eq!(text(&over.stdout), "here\n");
    let child = bed.process("child");
    assert!(child.is_alive(), "it was ended");
    child.signal(rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_child_that_does_not_hold_the_output_is_no_leak() {
    let bed = Bed::shell("sleep 1000 >/dev/null 2>&1 & echo $! > child");
    assert!(!bed.run().leaked);
    let child = bed.process("child");
    assert!(child.is_alive(), "it was ended");
    child.signal(rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_child_that_never_stops_writing_does_not_hold_the_attempt() {
    let bed = Bed::shell("yes & echo $! > child");
    let over = bed.run();
    assert!(over.leaked && over.stdout.omitted > 0);
    until("yes to die of the closed pipe", || {
        super::super::testing::process(&bed.path("child")).is_none_or(|child| !child.is_alive())
    });
}

#[test]
fn what_the_last_attempt_left_is_ended_before_the_next_starts() {
    let bed = Bed::shell(
        "setsid sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' >/dev/null 2>&1 &
        while [ ! -s child ]; do sleep 0.01; done",
    )
    .grace(100);
    bed.run();
    let child = bed.process("child");
    assert!(child.is_alive());

    let mut next = Bed::shell("echo next").grace(100);
    next.predecessors = vec![bed.mark.clone()];
    let mut alive_at_start = None;
    let ran = next.run_with(&Control::default(), &mut |progress| {
        if let Progress::Starting(_) = progress {
            alive_at_start = Some(child.is_alive());
        }
    });
    assert_eq!(alive_at_start, Some(false));
    assert_eq!(text(&over(ran).stdout), "next\n");
    // Nothing is left, so that the quick look suffices; twice, for what the first one learnt.
    next.run();
    next.run();
}

#[test]
fn the_report_is_read_and_removed() {
    let bed = Bed::shell("echo error_code=RATE_LIMITED >> $RUNNER_REPORT; echo x >> $RUNNER_REPORT; exit 1");
    let over = bed.run();
    assert_eq!(over.report.error_code.unwrap().as_str(), "RATE_LIMITED");
    assert_eq!(over.report.notes.len(), 1);
    assert!(!bed.report().exists());
}

#[test]
fn a_program_that_cannot_be_started_is_a_failure_with_words() {
    let over = Bed::argv(&["no-such-program-here"]).run();
    assert_eq!(over.ending, Exit::unseen(StopReason::SpawnFailed));
    assert_eq!(over.started_at, None);
    assert_eq!(over.message.as_deref(), Some("no such program: no-such-program-here"));
}

#[test]
fn what_cannot_be_noted_beforehand_is_not_started() {
    let bed = Bed::shell("echo started > trace");
    let ran = bed.run_with(&Control::default(), &mut |progress| {
        if let Progress::Starting(prevented) = progress {
            *prevented = Some(std::io::ErrorKind::StorageFull.into());
        }
    });
    assert!(matches!(ran, Ran::NotStarted { .. }), "{ran:?}");
    assert!(!bed.path("trace").exists());
}

#[test]
fn what_is_left_in_the_group_without_a_mark_is_ended_before_the_next_attempt() {
    let line = "env -i sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 & while [ ! -s left ]; do sleep 0.01; done";
    let mut bed = Bed::shell(line);
    let mut remnants = Vec::new();
    over(bed.run_with(&Control::default(), &mut |progress| {
        if let Progress::Left(left) = progress {
            remnants = left;
        }
    }));
    let left = bed.process("left");
    assert_eq!(remnants, [left], "and its leader is reaped");
    bed.predecessors = vec![bed.mark.clone()];
    bed.spec.command = crate::model::Command::Shell("true".into());
    assert_eq!(bed.run().ending, Exit::by_itself(Status::Exited(0)));
    assert!(left.is_alive(), "nothing but its group shows whose it is");
    bed.remnants = remnants;
    bed.run();
    assert!(!left.is_alive());
}

#[test]
fn a_line_that_begins_like_an_option_is_a_line() {
    for line in ["-no-such-thing || echo taken", "+x; echo taken", "- true; echo taken", "--; echo taken"] {
        assert_eq!(text(&Bed::shell(line).run().stdout), "taken\n", "{line}");
    }
}
