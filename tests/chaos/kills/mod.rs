//! Workers and enqueuers are killed, suspended and told to stop at random moments, while jobs of many kinds are enqueued,
//! cancelled and replayed. Afterwards every promise is checked: against the database, against a side log that the jobs
//! themselves append to, and against the processes that are still there.
//!
//! The moments themselves are the machine's: the same seed gives the same acts, not the same history.

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

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::tools::{Plan, number};
use books::Books;

/// Calls of the program that enqueue side by side, besides those that are killed.
const ENQUEUERS: u64 = 2;

/// Tells the others to end when the killer is through, also when it panics.
struct Bell<'a>(&'a AtomicBool);

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_promise_holds_whatever_is_killed_and_when() {
    let plan = Plan::of("kills", "KILLS", 500);
    let seconds = number("KILL_SECONDS").map(Duration::from_secs);
    let began = Instant::now();
    let sandbox = Sandbox::new(jobs::FILE);
    sandbox.write("lines.sh", jobs::LINES);
    let books = Books::default();
    sandbox.add("quick");
    sandbox.run("apply").ok();
    let over = AtomicBool::new(false);
    let (tally, mut seen) = thread::scope(|scope| {
        let bell = Bell(&over);
        for number in 0..ENQUEUERS {
            let (sandbox, books, over) = (&sandbox, &books, &over);
            scope.spawn(move || traffic::enqueue(sandbox, books, plan.dice(10 + number), over));
        }
        scope.spawn(|| traffic::meddle(&sandbox, &books, plan.dice(1), &over));
        let watcher = scope.spawn(|| watch::watch(&sandbox, &books, plan.dice(2), &over));
        let is_enough = |kills| seconds.map_or(kills >= plan.length, |seconds| began.elapsed() >= seconds);
        let tally = killer::rampage(&sandbox, &books, plan.dice(0), is_enough);
        drop(bell);
        (tally, watcher.join().expect("the watcher"))
    });
    for schedule in jobs::SCHEDULES {
        sandbox.run(&format!("pause --schedule {schedule}")).ok();
    }
    let ran = sandbox.run("work -j8 --drain -q");
    // What waits for a cancelled or dead job is told, and given up.
    let is_told = |line: &str| line.contains("wait");
    books.expect(ran.stderr.lines().all(is_told), || format!("the last worker complained: {ran}"));
    for blocked in sandbox.run("inspect jobs --state blocked --json").ok().json_lines() {
        sandbox.run(&format!("cancel {}", blocked["id"])).ok();
    }
    let evidence = evidence::gather(&sandbox);
    check::everything(&sandbox, &books, &mut seen, &evidence);
    let attempts: usize = evidence.jobs.values().map(|job| job.attempts.len()).sum();
    let (jobs, seconds) = (evidence.jobs.len(), began.elapsed().as_secs_f64());
    println!("{tally:?}\n{jobs} jobs, {attempts} attempts, {seconds:.1} s");
    books.violations.check(plan);
}
