//! `runner work`: slots, queues, order, and when it ends.

use std::{fs, thread};

use rustix::process::Signal;

use crate::support::{Background, Sandbox, assert_fields, eventually, json};

#[test]
fn as_many_run_at_once_as_there_are_slots_and_no_more() {
    // Each of the first three waits until three have begun: with fewer slots none of them ever would.
    let sandbox = Sandbox::empty();
    let line = "touch in.$RUNNER_JOB_ID; until [ -e go ] || [ ! -e runner.db ]; do \
                [ $(ls in.* | wc -l) -lt 3 ] || touch go; sleep 0.02; done; ls in.* | wc -l >> log; rm in.$RUNNER_JOB_ID";
    for _ in 0..8 {
        sandbox.add_line("--timeout 20s", line);
    }
    let started = sandbox.run("work --jobs 3 --drain --log json").ok().json_lines().remove(0);
    assert_fields(&started, &json!({"event": "worker_started", "slots": 3}));
    let counts = sandbox.log();
    assert!(
        counts.len() == 8 && counts.iter().all(|count| ["1", "2", "3"].contains(&count.trim())),
        "{counts:?}"
    );
}

#[test]
fn only_the_selected_queues_are_looked_at() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_QUEUE >> log'\n");
    for queue in ["a", "b", "c"] {
        sandbox.add(&format!("job --queue {queue}"));
    }
    sandbox.run("work --drain --queue a --queue c").ok();
    let mut ran = sandbox.log();
    ran.sort();
    assert_eq!(ran, ["a", "c"]);
    sandbox.run("work --until-idle --queue nobody").ok();
    assert_eq!(sandbox.job(2)["state"], "pending");
}

#[test]
fn the_order_is_priority_then_due_time_then_id() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_JOB_ID >> log'\n");
    sandbox.add("job --in 1h");
    sandbox.run("enqueue job job").ok();
    sandbox.add("job --priority 5");
    sandbox.add("job --priority -5");
    sandbox.add("job --priority 5 --queue other");
    // The first becomes due last.
    sandbox.run("change 1 --now").ok();
    sandbox.run("work -j1 --drain").ok();
    assert_eq!(sandbox.log(), ["4", "6", "2", "3", "1", "5"]);
}

#[test]
fn drain_waits_out_retries_and_schedules_and_until_idle_does_not() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log; exit 1'\nmax_attempts = 2\n");
    sandbox.add("job --backoff 1h");
    sandbox.add("job --in 1h");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log(), ["ran"]);
    let mut drain = Background::worker(&sandbox, sandbox.call("work --drain"));
    drain.until_it_says("this drain waits for 2 jobs due later, the next at ");
    drain.ask_to_stop(Signal::TERM);
    drain.wait().exits(143);
    for (state, id) in [("retrying", 1), ("scheduled", 2)] {
        assert_eq!(sandbox.run(&format!("inspect jobs --json --state {state}")).ok().json()["id"], id);
    }
    sandbox.run("cancel 1 2").ok();
    sandbox.add("job --backoff 50ms --in 100ms");
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log(), ["ran"; 3]);
}

#[test]
fn drain_and_until_idle_look_only_at_selected_queues_that_are_not_paused() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log'\n");
    sandbox.run("work --drain").ok();
    sandbox.run("work --until-idle").ok();
    sandbox.add("job --queue paused");
    sandbox.add("job --queue other --in 1h");
    sandbox.add("job --queue mine");
    sandbox.run("pause paused").ok();
    sandbox.run("work --drain --queue mine --queue paused").ok();
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log(), ["ran"]);
}

#[test]
fn a_worker_whose_program_was_replaced_is_named() {
    let sandbox = Sandbox::empty();
    let program = sandbox.path("program");
    let install = || fs::rename(sandbox.program_for_all(), &program).expect("it takes the place");
    install();
    let call = sandbox.program(program.to_str().expect("a path")).arg("work");
    let worker = Background::worker(&sandbox, call);
    let named = format!("the program of worker {} was replaced", worker.pid());
    assert!(!sandbox.run("inspect workers").ok().stdout.contains(&named));
    install();
    for line in ["inspect workers", "inspect", "doctor"] {
        sandbox.run(line).ok().shows(&named);
    }
    assert_eq!(sandbox.run("inspect workers --json").ok().json()["outdated"], true);
}

#[test]
fn max_jobs_counts_attempts_that_were_started() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log; exit 1'\nbackoff = '1ms'\n");
    sandbox.run("enqueue job job").ok();
    sandbox.run("work -j1 --max-jobs 2").ok();
    assert_eq!(sandbox.log().len(), 2);
    sandbox.run("work -j1 --max-jobs 4").exits(1);
    assert_eq!(sandbox.log().len(), 6);
}

