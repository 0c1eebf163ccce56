//! The users of the program while workers are killed: threads that enqueue, cancel and retry, and one that watches the
//! database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::jobs::{AT_BOOT, CHAIN, KINDS};
use crate::evidence::{Acknowledged, Promises, Rows};
use crate::judge;
use crate::support::{Sandbox, Value};
use crate::tools::{Violations, pause};

#[derive(Default)]
pub struct Shared {
    promises: Mutex<Promises>,
    pub violations: Violations,
    /// How many jobs are not finished, as far as the watcher knows.
    backlog: AtomicUsize,
    /// The final states of jobs, as calls of `run` have told them.
    nights: Mutex<BTreeMap<u64, String>>,
    /// How many boots of the machine were pretended, each after the one before it had fired.
    pub boots: AtomicUsize,
    /// How many waiting jobs were replaced by others.
    pub replaced: AtomicUsize,
}

impl Shared {
    pub fn promises(&self) -> MutexGuard<'_, Promises> {
        self.promises.lock().expect("no thread panicked while it held the lock")
    }

    pub fn nights(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.nights.lock().expect("no thread panicked while it held the lock")
    }

    /// Notes the job that a `run` has printed, if it printed a whole one that is final.
    pub fn note_night(&self, printed: &str) {
        let Ok(job) = serde_json::from_str::<Value>(printed) else { return };
        if matches!(job["state"].as_str(), Some("succeeded" | "dead" | "cancelled")) {
            let state = job["state"].as_str().expect("a state").to_owned();
            self.nights().insert(job["id"].as_u64().expect("an id"), state);
        }
    }

    /// Notes a violation unless `is_so`.
    pub fn expect(&self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.violations.add(what());
        }
    }
}

/// With this many unfinished jobs nothing more is enqueued, because what does not run cannot be killed.
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
    batch: u64,
}

impl Order {
    pub fn throw(dice: &mut StdRng) -> Self {
        let batch = dice.random_range(0..u64::MAX >> 1);
        let mut order = Self {
            called: Vec::new(),
            names: vec![any_kind(dice)],
            options: format!("--env BATCH={batch}"),
            unique_key: None,
            idempotency_key: None,
            batch,
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
            order.called = vec![CHAIN[2]];
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

    /// Notes what it printed: only whole lines, because it may have been killed within one.
    pub fn note(self, shared: &Shared, stdout: &str) {
        let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut promises = shared.promises();
        for (line, name) in whole.lines().zip(&self.names) {
            let told = Acknowledged {
                name: Some((*name).to_owned()),
                unique_key: self.unique_key.clone(),
                idempotency_key: self.idempotency_key.clone(),
            };
            match line.parse() {
                Ok(id) => drop(promises.acknowledged.insert(id, told)),
                Err(_) => shared.violations.add(format!("enqueue printed {line:?}")),
            }
        }
        if self.unique_key.is_none() && self.idempotency_key.is_none() {
            promises.batches.insert(self.batch.to_string(), self.called.len());
        }
    }
}

fn any_kind(dice: &mut StdRng) -> &'static str {
    KINDS.choose_weighted(dice, |(_, share)| *share).expect("shares above 0").0
}

/// Enqueues until it is over. Each call must end well, whichever other process is killed.
pub fn enqueue(sandbox: &Sandbox, shared: &Shared, mut dice: StdRng, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let order = Order::throw(&mut dice);
        pause(&mut dice, 5..=50);
        if shared.backlog.load(Ordering::Relaxed) < MOST_WAITING {
            let ran = sandbox.run(&order.line());
            shared.expect(ran.ended_well(), || format!("enqueue failed: {ran}"));
            order.note(shared, &ran.stdout);
        }
    }
}

/// Cancels, changes, retries and pauses until it is over, and pretends that the machine has booted.
pub fn meddle(sandbox: &Sandbox, shared: &Shared, mut dice: StdRng, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        pause(&mut dice, 10..=80);
        if dice.random_bool(0.4) {
            boot(sandbox, shared);
        }
        if dice.random_bool(0.05) {
            pause_for_a_while(sandbox, shared, &mut dice);
        }
        if dice.random_bool(0.4) {
            change(sandbox, shared, &mut dice);
        }
        // A job that was enqueued a moment ago runs by now, and an older one has ended.
        let what = dice.random_range(0..100);
        let back = dice.random_range(0..if what < 45 { 20 } else { 60 });
        let recent = shared.promises().acknowledged.keys().rev().nth(back).copied();
        let Some(id) = recent else { continue };
        match what {
            0..45 => cancel(sandbox, shared, id),
            45..80 => retry(sandbox, shared, id, ""),
            80..97 => retry(sandbox, shared, id, " --force"),
            _ => retry_latest(sandbox, shared),
        }
    }
}

