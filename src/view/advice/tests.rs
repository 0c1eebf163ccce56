//! The words for each problem, one beside the other.

use super::attention;
use crate::call_target::CallTarget;
use crate::model::{Attention, ErrorCode, Rate};
use crate::store::problem::{
    AttentionEntry, Count, Dead, DeadLetters, HolderState, LeftProcess, LongestRunning, OtherWarned,
    OverdueReason, Problem, RetryObstacle, RootEnd, SameWork, Stuck, Warned,
};
use crate::store::{FileChange, NoRoom, NoWorker, QueueHold};
use crate::text::{Millis, Timestamp, clock_time, safe_line};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn count(counted: u64) -> Count {
    Count { counted, is_more: false }
}

fn letters(jobs: u64) -> DeadLetters {
    DeadLetters {
        file: None,
        has_several_files: false,
        name: "load".to_owned(),
        error_code: "EXIT_1".to_owned(),
        count: count(jobs),
        last: NOW,
        newest_labels: vec!["eu".to_owned()],
        labels: 1,
        wanted_label: None,
        are_all_named: true,
    }
}

/// Two jobs or more of 22 labels, of which only some are named.
fn many_letters(count: Count) -> DeadLetters {
    let newest_labels = ["eu", "us", "asia"].map(str::to_owned).to_vec();
    DeadLetters { count, newest_labels, labels: 22, are_all_named: false, ..letters(0) }
}

fn dead(jobs: u64, same_work: SameWork, obstacle: Option<RetryObstacle>) -> Dead {
    Dead {
        letters: letters(jobs),
        newest: 9,
        words: "runner retry 1 is what it said".to_owned(),
        has_output: true,
        same_work,
        obstacle,
        has_recovered: false,
    }
}

fn code(text: &str) -> ErrorCode {
    ErrorCode::parse(text).expect("a code")
}

fn warned(jobs: u64) -> Warned {
    Warned {
        name: "load".to_owned(),
        warning: code("VANISHED"),
        status: Some(24),
        count: count(jobs),
        last: NOW,
        newest: 9,
        words: "file has vanished".to_owned(),
        has_output: true,
        labels: Vec::new(),
        has_more_labels: false,
        wanted_label: None,
        file: None,
        others: OtherWarned::None,
    }
}

/// Job 7, with one that waits for it.
fn stuck(obstacle: Option<RetryObstacle>, count: Count) -> Stuck {
    Stuck {
        name: Some("load".to_owned()),
        file: None,
        roots: 1,
        newest_roots: vec![7],
        ends: vec![RootEnd::Dead],
        count,
        names: vec!["report".to_owned()],
        obstacle,
        succeeded_since: None,
        is_done_by_others: false,
    }
}

/// So many jobs, of which the newest are 19, 18, 17, …
fn stuck_behind(roots: u64, count: Count) -> Stuck {
    Stuck {
        roots,
        newest_roots: (7..20).rev().take(roots.min(13).try_into().unwrap_or_default()).collect(),
        ends: vec![RootEnd::Dead, RootEnd::Resolved, RootEnd::Cancelled],
        ..stuck(None, count)
    }
}

fn left(pid: i32, is_of_owner: bool, may_be_ended: bool) -> LeftProcess {
    let (command, user) = ("sleep 9".to_owned(), Some("eve".to_owned()));
    LeftProcess { pid, job: 1, attempt: 2, command, user, is_of_owner, may_be_ended }
}

fn entry(found: AttentionEntry, place: &CallTarget) -> Attention {
    attention(vec![found], &[], place, NOW).remove(0)
}

