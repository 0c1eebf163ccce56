//! The random rhythm: the only place besides the poll helper that sleeps.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

/// Lets a random number of milliseconds pass. Nothing is waited for: the moment is to be any.
pub fn pause(dice: &mut StdRng, milliseconds: RangeInclusive<u64>) {
    let range = milliseconds.start() * 1000..=milliseconds.end() * 1000;
    thread::sleep(Duration::from_micros(dice.random_range(range)));
}
