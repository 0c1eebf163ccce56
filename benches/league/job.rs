//! The command that is given to every program: it says when it starts and ends, and notices another run of itself.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

/// The first argument of this program when it runs as a job.
pub const FLAG: &str = "--job";

/// `--job SIDE MILLISECONDS ID`
pub fn run(words: &[String]) -> anyhow::Result<()> {
    let [side, milliseconds, id] = words else { anyhow::bail!("three arguments are needed: {words:?}") };
    let side = Path::new(side);
    let mut log = File::options().append(true).open(side.join("log"))?;
    let mut say = |what: &str| {
        let line = format!("{what} {id} {} {}\n", std::process::id(), now());
        log.write_all(line.as_bytes())
    };
    // The kernel releases the lock when the process is gone, however that came about.
    let lock = File::create(side.join("locks").join(id))?;
    if lock.try_lock().is_err() {
        say("overlap")?;
    }
    say("start")?;
    thread::sleep(Duration::from_millis(milliseconds.parse().context("milliseconds")?));
    say("end")?;
    Ok(())
}

/// Nanoseconds of the wall clock.
pub fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
