//! `runner prune`: finished jobs go, nothing else does.

use std::fs;
use std::process::Stdio;

use crate::support::{Call, Sandbox, Signal, Sql, Value, json, signal, wait_until};

const JOBS: &str = r#"
[jobs.good]
command = "echo out"
[jobs.bad]
command = "exit 3"
max_attempts = 1
queue = "net"
"#;

/// Jobs 1 good, 2 bad dead, 3 good cancelled, 4 good scheduled.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue good bad").ok();
    sandbox.run("work -j1 --drain").exits(1);
    sandbox.add("good");
    sandbox.run("cancel 3").ok();
    sandbox.add("good --in 1h");
    sandbox
}

#[track_caller]
fn left(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run("inspect jobs --json").ok().each("id")
}

/// These jobs finished so many days ago.
fn age(sandbox: &Sandbox, id: u64, days: u64) {
    sandbox
        .sql()
        .run(&format!("UPDATE jobs SET changed_at = changed_at - {days} * 86400000 WHERE id = {id}"));
}

#[test]
fn succeeded_and_cancelled_jobs_go() {
    let sandbox = sandbox();
    sandbox.run("prune --older-than 0s").ok().quietly().prints("removed 2 jobs\n");
    assert_eq!(left(&sandbox), [4, 2]);
    sandbox.run("inspect 1").exits(66);
    sandbox.run("doctor").ok();
}

#[test]
fn dead_letters_go_only_when_they_are_named() {
    let sandbox = sandbox();
    let prune = |states: &str| sandbox.run(&format!("prune --older-than 0s --state {states}")).ok();
    prune("dead").prints("removed 1 job\n");
    assert_eq!(left(&sandbox), [4, 3, 1]);
    prune("dead").prints("removed 0 jobs\n");
    prune("cancelled,dead --state succeeded").shows("removed 2 jobs");
    assert_eq!(left(&sandbox), [4]);
}

#[test]
fn the_age_counts_from_the_end() {
    let sandbox = sandbox();
    age(&sandbox, 1, 31);
    age(&sandbox, 3, 29);
    // Enqueued, due and started long ago, and finished just now.
    sandbox.sql().run("UPDATE jobs SET run_at = 1, started_at = 1 WHERE id = 2");
    sandbox.run("prune --older-than 30d --state succeeded,cancelled,dead").ok().prints("removed 1 job\n");
    assert_eq!(left(&sandbox), [4, 3, 2]);
    sandbox.run("prune --older-than 28d --json").ok().prints("{\"removed\":1}\n");
    assert_eq!(left(&sandbox), [4, 2]);
}

#[test]
fn an_age_is_required_unless_nothing_goes() {
    let sandbox = sandbox();
    sandbox.run("prune").exits(2).says("--older-than");
    sandbox.run("prune --state dead").exits(2).says("--older-than");
    sandbox.run("prune --older-than 30").exits(2).says("30d");
    sandbox.run("prune --dry-run").ok().prints("would remove 2 jobs\n");
    sandbox.run("prune --dry-run --state dead --json").ok().prints("{\"removed\":1}\n");
    sandbox.run("prune --dry-run --older-than 1d --json").ok().prints("{\"removed\":0}\n");
    sandbox.run("prune --dry-run --older-than 1d").ok().prints("would remove 0 jobs\n");
    assert_eq!(left(&sandbox).len(), 4);
}

#[test]
fn an_unfinished_job_is_never_meant() {
    let sandbox = sandbox();
    for state in ["pending", "running", "ready", "scheduled", "retrying"] {
        let ran = sandbox.run(&format!("prune --older-than 0s --state {state}")).exits(2);
        ran.says("succeeded, cancelled or dead");
    }
    sandbox.run("prune --older-than 0s --state zombie").exits(2).says("succeeded, cancelled or dead");
    assert_eq!(left(&sandbox).len(), 4);
}

