//! Schedules that fire at boot, and schedules with a random delay.

use std::collections::BTreeSet;

use crate::support::{Sandbox, Value, json, wait_until};

const FILE: &str = "[jobs.warm]\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log'\nschedule = '@reboot'\n[jobs.other]\ncommand = 'true'\n";

/// A sandbox with an applied schedule that fires at boot.
fn applied(keys: &str) -> Sandbox {
    let sandbox = Sandbox::new(&FILE.replace("[jobs.other]", &format!("{keys}\n[jobs.other]")));
    sandbox.run("apply").ok().shows("+ schedule warm added, fires at the next boot\n");
    sandbox
}

/// To the schedule, this boot of the machine is another than the one that it has seen.
fn reboot(sandbox: &Sandbox) {
    sandbox.sql().run("UPDATE schedules SET boot_id = 'another'");
}

fn schedule(sandbox: &Sandbox) -> Value {
    sandbox.run("inspect schedules --json").ok().json()
}

#[test]
fn each_boot_fires_once() {
    let sandbox = applied("");
    assert_eq!(schedule(&sandbox)["next_at"], Value::Null);
    sandbox.run("inspect schedules").ok().shows("at the next boot");
    // Not at this boot, which `apply` has seen.
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 0);
    sandbox.run("apply").ok().shows("nothing changes");
    for boots in 1..=2 {
        reboot(&sandbox);
        sandbox.run("inspect schedules").ok().shows("when a worker starts");
        sandbox.run("apply").ok().shows("nothing changes");
        let workers: Vec<_> = (0..4).map(|_| sandbox.worker("-j1")).collect();
        sandbox.until_logged(boots);
        wait_until("all workers have started", || {
            sandbox.run("inspect workers --json").json_lines().len() == 4
        });
        for worker in workers {
            drop(worker);
        }
        sandbox.run("work --drain").ok();
        assert_eq!(sandbox.log().len(), boots);
    }
    let job = sandbox.job(2);
    assert_eq!((&job["run_at"], &job["enqueued_at"]), (&job["scheduled_for"], &job["scheduled_for"]));
    let row = schedule(&sandbox);
    assert_eq!((&row["last_job_id"], &row["last_fired_at"]), (&json!(2), &job["scheduled_for"]));
    sandbox.run("inspect schedules").ok().shows("at the next boot").shows("succeeded");
    sandbox.run("doctor --strict").ok();
}

#[test]
fn a_boot_during_a_pause_of_everything_fires_when_that_ends() {
    let sandbox = applied("");
    reboot(&sandbox);
    sandbox.run("pause --all --for 1500ms").ok();
    let _worker = sandbox.worker("-j1");
    sandbox.run("inspect schedules").ok().shows("when a worker starts");
    sandbox.until_logged(1);
    sandbox.run("inspect schedules").ok().shows("at the next boot");
}

#[test]
fn a_boot_during_a_pause_of_the_schedule_is_gone_also_when_the_pause_ends_by_itself() {
    let sandbox = applied("");
    reboot(&sandbox);
    sandbox.run("pause --schedule warm --for 1500ms").ok();
    sandbox.run("work --until-idle").ok();
    sandbox.sql().run("UPDATE schedules SET boot_id = 'another', paused_until = 1");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log().len(), 1, "a boot after the pause");
    reboot(&sandbox);
    sandbox.run("pause --schedule warm --for 1h").ok();
    sandbox.sql().run("UPDATE schedules SET boot_id = 'another'");
    sandbox.run("work --until-idle").ok();
    sandbox.sql().run("UPDATE schedules SET paused_until = 1");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log().len(), 1, "a worker has seen this boot during the pause");
}

#[test]
fn a_new_definition_keeps_the_boot_and_a_new_schedule_begins_with_this_one() {
    let sandbox = applied("");
    reboot(&sandbox);
    let file = sandbox.read("jobs.toml");
    sandbox.write("jobs.toml", file.replace("'@reboot'", "'@reboot'\ntimeout = '1m'"));
    sandbox.run("apply").ok().shows("~ schedule warm changed, fires when a worker starts\n");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 1);
    let boots = || sandbox.sql().number("SELECT count(boot_id) FROM schedules");
    sandbox.write("jobs.toml", file.replace("@reboot", "every 1h"));
    sandbox.run("apply").ok().shows("(in 1h)");
    assert_eq!(boots(), 0);
    sandbox.write("jobs.toml", &file);
    sandbox.run("apply").ok().shows("~ schedule warm changed, fires at the next boot\n");
    assert_eq!((boots(), &schedule(&sandbox)["next_at"]), (1, &Value::Null));
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 1);
    sandbox.sql().run("UPDATE schedules SET boot_id = NULL");
    sandbox.run("doctor --strict").exits(1).shows("has no next time").shows("has the next time never");
    sandbox.run("apply").ok().shows("fires at the next boot");
    sandbox.run("doctor --strict").ok();
}

