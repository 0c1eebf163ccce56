//! What needs attention after deaths: dead letters by name and error code, and the jobs that wait behind them.

use std::fs;

use serde_json::Value;

use crate::attention::{entries, gone, run_command, says, settled, shown};
use crate::support::{Background, Sandbox, chain, page_text, wait_until};

#[test]
fn dead_letters_of_a_name() {
    let sandbox = Sandbox::new(
        "[jobs.backup]\ncommand = 'echo no route to nas >&2; exit 3'\nmax_attempts = 1\nunique_key = 'b'
         [jobs.fetch]\ncommand = 'exit 1'\nmax_attempts = 1\n[jobs.once]\ncommand = 'exit 1'\nretryable = false\n",
    );
    sandbox.finish("backup");
    let entry = shown(&sandbox, "dead", true);
    let said = entry["message"].as_str().expect("text");
    assert!(said.starts_with("backup died ") && said.contains(", EXIT_3: no route to nas;"), "{said}");
    assert_eq!((&entry["command"], &entry["jobs"]), (&"runner retry 1".into(), &serde_json::json!([1])));
    sandbox.run("doctor --strict -q").exits(1);
    settled(&sandbox, &entry);
    // Two jobs with one key cannot both run again.
    sandbox.drain();
    sandbox.finish("backup");
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], "runner retry --dead --name backup --latest");
    says(
        &entry,
        "one run does for all; runner resolve --dead --name backup --error-code EXIT_3 if that was dealt with",
    );
    settled(&sandbox, &entry);
    assert_eq!(sandbox.job(1)["resolution"], "job 2 was replayed instead");
    sandbox.drain();
    sandbox.run("resolve 2").ok();
    for (name, command) in [("once", "runner resolve 3"), ("fetch", "runner retry 4")] {
        sandbox.finish(name);
        let entry = shown(&sandbox, "dead", true);
        assert_eq!(entry["command"], command);
        settled(&sandbox, &entry);
    }
    sandbox.drain();
    sandbox.run("resolve 4").ok();
    // A job that has expired is dead, even if nobody has recorded that.
    let expired = sandbox.add("--expires-in 1ms -- true");
    wait_until("it expires", || sandbox.job(expired)["state"] == "dead");
    let entry = shown(&sandbox, "dead", true);
    says(&entry, "EXPIRED");
    sandbox.drain();
    sandbox.run(&format!("resolve {expired}")).ok();
    gone(&sandbox, "dead");
    // The page narrows the list; a period does not.
    sandbox.finish("fetch");
    sandbox.run("inspect --html --since 2099-01-01T00:00:00Z").ok().shows("<h3>fetch");
    sandbox.run("inspect --html --name fetch --queue default").ok().shows("<h3>fetch");
    for other in ["--name other", "--queue other"] {
        let page = sandbox.run(&format!("inspect --html {other}")).ok();
        assert!(!page.stdout.contains("<h3>fetch"), "{page}");
    }
}

#[test]
fn one_run_does_not_do_for_a_job_that_another_one_waits_for() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = 'test -e mended'\nmax_attempts = 1\n[jobs.b]\ncommand = 'true'\nafter = ['a']\n",
    );
    for _ in 0..2 {
        sandbox.run("enqueue b").ok();
        sandbox.run("work --drain -q").exits(1);
    }
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], "runner retry 1 3");
    sandbox.write("mended", "");
    settled(&sandbox, &entry);
    sandbox.drain();
    gone(&sandbox, "stuck");
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM jobs WHERE state = 'succeeded'"), 4);
}

#[test]
fn where_two_cannot_run_beside_each_other_the_newest_runs_again() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = 'exit 1'\nmax_attempts = 1\nunique_key = 'k'\n[jobs.b]\ncommand = 'true'\nafter = ['a']\n",
    );
    for _ in 0..2 {
        sandbox.run("enqueue b").ok();
        sandbox.run("work --drain -q").exits(1);
    }
    assert_eq!(shown(&sandbox, "dead", true)["command"], "runner retry --dead --name a --latest");
}

