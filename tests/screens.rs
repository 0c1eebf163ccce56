//! The screens of every verb, as snapshots.

use crate::support::{MANY_KINDS, Sandbox, assert_screen, many_kinds};

#[test]
fn screens_of_one_job() {
    let sandbox = many_kinds();
    let seen = |line: &str| sandbox.run(line).ok().quietly().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(seen("inspect 1"), @"
        job 1 push: dead
          HTTP_ERROR, attempts_exhausted: its attempts are used up, [AGO]
          no route

          command  echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22
          cwd  [DIR]
          queue  net, priority 0
          retries  2 attempts, after 20ms, jitter ±25%
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
        insta::assert_snapshot!(seen("inspect 2"), @r"
        job 2 fine: succeeded
          done [AGO] after 1 attempt

          command  echo result=42 >> $RUNNER_REPORT
          cwd  [DIR]
          queue  default, priority 0
          retries  3 attempts, exponential from 1s, ×2, at most 1h, jitter ±25%
          enqueued  [TIME], [AGO]
          key  fine
          result  42

            1  [TIME]  [DURATION]  exit 0
        ");
        insta::assert_snapshot!(seen("inspect 3"), @"
        job 3 later: scheduled
          due in [DURATION]
          no worker is running for queue files; runner work starts one, runner service install one for good
          it dies (expired) unless it is started by then: in [DURATION]

          command  touch 'a file'
          cwd  [DIR]
          queue  files, priority 3
          retries  3 attempts, exponential from 1s, ×2, at most 1h, jitter ±25%
          enqueued  [TIME], [AGO]
          due  [TIME], in [DURATION]
          expires  [TIME], in [DURATION]
        ");
        insta::assert_snapshot!(seen("inspect 4"), @r"
        job 4 once: dead
          SIGNAL_KILL, not_retryable: it is not retryable, [AGO]

          command  kill -KILL $$
          cwd  [DIR]
          queue  default, priority 0
          retries  none: retryable = false, exactly one attempt
          enqueued  [TIME], [AGO]

            1  [TIME]  [DURATION]  SIGKILL -> SIGNAL_KILL
               SIGNAL_KILL is final: it is not retryable

        next  runner resolve 4  runner retry 4 --force
        ");
        insta::assert_snapshot!(seen("inspect 1.2"), @r"
        job 1 push, attempt 2: failed, HTTP_ERROR
          decision  HTTP_ERROR is final: attempt 2 of 2 was the last
          started  [TIME]
          ended  [TIME], [AGO], exit 22
          took  [DURATION]
          cpu  [DURATION]
          memory  [SIZE]
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
fn screens_of_lists() {
    let sandbox = many_kinds();
    let seen = |line: &str| sandbox.run(line).ok().quietly().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(seen("inspect dead"), @"
        HTTP_ERROR: 1 job, attempts_exhausted
          id  name  runs  died  what it said
           1  push  2/2  [AGO]  no route
          look  runner logs 1
          replay  runner retry 1

        SIGNAL_KILL: 1 job, not_retryable
          id  name  runs  died  what it said
           4  once  1/1  [AGO]
          look  runner inspect 4
          resolve runner resolve 4  if that was dealt with
          replay  runner retry 4 --force

        runner resolve ID takes off this list what was dealt with
        ");
        insta::assert_snapshot!(seen("inspect jobs"), @r"
        id  name  queue  state  runs  when  what
         5  fine  default  cancelled  0/3  [AGO]
         4  once  default  dead  1/1  [AGO]  SIGNAL_KILL, not_retryable
         3  later  files  scheduled  0/3  in [DURATION]
         2  fine  default  succeeded  1/3  [AGO]
         1  push  net  dead  2/2  [AGO]  HTTP_ERROR, no route, attempts_exhausted
        ");
        insta::assert_snapshot!(seen("inspect attempts"), @r"
        attempt  name  outcome  ended  took  when  decision
        1.2  push  failed  exit 22  [DURATION]  [AGO]  HTTP_ERROR is final: attempt 2 of 2 was the last
        4.1  once  failed  SIGKILL  [DURATION]  [AGO]  SIGNAL_KILL is final: it is not retryable
        2.1  fine  succeeded  exit 0  [DURATION]  [AGO]  succeeded
        1.1  push  failed  exit 22  [DURATION]  [AGO]  HTTP_ERROR is retried: attempt 2 of 2 in [DURATION]
        ");
        sandbox.run("pause net").ok();
        insta::assert_snapshot!(seen("inspect"), @r"
        [DIR]/runner.db
        dead  push died [CLOCK], HTTP_ERROR: no route; runner logs 1 shows more; runner resolve 1 if that was dealt with
                  runner retry 1
        dead  once died [CLOCK], SIGNAL_KILL; runner retry 4 --force runs it again
                  runner resolve 4
        jobs  1 scheduled, 1 succeeded, 2 dead, 1 cancelled
        workers  no worker is running, so nothing starts; runner work starts one, runner service install one for good
        next  in [DURATION]

        queue  ready  scheduled  retrying  running
        files  0  1  0  0
        net  0  0  0  0  paused

        ran lately  last 20 runs  last success  next
        once  ✗  none lately
        push  ✗✗  none lately
        fine  ✓  [AGO]
        ");
        insta::assert_snapshot!(seen("inspect queues"), @r"
        queue  ready  scheduled  retrying  running
        files  0  1  0  0
        net  0  0  0  0  paused
        ");
    });
}

#[test]
fn the_list_of_workers() {
    let sandbox = many_kinds();
    let _worker = sandbox.worker("-j2 --queue a");
    let ran = sandbox.run("inspect workers").ok();
    assert_screen(&sandbox, || {
        // The column of process ids is as wide as they are.
        let pid = ran.stdout.lines().nth(1).and_then(|row| row.split_whitespace().nth(1)).expect("a row");
        insta::assert_snapshot!(ran.stdout.replace(pid, "[PID]"), @r"
        worker  pid  state  running  started  queues
        [WORKER]  [PID]  alive  0 of 2  [AGO]  a
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
fn the_log_of_a_worker() {
    let sandbox = Sandbox::new(MANY_KINDS);
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
    let sandbox = Sandbox::new(MANY_KINDS);
    let ran = sandbox.run("enqueue --all --dry-run").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        would enqueue push: echo trying; echo broken >&2; echo message=no route >> $RUNNER_REPORT; exit 22; queue net, priority 0, due at once, at most 2 attempts
        would enqueue fine: echo result=42 >> $RUNNER_REPORT; queue default, priority 0, due at once, at most 3 attempts
        would enqueue later: touch 'a file'; queue files, priority 3, due at once, at most 3 attempts
        would enqueue once: kill -KILL $$; queue default, priority 0, due at once, at most 1 attempt
        ");
    });
}

#[test]
fn answers_of_cancel_and_retry() {
    let sandbox = many_kinds();
    let ran = sandbox.run("cancel 3 2 1").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @"
        job 3 later: cancelled
        job 2 fine: succeeded before, left as it is
        job 1 push: dead before, left as it is
        ");
    });
    let ran = sandbox.run("retry 1 2 4 9").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(format!("{}---\n{}", ran.stdout, ran.stderr), @"
        job 1 push: pending again, due [AGO]
        ---
        runner: job 2 is succeeded; only dead and cancelled jobs are put back
        runner: job 4 is declared retryable = false; runner retry 4 --force runs it again
        runner: there is no job 9
        ");
    });
}

#[test]
fn nothing_is_coloured_unless_it_is_asked_for() {
    let sandbox = many_kinds();
    for line in ["inspect", "inspect 1", "inspect dead", "inspect jobs"] {
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
    for line in ["inspect 1", "inspect 1.1", "inspect jobs", "inspect dead"] {
        let ran = sandbox.run(line).ok();
        assert!(!ran.stdout.contains('\u{1b}'), "{ran}");
    }
    assert!(!sandbox.run("work --drain").stderr.contains('\u{1b}'));
}
