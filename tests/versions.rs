//! Programs of different versions of the schema share a file, and an upgrade loses nothing.

use std::process::Stdio;

use crate::support::versions::{NEXT, NEXT_NUMBER, TODAY, VERSIONS, columns, next_version, rows};
use crate::support::{Background, NOBODY, Sandbox, is_root};

/// The newest version of which there is a database, and that database.
const NEWEST: &str = VERSIONS[VERSIONS.len() - 1].0;

fn newest() -> Sandbox {
    Sandbox::of_version(VERSIONS[VERSIONS.len() - 1].1)
}

#[test]
fn the_database_of_every_version_opens_and_its_jobs_go_on() {
    for (version, sql) in VERSIONS {
        let sandbox = Sandbox::of_version(sql);
        let old = columns(&sandbox.sql());
        let before = rows(&sandbox.sql(), &old);
        assert!(before.len() > 60, "{version}");
        sandbox.run("inspect").ok();
        assert_eq!(rows(&sandbox.sql(), &old), before, "{version}");
        // A worker died while it was running a job.
        sandbox.run("doctor").exits(1).shows("a worker died holding 1 job").shows("1 problem");
        sandbox.run("work --until-idle").exits(0);
        sandbox.run("doctor").ok();
        let held = sandbox.run("inspect held --json").ok().json();
        assert_eq!(held["history"][0]["outcome"], "worker_crashed", "{held}");
        for name in ["held", "extract", "reading"] {
            assert_eq!(sandbox.run(&format!("inspect {name} --json")).ok().json()["state"], "succeeded");
        }
        // Attempts that had ended before are as they were.
        let after = rows(&sandbox.sql(), &old);
        let is_kept = |row: &&String| row.starts_with("attempts") || row.starts_with("outputs");
        assert!(before.iter().filter(is_kept).all(|row| after.contains(row)), "{version}");
        sandbox.run("retry --redefine dying").ok();
        sandbox.run("apply").ok();
        sandbox.run("inspect --html").ok();
    }
}

#[test]
fn the_first_verb_of_a_newer_program_brings_the_file_up_and_loses_nothing() {
    for line in ["inspect", "logs once", "inspect load", "doctor", "enqueue good", "prune --older-than 9d"] {
        let sandbox = newest();
        let old = columns(&sandbox.sql());
        let before = rows(&sandbox.sql(), &old);
        let ran = sandbox.call_next(line).run();
        assert!(matches!(ran.status(), Some(0 | 1)), "{ran}");
        assert_eq!(sandbox.sql().number("PRAGMA user_version"), NEXT_NUMBER, "{line}");
        let after = rows(&sandbox.sql(), &old);
        assert!(before.iter().all(|row| after.contains(row)), "{line}");
    }
}

#[test]
fn an_upgraded_file_equals_a_new_one() {
    let upgraded = newest();
    upgraded.call_next("work --until-idle").run().ok();
    upgraded.call_next("doctor").run().ok().shows(&format!("version {NEXT}\n"));
    let new = Sandbox::empty();
    new.call_next("enqueue -- true").run().ok();
    new.call_next("doctor").run().ok().shows(&format!("version {NEXT}\n"));
    assert_eq!(columns(&upgraded.sql()), columns(&new.sql()));
}

#[test]
fn an_older_program_works_with_the_file_of_a_newer_one() {
    let sandbox = newest();
    sandbox.call_next("enqueue good").run().ok();
    sandbox.run("work --until-idle").ok();
    sandbox.run("enqueue good --wait --wait-timeout 0s").exits(75);
    sandbox.run("work --until-idle").ok();
    sandbox.run("doctor").ok().shows(&format!("version {NEXT}, newer than this runner, which knows {TODAY}"));
    sandbox.run("backup copy.db").ok();
    sandbox.run("restore copy.db").ok();
    sandbox.run("doctor").ok().shows(&format!("version {NEXT}, newer"));
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM made_up"), 0);
    // The views and columns that the older program knows must be as it made them.
    sandbox.sql().run("DROP VIEW dead_letters; ALTER TABLE queues RENAME COLUMN rate_file TO rates");
    let found = sandbox.run("doctor").exits(1);
    found.shows("the view dead_letters is missing").shows("the table queues is not as it was made");
}

#[test]
fn a_backup_of_an_older_version_is_restored_and_stays_as_it_is() {
    let sandbox = newest();
    sandbox.run("backup copy.db").ok();
    let copy = std::fs::read(sandbox.path("copy.db")).unwrap();
    sandbox.call_next("inspect").run().ok();
    sandbox.call_next("restore copy.db").run().ok();
    sandbox.call_next("inspect").run().ok();
    assert_eq!(sandbox.sql().number("PRAGMA user_version"), NEXT_NUMBER);
    assert!(copy == std::fs::read(sandbox.path("copy.db")).unwrap());
}

#[test]
fn a_worker_goes_on_while_the_file_below_it_is_brought_up() {
    let sandbox = Sandbox::empty();
    sandbox.write("hold", "");
    let held = sandbox.add_line("", "while [ -e hold ]; do sleep 0.02; done; echo through");
    let worker = sandbox.worker("-j2");
    sandbox.until_state(held, "running");
    let new = sandbox.call_next("enqueue -- echo new").run().ok().id();
    assert_eq!(sandbox.sql().number("PRAGMA user_version"), NEXT_NUMBER);
    sandbox.until_state(new, "succeeded");
    std::fs::remove_file(sandbox.path("hold")).unwrap();
    sandbox.until_state(held, "succeeded");
    // And a worker of the new version beside it.
    let other = Background::worker(&sandbox, sandbox.call_next("work -j2"));
    for program in [sandbox.call("enqueue -- true"), sandbox.call_next("enqueue -- true")] {
        let id = program.run().ok().id();
        sandbox.until_state(id, "succeeded");
    }
    drop((worker, other));
    sandbox.run("doctor").ok();
    sandbox.call_next("doctor").run().ok();
}

