//! `restore`: a checked copy takes the place of the database, and nothing is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::support::versions::VERSIONS;
use crate::support::{Background, Finished, Sandbox, Signal, is_alive, json, wait_until};

/// Job 1, which `copy.db` has too, and job 2, which came later.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add("--name one -- true");
    sandbox.run("backup copy.db").ok();
    sandbox.add("--name two -- true");
    sandbox
}

/// The names of the jobs in this database, oldest first.
#[track_caller]
fn jobs(sandbox: &Sandbox, db: &str) -> Vec<String> {
    let listed = sandbox.run(&format!("--db {db} inspect jobs --json")).ok().json_lines();
    listed.iter().rev().map(|job| job["name"].as_str().expect("a name").to_owned()).collect()
}

/// The names of the files beside the database and in its run directory.
fn names(sandbox: &Sandbox) -> Vec<String> {
    let list = |dir| fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path());
    let all = list(sandbox.dir().to_owned()).chain(list(sandbox.path("runner.db.run")));
    let names = all.map(|path| path.display().to_string());
    let mut names: Vec<_> = names.filter(|name| name.contains("runner.db")).collect();
    names.sort();
    names
}

#[test]
fn the_copy_takes_the_place_of_the_database_which_is_kept() {
    let sandbox = sandbox();
    let copy = fs::read(sandbox.path("copy.db")).unwrap();
    let path = |name: &str| sandbox.path(name).display().to_string();
    let said = format!(
        "{} is now the copy copy.db\nthe old database is kept: {}\n",
        path("runner.db"),
        path("runner.db.replaced-1")
    );
    sandbox.run("restore copy.db").ok().prints(&said).quietly();
    assert_eq!(jobs(&sandbox, "runner.db"), ["one"]);
    assert_eq!(jobs(&sandbox, "runner.db.replaced-1"), ["one", "two"]);
    let ran = sandbox.run("--db runner.db.replaced-1 work --until-idle --queue none").ok();
    ran.says("restore has put this database aside: its jobs may run in the one that took its place, too");
    assert!(fs::read(sandbox.path("copy.db")).unwrap() == copy, "the copy stays as it is");
    // Id 2 has been given out.
    assert_eq!(sandbox.add("--name new -- true"), 3);
    sandbox.run("work --drain").ok();

    // And back again.
    let ran = sandbox.run("restore runner.db.replaced-1 --json").ok().json();
    let again = json!([{"job_id": 1, "name": "one", "state": "succeeded"}]);
    let (db, kept) = (path("runner.db"), path("runner.db.replaced-2"));
    assert_eq!(ran, json!({"db": db, "kept": kept, "run_again": again, "unread": null}));
    assert_eq!(sandbox.add("--name newer -- true"), 4);
    sandbox.run("cancel 4").ok();
    assert_eq!(jobs(&sandbox, "runner.db"), ["one", "two", "newer"]);
    assert_eq!(jobs(&sandbox, "runner.db.replaced-2"), ["one", "new"]);
    sandbox.run("--db runner.db.replaced-2 work --drain").ok();
    sandbox.run("doctor").ok();
}

#[test]
fn a_database_in_use_can_be_the_source_and_the_target_need_not_exist() {
    let sandbox = sandbox();
    let _worker = sandbox.worker("");
    sandbox.until_state(2, "succeeded");
    let ran = sandbox.run("--db new/other.db restore runner.db --json").ok().json();
    assert_eq!(ran["kept"], json!(null));
    assert_eq!(jobs(&sandbox, "new/other.db"), ["one", "two"]);
    assert_eq!(sandbox.run("--db new/other.db inspect workers --json").ok().json()["alive"], false);
}

