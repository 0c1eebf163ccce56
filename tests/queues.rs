//! `runner pause` and `runner resume`.

use crate::support::{Bed, assert_screen, json};

#[test]
fn nothing_is_claimed_from_a_paused_queue() {
    let bed = Bed::new("[jobs.job]\ncommand = 'echo ran >> log'\nqueue = 'net'\n");
    bed.add("job");
    bed.run("pause net").ok();
    bed.run("work --drain").ok();
    assert_eq!(bed.log(), [""; 0]);
    bed.run("resume net").ok();
    bed.run("work --drain").ok();
    assert_eq!(bed.log(), ["ran"]);
}

#[test]
fn what_a_drain_leaves_in_a_paused_queue_is_told_at_its_end() {
    let bed = Bed::bare();
    for queue in ["net", "img", "open"] {
        bed.add(&format!("--queue {queue} -- true"));
    }
    bed.add("--queue net --in 1h -- true");
    for queue in ["net", "img", "empty"] {
        bed.run(&format!("pause {queue}")).ok();
    }
    let told = |line: &str| {
        let ran = bed.run(line).ok();
        assert!(!ran.stdout.contains("paused"), "{ran}");
        let last = ran.stderr.lines().filter(|line| line.contains("paused"));
        last.collect::<Vec<_>>().join("\n")
    };
    assert_screen(&bed, || {
        insta::assert_snapshot!(told("work --drain"), @"
        [TIME] 1 job still waits in queue img, which is paused; runner resume img opens it
        [TIME] 2 jobs still wait in queue net, which is paused; runner resume net opens it
        ");
        insta::assert_snapshot!(told("work --until-idle --queue net --log text"), @"[TIME] 1 job still waits in queue net, which is paused; runner resume net opens it");
        insta::assert_snapshot!(told("work --drain --queue img --log json"), @"runner: 1 job still waits in queue img, which is paused; runner resume img opens it");
    });
    bed.run("work --drain -q").ok().prints("").quietly();
    assert_eq!(told("work --drain --queue open"), "");
}

#[test]
fn a_resume_wakes_a_worker_that_waits() {
    let bed = Bed::new("[jobs.job]\ncommand = 'echo $RUNNER_QUEUE >> log'\n");
    bed.add("job --queue net");
    bed.run("pause net").ok();
    let _worker = bed.worker("-j1");
    bed.add("job");
    bed.until_logged(1);
    bed.run("resume net").ok();
    bed.until_logged(2);
    assert_eq!(bed.log(), ["default", "net"]);
}

#[test]
fn a_running_job_goes_on_in_a_paused_queue() {
    let bed = Bed::new(
        "[jobs.job]\ncommand = 'echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done'\n",
    );
    bed.add("job");
    let _worker = bed.worker("-j1");
    bed.until_logged(1);
    bed.run("pause default").ok();
    bed.write("go", "");
    bed.until_state(1, "succeeded");
}

#[test]
fn inspect_shows_it() {
    let bed = Bed::bare();
    bed.add("-- true");
    assert_eq!(bed.run("pause net --json").ok().json(), json!({"queue": "net", "paused": true}));
    bed.run("pause net").ok();
    let queues = bed.run("inspect queues --json").ok().json_lines();
    let paused: Vec<_> = queues.iter().map(|queue| (&queue["name"], &queue["paused"])).collect();
    assert_eq!(paused, [(&json!("default"), &json!(false)), (&json!("net"), &json!(true))]);
    bed.run("explain 1").ok();
    assert_eq!(bed.run("resume net --json").ok().json(), json!({"queue": "net", "paused": false}));
    assert_eq!(bed.run("inspect queues --json").ok().json_lines().len(), 1);
}

#[test]
fn a_paused_queue_is_why_a_job_waits() {
    let bed = Bed::bare();
    bed.add("--queue net -- true");
    bed.run("pause net").ok();
    bed.run("explain 1").ok().shows("paused");
}

#[test]
fn a_bad_name_is_a_usage_error_and_without_a_database_there_is_no_queue() {
    let bed = Bed::bare();
    bed.run("pause a/b").exits(2);
    bed.run("pause").exits(2);
    bed.run("pause net").exits(66);
    bed.run("resume net").exits(66);
    assert!(!bed.db().exists());
}
