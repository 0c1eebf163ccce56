//! `runner pause` and `runner resume`.

use crate::support::{Background, Sandbox, assert_screen, json};

#[test]
fn jobs_that_a_drain_leaves_in_a_paused_queue_are_told_at_its_end() {
    let sandbox = Sandbox::empty();
    for queue in ["net", "img", "open"] {
        sandbox.add(&format!("--queue {queue} -- true"));
    }
    sandbox.add("--queue net --in 1h -- true");
    for queue in ["net", "img", "empty"] {
        sandbox.run(&format!("pause {queue}")).exits(0);
    }
    let told = |line: &str| {
        let ran = sandbox.run(line).exits(0);
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
    assert_eq!(
        sandbox.run("pause net --json").says("job is in queue").ok().json(),
        json!({"queue": "net", "paused": true})
    );
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

#[test]
fn a_pause_with_an_end_ends_by_itself() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_QUEUE >> log'\n");
    sandbox.add("job --queue net");
    sandbox.run("pause net --for 1500ms").ok().shows("queue net is paused until ");
    sandbox.run("pause other --for 10m").says("runner: no job is in queue other").ok();
    sandbox.run("inspect 1").ok().shows("queue net is paused until ");
    sandbox.run("inspect queues").ok().shows("paused until ");
    // Without a worker, too, it is over when it is over.
    let _worker = sandbox.worker("-j1");
    sandbox.add("job");
    sandbox.until_logged(2);
    assert_eq!(sandbox.log(), ["default", "net"]);
    assert_eq!(sandbox.run("resume net").ok().stdout, "queue net is not paused\n");
    assert_eq!(sandbox.run("resume other").ok().stdout, "queue other is no longer paused\n");
}

#[test]
fn the_end_of_a_pause_can_be_changed() {
    let sandbox = Sandbox::empty();
    sandbox.add("--queue net -- true");
    sandbox.run("pause net").ok();
    sandbox.run("pause net --for 1h").ok().shows("queue net is paused until ");
    assert_eq!(sandbox.run("pause net").ok().stdout, "queue net is paused\n");
    assert_eq!(sandbox.run("pause net").ok().stdout, "queue net is paused already\n");
    sandbox.run("pause net --until 2020-01-01T00:00:00Z").exits(2).says("has passed");
    sandbox.run("pause net --for 0s").exits(2);
    sandbox.run("pause net --for 1h --until 12:00").exits(2);
    sandbox.run("resume net --for 1h").exits(2);
    sandbox.run("pause --all net").exits(2);
}

#[test]
fn while_everything_is_paused_nothing_starts_in_later_workers_and_run_either() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo $RUNNER_QUEUE >> log'\n");
    sandbox.add("job --queue net");
    sandbox.run("pause img").says("runner: no job is in queue img").ok();
    assert_eq!(sandbox.run("pause --all --json").ok().json(), json!({"all": true, "paused": true}));
    let worker = sandbox.worker("-j1");
    let mut run = Background::start(&sandbox, sandbox.call("run job"));
    run.until_it_says("everything is paused; runner resume --all ends that");
    worker.kill();
    let _worker = sandbox.worker("-j1");
    sandbox.add("job --queue img");
    sandbox.run("inspect 1").ok().shows("everything is paused; runner resume --all ends that");
    let listed = sandbox.run("inspect --json").ok().json();
    let paused: Vec<_> = listed["attention"].as_array().unwrap().iter().map(|it| &it["command"]).collect();
    assert!(paused.contains(&&json!("runner resume --all")), "{listed}");
    sandbox.run("work --drain").says("as everything is paused; runner resume --all ends that").ok();
    assert_eq!(sandbox.log(), [""; 0]);
    sandbox.run("resume --all").ok();
    sandbox.until_logged(2);
    run.wait().says("runner: everything is paused; runner resume --all ends that").ok();
    let mut log = sandbox.log();
    log.sort();
    assert_eq!(log, ["default", "net"], "the pause of the queue itself stays");
    sandbox.run("inspect 3").ok().shows("queue img is paused; runner resume img opens it");
}

/// A schedule that comes each hour, and came last these hours ago.
fn hourly(missed: &str, hours: u32) -> Sandbox {
    let sandbox = Sandbox::new(&format!(
        "[jobs.hourly]\nschedule = 'every 1h'\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log'\nmissed = '{missed}'\n"
    ));
    sandbox.run("apply").ok();
    sandbox.make_due(i64::from(hours) * 3_600_000 - 1_800_000);
    sandbox
}

#[test]
fn after_a_pause_of_everything_missed_decides_as_after_a_time_without_a_worker() {
    for (missed, runs) in [("once", 1), ("all", 3), ("skip", 0)] {
        let sandbox = hourly(missed, 3);
        sandbox.run("pause --all --for 1500ms").ok();
        let _worker = sandbox.worker("-j1");
        sandbox.add("--priority -1 --queue last -- true");
        sandbox.until_state(1, "succeeded");
        sandbox.run("work --until-idle").ok();
        let log = sandbox.log();
        assert_eq!(log.len(), runs, "{missed}: {log:?}");
    }
}

