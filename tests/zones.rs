//! Time zones of schedules: the machine's is written down when a file is applied, and a time that was promised comes, whatever
//! zone a worker is in.

use crate::support::{Finished, Sandbox, json};

const FILE: &str =
    "[jobs.nightly]\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log'\nschedule = '10 16 * * *'\n";

const NEW_YORK: &str = "America/New_York";

/// Runs a call in this time zone.
fn run_in(sandbox: &Sandbox, zone: &str, line: &str) -> Finished {
    sandbox.call(line).env("TZ", zone).run()
}

fn schedule(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.run("inspect schedules --json").ok().json()
}

/// The hour and minute of the next time, in UTC.
fn next(sandbox: &Sandbox) -> String {
    sandbox.sql().text("SELECT strftime('%H:%M', next_at / 1000, 'unixepoch') FROM schedules")
}

/// What needs attention: the kinds, and what is said.
fn attention(ran: &Finished) -> Vec<(String, String)> {
    let list = ran.json()["attention"].clone();
    let text = |entry: &serde_json::Value, key| entry[key].as_str().unwrap_or_default().to_owned();
    let list = list.as_array().expect("a list").iter();
    list.map(|entry| (text(entry, "kind"), text(entry, "message"))).collect()
}

#[test]
fn all_workers_go_by_the_zone_in_which_a_file_was_applied() {
    let sandbox = Sandbox::new(FILE);
    let applied = run_in(&sandbox, NEW_YORK, "apply").ok();
    applied.shows("schedules without a timezone go by the clocks of this machine: America/New_York\n");
    let row = schedule(&sandbox);
    assert_eq!((&row["timezone"], &row["zone"]), (&json!(null), &json!(NEW_YORK)));
    let promised = next(&sandbox);
    assert!(["20:10", "21:10"].contains(&promised.as_str()), "{promised}");

    // Another day's time comes while a worker of another zone looks.
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 86400000");
    run_in(&sandbox, "Asia/Tokyo", "work --until-idle").ok();
    let log = sandbox.log();
    assert!(log.len() == 1 && log[0].contains("T16:10:00-0"), "{log:?}");
    assert_eq!(next(&sandbox), promised);
    run_in(&sandbox, NEW_YORK, "apply")
        .ok()
        .prints("nothing changes: the database has what the file declares\n");

    // What goes by another zone than the screen has its zone beside it.
    for line in ["inspect schedules", "inspect --html"] {
        run_in(&sandbox, NEW_YORK, line).ok();
        assert!(!run_in(&sandbox, NEW_YORK, line).stdout.contains(NEW_YORK), "{line}");
        assert!(run_in(&sandbox, "UTC", line).stdout.contains(NEW_YORK), "{line}");
    }
    run_in(&sandbox, "US/Eastern", "check").ok();
    assert_eq!(
        attention(&run_in(&sandbox, "US/Eastern", "inspect --json")),
        [],
        "another name of the same zone"
    );
}

#[test]
fn another_zone_of_the_machine_is_a_note_and_apply_takes_it() {
    let sandbox = Sandbox::new(FILE);
    run_in(&sandbox, NEW_YORK, "apply").ok();
    let _worker = sandbox.worker("-j1");
    let noted = sandbox.run("inspect --json").ok();
    let noted = attention(&noted);
    assert!(noted.len() == 1 && noted[0].0 == "changed", "{noted:?}");
    assert!(
        noted[0].1.starts_with("the time zone of this machine is UTC now; ")
            && noted[0].1.contains("which still holds for schedule nightly;"),
        "{noted:?}"
    );
    sandbox.run("doctor --strict").ok();
    sandbox.run("check").ok().shows("another time zone than this machine has now, UTC: nightly;");
    sandbox
        .run("inspect schedules")
        .ok()
        .shows("nightly: the time zone of this machine is UTC now; runner apply");
    // The file has changed, too, of which one sentence tells.
    let edited = FILE.replace("0 ", "1 ");
    sandbox.write("jobs.toml", edited);
    let noted = attention(&sandbox.run("inspect --json").ok());
    assert!(noted.len() == 1 && noted[0].0 == "changed", "{noted:?}");
    assert!(
        noted[0].1.ends_with(
            "/jobs.toml has changed since it was applied, and so has the time zone of this machine, which is UTC now: \
             schedule nightly"
        ),
        "{noted:?}"
    );
    sandbox
        .run("inspect schedules")
        .ok()
        .shows("/jobs.toml has changed since, and the time zone of this machine is UTC");
    sandbox.write("jobs.toml", FILE);
    // A file without a change of its own, and one with a line that needs no zone.
    let applied = sandbox.run("apply").ok().shows("~ schedule nightly changed, next ");
    applied.shows("schedules without a timezone go by the clocks of this machine: UTC\n");
    assert_eq!((next(&sandbox).as_str(), schedule(&sandbox)["zone"].as_str()), ("16:10", Some("UTC")));
    assert_eq!(attention(&sandbox.run("inspect --json").ok()), []);

    // One that the file names is no zone of the machine, even if it has its name.
    sandbox.write("jobs.toml", format!("{FILE}timezone = 'UTC'\n"));
    sandbox.run("apply").ok().shows("~ schedule nightly changed");
    assert_eq!(schedule(&sandbox)["timezone"], "UTC");
    assert_eq!(attention(&run_in(&sandbox, NEW_YORK, "inspect --json")), []);
    run_in(&sandbox, NEW_YORK, "apply").ok().shows("nothing changes");
}