#[test]
fn only_a_sound_copy_of_this_version_is_taken() {
    type Harm = fn(&Sandbox);
    let cases: [(&str, i32, &str, Harm); 8] = [
        ("no-such.db", 66, "there is no database yet", |_| {}),
        ("empty.db", 66, "there is no database yet", |sandbox| sandbox.write("empty.db", "")),
        ("text", 74, "is not a runner database", |sandbox| sandbox.write("text", "Dear reader")),
        ("runner.db", 2, "is the database itself", |_| {}),
        ("link.db", 2, "is the database itself", |sandbox| {
            symlink("runner.db", sandbox.path("link.db")).unwrap();
        }),
        ("copy.db", 74, "copy.db is damaged", |sandbox| {
            let mut bytes = fs::read(sandbox.path("copy.db")).unwrap();
            let last = bytes.len() - 4_096;
            bytes[last..].fill(0xa5);
            sandbox.write("copy.db", bytes);
        }),
        ("copy.db", 74, "job 1 counts 9 attempts", |sandbox| sql(sandbox, "UPDATE jobs SET attempts = 9")),
        ("copy.db", 76, "is of version 2.0", |sandbox| sql(sandbox, "PRAGMA user_version = 2000")),
    ];
    for (source, status, said, harm) in cases {
        let sandbox = sandbox();
        harm(&sandbox);
        let before = (names(&sandbox), fs::read(sandbox.db()).unwrap());
        let ran = sandbox.run(&format!("restore {source}")).exits(status).prints("").says(said);
        ran.says(if status == 76 {
            "hint: use a runner that knows version 2"
        } else {
            "hint: name another file, one that"
        });
        assert!(before == (names(&sandbox), fs::read(sandbox.db()).unwrap()), "{source}");
    }
    sandbox().run("restore").exits(2);
}

fn sql(sandbox: &Sandbox, statement: &str) {
    crate::support::Sql::open(&sandbox.path("copy.db")).run(statement);
}

#[test]
fn nothing_is_replaced_under_a_worker_that_is_alive() {
    let sandbox = sandbox();
    sandbox.add_line("", "echo $$ > pid; until [ -e go ]; do sleep 0.01; done");
    let worker = sandbox.worker("");
    let job = sandbox.pid_of("pid");
    sandbox.run("restore copy.db").exits(75).prints("").says("a worker is running on");
    worker.signal(Signal::STOP);
    sandbox.run("restore copy.db").exits(75).says("runner inspect workers");
    worker.signal(Signal::CONT);
    assert!(is_alive(job));
    sandbox.write("go", "");
    sandbox.until_state(3, "succeeded");
    drop(worker);
    sandbox.run("restore copy.db").ok();
}

#[test]
fn nothing_is_replaced_while_another_process_has_it_open() {
    let sandbox = sandbox();
    let mut waiter = Background::start(&sandbox, sandbox.call("wait 2"));
    waiter.until_it_says("no worker is running");
    sandbox.run("restore copy.db").exits(75).prints("").says("for 10 s another process had it open");
    sandbox.drain();
    waiter.wait().says("but no worker is running for queue default; runner work starts one").ok();
    sandbox.run("restore copy.db").ok();
}

#[test]
fn the_kept_database_has_what_a_killed_process_left_in_the_log() {
    let sandbox = sandbox();
    let worker = sandbox.worker("--queue other");
    sandbox.add("--name three -- true");
    worker.kill();
    assert!(fs::metadata(sandbox.path("runner.db-wal")).unwrap().len() > 0);
    symlink("runner.db", sandbox.path("link.db")).unwrap();
    sandbox.run("--db link.db restore copy.db").ok().shows("runner.db.replaced-1");
    assert_eq!(jobs(&sandbox, "runner.db"), ["one"]);
    assert_eq!(jobs(&sandbox, "runner.db.replaced-1"), ["one", "two", "three"]);
    sandbox.run("doctor").ok();
    sandbox.run("--db runner.db.replaced-1 doctor").ok().shows("0 alive, 1 dead");
}

