//! A database that was damaged: by a disk, by a copy that was cut short, by a file that was put in the wrong place.
//!
//! A populated database, with and without a write-ahead log, is harmed in many ways, and every verb is tried on what is
//! left. No verb panics or hangs, each ends with a documented status, a file that is refused keeps its bytes, and
//! the doctor finds what SQLite's own check finds.

mod beside;
mod harm;
mod indexes;
mod population;
mod refused;
mod trial;
mod values;

use crate::tools::{Plan, Violations, number};
use harm::Harm;
use population::Population;
use trial::Trial;

/// The harms that are thrown: all, or the one of the number `HARM`.
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