#[test]
fn of_those_that_wait_only_those_behind_the_same_label_count() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'exit 1'\nmax_attempts = 1\n");
    for label in ["eu", "eu", "us"] {
        sandbox.add(&format!("a --label {label}"));
    }
    sandbox.add("--after 3 -- true");
    // One after the other, so that the last one dies last.
    sandbox.run("work -j1 --drain -q").exits(1);
    let page = || page_text(&sandbox.run("inspect --html --label eu").ok().stdout);
    assert!(page().contains("<code>runner retry --dead --name a --label eu --latest<"), "{}", page());
    sandbox.add("--after 1 -- true");
    assert!(page().contains("<code>runner retry 1 2<"), "{}", page());
    sandbox.run("inspect dead").ok().shows("replay  runner retry --dead --error-code EXIT_1\n");
}

#[test]
fn a_command_for_many_takes_none_along_that_recovered() {
    let sandbox = Sandbox::new("[jobs.lab]\ncommand = 'test -e mended'\nmax_attempts = 1\n");
    for label in 1..=25 {
        sandbox.add(&format!("lab --label l{label}"));
    }
    sandbox.run("work --drain -q").exits(1);
    sandbox.write("mended", "");
    for label in 1..=3 {
        sandbox.add(&format!("lab --label l{label}"));
    }
    sandbox.drain();
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], Value::Null);
    let first = "resolve --dead --recovered --name lab --error-code EXIT_1";
    says(&entry, &format!("runner {first} comes first"));
    sandbox.run(first).ok();
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], "runner retry --dead --name lab --error-code EXIT_1");
    settled(&sandbox, &entry);
}

#[test]
fn many_dead_letters_of_a_name_are_selected_by_it() {
    let sandbox = Sandbox::new("[jobs.fetch]\ncommand = 'test -e there'\nmax_attempts = 1\n");
    sandbox.run(&format!("enqueue -q {}", "fetch ".repeat(25))).ok();
    sandbox.drain();
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["jobs"].as_array().map(Vec::len), Some(20));
    assert_eq!(entry["command"], "runner retry --dead --name fetch --latest");
    settled(&sandbox, &entry);
    sandbox.write("there", "");
    sandbox.drain();
    assert_eq!(sandbox.attempts(25).len(), 2);
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM attempts"), 26, "one run, not 25");
    // A command with ids has them in their order, whichever died first.
    let sandbox = Sandbox::new("[jobs.fetch]\ncommand = 'exit 1'\nmax_attempts = 1\n");
    sandbox.add("fetch --priority -1 -- a");
    sandbox.add("fetch -- b");
    sandbox.run("work -j1 --drain -q").exits(1);
    assert_eq!(shown(&sandbox, "dead", true)["command"], "runner retry 1 2");
}

#[test]
fn dead_letters_of_which_a_later_run_succeeded() {
    let sandbox = Sandbox::new(
        "[jobs.backup]\ncommand = 'test -e there'\nmax_attempts = 1\n[jobs.fetch]\ncommand = 'test -e there #'
         max_attempts = 1\n",
    );
    sandbox.finish("backup");
    sandbox.finish("fetch -- one");
    sandbox.write("there", "");
    sandbox.finish("backup");
    sandbox.finish("fetch -- one");
    let dead = shown(&sandbox, "dead", true);
    assert_eq!(dead["jobs"], serde_json::json!([2]), "without a label no other job does the same");
    let entry = shown(&sandbox, "recovered", false);
    assert_eq!(entry["jobs"], serde_json::json!([1]));
    for screen in ["inspect 1", "inspect dead"] {
        sandbox.run(screen).ok().shows("a later run succeeded");
    }
    assert!(!sandbox.run("inspect 2").ok().stdout.contains("later run"));
    sandbox.run("inspect 1").ok().shows("runner resolve 1\n");
    let ran = sandbox.run("inspect dead --name backup").ok().shows("  resolve runner resolve 1\n");
    assert!(!ran.stdout.contains("retry"), "{ran}");
    let ran = sandbox.run("inspect dead").ok().shows("  resolve runner resolve 1\n");
    ran.shows("  replay  runner retry 2\n");
    sandbox.run("inspect dead --since 1h").ok().shows("  replay  runner retry 2\n");
    settled(&sandbox, &entry);
    sandbox.run("resolve 2").ok();
    sandbox.run("doctor --strict -q").ok().prints("");
    fs::remove_file(sandbox.path("there")).expect("it is there");
    sandbox.finish("backup");
    gone(&sandbox, "recovered");
    shown(&sandbox, "dead", true);
}

