//! `runner run`: a job, what it is after, and the alerts of their deaths, run by the call itself.

use std::fs;

use rustix::process::{Pid, kill_process};

use crate::support::{Background, Sandbox, Signal, assert_fields, eventually, is_alive, json, wait_until};

const JOBS: &str = r#"
[jobs.night]
command = "echo begin $RUNNER_ATTEMPT >> log; [ $RUNNER_ATTEMPT -gt 1 ] || exec sleep 20"
backoff = "1ms"
[jobs.keyed]
command = "echo begin $RUNNER_ATTEMPT >> log; [ $RUNNER_ATTEMPT -gt 1 ] || exec sleep 20"
backoff = "1ms"
unique_key = "k"
[jobs.dump]
command = "echo dump; echo dump >> log"
[jobs.report]
command = "echo report; echo report >> log"
after = ["dump"]
[jobs.bad]
command = "echo out; echo err >&2; exit 3"
max_attempts = 1
on_dead = "alert"
[jobs.alert]
command = "echo alert of $RUNNER_DEAD_JOB_NAME >> log"
[jobs.behind]
command = "echo behind >> log"
after = ["bad"]
[jobs.retried]
command = "echo try $RUNNER_ATTEMPT; [ $RUNNER_ATTEMPT -gt 1 ]"
backoff = "1ms"
"#;

/// A `run` in the background.
fn start(sandbox: &Sandbox, line: &str) -> Background {
    Background::start(sandbox, sandbox.call(line))
}

#[test]
fn the_output_comes_as_if_the_command_had_been_typed_and_so_does_the_exit_status() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("run -- echo hello").ok().prints("hello\n");
    let done = sandbox.call("run -c").arg("printf 'a\\000b'; printf 'c\\033[31m' >&2; exit 3").run().exits(3);
    done.prints("a\0b").says("c\u{1b}[31m").says("dead, EXIT_3").says("runner inspect 2");
    sandbox.run("run dump").ok().prints("dump\n").quietly();
    let kept = sandbox.run("logs 1").ok();
    assert_eq!(kept.stdout, "hello\n");
    assert_eq!(sandbox.run("inspect workers --json").ok().stdout, "");
}

#[test]
fn what_waits_on_standard_input_is_not_passed_on_without_a_word() {
    let sandbox = Sandbox::new(
        "[jobs.plain]\ncommand = 'cat'\n[jobs.behind]\ncommand = 'true'\nafter = ['plain']\n\
         [jobs.keyed]\ncommand = 'cat'\nstdin = 'of the key'\n\
         [jobs.twice]\ncommand = 'test $RUNNER_ATTEMPT = 2'\nbackoff = '1ms'\n",
    );
    sandbox.write("input", "a\n");
    sandbox.write("empty", "");
    let run = |line: &str, input: &str| {
        // Nothing else reads this pipe, so that what was written stays in it.
        let script =
            format!("[ -p pipe ] || mkfifo pipe; exec 3<>pipe; printf 'b\n' >&3; runner run {line} {input}");
        sandbox.program("sh").with_runner_on_path().arg("-c").arg(script).run().exits(0)
    };
    let note =
        "standard input is not passed on to the job; runner run --stdin … gives it all that comes there";
    for (line, input) in [("plain", "< input"), ("plain", "<&3"), ("-- cat", "<&3"), ("behind", "<input")] {
        assert_eq!(run(line, input).prints("").stderr.matches(note).count(), 1, "{line} {input}");
    }
    assert_eq!(run("twice", "<&3").stderr.matches(note).count(), 1, "at its first attempt alone");
    assert_eq!(run("--json plain", "<&3").says("{\"note\":\"").json()["state"], "succeeded");
    for input in ["<empty", "</dev/null", "<&-", "3<&- </dev/null", "</"] {
        run("plain", input).prints("").quietly();
    }
    run("-q plain", "<&3").quietly();
    run("keyed", "<&3").prints("of the key").quietly();
    run("--stdin plain", "<input").prints("a\n").quietly();
    let closed = "true | runner run plain";
    sandbox.program("sh").with_runner_on_path().arg("-c").arg(closed).run().ok().quietly();
}

