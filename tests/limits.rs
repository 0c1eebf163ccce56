//! Limits of queues: `runner apply`, `runner limit`, and what the workers make of them.

use std::cmp::Reverse;

use crate::support::{Sandbox, assert_screen, eventually, json, wait_until};

/// A job that runs until the file `go` is there.
const JOBS: &str = "
[jobs.job]
command = 'echo $RUNNER_JOB_ID >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'
queue = 'net'
[jobs.short]
command = 'echo $RUNNER_JOB_ID >> log'
queue = 'net'
[jobs.failing]
command = 'exit 1'
queue = 'net'
backoff = '0s'
";

/// How many attempts ran at the same moment, by what the history says.
fn most_at_once(sandbox: &Sandbox) -> usize {
    let mut changes: Vec<(String, Reverse<i64>)> = Vec::new();
    for attempt in sandbox.run("inspect attempts --json").ok().json_lines() {
        let [started, finished] = ["started_at", "finished_at"].map(|field| attempt[field].as_str());
        changes.extend(started.map(|at| (at.to_owned(), Reverse(1))));
        changes.extend(finished.filter(|_| started.is_some()).map(|at| (at.to_owned(), Reverse(-1))));
    }
    // An attempt may begin in the millisecond in which another ended.
    changes.sort_by_key(|(at, change)| (at.clone(), Reverse(*change)));
    let running = changes.iter().scan(0, |running, (_, Reverse(change))| {
        *running += change;
        Some(*running)
    });
    usize::try_from(running.max().unwrap_or_default()).expect("a count")
}

