//! Arguments, input and output of a job are stored in clear, and `prune` leaves nothing of it: not a byte in the database, its
//! log, the files beside it, or a new copy.

use std::fs::{self, File};
use std::path::Path;

use crate::support::{Sandbox, Sql, wait_until};

/// Where secrets stand in the tests. Each is a text of its own, so that a failure names the place.
const PLACES: [&str; 9] = [
    "in-command",
    "in-env",
    "in-env-of-alert",
    "in-argument",
    "in-input",
    "in-output",
    "in-errors",
    "in-result",
    "in-message",
];

/// All bytes of the database and of what lies beside it, with the place of each.
fn bytes(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path("runner.db.run")];
    let beside =
        ["runner.db", "runner.db-wal", "runner.db-shm", "runner.db-journal"].map(|name| sandbox.path(name));
    let mut read = |path: &Path| {
        if let Ok(bytes) = fs::read(path) {
            found.push((path.file_name().unwrap().to_string_lossy().into_owned(), bytes));
        }
    };
    for path in beside {
        read(&path);
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => read(&entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// The files that hold this text.
fn holders(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    bytes(sandbox).into_iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect()
}

#[track_caller]
fn assert_gone(sandbox: &Sandbox, text: &str) {
    assert_eq!(holders(sandbox, text), Vec::<String>::new(), "{text} can be found");
    let copy = format!("copy-without-{text}");
    sandbox.run(&format!("backup {copy}")).ok();
    let copy = fs::read(sandbox.path(&copy)).unwrap();
    assert!(!copy.windows(text.len()).any(|window| window == text.as_bytes()), "{text} is in a new copy");
}

/// A job with a secret in each place, and what goes on while it is removed.
const JOBS: &str = r#"
[jobs.secret]
command = """
    : in-command
    cat > input
    for i in $(seq 2000); do echo in-output $i; echo in-errors $i >&2; done
    until test -e go; do sleep 0.01; done
    printf 'result=in-result\nmessage=in-message\n' >> $RUNNER_REPORT
    exit 3"""
env = { SECRET = "in-env" }
max_attempts = 1
output_limit = "1MiB"
on_dead = "alert"
[jobs.alert]
command = "true"
env = { SECRET = "in-env-of-alert" }
[jobs.other]
command = "echo other; exit 0"
"#;

#[test]
fn nothing_of_a_removed_job_is_left_while_workers_go_on() {
    let sandbox = Sandbox::new(JOBS);
    let worker = sandbox.worker("-j2");
    let input = "in-input ".repeat(20_000);
    sandbox
        .call("enqueue secret --stdin -- in-argument")
        .stdin(input)
        .run()
        .says("runner: secret takes no notice of its arguments: a command that is a")
        .ok();
    let live = sandbox.sql();
    wait_until("what it wrote so far is saved", || live.number("SELECT count(*) FROM live_outputs") == 1);
    sandbox.run("enqueue other other other").ok();
    sandbox.write("go", "");
    sandbox.until_state(1, "dead");
    sandbox.run("wait 2 3 4 5").ok();
    for place in PLACES {
        assert_ne!(holders(&sandbox, place), Vec::<String>::new(), "{place} was never there");
    }
    let prune = |options: &str| sandbox.run(&format!("prune --older-than 0s {options}")).ok().quietly();
    prune("--state dead").prints("removed 1 job\n");
    prune("--name alert").prints("removed 1 job\n");
    for place in PLACES {
        assert_gone(&sandbox, place);
    }
    sandbox.run("doctor").ok();
    assert_eq!(sandbox.run("logs 4").ok().stdout, "other\n");
    drop(worker);
}

#[test]
fn a_reader_that_keeps_the_log_is_told_of() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    sandbox.call("enqueue -q --wait --name secret -- echo in-output").run().ok();
    let reader = sandbox.sql();
    reader.run("BEGIN; SELECT count(*) FROM jobs;");
    let ran = sandbox
        .run("prune --older-than 0s")
        .says("or its log, because another program keeps reading the database; prune again when it has ended")
        .ok()
        .prints("removed 1 job\n");
    insta::assert_snapshot!(ran.stderr.replace(sandbox.dir().to_str().unwrap(), "DIR"), @"runner: what was removed can still be found in DIR/runner.db or its log, because another program keeps reading the database; prune again when it has ended");
    assert!(holders(&sandbox, "in-output").contains(&"runner.db-wal".to_owned()));
    reader.run("COMMIT");
    sandbox.run("prune --older-than 0s").ok().quietly().prints("removed 0 jobs\n");
    assert_gone(&sandbox, "in-output");
}

fn definitions(sql: &Sql) -> Vec<String> {
    sql.all("SELECT definition ->> 'name' FROM job_definitions ORDER BY id", |row| row.get(0))
}

#[test]
fn after_a_prune_every_definition_has_a_job() {
    let sandbox = Sandbox::empty();
    for name in ["first", "kept", "newest"] {
        sandbox.add_line(&format!("--name {name} --env SECRET=in-env-of-{name}"), "true");
    }
    sandbox.run("work --drain").ok();
    sandbox.run("prune --older-than 0s --name first").ok();
    assert_eq!(definitions(&sandbox.sql()), ["kept", "newest"]);
    sandbox.run("prune --older-than 0s --name newest").ok();
    assert_eq!(definitions(&sandbox.sql()), ["kept"]);
    assert_gone(&sandbox, "in-env-of-newest");
    // As a prune leaves it that was killed between the jobs and their definitions.
    sandbox.sql().run("DELETE FROM jobs");
    sandbox.run("prune --older-than 1d").ok().prints("removed 0 jobs\n");
    assert_eq!(definitions(&sandbox.sql()), [""; 0]);
    assert_gone(&sandbox, "in-env-of-kept");
    // A worker may remember the definition that had this id.
    assert_eq!(sandbox.finish_line("--name last", "echo last")["state"], "succeeded");
    assert_eq!(sandbox.run("logs 4").ok().stdout, "last\n");
}

#[test]
fn a_schedule_keeps_its_definition_until_it_is_applied_again() {
    let job = |token: &str| {
        format!("[jobs.tick]\ncommand = 'true'\nschedule = 'every 1s'\nenv.TOKEN = '{token}'\n")
    };
    let sandbox = Sandbox::new(&job("in-env-at-first"));
    sandbox.run("apply").ok();
    sandbox.run("work --max-jobs 1").ok();
    sandbox.run("prune --older-than 0s").ok();
    assert_eq!(holders(&sandbox, "in-env-at-first"), ["runner.db"]);
    sandbox.write("jobs.toml", job("in-env-now"));
    sandbox.run("apply").ok();
    sandbox.run("prune --older-than 0s").ok();
    assert_gone(&sandbox, "in-env-at-first");
}

#[test]
fn what_killed_processes_left_beside_the_database_goes() {
    let sandbox = Sandbox::new(JOBS);
    let worker = sandbox.worker("");
    sandbox.run("enqueue -q --wait other").ok();
    let names = || {
        let names = fs::read_dir(sandbox.path("runner.db.run")).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let of_worker = names().into_iter().find(|name| name.ends_with(".reports")).unwrap();
    sandbox.write("runner.db.run/new.db", "in-draft");
    sandbox.write("runner.db.run/new.db-wal", "in-log-of-draft");
    sandbox.write("runner.db.run/0123456789abcdef.reports/1.1", "in-report");
    // A draft that is being made stays.
    let lock = File::create(sandbox.path("runner.db.run/create.lock")).unwrap();
    lock.lock().unwrap();
    sandbox.run("prune --older-than 1d").ok();
    assert_eq!(holders(&sandbox, "in-draft"), ["new.db"]);
    drop(lock);
    sandbox.run("prune --older-than 1d").ok();
    for text in ["in-draft", "in-log-of-draft", "in-report"] {
        assert_gone(&sandbox, text);
    }
    assert!(names().contains(&of_worker), "a live worker needs its folder");
    drop(worker);
}