#[test]
fn a_retry_says_why_and_when() {
    let sandbox = Sandbox::new(JOBS);
    let done = sandbox.run("run retried").says("is retried: attempt").ok().prints("try 1\ntry 2\n");
    done.says("EXIT_1 is retried: attempt 2 of 3");
}

#[test]
fn quiet_prints_nothing_unless_the_job_does_not_succeed() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("run -q retried").ok().prints("").quietly();
    sandbox.run("run -q bad").exits(3).prints("out\n").says("err\n").says("job 2 bad: dead, EXIT_3");
    let stuck = sandbox.run("run -q behind").exits(1).prints("out\n");
    stuck.says("job 5 waits for job 4 bad, which is dead").says("err\n");
    sandbox.run("run -q --expires-in 1ms --after 4 -- true").exits(1).says("expired");
}

#[test]
fn json_is_the_final_job_with_its_last_attempt() {
    let sandbox = Sandbox::new(JOBS);
    let job = sandbox.run("run --json bad").exits(3).json();
    assert_fields(&job, &json!({"name": "bad", "state": "dead", "created": true}));
    assert_fields(&job["attempt"], &json!({"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}));
    let job = sandbox.run("run --json --unique-key x dump").ok().json();
    assert_fields(&job, &json!({"state": "succeeded", "created": true}));
}

#[test]
fn no_job_of_a_person_passes_for_an_alert() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("run --env RUNNER_DEAD_JOB_ID=5 -- echo hi").exits(2).prints("");
    assert!(ran.stderr.contains("runner itself sets RUNNER_DEAD_JOB_ID"), "{ran}");
}

#[test]
fn it_runs_what_the_job_is_after_and_the_alert_of_its_death_and_nothing_else() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("dump");
    sandbox.run("run report").ok().prints("dump\nreport\n").quietly();
    sandbox.run("run bad").exits(3);
    assert_eq!(sandbox.log(), ["dump", "report", "alert of bad"]);
    assert_eq!(sandbox.job(1)["phase"], "ready", "another one's job");
}

#[test]
fn while_it_lives_nobody_else_starts_its_jobs() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write(
        "jobs.toml",
        "[jobs.two]\ncommand = 'echo $RUNNER_WORKER_ID >> log; [ -e go ]'\nbackoff = '1h'\n",
    );
    let _worker = sandbox.worker("");
    let mut run = start(&sandbox, "run two");
    sandbox.until_logged(1);
    sandbox.until_state(1, "pending");
    let shown = sandbox.run("inspect workers --json").ok().json_lines();
    let own = shown.iter().find(|worker| worker["job_id"] == json!(1)).expect("the run");
    assert_fields(own, &json!({"queues": [], "alive": true}));
    sandbox.write("go", "");
    sandbox.run("change 1 --now").ok();
    run.wait().says("is retried: attempt").ok();
    assert_eq!(sandbox.log(), [own["worker_id"].as_str().unwrap(); 2], "every attempt is its own");
}

#[test]
fn the_next_call_goes_on_after_a_kill_exactly_once_key_or_no_key() {
    for name in ["night", "keyed"] {
        let sandbox = Sandbox::new(JOBS);
        let run = start(&sandbox, &format!("run {name}"));
        sandbox.until_logged(1);
        wait_until("the start is on record", || sandbox.job(1)["started_at"] != json!(null));
        run.kill();
        let next = sandbox.run(&format!("run {name}")).says("goes on with job 1").ok();
        assert!(!next.stderr.contains("options"), "this call has none: {next}");
        assert_eq!(sandbox.log(), ["begin 1", "begin 2"]);
        assert_eq!(sandbox.count_jobs(), 1);
        assert_fields(&sandbox.job(1), &json!({"state": "succeeded", "attempts": 2, "priority": 0}));
        sandbox.run("doctor").ok();
    }
}