#[test]
fn apply_makes_the_limits_those_of_the_file_and_leaves_what_others_set() {
    let sandbox =
        Sandbox::new("[queues.net]\nmax_running = 4\nrate = '10/s'\n[queues.img]\nmax_running = 1\n");
    let apply = |options: &str| sandbox.run(&format!("apply {options}")).ok().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(apply("--dry-run"), @"
        + queue img would be added: max_running 1
        + queue net would be added: max_running 4, rate 10/s
        ");
        assert!(!sandbox.db().exists());
        insta::assert_snapshot!(apply(""), @"
        + queue img added: max_running 1
        + queue net added: max_running 4, rate 10/s
        ");
        insta::assert_snapshot!(apply(""), @"nothing changes: the database has what the file declares");
        insta::assert_snapshot!(apply("--json"), @r#"
        {"kind":"queue","name":"img","change":"unchanged"}
        {"kind":"queue","name":"net","change":"unchanged"}
        "#);
        // A hand on the file's queue, and on one that the file does not know.
        sandbox.run("limit net --max-running 2").ok();
        sandbox.run("limit own --rate 1/m").ok();
        sandbox.write("jobs.toml", "[queues.img]\nrate = '5/m'\n");
        insta::assert_snapshot!(sandbox.run("check").ok().stdout, @"
        [DIR]/jobs.toml: 0 jobs, no mistakes

        queue img: rate 5/m

        changed since it was applied: queue img, queue net; runner apply takes the file as it is
        ");
        insta::assert_snapshot!(apply("--dry-run"), @"
        ~ queue img would be changed from max_running 1 to rate 5/m
        ~ queue net would be changed from max_running 2, rate 10/s to max_running 2
        ");
        insta::assert_snapshot!(apply(""), @"
        ~ queue img changed from max_running 1 to rate 5/m
        ~ queue net changed from max_running 2, rate 10/s to max_running 2
        ");
        insta::assert_snapshot!(sandbox.run("inspect queues").ok().stdout, @"
        queue  ready  scheduled  retrying  running
        img  0  0  0  0  rate 5/m
        net  0  0  0  0 of 2
        own  0  0  0  0  rate 1/m
        ");
        // Another file takes a queue over; then the first one may drop it.
        sandbox.write("other.toml", "[queues.img]\nrate = '5/m'\n");
        insta::assert_snapshot!(apply("--file other.toml"), @"nothing changes: the database has what the file declares");
        sandbox.write("jobs.toml", "");
        insta::assert_snapshot!(apply(""), @"nothing changes: the database has what the file declares");
        sandbox.write("other.toml", "");
        insta::assert_snapshot!(apply("--file other.toml --json"), @r#"{"kind":"queue","name":"img","change":"removed"}"#);
        insta::assert_snapshot!(sandbox.run("apply -q").ok().stdout, @"");
    });
}

#[test]
fn apply_takes_nothing_of_a_file_with_a_mistake() {
    let sandbox = Sandbox::new("[queues.net]\nmax_running = 4\n[queues.img]\nrate = 10\n");
    sandbox.run("apply").exits(65).says("jobs.toml:4:8");
    assert!(!sandbox.db().exists());
    sandbox.run("apply --file missing.toml").exits(66);
}

#[test]
fn limit_sets_what_is_given_keeps_the_rest_and_shows_the_queue() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("limit net --max-running 4").exits(66);
    assert!(!sandbox.db().exists());
    sandbox.add("short");
    let limit = |options: &str| sandbox.run(&format!("limit {options}")).ok().stdout;
    assert_eq!(limit("net"), "queue net: no limit; 0 running, 1 ready\n");
    assert_eq!(limit("net --max-running 4"), "queue net: max_running 4; 0 running, 1 ready\n");
    assert_eq!(limit("net --rate 10/s"), "queue net: max_running 4, rate 10/s; 0 running, 1 ready\n");
    assert_eq!(limit("net --rate 5/m"), "queue net: max_running 4, rate 5/m; 0 running, 1 ready\n");
    assert_eq!(limit("net"), "queue net: max_running 4, rate 5/m; 0 running, 1 ready\n");
    let row = json!({
        "name": "net", "paused": false, "max_running": 4, "rate": "5/m",
        "ready": 1, "scheduled": 0, "retrying": 0, "blocked": 0, "running": 0,
    });
    assert_eq!(sandbox.run("inspect queues --json").ok().json(), row);
    let mut limited = sandbox.run("limit net --json").ok().json();
    assert_eq!(limited.as_object_mut().expect("an object").remove("queue"), Some(json!("net")));
    limited["name"] = json!("net");
    assert_eq!(limited, row);
    assert_eq!(limit("net -q --none"), "");
    assert_eq!(limit("net"), "queue net: no limit; 0 running, 1 ready\n");
    for wrong in
        ["--max-running 0", "--max-running 1.5", "--rate 0/s", "--rate 10", "--rate 1/d", "--none --rate 1/s"]
    {
        sandbox.run(&format!("limit net {wrong}")).exits(2);
    }
}

#[test]
fn a_full_queue_is_passed_over_and_its_free_place_is_taken() {
    let sandbox = Sandbox::new(JOBS);
    for _ in 0..4 {
        sandbox.add("job");
    }
    sandbox.run("limit net --max-running 2").ok();
    let _workers = [sandbox.worker("-j4"), sandbox.worker("-j4")];
    sandbox.until_logged(2);
    // Lower in rank and later, and yet first.
    let other = sandbox.add("short --queue other --priority -5");
    sandbox.until_state(other, "succeeded");
    sandbox.run("inspect queues").ok().shows("2 of 2");
    sandbox.run("inspect 4").ok().shows("queue net is at its limit: max_running 2");
    let ran = sandbox.run("enqueue job --wait --wait-timeout 1ms").exits(75);
    assert!(ran.stderr.contains("has not started: queue net is at its limit: max_running 2"), "{ran}");
    sandbox.write("go", "");
    for id in 1..=4 {
        sandbox.until_state(id, "succeeded");
    }
    assert_eq!(most_at_once(&sandbox), 3, "two of queue net, one of the other");
}

#[test]
fn a_worker_takes_the_place_that_another_one_has_freed() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("job");
    sandbox.add("job");
    sandbox.run("limit net --max-running 1").ok();
    let mut first = sandbox.worker("-j1 --max-jobs 1");
    sandbox.until_logged(1);
    let _second = sandbox.worker("-j1");
    sandbox.write("go", "");
    first.wait().ok();
    sandbox.until_state(2, "succeeded");
    assert_eq!(sandbox.log(), ["1", "2"]);
}

#[test]
fn a_lower_limit_ends_nothing_and_a_higher_one_is_used_at_once() {
    let sandbox = Sandbox::new(JOBS);
    for _ in 0..3 {
        sandbox.add("job");
    }
    sandbox.run("limit net --max-running 2").ok();
    let _worker = sandbox.worker("-j4");
    sandbox.until_logged(2);
    sandbox.run("limit net --max-running 1").ok();
    sandbox.run("inspect queues").ok().shows("2 of 1");
    sandbox.run("limit net --none").ok();
    sandbox.until_logged(3);
    sandbox.write("go", "");
    sandbox.until_state(3, "succeeded");
}

#[test]
fn starts_are_spaced_by_the_rate_over_workers_and_retries() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("failing");
    sandbox.add("failing");
    sandbox.run("limit net --rate 10/s").ok();
    let mut workers = [(); 2].map(|()| sandbox.worker("-j4 --until-idle"));
    for worker in &mut workers {
        worker.wait();
    }
    let attempts = sandbox.run("inspect attempts --json").ok().json_lines();
    assert_eq!(attempts.len(), 6, "no worker went away while the rate held jobs back");
    let sql = "SELECT max(started_at) - (SELECT max(enqueued_at) FROM jobs) FROM attempts";
    let took = sandbox.sql().number(sql);
    // The first start was not before the jobs were there.
    assert!(took >= 500, "six starts within {took} ms");
}

#[test]
fn a_job_that_the_rate_holds_back_says_so_and_starts_when_the_rate_goes() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("short");
    sandbox.add("short");
    sandbox.run("limit net --rate 1/h").ok();
    let _worker = sandbox.worker("-j4");
    sandbox.until_state(1, "succeeded");
    sandbox.run("inspect queues").ok().shows("rate 1/h");
    sandbox.run("inspect 2").ok().shows("queue net is at its limit: rate 1/h; its next job starts in 59m");
    sandbox.run("inspect 2").ok().shows("rate 1/h");
    sandbox.run("limit net --none").ok();
    sandbox.until_state(2, "succeeded");
}

#[test]
fn the_attempts_of_a_killed_worker_count_until_they_are_recovered() {
    let sandbox = Sandbox::new(JOBS);
    for _ in 0..4 {
        sandbox.add("job --max-attempts 2 --backoff 0s");
    }
    sandbox.run("limit net --max-running 2").ok();
    let killed = sandbox.worker("-j2");
    sandbox.until_logged(2);
    wait_until("both starts are on record", || killed.stderr().matches("started, pid").count() == 2);
    killed.kill();
    sandbox.run("inspect queues").ok().shows("2 of 2");
    let _workers = [sandbox.worker("-j4"), sandbox.worker("-j4")];
    sandbox.until_logged(4);
    sandbox.run("inspect queues").ok().shows("2 of 2");
    sandbox.write("go", "");
    eventually("all have ended", || {
        let jobs = sandbox.run("inspect jobs --json").ok().json_lines();
        jobs.iter().all(|job| job["state"] == "succeeded").then_some(())
    });
    assert_eq!(sandbox.run("inspect attempts --json").ok().json_lines().len(), 6);
    assert_eq!(most_at_once(&sandbox), 2);
}

#[test]
fn limits_that_the_file_has_changed_since_are_noted() {
    let sandbox = Sandbox::empty();
    let noted = |queues: &str| {
        sandbox.write("jobs.toml", queues);
        let list = sandbox.run("inspect --json").ok().json()["attention"].clone();
        list.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let applied = "[queues.a]\nmax_running = 2\n[queues.b]\nrate = '5/s'\n";
    sandbox.write("jobs.toml", applied);
    sandbox.run("apply").ok();
    assert_eq!(noted(applied), [""; 0]);
    let expect = |queues: &str, changed: &str| {
        let found = noted(queues);
        assert!(found.len() == 1 && found[0].ends_with(changed), "{queues}: {found:?}");
    };
    expect("[queues.a]\nmax_running = 3\n[queues.b]\nrate = '5/s'\n", ": queue a");
    expect("[queues.a]\nmax_running = 2\n", ": queue b");
    expect(&format!("{applied}[queues.c]\nmax_running = 1\n"), ": queue c");
    // What a person has set is not the file's.
    sandbox.run("limit a --max-running 7").ok();
    assert_eq!(noted(applied), [""; 0]);
    std::fs::remove_file(sandbox.path("jobs.toml")).unwrap();
    let list = sandbox.run("inspect --json").ok().json()["attention"].to_string();
    assert!(list.contains("is gone") && list.contains("queue b"), "{list}");
}