#[test]
fn the_times_in_a_pause_of_a_schedule_are_gone_and_those_after_its_end_come() {
    let sandbox = hourly("all", 5);
    sandbox.run("pause --schedule hourly --for 1h").ok().shows("schedule hourly is paused until ");
    let listed = || sandbox.run("inspect schedules --json").ok().json();
    assert_eq!(listed()["paused"], true);
    assert!(listed()["paused_until"].is_string());
    sandbox.run("inspect schedules").ok().shows("paused until ");
    // The pause began five hours ago and ended two and a quarter hours ago: two of the times came after it.
    let ago = |ms: u32| format!("CAST(1000 * unixepoch('subsec') AS INTEGER) - {ms}");
    sandbox.sql().run(&format!(
        "UPDATE schedules SET next_at = {}, paused_until = {}",
        ago(16_200_000),
        ago(8_100_000)
    ));
    assert_eq!((&listed()["paused"], &listed()["paused_until"]), (&json!(false), &json!(null)));
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log().len(), 2, "{:?}", sandbox.log());
    assert_eq!(sandbox.run("resume --schedule hourly").ok().stdout, "schedule hourly is not paused\n");
}

#[test]
fn a_pause_that_an_older_worker_would_not_keep_is_refused_while_it_lives() {
    let sandbox = Sandbox::empty();
    let worker = sandbox.worker("-j1");
    sandbox.sql().run("UPDATE workers SET version = 1000");
    for line in ["pause --all", "pause net --for 1h", "pause --all --until 23:59"] {
        sandbox.run(line).exits(75).says(&format!("a worker of version 1.0 runs (pid {})", worker.pid()));
    }
    sandbox.run("pause net").says("runner: no job is in queue net").ok();
    sandbox.run("resume --all").ok();
    worker.kill();
    sandbox.run("pause --all").ok();
}

#[test]
fn a_pause_that_was_forgotten_for_a_day_is_an_alarm_unless_it_has_an_end() {
    let sandbox = Sandbox::new("[jobs.hourly]\nschedule = 'every 1h'\ncommand = 'true'\n");
    sandbox.add("--queue net -- true");
    sandbox.run("apply").ok();
    let _worker = sandbox.worker("-j1 --queue other");
    for hours in [23, 25] {
        let due = format!("CAST(1000 * unixepoch('subsec') AS INTEGER) - {hours} * 3600000");
        sandbox.sql().run(&format!("UPDATE jobs SET run_at = {due}"));
        for (pause, resume) in [
            ("pause net", "resume net"),
            ("pause --schedule hourly", "resume --schedule hourly"),
            ("pause --all", "resume --all"),
        ] {
            for end in ["", " --for 1h"] {
                sandbox.run(&format!("{pause}{end}")).ok();
                if pause == "pause --schedule hourly" {
                    sandbox.run("pause net --for 2h").ok();
                    sandbox.sql().run(&format!("UPDATE schedules SET next_at = {due}"));
                }
                let found = sandbox.run("inspect --json").ok().json();
                let mut entries = found["attention"].as_array().expect("a list").iter();
                let entry = entries.find(|it| it["command"] == format!("runner {resume}"));
                let entry = entry.unwrap_or_else(|| panic!("{pause}{end}: {found}"));
                let is_alarm = end.is_empty() && hours == 25;
                assert_eq!(
                    (&entry["kind"], &entry["alarm"]),
                    (&json!("paused"), &json!(is_alarm)),
                    "{pause}{end}"
                );
            }
            sandbox.run(resume).ok();
            sandbox.run("resume net").ok();
        }
    }
}

#[test]
fn the_times_to_come_go_on_where_a_pause_ends() {
    let sandbox =
        Sandbox::new("[jobs.hourly]\ncommand = 'true'\nschedule = '30 * * * *'\ntimezone = 'UTC'\n");
    sandbox.run("apply").ok();
    let times = || {
        let ran = sandbox.run("inspect schedules --next 5h --json").ok();
        ran.json_lines().iter().map(|time| time["at"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = times();
    assert_eq!(all.len(), 5);
    // From one time on, which is not one of those that the pause takes.
    sandbox.run(&format!("pause --schedule hourly --until {}", all[2])).ok();
    assert_eq!(times(), all[2..]);
    sandbox.run("pause --schedule hourly").ok();
    assert_eq!(times(), [""; 0]);
}

#[test]
fn apply_records_that_the_pause_of_a_schedule_is_over() {
    let sandbox = Sandbox::new("[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n");
    sandbox.run("apply").ok();
    sandbox.run("pause --schedule hourly --for 1h").ok();
    sandbox.sql().run("UPDATE schedules SET paused_until = 1000");
    sandbox.write("jobs.toml", "[jobs.hourly]\ncommand = 'false'\nschedule = 'every 1h'\n");
    sandbox.run("apply").ok();
    assert_eq!(sandbox.sql().number("SELECT paused FROM schedules"), 0);
}