#[test]
fn any_worker_goes_on_after_a_kill() {
    let sandbox = Sandbox::new(JOBS);
    let run = start(&sandbox, "run night");
    sandbox.until_logged(1);
    run.kill();
    sandbox.drain();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn its_row_stays_open_until_it_has_recovered_another_worker() {
    // What the dead worker has left ends only by force, and lets the job of the run end meanwhile. Nobody reads its errors now.
    let jobs = "[jobs.left]\ncommand = \"exec 2> /dev/null; trap ': > go' TERM; echo begun >> log; while :; do sleep 0.02; done\"\n\
                max_attempts = 1\n\
                [jobs.own]\ncommand = 'echo begun >> log; until [ -e go ]; do sleep 0.02; done'\n";
    let sandbox = Sandbox::new(jobs);
    sandbox.add("left");
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let mut run = start(&sandbox, "run own");
    sandbox.until_logged(2);
    worker.kill();
    run.wait().ok();
    assert_eq!(sandbox.states(), ["left dead", "own succeeded"]);
    let row =
        "SELECT ended_at >= (SELECT changed_at FROM jobs WHERE id = 1) FROM workers WHERE queues = '[]'";
    assert_eq!(sandbox.sql().number(row), 1, "it was closed before the attempt of the other was recorded");
}

#[test]
fn work_of_another_kind_is_not_taken_on() {
    let sandbox = Sandbox::new(JOBS);
    let run = start(&sandbox, "run night --label a");
    sandbox.until_logged(1);
    run.kill();
    sandbox.run("run dump").ok().quietly();
    sandbox.run("run -- echo other").ok().prints("other\n").quietly();
    assert_eq!(sandbox.job(1)["state"], "pending");
    let own = start(&sandbox, "run night --label b");
    sandbox.until_logged(3);
    own.kill();
    assert_eq!(sandbox.count_jobs(), 4);
}

#[test]
fn a_key_that_a_living_run_holds_is_left_to_it() {
    let sandbox = Sandbox::new(JOBS);
    let run = start(&sandbox, "run keyed");
    sandbox.until_logged(1);
    sandbox.run("run keyed").prints("").says("nothing new: job 1 already holds the unique key").ok();
    sandbox.run("enqueue --unique-key later --in 1h -- true").ok();
    let _worker = sandbox.worker("");
    let ran = sandbox.run("run --unique-key later -- true").says("pending since ").ok();
    ran.says("; it is due in ").says(", runner change 2 --now starts it now\n");
    sandbox.run("run keyed -q").ok().quietly();
    sandbox.run("run keyed --on-conflict error").exits(75);
    assert_fields(&sandbox.run("run keyed --json").exits(0).json(), &json!({"id": 1, "created": false}));
    run.kill();
}

#[test]
fn a_key_that_nobody_living_serves_is_taken_on() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("dump --unique-key k");
    sandbox.run("run dump --unique-key k").prints("dump\n").says("goes on with job 1").ok();
    sandbox.run("enqueue report --unique-key r").ok();
    sandbox
        .run("run report --unique-key r")
        .says("report, which nobody else would run; the options of this call are not")
        .ok()
        .prints("dump\nreport\n");
    assert_eq!(sandbox.count_jobs(), 3);
}

#[test]
fn other_work_that_holds_the_key_and_is_left_to_nobody_comes_before_its_own() {
    let jobs = "[jobs.load]\ncommand = 'echo load $* >> log'\nunique_key = 'k'\n\
                [jobs.report]\ncommand = 'echo report >> log'\nafter = ['load']\n";
    for (left, call, log) in [
        ("load --label monday -- monday", "load --label tuesday -- tuesday", ["load monday", "load tuesday"]),
        ("load -- --full", "load", ["load --full", "load"]),
        ("load", "load -- --full", ["load", "load --full"]),
        ("--name other --unique-key k -c 'echo other >> log'", "load", ["other", "load"]),
        // It is due later, and nothing else can be enqueued.
        ("load --in 300ms -- later", "load", ["load later", "load"]),
        ("load --in 300ms", "load --env X=1", ["load", "load"]),
        // The holder is the dependency.
        ("load -- --full", "report", ["load --full", "report"]),
    ] {
        let sandbox = Sandbox::new(jobs);
        sandbox
            .program("sh")
            .with_runner_on_path()
            .arg("-c")
            .arg(format!("exec runner enqueue {left}"))
            .run()
            .ok();
        let ran = sandbox.run(&format!("run {call}")).exits(0);
        assert_eq!(sandbox.log(), log, "{left}, then {call}: {ran}");
        assert_eq!(sandbox.count_jobs(), 2, "{left}, then {call}");
        let said = ran.stderr.contains("goes on with job 1") && ran.stderr.contains("comes after it");
        assert_eq!(said, call != "report", "{left}, then {call}: {ran}");
    }
    // Nothing comes after what cannot end, and a person hears of it.
    let sandbox = Sandbox::new(jobs);
    sandbox.run("enqueue --name bad -- false").ok();
    sandbox.run("enqueue load --after 1 -- stuck").ok();
    sandbox.run("work --until-idle -q").exits(1);
    sandbox.run("run load -q").exits(1).says("job 2 waits for job 1 bad, which is dead");
    assert_eq!(sandbox.count_jobs(), 2);
}

