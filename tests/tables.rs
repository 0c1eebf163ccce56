//! What a person sees of many things.

use crate::screens::sandbox;
use crate::support::assert_screen;
use crate::terminal::{look, wide_sandbox};

#[test]
fn dead_letters_by_error_code() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect dead").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @"
        HTTP_ERROR: 1 job
          id  name  runs  died  why  what it said
           1  push  2/2  [AGO]  attempts_exhausted  no route
          look  runner logs 1
          replay  runner retry 1

        SIGNAL_KILL: 1 job
          id  name  runs  died  why  what it said
           4  once  1/1  [AGO]  not_retryable
          look  runner logs 4
          replay  runner retry 4 --force
        ");
    });
}

#[test]
fn the_list_of_jobs() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect jobs").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        id  name  queue  state  runs  when  what
         5  fine  default  cancelled  0/3  [AGO]
         4  once  default  dead  1/1  [AGO]  SIGNAL_KILL, not_retryable
         3  later  files  scheduled  0/3  in [DURATION]
         2  fine  default  succeeded  1/3  [AGO]
         1  push  net  dead  2/2  [AGO]  HTTP_ERROR, attempts_exhausted, no route
        ");
    });
}

#[test]
fn the_list_of_attempts() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect attempts").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        attempt  name  outcome  ended  took  when  decision
        1.2  push  failed  exit 22  [DURATION]  [AGO]  HTTP_ERROR is final: attempt 2 of 2 was the last
        4.1  once  failed  SIGKILL  [DURATION]  [AGO]  SIGNAL_KILL is final: it is not retryable
        2.1  fine  succeeded  exit 0  [DURATION]  [AGO]  succeeded
        1.1  push  failed  exit 22  [DURATION]  [AGO]  HTTP_ERROR is retried: attempt 2 of 2 in [DURATION]
        ");
    });
}

#[test]
fn the_list_of_workers() {
    let sandbox = sandbox();
    let _worker = sandbox.worker("-j2 --queue a");
    let ran = sandbox.run("inspect workers").ok();
    assert_screen(&sandbox, || {
        // The column of process ids is as wide as they are.
        let pid = ran.stdout.lines().nth(1).and_then(|row| row.split_whitespace().nth(1)).expect("a row");
        insta::assert_snapshot!(ran.stdout.replace(pid, "[PID]"), @r"
        worker  pid  state  running  slots  started  queues
        [WORKER]  [PID]  alive  0  2  [AGO]  a
        ");
    });
}

#[test]
fn the_list_of_queues() {
    let sandbox = sandbox();
    sandbox.run("pause net").ok();
    let ran = sandbox.run("inspect queues").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        queue  ready  scheduled  retrying  running
        files  0  1  0  0
        net  0  0  0  0  paused
        ");
    });
}

#[test]
fn columns_that_there_is_no_room_for_are_named() {
    let sandbox = wide_sandbox();
    for (line, all) in [
        ("inspect attempts", "attempt name outcome ended took when decision"),
        ("inspect stats", "name jobs ok tries p50 p95 max wait50 wait95 last"),
        ("inspect dead", "id name runs died why what"),
        ("inspect jobs", "id name queue state runs when what"),
    ] {
        for columns in [300, 80, 60, 40] {
            let ran = look(&sandbox, &format!("{line} --color never"), columns).ok();
            let words = |line: &str| line.split([' ', ',', ';']).map(str::to_owned).collect::<Vec<_>>();
            let shown = words(ran.stdout.lines().find(|line| line.contains("name")).expect("a heading"));
            let told = ran.stdout.split_once("left out: ").map(|(_, told)| told.replace('\n', " "));
            let told = words(told.as_deref().and_then(|told| told.split(';').next()).unwrap_or_default());
            for column in words(all) {
                assert_ne!(shown.contains(&column), told.contains(&column), "{column} of {columns}: {ran}");
            }
        }
        assert!(!sandbox.run(line).ok().stdout.contains("left out"), "{line}");
    }
}
