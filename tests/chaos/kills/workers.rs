//! The workers and the calls of `runner run`, and the thread that kills, suspends and stops them. Each is replaced as soon as it
//! is gone.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

use rand::RngExt;
use rand::rngs::StdRng;

use super::jobs::NIGHTLY;
use super::traffic::{Order, Shared};
use crate::support::{Sandbox, Signal, signal};
use crate::tools::{call_either, pause};

/// How many workers there are.
const WORKERS: usize = 4;

/// A worker or a `run`, and what was done to it.
#[expect(clippy::struct_excessive_bools, reason = "each is something that was done to it")]
struct Target {
    child: Child,
    suspended: bool,
    asked: bool,
    interrupted: bool,
    killed: bool,
}

/// The workers, then the calls of `run`.
struct Pool<'a> {
    sandbox: &'a Sandbox,
    shared: &'a Shared,
    targets: Vec<Target>,
    tally: Tally,
}

/// What the target at this place is.
fn kind(at: usize) -> &'static str {
    if at < WORKERS { "workers" } else { "runs" }
}

impl<'a> Pool<'a> {
    fn new(sandbox: &'a Sandbox, shared: &'a Shared) -> Self {
        let mut pool = Self { sandbox, shared, targets: Vec::new(), tally: Tally::default() };
        for at in 0..WORKERS + NIGHTLY.len() {
            let target = pool.start(at);
            pool.targets.push(target);
        }
        pool
    }

    fn start(&mut self, at: usize) -> Target {
        self.count(at, "started");
        start(self.sandbox, at)
    }

    fn count(&mut self, at: usize, what: &'static str) {
        *self.tally.entry((kind(at), what)).or_default() += 1;
    }

    /// Replaces those that are gone. None goes but as it was asked to, and a `run` when its job has ended.
    fn revive(&mut self) {
        for at in 0..self.targets.len() {
            if let Some(status) = self.targets[at].child.try_wait().expect("a child") {
                self.targets[at].check(at, status, self.sandbox, self.shared);
                self.targets[at] = self.start(at);
            }
        }
    }

    fn is_suspended(&self, at: usize) -> bool {
        self.targets[at].suspended
    }

    fn kill(&mut self, at: usize) {
        self.targets[at].killed = true;
        self.send(at, Signal::KILL);
    }

    /// Kills it, waits until it is gone, and puts another in its place.
    fn kill_and_replace(&mut self, at: usize) {
        self.kill(at);
        let status = self.targets[at].child.wait().expect("a child");
        self.targets[at].check(at, status, self.sandbox, self.shared);
        self.targets[at] = self.start(at);
    }

    fn suspend(&mut self, at: usize) {
        self.targets[at].suspended = true;
        self.send(at, Signal::STOP);
    }

    fn resume(&mut self, at: usize) {
        self.targets[at].suspended = false;
        self.send(at, Signal::CONT);
    }

    fn resume_all(&mut self) {
        (0..self.targets.len()).for_each(|at| self.resume(at));
    }

    fn ask_to_stop(&mut self, at: usize) {
        self.targets[at].asked = true;
        self.send(at, Signal::TERM);
    }

    /// Ctrl-C, which cancels the job of a `run`.
    fn interrupt(&mut self, at: usize) {
        self.targets[at].interrupted = true;
        self.send(at, Signal::INT);
    }

    fn send(&self, at: usize, which: Signal) {
        // It is not waited for yet, so the number is its own also when it has ended.
        signal(self.targets[at].child.id().cast_signed(), which);
    }
}

