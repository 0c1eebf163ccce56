//! Other programs that work on the database file: what they leave in it, and how it goes on.

use std::fs;

use crate::support::{Sandbox, Sql};

/// A database with one job, which is not in WAL mode.
fn without_wal() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    leave_wal(&sandbox);
    sandbox
}

fn leave_wal(sandbox: &Sandbox) {
    assert_eq!(sandbox.sql().text("PRAGMA journal_mode = DELETE"), "delete");
}

#[track_caller]
fn is_in_wal_mode(sandbox: &Sandbox) -> bool {
    fs::read(sandbox.db()).expect("the file")[18] == 2
}

/// Another process that reads the database, until it is dropped.
fn reader(sandbox: &Sandbox) -> Sql {
    let reader = sandbox.sql();
    reader.run("BEGIN; SELECT count(*) FROM jobs");
    reader
}

#[test]
fn the_next_verb_that_writes_puts_the_file_back_into_wal_mode() {
    let sandbox = Sandbox::empty();
    for line in ["enqueue -- true", "work --drain", "pause q", "backup b.db"] {
        sandbox.add("-- true");
        leave_wal(&sandbox);
        sandbox.run("inspect jobs").ok();
        assert!(!is_in_wal_mode(&sandbox));
        sandbox.run(line).ok();
        assert!(is_in_wal_mode(&sandbox), "{line}");
    }
    // The copy that VACUUM INTO makes is not in WAL mode.
    sandbox.sql().run(&format!("VACUUM INTO '{}'", sandbox.path("v.db").display()));
    sandbox.run("restore v.db").ok();
    assert!(is_in_wal_mode(&sandbox));
}

#[test]
fn doctor_names_a_file_that_is_not_in_wal_mode() {
    let sandbox = without_wal();
    sandbox.run("doctor").ok().shows("not in WAL mode").shows("nothing is wrong");
    sandbox.add("-- true");
    let ran = sandbox.run("doctor").ok();
    assert!(!ran.stdout.contains("WAL mode"), "{ran}");
}

#[test]
fn where_a_reader_keeps_the_file_from_wal_mode_it_is_named() {
    let sandbox = without_wal();
    let reading = reader(&sandbox);
    sandbox.run("enqueue -- true").exits(75).says("one that only reads it can").says("not in WAL mode");
    drop(reading);
    sandbox.add("-- true");
    let _reading = reader(&sandbox);
    sandbox.add("-- true");
    assert_eq!(sandbox.count_jobs(), 3);
}

#[test]
fn restore_replaces_no_file_that_somebody_reads_without_wal() {
    let sandbox = without_wal();
    sandbox.run("backup b.db").ok();
    leave_wal(&sandbox);
    let reading = reader(&sandbox);
    sandbox.run("restore b.db").exits(75).says("had it open");
    drop(reading);
    sandbox.run("restore b.db").ok();
    assert_eq!(sandbox.count_jobs(), 1);
}