#[test]
fn what_recovered_is_to_be_resolved_and_only_the_rest_replayed() {
    let sandbox = Sandbox::new("[jobs.backup]\ncommand = 'test -e there'\nmax_attempts = 1\n");
    sandbox.run(&format!("enqueue {}", "backup ".repeat(12))).ok();
    sandbox.run("work -q --drain").exits(1);
    sandbox.write("there", "");
    sandbox.finish("backup");
    let resolve = "  resolve runner resolve --dead --recovered --error-code EXIT_1\n";
    let ran = sandbox.run("inspect dead").ok().shows(resolve);
    assert!(!ran.stdout.contains("retry"), "{ran}");
    fs::remove_file(sandbox.path("there")).expect("it is there");
    sandbox.finish("backup");
    let ran = sandbox.run("inspect dead").ok().shows(resolve);
    ran.shows("  replay  runner retry --dead --error-code EXIT_1 --latest   after that\n");
}

#[test]
fn what_others_wait_for_is_replayed_though_a_later_run_succeeded() {
    let sandbox = Sandbox::new("[jobs.backup]\ncommand = 'test -e there'\nmax_attempts = 1\n");
    sandbox.finish("backup");
    sandbox.run("enqueue --after 1 -- true").ok();
    sandbox.write("there", "");
    sandbox.finish("backup");
    sandbox.run("inspect 1").ok().shows("a later run succeeded").shows("next  runner retry 1\n");
    let ran = sandbox.run("inspect dead").ok().shows("  replay  runner retry 1\n");
    assert!(!ran.stdout.contains("runner resolve 1"), "{ran}");
}

#[test]
fn labels_that_died_alike_are_one_entry() {
    let sandbox = Sandbox::new("[jobs.fetch]\ncommand = 'test -e there || exit $1'\nmax_attempts = 1\n");
    let enqueue = |status: u32, label: &str| {
        sandbox.run(&format!("enqueue -q fetch --label {label} -- {status}")).ok();
    };
    for n in 1..=22 {
        enqueue(3, &format!("l{n}"));
    }
    sandbox.run("work -j1 --drain -q").exits(1);
    let entry = shown(&sandbox, "dead", true);
    says(&entry, "22 jobs of fetch [l22, l21, l20 and 19 more] died, the last ");
    assert_eq!(entry["command"], "runner retry --dead --name fetch --error-code EXIT_3");
    // Another night of some of them, and another error.
    enqueue(3, "l1");
    enqueue(4, "other");
    sandbox.run("work -j1 --drain -q").exits(1);
    let [other, entry] = entries(&|line| sandbox.run(line), "dead").try_into().expect("two entries");
    says(&other, "fetch [other] died ");
    assert_eq!(other["command"], "runner retry 24");
    says(&entry, "23 jobs of fetch [l1, l22, l21 and 19 more] died");
    assert_eq!(entry["command"], "runner retry --dead --name fetch --error-code EXIT_3 --latest");
    run_command(&sandbox, &entry);
    assert_eq!(sandbox.job(1)["resolution"], "job 23 was replayed instead");
    assert_eq!(sandbox.job(24)["state"], "dead");
    assert_eq!(shown(&sandbox, "dead", true), other);
    sandbox.write("there", "");
    settled(&sandbox, &other);
    sandbox.drain();
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM attempts"), 24 + 22 + 1, "each label once more");
    // Jobs without a label go by their arguments, and a later run of each label has succeeded.
    fs::remove_file(sandbox.path("there")).expect("it is there");
    for words in ["-- 5", "-- 5 a", "-- 5 b", "-- 5 a", "--label x -- 6", "--label y -- 6"] {
        sandbox.add(&format!("fetch {words}"));
    }
    sandbox.run("work -j1 --drain -q").exits(1);
    let list = entries(&|line| sandbox.run(line), "dead");
    says(&list[1], "4 jobs of fetch [5 a, 5 b, 5] died");
    sandbox.write("there", "");
    sandbox.finish("fetch --label x -- 6");
    sandbox.finish("fetch --label y -- 6");
    let entry = shown(&sandbox, "recovered", false);
    says(&entry, "2 jobs of fetch [y, x] died, the last ");
    says(&entry, "EXIT_6, and one that does the same as each has succeeded since");
    settled(&sandbox, &entry);
}

