//! A database that was damaged: by a disk, by a copy that was cut short, by a file that was put in the wrong place.
//!
//! A populated database, with and without a write-ahead log, is harmed in many ways, and every verb is tried on what is
//! left. No verb panics or hangs, each ends with a status of the contract, a file that is refused keeps its bytes, and
//! the doctor finds what SQLite's own check finds.
//!
//! `DAMAGE` is the number of harms thrown by the dice (60), `SEED` their seed; `HARM` picks out one of them by its number.

mod beside;
mod harm;
mod indexes;
mod population;
mod refused;
mod trial;
mod values;

use std::fmt;

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::settings::{number, seed};
use harm::Harm;
use population::Population;
use trial::{Trial, Violations};

/// What is asked for by the environment.
#[derive(Clone, Copy)]
struct Plan {
    harms: u64,
    seed: u64,
    only: Option<u64>,
}

impl Plan {
    fn from_env() -> Self {
        Self { harms: number("DAMAGE").unwrap_or(60), seed: seed(), only: number("HARM") }
    }

    /// Dice for one harm alone, so that one of many can be thrown again.
    fn dice(self, number: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ (number << 32))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DAMAGE={} SEED={} cargo test --test chaos damage", self.harms, self.seed)
    }
}

#[test]
fn whatever_the_damage_every_verb_answers_in_words() {
    let plan = Plan::from_env();
    println!("{plan}");
    let population = Population::get();
    let mut violations = Violations::default();
    let mut refused = 0;
    for number in (0..plan.harms).filter(|number| plan.only.is_none_or(|only| only == *number)) {
        let mut dice = plan.dice(number);
        let mut files = if number % 3 == 0 { population.with_log() } else { population.closed() };
        let harm = Harm::throw(&mut dice, files.main());
        harm.apply(&mut dice, files.main_mut());
        let mut trial = Trial::new(&files, format!("harm {number}: {harm:?}"));
        trial.every_verb(&mut dice);
        refused += u64::from(trial.was_refused());
        violations.take(trial);
    }
    println!("{} harms, {refused} of them refused by some verb", plan.harms);
    violations.check(&plan.to_string());
    let few = plan.harms < 60 || plan.only.is_some();
    assert!(few || refused > plan.harms / 4, "hardly any harm was seen");
}

#[test]
fn a_file_of_any_length_is_answered_in_words() {
    let population = Population::get();
    let mut violations = Violations::default();
    for files in [population.closed(), population.with_log()] {
        for length in harm::interesting_lengths(files.main().len()) {
            let mut files = files.clone();
            files.main_mut().truncate(length);
            let mut trial = Trial::new(&files, format!("cut to {length} bytes"));
            trial.some_verbs();
            violations.take(trial);
        }
    }
    violations.check("cargo test --test chaos damage::a_file");
}

#[test]
fn a_header_with_any_byte_changed_is_answered_in_words() {
    let plan = Plan::from_env();
    println!("{plan}");
    let population = Population::get();
    let mut violations = Violations::default();
    for at in 0..harm::HEADER {
        let mut dice = plan.dice(1_000_000 + at as u64);
        let mut files = population.closed();
        let harm = Harm::Byte { at };
        harm.apply(&mut dice, files.main_mut());
        let value = files.main()[at];
        let mut trial = Trial::new(&files, format!("byte {at} of the header is {value}"));
        trial.some_verbs();
        violations.take(trial);
    }
    violations.check(&plan.to_string());
}
