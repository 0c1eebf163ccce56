//! The power goes at every moment of a recorded day, and the disk is left in every state that it may then be in.
//!
//! The program runs with the shim (`tests/shim`), which writes down everything that is done to files below a folder, and
//! what was said meanwhile: ids on standard output, the worker's events, the lines of the jobs' side log. Then for each
//! moment the states are built that a crash may leave (`disk`, `choices`): of all that is not certain nothing, everything,
//! the first so many acts, all but one, one torn at the bounds of sectors, or as dice fall; acts are writes to files, and the
//! coming and going of names. Each state is opened with the real store and held to what had been said (`judge`); some are
//! handed to the real program, which must bring every job to its end (`revive`).
//!
//! `STATES` is the number of states (2500), `SEED` the seed of all dice. What a worker does when is the machine's: the same
//! seed gives the same choices, not the same recording. A violation tells the acts and what was there of each.

mod choices;
mod disk;
mod journal;
mod judge;
pub mod promises;
mod revive;
pub mod rows;
pub mod scenario;
mod states;

use std::fmt;
use std::time::Instant;

use crate::settings::{number, seed};

/// What is asked for by the environment.
#[derive(Clone, Copy)]
pub struct Plan {
    /// How many states are to be looked at.
    pub states: usize,
    pub seed: u64,
    /// How many of them are handed to the real program.
    pub revived: usize,
}

impl Plan {
    fn from_env() -> Self {
        let states = number("STATES").map_or(2500, |states| usize::try_from(states).expect("64 bits"));
        Self { states, seed: seed(), revived: 24.max(states / 500) }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "STATES={} SEED={} cargo test --test chaos power", self.states, self.seed)
    }
}

#[test]
fn every_promise_outlives_a_power_cut_at_any_moment() {
    let plan = Plan::from_env();
    println!("{plan}");
    let began = Instant::now();
    let recording = scenario::record();
    println!("recorded {} acts in {:.1} s", recording.records.len(), began.elapsed().as_secs_f64());
    let tally = states::check(&recording, plan);
    println!("{tally}\n{:.1} s", began.elapsed().as_secs_f64());
    assert!(
        tally.violations.is_empty(),
        "{} violations, the first of them:\n{}\nagain: {plan}",
        tally.violations.len(),
        tally.violations.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n"),
    );
    assert!(tally.states >= plan.states, "only {} states", tally.states);
}