#[test]
fn a_run_whose_job_another_run_replaces_is_left_to_that() {
    let sandbox = Sandbox::new(
        "[jobs.sync]\ncommand = 'echo sync >> log; [ -e go ] || exec sleep 60'\nunique_key = 'k'\n",
    );
    sandbox.finish("-- true");
    sandbox.run("pause default").exits(0);
    let mut first = start(&sandbox, "run sync --on-conflict replace");
    eventually("it waits", || (sandbox.count_jobs() == 2).then_some(()));
    let mut second = start(&sandbox, "run sync --on-conflict replace -q");
    first.wait().says("another run has put job 3 sync in the place of this one, and runs it").exits(0);
    sandbox.write("go", "");
    sandbox.run("resume default").exits(0);
    second.wait().ok().quietly();
    assert_eq!(sandbox.log(), ["sync"]);
}

#[test]
fn a_signal_to_stop_leaves_the_job_for_the_next_call() {
    for options in ["", " -q"] {
        let sandbox = Sandbox::new(JOBS);
        let mut run = start(&sandbox, &format!("run night{options}"));
        sandbox.until_logged(1);
        run.signal(Signal::TERM);
        run.wait().exits(143).says("SIGTERM: job 1").says("runner run night goes on with it");
        assert_fields(&sandbox.job(1), &json!({"phase": "ready", "attempts": 1, "budget_used": 0}));
        sandbox.run("run night").says("goes on with job 1").ok();
        assert_eq!(sandbox.count_jobs(), 1);
    }
}

#[test]
fn what_a_signal_to_stop_ends_is_interrupted_whatever_it_exits_with() {
    let line = "trap 'exit 0' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        for (option, state) in [("--max-attempts 3", "pending"), ("--retryable false", "dead")] {
            let sandbox = Sandbox::empty();
            let mut run = Background::start(&sandbox, sandbox.call(&format!("run {option} -c")).arg(line));
            sandbox.pid_of("pid");
            run.signal(signal);
            let done = run.wait().exits(status);
            if state == "dead" {
                done.says("job 1 is not run again by itself; runner retry 1 --force puts it back");
            }
            assert_fields(&sandbox.attempt(1, 1), &json!({"outcome": "interrupted", "exit_code": 0}));
            assert_eq!(sandbox.job(1)["state"], state);
        }
    }
}

/// The name alone would be other work.
#[test]
fn a_signal_to_stop_names_no_call_without_the_label_and_the_arguments() {
    let sandbox = Sandbox::new("[jobs.night]\ncommand = 'echo $1 >> log; exec sleep 20'\n");
    for (id, work) in [(1, "--label nas"), (2, "-- /home")] {
        let mut run = start(&sandbox, &format!("run night {work}"));
        sandbox.until_logged(id);
        run.signal(Signal::TERM);
        run.wait().exits(143).says("the same call goes on with it, and so does runner work");
    }
}

#[test]
fn a_rate_is_told_although_its_next_start_is_another_each_time() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("run -c true").ok();
    sandbox.run("limit default --rate 2/m").ok();
    sandbox.run("run -c true").ok();
    let run = start(&sandbox, "run -c true");
    run.until_it_says("queue default is at its limit: rate 2/m");
}

