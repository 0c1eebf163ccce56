//! Random histories of a file, beside a plain model of it: each answer, and now and then everything, is compared.
//!
//! `TRANSITIONS` makes the test longer, `SEED` begins it elsewhere; a failure prints the seed of its history.

mod draw;
mod history;
mod plain;
mod plain_acts;
mod plain_limits;
mod plain_runs;
mod plain_schedules;
mod plain_turn;
mod steps_of_people;
mod steps_of_workers;
mod whole;

use std::collections::BTreeSet;

use self::history::History;

/// Steps of one history. A file gets no larger, so that a look at all of it stays quick.
const A_HISTORY: usize = 500;

/// Steps of all histories, if nothing else is asked for.
const TRANSITIONS: usize = 5_000;

fn asked(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is not a number")))
}

#[test]
fn the_store_does_what_a_plain_model_does() {
    let transitions = asked("TRANSITIONS").map_or(TRANSITIONS, |number| usize::try_from(number).unwrap());
    let first = asked("SEED").unwrap_or(1);
    let histories = transitions.div_ceil(A_HISTORY) as u64;
    let kinds: BTreeSet<&str> =
        (first..first + histories).flat_map(|seed| History::new(seed).run(A_HISTORY)).collect();
    assert_eq!(kinds.len(), 31, "not every kind of step was taken: {kinds:?}");
}