#[test]
fn a_worker_that_recorded_a_death_exits_with_1() {
    let sandbox =
        Sandbox::new("[jobs.good]\ncommand = 'true'\n[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n");
    sandbox.run("enqueue good").ok();
    sandbox.run("work --drain").ok();
    sandbox.run("enqueue good bad").ok();
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("enqueue good").ok();
    sandbox.run("work --drain").ok();
    sandbox.run("enqueue bad").ok();
    sandbox.run("work --max-jobs 1").exits(1);
}

#[test]
fn work_of_another_process_wakes_it() {
    // One after the other: were each found by looking once a second, they would not all be done in time.
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log'\n");
    let _worker = sandbox.worker("-j1");
    let mut enqueued = 0;
    eventually("forty jobs, each enqueued after the one before has run", || {
        while sandbox.log().len() == enqueued && enqueued < 40 {
            sandbox.run("enqueue -q job").ok();
            enqueued += 1;
        }
        (sandbox.log().len() == 40).then_some(())
    });
}

#[test]
fn a_job_becomes_due_without_anybody_waking_the_worker() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo ran >> log'\n");
    let _worker = sandbox.worker("-j1");
    sandbox.add("job --in 200ms");
    sandbox.until_logged(1);
    let job = sandbox.until_state(1, "succeeded");
    assert!(job["started_at"].as_str() >= job["run_at"].as_str(), "{job}");
}

#[test]
fn every_id_runs_once_while_others_enqueue_batches() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_JOB_ID >> log'\n");
    let _workers = [sandbox.worker("-j2"), sandbox.worker("-j2")];
    let enqueue = || {
        let batch =
            || sandbox.call("enqueue --batch -").stdin("{\"name\":\"job\"}\n".repeat(3)).run().ok().ids();
        (0..8).flat_map(|_| batch()).collect::<Vec<_>>()
    };
    let mut printed: Vec<u64> = thread::scope(|scope| {
        let enqueuers = [0; 4].map(|_| scope.spawn(enqueue));
        enqueuers.into_iter().flat_map(|enqueuer| enqueuer.join().expect("the calls end")).collect()
    });
    sandbox.run("work -j2 --drain").ok();
    let mut ran: Vec<u64> = sandbox.log().iter().map(|line| line.parse().expect("an id")).collect();
    printed.sort_unstable();
    ran.sort_unstable();
    assert!(printed.iter().copied().eq(1..=96), "{printed:?}");
    assert_eq!(ran, printed);
}

#[test]
fn a_worker_claims_only_what_a_free_slot_starts() {
    let sandbox = Sandbox::new(
        "[jobs.long]\ncommand = 'echo long >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\n\
         [jobs.short]\ncommand = 'echo short >> log'\n",
    );
    sandbox.run("enqueue long short short short").ok();
    let _busy = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let counts = sandbox.run("inspect --json").ok().json()["counts"].clone();
    assert_fields(&counts, &json!({"running": 1, "ready": 3}));
    sandbox.run("cancel 2").ok().prints("job 2 short: cancelled\n");
    // An idle worker gets the other two, and the busy one goes on.
    sandbox.run("work -j1 --max-jobs 2").ok();
    assert_eq!(sandbox.log(), ["long", "short", "short"]);
    assert_eq!(sandbox.job(1)["state"], "running");
}

#[test]
fn the_log_as_json_goes_to_standard_output() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name good --label eu -- true");
    sandbox.add_line(
        "--name again --max-attempts 2 --backoff 1ms",
        "echo message=broken >> $RUNNER_REPORT; exit 3",
    );
    sandbox.add("--queue gone --expires-in 1ms -- true");
    let ran = sandbox.run("work -j1 --drain --log json").exits(1).quietly();
    let events = ran.json_lines();
    let words: Vec<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!((words.first(), words.last()), (Some(&"worker_started"), Some(&"worker_stopped")));
    let of = |word: &str, job: u64| {
        let event = events.iter().find(|event| event["event"] == word && event["job_id"] == job);
        event.unwrap_or_else(|| panic!("no {word}: {ran}"))
    };
    assert_fields(of("job_started", 1), &json!({"name": "good", "label": "eu", "attempt": 1}));
    assert_fields(
        of("job_succeeded", 1),
        &json!({"name": "good", "label": "eu", "attempt": 1, "error_code": null, "message": null}),
    );
    let failed = json!({"name": "again", "label": null, "error_code": "EXIT_3", "message": "broken"});
    let (retry, dead) = (of("retry_scheduled", 2), of("job_dead", 2));
    assert_fields(retry, &failed);
    assert_fields(dead, &failed);
    assert_fields(dead, &json!({"dead_reason": "attempts_exhausted", "attempt": 2}));
    assert!(retry["delay_ms"].is_u64(), "{retry}");
    for event in [of("job_succeeded", 1), retry, dead] {
        assert!(event["duration_ms"].is_u64(), "{event}");
    }
    for event in &events {
        let is_of_a_job = event.get("job_id").is_some();
        assert!(!is_of_a_job || event.get("name").and(event.get("attempt")).is_some(), "{event}");
        assert!(
            event["time"].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')),
            "{event}"
        );
    }
}

