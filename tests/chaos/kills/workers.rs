//! The workers, and the thread that kills, suspends and stops them. Each is replaced as soon as it is gone.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

use rand::RngExt;
use rand::rngs::StdRng;

use super::traffic::{Order, Shared};
use crate::support::{Sandbox, Signal, signal};
use crate::tools::{call_either, pause};

/// How many workers there are.
const WORKERS: usize = 4;

/// A worker, and what was done to it.
struct Worker {
    child: Child,
    suspended: bool,
    asked: bool,
    killed: bool,
}

/// The workers.
struct Pool<'a> {
    sandbox: &'a Sandbox,
    shared: &'a Shared,
    workers: Vec<Worker>,
    started: u64,
}

impl<'a> Pool<'a> {
    fn new(sandbox: &'a Sandbox, shared: &'a Shared) -> Self {
        let workers = (0..WORKERS).map(|at| start(sandbox, at)).collect();
        Self { sandbox, shared, workers, started: WORKERS as u64 }
    }

    /// Replaces those that are gone. None goes but as it was asked to.
    fn revive(&mut self) {
        for (at, worker) in self.workers.iter_mut().enumerate() {
            if let Some(status) = worker.child.try_wait().expect("a child") {
                worker.check(status, self.sandbox, self.shared);
                *worker = start(self.sandbox, at);
                self.started += 1;
            }
        }
    }

    fn is_suspended(&self, at: usize) -> bool {
        self.workers[at].suspended
    }

    fn kill(&mut self, at: usize) {
        self.workers[at].killed = true;
        self.send(at, Signal::KILL);
    }

    /// Kills it, waits until it is gone, and puts another in its place.
    fn kill_and_replace(&mut self, at: usize) {
        self.kill(at);
        let status = self.workers[at].child.wait().expect("a child");
        self.workers[at].check(status, self.sandbox, self.shared);
        self.workers[at] = start(self.sandbox, at);
        self.started += 1;
    }

    fn suspend(&mut self, at: usize) {
        self.workers[at].suspended = true;
        self.send(at, Signal::STOP);
    }

    fn resume(&mut self, at: usize) {
        self.workers[at].suspended = false;
        self.send(at, Signal::CONT);
    }

    fn resume_all(&mut self) {
        (0..WORKERS).for_each(|at| self.resume(at));
    }

    fn ask_to_stop(&mut self, at: usize) {
        self.workers[at].asked = true;
        self.send(at, Signal::TERM);
    }

    fn send(&self, at: usize, which: Signal) {
        // It is not waited for yet, so the number is its own also when it has ended.
        signal(self.workers[at].child.id().cast_signed(), which);
    }
}

impl Worker {
    fn check(&self, status: ExitStatus, sandbox: &Sandbox, shared: &Shared) {
        let as_it_should = match (status.code(), status.signal()) {
            (Some(code), _) => code == 0 && self.asked,
            // A request to stop that comes before the signal handlers are installed ends it like any program.
            (None, ended_by) => (ended_by == Some(9) && self.killed) || (ended_by == Some(15) && self.asked),
        };
        shared.expect(as_it_should, || {
            let said = sandbox.read("workers.err");
            let last: Vec<&str> = said.lines().rev().take(5).collect();
            format!("a worker ended with {status}; the last lines: {last:#?}")
        });
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

fn start(sandbox: &Sandbox, at: usize) -> Worker {
    let said = File::options().create(true).append(true).open(sandbox.path("workers.err")).expect("a file");
    let call = call_either(sandbox, at % 2 == 1, "work -j4 --shutdown-timeout 150ms");
    let child = call.spawn(Stdio::null(), said);
    Worker { child, suspended: false, asked: false, killed: false }
}

/// The number of times that each thing was done.
pub type Tally = BTreeMap<&'static str, u64>;

/// Kills until `is_over`, and at the end every worker that is left.
pub fn rampage(sandbox: &Sandbox, shared: &Shared, mut dice: StdRng, is_over: impl Fn(u64) -> bool) -> Tally {
    let mut pool = Pool::new(sandbox, shared);
    let mut tally = Tally::default();
    let mut kills = 0;
    while !is_over(kills) {
        pause(&mut dice, 5..=60);
        pool.revive();
        let at = dice.random_range(0..WORKERS);
        let done = match dice.random_range(0..100) {
            _ if pool.is_suspended(at) => {
                if dice.random() {
                    pool.resume(at);
                    continue;
                }
                pool.kill(at);
                "workers killed"
            }
            0..40 => {
                pool.kill(at);
                "workers killed"
            }
            // While it starts, or deals with its predecessor's jobs.
            40..55 => {
                pool.kill_and_replace(at);
                pause(&mut dice, 0..=25);
                pool.kill(at);
                "workers killed while they started"
            }
            55..67 => {
                pool.suspend(at);
                "workers suspended"
            }
            67..80 => {
                for _ in 0..dice.random_range(1..=3) {
                    pool.ask_to_stop(at);
                    pause(&mut dice, 0..=20);
                }
                "workers asked to stop"
            }
            80..96 => {
                kill_an_enqueuer(sandbox, shared, &mut dice);
                "enqueuers killed"
            }
            // A calm, in which longer jobs come to their end and recoveries too.
            _ => {
                pool.resume_all();
                pause(&mut dice, 200..=700);
                continue;
            }
        };
        kills += 1;
        *tally.entry(done).or_default() += 1;
    }
    tally.insert("workers started", pool.started);
    tally
}

fn kill_an_enqueuer(sandbox: &Sandbox, shared: &Shared, dice: &mut StdRng) {
    let order = Order::throw(dice);
    let path = sandbox.path("enqueuer.out");
    let call = call_either(sandbox, dice.random(), &order.line());
    let mut child = call.spawn(File::create(&path).expect("a file for its output"), Stdio::null());
    pause(dice, 0..=20);
    // It may have ended already.
    let _ = child.kill();
    child.wait().expect("a child");
    order.note(shared, &sandbox.read("enqueuer.out"));
}
