//! Waiting: the only place of the suites that sleeps.

use std::thread;
use std::time::{Duration, Instant};

/// How long a thing may take before it counts as not happening. It catches hangs and measures nothing.
const DEADLINE: Duration = Duration::from_mins(1);

/// Asks again and again until there is an answer.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "this did not happen: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Asks again and again until it is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// Asks now and once more a moment later.
pub fn soon<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    ask().or_else(|| {
        thread::sleep(Duration::from_millis(10));
        ask()
    })
}
