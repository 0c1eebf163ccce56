//! runner, as a queue with a worker, and as calls of `run`.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::judge::End;
use crate::place::{Place, until_it_answers};
use crate::tools::{Item, Tool};

fn call(place: &Place, words: &[&str]) -> Command {
    let mut command = place.program(env!("CARGO_BIN_EXE_runner"));
    command.args(words).env("RUNNER_DB", place.files.join("runner.db"));
    command
}

/// A job file with one job, and the database.
fn prepare(place: &Place, policy: &str) -> anyhow::Result<()> {
    let file = format!("[jobs.step]\ncommand = {:?}\n{policy}\n", place.job()?);
    fs::write(place.files.join("jobs.toml"), file)?;
    until_it_answers(|| call(place, &["inspect"]))
}

fn ends(place: &Place) -> anyhow::Result<HashMap<usize, End>> {
    let output = call(place, &["inspect", "jobs", "--json"]).stdout(Stdio::piped()).output()?;
    let mut ends = HashMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let job: Value = serde_json::from_str(line)?;
        let Some(id) = job["args"][1].as_str().and_then(|id| id.parse().ok()) else { continue };
        match job["state"].as_str() {
            Some("succeeded") => drop(ends.insert(id, End::Done)),
            Some("dead") => drop(ends.entry(id).or_insert(End::NotDone)),
            _ => {}
        }
    }
    Ok(ends)
}

/// docs/operating.md, "Workers": any worker takes over what a dead one has left.
pub struct Queue {
    place: Arc<Place>,
    worker: Option<Child>,
}

impl Queue {
    pub fn make(place: &Arc<Place>, policy: &str) -> anyhow::Result<Box<dyn Tool>> {
        prepare(place, policy)?;
        Ok(Box::new(Self { place: Arc::clone(place), worker: None }))
    }
}

impl Tool for Queue {
    fn start(&mut self) -> anyhow::Result<()> {
        if let Some(mut before) = self.worker.take() {
            before.wait()?;
        }
        self.worker = Some(call(&self.place, &["work", "-j", "4"]).spawn()?);
        Ok(())
    }

    fn enqueue(&mut self, item: Item) -> anyhow::Result<bool> {
        let (milliseconds, id) = (item.milliseconds.to_string(), item.id.to_string());
        let words = ["enqueue", "step", "--", &milliseconds, &id];
        Ok(call(&self.place, &words).status()?.success())
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        ends(&self.place)
    }
}

/// docs/operating.md, "In a crontab": the next call of the same work goes on with what a killed one has left.
pub struct Calls {
    place: Arc<Place>,
    left: Arc<Mutex<VecDeque<Item>>>,
    is_over: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl Calls {
    pub fn make(place: &Arc<Place>) -> anyhow::Result<Box<dyn Tool>> {
        prepare(place, "")?;
        let (left, is_over) = (Arc::default(), Arc::default());
        Ok(Box::new(Self { place: Arc::clone(place), left, is_over, loops: Vec::new() }))
    }
}

impl Tool for Calls {
    fn start(&mut self) -> anyhow::Result<()> {
        while self.loops.len() < 4 {
            let place = Arc::clone(&self.place);
            let (left, is_over) = (Arc::clone(&self.left), Arc::clone(&self.is_over));
            self.loops.push(thread::spawn(move || {
                let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(item) = next() {
                    run_until_it_ends_well(&place, item, &is_over);
                }
            }));
        }
        Ok(())
    }

    fn take_list(&mut self, items: &[Item]) -> anyhow::Result<()> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(items);
        Ok(())
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        ends(&self.place)
    }
}

fn run_until_it_ends_well(place: &Place, item: Item, is_over: &AtomicBool) {
    let (milliseconds, id) = (item.milliseconds.to_string(), item.id.to_string());
    while !is_over.load(Ordering::SeqCst) {
        if place.is_down() {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let called = call(place, &["run", "step", "-q", "--", &milliseconds, &id]).status();
        if called.is_ok_and(|status| status.success()) {
            break;
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.loops.drain(..) {
            let _ = thread.join();
        }
    }
}