/// Lets the schedule see another boot, unless it has yet to fire for the last one.
fn boot(sandbox: &Sandbox, shared: &Shared) {
    let sql = sandbox.sql();
    sql.run(&format!(
        "UPDATE schedules SET boot_id = 'another' WHERE name = '{AT_BOOT}' AND boot_id <> 'another'"
    ));
    let changed = usize::try_from(sql.number("SELECT changes()")).expect("a number of rows");
    shared.boots.fetch_add(changed, Ordering::Relaxed);
}

fn cancel(sandbox: &Sandbox, shared: &Shared, id: u64) {
    let ran = sandbox.run(&format!("cancel {id} --json"));
    shared.expect(ran.ended_well(), || format!("cancel failed: {ran}"));
    if ran.ended_well() {
        let job = ran.json();
        if job["state"] == "cancelled" {
            shared.promises().cancelled.insert(id);
        } else if job["state"] == "running" && !job["cancel_requested_at"].is_null() {
            shared.promises().cancel_requested.insert(id);
        }
    }
}

/// Nobody ends these pauses.
fn pause_for_a_while(sandbox: &Sandbox, shared: &Shared, dice: &mut StdRng) {
    let what = ["--all", "few"].choose(dice).expect("two of them");
    let ran = sandbox.run(&format!("pause {what} --for {}ms", dice.random_range(20..300)));
    shared.expect(ran.ended_well(), || format!("pause failed: {ran}"));
}

/// Changes a job that was enqueued lately, where it stands or by another in its place.
fn change(sandbox: &Sandbox, shared: &Shared, dice: &mut StdRng) {
    let recent = shared.promises().acknowledged.keys().rev().nth(dice.random_range(0..8)).copied();
    let mut how = ["--now", "--in 60ms", "--priority 5", "--redefine"].choose(dice).expect("four of them");
    // On a slow machine the dice may leave it out, or throw it for jobs alone that run already.
    if shared.replaced.load(Ordering::Relaxed) == 0 {
        how = &"--redefine";
    }
    let Some(id) = recent else { return };
    let ran = sandbox.run(&format!("change {id} {how} --json"));
    // A job that is not pending is left as it is, with exit status 1.
    shared.expect(ran.ended_well() || ran.stderr.contains("job "), || format!("change failed: {ran}"));
    if ran.ended_well() && *how == "--priority 5" {
        shared.promises().priorities.insert(id, 5);
    }
    if ran.ended_well() && *how == "--redefine" {
        let (mut promises, job) = (shared.promises(), ran.json());
        let name = job["name"].as_str().map(str::to_owned);
        let replacement = job["id"].as_u64().expect("an id");
        promises.acknowledged.insert(replacement, Acknowledged { name, ..Acknowledged::default() });
        promises.cancelled.insert(id);
        shared.replaced.fetch_add(1, Ordering::Relaxed);
    }
}

fn retry(sandbox: &Sandbox, shared: &Shared, id: u64, force: &str) {
    let ran = sandbox.run(&format!("retry {id}{force} --json"));
    // A job that is not dead or cancelled is left as it is, with exit status 1.
    shared.expect(ran.ended_well() || ran.stderr.contains("job "), || format!("retry failed: {ran}"));
    if ran.ended_well() {
        note_retry(shared, id);
    }
}

/// Puts the newest dead letter of each kind back; the older ones are resolved, and must stay dead.
fn retry_latest(sandbox: &Sandbox, shared: &Shared) {
    let ran = sandbox.run("retry --dead --latest --json");
    shared.expect(ran.ended_well(), || format!("retry --latest failed: {ran}"));
    if ran.ended_well() {
        for job in ran.json_lines().iter().filter(|job| job["resolution"].is_null()) {
            note_retry(shared, job["id"].as_u64().expect("an id"));
        }
    }
}

fn note_retry(shared: &Shared, id: u64) {
    let mut promises = shared.promises();
    *promises.retries.entry(id).or_default() += 1;
    promises.cancelled.remove(&id);
    promises.cancel_requested.remove(&id);
}

/// Looks at the database again and again until it is over, and gives what it saw last.
pub fn watch(sandbox: &Sandbox, shared: &Shared, mut dice: StdRng, over: &AtomicBool) -> Rows {
    let mut seen = look(sandbox, shared, None);
    while !over.load(Ordering::Relaxed) {
        pause(&mut dice, 30..=200);
        seen = look(sandbox, shared, Some(&seen));
        let unfinished = seen.jobs.values().filter(|job| !job.is_finished()).count();
        shared.backlog.store(unfinished, Ordering::Relaxed);
    }
    seen
}

/// Checks that the history has kept all that was seen before, and that no process is left of what has ended.
pub fn look(sandbox: &Sandbox, shared: &Shared, before: Option<&Rows>) -> Rows {
    let rows = Rows::read(&sandbox.db()).expect("the database can be read");
    let wrong = [
        judge::leftover_processes(&rows),
        judge::inconsistent(&rows),
        before.map(|before| before.changed_in(&rows)).unwrap_or_default(),
    ];
    wrong.into_iter().flatten().for_each(|what| shared.violations.add(what));
    rows
}
