//! Dependencies that have a schedule of their own: the run that this brings is waited for, and no other one runs.

use crate::support::{Finished, Sandbox};

/// `accounts` is after two nightly jobs and `sort`. `dump` fails as long as there is a file `broken`.
const NIGHT: &str = r#"
[defaults]
max_attempts = 1
[jobs.accounts]
command = "echo accounts >> log"
after = ["backup", "dump", "sort"]
schedule = "0 6 * * 1"
[jobs.backup]
command = "echo backup >> log"
schedule = "0 2 * * *"
fresh_within = "26h"
[jobs.dump]
command = "echo dump >> log; test ! -e broken"
schedule = "0 2 * * *"
fresh_within = "26h"
after = ["mount"]
[jobs.mount]
command = "echo mount >> log"
[jobs.sort]
command = "echo sort >> log"
"#;

const NOW: &str = "CAST(1000 * unixepoch('subsec') AS INTEGER)";

/// The names of the jobs that a dry run would enqueue, and what it says.
fn rehearse(sandbox: &Sandbox, line: &str) -> (String, Finished) {
    let ran = sandbox.run(&format!("enqueue {line} --dry-run")).exits(0);
    let names = ran.stdout.lines().filter_map(|line| line.strip_prefix("would enqueue ")?.split(':').next());
    (names.collect::<Vec<_>>().join(" "), ran)
}

/// Sets back the time at which a job of this name has ended.
fn make_old(sandbox: &Sandbox, name: &str, hours: u32) {
    let sql = format!("UPDATE jobs SET changed_at = changed_at - {hours} * 3600000 WHERE name = '{name}'");
    sandbox.sql().run(&sql);
}

#[test]
fn jobs_that_are_due_at_once_run_once_and_in_order() {
    let sandbox = Sandbox::new(NIGHT);
    sandbox.run("apply").ok();
    sandbox.make_due(9);
    sandbox.run("work -j4 --until-idle").ok();
    let all = ["backup", "mount", "dump", "sort", "accounts"].map(|name| format!("{name} succeeded"));
    assert_eq!(sandbox.states(), all);
    assert_eq!(sandbox.log()[4], "accounts");
    // The nights go on, and only then the week is over.
    let set_due = |name: &str| {
        sandbox.sql().run(&format!("UPDATE schedules SET next_at = {NOW} - 9 WHERE name = '{name}'"));
    };
    set_due("backup");
    set_due("dump");
    sandbox.write("broken", "");
    sandbox.run("work -j4 --until-idle").exits(1);
    set_due("accounts");
    sandbox.run("work -j4 --until-idle").exits(1);
    let log = sandbox.log();
    assert_eq!(log[5..].iter().filter(|name| *name == "backup").count(), 1, "{log:?}");
    assert_eq!(log[5..].iter().filter(|name| *name == "dump").count(), 2, "a dead one runs again: {log:?}");
    sandbox.run("doctor").ok();
}

#[test]
fn the_newest_run_says_whether_another_one_is_enqueued() {
    let sandbox = Sandbox::new(NIGHT);
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "backup mount dump sort accounts");
    said.says("backup runs with it: no run of it is recorded\n")
        .says("dump runs with it: no run of it is recorded\n");

    assert_eq!(sandbox.run("enqueue backup dump").ok().ids(), [1, 2, 3]);
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "sort accounts");
    said.says("waits for the scheduled run of backup: job 1, which is ready\n")
        .says("waits for the scheduled run of dump: job 3, which is blocked\n")
        .shows("after job 1, job 3, sort\n");

    let enqueued = sandbox.run("enqueue accounts").says("waits for the scheduled run of backup: job 1").ok();
    assert_eq!(enqueued.ids(), [4, 5], "what is waited for was not enqueued");
    assert_eq!(sandbox.job(5)["after"], serde_json::json!([1, 3, 4]));
    sandbox.run("enqueue accounts --no-deps").ok().quietly();
    sandbox.drain();
    assert_eq!(sandbox.log().iter().filter(|name| *name == "backup").count(), 1);

    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "sort accounts");
    said.says("backup is met by job 1, which succeeded at ").says("dump is met by job 3, which succeeded");
    sandbox.call("enqueue accounts -q").run().ok().quietly();

    make_old(&sandbox, "backup", 27);
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "backup sort accounts");
    said.says("backup runs with it: the success of job 1 is too old (fresh_within = \"1d 2h\")\n");

    sandbox.write("broken", "");
    let dead = sandbox.add("dump --no-deps");
    sandbox.drain();
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "backup mount dump sort accounts");
    said.says(&format!("dump runs with it: its last run, job {dead}, is dead\n"));
}

