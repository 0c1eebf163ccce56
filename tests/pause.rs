//! `runner pause` and `runner resume`.

use crate::support::{Sandbox, assert_screen, json};

#[test]
fn jobs_that_a_drain_leaves_in_a_paused_queue_are_told_at_its_end() {
    let sandbox = Sandbox::empty();
    for queue in ["net", "img", "open"] {
        sandbox.add(&format!("--queue {queue} -- true"));
    }
    sandbox.add("--queue net --in 1h -- true");
    for queue in ["net", "img", "empty"] {
        sandbox.run(&format!("pause {queue}")).ok();
    }
    let told = |line: &str| {
        let ran = sandbox.run(line).ok();
        assert!(!ran.stdout.contains("paused"), "{ran}");
        let last = ran.stderr.lines().filter(|line| line.contains("paused"));
        last.collect::<Vec<_>>().join("\n")
    };
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(told("work --drain"), @"
        [TIME] 1 job still waits in queue img, which is paused; runner resume img opens it
        [TIME] 2 jobs still wait in queue net, which is paused; runner resume net opens it
        ");
        insta::assert_snapshot!(told("work --until-idle --queue net --log text"), @"[TIME] 1 job still waits in queue net, which is paused; runner resume net opens it");
        insta::assert_snapshot!(told("work --drain --queue img --log json"), @"runner: 1 job still waits in queue img, which is paused; runner resume img opens it");
    });
    sandbox.run("work --drain -q").ok().prints("").quietly();
    assert_eq!(told("work --drain --queue open"), "");
}

#[test]
fn nothing_is_claimed_from_a_paused_queue_and_a_resume_wakes_a_worker() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_QUEUE >> log'\n");
    sandbox.add("job --queue net");
    sandbox.run("pause net").ok();
    sandbox.run("inspect 1").ok().shows("paused");
    let _worker = sandbox.worker("-j1");
    sandbox.add("job");
    sandbox.until_logged(1);
    sandbox.run("resume net").ok();
    sandbox.until_logged(2);
    assert_eq!(sandbox.log(), ["default", "net"]);
}

#[test]
fn a_running_job_goes_on_in_a_paused_queue() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\n",
    );
    sandbox.add("job");
    let _worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    sandbox.run("pause default").ok();
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn inspect_shows_it() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    assert_eq!(sandbox.run("pause net --json").ok().json(), json!({"queue": "net", "paused": true}));
    sandbox.run("pause net").ok();
    let ran = sandbox.run("inspect 1").ok();
    assert!(!ran.stdout.contains("paused"), "another queue is paused: {ran}");
    let queues = sandbox.run("inspect queues --json").ok().json_lines();
    let paused: Vec<_> = queues.iter().map(|queue| (&queue["name"], &queue["paused"])).collect();
    assert_eq!(paused, [(&json!("default"), &json!(false)), (&json!("net"), &json!(true))]);
    assert_eq!(sandbox.run("resume net --json").ok().json(), json!({"queue": "net", "paused": false}));
    assert_eq!(sandbox.run("inspect queues --json").ok().json_lines().len(), 1);
}

#[test]
fn a_bad_name_is_a_usage_error_and_without_a_database_there_is_no_queue() {
    let sandbox = Sandbox::empty();
    sandbox.run("pause a/b").exits(2);
    sandbox.run("pause").exits(2);
    sandbox.run("pause net").exits(66);
    sandbox.run("resume net").exits(66);
    assert!(!sandbox.db().exists());
}
