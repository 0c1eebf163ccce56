//! Calls from inside a job: they never wait for the job that they are part of, nor for what waits for it.

use std::os::unix::fs::symlink;

use crate::support::{Background, Call, Finished, Sandbox, Signal, json, signal, wait_until};

/// A call whose jobs find the program.
fn call(sandbox: &Sandbox, line: &str) -> Call {
    sandbox.call(line).with_runner_on_path()
}

/// Runs a job of this line, without a worker. A line that hangs is ended, which is no success.
fn outer(sandbox: &Sandbox, options: &str, line: &str) -> Finished {
    call(sandbox, &format!("run --timeout 40s --name outer {options} -c")).arg(line).run()
}

/// Enqueues a job of this line for a worker, and gives its id.
#[track_caller]
fn add(sandbox: &Sandbox, options: &str, line: &str) -> u64 {
    sandbox.add_line(&format!("--timeout 40s --max-attempts 1 {options}"), line)
}

/// Works until nothing is left.
fn drain(sandbox: &Sandbox, options: &str) -> Finished {
    call(sandbox, &format!("work --drain {options}")).run()
}

/// A worker whose jobs find the program.
fn worker(sandbox: &Sandbox, options: &str) -> Background {
    Background::worker(sandbox, call(sandbox, &format!("work {options}")))
}

const DRAINS: [&str; 2] = ["work --until-idle", "work --drain"];

#[test]
fn a_worker_with_an_end_does_the_rest_and_leaves_out_its_own_job() {
    for drains in DRAINS {
        let sandbox = Sandbox::empty();
        sandbox.add_line("", "echo due >> log");
        let line =
            format!("runner enqueue --after $RUNNER_JOB_ID -c 'echo after >> log'; exec runner {drains}");
        outer(&sandbox, "", &line).says("this worker is part of job 2").ok();
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{drains}");
        assert_eq!(sandbox.log(), ["due"], "{drains}: what is after it is not started");
        drain(&sandbox, "");
        assert_eq!(sandbox.log(), ["due", "after"], "{drains}");
    }
}

#[test]
fn a_job_of_a_worker_may_drain_too() {
    for drains in DRAINS {
        let sandbox = Sandbox::empty();
        add(&sandbox, "", &format!("exec runner {drains} -q"));
        sandbox.add_line("", "echo due >> log");
        drain(&sandbox, "-j1").ok();
        assert_eq!(sandbox.states(), ["exec succeeded", "echo succeeded"], "{drains}");
    }
}

#[test]
fn a_nested_drain_leaves_out_all_that_wait_for_it() {
    for drains in DRAINS {
        let sandbox = Sandbox::empty();
        let inner = format!("runner run --name two -c 'exec runner {drains}'");
        let line = format!(
            "runner enqueue -q --after $RUNNER_JOB_ID -- true; exec runner run --name one -c \"{inner}\""
        );
        outer(&sandbox, "", &line).ok();
        assert_eq!(
            sandbox.states(),
            ["outer succeeded", "true pending", "one succeeded", "two succeeded"],
            "{drains}"
        );

        // The callers are on a worker, and wait for it with other verbs.
        let sandbox = Sandbox::empty();
        let wait = format!("exec runner wait $(runner enqueue --name two -c 'exec runner {drains}')");
        add(
            &sandbox,
            "--name outer",
            &format!("exec runner enqueue --wait --name one -c \"{}\"", wait.replace('$', "\\$")),
        );
        drain(&sandbox, "-j3").ok();
        assert_eq!(sandbox.states(), ["outer succeeded", "one succeeded", "two succeeded"], "{drains}");
        assert_eq!(sandbox.sql().number("SELECT count(*) FROM waits"), 0);
    }
}

#[test]
fn two_drains_in_two_jobs_do_not_wait_for_each_other() {
    for drains in DRAINS {
        let sandbox = Sandbox::empty();
        for (own, other) in [("a", "b"), ("b", "a")] {
            let both = format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done");
            add(&sandbox, &format!("--name {own}"), &format!("{both}; exec runner {drains}"));
        }
        drain(&sandbox, "-j2").ok();
        assert_eq!(sandbox.states(), ["a succeeded", "b succeeded"], "{drains}");
    }
}