#[test]
fn ctrl_c_cancels_the_job_and_what_came_with_it() {
    let sandbox = Sandbox::new(
        "[jobs.first]\ncommand = 'echo $$ > pid; exec sleep 20'\n[jobs.second]\ncommand = 'true'\nafter = ['first']\n",
    );
    let mut run = start(&sandbox, "run second");
    let pid = sandbox.pid_of("pid");
    run.signal(Signal::INT);
    run.wait().exits(130);
    assert_eq!(
        [sandbox.job(1)["state"].clone(), sandbox.job(2)["state"].clone()],
        ["cancelled", "cancelled"]
    );
    assert!(!is_alive(pid));
}

#[test]
fn a_second_ctrl_c_kills() {
    let sandbox = Sandbox::empty();
    let line = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let mut run = Background::start(&sandbox, sandbox.call("run --grace-period 10m -c").arg(line));
    let pid = sandbox.pid_of("pid");
    run.signal(Signal::INT);
    wait_until("the cancel is on record", || sandbox.job(1)["cancel_requested_at"] != json!(null));
    run.signal(Signal::INT);
    run.wait().exits(130);
    assert!(!is_alive(pid));
}

#[test]
fn a_reader_that_is_gone_or_reads_nothing_changes_nothing() {
    let sandbox = Sandbox::empty();
    let line = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo end >> log";
    let script = format!("runner run -c '{line}' | head -1");
    let done = sandbox.program("sh").arg("-c").arg(script).with_runner_on_path().run().ok();
    assert_eq!(done.stdout, "0123456789\n");
    assert_eq!(sandbox.log(), ["end"]);
    assert_eq!(sandbox.job(1)["state"], "succeeded");
    // Nobody reads, and the timeout holds all the same.
    let script =
        "runner run --timeout 300ms -c 'yes' | { while [ -d $PWD ] && [ ! -e done ]; do sleep 0.05; done; }";
    let mut reader =
        Background::start(&sandbox, sandbox.program("sh").arg("-c").arg(script).with_runner_on_path());
    wait_until("the job to be enqueued", || sandbox.count_jobs() == 2);
    sandbox.until_state(2, "dead");
    sandbox.write("done", "");
    reader.wait().says("yes [yes]: dead, TIMEOUT: its attempts are used up; runner inspect").ok();
}

#[test]
fn a_signal_ends_the_wait_for_a_reader_after_the_job_has_ended() {
    for (options, end, state, signal, status) in [
        ("", "", "succeeded", Signal::HUP, 0),
        ("", "; exit 7", "dead", Signal::TERM, 7),
        ("", "; exit 7", "dead", Signal::INT, 7),
        ("--json", "", "succeeded", Signal::TERM, 0),
        ("--json", "; exit 7", "dead", Signal::HUP, 7),
    ] {
        let sandbox = Sandbox::empty();
        let (unread, writing) = std::io::pipe().expect("a pipe");
        let both = writing.try_clone().expect("its end");
        let line = format!("head -c 100000 /dev/zero{end}");
        let mut run = sandbox.call(&format!("run {options} -c")).arg(line).spawn(writing, both);
        wait_until("the job to be enqueued", || sandbox.db().exists() && sandbox.count_jobs() == 1);
        sandbox.until_state(1, state);
        kill_process(Pid::from_child(&run), signal).expect("the program is there");
        let ended = eventually("the program ends", || run.try_wait().expect("a child"));
        assert_eq!(ended.code(), Some(status), "{options} {signal:?} {end}");
        drop(unread);
    }
}

#[test]
fn a_slow_reader_gets_every_byte() {
    let sandbox = Sandbox::empty();
    let script = "runner run -c 'seq 1 100000' | { read first; sleep 0.3; { echo $first; cat; } | cksum; }; seq 1 100000 | cksum";
    let done = sandbox.program("sh").arg("-c").arg(script).with_runner_on_path().run().ok();
    let sums: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn it_says_what_it_waits_for() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("dump");
    sandbox.run("pause default").ok();
    let mut run = start(&sandbox, "run --after 1 -- echo done");
    run.until_it_says("waiting for job 1 dump, which is ready: queue default is paused");
    sandbox.run("resume default").ok();
    run.until_it_says("no worker is running for queue default");
    sandbox.drain();
    assert_eq!(
        run.wait().says("runner: queue default is paused; runner resume default opens it").ok().stdout,
        "done\n"
    );
}