#[test]
fn boots_during_a_pause_are_gone() {
    let sandbox = applied("");
    reboot(&sandbox);
    sandbox.run("pause --schedule warm").ok();
    sandbox.run("resume --schedule warm").ok();
    sandbox.run("work --drain").ok();
    sandbox.run("pause --schedule warm").ok();
    reboot(&sandbox);
    sandbox.run("work --drain").ok();
    sandbox.run("inspect schedules").ok().shows("paused");
    sandbox.run("resume --schedule warm").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 0);
    reboot(&sandbox);
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn a_boot_is_skipped_while_the_unique_key_is_held() {
    let sandbox = applied("unique_key = 'k'");
    sandbox.add("--in 1h --unique-key k other");
    reboot(&sandbox);
    let told = sandbox.run("work --until-idle --log json").ok().json_lines();
    assert!(told.iter().any(|event| event["event"] == "schedule_skipped"), "{told:?}");
    let row = schedule(&sandbox);
    assert_eq!((&row["skipped"], &row["last_job_id"]), (&json!(1), &Value::Null));
    sandbox.run("cancel 1").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn every_view_knows_the_next_boot() {
    let sandbox = applied("random_delay = '5m'");
    sandbox
        .run("check")
        .ok()
        .shows("schedule  @reboot, up to 5m later\n")
        .shows("at the next boot after it was applied");
    sandbox.run("inspect warm").exits(66).says("its schedule (@reboot) fires at the next boot");
    reboot(&sandbox);
    for _ in 0..2 {
        sandbox.run("inspect").ok().shows("warm").shows("when a worker starts");
        sandbox
            .run("inspect --html")
            .ok()
            .shows("when a worker starts")
            .shows("@reboot</code>, up to 5m later");
        sandbox.run("inspect warm").exits(66).says("its schedule (@reboot) fires when a worker starts");
        let metrics = sandbox.run("inspect --openmetrics").ok().stdout;
        assert!(!metrics.contains("runner_schedule_next_timestamp_seconds{"), "{metrics}");
        assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]));
        sandbox.sql().run("UPDATE schedules SET applied_at = applied_at - 864000000");
    }
}

#[test]
fn a_random_delay_is_drawn_for_each_time() {
    let keys = "[jobs.first]\ncommand = 'true'\n[jobs.often]\ncommand = 'true'\nschedule = 'every 1s'\nmissed = 'all'\nafter = ['first']\nexpires_in = '1h'\n";
    let sandbox = Sandbox::new(keys);
    let apply = |delay: &str| {
        sandbox.write("jobs.toml", format!("{keys}random_delay = '{delay}'\n"));
        sandbox.run("apply --json").ok().json()["change"].clone()
    };
    sandbox.run("apply").ok();
    sandbox.run("pause default").ok();
    let delays = |delay: &str| {
        let before = schedule(&sandbox)["next_at"].clone();
        assert_eq!(apply(delay), "changed");
        assert_eq!(schedule(&sandbox)["next_at"], before);
        sandbox.make_due(300_000);
        let known = sandbox.count_jobs();
        sandbox.run("work --until-idle").ok();
        let sql = format!(
            "SELECT r.run_at - r.scheduled_for AS delay, f.run_at - f.scheduled_for AS first, r.expires_at - r.run_at AS span
             FROM jobs AS r JOIN dependencies AS d ON d.job_id = r.id JOIN jobs AS f ON f.id = d.dependency_id
             WHERE r.name = 'often' AND r.id > {known}"
        );
        let rows: Vec<(i64, i64, i64)> =
            sandbox.sql().all(&sql, |row| Ok((row.get("delay")?, row.get("first")?, row.get("span")?)));
        assert!(rows.len() >= 100, "{rows:?}");
        assert!(rows.iter().all(|(delay, first, span)| delay == first && *span == 3_600_000), "{rows:?}");
        rows.into_iter().map(|(delay, ..)| delay).collect::<BTreeSet<i64>>()
    };
    // Both bounds are drawn.
    assert_eq!(delays("1ms"), BTreeSet::from([0, 1]));
    let drawn = delays("10m");
    assert!(drawn.first() < Some(&180_000) && drawn.last() > Some(&420_000), "{drawn:?}");
    assert!(drawn.first() >= Some(&0) && drawn.last() <= Some(&600_000), "{drawn:?}");
    assert_eq!(schedule(&sandbox)["random_delay_ms"], 600_000);
    sandbox.run("inspect schedules").ok().shows("every 1s, up to 10m later");
    sandbox.run("check").ok().shows("every 1s, up to 10m later, missed times run: all");
    assert_eq!(apply("10m"), "unchanged");
}

#[test]
fn a_delayed_job_tells_its_time_and_starts_when_it_is_due() {
    let sandbox = applied("random_delay = '1ms'");
    reboot(&sandbox);
    sandbox.run("work --drain").ok();
    assert!(sandbox.log()[0].contains('T'), "{:?}", sandbox.log());
    sandbox.run("inspect 1").ok().shows("  scheduled ").shows("  enqueued ");
    // A worker waits for the due time of a delayed job, and drains it.
    sandbox.sql().run("UPDATE schedules SET boot_id = 'another', random_delay_ms = 1500");
    sandbox.run("work --drain").ok();
    let job = sandbox.job(2);
    assert!(job["started_at"].as_str() >= job["run_at"].as_str(), "{job}");
    assert_eq!(sandbox.log().len(), 2);
}
