//! The one who kills.

use std::fmt;
use std::fs::File;
use std::process::Stdio;

use rand::RngExt;
use rand::rngs::StdRng;

use super::books::Books;
use super::pool::{Pool, WORKERS};
use super::traffic::Order;
use crate::support::Sandbox;
use crate::tools::pause;

/// What was done.
#[derive(Default)]
pub struct Tally {
    killed: u64,
    suspended: u64,
    asked: u64,
    enqueuers: u64,
    started: u64,
}

impl Tally {
    fn total(&self) -> u64 {
        self.killed + self.suspended + self.asked + self.enqueuers
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { killed, suspended, asked, enqueuers, started } = self;
        write!(
            f,
            "{} kills: {killed} workers killed, {suspended} suspended, {asked} asked to stop, {enqueuers} enqueuers \
             killed; {started} workers started",
            self.total()
        )
    }
}

/// Kills until that is enough, and at the end every worker that is left.
pub fn rampage(sandbox: &Sandbox, books: &Books, mut dice: StdRng, is_over: impl Fn(u64) -> bool) -> Tally {
    let mut pool = Pool::new(sandbox, books);
    let mut tally = Tally::default();
    while !is_over(tally.total()) {
        pause(&mut dice, 5..=60);
        pool.revive();
        let at = dice.random_range(0..WORKERS);
        match dice.random_range(0..100) {
            _ if pool.is_suspended(at) => {
                if dice.random() {
                    pool.resume(at);
                } else {
                    pool.kill(at);
                    tally.killed += 1;
                }
            }
            0..40 => {
                pool.kill(at);
                tally.killed += 1;
            }
            // While it starts, or deals with its predecessor's jobs.
            40..55 => {
                pool.kill_and_replace(at);
                pause(&mut dice, 0..=25);
                pool.kill(at);
                tally.killed += 2;
            }
            55..67 => {
                pool.suspend(at);
                tally.suspended += 1;
            }
            67..80 => {
                for _ in 0..dice.random_range(1..=3) {
                    pool.ask_to_stop(at);
                    pause(&mut dice, 0..=20);
                }
                tally.asked += 1;
            }
            80..96 => {
                kill_an_enqueuer(sandbox, books, &mut dice);
                tally.enqueuers += 1;
            }
            // A calm, in which longer jobs come to their end and recoveries too.
            _ => {
                pool.resume_all();
                pause(&mut dice, 200..=700);
            }
        }
    }
    tally.started = pool.started;
    tally
}

fn kill_an_enqueuer(sandbox: &Sandbox, books: &Books, dice: &mut StdRng) {
    let order = Order::throw(dice);
    let path = sandbox.path("enqueuer.out");
    let mut child =
        sandbox.call(&order.line()).spawn(File::create(&path).expect("a file for its output"), Stdio::null());
    pause(dice, 0..=20);
    // It may have ended already.
    let _ = child.kill();
    child.wait().expect("a child");
    order.note(books, &sandbox.read("enqueuer.out"));
}