#[test]
fn a_damaged_database_is_replaced_and_kept_as_it_was() {
    let tear: fn(&mut Vec<u8>) = |bytes| bytes.truncate(bytes.len() / 2);
    let overwrite: fn(&mut Vec<u8>) = |bytes| bytes[100..].fill(0xa5);
    for harm in [tear, overwrite] {
        let sandbox = sandbox();
        let mut bytes = fs::read(sandbox.db()).unwrap();
        harm(&mut bytes);
        sandbox.write("runner.db", &bytes);
        sandbox.write("runner.db-wal", "a log");
        sandbox.run("inspect jobs").exits(74).says("runner restore FILE");
        let ran = sandbox
            .run("restore copy.db")
            .says("unfinished job ended since the copy was made could not be read: look")
            .ok();
        assert_eq!(jobs(&sandbox, "runner.db"), ["one"]);
        assert!(fs::read(sandbox.path("runner.db.replaced-1")).unwrap() == bytes);
        assert_eq!(sandbox.read("runner.db.replaced-1-wal"), "a log");
        ran.says("the old database is damaged: not all ids")
            .says("so ids above 1 may be given out again")
            .says("whether 1 unfinished job ended since the copy was made could not be read");
        assert_eq!(sandbox.add("-- true"), 2);
    }
}

#[test]
fn what_can_be_read_of_a_damaged_database_counts() {
    let fill = |sandbox: &Sandbox, table: &str| {
        let page =
            sandbox.sql().number(&format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'"));
        let mut bytes = fs::read(sandbox.db()).unwrap();
        let start = usize::try_from(page - 1).unwrap() * 4_096;
        bytes[start..start + 4_096].fill(0xa5);
        sandbox.write("runner.db", bytes);
    };
    let (ids, jobs) = ("so ids above 3 may be given out again", "whether 1 unfinished job ended since");
    for (harm, said, unsaid) in
        [("sqlite_sequence", ids, "unfinished"), ("jobs", jobs, "ids"), ("", "", "damaged")]
    {
        let sandbox = sandbox();
        sandbox.drain();
        sandbox.add("-- true");
        match harm {
            "" => sandbox.sql().run("CREATE TRIGGER evil AFTER UPDATE ON jobs BEGIN SELECT 1; END"),
            table => fill(&sandbox, table),
        }
        let ran = sandbox.run("restore copy.db --json").says(said).ok();
        assert!(!ran.stderr.contains(unsaid), "{harm}: {ran}");
        let (again, unread) = (&ran.json()["run_again"], &ran.json()["unread"]);
        assert_eq!(again.as_array().map(Vec::len), Some(usize::from(harm != "jobs")), "{ran}");
        assert_eq!(unread.is_null(), harm.is_empty(), "{ran}");
        assert_eq!(sandbox.add("-- true"), 4, "{harm}");
        sandbox.run("doctor").ok();
    }
    // A counter that nobody can have reached is not believed.
    let sandbox = sandbox();
    sandbox.sql().run("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'jobs'");
    sandbox.run("restore copy.db").says("so ids above 2 may be given out again").ok();
    assert_eq!(sandbox.add("-- true"), 3);
}

#[test]
fn a_file_of_another_program_is_not_replaced() {
    let sandbox = sandbox();
    sandbox.write("notes", "Dear reader");
    sandbox.run("--db notes restore copy.db").exits(74).says("is not a runner database");
    assert_eq!(sandbox.read("notes"), "Dear reader");
}

#[test]
fn an_enqueue_at_the_same_time_is_in_the_new_database_or_in_the_kept_one() {
    let sandbox = sandbox();
    for round in 1..=5 {
        let enqueues: Vec<_> = (0..8)
            .map(|n| {
                let call = sandbox.call(&format!("enqueue --name job-{round}-{n} -- true"));
                call.spawn(Stdio::piped(), Stdio::piped())
            })
            .collect();
        sandbox.run("restore copy.db").ok();
        let mut found = jobs(&sandbox, &format!("runner.db.replaced-{round}"));
        for (n, child) in enqueues.into_iter().enumerate() {
            let ran = Finished::new(format!("enqueue {n}"), child.wait_with_output().unwrap()).ok();
            assert_ne!(ran.stdout, "");
        }
        found.extend(jobs(&sandbox, "runner.db"));
        for n in 0..8 {
            let name = format!("job-{round}-{n}");
            assert_eq!(found.iter().filter(|each| **each == name).count(), 1, "{name} in {found:?}");
        }
        sandbox.run("doctor").ok();
    }
}

#[test]
fn jobs_that_ran_when_the_copy_was_made_are_lost_and_run_again() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--max-attempts 2 --backoff 1ms", "echo ran >> log; [ -e go ] || exec sleep 60");
    let worker = sandbox.worker("");
    sandbox.until_logged(1);
    sandbox.run("backup copy.db").ok();
    sandbox.write("go", "");
    sandbox.run("cancel 1").ok();
    sandbox.until_state(1, "cancelled");
    drop(worker);
    sandbox.run("restore copy.db").ok();
    sandbox.run("work --drain").ok();
    let attempts = sandbox.attempts(1);
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt["outcome"].clone()).collect();
    assert_eq!(outcomes, ["worker_crashed", "succeeded"]);
    // Its worker did not die, and saw the end.
    let message =
        "it was running when this database was copied; the database that it replaced may say how it ended";
    assert_eq!(attempts[0]["message"], message);
}