#[test]
fn bad_options_are_usage_errors() {
    let sandbox = Sandbox::empty();
    for options in [
        "-j0",
        "-j x",
        "--queue a/b",
        "--shutdown-timeout 5",
        "--log xml",
        "some",
        "--max-jobs 0",
        "--drain --until-idle",
    ] {
        sandbox.run(&format!("work {options}")).exits(2);
    }
    assert!(!sandbox.db().exists());
}

#[test]
fn work_that_another_worker_puts_back_wakes_an_idle_one() {
    let sandbox =
        Sandbox::new("[jobs.back]\ncommand = 'echo $$ >> pid; [ $RUNNER_ATTEMPT = 2 ] || exec sleep 60'\n");
    sandbox.add("back");
    let mut first = sandbox.worker("-j1 --max-jobs 1");
    sandbox.pid_of("pid");
    let _second = sandbox.worker("-j1");
    first.ask_to_stop(Signal::TERM);
    first.signal(Signal::TERM);
    sandbox.until_state(1, "succeeded");
    first.wait();
}

#[test]
fn a_worker_counts_only_its_queues() {
    let sandbox = Sandbox::empty();
    sandbox.add("--queue a -- true");
    sandbox.add("--queue b --expires-in 1ms -- true");
    let ran = sandbox.run("work --drain --queue a").ok();
    ran.says("job 2 true: dead, it expired").says("1 attempt recorded, 1 succeeded, 0 dead");
    assert_eq!(sandbox.job(2)["state"], "dead", "any worker records an expiry");
}

#[test]
fn a_queue_of_one_slot_never_shows_two_running() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue -q --batch -").stdin("{\"command\":\"true\"}\n".repeat(200)).run().ok();
    let mut worker = sandbox.worker("-j1 --drain");
    let sql = sandbox.sql();
    let count = |state: &str| sql.number(&format!("SELECT count(*) FROM jobs WHERE state = '{state}'"));
    while count("pending") > 0 {
        assert!(count("running") <= 1);
    }
    worker.wait().ok();
}

#[test]
fn of_sixteen_started_at_once_with_single_one_works() {
    let sandbox = Sandbox::empty();
    for round in 0..3 {
        let start = |_| Background::start(&sandbox, sandbox.call("work --single"));
        let mut all: Vec<Background> = (0..16).map(start).collect();
        let has_given_way = |worker: &Background| worker.stderr().contains("is alive already");
        eventually("fifteen of them find another", || {
            (all.iter().filter(|worker| has_given_way(worker)).count() == 15).then_some(())
        });
        let at = all.iter().position(|worker| !has_given_way(worker)).expect("one that works");
        let only = all.remove(at);
        only.until_it_says(" started: ");
        for worker in &mut all {
            worker.wait().says("runner: a worker of this database is alive already; runner inspect").ok();
        }
        // A dead worker is in nobody's way.
        only.kill();
        sandbox.add("-- true");
        sandbox.run("work --single --drain").says("1 attempt recorded").ok();
        assert_eq!(sandbox.job(round + 1)["state"], "succeeded");
    }
}

#[test]
fn single_gives_way_to_any_worker_that_is_alive() {
    let sandbox = Sandbox::empty();
    sandbox.add("--queue other -- sleep 60");
    let mut other = sandbox.worker("--queue other");
    sandbox.until_state(1, "running");
    let gives_way = || {
        sandbox.run("work --single").says("a worker of this database is alive already").ok().prints("");
        sandbox.run("work --single -q").ok().prints("").quietly();
    };
    gives_way();
    other.signal(Signal::STOP);
    eventually("the worker is suspended", || {
        sandbox.run("inspect workers").stdout.contains("suspended").then_some(())
    });
    gives_way();
    other.signal(Signal::CONT);
    other.ask_to_stop(Signal::TERM);
    gives_way();
    // A cleaner of old files removes its lock file.
    let row = sandbox.sql().text("SELECT name FROM workers");
    std::fs::remove_file(sandbox.path(&format!("runner.db.run/{row}.lock"))).expect("its lock file");
    gives_way();
    other.signal(Signal::TERM);
    other.wait();
    sandbox.run("work --single --max-jobs 1 --queue none --until-idle").says(" started: ").ok();
}

#[test]
fn a_quiet_worker_tells_deaths_and_nothing_else() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.add_line("--max-attempts 2 --backoff 1ms", "exit 3");
    sandbox.add("--expires-in 1ms -- true");
    let said = sandbox.run("work -q --drain").exits(1).prints("").stderr;
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].starts_with("runner: job 2 exit [exit 3]: dead after "), "{said}");
    assert!(lines[0].contains("EXIT_3"), "{said}");
    assert!(lines[1].starts_with("runner: job 3 true: dead, it expired"), "{said}");
}

#[test]
fn without_j_there_are_at_least_four_slots() {
    let sandbox = Sandbox::empty();
    let started = sandbox.run("work --drain --log json").ok().json_lines().remove(0);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    assert_fields(&started, &json!({"event": "worker_started", "slots": cpus.max(4)}));
}