#[test]
fn one_run_does_for_a_name_that_died_of_several_errors() {
    let sandbox = Sandbox::new("[jobs.backup]\ncommand = 'exit $(cat status)'\nmax_attempts = 1\n");
    for status in ["3", "4", "3"] {
        sandbox.write("status", status);
        sandbox.finish("backup");
    }
    let list = entries(&|line| sandbox.run(line), "dead");
    assert_eq!(list.len(), 2);
    says(&list[0], "2 jobs of backup died");
    says(&list[1], "backup died ");
    for entry in &list {
        assert_eq!(entry["command"], "runner retry --dead --name backup --latest", "{entry}");
    }
    let page = page_text(&sandbox.run("inspect --html").ok().stdout);
    assert_eq!(page.matches("--dead --name backup --latest<").count(), 1, "{page}");
    settled(&sandbox, &list[1]);
    assert_eq!(sandbox.job(3)["state"], "pending");
    assert_eq!(sandbox.job(2)["resolution"], "job 3 was replayed instead");
}

/// Adds so many copies of job 1 with labels, in this state, that ended later by so many milliseconds.
fn copies(sandbox: &Sandbox, jobs: u32, state: &str, later: u32) {
    let (code, reason) =
        if state == "dead" { ("'EXIT_1'", "'attempts_exhausted'") } else { ("NULL", "NULL") };
    sandbox.sql().run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {jobs})
         INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, attempts, error_code,
             dead_reason, label, task_hash, job_file)
         SELECT definition_id, name, queue, 0, '{state}', run_at, run_at, changed_at + {later}, 1, {code}, {reason}, 'l' || i, i, job_file
         FROM jobs, n WHERE id = 1"
    ));
}

#[test]
fn no_number_of_recovered_jobs_hides_a_dead_one() {
    let sandbox = Sandbox::new("[jobs.fetch]\ncommand = 'test -e there'\nmax_attempts = 1\n");
    sandbox.add("fetch --label a-first");
    sandbox.drain();
    copies(&sandbox, 10_001, "dead", 0);
    copies(&sandbox, 10_001, "succeeded", 1);
    let entry = shown(&sandbox, "dead", true);
    says(&entry, "fetch [a-first] died ");
    assert_eq!((&entry["command"], &entry["jobs"]), (&"runner retry 1".into(), &serde_json::json!([1])));
    sandbox.run("doctor --strict -q").exits(1);
    let recovered = shown(&sandbox, "recovered", false);
    says(&recovered, "more than 10000 jobs of fetch [");
    assert_eq!(recovered["command"], "runner resolve --dead --recovered --name fetch --error-code EXIT_1");
    sandbox.write("there", "");
    settled(&sandbox, &entry);
    settled(&sandbox, &recovered);
    // As many that need attention: the last one is told, whatever its label.
    copies(&sandbox, 10_002, "dead", 60_000);
    sandbox
        .sql()
        .run("UPDATE jobs SET changed_at = changed_at + 1000 WHERE label = 'l1' AND resolved_at IS NULL");
    let entry = shown(&sandbox, "dead", true);
    says(&entry, "more than 10000 jobs of fetch [l1, ");
    assert_eq!(entry["command"], "runner retry --dead --name fetch --error-code EXIT_1");
}