#[test]
fn a_drain_leaves_out_what_only_the_place_of_its_own_job_could_start() {
    for drains in DRAINS {
        let sandbox = Sandbox::empty();
        let held = sandbox.add("--queue q --name held -- true");
        sandbox.add(&format!("--after {held} --name behind -- true"));
        sandbox.add("--queue q --in 1h --name later -- true");
        sandbox.run("limit q --max-running 1").ok();
        sandbox.add("--name free -- true");
        // Another job waits for the place, too.
        let _worker = worker(&sandbox, "--queue other");
        let waiting = "touch waits; exec runner run -q --queue q --name kept -- true";
        add(&sandbox, "--queue other --name waiting", waiting);
        let line = format!(
            "until runner inspect jobs --json | grep -q '\"name\":\"kept\"'; do sleep 0.05; done; exec runner {drains}"
        );
        outer(&sandbox, "--queue q --priority 5", &line).ok();
        sandbox.until_state(6, "succeeded");
        let state = |id| sandbox.job(id)["state"].clone();
        assert_eq!([1, 2, 3, 4].map(state), ["pending", "pending", "pending", "succeeded"], "{drains}");
    }
}

#[test]
fn a_wait_for_itself_is_a_mistake() {
    let sandbox = Sandbox::empty();
    for line in ["wait $RUNNER_JOB_ID", "wait outer", "wait $RUNNER_JOB_ID $RUNNER_JOB_ID --json"] {
        outer(&sandbox, "", &format!("exec runner {line}")).exits(2).says("this call is part of job");
    }
    let after = "exec runner wait $(runner enqueue --after $RUNNER_JOB_ID -- true)";
    outer(&sandbox, "", after).exits(2).says("cannot end before this call does");
    // The other job waits for this one.
    let inner = "exec runner run --name inner -c 'exec runner wait outer'";
    outer(&sandbox, "", inner).exits(2).says("cannot end before this call does");
}

#[test]
fn a_wait_by_name_or_label_leaves_itself_out() {
    let sandbox = Sandbox::empty();
    let _worker = worker(&sandbox, "");
    for (options, select) in [("", "--name outer"), ("--label night", "--label night")] {
        outer(&sandbox, options, &format!("exec runner wait {select}")).says("does not wait for that").ok();
        let line = format!(
            "runner enqueue -q --name outer --label night -c 'echo ran >> log; exit 7'; exec runner wait {select}"
        );
        outer(&sandbox, options, &line).exits(1).shows("dead, EXIT_7");
        sandbox.run("resolve --dead").ok();
    }
    // Others that are named are waited for.
    let line = "exec runner wait $RUNNER_JOB_ID $(runner enqueue -c 'exit 4')";
    outer(&sandbox, "", line).exits(4).says("does not wait for that").shows("dead, EXIT_4");
}

#[test]
fn a_new_job_for_the_only_slot_is_left_pending() {
    let sandbox = Sandbox::empty();
    let line = "runner enqueue --wait --name inner -c 'echo inner >> log'; echo ended $? >> log; [ $? = 0 ]";
    let id = add(&sandbox, "--name outer", line);
    drain(&sandbox, "-j1").ok();
    assert_eq!(sandbox.log(), ["ended 75", "inner"]);
    let said = sandbox.attempt(id, 1)["stderr"].to_string();
    assert!(
        said.contains("no slot is free for queue default until job 1, which this call is part of"),
        "{said}"
    );
    assert!(said.contains("runner work -j N"), "{said}");
    // All slots are taken by jobs that wait for each other.
    let sandbox = Sandbox::empty();
    let inner = "runner enqueue --wait --name two -- true; echo ended $? >> log";
    add(&sandbox, "--name outer", &format!("exec runner enqueue --wait --name one -c '{inner}'"));
    drain(&sandbox, "-j2").ok();
    assert_eq!(sandbox.log(), ["ended 75"]);
}