#[test]
fn limits_hold_for_it_and_it_says_so() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("run dump").ok();
    sandbox.run("limit default --max-running 1").ok();
    let first = start(&sandbox, "run night");
    sandbox.until_logged(2);
    let mut second = start(&sandbox, "run dump");
    second.until_it_says("queue default is at its limit: max_running 1");
    assert_eq!(sandbox.job(3)["state"], "pending");
    assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]), "no worker is needed");
    sandbox.run("cancel 2").ok();
    second.wait().says("runner: queue default is at its limit: max_running").ok();
    drop(first);
}

#[test]
fn it_is_no_worker() {
    let sandbox = Sandbox::new(JOBS);
    let run = start(&sandbox, "run night");
    sandbox.until_logged(1);
    let worker = sandbox.worker("--single");
    worker.until_it_says("started");
    sandbox.run("restore x").exits(66);
    drop(worker);
    drop(run);
}

#[test]
fn what_starts_later_is_refused() {
    let sandbox = Sandbox::new(JOBS);
    for option in ["--in 1h", "--at 12:00"] {
        sandbox.run(&format!("run dump {option}")).exits(2).says("runner enqueue takes them");
    }
    for option in ["--all", "--batch -", "--wait"] {
        sandbox.run(&format!("run {option}")).exits(2);
    }
    sandbox.run("run dump --dry-run").ok().shows("would enqueue dump");
    assert!(!sandbox.db().exists());
}

#[test]
fn output_that_a_full_disk_does_not_take_is_told_and_the_job_goes_on() {
    let sandbox = Sandbox::new(JOBS);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
    let done = sandbox.call("run dump").run_into(full()).exits(74);
    done.says("could be passed on to standard output: No space left on device");
    assert_eq!(sandbox.job(1)["state"], "succeeded");
    assert_eq!(sandbox.run("logs 1").ok().stdout, "dump\n");
    sandbox.call("run bad").run_into(full()).exits(3).says("No space left on device");
}

#[test]
fn a_job_can_report_under_any_umask() {
    let sandbox = Sandbox::empty();
    let line = "umask 0777; exec runner run -c 'stat -c %a \"${RUNNER_REPORT%/*}\"'";
    sandbox.program("sh").with_runner_on_path().arg("-c").arg(line).run().ok().prints("700\n");
}

#[test]
fn a_later_run_tells_of_a_death_of_a_killed_one() {
    let jobs = "[jobs.once]\ncommand = 'echo once >> log; [ -e go ] || exec sleep 60'\nretryable = false\non_dead = 'mail'\n
                [jobs.load]\ncommand = 'exit 1'\nmax_attempts = 1\non_dead = 'mail'\n
                [jobs.mail]\ncommand = 'echo mail $RUNNER_DEAD_JOB_ID >> log; [ -e go ] || exec sleep 60'\n";
    for (line, status, log) in [
        // The later call records the death.
        ("run once -q", 0, ["mail 1", "once", "once"]),
        // The run had recorded it, and was killed while it told of it.
        ("run load -q", 1, ["mail 1", "mail 1", "mail 4"]),
    ] {
        let sandbox = Sandbox::new(jobs);
        let killed = Background::start(&sandbox, sandbox.call(line));
        sandbox.until_logged(1);
        killed.kill();
        sandbox.write("go", "");
        // A call for other work does not tell of it.
        sandbox.run("run -q -- true").ok();
        assert_eq!(sandbox.log().len(), 1, "{line}");
        sandbox.run(line).exits(status);
        let mut said = sandbox.log();
        said.sort();
        assert_eq!(said, log, "{line}");
        assert_eq!(
            sandbox.sql().number("SELECT count(*) FROM jobs WHERE state IN ('pending', 'running')"),
            0
        );
    }
}