#[test]
fn names_that_have_no_entry_are_counted_in_one_more() {
    let sandbox = Sandbox::new("[jobs.fetch]\ncommand = 'exit 1'\nmax_attempts = 1\n");
    sandbox.add("fetch");
    sandbox.drain();
    copies(&sandbox, 1_001, "dead", 0);
    sandbox.sql().run(
        "DROP TRIGGER jobs_keep_what_they_are; UPDATE jobs SET name = 'n' || label WHERE label IS NOT NULL",
    );
    let list = entries(&|line| sandbox.run(line), "dead");
    assert_eq!(list.len(), 1_001);
    says(&list[1_000], "besides these, 2 jobs died");
    assert_eq!((&list[1_000]["alarm"], &list[1_000]["command"]), (&true.into(), &Value::Null));
    sandbox.run("doctor --strict -q").exits(1);
}

#[test]
fn the_command_of_a_narrowed_entry_leaves_the_other_labels_alone() {
    let sandbox = Sandbox::empty();
    let line = |label| format!("{{\"command\": [\"false\"], \"name\": \"fetch\", \"label\": \"{label}\"}}\n");
    let batch = line("eu").repeat(25) + &line("us").repeat(25);
    sandbox.call("enqueue --batch -").stdin(batch).run().ok();
    sandbox.drain();
    let page = page_text(&sandbox.run("inspect --html --label eu").ok().stdout);
    assert!(page.contains("--dead --name fetch --error-code EXIT_1 --label eu<"), "{page}");
}

#[test]
fn jobs_behind_a_job_that_will_not_succeed() {
    let sandbox = Sandbox::new(&chain(&["load", "report"]));
    sandbox.write("broken", "");
    sandbox.run("enqueue report").ok();
    sandbox.drain();
    let entry = shown(&sandbox, "stuck", true);
    says(&entry, "job 1 load, which is dead, holds back 1 job: 2 report");
    settled(&sandbox, &entry);
    sandbox.drain();
    sandbox.run("resolve 1").ok();
    gone(&sandbox, "dead");
    let entry = shown(&sandbox, "stuck", true);
    says(&entry, "which is resolved");
    sandbox.run("cancel 2").ok();
    gone(&sandbox, "stuck");
    // Somebody may have removed it by hand.
    sandbox.add("--after 1 -- true");
    sandbox.sql().run("DROP TRIGGER jobs_stay_while_others_wait; DELETE FROM jobs WHERE id = 1");
    let entry = entries(&|line| sandbox.run(line), "stuck").remove(0);
    assert_eq!(entry["command"], "runner cancel 3");
    settled(&sandbox, &entry);
}

#[test]
fn more_jobs_than_one_command_cancels_behind_a_job_that_needs_force() {
    let sandbox = Sandbox::empty();
    sandbox.add("--retryable false -- false");
    sandbox.write("batch", "{\"command\":\"true\"}\n".repeat(21));
    sandbox.run("enqueue --batch batch --after 1").ok();
    sandbox.drain();
    let entry = entries(&|line| sandbox.run(line), "stuck").remove(0);
    assert_eq!(entry["command"], "runner retry 1 --force");
    settled(&sandbox, &entry);
}