#[test]
fn a_time_that_has_come_is_kept_by_apply_in_another_zone() {
    let sandbox = Sandbox::new(FILE);
    run_in(&sandbox, NEW_YORK, "apply").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 86400000");
    let ran = run_in(&sandbox, "UTC", "apply").ok().shows("~ schedule nightly changed");
    assert!(!ran.stderr.contains("missed"), "{ran}");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log().len(), 1);
    assert_eq!(next(&sandbox), "16:10");
    // Of several the first is kept, and the clocks of the new zone show none of the others.
    sandbox.write("jobs.toml", format!("{FILE}missed = 'all'\n"));
    run_in(&sandbox, NEW_YORK, "apply").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 3 * 86400000");
    run_in(&sandbox, "UTC", "apply").says("nightly: the runs of ").says(" that were missed are dropped").ok();
}

#[test]
fn a_pace_keeps_its_phase_in_another_zone() {
    let sandbox = Sandbox::new("[jobs.sync]\ncommand = 'true'\nschedule = 'every 7h'\n");
    run_in(&sandbox, NEW_YORK, "apply").ok();
    let before = schedule(&sandbox);
    run_in(&sandbox, "UTC", "apply").ok();
    let after = schedule(&sandbox);
    assert_eq!(before["next_at"], after["next_at"]);
    assert_eq!((&before["zone"], &after["zone"]), (&json!(NEW_YORK), &json!("UTC")));
    // It needs no zone, so a machine whose zone has no name is no mistake.
    run_in(&sandbox, "XXX-14:17", "apply").ok();
    assert_eq!(before["next_at"], schedule(&sandbox)["next_at"]);
}

#[test]
fn a_time_that_a_program_of_version_1_0_promised_comes_in_any_zone() {
    for missed in ["once", "all", "skip"] {
        let sandbox = Sandbox::new(&format!("{FILE}missed = '{missed}'\n"));
        sandbox.run("apply").ok();
        sandbox.sql().run(
            "UPDATE schedules SET timezone = NULL, machine_timezone = NULL,
                                  next_at = (unixepoch() - 1) * 1000",
        );
        let row = schedule(&sandbox);
        assert_eq!((&row["timezone"], &row["zone"]), (&json!(null), &json!(null)));
        assert!(attention(&sandbox.run("inspect --json").ok()).iter().all(|(kind, _)| kind != "changed"));
        run_in(&sandbox, NEW_YORK, "work --until-idle").ok();
        run_in(&sandbox, "UTC", "work --until-idle").ok();
        assert_eq!(sandbox.count_jobs(), 1, "{missed}");
        sandbox.run("doctor").ok();
        // From now on it has a zone.
        sandbox.run("apply").ok().shows("~ schedule nightly changed, next ");
        assert_eq!(schedule(&sandbox)["zone"], "UTC");
    }
}

#[test]
fn the_zone_of_the_machine_has_a_name_or_is_asked_for() {
    for (tz, zone) in [
        (NEW_YORK, NEW_YORK),
        (":America/New_York", NEW_YORK),
        ("/usr/share/zoneinfo/America/New_York", NEW_YORK),
        (":/usr/share/zoneinfo/America/New_York", NEW_YORK),
        ("EST5EDT", "EST5EDT"),
        ("UTC", "UTC"),
        ("", "UTC"),
    ] {
        let sandbox = Sandbox::new(FILE);
        run_in(&sandbox, tz, "apply").ok();
        assert_eq!(schedule(&sandbox)["zone"], zone, "TZ={tz}");
    }
    for tz in ["XXX-14:17", "AAA5BBB,M3.2.0/1:23,M11.1.0", "No/Where", "/no/such/file"] {
        let sandbox = Sandbox::new(FILE);
        for line in ["apply", "apply --dry-run", "check"] {
            let refused = run_in(&sandbox, tz, line).exits(65).prints("");
            refused.says("nightly has a schedule without `timezone`").says(tz).says("below [jobs.nightly]");
        }
        assert!(!sandbox.db().exists());
        sandbox.write("jobs.toml", format!("{FILE}timezone = 'Europe/Berlin'\n"));
        run_in(&sandbox, tz, "apply").ok();
        run_in(&sandbox, tz, "inspect").ok();
        assert_eq!(schedule(&sandbox)["zone"], "Europe/Berlin");
    }
    let boot = Sandbox::new("[jobs.boot]\ncommand = 'true'\nschedule = '@reboot'\n");
    run_in(&boot, "XXX-14:17", "apply").ok();
}