#[test]
fn what_a_failed_attempt_left_is_ended_before_the_next_one_also_after_a_restore() {
    let sandbox = Sandbox::empty();
    let line = "[ -e left ] && exit; setsid sleep 60 & echo $! > left; exit 1";
    sandbox.add_line("--max-attempts 2 --backoff 2s", line);
    let worker = sandbox.worker("");
    let pid = sandbox.pid_of("left");
    wait_until("the attempt is recorded", || sandbox.attempts(1).len() == 1);
    sandbox.run("backup copy.db").ok();
    drop(worker);
    sandbox.run("restore copy.db").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
    assert!(!is_alive(pid));
}

#[test]
fn no_id_of_the_replaced_database_is_given_out_again() {
    let sandbox = Sandbox::empty();
    let again = |expected: serde_json::Value| {
        let ran = sandbox.run("restore copy.db --json").ok().quietly();
        assert_eq!((&ran.json()["run_again"], &ran.json()["unread"]), (&expected, &json!(null)));
    };
    let sequences = || {
        let sql = "SELECT json_group_object(name, seq) FROM sqlite_sequence";
        serde_json::from_str::<serde_json::Value>(&sandbox.sql().text(sql)).expect("JSON")
    };
    // The copy has no worker, and no job yet.
    sandbox.add("-- true");
    sandbox.run("cancel 1").ok();
    sandbox.run("prune --older-than 0s").ok();
    sandbox.run("backup copy.db").ok();
    for command in ["true", "false"] {
        sandbox.add(&format!("-- {command}"));
        sandbox.drain();
    }
    // The newest ids may be of jobs that are gone.
    sandbox.run("prune --older-than 0s --state dead --state succeeded").ok();
    let before = sequences();
    assert_eq!((&before["jobs"], &before["workers"]), (&json!(3), &json!(2)));
    again(json!([]));
    assert_eq!(sequences(), before);
    assert_eq!(sandbox.add("-- true"), 4);
    // Nothing that the copy has given out, either.
    sandbox.run("backup later.db").ok();
    again(json!([]));
    sandbox.run("restore later.db").ok();
    assert_eq!(sandbox.add("-- true"), 5);
    sandbox.run("doctor").ok();
}