#[test]
fn a_cancel_and_a_death_that_is_final_are_left_to_a_person() {
    let file = NIGHT.replace("[jobs.dump]", "[jobs.dump]\nretryable = false");
    let sandbox = Sandbox::new(&file.replacen("max_attempts = 1\n", "", 1));
    sandbox.write("broken", "");
    sandbox.run("enqueue backup").ok();
    sandbox.run("cancel 1").ok();
    let dead = sandbox.add("dump --no-deps");
    sandbox.drain();
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "sort accounts");
    said.says("waits for job 1 backup, which is cancelled: runner retry 1 goes on\n")
        .says(&format!("waits for job {dead} dump, which is dead: runner retry {dead} --force goes on\n"));
    sandbox.run("enqueue accounts").says("waits for job 1 backup, which is cancelled").ok();
    sandbox.run("work --drain").exits(1).says("1 job still waits");
    sandbox.run("doctor --strict").exits(1);
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    sandbox.run(&format!("retry --force {dead}")).ok();
    sandbox.run("retry 1").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log().last().unwrap(), "accounts");

    // A success after the cancel is the newest run, and so is a job that has replaced a dead one.
    let cancelled = sandbox.add("backup");
    sandbox.run(&format!("cancel {cancelled}")).ok();
    sandbox.finish("backup");
    sandbox.write("broken", "");
    let dead = sandbox.add("dump --no-deps");
    sandbox.drain();
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    let new = sandbox
        .run(&format!("retry --redefine --force {dead}"))
        .says("waits for stays as it was")
        .exits(0)
        .id();
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "sort accounts");
    said.says("backup is met by job ").says(&format!("run of dump: job {new}, which is ready\n"));
}

#[test]
fn any_end_asks_for_a_run_all_the_same() {
    let sandbox = Sandbox::new(&NIGHT.replace("after = [\"backup\"", "after_any = [\"backup\""));
    sandbox.write("broken", "");
    let cancelled = sandbox.run("enqueue backup").ok().id();
    let dead = sandbox.run("enqueue dump --no-deps").ok().id();
    sandbox.run(&format!("cancel {cancelled}")).ok();
    sandbox.drain();
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "mount dump sort accounts");
    said.says(&format!("backup is met by job {cancelled}, which is cancelled\n"))
        .says(&format!("dump runs with it: its last run, job {dead}, is dead\n"));
    sandbox.run("enqueue accounts").says("backup is met by job").ok();
    sandbox.drain();
    assert_eq!(sandbox.log().last().unwrap(), "accounts");
}

#[test]
fn only_jobs_as_the_schedule_enqueues_them_count() {
    let sandbox = Sandbox::new(NIGHT);
    sandbox.finish("backup");
    sandbox.run("enqueue backup --label by-hand --in 1h").ok();
    sandbox.run("enqueue --name backup -c false").ok();
    sandbox
        .run("enqueue backup --in 1h -- x")
        .says("runner: backup takes no notice of its arguments: a command that is a")
        .ok();
    let (names, said) = rehearse(&sandbox, "accounts");
    assert_eq!(names, "mount dump sort accounts");
    said.says("backup is met by job 1, which succeeded");
}

#[test]
fn every_way_to_enqueue_a_job_waits_for_scheduled_runs() {
    let enqueued = |line: &str, batch: &str| {
        let sandbox = Sandbox::new(NIGHT);
        sandbox.run("enqueue backup dump --no-deps").ok();
        sandbox.call(line).stdin(batch).run().exits(0);
        sandbox.states()[2..].join(" ").replace(" pending", "")
    };
    assert_eq!(enqueued("enqueue accounts", ""), "sort accounts");
    assert_eq!(enqueued("enqueue accounts sort", ""), "sort accounts");
    assert_eq!(enqueued("enqueue accounts backup", ""), "backup sort accounts", "backup is named");
    assert_eq!(enqueued("enqueue --all", ""), "backup mount dump sort accounts", "all are named");
    assert_eq!(enqueued("enqueue accounts --no-deps", ""), "accounts");
    let batch = "{\"name\":\"sort\"}\n{\"name\":\"accounts\"}\n";
    assert_eq!(enqueued("enqueue --batch -", batch), "sort accounts");

    let sandbox = Sandbox::new(NIGHT);
    sandbox.finish("backup");
    sandbox.add("dump --no-deps");
    sandbox.run("run accounts -q").ok().quietly();
    let log = sandbox.log();
    assert_eq!((log.len(), log[3].as_str()), (4, "accounts"), "nobody else would run dump: {log:?}");
}

#[test]
fn the_holder_of_the_key_is_the_dependency_where_no_run_counts() {
    let keyed = NIGHT.replace("[jobs.backup]", "[jobs.backup]\nunique_key = 'disk'");
    let sandbox = Sandbox::new(&(keyed + "[jobs.check]\ncommand = 'true'\nunique_key = 'disk'\n"));
    let held = sandbox.add("check");
    let ids = sandbox.run("enqueue accounts").exits(0).ids();
    assert_eq!(ids[0], held);
    assert!(sandbox.job(*ids.last().unwrap())["after"].to_string().contains(&held.to_string()));
}

