//! A copy of a database is a database of its own; one that was moved is the same one in another place.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Sandbox, assert_fields, is_alive, json};

const JOBS: &str = r#"
[jobs.slow]
command = "echo $$ >> log; [ $RUNNER_ATTEMPT -gt 1 ] || until [ -e go ]; do sleep 0.01; done"
backoff = "1ms"
"#;

/// Runs a line in the shell.
#[track_caller]
fn shell(sandbox: &Sandbox, line: &str) {
    sandbox.program("sh").arg("-c").arg(line).with_runner_on_path().run().ok();
}

#[test]
fn a_copy_leaves_the_workers_and_processes_of_the_original_alone() {
    for (copy, line) in [
        ("copy.db", "runner backup copy.db"),
        ("copy.db", "for end in '' -wal; do cp runner.db$end copy.db$end; done"),
        ("copy/runner.db", "mkdir -m 700 copy; cp -a runner.db* copy"),
    ] {
        let sandbox = Sandbox::new(JOBS);
        sandbox.add("slow");
        let _worker = sandbox.worker("-j1");
        let running: i32 = sandbox.line_of("log").parse().expect("a process id");
        shell(&sandbox, line);
        let in_copy = |line: &str| sandbox.run(&format!("--db {copy} {line}"));

        let original = sandbox.db().display().to_string();
        in_copy("inspect 1")
            .ok()
            .shows(&format!("its worker works on {original}, of which this database is a copy"))
            .shows("its worker is dead");
        assert_eq!(in_copy("inspect workers --json").ok().json()["alive"], false);
        in_copy("inspect")
            .ok()
            .shows(" starts one, but in this copy it does again what the original does")
            .shows("1 died");
        in_copy("wait 1 --wait-timeout 0s").exits(75).says("job 1 has started, but its worker works on");
        in_copy("doctor")
            .ok()
            .shows("0 alive, 1 dead")
            .shows(&format!("copied from {original}, which was running 1 job"));

        in_copy("work --drain").ok();
        let copied = in_copy("inspect 1 --json").ok().json();
        assert_fields(&copied, &json!({"state": "succeeded", "attempts": 2}));
        assert_fields(
            &copied["history"][0],
            &json!({
                "outcome": "worker_crashed",
                "started_at": null,
                "message": "it was running when this database was copied; how it ended stands in the original",
            }),
        );
        assert!(is_alive(running), "{line}");
        assert_eq!(sandbox.run("inspect workers --json").ok().json()["alive"], true);
        sandbox.write("go", "");
        let job = sandbox.until_state(1, "succeeded");
        assert_fields(&job["history"][0], &json!({"outcome": "succeeded", "exit_code": 0}));
    }
}

#[test]
fn a_job_that_ran_when_its_database_was_copied_can_be_cancelled_in_the_copy() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow");
    let _worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    sandbox.run("backup copy.db").ok();
    let said = "of which this database is a copy; the next runner work";
    sandbox
        .run("--db copy.db cancel 1")
        .ok()
        .shows("job 1 slow: running, asked to end, but its worker")
        .shows(said)
        .shows("copy.db records the attempt here as lost");
    sandbox.run("--db copy.db work --drain").ok();
    assert_eq!(sandbox.run("--db copy.db inspect 1 --json").ok().json()["state"], "cancelled");
    assert_eq!(sandbox.job(1)["state"], "running");
    sandbox.write("go", "");
    sandbox.until_state(1, "succeeded");
}

#[test]
fn what_a_dead_worker_left_is_ended_where_its_database_was_moved_to() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow");
    let worker = sandbox.worker("-j1");
    let left: i32 = sandbox.line_of("log").parse().expect("a process id");
    worker.kill();
    shell(&sandbox, "mkdir -m 700 new; mv runner.db runner.db-wal runner.db-shm new");
    assert!(is_alive(left));
    let said = sandbox.run("--db new/runner.db inspect 1").ok();
    said.shows("its worker died; the next runner work --db ")
        .shows("new/runner.db ends what is left of the attempt");
    sandbox.run("--db new/runner.db work --drain").ok();
    assert!(!is_alive(left));
    assert_eq!(sandbox.log().len(), 2);
}

#[test]
fn every_path_to_a_database_leads_to_its_workers() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("");
    fs::create_dir(sandbox.path("sub")).expect("a folder");
    symlink("runner.db", sandbox.path("link.db")).expect("a link");
    for path in ["runner.db", "./sub/../runner.db", "link.db"] {
        assert_eq!(sandbox.run(&format!("--db {path} inspect workers --json")).ok().json()["alive"], true);
    }
}
