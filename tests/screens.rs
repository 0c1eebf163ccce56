//! What a person sees of one thing.

use crate::support::{Sandbox, assert_screen};

const JOBS: &str = r#"
[jobs.push]
description = "Pushes"
command = "echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22"
queue = "net"
backoff = ["20ms"]
timeout = "30s"
exit_codes = { 22 = "HTTP_ERROR" }
[jobs.fine]
command = "echo result=42 >> $RUNNER_REPORT"
unique_key = "fine"
[jobs.later]
command = ["touch", "a file"]
priority = 3
queue = "files"
expires_in = "2h"
[jobs.once]
command = "kill -KILL $$"
retryable = false
"#;

/// Jobs 1 push dead, 2 fine succeeded, 3 later scheduled, 4 once dead, 5 fine cancelled.
pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue push fine").ok();
    sandbox.add("later --in 1h");
    sandbox.add("once");
    sandbox.run("work -j1 --drain --queue default --queue net").exits(1);
    sandbox.add("fine");
    sandbox.run("cancel 5").ok();
    sandbox
}

#[test]
fn the_overview() {
    let sandbox = sandbox();
    sandbox.run("pause net").ok();
    let ran = sandbox.run("inspect").ok().quietly();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        [DIR]/runner.db
        jobs  1 scheduled, 1 succeeded, 2 dead, 1 cancelled
        workers  no worker is running: nothing starts until runner work does
        next  in [DURATION]

        queue  ready  scheduled  retrying  running
        files  0  1  0  0
        net  0  0  0  0  paused

        dead  1 HTTP_ERROR, 1 SIGNAL_KILL
                  runner inspect dead shows them, and what to type next
        ");
    });
}

#[test]
fn the_overview_of_nothing() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("inspect").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        there is no database yet at [DIR]/runner.db
        runner enqueue creates it: runner enqueue -- echo hello, then runner work --drain
        ");
    });
}

#[test]
fn the_story_of_a_dead_job() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect 1").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @"
        job 1 push: dead
          HTTP_ERROR, attempts_exhausted: all 2 runs of its budget failed, [AGO]
          no route

          command  echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22
          cwd  [DIR]
          queue  net, priority 0
          retries  2 runs, after 20ms, jitter ±25%
          timeout  30s, then SIGTERM, 10s later SIGKILL
          enqueued  [TIME], [AGO]

            1  [TIME]  [DURATION]  exit 22 -> HTTP_ERROR
               HTTP_ERROR is retried: attempt 2 of 2 in [DURATION]
               no route
            2  [TIME]  [DURATION]  exit 22 -> HTTP_ERROR
               HTTP_ERROR is final: attempt 2 of 2 was the last
               no route
               stderr: broken

        next  runner logs 1  runner retry 1
        ");
    });
}

#[test]
fn the_story_of_a_job_that_was_killed() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect 4").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        job 4 once: dead
          SIGNAL_KILL, not_retryable: it is not retryable, [AGO]

          command  kill -KILL $$
          cwd  [DIR]
          queue  default, priority 0
          retries  none: retryable = false, exactly one run
          enqueued  [TIME], [AGO]

            1  [TIME]  [DURATION]  SIGKILL -> SIGNAL_KILL
               SIGNAL_KILL is final: it is not retryable

        next  runner logs 4  runner retry 4 --force
        ");
    });
}

#[test]
fn the_story_of_a_success() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect 2").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        job 2 fine: succeeded
          done [AGO] after 1 attempt

          command  echo result=42 >> $RUNNER_REPORT
          cwd  [DIR]
          queue  default, priority 0
          retries  3 runs, exponential from 1s, ×2, at most 1h, jitter ±25%
          enqueued  [TIME], [AGO]
          key  fine
          result  42

            1  [TIME]  [DURATION]  exit 0

        next  runner logs 2
        ");
    });
}

#[test]
fn the_story_of_a_job_that_waits() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect 3").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @"
        job 3 later: scheduled
          due in [DURATION]
          no worker is running for queue files; runner work starts one

          command  touch 'a file'
          cwd  [DIR]
          queue  files, priority 3
          retries  3 runs, exponential from 1s, ×2, at most 1h, jitter ±25%
          enqueued  [TIME], [AGO]
          due  [TIME], in [DURATION]
          expires  [TIME], in [DURATION]
        ");
    });
}

