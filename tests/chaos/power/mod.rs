//! The power goes at every moment of a recorded day, and the disk is left in every state that it may then be in.
//!
//! The program runs with the shim (`tests/shim`), which writes down everything that is done to files below a folder, and
//! what was told meanwhile: ids on standard output, the worker's events, the lines of the jobs' side log (`journal`). Then
//! for each moment the states are built that a crash may leave (`disk`, `choices`): of all that is not certain nothing,
//! everything, the first so many acts, all but one, one torn at the bounds of sectors, or a random part. Acts are writes to
//! files, and the coming and going of names. Each state is opened with the real store and judged by what had been told, and
//! some are handed to the real program, which must bring every job to its end (`states`).
//!
//! The same seed gives the same choices, but not the same recording, because a worker's pace is the machine's. A violation
//! tells the acts and what was there of each.

mod choices;
mod disk;
mod journal;
pub mod scenario;
mod states;

use std::time::Instant;

use crate::support::versions::{TODAY, VERSIONS};
use crate::tools::{Plan, Violations};

#[test]
fn every_promise_outlives_a_power_cut_at_any_moment() {
    look_at(Plan::of("power_cut_at", "STATES", 2_500), scenario::record);
}

#[test]
fn every_promise_outlives_a_power_cut_while_the_file_is_brought_up_to_a_new_version() {
    look_at(Plan::of("power_cut_while", "UPGRADE_STATES", 250), scenario::record_upgrade);
}

#[test]
fn every_promise_outlives_a_power_cut_while_the_file_of_an_earlier_version_is_brought_up() {
    for (version, sql) in VERSIONS.into_iter().filter(|(version, _)| *version != TODAY) {
        println!("from {version}");
        look_at(Plan::of("power_cut_while", "UPGRADE_STATES", 100), || scenario::record_older(sql));
    }
}

#[test]
fn every_promise_outlives_a_power_cut_over_a_line_of_a_crontab() {
    look_at(Plan::of("power_cut_over", "NIGHT_STATES", 250), scenario::record_nights);
}

#[test]
fn every_promise_outlives_a_power_cut_while_a_worker_removes_what_ended_well() {
    look_at(Plan::of("removes_what_ended_well", "KEEP_STATES", 250), scenario::record_keep);
}

fn look_at(plan: Plan, record: impl FnOnce() -> scenario::Recording) {
    let began = Instant::now();
    let recording = record();
    println!("recorded {} acts in {:.1} s", recording.records.len(), began.elapsed().as_secs_f64());
    let violations = Violations::default();
    let states = states::check(&recording, plan, &violations);
    println!("{:.1} s", began.elapsed().as_secs_f64());
    violations.check(plan);
    assert!(states as u64 >= plan.length, "only {states} states");
}