#[test]
fn by_name_and_by_queue() {
    let sandbox = sandbox();
    let prune = |options: &str| sandbox.run(&format!("prune --older-than 0s {options}")).ok();
    prune("--state succeeded,dead --name bad").prints("removed 1 job\n");
    assert_eq!(left(&sandbox), [4, 3, 1]);
    prune("--queue net").prints("removed 0 jobs\n");
    sandbox.run("prune --dry-run --queue default --json").ok().prints("{\"removed\":2}\n");
    prune("--queue default -q").quietly().prints("");
    assert_eq!(left(&sandbox), [4]);
}

#[test]
fn a_job_goes_with_all_that_is_kept_of_it() {
    let sandbox = Sandbox::new(JOBS);
    let id = sandbox.call("enqueue good --stdin --idempotency-key once").stdin("in").run().ok().id();
    sandbox.run("work --drain").ok();
    assert_eq!(
        sandbox
            .run("enqueue good --idempotency-key once")
            .says("already holds the idempotency key")
            .ok()
            .id(),
        id
    );
    sandbox.run("prune --older-than 0s").ok();
    let count = |table: &str| sandbox.sql().number(&format!("SELECT count(*) FROM {table}"));
    assert_eq!(["jobs", "attempts", "outputs", "inputs", "workers"].map(count), [0; 5]);
    // The key may be given out again; the id is not.
    assert_eq!(sandbox.run("enqueue good --idempotency-key once").ok().id(), id + 1);
    sandbox.run("doctor").ok();
}

#[test]
fn a_job_that_expired_unseen_is_dead_and_goes() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --expires-in 1ms");
    wait_until("it has expired", || sandbox.job(1)["state"] == "dead");
    sandbox.run("prune --dry-run --state dead --json").ok().prints("{\"removed\":1}\n");
    sandbox.run("prune --older-than 0s --state dead --json").ok().prints("{\"removed\":1}\n");
    assert_eq!(sandbox.count_jobs(), 0);
}

#[test]
fn it_says_which_jobs_it_leaves_for_others_and_why() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad bad bad").ok();
    sandbox.add("good --after 1,2 --label later");
    sandbox.drain();
    let left = "left job 1, because job 4 good, which is after it, has not ended, and 1 more for the same reason; runner \
                inspect 4 says why\n";
    sandbox.run("prune --dry-run --state dead").ok().prints(&format!("would remove 1 job\n{left}"));
    sandbox.run("prune --older-than 0s --state dead --json").ok().prints("{\"removed\":1,\"left\":2}\n");
    sandbox.run("prune --older-than 0s --state dead").ok().prints(&format!("removed 0 jobs\n{left}"));
    sandbox.run("prune --older-than 0s --state dead --queue other").ok().prints("removed 0 jobs\n");
    sandbox.run("prune --older-than 0s --state dead -q").ok().prints("");
    sandbox.run("cancel 4").ok();
    sandbox.run("prune --older-than 0s --state dead,cancelled").ok().prints("removed 3 jobs\n");
}

#[test]
fn it_says_that_it_leaves_what_was_replaced_while_the_new_job_has_not_ended() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --unique-key k --in 1h");
    sandbox.run("enqueue good --unique-key k --in 1h --on-conflict replace").ok();
    let left = "left job 1, because job 2 good, which has taken its place, has not ended; runner inspect 2 says why\n";
    sandbox.run("prune --dry-run").ok().prints(&format!("would remove 0 jobs\n{left}"));
    sandbox.run("prune --older-than 0s").ok().prints(&format!("removed 0 jobs\n{left}"));
    sandbox.run("prune --older-than 0s --json").ok().prints("{\"removed\":0,\"left\":1}\n");
    sandbox.run("cancel 2").ok();
    sandbox.run("prune --older-than 0s").ok().prints("removed 2 jobs\n");
}

#[test]
fn without_a_database_there_is_nothing_to_remove() {
    let sandbox = Sandbox::empty();
    sandbox.run("prune --older-than 1d").ok().shows("there is no database yet");
    sandbox.run("prune --older-than 1d --json").ok().prints("{\"removed\":0}\n");
    sandbox.run("prune --dry-run -q").ok().prints("");
    assert!(!sandbox.db().exists());
}

