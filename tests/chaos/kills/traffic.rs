//! Those who use the program meanwhile: they enqueue, cancel and put back.

use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::books::{Acknowledged, Books};
use super::jobs::{CHAIN, KINDS};
use crate::support::Sandbox;
use crate::tools::pause;

/// With so many unfinished jobs nothing more is enqueued: what does not run cannot be killed.
const MOST_WAITING: usize = 80;

/// One call of `runner enqueue`, thrown by the dice.
pub struct Order {
    /// The names that are called.
    called: Vec<&'static str>,
    /// The names of the jobs, in the order of their ids.
    names: Vec<&'static str>,
    options: String,
    unique_key: Option<String>,
    idempotency_key: Option<String>,
    lot: u64,
}

impl Order {
    pub fn throw(dice: &mut StdRng) -> Self {
        let lot = dice.random_range(0..u64::MAX >> 1);
        let mut order = Self {
            called: Vec::new(),
            names: vec![any_kind(dice)],
            options: format!("--env LOT={lot}"),
            unique_key: None,
            idempotency_key: None,
            lot,
        };
        match dice.random_range(0..100) {
            // A key belongs to one kind of job, whoever uses it.
            0..12 => {
                let number = dice.random_range(0..8);
                order.names = vec![KINDS[number].0];
                order.unique_key = Some(format!("unique-{number}"));
            }
            12..24 => {
                let number: usize = dice.random_range(0..40);
                order.names = vec![KINDS[number % KINDS.len()].0];
                order.idempotency_key = Some(format!("key-{number}"));
            }
            24..40 => order.names.extend((0..dice.random_range(1..4)).map(|_| any_kind(dice))),
            40..50 => order.options += " --in 50ms",
            50..55 => order.options += " --expires-in 200ms",
            55..65 => order.options = format!("{} --priority {}", order.options, dice.random_range(-3..=3)),
            65..72 => order.names = CHAIN.to_vec(),
            _ => {}
        }
        order.called.clone_from(&order.names);
        if order.names == CHAIN {
            order.called = vec![CHAIN[1]];
        }
        order
    }

    /// Everything that stands after `runner`.
    pub fn line(&self) -> String {
        let mut line = format!("enqueue {} {}", self.called.join(" "), self.options);
        for (option, key) in [("unique-key", &self.unique_key), ("idempotency-key", &self.idempotency_key)] {
            if let Some(key) = key {
                line = format!("{line} --{option} {key}");
            }
        }
        line
    }

    /// Notes what it printed: whole lines only, for it may have been killed within one.
    pub fn note(self, books: &Books, stdout: &str) {
        let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for (line, name) in whole.lines().zip(&self.names) {
            match line.parse() {
                Ok(id) => books.acknowledge(Acknowledged {
                    id,
                    name: (*name).to_owned(),
                    unique_key: self.unique_key.clone(),
                    idempotency_key: self.idempotency_key.clone(),
                }),
                Err(_) => books.expect(false, || format!("enqueue printed {line:?}")),
            }
        }
        if self.unique_key.is_none() && self.idempotency_key.is_none() {
            books.open().lots.push((self.lot, self.called.len()));
        }
    }
}

fn any_kind(dice: &mut StdRng) -> &'static str {
    KINDS.choose_weighted(dice, |(_, share)| *share).expect("shares above 0").0
}

/// Enqueues until it is over. Each call must end well, whoever else is killed.
pub fn enqueue(sandbox: &Sandbox, books: &Books, mut dice: StdRng, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let order = Order::throw(&mut dice);
        pause(&mut dice, 5..=50);
        if books.backlog.load(Ordering::Relaxed) < MOST_WAITING {
            let ran = sandbox.run(&order.line());
            books.expect(ran.ended_well(), || format!("enqueue failed: {ran}"));
            order.note(books, &ran.stdout);
        }
    }
}

/// Cancels and puts back until it is over.
pub fn meddle(sandbox: &Sandbox, books: &Books, mut dice: StdRng, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        pause(&mut dice, 10..=80);
        // What was enqueued a moment ago runs by now; what is older has ended.
        let what = dice.random_range(0..100);
        let Some(id) = recent(books, &mut dice, if what < 45 { 20 } else { 60 }) else { continue };
        match what {
            0..45 => cancel(sandbox, books, id),
            45..80 => replay(sandbox, books, id, ""),
            _ => replay(sandbox, books, id, " --force"),
        }
    }
}

/// One of so many last jobs.
fn recent(books: &Books, dice: &mut StdRng, of: usize) -> Option<u64> {
    let entries = books.open();
    let back = dice.random_range(0..of);
    let at = entries.acknowledged.len().checked_sub(1 + back)?;
    Some(entries.acknowledged[at].id)
}

fn cancel(sandbox: &Sandbox, books: &Books, id: u64) {
    let ran = sandbox.run(&format!("cancel {id} --json"));
    books.expect(ran.ended_well(), || format!("cancel failed: {ran}"));
    if ran.ended_well() {
        let job = ran.json();
        if job["state"] == "cancelled" || (job["state"] == "running" && !job["cancel_requested_at"].is_null())
        {
            books.open().cancelled.insert(id);
        }
    }
}

fn replay(sandbox: &Sandbox, books: &Books, id: u64, force: &str) {
    let ran = sandbox.run(&format!("retry {id}{force} --json"));
    // A job that is not dead or cancelled is left, with exit status 1.
    books.expect(ran.ended_well() || ran.stderr.contains("job "), || format!("retry failed: {ran}"));
    if ran.ended_well() {
        let mut entries = books.open();
        *entries.replays.entry(id).or_default() += 1;
        entries.cancelled.remove(&id);
    }
}