#[test]
fn the_status_of_a_job_that_failed_counts_where_its_report_cannot_be_written() {
    let sandbox = Sandbox::empty();
    let run = |line: &str, command: &str| {
        let file = fs::File::options().write(true).open("/dev/full").expect("a device");
        let call = sandbox.call(line);
        if command.is_empty() { call.run_into(file) } else { call.arg("-c").arg(command).run_into(file) }
    };
    run("run --json", "true").exits(74);
    run("run --json", "exit 5").exits(5);
    run("run", "echo said; exit 5").exits(5).says("could be passed on");
    run("wait 1", "").exits(74).says("could not write to standard output");
    run("wait 2 --json", "").exits(5).says("\"status\":5}");
    run("wait 2", "").exits(5).says("could not write to standard output");
    let _worker = sandbox.worker("");
    run("enqueue --wait --json", "exit 6").exits(6).says("\"status\":6}");
}

/// A job that stays until the file `go` is there, and whose lost attempts are made up for at once.
const STAYS: &str = "[jobs.load]\ncommand = 'cat >> rows; echo $X >> log; [ -e go ] || exec sleep 60'\n\
                     backoff = { strategy = 'constant', delay = '0s', jitter = false }\n";

#[test]
fn a_call_that_says_more_than_which_work_it_is_runs_its_own_job_after_what_is_left() {
    for (options, input, jobs) in [
        ("--stdin", "tuesday\n", 2),
        ("--env X=tuesday", "", 2),
        ("--idempotency-key tuesday", "", 2),
        ("--priority 1", "", 2),
        // The same call again, and one that says no more.
        ("--idempotency-key monday", "", 1),
        ("", "", 1),
    ] {
        let sandbox = Sandbox::new(STAYS);
        sandbox.write("input", "monday\n");
        let line = "exec runner run load -q --stdin --idempotency-key monday --env X=monday < input";
        let first = sandbox.program("sh").with_runner_on_path().arg("-c").arg(line);
        let killed = Background::start(&sandbox, first);
        sandbox.until_logged(1);
        killed.kill();
        sandbox.write("go", "");
        let ran = sandbox.call(&format!("run load {options}")).stdin(input).run().exits(0);
        assert!(ran.stderr.contains("goes on with job 1 load"), "{options}: {ran}");
        assert_eq!(ran.stderr.contains("the job of this call comes after it"), jobs == 2, "{options}: {ran}");
        assert_eq!(sandbox.count_jobs(), jobs, "{options}");
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{options}");
        let rows = ["monday\nmonday\n", input].concat();
        assert_eq!(sandbox.read("rows"), rows, "{options}");
        let last = if options.contains("X=tuesday") {
            "tuesday"
        } else if jobs == 2 {
            ""
        } else {
            "monday"
        };
        assert_eq!(sandbox.log().last().map(String::as_str), Some(last), "{options}");
    }
}

#[test]
fn ctrl_c_while_an_earlier_job_is_finished_goes_no_further() {
    let sandbox = Sandbox::new(STAYS);
    let killed = Background::start(&sandbox, sandbox.call("run load -q"));
    sandbox.until_logged(1);
    killed.kill();
    let mut later = Background::start(&sandbox, sandbox.call("run load --env X=tuesday"));
    sandbox.until_logged(2);
    later.signal(Signal::INT);
    later.wait().exits(130);
    assert_eq!((sandbox.count_jobs(), &sandbox.job(1)["state"]), (1, &json!("cancelled")));
}

#[test]
fn it_takes_on_what_becomes_left_to_nobody_while_it_runs() {
    let jobs = "[jobs.first]\ncommand = 'echo first >> log; [ -e go ] || exec sleep 60'\nunique_key = 'first'\n\
                backoff = { strategy = 'constant', delay = '0s', jitter = false }\n\
                [jobs.second]\ncommand = 'echo second >> log'\nafter = ['first']\n";
    // A worker or another run holds what the job is after, and is killed.
    for holder in ["work -j1", "run first -q"] {
        let sandbox = Sandbox::new(jobs);
        sandbox.run("enqueue first").ok();
        let holder = Background::start(&sandbox, sandbox.call(holder));
        sandbox.until_logged(1);
        let mut run = Background::start(&sandbox, sandbox.call("run second"));
        eventually("it has its job", || (sandbox.count_jobs() == 2).then_some(()));
        holder.kill();
        sandbox.write("go", "");
        run.wait().exits(0);
        assert_eq!(sandbox.log(), ["first", "first", "second"]);
    }
}