#[test]
fn the_job_in_the_place_of_a_run_counts_as_that() {
    let sandbox = Sandbox::new(&NIGHT.replace("[jobs.backup]", "[jobs.backup]\nunique_key = 'disk'"));
    sandbox.run("enqueue backup --in 1h").exits(0);
    let full = sandbox.run("enqueue backup --on-conflict replace -- --full").exits(0).id();
    let ids = sandbox.run("enqueue accounts").exits(0).ids();
    assert!(sandbox.job(*ids.last().unwrap())["after"].to_string().contains(&full.to_string()));
    sandbox.drain();
    sandbox.run("prune --older-than 0s --name backup --state succeeded").ok();
    // Nobody knows any more how it ended.
    let (names, _) = rehearse(&sandbox, "accounts");
    assert!(names.starts_with("backup "), "{names}");
}

#[test]
fn a_chain_is_fired_as_it_was_applied() {
    let sandbox = Sandbox::new(NIGHT);
    sandbox.run("apply").ok();
    let needs = sandbox.sql().number("SELECT needs_version FROM schedules WHERE name = 'accounts'");
    assert_eq!(needs, 1001, "a program of version 1.0 would run everything, so it must leave it alone");
    assert_eq!(
        sandbox.sql().number("SELECT max(needs_version) FROM schedules WHERE name <> 'accounts'"),
        1000
    );
    sandbox.finish("backup");
    sandbox.finish("dump --no-deps");
    make_old(&sandbox, "backup", 30);
    let file = NIGHT.replacen("26h", "60h", 1);
    sandbox.write("jobs.toml", &file);
    let fired = || {
        sandbox.sql().run(&format!("UPDATE schedules SET next_at = {NOW} - 9 WHERE name = 'accounts'"));
        let before = sandbox.count_jobs();
        sandbox.run("work --until-idle").ok();
        sandbox.count_jobs() - before
    };
    assert_eq!(fired(), 3, "backup, sort and accounts: 26h as applied");
    sandbox.run("inspect schedules").ok().shows("has changed since");
    make_old(&sandbox, "backup", 30);
    sandbox.run("apply").ok().shows("~ schedule accounts changed").shows("~ schedule backup changed");
    assert_eq!(fired(), 2, "sort and accounts");

    // As a program of version 1.0 has stored it.
    let sql = "UPDATE schedules SET needs_version = 1000,
                   chain = json_remove(chain, '$.dependencies[0].own_schedule', '$.dependencies[2].own_schedule')
               WHERE name = 'accounts'";
    sandbox.sql().run(sql);
    assert_eq!(fired(), 5, "all of it");
    sandbox.run("apply").ok().shows("~ schedule accounts changed");
    assert_eq!(fired(), 2);
    sandbox.run("doctor").ok();
}

#[test]
fn a_pause_of_its_schedule_makes_no_difference() {
    let sandbox = Sandbox::new(NIGHT);
    sandbox.run("apply").ok();
    sandbox.run("pause --schedule backup").ok();
    sandbox.make_due(9);
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log().iter().filter(|name| *name == "backup").count(), 1, "none has run, so one runs");
    sandbox.run("enqueue accounts").says("backup is met by job ").ok();
}

#[test]
fn at_boot_what_is_due_fires_first_too() {
    let sandbox = Sandbox::new(&NIGHT.replace("0 6 * * 1", "@reboot"));
    sandbox.run("apply").ok();
    sandbox.make_due(9);
    sandbox.sql().run("UPDATE schedules SET boot_id = 'earlier', next_at = NULL WHERE name = 'accounts'");
    sandbox.run("work -j4 --until-idle").ok();
    assert_eq!(sandbox.count_jobs(), 5);
    assert_eq!(sandbox.log()[4], "accounts");
}

#[test]
fn check_and_apply_say_which_runs_are_waited_for() {
    let sandbox = Sandbox::new(&NIGHT.replacen("fresh_within = \"26h\"\n", "", 1));
    let note = "runner: backup has a schedule and no fresh_within: a success of any age will do for accounts, which waits for \
                its scheduled run\n";
    let checked = sandbox.run("check").says(note).ok().shows(
        "after     backup (waits for its scheduled run), dump (waits for its scheduled run, of the last 1d 2h), sort",
    );
    assert_eq!(checked.stderr, note);
    assert!(checked.stdout.contains("after     mount\n"), "{checked}");
    let words = "  waits for the scheduled runs of backup, dump; sort runs with it\n";
    let applied = sandbox
        .run("apply --dry-run")
        .says(note)
        .ok()
        .shows("+ schedule accounts would be added")
        .shows(words);
    assert_eq!(applied.stderr, note);
    sandbox.run("apply").shows(words).says(note).ok();
    let unchanged = sandbox.run("apply").says(note).ok();
    assert!(!unchanged.stdout.contains("waits for"), "nothing changes");
    sandbox.run("check -q").ok().quietly();
    sandbox.write("jobs.toml", NIGHT);
    sandbox.run("check").ok().quietly();
}
