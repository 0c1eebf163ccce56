//! Settings from the environment. The table in `main.rs` lists all of them.

use std::env;

/// A numeric variable, if it is set.
pub fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// `SEED`, or a random seed.
pub fn seed() -> u64 {
    number("SEED").unwrap_or_else(|| u64::from(rand::random::<u32>()))
}
