//! Random pauses: the moments of kills and clock steps are meant to be arbitrary.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

/// Sleeps for a random number of milliseconds.
pub fn pause(dice: &mut StdRng, milliseconds: RangeInclusive<u64>) {
    let microseconds = milliseconds.start() * 1000..=milliseconds.end() * 1000;
    thread::sleep(Duration::from_micros(dice.random_range(microseconds)));
}
