//! The one who kills.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::Stdio;

use rand::RngExt;
use rand::rngs::StdRng;

use super::books::Books;
use super::pool::{Pool, WORKERS};
use super::traffic::Order;
use crate::support::Sandbox;
use crate::tools::pause;

/// What was done, and how often.
pub type Tally = BTreeMap<&'static str, u64>;

/// Kills until that is enough, and at the end every worker that is left.
pub fn rampage(sandbox: &Sandbox, books: &Books, mut dice: StdRng, is_over: impl Fn(u64) -> bool) -> Tally {
    let mut pool = Pool::new(sandbox, books);
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
                kill_an_enqueuer(sandbox, books, &mut dice);
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