#[test]
fn a_new_job_goes_on_waiting_if_another_worker_can_start_it() {
    let sandbox = Sandbox::empty();
    add(
        &sandbox,
        "--queue one --name outer",
        "touch runs; exec runner enqueue --wait -c 'echo inner >> log'",
    );
    let _one = worker(&sandbox, "-j1 --queue one --queue default");
    let _other = worker(&sandbox, "-j1 --queue default");
    sandbox.until_state(1, "succeeded");
    assert_eq!(sandbox.log(), ["inner"]);
    // The other one is busy for now.
    let sandbox = Sandbox::empty();
    sandbox.add_line("--queue other", "touch busy; until [ -e go ]; do sleep 0.01; done");
    let _other = worker(&sandbox, "-j1 --queue default --queue other");
    wait_until("the other one is busy", || sandbox.path("busy").exists());
    let line = "runner enqueue --wait -c 'echo inner >> log' & runner wait 2 --wait-timeout 1500ms; touch go; wait $!";
    outer(&sandbox, "", line).says("runner: this call is part of job").ok();
    assert_eq!(sandbox.log(), ["inner"]);
}

#[test]
fn a_new_job_for_the_only_place_under_a_limit_is_left_pending() {
    for verb in ["enqueue --wait", "run", "run -q", "run --json"] {
        let sandbox = Sandbox::empty();
        sandbox.add("--name first -- true");
        sandbox.run("limit q --max-running 1").ok();
        let _worker = worker(&sandbox, "-j4 --queue default");
        let call = format!("exec runner {verb} --queue q --name inner -c 'echo inner >> log'");
        let done = outer(&sandbox, "--queue q", &call).exits(75);
        done.says("job 3 inner").says("left ready").says("queue q is at its limit until job 2");
        assert_eq!(sandbox.job(3)["state"], "pending", "{verb}");
        sandbox.run("work --queue q --until-idle").ok();
        assert_eq!(sandbox.log(), ["inner"], "{verb}");
        // A place that another job holds becomes free.
        sandbox.run("limit q --max-running 2").ok();
        outer(
            &sandbox,
            "--queue q",
            &format!("exec runner {} --queue q -- true", verb.replace("enqueue --wait", "run")),
        )
        .ok();
    }
}

#[test]
fn a_new_job_that_is_after_the_caller_is_left_pending() {
    let sandbox = Sandbox::new("[jobs.last]\ncommand = 'true'\n");
    for (verb, id) in [("enqueue --wait", 2), ("run", 4)] {
        let line = format!("exec runner {verb} --after $RUNNER_JOB_ID last");
        outer(&sandbox, "", &line).exits(75).says("left blocked: it is after job");
        assert_eq!(sandbox.job(id)["state"], "pending");
    }
    // A chain that ends with what only the caller's place could start.
    sandbox.run("limit q --max-running 1").ok();
    let line = "a=$(runner enqueue --queue q --name a -- true); exec runner run --after $a last";
    outer(&sandbox, "--queue q", line).exits(75).says("it waits for job 6 a, and queue q is at its limit");
}

#[test]
fn an_alert_that_only_the_place_of_the_caller_could_start_is_left_pending() {
    let jobs = "[jobs.bad]\ncommand = 'exit 3'\nmax_attempts = 1\non_dead = 'alert'\n\
                [jobs.behind]\ncommand = 'true'\nafter = ['bad']\n\
                [jobs.alert]\ncommand = 'echo alert >> log'\nqueue = 'q'\n";
    for (name, exit) in [("bad", 3), ("behind", 1)] {
        let sandbox = Sandbox::new(jobs);
        sandbox.add("--in 1h -- true");
        sandbox.run("limit q --max-running 1").ok();
        let done = outer(&sandbox, "--queue q", &format!("exec runner run {name}")).exits(exit);
        done.says("alert is left ready: queue q is at its limit until job 2").says("dead, EXIT_3");
        sandbox.run("work --until-idle").ok();
        assert_eq!(sandbox.log(), ["alert"], "{name}");
    }
}

#[test]
fn a_key_that_the_caller_holds_is_not_waited_for() {
    let sandbox = Sandbox::empty();
    outer(&sandbox, "--unique-key k", "exec runner run --unique-key k -- true").says("already holds").ok();
    let line = "exec runner enqueue --wait --unique-key k -- true";
    outer(&sandbox, "--unique-key k", line).exits(75).says("is left running: this call is part of it");
}

