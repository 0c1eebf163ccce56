//! Workers and enqueuers are killed, suspended and told to stop at random moments, while jobs of many kinds are enqueued,
//! cancelled and replayed. Afterwards every promise is checked: against the database, against a side log that the jobs
//! themselves append to, and against the processes that are still there.
//!
//! `KILLS` is the number of kills (500), or `KILL_SECONDS` how long they go on; `SEED` is the seed of all dice. The moments themselves are the machine's: the same
//! seed gives the same acts, not the same history.

mod books;
mod check;
mod evidence;
mod history;
mod jobs;
mod killer;
mod pool;
mod survivors;
mod traffic;
mod watch;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::settings::{number, seed};
use crate::support::Sandbox;
use books::Books;

/// Calls of the program that enqueue side by side, besides those that are killed.
const ENQUEUERS: u64 = 2;

/// What is asked for by the environment.
#[derive(Clone, Copy)]
struct Plan {
    kills: u64,
    seconds: Option<u64>,
    seed: u64,
}

impl Plan {
    fn from_env() -> Self {
        Self { kills: number("KILLS").unwrap_or(500), seconds: number("KILL_SECONDS"), seed: seed() }
    }

    /// Have there been enough kills, so long after the first?
    fn is_over(self, kills: u64, passed: Duration) -> bool {
        self.seconds.map_or(kills >= self.kills, |seconds| passed >= Duration::from_secs(seconds))
    }

    /// Dice of one's own for each who throws them, so that the acts of one do not depend on the pace of another.
    fn dice(self, whose: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ (whose << 32))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            Some(seconds) => write!(f, "KILL_SECONDS={seconds}")?,
            None => write!(f, "KILLS={}", self.kills)?,
        }
        write!(f, " SEED={} cargo test --test chaos kills", self.seed)
    }
}

/// Tells the others to end when the killer is through, also when it panics.
struct Bell<'a>(&'a AtomicBool);

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_promise_holds_whatever_is_killed_and_when() {
    let plan = Plan::from_env();
    println!("{plan}");
    let began = Instant::now();
    let sandbox = Sandbox::new(jobs::FILE);
    sandbox.write("lines.sh", jobs::LINES);
    let books = Books::default();
    sandbox.add("quick");
    let over = AtomicBool::new(false);
    let (tally, mut seen) = thread::scope(|scope| {
        let bell = Bell(&over);
        for number in 0..ENQUEUERS {
            let (sandbox, books, over) = (&sandbox, &books, &over);
            scope.spawn(move || traffic::enqueue(sandbox, books, plan.dice(10 + number), over));
        }
        scope.spawn(|| traffic::meddle(&sandbox, &books, plan.dice(1), &over));
        let watcher = scope.spawn(|| watch::watch(&sandbox, &books, plan.dice(2), &over));
        let tally =
            killer::rampage(&sandbox, &books, plan.dice(0), |kills| plan.is_over(kills, began.elapsed()));
        drop(bell);
        (tally, watcher.join().expect("the watcher"))
    });
    let ran = sandbox.run("work -j8 --drain -q");
    books.expect(ran.stderr.is_empty(), || format!("the last worker complained: {ran}"));
    let evidence = evidence::gather(&sandbox);
    check::everything(&sandbox, &books, &mut seen, &evidence);
    println!("{tally}\n{evidence}\n{:.1} s", began.elapsed().as_secs_f64());
    let violations = books.violations();
    assert!(
        violations.is_empty(),
        "{} violations, the first of them:\n{}\nagain: {plan}",
        violations.len(),
        violations.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n"),
    );
}
