//! Damage to what lies beside the database: the write-ahead log, and the index to it in shared memory.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::rngs::StdRng;

use super::harm::Harm;
use super::plan;
use super::population::{Files, LATE, Population};
use super::trial::Trial;
use crate::evidence::Rows;
use crate::judge::inconsistent;
use crate::support::{Sandbox, json};
use crate::tools::Violations;

/// How long the header of a log is.
const LOG_HEADER: usize = 32;

/// The ids of the jobs that are there.
fn jobs_that_are_there(trial: &mut Trial) -> Option<BTreeSet<u64>> {
    let ran = trial.call("inspect jobs --json");
    let jobs = ran.ended_well().then(|| ran.json_lines());
    if jobs.is_none() {
        trial.violation(&format!("a damaged log keeps the database from being used: {ran}"));
    }
    Some(jobs?.iter().filter_map(|job| job["id"].as_u64()).collect())
}

/// Checks what must be true however the log was damaged from this byte on, and gives how many jobs were lost.
fn judge(trial: &mut Trial, population: &Population, from: usize) -> usize {
    let Some(there) = jobs_that_are_there(trial) else { return 0 };
    let settled = population.settled;
    let before_damage = population.log_ends.iter().filter(|end| **end <= from).count();
    let kept = if from < LOG_HEADER { 0 } else { before_damage };
    let most = settled + LATE as u64;
    let last = there.last().copied().unwrap_or(0);
    if there != (1..=last).collect() || last < settled + kept as u64 || last > most {
        trial.violation(&format!(
            "{kept} jobs stand before the damage at {from}, those that are there: {there:?}"
        ));
    }
    if !is_healthy(trial.sandbox()) {
        trial.violation("the doctor finds something after a damage to the log alone");
    }
    let id = trial.call("enqueue good").stdout;
    if id.trim() != (last + 1).to_string() {
        trial.violation(&format!("the next job after {last} is {id:?}"));
    }
    if trial.call("work -j2 --until-idle").status() == Some(74) {
        trial.violation("a worker does not take what the log left");
    }
    match Rows::read(&trial.sandbox().db()) {
        Ok(rows) => inconsistent(&rows).iter().for_each(|what| trial.violation(what)),
        Err(why) => trial.violation(&format!("it cannot be read: {why}")),
    }
    usize::try_from(most - last.min(most)).expect("few")
}

/// The doctor finds nothing but the worker that was killed.
fn is_healthy(sandbox: &Sandbox) -> bool {
    let report = sandbox.run("doctor --json").json();
    let problems = report["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().all(|problem| problem["rule"] == json!("running jobs have a worker"))
}

#[test]
fn a_damaged_log_loses_at_most_what_was_not_checkpointed() {
    let plan = plan();
    let population = Population::get();
    let violations = Violations::default();
    let (mut lost, mut all) = (0, 0);
    for number in 0..plan.length / 2 {
        let mut dice = plan.dice(2_000_000 + number);
        let mut files = population.with_log();
        let whole = files.beside_mut("-wal").clone();
        let harm = any_harm(&mut dice, &whole);
        harm.apply(&mut dice, files.beside_mut("-wal"));
        let from = first_difference(&whole, files.beside_mut("-wal"));
        let mut trial = Trial::new(&files, format!("harm {number} to the log: {harm:?}"));
        let gone = judge(&mut trial, population, from);
        lost += gone;
        all += usize::from(gone == LATE);
        trial.tell(&violations);
    }
    println!("{} harms to the log, {lost} jobs lost, {all} times all of the log", plan.length / 2);
    violations.check(plan);
}

fn any_harm(dice: &mut StdRng, log: &[u8]) -> Harm {
    let at = dice.random_range(0..log.len());
    match dice.random_range(0..5) {
        0 => Harm::Bits { count: dice.random_range(1..5) },
        1 => Harm::Garbage { at, length: dice.random_range(1..5_000) },
        2 => Harm::Cut { length: at },
        3 => Harm::Byte { at: dice.random_range(0..LOG_HEADER) },
        _ => Harm::throw(dice, log),
    }
}

fn first_difference(whole: &[u8], damaged: &[u8]) -> usize {
    let same = whole.iter().zip(damaged).take_while(|(one, other)| one == other).count();
    // Bytes after the end of a log do no harm to it.
    if same == whole.len() { usize::MAX } else { same }
}

#[test]
fn a_damaged_or_forgotten_index_of_the_log_loses_nothing() {
    let plan = plan();
    let population = Population::get();
    let violations = Violations::default();
    let try_with = |name: &str, files: &Files| {
        let mut trial = Trial::new(files, name.to_owned());
        let lost = judge(&mut trial, population, usize::MAX);
        if lost > 0 {
            trial.violation(&format!("{lost} jobs were lost"));
        }
        trial.tell(&violations);
    };
    for number in 0..6 {
        let mut dice = plan.dice(3_000_000 + number);
        let mut files = population.with_log();
        let harm = Harm::Bits { count: 1 << number };
        harm.apply(&mut dice, files.beside_mut("-shm"));
        try_with("turned bits", &files);
        Harm::Garbage { at: 0, length: 40_000 }.apply(&mut dice, files.beside_mut("-shm"));
        try_with("garbage", &files);
    }
    let mut files = population.with_log();
    files.beside_mut("-shm").truncate(77);
    try_with("cut", &files);
    files.remove("-shm");
    try_with("none", &files);
    files.beside_mut("-shm").clear();
    try_with("empty", &files);
    violations.check(plan);
}

#[test]
fn an_index_without_its_log_is_not_believed() {
    let population = Population::get();
    let mut files = population.with_log();
    files.remove("-wal");
    let mut trial = Trial::new(&files, "the log is gone".to_owned());
    let there = jobs_that_are_there(&mut trial).unwrap_or_default();
    assert_eq!(there, (1..=population.settled).collect());
    assert!(is_healthy(trial.sandbox()));
}

#[test]
fn the_log_of_another_database_is_answered_in_words() {
    let plan = plan();
    let population = Population::get();
    let violations = Violations::default();
    for number in 0..4 {
        let mut dice = plan.dice(4_000_000 + number);
        // Another runner's, as old as a new file or grown, and another program's.
        let other = Sandbox::new("[jobs.good]\ncommand = 'true'\n");
        let foreign = number == 3;
        if !foreign {
            other.add("good");
        }
        let keeper = other.sql();
        if foreign {
            keeper.run("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
        }
        keeper.number("SELECT count(*) FROM sqlite_schema");
        for _ in 0..if foreign { 0 } else { 1 + number * 10 } {
            other.add("good");
        }
        let log = std::fs::read(other.path("runner.db-wal")).expect("a log");
        let mut files = if number % 2 == 0 { population.closed() } else { population.with_log() };
        *files.beside_mut("-wal") = log;
        let mut trial = Trial::new(&files, format!("the log of another database, {number}"));
        trial.every_verb(&mut dice);
        trial.tell(&violations);
    }
    violations.check(plan);
}