#[test]
fn what_is_no_file_of_a_zone_is_not_read() {
    let sandbox = Sandbox::new(FILE);
    sandbox.program("mkfifo").arg("fifo").run().ok();
    sandbox.program("truncate").arg("-s").arg("9G").arg("huge").run().ok();
    std::fs::create_dir(sandbox.path("JST-9")).expect("a folder");
    run_in(&sandbox, "UTC", "apply").ok();
    run_in(&sandbox, "JST-9", "inspect schedules").ok().shows(" 01:10:00 ");
    for tz in ["/dev/zero", "fifo", ":fifo", "huge", "JST-9/"] {
        run_in(&sandbox, tz, "check")
            .exits(65)
            .says(&format!("the time zone of this machine (TZ={tz}) has no"));
        run_in(&sandbox, tz, "inspect schedules").ok().shows(" 16:10:00 ");
        run_in(&sandbox, tz, "work --until-idle").ok();
    }
}

#[test]
fn a_zone_without_a_name_is_noted_and_what_is_proposed_works() {
    let sandbox = Sandbox::new(FILE);
    run_in(&sandbox, NEW_YORK, "apply").ok();
    let tz = "EST5EDT,M3.2.0/1,M11.1.0";
    let noted = attention(&run_in(&sandbox, tz, "inspect --json").ok());
    assert!(noted.len() == 1 && noted[0].0 == "changed", "{noted:?}");
    assert!(
        noted[0].1.contains(&format!("is TZ={tz} now, which has no IANA name, so "))
            && noted[0].1.contains(
                " cannot be applied; what was applied from it goes on: schedule nightly; runner check"
            )
            && noted[0].1.ends_with(" shows what to add"),
        "{noted:?}"
    );
    run_in(&sandbox, tz, "inspect schedules").ok().shows("has no IANA name; its schedules go on");
    run_in(&sandbox, tz, "check").exits(65).says("add timezone = ");
    sandbox.write("jobs.toml", format!("{FILE}timezone = 'America/New_York'\n"));
    run_in(&sandbox, tz, "apply").ok();
    assert_eq!(attention(&run_in(&sandbox, tz, "inspect --json").ok()), []);
}

#[test]
fn check_apply_and_inspect_show_the_same_times() {
    let sandbox = Sandbox::new(&format!("{FILE}[jobs.often]\ncommand = 'true'\nschedule = 'every 5h'\n"));
    run_in(&sandbox, "Europe/Berlin", "apply").ok();
    let local = |at: &str| {
        let (day, time) = at.split_once('T').expect("a time");
        format!("{day} {}", &time[..8])
    };
    sandbox.write("jobs.toml", sandbox.read("jobs.toml").replacen("'10", "'0", 1));
    let applied = sandbox.run("apply").ok();
    let checked = sandbox.run("check").ok();
    for row in sandbox.run("inspect schedules --json").ok().json_lines() {
        let next = local(row["next_at"].as_str().expect("a time"));
        assert!(checked.stdout.contains(&format!("next      {next}")), "{next}: {checked}");
        if row["name"] == "nightly" {
            assert!(applied.stdout.contains(&next), "{next}: {applied}");
        }
    }
}

#[test]
fn a_machine_without_zone_data_shows_the_times_at_which_schedules_fire() {
    let sandbox = Sandbox::new(FILE);
    let nowhere = sandbox.path("nowhere");
    let run = |line: &str| sandbox.call(line).env("TZ", "Europe/Berlin").env("TZDIR", &nowhere).run().ok();
    run("apply");
    assert!(run("inspect schedules").stdout.contains(" 16:10"), "{}", run("inspect schedules"));
    let job = run("enqueue nightly --json --at 2099-01-02T03:04").json();
    assert_eq!(job["run_at"], "2099-01-02T02:04:00.000Z");
}
