//! A database that was damaged: by a disk, by a copy that was cut short, by a file that was put in the wrong place.
//!
//! A populated database, with and without a write-ahead log, is harmed in many ways, and every verb is tried on what is
//! left. No verb panics or hangs, each ends with a documented status, a file that is refused keeps its bytes, and
//! the doctor finds what SQLite's own check finds.

mod beside;
mod content;
mod harm;
mod meaning;
mod population;
mod trial;

use std::fs;

use crate::support::Sandbox;
use crate::tools::{Plan, Violations, number};
use harm::Harm;
use population::{Files, Population};
use trial::Trial;

/// The numbers of the harms: all, or the one that `HARM` asks for.
fn numbers(plan: Plan) -> impl Iterator<Item = u64> {
    let only = number("HARM");
    (0..plan.length).filter(move |number| only.is_none_or(|only| only == *number))
}

fn plan() -> Plan {
    Plan::of("damage", "DAMAGE", 60)
}

#[test]
fn whatever_the_damage_every_verb_answers_in_words() {
    let plan = plan();
    let population = Population::get();
    let violations = Violations::default();
    let mut refused = 0;
    for number in numbers(plan) {
        let mut dice = plan.dice(number);
        let mut files = if number % 3 == 0 { population.with_log() } else { population.closed() };
        let harm = Harm::throw(&mut dice, files.main());
        harm.apply(&mut dice, files.main_mut());
        let mut trial = Trial::new(&files, format!("harm {number}: {harm:?}"));
        trial.every_verb(&mut dice);
        refused += u64::from(trial.was_refused());
        trial.tell(&violations);
    }
    println!("{} harms, {refused} of them refused by some verb", plan.length);
    violations.check(plan);
    let few = plan.length < 60 || number("HARM").is_some();
    assert!(few || refused > plan.length / 4, "hardly any harm was seen");
}

#[test]
fn a_file_of_any_length_is_answered_in_words() {
    let population = Population::get();
    let violations = Violations::default();
    for files in [population.closed(), population.with_log()] {
        for length in harm::interesting_lengths(files.main().len()) {
            let mut files = files.clone();
            files.main_mut().truncate(length);
            let mut trial = Trial::new(&files, format!("cut to {length} bytes"));
            trial.some_verbs();
            trial.tell(&violations);
        }
    }
    violations.check("cargo test --test chaos damage::a_file");
}

#[test]
fn a_header_with_any_byte_changed_is_answered_in_words() {
    let plan = plan();
    let population = Population::get();
    let violations = Violations::default();
    for at in 0..harm::HEADER {
        let mut dice = plan.dice(1_000_000 + at as u64);
        let mut files = population.closed();
        let harm = Harm::Byte { at };
        harm.apply(&mut dice, files.main_mut());
        let value = files.main()[at];
        let mut trial = Trial::new(&files, format!("byte {at} of the header is {value}"));
        trial.some_verbs();
        trial.tell(&violations);
    }
    violations.check(plan);
}

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
    keeper.run("PRAGMA user_version = 2000");
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