/// So many jobs that were called off.
fn many(jobs: usize) -> Sandbox {
    let sandbox = Sandbox::empty();
    let ran = sandbox.call("enqueue --batch -").stdin("{\"command\":\"true\"}\n".repeat(jobs)).run().ok();
    ran.stdout.lines().fold(sandbox.call("cancel -q"), Call::arg).run().ok();
    sandbox
}

/// Whether this process notes a SIGINT. It has a handler for SIGTERM only when that for SIGINT is complete.
fn notes_sigint(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 14 != 0
}

#[test]
fn ctrl_c_ends_it_between_two_jobs() {
    let sandbox = many(2_500);
    let busy = sandbox.sql();
    busy.run("BEGIN IMMEDIATE");
    let child = sandbox.call("prune --older-than 0s --json").spawn(Stdio::piped(), Stdio::piped());
    wait_until("it listens", || notes_sigint(child.id()));
    signal(i32::try_from(child.id()).unwrap(), Signal::INT);
    busy.run("ROLLBACK");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("prune again to go on"), "{output:?}");
    let removed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let left = sandbox.count_jobs();
    assert!(left > 0, "it went on");
    assert_eq!(removed["removed"], json!(2_500 - left));
    sandbox.run("doctor").ok();
    assert_eq!(sandbox.run("prune --older-than 0s --json").ok().json(), json!({"removed": left}));
}

#[test]
fn killed_at_any_moment_it_leaves_a_sound_file() {
    let sandbox = many(3_000);
    let count = |sql: &Sql| sql.number("SELECT count(*) FROM jobs");
    let mut child = sandbox.call("prune --older-than 0s").spawn(Stdio::null(), Stdio::null());
    let sql = sandbox.sql();
    wait_until("some are gone", || count(&sql) < 3_000);
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.run("doctor").ok();
    sandbox.run("prune --older-than 0s").ok();
    assert_eq!(count(&sql), 0);
}

#[test]
fn a_worker_removes_what_ended_longer_ago_than_it_keeps() {
    let sandbox = Sandbox::empty();
    for line in [
        "--name good -- true",
        "--name waited-for -- true",
        "--name bad -- false",
        "--name cancelled -- true",
    ] {
        sandbox.add(line);
    }
    sandbox.run("cancel 4").ok();
    sandbox.run("work --drain").exits(1);
    sandbox.add("--name waits --in 1h --after 2 -- true");
    sandbox.sql().run("UPDATE jobs SET changed_at = changed_at - 7776000000 WHERE id <= 4");
    sandbox.add("--name fresh -- true");
    sandbox.run("work --drain --keep 100d --queue none").ok();
    assert_eq!(sandbox.count_jobs(), 6, "nothing is that old");
    let worker = sandbox.worker("--keep 30d");
    wait_until("the old jobs to be removed", || sandbox.count_jobs() == 4);
    sandbox.until_state(6, "succeeded");
    drop(worker);
    let left = "SELECT group_concat(name || ' ' || state) FROM jobs";
    assert_eq!(sandbox.sql().text(left), "waited-for succeeded,bad dead,waits pending,fresh succeeded");
    assert_eq!(sandbox.sql().text("SELECT group_concat(DISTINCT job_id) FROM attempts"), "2,3,6");
    sandbox.run("doctor").ok();
    sandbox.run("work --drain --keep soon").exits(2);
}

#[test]
fn a_worker_with_keep_that_has_done_its_work_removes_what_is_old_and_leaves_the_log_empty() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue -q --batch -").stdin("{\"command\": \"true\"}\n".repeat(30)).run().ok();
    sandbox.run("work --drain").exits(0);
    let log = || fs::metadata(sandbox.path("runner.db-wal")).expect("the log").len();
    sandbox.run("work --until-idle --keep 1ms").exits(0);
    assert_eq!((sandbox.count_jobs(), log()), (0, 0));
    let mut worker = sandbox.worker("--keep 1h");
    sandbox.add("-- true");
    sandbox.until_state(31, "succeeded");
    worker.ask_to_stop(Signal::TERM);
    worker.wait();
    assert_eq!(log(), 0);
}
