//! Waiting for the write lock, fairly.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long a writer waits for the write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A wait longer than this gets more frequent tries.
const LONG_WAIT: Duration = Duration::from_millis(500);

thread_local! {
    /// The start of the wait that is under way. A busy handler is told only how often it was called.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Waits between tries for 0.5 to 2 ms, drawn afresh each time; a tenth of that once the wait has become long.
///
/// `busy_timeout` backs off to 100 ms sleeps: with eight writers the unlucky ones starve and some give up, while a short
/// uniform wait lets every writer through within half a second. On an overloaded machine even that can take long, so a
/// writer that has waited long tries more often than the others.
pub(super) fn install(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

fn wait(earlier_tries: i32) -> bool {
    if earlier_tries == 0 {
        SINCE.set(Some(Instant::now()));
    }
    let waited = SINCE.get().map_or(Duration::ZERO, |since| since.elapsed());
    if waited >= BUSY_TIMEOUT {
        return false;
    }
    let pause =
        if waited < LONG_WAIT { rand::random_range(500..=2_000) } else { rand::random_range(50..=200) };
    thread::sleep(Duration::from_micros(pause));
    true
}