/// The sentence and the command for each problem, with TIME for the time of day.
fn table(problems: Vec<(Problem, Vec<i64>)>, place: &CallTarget) -> String {
    let lines = problems.into_iter().map(|(problem, jobs)| {
        let Attention { kind, message, command, .. } =
            entry(AttentionEntry { problem, alarm: true, jobs }, place);
        let message = message.replace(&clock_time(NOW, NOW), "TIME");
        format!("{kind}: {message}\n    {}\n", command.as_deref().unwrap_or("-"))
    });
    lines.collect()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn problems() -> Vec<(Problem, Vec<i64>)> {
    use RetryObstacle::{HeldKey, NeedsForce, SharedKey};
    let (queue, schedule, file) = ("net".to_owned(), "nightly".to_owned(), "/etc/a b.toml".to_owned());
    let schedules = vec![schedule.clone()];
    let changed = |change| Problem::Changed {
        path: file.clone(),
        change,
        schedules: (1..8).map(|n| format!("s{n}")).collect(),
        queues: Vec::new(),
    };
    let overdue = |reason| Problem::Overdue {
        queue: queue.clone(),
        due: 3,
        oldest: NOW.minus(Millis::from_secs(7_200)),
        reason,
    };
    let running = Some(LongestRunning { id: 4, name: "slow".to_owned(), since: NOW });
    let unserved = |why| Problem::NoWorker { queue: queue.clone(), due: 1, oldest: NOW, why };
    let stale = |last_success, unfinished, is_declared| Problem::Stale {
        name: "nightly".to_owned(),
        file: file.clone(),
        last_success,
        applied_at: NOW,
        within: Millis::from_secs(3_600),
        unfinished,
        is_declared,
    };
    let countless = Count { counted: 10_000, is_more: true };
    let many = Dead {
        letters: many_letters(countless),
        words: "x".repeat(200),
        has_output: false,
        ..dead(0, SameWork::None, None)
    };
    let narrowed = DeadLetters { wanted_label: Some("eu".to_owned()), are_all_named: false, ..letters(40) };
    vec![
        (Problem::DiskFull { path: "/db".into(), why: NoRoom::Disk }, vec![]),
        (Problem::DiskFull { path: "/db".into(), why: NoRoom::Inodes }, vec![]),
        (Problem::DiskFull { path: "/db".into(), why: NoRoom::Quota }, vec![]),
        (Problem::DiskFull { path: "/db".into(), why: NoRoom::ReadOnly }, vec![]),
        (Problem::Dead(dead(1, SameWork::None, None)), vec![9]),
        (Problem::Dead(dead(2, SameWork::AllOfName, None)), vec![9, 8]),
        (Problem::Dead(dead(2, SameWork::AllOfName, Some(NeedsForce))), vec![9, 8]),
        (Problem::Dead(dead(2, SameWork::Some, None)), vec![9, 8]),
        (Problem::Dead(Dead { has_recovered: true, ..dead(2, SameWork::Some, None) }), vec![9, 8]),
        (Problem::Dead(Dead { has_recovered: true, ..dead(2, SameWork::None, None) }), vec![9, 8]),
        (Problem::Dead(dead(2, SameWork::None, Some(SharedKey))), vec![9, 8]),
        (Problem::Dead(dead(1, SameWork::None, Some(NeedsForce))), vec![9]),
        (Problem::Dead(dead(1, SameWork::None, Some(HeldKey))), vec![9]),
        (Problem::Dead(dead(2, SameWork::Some, Some(HeldKey))), vec![9, 8]),
        (
            Problem::Dead(Dead { letters: many_letters(count(22)), ..dead(0, SameWork::None, None) }),
            (1..=20).collect(),
        ),
        (
            Problem::Dead(Dead { letters: narrowed.clone(), ..dead(0, SameWork::AllOfName, None) }),
            (1..=20).collect(),
        ),
        (Problem::Dead(many.clone()), (1..=20).collect()),
        (Problem::Dead(Dead { has_recovered: true, ..many }), (1..=20).collect()),
        (Problem::OtherDead { count: count(1), last: Some(NOW) }, vec![9]),
        (Problem::OtherDead { count: count(0), last: None }, vec![]),
        (Problem::Recovered(letters(2)), vec![9, 8]),
        (Problem::Recovered(many_letters(count(40))), vec![9]),
        (Problem::Recovered(narrowed), vec![9]),
        (Problem::OtherRecovered { count: count(2), last: NOW, is_all: true }, vec![9, 8]),
        (Problem::OtherRecovered { count: count(2), last: NOW, is_all: false }, vec![9, 8]),
        (Problem::Warned(warned(1)), vec![9]),
        (Problem::Warned(Warned { warning: code("EXIT_24"), ..warned(2) }), vec![9, 8]),
        (Problem::Warned(Warned { others: OtherWarned::OfSameFile, ..warned(40) }), vec![9]),
        (Problem::Warned(Warned { wanted_label: Some("eu".to_owned()), ..warned(40) }), vec![9]),
        (
            Problem::Warned(Warned {
                file: Some("/srv/a/jobs.toml".to_owned()),
                others: OtherWarned::OfOtherFiles,
                labels: ["eu", "us", "asia"].map(str::to_owned).to_vec(),
                has_more_labels: true,
                has_output: false,
                ..warned(5)
            }),
            vec![9, 8, 7, 6, 5],
        ),
        (Problem::Stuck(stuck(None, count(1))), vec![8]),
        (Problem::Stuck(stuck(Some(NeedsForce), count(1))), vec![8]),
        (Problem::Stuck(stuck(Some(NeedsForce), count(30))), vec![8, 9]),
        (Problem::Stuck(stuck(Some(HeldKey), count(30))), vec![8, 9]),
        (Problem::Stuck(Stuck { succeeded_since: Some(12), ..stuck(None, count(1)) }), vec![8]),
        (
            Problem::Stuck(Stuck {
                succeeded_since: Some(12),
                is_done_by_others: true,
                ..stuck(None, count(1))
            }),
            vec![8],
        ),
        (Problem::Stuck(Stuck { name: None, ..stuck(None, countless) }), vec![8, 9]),
        (Problem::Stuck(stuck_behind(2, count(2))), vec![20, 21]),
        (Problem::Stuck(Stuck { ends: vec![RootEnd::Dead], ..stuck_behind(4, countless) }), vec![20, 21]),
        (Problem::Stuck(Stuck { obstacle: Some(SharedKey), ..stuck_behind(4, count(2)) }), vec![20, 21]),
        (Problem::Stuck(Stuck { succeeded_since: Some(30), ..stuck_behind(4, count(2)) }), vec![20, 21]),
        (Problem::Stuck(Stuck { succeeded_since: Some(30), ..stuck_behind(4, countless) }), vec![20, 21]),
        (Problem::Stuck(stuck_behind(99, countless)), vec![20, 21]),
        (Problem::Stuck(Stuck { name: None, ..stuck_behind(4, count(2)) }), vec![20, 21]),
        (Problem::OtherStuck(count(1)), vec![7]),
        (Problem::OtherStuck(count(2)), vec![6, 7]),
        (Problem::Leftover { pid: 5, since: NOW, processes: vec![] }, vec![1]),
        (
            Problem::Leftover {
                pid: 5,
                since: NOW,
                processes: vec![left(6, true, true), left(7, false, true)],
            },
            vec![1],
        ),
        (Problem::Leftover { pid: 5, since: NOW, processes: vec![left(6, true, false)] }, vec![1]),
        (Problem::Leftover { pid: 5, since: NOW, processes: vec![left(7, false, false)] }, vec![1]),
        (
            Problem::Interrupted { name: "deploy".to_owned(), jobs: 1, times: count(6), least: 5, last: NOW },
            vec![3],
        ),
        (
            Problem::Interrupted { name: "deploy".to_owned(), jobs: 2, times: count(6), least: 5, last: NOW },
            vec![3, 4],
        ),
        (Problem::NoTimes { schedule: schedule.clone(), next_at: None, why: "no zone".to_owned() }, vec![]),
        (Problem::NoNextTime { schedule: schedule.clone(), file: file.clone() }, vec![]),
        (
            Problem::Skipping {
                schedule: schedule.clone(),
                in_row: 3,
                holder: 2,
                holder_name: "copy".to_owned(),
                state: HolderState::Blocked,
            },
            vec![2],
        ),
        (stale(None, None, true), vec![]),
        (stale(None, None, false), vec![]),
        (stale(Some(NOW), Some(5), true), vec![5]),
        (unserved(NoWorker::NoneRuns), vec![1]),
        (unserved(NoWorker::Suspended(77)), vec![1]),
        (unserved(NoWorker::SuspendedRun(78)), vec![1]),
        (unserved(NoWorker::Stopping), vec![1]),
        (Problem::OldWorker { queue: queue.clone(), pid: 77, oldest: NOW }, vec![1]),
        (Problem::Unattended { pid: 77, jobs: 2, oldest: NOW }, vec![1, 2]),
        (Problem::Orphaned { pids: vec![77], jobs: 1, oldest: NOW }, vec![1]),
        (Problem::Orphaned { pids: vec![77, 78], jobs: 2, oldest: NOW }, vec![1, 2]),
        (Problem::Unfired { schedules: schedules.clone(), oldest: NOW, old_worker: None }, vec![]),
        (Problem::Unfired { schedules, oldest: NOW, old_worker: Some(77) }, vec![]),
        (overdue(OverdueReason::Limit { max_running: 4, longest: running.clone() }), vec![1]),
        (overdue(OverdueReason::Busy { slots: 1, longest: running }), vec![1]),
        (overdue(OverdueReason::Unknown), vec![1]),
        (Problem::PausedQueue { queue: queue.clone(), due: 1, oldest: NOW, until: None }, vec![1]),
        (Problem::PausedQueue { queue, due: 2, oldest: NOW, until: Some(NOW) }, vec![1, 2]),
        (Problem::PausedSchedule { schedule: schedule.clone(), passed: NOW, until: None }, vec![]),
        (Problem::PausedSchedule { schedule, passed: NOW, until: Some(NOW) }, vec![]),
        (Problem::AllPaused { oldest: None, until: None }, vec![]),
        (Problem::AllPaused { oldest: Some(NOW), until: Some(NOW) }, vec![1]),
        (changed(FileChange::Edited), vec![]),
        (
            Problem::Changed {
                path: "/f".to_owned(),
                change: FileChange::Edited,
                schedules: Vec::new(),
                queues: vec!["net".to_owned()],
            },
            vec![],
        ),
        (changed(FileChange::Zone("UTC".to_owned())), vec![]),
        (changed(FileChange::EditedAndZone("UTC".to_owned())), vec![]),
        (changed(FileChange::NamelessZone("TZ=XXX-14:17".to_owned())), vec![]),
        (changed(FileChange::Gone), vec![]),
        (changed(FileChange::NotRead("it is a FIFO")), vec![]),
        (changed(FileChange::Unusable), vec![]),
    ]
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_problem_has_a_sentence_and_the_command_that_settles_it() {
    insta::assert_snapshot!(table(problems(), &CallTarget::default()), @r#"
disk_full: the file system of /db is full: nothing is enqueued, started or recorded until that ends
    -
disk_full: the file system of /db has no inodes left, which `df -i` shows: no worker and no run can start until that ends
    -
disk_full: the file system of /db gives its owner no more room, as the quota is used up: nothing is enqueued, started or recorded until that ends
    -
disk_full: the file system of /db is read-only: nothing can be enqueued, started or recorded through this path until that ends
    -
dead: load [eu] died TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner resolve 9 if that was dealt with
    runner retry 9
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; one run does for all; runner resolve --dead --name load --error-code EXIT_1 if that was dealt with
    runner retry --dead --name load --latest
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner retry --dead --name load --latest --force runs the newest again and resolves the others
    runner resolve 8 9
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner resolve 8 9 if that was dealt with
    runner retry --dead --name load --error-code EXIT_1 --latest
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner resolve 8 9 if that was dealt with
    runner retry 8 9
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner resolve 8 9 if that was dealt with
    runner retry 8 9
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner retry 9 runs the newest again
    runner resolve 8 9
dead: load [eu] died TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner retry 9 --force runs it again
    runner resolve 9
dead: load [eu] died TIME, EXIT_1: runner retry 1 is what it said; an unfinished job holds its key; runner logs 9 shows more
    runner resolve 9
dead: 2 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner retry --dead --name load --error-code EXIT_1 --latest puts back all but those whose keys unfinished jobs hold; runner resolve 8 9 if that was dealt with
    -
dead: 22 jobs of load [eu, us, asia and 19 more] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; runner resolve --dead --name load --error-code EXIT_1 if that was dealt with
    runner retry --dead --name load --error-code EXIT_1
dead: 40 jobs of load [eu] died, the last TIME, EXIT_1: runner retry 1 is what it said; runner logs 9 shows more; one run does for all; runner resolve --dead --name load --error-code EXIT_1 --label eu if that was dealt with
    runner retry --dead --name load --label eu --latest
dead: more than 10000 jobs of load [eu, us, asia and more] died, the last TIME, EXIT_1: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…; runner resolve --dead --name load --error-code EXIT_1 if that was dealt with
    runner retry --dead --name load --error-code EXIT_1
dead: more than 10000 jobs of load [eu, us, asia and more] died, the last TIME, EXIT_1: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…; runner resolve --dead --recovered --name load --error-code EXIT_1 comes first, because later runs have done the work of some; runner retry --dead --name load --error-code EXIT_1 runs the others again after that
    -
dead: besides these, 1 job died, the last TIME; runner inspect dead lists all
    -
dead: so many jobs have expired that others may have died, too; runner inspect dead lists all
    -
recovered: 2 jobs of load [eu] died, the last TIME, EXIT_1, and one that does the same has succeeded since
    runner resolve 8 9
recovered: 40 jobs of load [eu, us, asia and 19 more] died, the last TIME, EXIT_1, and one that does the same as each has succeeded since
    runner resolve --dead --recovered --name load --error-code EXIT_1
recovered: 40 jobs of load [eu] died, the last TIME, EXIT_1, and one that does the same has succeeded since
    runner resolve --dead --recovered --name load --error-code EXIT_1 --label eu
recovered: besides these, 2 jobs died, the last TIME, and one that does the same has succeeded since
    runner resolve --dead --recovered
recovered: besides these, 2 jobs died, the last TIME, and one that does the same has succeeded since
    -
warned: load succeeded with a warning TIME, exit 24, VANISHED: file has vanished; runner logs 9 shows more
    runner resolve 9
warned: 2 jobs of load succeeded with a warning, the last TIME, exit 24: file has vanished; runner logs 9 shows more
    runner resolve 8 9
warned: 40 jobs of load succeeded with a warning, the last TIME, exit 24, VANISHED: file has vanished; runner logs 9 shows more
    -
warned: 40 jobs of load succeeded with a warning, the last TIME, exit 24, VANISHED: file has vanished; runner logs 9 shows more
    runner resolve --warned --name load --label eu
warned: 5 jobs of load [eu, us, asia, …] in /srv/a succeeded with a warning, the last TIME, exit 24, VANISHED: file has vanished
    runner resolve 5 6 7 8 9
stuck: job 7 load, which is dead, holds back 1 job: 8 report; runner cancel 8 gives up
    runner retry 7
stuck: job 7 load, which is dead, holds back 1 job: 8 report; runner retry 7 --force goes on
    runner cancel 8
stuck: job 7 load, which is dead, holds back 30 jobs: 8 report, …; runner retry 7 --force goes on
    runner retry 7 --force
stuck: job 7 load, which is dead, holds back 30 jobs: 8 report, …; runner retry 7 --force goes on once its key is free
    -
stuck: job 7 load holds back 1 job: 8 report, though job 12 has done the same as job 7 load since; runner cancel 8 gives up
    runner retry 7
stuck: job 7 load holds back 1 job: 8 report, though job 12 has done the same as job 7 load since; runner retry 7 goes on
    runner cancel 8
stuck: job 7 was removed and holds back more than 10000 jobs: 8 report, …; runner inspect jobs --state blocked lists what waits
    -
stuck: jobs 19, 18 of load, which are dead, resolved or cancelled, hold back 2 jobs: 20 report, …; runner cancel 20 21 gives up
    runner retry 18 19
stuck: jobs 19, 18, 17 and 1 more of load, which are dead, hold back more than 10000 jobs: 20 report, …
    runner retry 16 17 18 19
stuck: jobs 19, 18, 17 and 1 more of load, which are dead, resolved or cancelled, hold back 2 jobs: 20 report, …; runner retry 19 goes on with the newest
    runner cancel 20 21
stuck: jobs 19, 18, 17 and 1 more of load hold back 2 jobs: 20 report, …, though later jobs have done the same as jobs 19, 18, 17 and 1 more of load; runner cancel 20 21 gives up
    runner retry 16 17 18 19
stuck: jobs 19, 18, 17 and 1 more of load hold back more than 10000 jobs: 20 report, …, though later jobs have done the same as jobs 19, 18, 17 and 1 more of load
    runner retry 16 17 18 19
stuck: jobs 19, 18, 17 and 96 more of load, which are dead, resolved or cancelled, hold back more than 10000 jobs: 20 report, …; runner inspect jobs --state blocked lists what waits
    -
stuck: jobs 19, 18, 17 and 1 more were removed and hold back 2 jobs: 20 report, …
    runner cancel 20 21
stuck: besides these, 1 job that is dead, cancelled or removed holds back others; runner inspect jobs --state blocked lists those
    -
stuck: besides these, 2 jobs that are dead, cancelled or removed hold back others; runner inspect jobs --state blocked lists those
    -
leftover: a worker (pid 5) died, and what it left could not be ended since TIME: its processes cannot be seen from here; the job goes on when that has ended
    -
leftover: a worker (pid 5) died, and what it left could not be ended since TIME: process 6 of eve (sleep 9) of job 1, attempt 2, process 7 of eve (sleep 9) of job 1, attempt 2; the job goes on when that has ended
    kill -KILL 7
leftover: a worker (pid 5) died, and what it left could not be ended since TIME: process 6 of eve (sleep 9) of job 1, attempt 2; the job goes on when that has ended
    -
leftover: a worker (pid 5) died, and what it left could not be ended since TIME: process 7 of eve (sleep 9) of job 1, attempt 2; the job goes on when that has ended
    sudo kill -KILL 7
interrupted: job 3 deploy was interrupted 6 times in a row, the last TIME, and is run again each time; a job that restarts its own worker never ends: let systemd-run restart that one
    runner cancel 3
interrupted: 2 jobs of deploy were each interrupted 5 times or more in a row, the last TIME, and are run again each time; a job that restarts its own worker never ends: let systemd-run restart that one
    runner cancel 3 4
skipping: schedule nightly has no times, and fires no more: no zone
    -
skipping: schedule nightly has no next time, and fires no more
    runner apply --file '/etc/a b.toml'
skipping: schedule nightly was skipped 3 times in a row: its key is held by job 2 copy, which is blocked; runner inspect 2 says why
    runner cancel 2
stale: nightly has not succeeded since it was applied TIME, and should at least every 1h
    runner enqueue --file '/etc/a b.toml' nightly
stale: nightly has not succeeded since it was applied TIME, and should at least every 1h; it cannot be enqueued from /etc/a b.toml now
    -
stale: nightly last succeeded TIME, and should at least every 1h; job 5 is unfinished; runner inspect 5 says more
    -
no_worker: 1 due job of queue net has waited since TIME: no worker is running for queue net
    runner service install
no_worker: 1 due job of queue net has waited since TIME: the worker of queue net is suspended and starts nothing
    kill -CONT 77
no_worker: 1 due job of queue net has waited since TIME: the run (pid 78) that was called for this is suspended
    kill -CONT 78
no_worker: 1 due job of queue net has waited since TIME: the worker of queue net is stopping and starts nothing
    runner work
no_worker: due jobs of queue net, the oldest since TIME, need a newer runner than its worker (pid 77), which has to be restarted, a unit by systemctl restart; kill 77 ends one that was started otherwise; runner work starts the new one then, unless cron does
    -
no_worker: 2 running jobs, the oldest since TIME: the worker (pid 77) is suspended: nobody records their ends
    kill -CONT 77
no_worker: 1 running job, the oldest since TIME: the worker (pid 77) died, and no other worker recovers them
    runner service install
no_worker: 2 running jobs, the oldest since TIME: the workers (pids 77, 78) died, and no other worker recovers them
    runner service install
no_worker: the time of schedule nightly passed without a run since TIME: no worker is running
    runner service install
no_worker: the time of schedule nightly passed without a run since TIME: the worker (pid 77) is older than the program that applied it, and has to be restarted, a unit by systemctl restart; kill 77 ends one that was started otherwise; runner work starts the new one then, unless cron does
    -
overdue: 3 due jobs of queue net: the oldest has waited for 2h, and nothing of the queue has started for 1h: the queue is at its limit, max_running 4; job 4 slow has been running since TIME; runner cancel 4 ends it
    -
overdue: 3 due jobs of queue net: the oldest has waited for 2h, and nothing of the queue has started for 1h: the only slot of its workers is busy; job 4 slow has been running since TIME; runner cancel 4 ends it
    -
overdue: 3 due jobs of queue net: the oldest has waited for 2h, and nothing of the queue has started for 1h: its workers do not take it; runner inspect workers shows them
    -
paused: queue net is paused and holds 1 due job, the oldest since TIME
    runner resume net
paused: queue net is paused until TIME and holds 2 due jobs, the oldest since TIME
    runner resume net
paused: schedule nightly is paused, and its time TIME has passed
    runner resume --schedule nightly
paused: schedule nightly is paused until TIME, and its time TIME has passed
    runner resume --schedule nightly
paused: everything is paused: nothing starts and no schedule fires
    runner resume --all
paused: everything is paused until TIME: nothing starts and no schedule fires; the oldest that is held back was due at TIME
    runner resume --all
changed: /etc/a b.toml has changed since it was applied: schedules s1, s2, s3, s4, s5 and 2 more
    runner apply --file '/etc/a b.toml'
changed: /f has changed since it was applied: queue net
    runner apply --file /f
changed: the time zone of this machine is UTC now; /etc/a b.toml was applied in another one, which still holds for schedules s1, s2, s3, s4, s5 and 2 more; applying it again takes the new one
    runner apply --file '/etc/a b.toml'
changed: /etc/a b.toml has changed since it was applied, and so has the time zone of this machine, which is UTC now: schedules s1, s2, s3, s4, s5 and 2 more
    runner apply --file '/etc/a b.toml'
changed: the time zone of this machine is TZ=XXX-14:17 now, which has no IANA name, so /etc/a b.toml cannot be applied; what was applied from it goes on: schedules s1, s2, s3, s4, s5 and 2 more; runner check --file '/etc/a b.toml' shows what to add
    -
changed: /etc/a b.toml is gone; what was applied from it goes on: schedules s1, s2, s3, s4, s5 and 2 more; runner apply --file PATH takes it over from its new place; runner apply --file '/etc/a b.toml' --none ends it if it was deleted on purpose
    -
changed: /etc/a b.toml is not read, because it is a FIFO; what was applied from it goes on: schedules s1, s2, s3, s4, s5 and 2 more; if it is not wanted, this ends it
    runner apply --file '/etc/a b.toml' --none
changed: /etc/a b.toml cannot be used now; what was applied from it goes on: schedules s1, s2, s3, s4, s5 and 2 more; runner check --file '/etc/a b.toml' shows why
    -
    "#);
}

#[test]
fn each_limit_of_a_queue_is_told_in_the_same_words() {
    let next = NOW.plus(Millis::from_secs(60));
    let rate = Rate::parse("1/m").unwrap();
    for (reason, words) in [
        (
            OverdueReason::Limit { max_running: 4, longest: None },
            "the queue is at its limit, max_running 4".to_owned(),
        ),
        (
            OverdueReason::AtLimit(QueueHold::Paced(rate, next)),
            format!("the queue is at its limit, rate 1/m; its next job starts {}", clock_time(next, NOW)),
        ),
    ] {
        let problem = Problem::Overdue { queue: "net".to_owned(), due: 1, oldest: NOW, reason };
        let message =
            entry(AttentionEntry { problem, alarm: true, jobs: vec![1] }, &CallTarget::default()).message;
        assert!(message.ends_with(&words), "{message}");
    }
}

#[test]
fn a_fact_is_the_sentence_without_its_commands() {
    for (problem, jobs) in problems() {
        let Attention { message, fact, ways, .. } =
            entry(AttentionEntry { problem, alarm: true, jobs }, &CallTarget::default());
        let own = fact.replace("runner retry 1 is what it said", "").replace("a newer runner than", "");
        assert!(!own.contains("runner "), "{fact}");
        assert!(message.starts_with(&safe_line(&fact)), "{message}");
        assert!(ways.iter().all(|way| message.contains(way.purpose.split(',').next().unwrap())), "{message}");
    }
}

#[test]
fn root_itself_is_told_to_name_itself() {
    let place = CallTarget::new(Some("/a.db".as_ref()), None).of_root(true);
    assert_eq!(place.service_install(), "runner service install --db /a.db --user root");
}

#[test]
fn every_command_names_the_database_and_the_job_file_of_the_call() {
    let place = CallTarget::new(Some("/a b.db".as_ref()), Some("my.toml".as_ref()));
    for (problem, jobs) in problems() {
        let (what, said) = (format!("{problem:?}"), "runner retry 1 is what it said");
        let Attention { message, command, .. } = entry(AttentionEntry { problem, alarm: true, jobs }, &place);
        let own = message.replace(said, "").replace("a newer runner than", "");
        for text in [own, command.unwrap_or_default()] {
            for call in text.split("runner ").skip(1) {
                let install = call.strip_prefix("service install ");
                let rest = install.unwrap_or_else(|| call.split_once(' ').unwrap_or_default().1);
                assert!(rest.starts_with("--db '/a b.db' --file "), "{call}: {what}");
                assert_eq!(rest.matches("--file").count(), 1, "{call}: {what}");
            }
        }
    }
}