#[test]
fn the_jobs_that_will_run_again_are_named() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--name busy", "echo >> log; until [ -e go ]; do sleep 0.01; done");
    let worker = sandbox.worker("-j1 --queue default");
    sandbox.until_logged(1);
    for job in ["good -- true", "bad -- false", "gone -- true", "lost --queue slow -- sleep 60"] {
        sandbox.add(&format!("--name {job}"));
    }
    sandbox.add("--name left --queue other -- true");
    sandbox.add("--name late --queue other --expires-in 1ms -- true");
    sandbox.run("backup copy.db").ok();
    sandbox.run("cancel gone").ok();
    sandbox.write("go", "");
    for (id, state) in [(1, "succeeded"), (2, "succeeded"), (3, "dead"), (4, "cancelled"), (7, "dead")] {
        sandbox.until_state(id, state);
    }
    let slow = sandbox.worker("--queue slow");
    sandbox.until_state(5, "running");
    slow.kill();
    drop(worker);
    let said = "4 jobs that started or ended since the copy was made will run again: 2 good (succeeded), 3 bad (dead), \
                4 gone (cancelled), 5 lost (running)\n\
                1 job that the copy has running will be recorded as lost, and run again only where the policy says so: \
                1 busy (succeeded)\n\
                to prevent that, type before you start a worker: runner cancel 1 2 3 4 5\n";
    let ran = sandbox.run("restore copy.db").ok().quietly();
    assert!(ran.stdout.ends_with(said), "{ran}");
    sandbox.run("cancel 1 2 3 4 5").ok();
    sandbox.drain();
    assert_eq!(
        (sandbox.job(4)["state"].clone(), sandbox.job(6)["state"].clone()),
        (json!("cancelled"), json!("succeeded"))
    );
    assert_eq!(sandbox.log().len(), 1);

    // The screen names only some of many, and JSON has them all.
    let sandbox = Sandbox::empty();
    let line = "{\"command\": [\"true\"], \"name\": \"fetch\"}\n";
    sandbox.call("enqueue --batch -").stdin(line.repeat(25)).run().ok();
    sandbox.run("backup copy.db").ok();
    sandbox.drain();
    let ran = sandbox.run("restore copy.db --json").ok();
    assert_eq!(ran.json()["run_again"].as_array().map(Vec::len), Some(25));
    sandbox.drain();
    let ran = sandbox
        .run("restore copy.db")
        .ok()
        .shows("5 fetch (succeeded), …\n")
        .shows("inspect jobs --state ready");
    assert!(!ran.stdout.contains("6 fetch"), "{ran}");
    sandbox.run("restore copy.db -q").ok().prints("");
}