#[test]
fn without_a_worker_a_new_job_is_left_pending_and_run_needs_none() {
    let sandbox = Sandbox::empty();
    let done = outer(&sandbox, "", "exec runner enqueue --wait -- true").exits(75);
    done.says("no worker is running for queue default").says("runner run needs no worker");
    outer(&sandbox, "", "exec runner run -- echo inner").ok().prints("inner\n");
}

#[test]
fn a_stale_or_foreign_environment_changes_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "until [ -e go ]; do sleep 0.01; done");
    sandbox.add("--in 1h -- true");
    let mut worker = worker(&sandbox, "--max-jobs 1");
    sandbox.until_state(1, "running");
    sandbox.run("backup other.db").ok();
    symlink(sandbox.db(), sandbox.path("link.db")).unwrap();
    let wait = |db: &str, job: &str, attempt: Option<&str>| {
        let call = sandbox.call("wait 1 --wait-timeout 1ms --db runner.db").env("RUNNER_JOB_ID", job);
        let call = call.env("RUNNER_DB", sandbox.path(db));
        attempt.into_iter().fold(call, |call, attempt| call.env("RUNNER_ATTEMPT", attempt)).run()
    };
    for db in ["runner.db", "link.db"] {
        wait(db, "1", Some("1")).exits(2);
    }
    wait("runner.db", "1", None).exits(2);
    for (db, job, attempt) in [
        ("runner.db", "1", "2"),
        ("runner.db", "1", "abc"),
        ("runner.db", "1", ""),
        ("runner.db", "2", "1"),
        ("runner.db", "3", "1"),
        ("other.db", "1", "1"),
        ("nothing.db", "1", "1"),
        ("runner.db", "", "1"),
        ("runner.db", "abc", "1"),
        ("runner.db", "+1", "1"),
        ("runner.db", " 1", "1"),
        ("runner.db", "-1", "1"),
        ("runner.db", "99999999999999999999999", "1"),
    ] {
        wait(db, job, Some(attempt)).exits(75).says("gave up waiting");
    }
    sandbox.write("go", "");
    worker.wait().ok();
    wait("runner.db", "1", Some("1")).ok();
}

#[test]
fn a_wait_that_was_killed_means_nothing() {
    let sandbox = Sandbox::empty();
    let _worker = worker(&sandbox, "--queue default");
    let line = "runner wait --wait-timeout 60s $(runner enqueue -q --json --queue none -- true; echo 2) & echo $! > pid; \
                until [ -e go ]; do sleep 0.01; done";
    add(&sandbox, "--name outer", line);
    let rows = || sandbox.sql().number("SELECT count(*) FROM waits");
    wait_until("the wait is on record", || rows() == 1);
    signal(sandbox.pid_of("pid"), Signal::KILL);
    // Job 2 is not left out of what a later call waits for, and that call clears the record.
    wait_until("nothing waits for job 2", || {
        outer(&sandbox, "", "exec runner wait 1 --wait-timeout 1ms").exits(75);
        rows() == 0
    });
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
    assert_eq!(sandbox.job(2)["state"], json!("pending"));
}

#[test]
fn a_wait_follows_a_job_that_is_replaced() {
    let sandbox = Sandbox::new("[jobs.inner]\ncommand = 'exit 3'\nqueue = 'held'\n");
    sandbox.run("enqueue -q -- true").ok();
    sandbox.run("pause held").ok();
    add(&sandbox, "--name outer", "exec runner enqueue --wait inner");
    let _worker = worker(&sandbox, "-j4");
    wait_until("the wait is on record", || sandbox.sql().number("SELECT count(*) FROM waits") == 1);
    sandbox.write("jobs.toml", "[jobs.inner]\ncommand = 'runner work --until-idle'\nqueue = 'held'\n");
    sandbox.run("change inner --redefine").ok();
    sandbox.run("resume held").ok();
    sandbox.until_state(2, "succeeded");
    assert_eq!(sandbox.job(4)["state"], "succeeded");
}