impl Target {
    fn check(&self, at: usize, status: ExitStatus, sandbox: &Sandbox, shared: &Shared) {
        let is_run = at >= WORKERS;
        // A `run` may go on with a job whose cancel was asked for by a call that was killed afterwards, or with one that its `run` had
        // started and that is not retryable, if that was killed a moment ago. The job ends thereby, and so does the `run`, which fails.
        let could_not_succeed = || {
            let said = sandbox.read(&said_by(at));
            let is_such = |line: &str| {
                line.contains(": cancelled;") || line.contains(": dead, WORKER_CRASHED: it is not retryable;")
            };
            said.lines().last().is_some_and(is_such)
        };
        let as_it_should = match (status.code(), status.signal()) {
            (Some(0), _) => is_run || self.asked,
            (Some(1), _) => is_run && could_not_succeed(),
            (Some(code), _) => is_run && (code == 143 && self.asked || code == 130 && self.interrupted),
            // A request to stop that comes before the signal handlers are installed ends it like any program.
            (None, ended_by) => {
                (ended_by == Some(9) && self.killed)
                    || (ended_by == Some(15) && self.asked)
                    || (ended_by == Some(2) && self.interrupted)
            }
        };
        shared.expect(as_it_should, || {
            let said = sandbox.read(&said_by(at));
            let last: Vec<&str> = said.lines().rev().take(5).collect();
            format!("one of the {} ended with {status}; the last lines: {last:#?}", kind(at))
        });
        if is_run {
            shared.note_night(&sandbox.read(&printed_by(at)));
        }
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        for target in &mut self.targets {
            let _ = target.child.kill();
            let _ = target.child.wait();
        }
    }
}

/// The file of its standard error.
fn said_by(at: usize) -> String {
    if at < WORKERS { "workers.err".to_owned() } else { format!("night-{at}.err") }
}

/// The file of the standard output of a `run`: the job as it is in the end.
fn printed_by(at: usize) -> String {
    format!("night-{at}.out")
}

fn start(sandbox: &Sandbox, at: usize) -> Target {
    let said = File::options().create(true).append(true).open(sandbox.path(&said_by(at))).expect("a file");
    let child = if at < WORKERS {
        let line = "work -j4 --queue default --queue few --shutdown-timeout 150ms";
        call_either(sandbox, at % 2 == 1, line).spawn(Stdio::null(), said)
    } else {
        let printed = File::create(sandbox.path(&printed_by(at))).expect("a file");
        sandbox.call(&format!("run {} --json", NIGHTLY[at - WORKERS])).spawn(printed, said)
    };
    Target { child, suspended: false, asked: false, interrupted: false, killed: false }
}

/// The number of times that each thing was done.
pub type Tally = BTreeMap<(&'static str, &'static str), u64>;

/// Kills until `is_over`, and at the end everything that is left.
pub fn rampage(sandbox: &Sandbox, shared: &Shared, mut dice: StdRng, is_over: impl Fn(u64) -> bool) -> Tally {
    let mut pool = Pool::new(sandbox, shared);
    let mut kills = 0;
    while !is_over(kills) {
        pause(&mut dice, 5..=60);
        pool.revive();
        let at = if dice.random_bool(0.3) {
            dice.random_range(WORKERS..pool.targets.len())
        } else {
            dice.random_range(0..WORKERS)
        };
        let done = match dice.random_range(0..100) {
            _ if pool.is_suspended(at) => {
                if dice.random() {
                    pool.resume(at);
                    continue;
                }
                pool.kill(at);
                "killed"
            }
            0..40 => {
                pool.kill(at);
                "killed"
            }
            // While it starts, or deals with its predecessor's jobs.
            40..55 => {
                pool.kill_and_replace(at);
                pause(&mut dice, 0..=25);
                pool.kill(at);
                "killed while they started"
            }
            55..67 => {
                pool.suspend(at);
                "suspended"
            }
            67..72 if at >= WORKERS => {
                pool.interrupt(at);
                "interrupted"
            }
            67..80 => {
                for _ in 0..dice.random_range(1..=3) {
                    pool.ask_to_stop(at);
                    pause(&mut dice, 0..=20);
                }
                "asked to stop"
            }
            80..96 => {
                kill_an_enqueuer(sandbox, shared, &mut dice);
                kills += 1;
                *pool.tally.entry(("enqueuers", "killed")).or_default() += 1;
                continue;
            }
            // A calm, in which longer jobs come to their end and recoveries too.
            _ => {
                pool.resume_all();
                pause(&mut dice, 200..=700);
                continue;
            }
        };
        kills += 1;
        pool.count(at, done);
    }
    std::mem::take(&mut pool.tally)
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