#[test]
fn what_waits_for_jobs_of_one_name_is_one_entry() {
    let sandbox = Sandbox::new(&chain(&["load", "report", "sum"]));
    sandbox.write("broken", "");
    for _ in 0..4 {
        sandbox.run("enqueue -q sum").ok();
    }
    sandbox.drain();
    let entry = shown(&sandbox, "stuck", true);
    says(
        &entry,
        "jobs 10, 7, 4 and 1 more of load, which are dead, hold back 8 jobs: 2 report, 3 sum, 5 report, ",
    );
    assert_eq!(entry["command"], "runner retry 1 4 7 10");
    assert_eq!(entry["jobs"], serde_json::json!([2, 3, 5, 6, 8, 9, 11, 12]));
    settled(&sandbox, &entry);
    // One with another label is not made good by the next night of the others, and stays an alarm of its own.
    sandbox.drain();
    sandbox.run("resolve 10").ok();
    sandbox.run("cancel -q 5 6").ok();
    let dead = sandbox.add("load --label eu");
    let waits = sandbox.add(&format!("--after {dead} -- true"));
    sandbox.drain();
    let entry = shown(&sandbox, "stuck", true);
    says(&entry, "which are dead or resolved, hold back 7 jobs");
    fs::remove_file(sandbox.path("broken")).expect("it is there");
    sandbox.finish("load");
    let [alarm, note] = entries(&|line| sandbox.run(line), "stuck").try_into().expect("two entries");
    says(&alarm, &format!("job {dead} load, which is dead, holds back 1 job: {waits} true"));
    assert_eq!((&alarm["alarm"], &note["alarm"]), (&true.into(), &false.into()));
    says(&note, "jobs 10, 7, 1 of load hold back 6 jobs: ");
    says(&note, "though later jobs have done the same as jobs 10, 7, 1 of load; runner cancel 2 3 8 9 11 12");
    assert_eq!(note["command"], "runner retry 1 7 10");
    run_command(&sandbox, &note);
    settled(&sandbox, &alarm);
}

#[test]
fn what_recovered_or_is_held_does_not_throw_the_others_away() {
    let sandbox = Sandbox::new("[jobs.x]\ncommand = '[ -e ok ]'\nmax_attempts = 1\n");
    for label in ["a", "a", "b", "c"] {
        sandbox.run(&format!("enqueue -q x --label {label}")).ok();
    }
    sandbox.drain();
    sandbox.write("ok", "");
    sandbox.run("run -q x --label c").ok();
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], "runner retry 1 2 3");
    settled(&sandbox, &entry);
    // Of several jobs one has a key that is held.
    let sandbox = Sandbox::new("[jobs.x]\ncommand = 'false'\nmax_attempts = 1\n");
    for label in ["a", "b", "c"] {
        sandbox.run(&format!("enqueue -q x --label {label} --unique-key {label}")).ok();
    }
    sandbox.drain();
    sandbox.run("enqueue -q x --in 1h --unique-key b").ok();
    let entry = shown(&sandbox, "dead", true);
    assert_eq!(entry["command"], Value::Null);
    says(&entry, "runner retry --dead --name x --error-code EXIT_1 puts back all but those whose keys");
}

/// A job that goes on only while there is a file `go`, and fails at once unless there was a file `first`.
const SYNC: &str = "[jobs.sync]\nmax_attempts = 1
command = 'if rm first 2>/dev/null; then echo first >> log; while [ ! -e go ]; do sleep 0.02; done; else exit 1; fi'\n";

#[test]
fn a_death_is_made_good_by_a_later_job_alone() {
    let sandbox = Sandbox::new(SYNC);
    let is_alarm = |id: u64| {
        let entry = shown(&sandbox, "dead", true);
        assert_eq!(entry["jobs"], serde_json::json!([id]), "{entry}");
        sandbox.run("resolve --dead --recovered").says("no unresolved dead letter").ok();
    };
    // Job 1 runs while job 2 dies, and ends well afterwards.
    sandbox.write("first", "");
    let mut slow = Background::start(&sandbox, sandbox.call("run sync"));
    sandbox.until_logged(1);
    sandbox.run("run sync -q").exits(1);
    is_alarm(2);
    sandbox.write("go", "");
    slow.wait().ok();
    is_alarm(2);
    // Job 3 dies, and runs again after job 4 has died.
    sandbox.run("run sync -q").exits(1);
    sandbox.run("run sync -q").exits(1);
    sandbox.run("retry 3").ok();
    sandbox.write("first", "");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.job(3)["state"], "succeeded");
    // A later success makes job 2 good, but not job 4.
    says(&shown(&sandbox, "recovered", false), "sync died");
    assert_eq!(shown(&sandbox, "dead", true)["jobs"], serde_json::json!([4]));
    sandbox.write("first", "");
    sandbox.finish("sync");
    gone(&sandbox, "dead");
    says(&shown(&sandbox, "recovered", false), "2 jobs of sync died");
    sandbox.run("doctor --strict").ok();
}