#[test]
fn an_attempt_with_its_output() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect 1.2").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        job 1 push, attempt 2: failed, HTTP_ERROR
          decision  HTTP_ERROR is final: attempt 2 of 2 was the last
          started  [TIME]
          ended  [TIME], [AGO], exit 22
          took  [DURATION]
          message  no route
          worker  [WORKER]

        --- stdout
        trying

        --- stderr
        broken
        ");
    });
}

#[test]
fn the_log_of_a_worker() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue push fine").ok();
    let ran = sandbox.run("work -j1 --drain").exits(1).prints("");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        [TIME] worker [WORKER] started: 1 slot, every queue, [DIR]/runner.db
        [TIME] job 1 push: attempt 1 of 2 started, pid [PID]
        [TIME] job 1 push: HTTP_ERROR is retried: attempt 2 of 2 in [DURATION] (no route)
        [TIME] job 2 fine: attempt 1 of 3 started, pid [PID]
        [TIME] job 2 fine: succeeded after [DURATION]
        [TIME] job 1 push: attempt 2 of 2 started, pid [PID]
        [TIME] job 1 push: dead after [DURATION]: HTTP_ERROR is final: attempt 2 of 2 was the last (no route)
        [TIME] worker stopped: 3 attempts recorded, 1 succeeded, 1 dead
        ");
    });
}

#[test]
fn a_dry_run() {
    let sandbox = Sandbox::new(JOBS);
    let ran = sandbox.run("enqueue --all --dry-run").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        would enqueue push: echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22; queue net, priority 0, due at once, at most 2 runs
        would enqueue fine: echo result=42 >> $RUNNER_REPORT; queue default, priority 0, due at once, at most 3 runs
        would enqueue later: touch 'a file'; queue files, priority 3, due at once, at most 3 runs
        would enqueue once: kill -KILL $$; queue default, priority 0, due at once, at most 1 run
        ");
    });
}

#[test]
fn answers_of_cancel_and_retry() {
    let sandbox = sandbox();
    let ran = sandbox.run("cancel 3 2 1").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        job 3: cancelled
        job 2: succeeded before, left as it is
        job 1: dead before, left as it is
        ");
    });
    let ran = sandbox.run("retry 1 2 4 9").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(format!("{}---\n{}", ran.stdout, ran.stderr), @"
        job 1: pending again, due [AGO]
        ---
        runner: job 2 is succeeded; only dead and cancelled jobs are put back
        runner: job 4 is declared retryable = false; runner retry 4 --force runs it again
        runner: there is no job 9
        ");
    });
}

#[test]
fn nothing_is_coloured_unless_it_is_asked_for() {
    let sandbox = sandbox();
    for line in ["inspect", "inspect 1", "inspect dead", "inspect jobs", "explain 1"] {
        assert!(!sandbox.run(line).ok().stdout.contains('\u{1b}'), "{line}");
        assert!(!sandbox.run(&format!("{line} --color never")).ok().stdout.contains('\u{1b}'), "{line}");
    }
    sandbox.run("inspect 1 --color always").ok().shows("\u{1b}[");
    assert!(!sandbox.run("inspect 1 --json --color always").ok().stdout.contains('\u{1b}'));
}

#[test]
fn text_from_jobs_does_not_reach_a_screen_raw() {
    let sandbox = Sandbox::empty();
    let line = r"printf 'result=\033[31mred\nmessage=\033]0;title\007\n' > $RUNNER_REPORT; : '";
    sandbox.add_line("", &format!("{line}\u{1b}[2J'; exit 1"));
    sandbox.drain();
    for line in ["inspect 1", "inspect 1.1", "inspect jobs", "inspect dead", "explain 1"] {
        let ran = sandbox.run(line).ok();
        assert!(!ran.stdout.contains('\u{1b}'), "{ran}");
    }
    assert!(!sandbox.run("work --drain").stderr.contains('\u{1b}'));
}