/// Adds a job and a schedule that need this version of the schema, with a key that no program of today knows.
fn add_newer(sandbox: &Sandbox, needs: i64, key: &str) {
    sandbox.sql().run(&format!(
        "INSERT INTO job_definitions (id, hash, definition)
             SELECT 100, 7, json_set(definition, '$.name', 'newer', '$.{key}', 5) FROM job_definitions WHERE id = 1
             UNION ALL SELECT 101, 8, json_set(definition, '$.name', 'newer-expired', '$.{key}', 5)
             FROM job_definitions WHERE id = 1;
         INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, expires_at, changed_at,
                           needs_version)
             VALUES (100, 'newer', 'q', 0, 'pending', 1, 1, NULL, 1, {needs}),
                    (101, 'newer-expired', 'q', 0, 'pending', 1, 1, 2, 1, {needs});
         INSERT INTO schedules (name, chain, schedule, missed, file, next_at, applied_at, needs_version)
             SELECT 'newer', json_object('root', json_object('definition',
                    json_set(definition, '$.name', 'newer', '$.{key}', 5))), 'every 1h', 'once', '/gone.toml', 1, 1, {needs}
             FROM job_definitions WHERE id = 1"
    ));
}

#[test]
fn what_needs_a_newer_program_is_shown_and_left_alone() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name plain -- true");
    add_newer(&sandbox, NEXT_NUMBER, "made_up");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.run("inspect newer --json").ok().json()["state"], "pending");
    assert_eq!(sandbox.run("inspect plain --json").ok().json()["state"], "succeeded");
    let text = "SELECT group_concat(name || ' ' || state, ', ') FROM jobs";
    assert_eq!(sandbox.sql().text(text), "plain succeeded, newer pending, newer-expired pending");
    for line in ["inspect", "inspect jobs", "inspect schedules", "inspect newer", "inspect --html", "doctor"]
    {
        sandbox.run(line).ok();
    }
    // The same key in what claims to be of today is damage.
    let sandbox = Sandbox::empty();
    sandbox.add("--name plain -- true");
    add_newer(&sandbox, 1_000, "made_up");
    sandbox.run("inspect newer").exits(74).says("unknown key").says("made_up");
    sandbox.run("inspect schedules").exits(74).says("unknown key").says("made_up");
}

#[test]
fn an_older_worker_leaves_the_claim_of_a_newer_one_to_newer_ones() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name plain -- true");
    add_newer(&sandbox, NEXT_NUMBER, "grace_period");
    sandbox.sql().run(&format!(
        "INSERT INTO workers (name, mark, version, db_path, pid, boot_id, start_ticks, started_at, slots)
             VALUES ('00000000000000aa', 'm', {NEXT_NUMBER}, x'2f64', 1, 'another', 1, 1, 4);
         UPDATE jobs SET state = 'running', worker_id = last_insert_rowid() WHERE name = 'newer'",
    ));
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.sql().text("SELECT state FROM jobs WHERE name = 'newer'"), "running");
    sandbox.call_next("work --until-idle").run();
    assert_ne!(sandbox.sql().text("SELECT state FROM jobs WHERE name = 'newer'"), "running");
}

#[test]
fn who_may_not_write_is_told_which_command_brings_the_file_up() {
    if !is_root() {
        eprintln!("skipped: only root can act as another user");
        return;
    }
    let sandbox = newest();
    let program = sandbox.path("next");
    let copied = std::process::Command::new("cp").arg(next_version()).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()));
    for (name, mode) in [("runner.db", 0o400), ("runner.db.run", 0o700), (".", 0o500)] {
        if sandbox.path(name).exists() {
            sandbox.own(name, NOBODY, mode);
        }
    }
    let ran = sandbox.program(program.to_str().unwrap()).arg("inspect").run_by(NOBODY).run();
    ran.exits(74)
        .says(&format!("is of version {NEWEST}, and cannot be brought up to version {NEXT}"))
        .says("hint: run `runner doctor`");
}

#[test]
fn sixteen_programs_bring_a_file_up_once() {
    for _ in 0..3 {
        let sandbox = newest();
        let old = columns(&sandbox.sql());
        let before = rows(&sandbox.sql(), &old);
        let lines = ["inspect", "doctor", "inspect dead", "inspect schedules"];
        let calls = (0..16).map(|number| {
            let line = lines[number % lines.len()];
            let call = if number % 3 == 0 { sandbox.call(line) } else { sandbox.call_next(line) };
            call.spawn(Stdio::null(), Stdio::piped())
        });
        let children: Vec<_> = calls.collect();
        for child in children {
            let output = child.wait_with_output().expect("a child");
            // The doctor finds the dead worker of the history.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        }
        assert_eq!(sandbox.sql().number("PRAGMA user_version"), NEXT_NUMBER);
        assert_eq!(rows(&sandbox.sql(), &old), before);
        sandbox.call_next("work --until-idle").run().ok();
        sandbox.call_next("doctor").run().ok();
    }
}
