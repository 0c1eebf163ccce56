//! Files that are something else, each refused by every verb with its own status.

use std::fs;

use super::population::{Files, Population};
use super::trial::Trial;
use crate::support::Sandbox;

/// Every verb refuses it with this status, and leaves it as it is.
#[track_caller]
fn all_refuse(files: &Files, status: i32) {
    let mut trial = Trial::new(files, "another file".to_owned());
    let before = fs::read(trial.sandbox().db()).expect("the file");
    for line in [
        "doctor",
        "inspect --json",
        "inspect 1",
        "logs 1",
        "enqueue good",
        "work --until-idle",
        "retry 2",
        "cancel 1",
        "pause q",
        "backup copy.db",
    ] {
        let ran = trial.call(line);
        assert_eq!(ran.status(), Some(status), "{ran}");
    }
    assert!(fs::read(trial.sandbox().db()).expect("the file") == before);
    assert!(!trial.sandbox().path("copy.db").exists());
}

#[test]
fn a_database_of_another_program_with_a_log_of_its_own_is_refused_untouched() {
    let other = Sandbox::empty();
    let keeper = other.sql();
    keeper.run("PRAGMA journal_mode = WAL; CREATE TABLE t (x); PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (1)");
    let mut files = Population::get().closed();
    for suffix in ["", "-wal", "-shm"] {
        *files.beside_mut(suffix) = fs::read(other.path(&format!("runner.db{suffix}"))).expect("a file");
    }
    all_refuse(&files, 74);
}

#[test]
fn a_newer_database_is_refused_also_where_only_its_log_says_so() {
    let sandbox = Population::get().closed().settle();
    let keeper = sandbox.sql();
    keeper.run("PRAGMA user_version = 2");
    let mut files = Population::get().closed();
    for suffix in ["-wal", "-shm"] {
        *files.beside_mut(suffix) = fs::read(sandbox.path(&format!("runner.db{suffix}"))).expect("a file");
    }
    all_refuse(&files, 76);
    keeper.run("PRAGMA wal_checkpoint(TRUNCATE)");
    for suffix in ["", "-wal", "-shm"] {
        *files.beside_mut(suffix) = fs::read(sandbox.path(&format!("runner.db{suffix}"))).expect("a file");
    }
    all_refuse(&files, 76);
}

#[test]
fn a_file_that_may_not_be_read_or_is_no_file_is_answered_in_words() {
    let sandbox = Sandbox::empty();
    for line in ["doctor", "inspect", "enqueue -- true", "work --until-idle", "backup copy.db"] {
        sandbox.call(line).env("RUNNER_DB", "/dev/null").run().exits(74);
        sandbox.call(line).env("RUNNER_DB", "/").run().exits(74);
    }
}