#[test]
fn a_removal_leaves_the_success_that_makes_a_death_good() {
    let sandbox = Sandbox::new(SYNC);
    sandbox.write("go", "");
    sandbox.run("run sync -q").exits(1);
    for _ in 0..3 {
        sandbox.write("first", "");
        sandbox.run("run sync -q").ok();
    }
    let left = "left 1 job, because only this success makes unresolved deaths good";
    sandbox.run("prune --older-than 0s --dry-run").ok().shows("would remove 2 jobs").shows(left);
    sandbox.run("prune --older-than 0s").ok().shows("removed 2 jobs").shows(left);
    assert_eq!(sandbox.run("prune --older-than 0s --json").ok().json()["left"], 1);
    // The ad hoc job goes, and the success stays.
    sandbox.run("run -q -- true").ok();
    let worker = sandbox.worker("--keep 1ms");
    wait_until("the worker removes", || sandbox.count_jobs() == 2);
    drop(worker);
    says(&shown(&sandbox, "recovered", false), "one that does the same has succeeded since");
    sandbox.run("resolve --dead --recovered").ok();
    sandbox.run("prune --older-than 0s").ok().shows("removed 1 job\n");
    // A success before the death makes nothing good.
    sandbox.write("first", "");
    sandbox.run("run sync -q").ok();
    sandbox.run("run sync -q").exits(1);
    sandbox.run("prune --older-than 0s").ok().shows("removed 1 job\n");
    sandbox.run("resolve --dead --name sync").ok();
    sandbox.run("prune --state dead --older-than 0s").ok();
    // Where the deaths go as well, nothing is left.
    sandbox.run("run sync -q").exits(1);
    sandbox.write("first", "");
    sandbox.run("run sync -q").ok();
    let all = "prune --state dead,succeeded --older-than 0s";
    sandbox.run(&format!("{all} --dry-run")).ok().shows("would remove 2 jobs\n");
    sandbox.run(all).ok().shows("removed 2 jobs\n");
}

#[test]
fn no_alert_does_the_work_of_another() {
    let jobs = "[defaults]\nmax_attempts = 1\non_dead = 'mail'\n[jobs.a]\ncommand = 'exit 3'\n
                [jobs.mail]\ncommand = 'test -e up'\n";
    for is_of_1_1 in [false, true] {
        let sandbox = Sandbox::new(jobs);
        // Jobs 2 and 4 are alerts that die, and job 6 is one that does not.
        for _ in 0..2 {
            sandbox.run("run a -q").exits(3);
        }
        sandbox.write("up", "");
        sandbox.run("run a -q").exits(3);
        // Nor does a call by hand do the work of an alert.
        sandbox.finish("mail");
        if is_of_1_1 {
            as_stored_by_1_1(&sandbox);
        }
        let list = entries(&|line| sandbox.run(line), "dead");
        let of_mail = |entry: &&Value| entry["jobs"] == serde_json::json!([4, 2]);
        let entry = list.iter().find(of_mail).unwrap_or_else(|| panic!("{list:?}"));
        assert_eq!(entry["command"], "runner retry 2 4");
        gone(&sandbox, "recovered");
        assert!(!sandbox.run("inspect dead --name mail").ok().stdout.contains("--latest"));
        sandbox.run("retry --dead --name mail --latest").ok().quietly();
        sandbox.drain();
        assert!([2, 4].iter().all(|id| sandbox.job(*id)["state"] == "succeeded"));
    }
}

/// Gives alerts the hash that programs of version 1.1 gave them.
fn as_stored_by_1_1(sandbox: &Sandbox) {
    let of_manual = "(SELECT task_hash FROM jobs WHERE name = 'mail' AND task_hash IS NOT NULL)";
    sandbox.sql().force(&format!("UPDATE jobs SET task_hash = {of_manual} WHERE name = 'mail'"));
}