/// What job 1 leaves runs when the copy of before its first attempt is restored.
#[track_caller]
fn is_ended_by_a_restore(line: &str, run: impl FnOnce(&Sandbox) -> i32) {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--max-attempts 1", line);
    sandbox.run("backup copy.db").ok();
    let left = run(&sandbox);
    assert!(is_alive(left));
    let said = sandbox.run("restore copy.db").ok().stdout;
    assert!(!is_alive(left), "{said}");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn what_still_runs_is_ended_before_the_database_is_replaced() {
    is_ended_by_a_restore("[ -e pid ] || { echo $$ > pid; exec sleep 600; }", |sandbox| {
        let worker = sandbox.worker("-j1");
        let left = sandbox.pid_of("pid");
        worker.kill();
        left
    });
    is_ended_by_a_restore(
        "[ -e pid ] || { setsid sleep 600 > /dev/null 2>&1 & echo $! > pid; }",
        |sandbox| {
            sandbox.run("work --drain").ok();
            sandbox.pid_of("pid")
        },
    );
}

/// The call renameat2 takes no flags, as on most FUSE file systems: `EINVAL`. All calls are allowed but that, and of it those whose
/// fifth argument is 0.
const WITHOUT_FLAGS: &str =
    "0x20 0 0 0; 0x15 0 3 CALL; 0x20 0 0 48; 0x15 1 0 0; 0x06 0 0 0x50016; 0x06 0 0 0x7fff0000";

#[test]
fn a_file_system_that_only_renames_keeps_the_old_database_as_well() {
    let sandbox = sandbox();
    let restore = || {
        let call = sandbox.filtered([316, 276], WITHOUT_FLAGS);
        call.arg(env!("CARGO_BIN_EXE_runner")).arg("restore").arg("copy.db").run()
    };
    restore().ok().shows("runner.db.replaced-1");
    assert_eq!(jobs(&sandbox, "runner.db"), ["one"]);
    assert_eq!(jobs(&sandbox, "runner.db.replaced-1"), ["one", "two"]);
    // A name that is taken is not given again, and the log of a damaged database is kept.
    fs::write(sandbox.path("runner.db"), "SQLite format 3\0, and no more").unwrap();
    fs::write(sandbox.path("runner.db-wal"), "its log").unwrap();
    restore().exits(0).shows("runner.db.replaced-2");
    assert_eq!(fs::read(sandbox.path("runner.db.replaced-2-wal")).unwrap(), b"its log");
    assert_eq!(jobs(&sandbox, "runner.db"), ["one"]);
    assert_eq!(jobs(&sandbox, "runner.db.replaced-1"), ["one", "two"]);
    sandbox.run("doctor").ok();
}

#[test]
fn what_fired_since_the_copy_and_pauses_that_are_not_in_it_are_named() {
    let sandbox = Sandbox::new(
        "[jobs.pay]\ncommand = 'echo pay >> log'\nschedule = '0 2 * * *'\n\
         [jobs.boot]\ncommand = 'echo boot >> log'\nschedule = '@reboot'\n\
         [jobs.later]\ncommand = 'true'\nschedule = '0 3 * * *'\n",
    );
    sandbox.run("apply").exits(0);
    sandbox.sql().run(
        "UPDATE schedules SET next_at = next_at - 86400000, applied_at = applied_at - 172800000 WHERE name = 'pay';
         UPDATE schedules SET boot_id = 'earlier' WHERE name = 'boot'",
    );
    sandbox.run("pause kept").exits(0);
    sandbox.run("backup copy.db").ok();
    sandbox.run("work --until-idle").exits(0);
    assert_eq!(sandbox.log().len(), 2);
    for line in ["pause --all", "pause net", "pause --schedule later"] {
        sandbox.run(line).exits(0);
    }
    sandbox
        .run("restore copy.db")
        .says("fired since the copy was made, and may fire again for the same time: boot, pay;")
        .says("paused, and is not in the copy, or not for as long: everything, queue net, schedule later;")
        .exits(0);
    for name in ["boot", "pay"] {
        sandbox.run(&format!("pause --schedule {name}")).exits(0);
        sandbox.run(&format!("resume --schedule {name}")).exits(0);
    }
    sandbox.run("work --until-idle").exits(0);
    assert_eq!(sandbox.log().len(), 2);
    // A pause that was to end has no end since, and two others are over.
    for line in ["pause kept --for 1h", "pause --all", "pause past --for 1ms"] {
        sandbox.run(line).exits(0);
    }
    sandbox.run("backup paused.db").ok();
    for line in ["pause kept", "resume --all"] {
        sandbox.run(line).exits(0);
    }
    sandbox
        .run("restore paused.db")
        .says("not for as long: queue kept; pause")
        .says("paused again, as it was in the copy: everything; runner resume … ends it")
        .exits(0);
    sandbox.run("resume --all").exits(0);
    // The same copy once more: nothing has happened since.
    sandbox.run("backup again.db").ok();
    sandbox.run("restore again.db").ok().quietly();
}

#[test]
fn a_schedule_that_was_renamed_since_the_copy_is_named_by_its_jobs() {
    let jobs = "[jobs.pay]\ncommand = 'echo pay >> log'\nschedule = '0 2 * * *'\n";
    let sandbox = Sandbox::new(jobs);
    sandbox.run("apply").exits(0);
    sandbox
        .sql()
        .run("UPDATE schedules SET next_at = next_at - 86400000, applied_at = applied_at - 172800000");
    sandbox.run("backup copy.db").ok();
    sandbox.run("work --until-idle").exits(0);
    sandbox.write("jobs.toml", jobs.replace("jobs.pay", "jobs.wages"));
    sandbox.run("apply").exits(0);
    sandbox.run("restore copy.db").says("may fire again for the same time: pay;").exits(0);
}

#[test]
fn pauses_of_every_earlier_version_are_compared() {
    for (version, sql) in VERSIONS {
        let sandbox = Sandbox::of_version(sql);
        sandbox.run("enqueue --db new.db --in 1h -- true").exits(0);
        sandbox.run("backup --db new.db copy.db").exits(0);
        sandbox.sql().run("UPDATE queues SET paused = 1 WHERE name = 'few'");
        let ran = sandbox.run("restore copy.db").exits(0);
        assert!(
            ran.stderr.contains("not for as long: ") && ran.stderr.contains("queue few"),
            "{version}: {ran}"
        );
    }
}
